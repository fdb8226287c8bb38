"""The measures that a table can publish in addition to counts, such as the average of an amount, and their words."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TypeAlias

from dpengine.spec.categories.tree import split_name
from dpengine.spec.published_table import PublishedTable
from dpengine.translation.catalogue import _, localised, mark, number

__all__ = [
    "OF_AMOUNTS",
    "PERSONS",
    "RANGES",
    "Measure",
    "in_words",
    "joined",
    "measures_of",
    "named",
    "table_of",
]

Measure: TypeAlias = tuple[str, ...]  # a kind, and the amount or the two amounts
OF_AMOUNTS = {
    "mean": mark("average"),
    "sum": mark("total"),
    "median": mark("median"),
    "quartiles": mark("quartiles"),
    "standard_deviation": mark("standard deviation"),
}
OF_TWO = {
    "correlation": mark("correlation of {of} and {on}"),
    "slope": mark("slope of {of} on {on}"),
    "covariance": mark("covariance of {of} and {on}"),
}
RANGES: Measure = ("ranges",)  # about the table's own columns, without an amount
PERSONS: Measure = ("persons",)  # counted instead of rows
COUNTS_ONLY = PublishedTable(columns=())
PARTS = {"median": ("0.5",), "quartiles": ("0.25", "0.5", "0.75")}


def table_of(columns: tuple[str, ...], measures: Iterable[Measure], weight: Decimal = Decimal(1)) -> PublishedTable:
    """Return the table of these columns with these measures and this weight.

    >>> table_of(("sex",), [("mean", "pay"), ("median", "pay")]).quantiles
    {'pay': (Decimal('0.5'),)}
    """
    by_measure: dict[str, list[tuple[str, ...]]] = {}
    for what, *of in measures:
        by_measure.setdefault(what, []).append(tuple(of))
    if not by_measure and weight == 1:  # as nearly all of many tables: to check each would take most of a run
        return COUNTS_ONLY.model_copy(update={"columns": columns})
    mean, total, deviation = (
        tuple(name for (name,) in by_measure.pop(kind, [])) for kind in ("mean", "sum", "standard_deviation")
    )
    correlation, slope, covariance = (by_measure.pop(kind, []) for kind in OF_TWO)
    ranges, persons = (bool(by_measure.pop(kind, [])) for (kind,) in (RANGES, PERSONS))
    parts: dict[str, tuple[str, ...]] = {}
    for what, names in by_measure.items():
        for (name,) in names:
            parts[name] = (*parts.get(name, ()), *PARTS.get(what, what.split()))
    return PublishedTable(
        columns=columns, mean=mean, sum=total, quantiles=parts, ranges=ranges, weight=weight, distinct=persons,
        standard_deviation=deviation, covariance=covariance, correlation=correlation,
        slope=[{"of": of, "on": on} for of, on in slope],
    )  # fmt: skip


def measures_of(table: PublishedTable) -> list[Measure]:
    """Return the measures of a table, from which `table_of` makes it again.

    >>> measures_of(table_of(("sex",), [("quartiles", "pay"), ("sum", "pay"), ("0.1 0.9", "age")]))
    [('sum', 'pay'), ('quartiles', 'pay'), ('0.1 0.9', 'age')]
    >>> measures_of(table_of(("sex",), [("standard_deviation", "pay"), ("slope", "pay", "age")]))
    [('standard_deviation', 'pay'), ('slope', 'pay', 'age')]
    """
    known = {tuple(map(Decimal, parts)): what for what, parts in PARTS.items()}
    listed = {name: " ".join(f"{part:f}" for part in parts) for name, parts in table.quantiles.items()}
    return [
        *(("mean", name) for name in table.mean),
        *(("sum", name) for name in table.sum),
        *([RANGES] if table.ranges else []),
        *([PERSONS] if table.distinct else []),
        *((known.get(parts, listed[name]), name) for name, parts in table.quantiles.items()),
        *((each.kind, *each.amounts) for each in table.associations),
    ]


def joined(columns: tuple[str, ...], tables: Iterable[PublishedTable]) -> PublishedTable:
    """Return the table of these columns that publishes all that the given tables publish of amounts."""
    measures = dict.fromkeys(measure for table in tables if table.amounts for measure in measures_of(table))
    return table_of(columns, [measure for measure in measures if measure not in (RANGES, PERSONS)])


def in_words(measure: Measure) -> str:
    """Return a measure in words.

    >>> in_words(("mean", "income")), in_words(("0.1 0.9", "income"))
    ('average of income', 'quantiles 0.1, 0.9 of income')
    """
    if measure == RANGES:
        return _("sums over ranges, such as all ages up to 40")
    if measure == PERSONS:
        return _("each person once in each cell")
    what, amount, *other = measure
    if other:
        return _(OF_TWO[what], of=amount, on=other[0])
    if what in OF_AMOUNTS:
        return _("{measures} of {amount}", measures=_(OF_AMOUNTS[what]), amount=amount)
    return _("quantiles {parts} of {amount}", parts=", ".join(map(localised, what.split())), amount=amount)


def named(table: PublishedTable) -> str:
    """Return the columns of a table and its measures in words.

    >>> named(table_of(("state", "sex"), [("mean", "pay")])), named(table_of(("sex",), []))
    ('state × sex (average of pay)', 'sex')
    >>> named(table_of(("county@state", "sex"), []))
    'state (of county) × sex'
    >>> named(PublishedTable(columns=("sex",), distinct=True, cells_per_person=2))
    'sex (each person once in each of at most 2 cells)'
    >>> named(table_of(("sex",), [("mean", "pay"), ("sum", "rent"), ("median", "pay")]))
    'sex (average, median of pay, total of rent)'
    """
    columns, measures = " × ".join(map(_spoken, table.columns)), _together(measures_of(table))
    if table.cells_per_person > 1:
        most = number(table.cells_per_person)
        measures = [_("each person once in each of at most {most} cells", most=most)]
    return f"{columns} ({', '.join(measures)})" if measures else columns


def _together(measures: Iterable[Measure]) -> list[str]:
    """Return measures in words, those of one amount together."""
    words: dict[Measure, list[str]] = {}
    for measure in measures:
        what, *amount = measure
        if what in OF_AMOUNTS:
            words.setdefault(tuple(amount), []).append(_(OF_AMOUNTS[what]))
        else:
            words[measure] = []
    return [
        _("{measures} of {amount}", measures=", ".join(each), amount=of[0]) if each else in_words(of)
        for of, each in words.items()
    ]


def _spoken(name: str) -> str:
    """Return the name of a column, or the words for one of its levels."""
    column, level = split_name(name)
    return level_of(column, level) if level else name


def level_of(column: str, level: str) -> str:
    """Return the words for a level of a column.

    >>> level_of("county", "state")
    'state (of county)'
    """
    return _("{level} (of {column})", level=level, column=column)
