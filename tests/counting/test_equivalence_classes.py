"""Equivalence classes: the same as by a plain loop over the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine import open_table
from dpengine.counting import equivalence_classes as counting
from dpengine.counting.equivalence_classes import Classes
from dpengine.errors import PlanError, TableError
from tests.conftest import examples

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["13053", "13068", " 13053", "", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from(["flu", "cancer", "", None]),
        st.sampled_from(["a", "b", "c", None]),
    ),
    max_size=14,
)
NAMES = ["zip", "age", "ill", "who"]


def opened(rows: list[tuple[object, ...]]) -> object:
    kinds = [pa.string(), pa.int64(), pa.string(), pa.string()]
    cells = [[row[k] for row in rows] for k in range(4)]
    return open_table(pa.table({n: pa.array(c, t) for n, c, t in zip(NAMES, cells, kinds, strict=True)}))


def plain(value: object) -> object:
    return (value.strip() or None) if isinstance(value, str) else value


def entries(classes: Classes) -> list[tuple[int, tuple[tuple[str | None, int], ...]]]:
    """Return the size of each class and the values of its people, sorted."""
    held = defaultdict(list)
    for of, value, count in zip(classes.of, classes.value, classes.count, strict=True):
        held[int(of)].append((classes.values[value], int(count)))
    return sorted(((int(n), tuple(sorted(held[k], key=str))) for k, n in enumerate(classes.size)), key=str)


def by_hand(rows: list[tuple[object, ...]], person: bool) -> list[tuple[int, tuple[tuple[object, int], ...]]]:
    own = defaultdict(lambda: defaultdict(set))
    for place, row in enumerate(rows):
        code, age, ill, who = map(plain, row)
        if not person or who is not None:
            own[code, age][ill].add(who if person else place)
    return sorted(
        (
            (len(set().union(*held.values())), tuple(sorted(((ill, len(w)) for ill, w in held.items()), key=str)))
            for held in own.values()
        ),
        key=str,
    )


@pytest.mark.by_day(1)
@settings(max_examples=examples(5, 15))
@given(rows=ROWS)
@pytest.mark.parametrize("person", [False, True])
def test_classes_are_those_of_a_loop_over_rows(rows: list[tuple[object, ...]], person: bool) -> None:
    with opened(rows) as table:
        classes = counting.class_sizes(table, ["zip", "age"], "ill", person="who" if person else None)
        bare = counting.class_sizes(table, ["zip", "age"], person="who" if person else None)
    assert entries(classes) == by_hand(rows, person)
    assert sorted(bare.size) == sorted(classes.size)
    assert bare.values == ()


@pytest.mark.by_day(1)
@settings(max_examples=examples(5, 15))
@given(rows=ROWS)
@pytest.mark.parametrize("person", [False, True])
def test_people_alone_are_those_of_a_loop_over_rows(rows: list[tuple[object, ...]], person: bool) -> None:
    sets = [names for size in (1, 2, 3) for names in combinations(NAMES[:3], size)]
    with opened(rows) as table:
        people = counting.unique_people(table, sets, person="who" if person else None)
    for names in sets:
        own = defaultdict(set)
        for place, row in enumerate(rows):
            cells = dict(zip(NAMES, map(plain, row), strict=True))
            if not person or cells["who"] is not None:
                own[tuple(cells[name] for name in names)].add(cells["who"] if person else place)
        alone = set().union(*(who for who in own.values() if len(who) == 1))
        seen = people[names]
        assert (seen.people, seen.classes) == (len(alone), len(own))


def test_values_stand_in_the_order_of_their_numbers_and_missing_last() -> None:
    frame = pd.DataFrame({"q": ["x"] * 5, "pay": ["10", "9", None, "100", "9"]})
    with open_table(frame) as table:
        assert counting.class_sizes(table, ["q"], "pay").values == ("9", "10", "100", None)


def test_missing_numbers_are_one_class_of_their_own() -> None:
    frame = pd.DataFrame({"q": [1.5, float("nan"), float("nan"), None]})
    with open_table(frame) as table:
        assert sorted(counting.class_sizes(table, ["q"]).size) == [1, 3]


def test_people_are_counted_once_each() -> None:
    with open_table(pd.DataFrame({"who": ["a", "a", "b", None], "q": [1, 2, 2, 2]})) as table:
        assert counting.people_count(table, "who") == 2
        assert counting.people_count(table, None) == 4


def test_someone_alone_in_several_classes_is_one_person() -> None:
    with open_table(pd.DataFrame({"who": ["a", "a", "b"], "year": [1, 2, 3]})) as table:
        assert counting.unique_people(table, [["year"]], person="who")["year",].people == 2


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda table: counting.class_sizes(table, []), PlanError, "at least one"),
        (lambda table: counting.class_sizes(table, ["zp"]), TableError, "did you mean 'zip'"),
        (lambda table: counting.class_sizes(table, ["zip"], "ilness"), TableError, "no column 'ilness'"),
        (lambda table: counting.unique_people(table, [["zip"]], person="nobody"), TableError, "no column 'nobody'"),
        (lambda table: counting.class_sizes(table, ["list"]), TableError, "cannot be grouped"),
    ],
)
def test_columns_that_cannot_be_grouped_are_refused(
    ask: Callable[[object], object], error: type[Exception], said: str
) -> None:
    with (
        open_table(pa.table({"zip": ["1"], "ill": ["flu"], "list": [[1, 2]]})) as table,
        pytest.raises(error, match=said),
    ):
        ask(table)
