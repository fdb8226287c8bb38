"""Which rows of a person are kept: by a keyed hash of (cell codes, copy number, ID), the same in every engine."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpengine import Plan, open_table
from dpengine.counting.contribution_bounding import is_one_of, marked_rows
from dpengine.counting.count import count
from dpengine.sources.databases.dialects import LOCAL

KEY = b"any key"
COLUMNS = [{"name": "age", "kind": "number", "edges": [0, 18, 65]}, {"name": "smokes", "kind": "yesno"}]
PEOPLE = pa.table(
    {
        "age": [i * 7 % 80 for i in range(300)],
        "smokes": ["yes" if i % 3 else "no" for i in range(300)],
        "who": [f"p{i % 40}" for i in range(300)],
    }
)


def kept_by_hand(rows: int) -> np.ndarray:
    """The counts of the rows that the documented hash keeps."""
    by_person = defaultdict(list)
    for age, smokes, who in zip(*(column.to_pylist() for column in PEOPLE.columns), strict=True):
        by_person[who].append((0 if age < 18 else 1 if age <= 65 else 2, 0 if smokes == "yes" else 1))
    counts = np.zeros((4, 4), np.int64)
    for who, cells in by_person.items():
        copies: Counter[tuple[int, int]] = Counter()
        hashed = {}
        for cell in cells:
            copies[cell] += 1
            text = ",".join([hashlib.sha256(KEY).hexdigest(), *map(str, cell), str(copies[cell]), who])
            hashed[hashlib.md5(text.encode()).hexdigest()] = cell
        for text in sorted(hashed)[:rows]:
            counts[hashed[text]] += 1
    return counts


def test_the_declared_order_of_columns_does_not_decide_which_rows_are_kept() -> None:
    """The same plan in another order is the same plan, so it must count the same rows."""
    counts = []
    for columns in (COLUMNS, COLUMNS[::-1]):
        plan = Plan(
            dataset="d", epsilon="1", columns=columns, tables=[["age", "smokes"]], unit={"id": "who", "rows": 1}
        )
        with open_table(PEOPLE) as table:
            counts.append(count(table, plan, [("age", "smokes")], truncation_key=KEY)[0])
    assert (counts[0] == counts[1]).all()


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_the_rows_of_a_person_with_the_smallest_hashes_are_kept(rows: int) -> None:
    plan = Plan(dataset="d", epsilon="1", columns=COLUMNS, tables=[["age", "smokes"]], unit={"id": "who", "rows": rows})
    with open_table(PEOPLE) as table:
        (counts,) = count(table, plan, plan.marginals, truncation_key=KEY)
    assert (counts == kept_by_hand(rows)).all()


@pytest.mark.parametrize("rows", [1, 2])
def test_rows_that_do_not_count_do_not_use_up_the_bound_of_a_person(rows: int) -> None:
    """Each of 50 persons has three rows that count and seven that do not: by chance alone some of these come first."""
    columns = "i % 10 AS k0, 'p' || i // 10 AS person, i AS h, CAST(i % 10 >= 3 AS INT) AS lacks"
    coded = f"SELECT {columns} FROM range(500) AS r(i)"
    with duckdb.connect() as engine:
        marked = marked_rows(coded, 1, rows, KEY, LOCAL)
        groups = engine.execute(f"SELECT h // 10, sum(times), count(*) FROM ({marked}) GROUP BY ALL").fetchall()
    assert sorted(groups) == [(person, rows, 10) for person in range(50)]


def test_runs_of_codes_are_one_comparison_each() -> None:
    assert is_one_of("k", [5]) == "(k BETWEEN 5 AND 5)"
    assert is_one_of("k", [0, 1, 3, 4]) == "(k BETWEEN 0 AND 1 OR k BETWEEN 3 AND 4)"
