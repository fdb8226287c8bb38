"""Distinct persons: each counts once in each of the first different cells of their rows, in a random order of these."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpengine import Plan, open_table
from dpengine.array_types import Ints
from dpengine.counting.count import count, count_unchanged, digest
from dpengine.measure.strategy import decide
from tests.plans import letters_plan

KEY = b"any key"
CELLS = [("a0", "b0"), ("a0", "b1"), ("a1", "b0"), ("a1", "b1")]
Rows = list[tuple[str, str, str]]


def plan_of(cells: int, *more: Any, rows: int = 3) -> Plan:
    table = {"columns": ["a", "b"], "distinct": True, "cells_per_person": cells}
    return letters_plan([2, 2], [table, *more], unit={"id": "who", "rows": rows})


def counted(plan: Plan, rows: Rows, key: bytes = KEY) -> list[Ints]:
    strategy = decide(plan)
    with open_table(pd.DataFrame(rows, columns=["who", "a", "b"], dtype=object)) as table:
        return count(table, plan, strategy.marginals, truncation_key=key, tallies=strategy.tallies)


def by_hand(rows: Rows, bound: int, cells: int, key: bytes = KEY) -> Ints:
    """The counts that the documented order of hashes gives: the first different cells of a person's kept rows."""
    counts = np.zeros((2, 2), np.int64)
    for person in {who for who, _, _ in rows}:
        copies: Counter[tuple[int, int]] = Counter()
        hashed = {}
        for who, a, b in rows:
            if who == person:
                cell = int(a[1]), int(b[1])
                copies[cell] += 1
                text = ",".join([hashlib.sha256(key).hexdigest(), *map(str, cell), str(copies[cell]), who])
                hashed[hashlib.md5(text.encode()).hexdigest()] = cell
        first = [hashed[text] for text in sorted(hashed)[:bound]]
        for cell in list(dict.fromkeys(first))[:cells]:
            counts[cell] += 1
    return counts


@pytest.mark.parametrize(("bound", "cells"), [(3, 1), (3, 2), (3, 3), (2, 2)])
def test_a_person_counts_in_the_first_different_cells_of_the_kept_rows(bound: int, cells: int) -> None:
    random = np.random.default_rng(3)
    rows = [(f"p{random.integers(30)}", *CELLS[random.integers(4)]) for _ in range(150)]
    (counts,) = counted(plan_of(cells, rows=bound), rows)
    assert (counts == by_hand(rows, bound, cells)).all()


def test_tables_of_one_cell_per_person_agree_on_what_they_share() -> None:
    plan = plan_of(1, {"columns": ["a"], "distinct": True}, {"columns": ["b"], "distinct": True})
    rows = [(f"p{k % 7}", *CELLS[k * k % 4]) for k in range(30)]
    with open_table(pd.DataFrame(rows, columns=["who", "a", "b"])) as table:
        both, a, b, total = count(table, plan, [("a", "b"), ("a",), ("b",), ()], truncation_key=KEY)
    assert (both.sum(axis=1) == a).all()
    assert (both.sum(axis=0) == b).all()
    assert both.sum() == total == 7


PEOPLE = [each for size in range(1, 4) for each in combinations_with_replacement(CELLS, size)]
WORLDS = [*PEOPLE, *(((one, *rest, *rest)) for one in CELLS for rest in PEOPLE if len(rest) == 2)]  # and of five rows


def each_alone(*tables: Any) -> list[Ints]:
    """Return what each person of a small world adds to each table. Each world has one person; all are counted at once.

    A column distinguishes the worlds. A person is in one world, and so in as many cells as without that column.
    """
    plan = letters_plan([2, 2, len(WORLDS)], list(tables), unit={"id": "who", "rows": 3})
    rows = [(f"p{w}", *row, f"c{w}") for w, rows in enumerate(WORLDS) for row in rows]
    with open_table(pd.DataFrame(rows, columns=["who", "a", "b", "c"])) as table:
        return count(table, plan, plan.marginals, truncation_key=KEY)


def test_every_person_of_a_small_world_moves_a_table_by_the_bound_on_cells_at_most() -> None:
    """All persons with up to three rows on four cells, and some with more rows than are kept."""
    for cells in (1, 2, 3):
        (counts,) = each_alone({"columns": ["c", "a", "b"], "distinct": True, "cells_per_person": cells})
        assert counts.max() == 1, "once in each cell"
        moved = counts.sum(axis=(1, 2))
        assert moved.max() == cells, "the bound is met, and never passed"
        assert [*moved[: len(PEOPLE)]] == [min(cells, len({*rows})) for rows in PEOPLE]


def test_no_person_moves_tables_of_rows_and_persons_together_by_more_than_epsilon() -> None:
    """Exact exponents of the composed release, Σ |c − c'|/scale over all tables, for the key that chose the cells."""
    measured = decide(plan_of(2, ["a"], {"columns": ["b"], "distinct": True})).allocations
    scales = [each.scale for each in measured]
    several = {"columns": ["c", "a", "b"], "distinct": True, "cells_per_person": 2}
    counts = each_alone(["c", "a"], {"columns": ["c", "b"], "distinct": True}, several)
    exponents = [
        sum((int(of[w].sum()) / scale for of, scale in zip(counts, scales, strict=True)), Fraction(0))
        for w in range(len(WORLDS))
    ]
    assert max(exponents) == 1, "ε is met, and never passed"


def test_the_cells_of_a_person_do_not_depend_on_the_others() -> None:
    """With one key, the counts with a person are those without plus those of this person alone: the coupling."""
    base = [(f"p{k % 9}", *CELLS[k * k % 3]) for k in range(40)]
    new = [("new", *cell) for cell in CELLS[:3]]
    plan = plan_of(2, ["a"], {"columns": ["b"], "distinct": True})
    here, there, alone = (counted(plan, rows) for rows in (base, [*new, *base], new))
    for without, with_one, one in zip(here, there, alone, strict=True):
        assert (with_one - without == one).all()


def test_the_total_of_epsilon_is_divided_exactly() -> None:
    plan = plan_of(2, ["a"], {"columns": ["b"], "distinct": True}).at("1/7")
    assert sum((each.epsilon for each in decide(plan).allocations), Fraction(0)) == Fraction(1, 7)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
def test_rows_and_persons_of_a_table_in_another_engine_count_by_their_own_rules(
    in_engine: Callable[[pa.Table], Any],
) -> None:
    """One statement counts and recognises the rows of one tally; of several, each needs its own choice of rows."""
    plan = plan_of(1, ["a"], rows=2)
    strategy = decide(plan)
    rows = pa.table({
        "who": [f"p{k % 40}" for k in range(160)],
        "a": [f"a{k % 2}" for k in range(160)],
        "b": [f"b{k % 3 % 2}" for k in range(160)],
    })  # fmt: skip
    asked: dict[str, Any] = {"truncation_key": KEY, "tallies": strategy.tallies}
    assert len({*strategy.tallies}) == 2
    with open_table(rows) as here, open_table(in_engine(rows)) as there:
        expected = count(here, plan, strategy.marginals, **asked)
        digest(there)
        counts = count_unchanged(there, plan, strategy.marginals, **asked)
    assert [each.tolist() for each in counts] == [each.tolist() for each in expected]
    assert sorted(int(each.sum()) for each in counts) == [40, 80]
