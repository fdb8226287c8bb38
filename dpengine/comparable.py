"""Match two releases number by number, and say why the rest of them is not compared.

Both plans alone decide: a number is compared if the two stand for the same. Two tables of the same columns are one
table, whatever the order of these; it is named as in the later release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from dpengine.array_types import Columns
from dpengine.results.published_columns import Measure, measures
from dpengine.spec.categories.tree import split_name
from dpengine.spec.column import MISSING, OTHER
from dpengine.spec.domain import Category, Date, Time
from dpengine.spec.plan import Plan
from dpengine.spec.wording import name_of
from dpengine.translation.catalogue import _, plural, some_of

__all__ = ["NotCompared", "differences", "labels_left_out", "named", "shared_labels", "shared_names", "why_not"]

NAMED = 5  # labels that are named one by one


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A table, label or number that is not compared, and the reason.

    It is a table; or, with a `number` such as ``mean_pay``, that number of a table; or, where `table` is None,
    `labels` of a `column`, in every table.
    """

    reason: str
    table: Columns | None = None
    number: str = ""
    column: str = ""
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the table, label or number that is not compared, by its name in the files.

        >>> str(NotCompared("", ("state", "sex"), "mean_pay")), str(NotCompared("", column="town", labels=("A", "B")))
        ('mean_pay in state × sex', 'town = A, B')
        """
        if self.table is None:
            return f"{self.column} = {named(self.labels)}"
        return f"{self.number} in {name_of(self.table)}" if self.number else name_of(self.table)


def named(labels: tuple[str, ...]) -> str:
    """Name the first labels, and how many more there are."""
    return some_of(labels, NAMED)


def differences(first: Plan, second: Plan) -> Iterator[NotCompared]:
    """Yield what of either release is not compared: tables, then labels, then numbers."""
    compared = []
    for table in second.published:
        if frozenset(table) not in first.by_columns:
            yield NotCompared(_only_later(), table)
        elif reason := why_not(first, second, table):
            yield NotCompared(reason, table)
        else:
            compared.append(table)
    for table in dict.fromkeys(first.marginals):
        if frozenset(table) not in second.by_columns:
            yield NotCompared(_only_earlier(), table)
    for name in dict.fromkeys(name for table in compared for name in table):
        reasons: dict[str, list[str]] = defaultdict(list)
        for label, reason in labels_left_out(first, second, name):
            reasons[reason].append(label)
        yield from (NotCompared(reason, column=name, labels=(*each,)) for reason, each in reasons.items())
    for table in compared:
        yield from _numbers_left_out(first, second, table)


def why_not(first: Plan, second: Plan, table: Columns) -> str:
    """Return why a table that both releases have is not compared; nothing if it is."""
    before, after = (_counted(plan, table) for plan in (first, second))
    if before != after:
        return _("the earlier release counts {before}, the later one {after}", before=before, after=after)
    amounts = [{name for name in plan.amounts(plan.by_columns[frozenset(table)]) if not plan.amount(name).missing}
               for plan in (first, second)]  # fmt: skip
    if amounts[0] != amounts[1]:
        names = some_of(sorted(amounts[0] ^ amounts[1]))
        return _("rows without a value of {columns} are left out in one of the releases only", columns=names)
    if apart := next((name for name in table if _zone(first, name) != _zone(second, name)), None):
        return _("times of {column} count by the clock of different zones", column=apart)
    apart = next((name for name in table if not shared_labels(first, second, name) - {MISSING}), None)
    if apart is None:
        return ""
    if all(isinstance(plan.column(plan.resolution.column_of(apart)), Date) for plan in (first, second)):
        return _(
            "the dates of {column} are of another period in each release, and a number of one period does not stand "
            "beside that of another. Tables without {column} are compared. To compare a month with the same month of "
            "another year, publish both with a column that says the month only, such as 01 to 12",
            column=apart,
        )
    return _("the releases have no value of {column} in common", column=apart)


def shared_labels(first: Plan, second: Plan, name: str) -> set[str]:
    """Return the labels of a column that both releases have, with the same meaning in both."""
    excluded = {label for label, _reason in labels_left_out(first, second, name)}
    return {*second.column(name).labels} - excluded


def shared_names(first: Plan, second: Plan, table: Columns) -> list[str]:
    """Return the names of the statistics of a table that both releases have, of amounts with the same meaning."""
    return [name for name, amounts in _statistics(second, table).items()
            if _statistics(first, table).get(name) == amounts]  # fmt: skip


def _zone(plan: Plan, name: str) -> str | None:
    declared = plan.column(plan.resolution.column_of(name))
    return declared.zone if isinstance(declared, Date | Time) else None


def _only_earlier() -> str:
    return _("only in the earlier release")


def _only_later() -> str:
    return _("only in the later release")


def _counted(plan: Plan, table: Columns) -> str:
    """Say what is counted in a table: rows, or persons with a bound on what each may add."""
    cells = plan.tally_of(table).cells
    if plan.unit.id is None:
        return _("all rows")
    rows = plural("at most {n} row of a person", "at most {n} rows of a person", plan.unit.rows)
    if cells is None:
        return rows
    return plural("persons, each in at most {n} cell ({rows})", "persons, each in at most {n} cells ({rows})", cells,
                  rows=rows)  # fmt: skip


def labels_left_out(first: Plan, second: Plan, name: str) -> Iterator[tuple[str, str]]:
    """Yield the labels of a column that are in one release only, or differ in meaning, and why."""
    before, after = (dict.fromkeys(plan.column(name).labels) for plan in (first, second))
    old, new = (_stand_for(plan, name) for plan in (first, second))
    for label in after:
        if label not in before:
            yield label, _only_later()
        elif label in old and label in new and old[label] != new[label]:
            yield label, _unlike(label)
    for label in before:
        if label not in after:
            yield label, _only_earlier()


def _unlike(label: str) -> str:
    if label == OTHER:
        return _("other values are declared, or other texts count as missing")
    if label == MISSING:
        return _("other texts count as missing")
    return _("stands for other values in each release")


def _stand_for(plan: Plan, name: str) -> dict[str, object]:
    """Return the meaning of labels of a column that do not say it themselves."""
    declared = plan.column(plan.resolution.column_of(name))
    missing = {*declared.missing_as} if declared.missing else None
    groups: dict[str, set[str]] = defaultdict(set)
    if declared.name != name and isinstance(declared, Category):
        for value, group in zip(declared.declared, declared.groupings[split_name(name)[1]], strict=True):
            groups[group].add(value)
    return {**groups, OTHER: ({*declared.declared}, missing), MISSING: missing}


def _numbers_left_out(first: Plan, second: Plan, table: Columns) -> Iterator[NotCompared]:
    """Yield the statistics of a table that are in one release only, or of amounts that differ in meaning."""
    old, new = _statistics(first, table), _statistics(second, table)
    for name in dict.fromkeys((*new, *old)):
        if name not in old:
            yield NotCompared(_only_later(), table, name)
        elif name not in new:
            yield NotCompared(_only_earlier(), table, name)
        elif old[name] != new[name]:
            reason = _("its values have other bounds or another step, or other texts count as missing")
            yield NotCompared(reason, table, name)


def _statistics(plan: Plan, table: Columns) -> dict[str, list[tuple[object, ...]]]:
    """Return the statistics of a table by name, with the meaning of the values of their amounts."""
    published = measures(plan, plan.by_columns[frozenset(table)])
    return {name: _amounts(plan, each) for each in published for name in each.names}


def _amounts(plan: Plan, measure: Measure) -> list[tuple[object, ...]]:
    """Return the meaning of the values of a measure's amounts: one beyond a bound counts as that bound."""
    amounts = [plan.amount(name) for name in (measure.amount, measure.on) if name]
    return [(each.low, each.high, each.step, {*each.missing_as}) for each in amounts]
