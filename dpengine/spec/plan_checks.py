"""Checks of a plan's tables, each with a message that says what to change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpengine.array_types import Columns
from dpengine.errors import PlanError
from dpengine.exact import exact_text
from dpengine.spec.declared import changed
from dpengine.spec.domain import Amount, Column, Date, Time
from dpengine.spec.limits import MAX_TABLE_CELLS
from dpengine.spec.numeric.amount import MAX_GRAIN
from dpengine.spec.numeric.found_bins import MAX_SHARE
from dpengine.spec.published_table import PublishedTable
from dpengine.spec.summed_levels import check_summed, may_be_summed
from dpengine.spec.tallies import check_distinct
from dpengine.translation.catalogue import _, number, some_of

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["check_different", "check_not_found", "check_tables", "with_knots"]

MIN_KNOTS = 5  # of an amount, for its quantiles


def check_different(columns: Sequence[Column]) -> None:
    """Raise ValueError if two columns have one name, or read one column of times as the same part, or by two zones."""
    for name, times in Counter(column.name for column in columns).items():
        if times > 1:
            raise ValueError(_("the column {name!r} is declared {times} times", name=name, times=times))
    parts = Counter((column.table_column, column.by) for column in columns if isinstance(column, Time))
    for (name, part), times in parts.items():
        if times > 1:
            raise ValueError(
                _("the {part} of {name!r} is declared {times} times", part=_(part), name=name, times=times)
            )
    zones: dict[str, str | None] = {}
    for column in (each for each in columns if isinstance(each, Date | Time)):
        if zones.setdefault(column.table_column, column.zone) != column.zone:
            raise ValueError(
                _(
                    "the columns that read {name!r} have different zones; give each the same, or none",
                    name=column.table_column,
                )
            )


def check_tables(plan: Plan) -> None:
    """Raise ValueError unless the tables of `plan` are of declared columns, not too large, and can be made together."""
    seen: set[frozenset[str]] = set()
    for table in plan.marginals:
        _check_table(plan, table)
        if frozenset(table) in seen:
            raise ValueError(_("table {name} is listed twice", name=" × ".join(table)))
        seen.add(frozenset(table))
    check_summed(plan)
    plan.resolution.check(plan.marginals, together=plan.strategy not in ("auto", "adaptive"))
    if plan.strategy == "adaptive" or (plan.strategy == "auto" and not may_be_summed(plan)):
        for part in plan.parts.levels:
            part.resolution.check(part.marginals, together=True)
    plan.resolution.check_counting(plan.estimated_tables)
    _check_levels_of_amounts(plan)
    check_distinct(plan)
    _check_shares(plan)


def _check_table(plan: Plan, table: Columns) -> None:
    """Raise ValueError unless a table has declared columns, each once, and not too many cells."""
    columns, name = plan.resolution.columns, " × ".join(table)
    if not table:
        raise ValueError(_("a table needs a column; the total is always published"))
    for column in table:
        if column not in columns:
            raise ValueError(_("table {name}: {fault}", name=name, fault=plan.resolution.unknown(column)))
    if len(set(table)) < len(table):
        raise ValueError(_("table {name}: a column is named twice", name=name))
    if (cells := plan.cells(table)) > MAX_TABLE_CELLS:
        raise ValueError(
            _(
                "table {name} would have {cells} cells, above the limit of {most}: use fewer columns, or wider bins",
                name=name,
                cells=number(cells),
                most=number(MAX_TABLE_CELLS),
            )
        )
    for column in table:
        if isinstance(columns[column], Amount):
            raise ValueError(
                _(
                    "table {name}: {column!r} is an amount, which has no cells to count in; ask for its mean or sum "
                    "in a table of other columns, such as {{columns: [...], mean: [{column}]}}",
                    name=name,
                    column=column,
                )
            )
    for amount in plan.amounts(table):
        _check_amount(plan, table, name, amount)
    _check_associations(plan, table, name)
    _check_names_of_numbers(plan, table, name)


def check_not_found(plan: Plan) -> None:
    """Refuse a plan file with cells that only a release can find. Raises `PlanError`."""
    if plan.found_columns and plan.as_written != plan:
        raise PlanError(_("what is found by a release stands in its files, not in a plan: leave 'found' out"))


def _check_shares(plan: Plan) -> None:
    """Refuse found cells if too little of ε would be left, or if persons are counted beside rows."""
    if not plan.found_columns:
        return
    names = some_of(plan.found_columns)
    if (share := sum((plan.column(name).share for name in plan.found_columns), Fraction(0))) > MAX_SHARE:
        raise ValueError(
            _(
                "finding the cells of {columns} would take {share} of ε, at most {most} is possible: find fewer, or "
                "give each a smaller share",
                columns=names,
                share=exact_text(share),
                most=exact_text(MAX_SHARE),
            )
        )
    if plan.has_distinct:
        raise ValueError(
            _(
                "tables of distinct persons cannot stand beside cells that are found ({columns}); use a plan for each, "
                "or state the cells",
                columns=names,
            )
        )


def _check_levels_of_amounts(plan: Plan) -> None:
    """Refuse an amount at two levels of a column: only counts are made to agree along the levels."""
    for name in plan.amounts(()):
        tables = [table for table in plan.marginals if name in plan.amounts(table)]
        at = [[level for level in chain if any(level in table for table in tables)]
              for chain in plan.resolution.chains.values()]  # fmt: skip
        for levels in (each for each in at if len(each) > 1):
            raise ValueError(
                _(
                    "means, sums and quantiles of {amount!r} are asked for at two levels, {first} and {second}; ask "
                    "for them at one of these, and for counts at all",
                    amount=name,
                    first=levels[0],
                    second=levels[1],
                )
            )


def _check_amount(plan: Plan, table: Columns, name: str, amount: str) -> None:
    """Raise ValueError unless an amount can be measured in a table whose `name` messages show."""
    if not isinstance(plan.resolution.columns.get(amount), Amount):
        raise ValueError(
            _(
                "table {name}: means, sums and quantiles are of columns of kind amount; {amount!r} is none that "
                "is declared",
                name=name,
                amount=amount,
            )
        )
    if (cells := plan.cells((*table, amount))) > MAX_TABLE_CELLS:
        raise ValueError(
            _(
                "table {name}: with the knots of {amount!r} it would have {cells} cells, above the limit of "
                "{most}: use fewer knots or columns, or wider bins",
                name=name,
                amount=amount,
                cells=number(cells),
                most=number(MAX_TABLE_CELLS),
            )
        )
    if plan.amount(amount).degree > 1:
        _check_squares(plan.amount(amount), name)
    if plan.amount(amount).grain * (plan.rows_about or 1) > 2**62:
        raise ValueError(_("the step of {amount!r} is too fine for so many rows", amount=amount))
    if plan.quantiles(table, amount) and len(plan.amount(amount).all_knots) < MIN_KNOTS:
        raise ValueError(
            _(
                "table {name}: quantiles of {amount!r} are found between its knots, and it needs at least {least}: "
                "declare knots in its range, such as {knots}, closer together where most values lie",
                name=name,
                amount=amount,
                least=MIN_KNOTS,
                knots=f"[{', '.join(map(str, plan.amount(amount).even_knots))}]",
            )
        )


def _check_names_of_numbers(plan: Plan, table: Columns, name: str) -> None:
    """Raise ValueError if two columns of numbers of a published table would have the same name."""
    kinds = [each.column for each in plan.associations(table)]
    for each in plan.amounts(table):
        of_parts = (f"quantile_{part:f}" for part in plan.quantiles(table, each))
        kinds += [f"{kind}_{each}" for kind in ("mean", "sum", "known", *of_parts)]
    names = [f"{kind}{end}" for kind in kinds for end in ("", "_low", "_high")]
    if twice := [each for each, times in Counter(names).items() if times > 1]:
        raise ValueError(
            _(
                "table {name}: two amounts would have a column called {column!r}; leave one out",
                name=name,
                column=twice[0],
            )
        )


def _check_squares(amount: Amount, name: str) -> None:
    """Raise ValueError unless the squares of an amount can be measured."""
    if amount.knots:
        raise ValueError(
            _(
                "table {name}: standard deviations, slopes and correlations take the squares of {amount!r}, which has "
                "knots: leave these and its quantiles out, or ask for either in a plan of its own",
                name=name,
                amount=amount.name,
            )
        )
    if amount.grain > MAX_GRAIN:
        raise ValueError(
            _(
                "table {name}: standard deviations, slopes and correlations take the squares of {amount!r}, and its "
                "range has {steps} steps; at most {most} are possible then: choose a larger step",
                name=name,
                amount=amount.name,
                steps=number(amount.grid.steps),
                most=number(math.isqrt(MAX_GRAIN)),
            )
        )


def _check_associations(plan: Plan, table: Columns, name: str) -> None:
    """Raise ValueError unless each pair of amounts can be measured together in a table."""
    for each in plan.associations(table):
        if each.kind == "standard_deviation":
            continue  # of one amount, which is checked by itself
        wide = (*table, each.of, each.on)
        if each.of == each.on:
            raise ValueError(
                _(
                    "table {name}: {amount!r} is paired with itself; for how much it varies, ask for "
                    "standard_deviation: [{amount}]",
                    name=name,
                    amount=each.of,
                )
            )
        if (cells := plan.cells(wide)) > MAX_TABLE_CELLS:
            raise ValueError(
                _(
                    "table {name}: with the cells of {of!r} and {on!r} it would have {cells} cells, above the limit of "
                    "{most}: use fewer knots or columns, or wider bins",
                    name=name,
                    of=each.of,
                    on=each.on,
                    cells=number(cells),
                    most=number(MAX_TABLE_CELLS),
                )
            )
        if plan.grain(wide) > MAX_GRAIN or plan.grain(wide) * (plan.rows_about or 1) > 2**62:
            raise ValueError(
                _(
                    "table {name}: the steps of {of!r} and {on!r} are too fine to be taken together: each row would be "
                    "shared in {grain} parts, at most {most} are possible; choose larger steps",
                    name=name,
                    of=each.of,
                    on=each.on,
                    grain=number(plan.grain(wide)),
                    most=number(MAX_GRAIN),
                )
            )


def with_knots(columns: tuple[Column, ...], tables: Iterable[object]) -> tuple[Column, ...]:
    """Return `columns` with even knots in each amount that declares none and whose quantiles a table asks for."""
    parted = {name for table in tables if isinstance(table, PublishedTable) for name in table.quantiles}
    return tuple(
        _with_knots(each) if isinstance(each, Amount) and each.name in parted and not each.knots else each
        for each in columns
    )


def _with_knots(amount: Amount) -> Amount:
    """Return an amount with even knots. Raises ValueError if its steps are too fine for them."""
    fields = {name: getattr(amount, name) for name in Amount.model_fields}
    try:
        knotted = Amount(**{**fields, "knots": amount.even_knots, "upper": None})  # who declares one declares no other
    except PlanError as error:
        raise ValueError(str(error)) from None
    return changed(knotted, upper=amount.upper)
