"""Generate rows that follow some tables, and not all pairs of columns or all sets of three.

Rows begin with the largest table in whole numbers. One column after another is added, next the one that has most
columns in common with the rows in some table: its values follow the column on which it depends most, and are then
changed if that brings the tables that it forms with earlier columns nearer (`estimate.moves`). In the end, all columns
are gone through again, by the errors of the published tables alone.

If tables were measured directly, others are left as they come: to follow what pairs say of these too would move rows
away from what was measured. If there are many people, rows first stand for several of them each; then single people
leave the rows in whose cells there are too many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.moves import Tables, copy_people, greatest, move_in_batches
from dpengine.marginals.fitting import largest_remainders, round_to_total
from dpengine.marginals.graphs import maximal
from dpengine.marginals.noisy_pair import EMPTY
from dpengine.marginals.pairwise import Pairwise
from dpengine.quasi_random import shuffled
from dpengine.synthesis.by_columns import alone, dependence, given
from dpengine.synthesis.repair import Codes
from dpengine.synthesis.shared_rows import unique

__all__ = ["by_tables", "followed", "most_people"]

# Set on every third of 200 random plans for tables of the bank (`benchmarks/mixed_tables.py`, other draws).
POWER, LIMIT = 0.8, 2.0  # the weight of an error in a cell of m people is (1 + m)^−POWER, up to a limit
SPREAD = 0.6  # rows do not begin with a table of which rounding changes more than this, as a part of all rows
FIRST_PASSES, FIRST_BATCHES = 3, 32  # passes over a new column, and batches of a pass
PASSES, BATCHES, MIN_BATCH = 12, 16, 64  # at most this many passes over all columns; batches of a pass; rows of a batch
NEARLY = 0.02  # after a pass that changes less, people are made copies of others
COPIED_AT_ONCE, COPY_ROUNDS = 0.003, 60  # fraction of the people in a round, and rounds at most
ENOUGH = 0.002  # a pass that changes fewer values than this fraction of the rows is the last
MAX_PRICES, MIN_PART = 2**25, 0.1  # a pass looks at this many prices, and so at fewer rows; but at this part of them
AT_ONCE = 2**15  # rows whose cells are held at once
MANY_COLUMNS = 20  # with more columns in a model, rows follow its pairs and nothing else, which is quicker
MAX_PLACES = 2**20  # rows × columns; with more people, rows stand for several of them
ROUNDS, LEAVING = 6, 2**15  # people leave such rows in this many rounds, at most `LEAVING` in each


def most_people(model: Pairwise) -> int:
    """Return the number of people up to which each of them has a row."""
    return max(1, MAX_PLACES // len(model.one_way))


def followed(model: Pairwise, tables: Sequence[Columns]) -> list[Columns]:
    """Return the tables that rows should follow so that the published `tables` are near; none if all pairs or triples.

    If tables were measured directly, these are they and the published ones. In a model, all pairs are known, and rows
    follow these too, unless there are many columns. If a table of all columns was measured too, rows follow that.
    """
    published = [columns for columns in tables if {*columns} <= model.one_way.keys()]
    if model.whole is not None:
        published.append(model.whole.columns)
    elif not model.wide and _has_all([*published, *model.direct], len(model.one_way)):
        return []
    if not model.direct and model.whole is None and len(model.one_way) > MANY_COLUMNS:
        return []
    pairs = () if model.direct else combinations(model.one_way, 2)
    singles = ((name,) for name in model.one_way)
    return sorted({tuple(sorted(columns)) for columns in (*published, *model.direct, *pairs, *singles) if columns})


def _has_all(tables: Sequence[Columns], columns: int) -> bool:
    """Return whether `tables` are all pairs, or all sets of three, of this number of `columns`."""
    size = max(2, max(map(len, tables), default=2))
    within = {some for table in tables for some in combinations(sorted(table), size)}
    return size <= 3 and len(within) == math.comb(columns, size)


def by_tables(model: Pairwise, people: int, tables: Sequence[Columns]) -> tuple[Codes, Ints]:
    """Return codes of rows, of shape (columns, rows), columns in the order of the model's, and their weights.

    Rows follow the `tables`, each with its columns sorted. Every column is in at least one.
    """
    rows = min(people, most_people(model))
    codes = _begin(model, rows, maximal(tables))
    places = np.stack([codes[name] for name in model.one_way])
    _move_worst(model, places, tables, _excess(model, [*model.one_way], places, np.ones(rows), tables))
    weights = round_to_total(np.ones(rows), people)
    for _ in range(ROUNDS if rows < people else 0):
        places, weights = _with_people_moved(model, *unique(places, weights), tables)
    return places, weights


def _begin(model: Pairwise, rows: int, tables: Sequence[Columns]) -> dict[str, Codes]:
    """Return codes of rows, column by column, each by the tables that it forms with earlier ones."""
    sizes = {name: counts.size for name, counts in model.one_way.items()}
    cells = {table: math.prod(sizes[name] for name in table) for table in tables}
    clear = [table for table in tables if _changed_by_rounding(model.table(table), rows) <= SPREAD]
    widest = (max(sizes, key=lambda name: (sizes[name], name)),)
    first = max(clear, key=lambda table: (len(table), cells[table], table), default=widest)
    codes = _in_whole_numbers(first, model.table(first), rows)
    while len(codes) < len(sizes):
        name = max(sizes.keys() - codes.keys(), key=lambda each: (_shared(tables, codes, each), sizes[each], each))
        order = shuffled(rows, len(codes))
        known = [each for each in codes if any({each, name} <= {*table} for table in tables)]
        if not known:
            codes[name] = alone(model.one_way[name], rows)[order]
            continue
        parent = max(known, key=lambda each: (dependence(model, each, name), each))
        codes[name] = given(codes[parent], model.pair(parent, name), model.one_way[name], order)
        _move_new(model, codes, name, tables)
    return codes


def _changed_by_rounding(table: Floats, rows: int) -> float:
    """Return how far a table in whole numbers is from itself, as a part of all rows."""
    expected = table.ravel() + EMPTY  # noise may leave nobody in it
    expected *= rows / float(expected.sum())
    return float(np.abs(largest_remainders(expected, rows) - expected).sum()) / rows


def _in_whole_numbers(columns: Columns, table: Floats, rows: int) -> dict[str, Codes]:
    """Return rows in the proportions of one table."""
    cells = np.repeat(np.arange(table.size), largest_remainders(table.ravel() + EMPTY, rows))
    values = np.unravel_index(cells, table.shape)
    return {name: each.astype(np.int32) for name, each in zip(columns, values, strict=True)}


def _shared(tables: Sequence[Columns], codes: Mapping[str, Codes], name: str) -> int:
    """Return how many of the columns of `codes` are in one table with another column, at most."""
    return max(len(codes.keys() & {*table}) for table in tables if name in table)


def _move_new(model: Pairwise, codes: dict[str, Codes], name: str, tables: Sequence[Columns]) -> None:
    """Change values of a new column if that brings its tables with earlier columns, and the sums of these, nearer."""
    known = [tuple(each for each in table if each in codes) for table in tables if name in table]
    sums = {some for table in known for size in range(2, len(table) + 1) for some in combinations(table, size)}
    names, places = [*codes], np.stack([*codes.values()])
    column, rows = len(names) - 1, places.shape[1]
    near = _excess(model, names, places, np.ones(rows), sorted(table for table in sums if name in table))
    shape = [model.one_way[each].size for each in names]
    for salt in range(FIRST_PASSES):
        order = shuffled(rows, len(names) * FIRST_PASSES + salt)
        _move(column, places, shape, order, FIRST_BATCHES, near)
    codes[name] = places[column]


def _move_worst(model: Pairwise, places: Codes, tables: Sequence[Columns], near: Tables) -> None:
    """Change values of all columns if that brings `tables` nearer, in the rows whose cells have the largest excess."""
    rows, shape = places.shape[1], [counts.size for counts in model.one_way.values()]
    having = [sum(name in table for table in tables) for name in model.one_way]
    looked = rows * sum(size * number for size, number in zip(shape, having, strict=True))
    count = math.ceil(rows * min(1.0, max(MIN_PART, MAX_PRICES / looked)))
    for salt in range(PASSES):
        excess = near.prices_by_column(places) if count < rows else None
        changed = 0
        for column in range(len(shape)):
            tried = np.arange(rows) if excess is None else greatest(excess[column], count)
            order = shuffled(count, salt * len(shape) + column)
            changed += _move(column, places, shape, tried[order], BATCHES, near)
        if changed < NEARLY * rows:
            changed += copy_people(places, near, math.ceil(COPIED_AT_ONCE * rows), COPY_ROUNDS)
        if changed < ENOUGH * rows:
            break


def _with_people_moved(model: Pairwise, places: Codes, weights: Ints, tables: Sequence[Columns]) -> tuple[Codes, Ints]:
    """Take one person out of each of the rows with the largest excess, and change their values where that helps."""
    near = _excess(model, [*model.one_way], places, weights, tables)
    leaving = greatest(near.prices_by_column(places).sum(axis=0), min(LEAVING, weights.size))
    moved, left = places[:, leaving], weights.copy()
    left[leaving] -= 1
    _move_worst(model, moved, tables, near)
    stay = left > 0
    ones = np.ones(leaving.size, dtype=np.int64)
    return np.concatenate([places[:, stay], moved], axis=1), np.concatenate([left[stay], ones])


def _excess(
    model: Pairwise, names: Sequence[str], places: Codes, weights: Ints | Floats, tables: Sequence[Columns]
) -> Tables:
    """Return the excess of rows, which have columns `names`, in each of the `tables`."""
    axes = [[names.index(name) for name in table] for table in tables]
    near = Tables.over(axes, [model.one_way[name].size for name in names], LIMIT)
    part = float(weights.sum()) / model.total
    for k, table in enumerate(tables):
        wanted = model.table(table) * part
        cells = np.ravel_multi_index(tuple(places[axes[k]]), wanted.shape)
        near.fill(k, np.bincount(cells, weights, wanted.size) - wanted.ravel(), wanted, POWER)
    return near


def _move(column: int, places: Codes, shape: Sequence[int], some: Ints, batches: int, near: Tables) -> int:
    """Change the values of a column in some rows, a batch at once, and return how many are other ones."""
    changed, number = 0, max(1, min(some.size // MIN_BATCH, batches))
    for part in np.array_split(some, -(-some.size // AT_ONCE)):
        each = np.array_split(part, max(1, number * part.size // some.size))
        changed += move_in_batches(column, places, shape, near, each)
    return changed
