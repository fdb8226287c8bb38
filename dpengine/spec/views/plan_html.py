"""Display a plan in a notebook: its price, its privacy unit, its tables and its columns."""

from __future__ import annotations

from dpengine.array_types import Columns
from dpengine.exact import exact_text
from dpengine.notebook import fragment
from dpengine.spec.counted_wording import unit_in_words
from dpengine.spec.domain import Amount, Column
from dpengine.spec.plan import Plan
from dpengine.spec.wording import name_of, shown_labels
from dpengine.translation.catalogue import _, localised, number, speaking

__all__ = ["price", "render"]

MAX_ROWS = 30
MAX_LABEL = 40


def render(plan: Plan) -> str:
    """Return a fragment of HTML, in the language of the plan."""
    with speaking(plan.language):
        tables = [[name_of(table), number(plan.cells(table)), _measures(plan, table)] for table in plan.marginals]
        measured = any(row[-1] for row in tables)
        columns = [
            [column.name, column.kind, number(column.size), _extent(column)] for column in plan.columns[:MAX_ROWS]
        ]
        return fragment.render(
            "plan",
            title=plan.title or plan.dataset,
            facts=[price(exact_text(plan.epsilon), plan.dataset), _("protected: {unit}", unit=unit_in_words(plan))],
            tables_head=[(_("Table"), False), (_("Cells"), True), (_("Beside counts"), False)][: 2 + measured],
            tables=[row[: 2 + measured] for row in tables[:MAX_ROWS]],
            more_tables=len(tables) - len(tables[:MAX_ROWS]),
            columns_head=[(_("Column"), False), (_("Kind"), False), (_("Cells"), True), (_("Values"), False)],
            columns=columns,
            columns_in_all=len(plan.columns),
        )


def price(epsilon: str, dataset: str) -> str:
    """Say what publishing costs, as the beginning of a line."""
    return _("Publishing costs ε = {epsilon} of the budget of {dataset}", epsilon=localised(epsilon), dataset=dataset)


def _measures(plan: Plan, table: Columns) -> str:
    """List the columns that a table has beside its counts."""
    names = [f"mean_{name}" for name in plan.means(table)] + [f"sum_{name}" for name in plan.sums(table)]
    names += [f"quantile_{part:f}_{name}" for name in plan.amounts(table) for part in plan.quantiles(table, name)]
    return ", ".join(names + [each.column for each in plan.associations(table)])


def _extent(column: Column) -> str:
    """Name the first and the last declared value of a column."""
    if isinstance(column, Amount):
        extent = f"{column.low} … {column.high}"
        return extent + (", " + _("upper bound found") if column.upper is not None else "")
    labels = [label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 1]}…" for label in shown_labels(column)]
    declared = labels[: column.declared_size]
    return ", ".join(declared) if len(declared) <= 2 else f"{declared[0]} … {declared[-1]}"
