"""Universes: keys and their places correspond one to one, and other texts have no place."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Category, Plan, PlanError
from dpengine.spec.categories.universe import NONE_FOUND, Universe
from dpengine.spec.domain import cells_payload

SMALL = [
    Universe(letters="ba", longest=3),
    Universe(letters="a-c-.", longest=2),
    Universe(letters="x", longest=4),
    Universe(pattern=["@#", "#-@", "0"]),
    Universe(pattern="A #"),
    Universe(first=-12, last=105),
]
LARGE = [
    Universe(letters="a-zäöüß", longest=12),
    Universe(letters="A-Z0-9", longest=11),
    Universe(pattern=["@@#@ #@@", "@# #@@", "#####-####"]),
    Universe(first=-(10**17), last=10**17),
]


@pytest.mark.parametrize("universe", SMALL, ids=repr)
def test_places_and_keys_follow_from_each_other(universe: Universe) -> None:
    keys = [universe.key(place) for place in range(universe.keys)]
    assert [universe.place(key) for key in keys] == list(range(universe.keys))
    assert len({*keys}) == universe.keys
    assert all(re.fullmatch(universe.regular_expression, key) for key in keys)
    for place in (-1, universe.keys):
        with pytest.raises(IndexError):
            universe.key(place)


@pytest.mark.parametrize("universe", LARGE, ids=repr)
@given(data=st.data())
def test_places_and_keys_agree_in_universes_too_large_to_list(universe: Universe, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, universe.keys - 1))
    key = universe.key(place)
    assert universe.place(key) == place
    assert re.fullmatch(universe.regular_expression, key)


@given(text=st.text(alphabet="ab0-1A. ", max_size=6))
def test_a_text_that_is_no_key_has_no_place(text: str) -> None:
    for universe in SMALL:
        place = universe.place(text)
        assert place is None or universe.key(place) == text
        if place is not None or universe.first is None:
            assert (place is not None) == bool(re.fullmatch(universe.regular_expression, text))


@given(text=st.text(max_size=8))
def test_texts_of_any_kind_have_no_place_unless_they_are_keys(text: str) -> None:
    for universe in LARGE:
        place = universe.place(text)
        assert place is None or universe.key(place) == text


def test_texts_are_in_the_order_of_their_letters() -> None:
    universe = Universe(letters="a-z", longest=4)
    keys = [universe.key(place) for place in range(0, universe.keys, 997)]
    assert keys == sorted(keys)


def test_a_column_has_the_values_that_were_found_and_is_written_without_them() -> None:
    column = Category(name="x", values="found", among={"from": 0, "to": 9, "most": 2})
    assert column.labels == ("0", "1", "(other)", "(missing)")
    with_values = column.with_values(("3", "7"))
    assert with_values.labels == ("3", "7", "(other)", "(missing)")
    assert with_values.share == column.share == Fraction(1, 4)
    assert with_values.as_written == column != with_values
    assert column.with_cells_of(with_values) == with_values
    assert cells_payload(with_values) == cells_payload(column)
    assert column.with_values((NONE_FOUND,)).declared == (NONE_FOUND,)


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "by one rule"),
    ({"pattern": "#", "from": 0, "to": 3}, "by one rule"),
    ({"letters": "a-z"}, "by one rule"),
    ({"longest": 4}, "by one rule"),
    ({"from": 3}, "by one rule"),
    ({"from": 4, "to": 3}, "after"),
    ({"letters": "a-z", "longest": 15}, "more than"),
    ({"letters": "aba", "longest": 3}, "twice"),
    ({"letters": "z-a", "longest": 3}, "no range"),
    ({"letters": "ab(", "longest": 3}, "no letter"),
    ({"letters": "ab ", "longest": 3}, "no letter"),
    ({"letters": "\u1100\u1161", "longest": 3}, "join"),
    ({"pattern": ["#@", "1@"]}, "two of these"),
    ({"pattern": " #"}, "no pattern"),
    ({"pattern": "(#)"}, "no pattern"),
    ({"pattern": "#", "share": "1"}, "share"),
    ({"pattern": "#", "share": "0"}, "share"),
    ({"pattern": "#", "share": "-1/10"}, "share"),
    ({"pattern": "#", "chance": "1/2"}, "chance"),
    ({"pattern": "#", "most": 0}, "greater than"),
    ({"first": 0, "last": 5, "found": ["3", "9"]}, "a value that was found is not possible here"),
]


@pytest.mark.parametrize(("rule", "said"), BAD)
def test_an_invalid_universe_is_refused_in_words(rule: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        Universe(**rule)


def test_a_column_says_that_its_values_are_found_and_of_what() -> None:
    column = Category(name="plz", values="found", among={"pattern": "#####", "most": 3, "share": "1/3"})
    assert column.declared == ("00000", "00001", "00002")
    plan = Plan(dataset="d", epsilon=1, columns=[column], tables=[["plz"]])
    entry = plan.to_dict()["columns"][0]
    assert (entry["values"], entry["among"]) == ("found", {"pattern": "#####", "most": 3, "share": "1/3"})
    again = Plan.loads(plan.dumps())
    assert again == plan
    assert again.key == plan.key
    assert again.columns[0].among.share == Fraction(1, 3)  # type: ignore[union-attr]


def test_what_is_found_is_part_of_a_plan_s_identity_and_declared_values_keep_theirs() -> None:
    payloads = [cells_payload(Category(name="a", values="found", among={"pattern": "#", **more}))
                for more in ({}, {"share": "1/3"}, {"chance": "1/100"}, {"most": 4}, {"pattern": "#-"})]  # fmt: skip
    assert len({repr(each) for each in payloads}) == len(payloads)
    assert "among" not in cells_payload(Category(name="a", values=["x"]))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"values": "found"}, "need 'among'"),
        ({"values": ["x"], "among": {"pattern": "#"}}, "write 'values: found'"),
        ({"values": "found", "among": {"pattern": "#"}, "other": False}, "other"),
        ({"values": "found", "among": {"pattern": "#"}, "words": {"0": "none"}}, "no levels, words"),
        ({"values": "found", "among": {"pattern": "##", "letters": "a"}}, "by one rule"),
    ],
)
def test_a_column_that_cannot_be_found_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        Category(name="plz", **more)
