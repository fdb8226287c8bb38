"""Say for readers what a plan counts, whom it protects, and which share of ε finds cells."""

from __future__ import annotations

from collections.abc import Callable

from dpengine.array_types import Columns
from dpengine.exact import exactly
from dpengine.spec.domain import Amount, Number
from dpengine.spec.plan import Plan
from dpengine.spec.wording import name_of
from dpengine.translation.catalogue import _, mark, number, plural, some_of

__all__ = [
    "counted_noun", "counting_in_words", "found_in_words", "noun", "persons_counted", "rows_counted",
    "unit_in_words",
]  # fmt: skip


def noun(plan: Plan, table: Columns = ()) -> str:
    """Name the unit in which `table` is counted: people, or rows if a person may have several.

    The plan may have nouns of its own for both. Where a row is a person, either names them.

    >>> plan = Plan(dataset="d", epsilon=1, nouns={"rows": "visits"}, columns=[{"name": "a", "kind": "yesno"}],
    ...             tables=[["a"]])
    >>> noun(plan)
    'visits'
    """
    tally = plan.tally_of(table)
    if tally.bound > 1 and tally.cells is None:
        return plan.nouns.rows or _("rows")
    rows = plan.nouns.rows if plan.unit.id is None else ""
    return rows or plan.nouns.people or _("people")


def counted_noun(plan: Plan) -> str:
    """Name the unit of a total: people, rows, kept rows if a person's rows are bounded, or cells in which people count.

    >>> plan = Plan(dataset="d", epsilon=1, unit={"id": "who", "rows": 3}, columns=[{"name": "a", "kind": "yesno"}],
    ...             tables=[["a"]])
    >>> counted_noun(plan)
    'kept rows'
    """
    first = plan.tallies[0]
    if plan.unit.id is None or first.bound == 1:
        return noun(plan)
    if first.cells is None:
        return _("kept {rows}", rows=plan.nouns.rows or _("rows"))
    return _("counted cells of {people}", people=noun(plan))


def counting_in_words(plan: Plan, table: Columns) -> str:
    """Say how `table` counts people who may have several rows; nothing if all tables count rows.

    >>> plan = Plan(dataset="d", epsilon=1, unit={"id": "who", "rows": 3}, columns=[{"name": "a", "kind": "yesno"}],
    ...             tables=[{"columns": ["a"], "distinct": True, "cells_per_person": 2}])
    >>> counting_in_words(plan, ("a",))
    'people, each in at most 2 cells'
    """
    tally = plan.tally_of(table)
    if not table or not plan.has_distinct:
        return ""
    if (cells := tally.cells) is None:
        return _("kept {rows}", rows=noun(plan, table))
    return plural("{people}, each in one cell", "{people}, each in at most {n} cells", cells, people=noun(plan, table))


# Manifests contain these sentences in English; `verify` compares them letter by letter.
OF_ROWS = mark(
    "Tables of rows: {tables}. They count the rows that were kept: at most {rows} of each person in {id}, chosen at "
    "random. They do not say how many rows the table holds."
)
OF_PERSONS = mark(
    "Tables of people: {tables}. They count each person in {id} once, in the cell of one of their rows, chosen at "
    "random. Whoever has rows in other cells is missing there: a cell may have more people than its interval says."
)
OF_CELLS = mark(
    "Table of people: {tables}. It counts each person in {id} at most once in a cell and in at most {cells} cells, "
    "chosen at random. Whoever has rows in more cells is missing in the others: a cell may have more people than its "
    "interval says. A sum of its cells is no number of people, since a person may count in several."
)
OF_FIRST = {
    "rows": mark("The total and the synthetic rows are of kept rows."),
    "persons": mark("The total is the number of people. Each synthetic row stands for a person."),
    "cells": mark("The total and the synthetic rows are of the counted cells of people in {tables}."),
}


def persons_counted(plan: Plan, named: Callable[[Columns], str] = name_of) -> str:
    """Say what tables, total and synthetic rows count, if people are counted who may have several rows.

    Tables are `named` as in the files, or as on a page.
    """
    sentences = []
    for tally in plan.tallies:
        sentence = OF_ROWS if tally.cells is None else OF_PERSONS if tally.cells == 1 else OF_CELLS
        tables = "; ".join(map(named, tally.plan.marginals))
        sentences.append(_(sentence).format(tables=tables, rows=tally.bound, cells=tally.cells, id=plan.unit.id))
    first = plan.tallies[0]
    kind = "rows" if first.cells is None else "persons" if first.cells == 1 else "cells"
    return " ".join([*sentences, _(OF_FIRST[kind]).format(tables=named(first.plan.marginals[0]))])


def rows_counted(plan: Plan, named: Callable[[Columns], str] = name_of) -> str:
    """Say which rows all counts and totals refer to, if the table may have more; otherwise nothing.

    Tables are `named` as in the files, or as on a page.

    >>> plan = Plan(dataset="d", epsilon=1, unit={"id": "who", "rows": 3}, columns=[{"name": "a", "kind": "yesno"}],
    ...             tables=[["a"]])
    >>> print(rows_counted(plan))
    Of each person (column who), at most 3 rows were kept, chosen at random. All counts, totals and intervals are of \
kept rows: the table may hold more.
    """
    if plan.unit.id is None:
        return ""
    if plan.has_distinct:
        return persons_counted(plan, named)
    if plan.nouns.rows or plan.nouns.people:
        return _(
            "Of the {people} (column {id}), at most {n} {rows} each were kept, chosen at random. All counts, totals "
            "and intervals are of kept {rows}: the table may hold more.",
            people=plan.nouns.people or _("people"), rows=plan.nouns.rows or _("rows"), n=number(plan.unit.rows),
            id=plan.unit.id,
        )  # fmt: skip
    return plural(
        "Of each person (column {id}), at most one row was kept, chosen at random. All counts, totals and intervals "
        "are of kept rows: the table may hold more.",
        "Of each person (column {id}), at most {n} rows were kept, chosen at random. All counts, totals and intervals "
        "are of kept rows: the table may hold more.",
        plan.unit.rows,
        id=plan.unit.id,
    )


def found_in_words(plan: Plan) -> str:
    """Say which shares of ε find cells, and what predictions assume until then; nothing if all cells are declared."""
    if not plan.found_columns:
        return ""
    columns = [plan.column(name) for name in plan.found_columns]
    shares = " + ".join(f"{exactly(plan.epsilon * each.share)} ({each.name})" for each in columns)
    rest = exactly(plan.epsilon_for_tables)
    amounts = [column.name for column in columns if isinstance(column, Amount)]
    assumed = [
        _("{n} bins of one width ({name})", n=number(column.declared_size), name=column.name)
        if isinstance(column, Number)
        else _("{n} values ({name})", n=number(column.declared_size), name=column.name)
        for column in columns
        if not isinstance(column, Amount)
    ]
    sentences = [
        _(
            "Of this, {shares} pays for finding cells, and {rest} for the tables. Until cells are found, errors are "
            "predicted for {assumed}; a release may find fewer.",
            shares=shares,
            rest=rest,
            assumed=", ".join(assumed),
        )
        if assumed
        else _("Of this, {shares} pays for finding upper bounds, and {rest} for the tables.", shares=shares, rest=rest)
    ]
    if amounts:
        sentences.append(
            _(
                "Errors of means and sums of {names} are predicted for the upper end that the plan states, and shrink "
                "in proportion to the bound: if it is found at a tenth, to about a tenth.",
                names=some_of(amounts),
            )
        )
    return " ".join(sentences)


def unit_in_words(plan: Plan) -> str:
    """Say whom or what the release protects, as its manifest does."""
    rows, people = plan.nouns.rows, plan.nouns.people
    if plan.unit.id is None:
        rows = rows or people
        return _("one row of a table of {rows}", rows=rows) if rows else _("one row, which stands for one person")
    if people:
        return plural(
            "one of the {people}, named by the column {id}, with at most {n} row; rows beyond that were left out",
            "one of the {people}, named by the column {id}, with at most {n} rows; rows beyond that were left out",
            plan.unit.rows,
            people=people,
            id=plan.unit.id,
        )
    if plan.unit.rows == 1:
        return _(
            "one person, named by the column {id}, with at most one row; rows beyond that were left out",
            id=plan.unit.id,
        )
    return _(
        "one person, named by the column {id}, with at most {rows} rows; rows beyond that were left out",
        id=plan.unit.id,
        rows=plan.unit.rows,
    )
