"""Every value has one cell, and the cells are exactly those that were typed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.errors import PlanError
from dpengine.spec.domain import MISSING, OTHER, Amount, Category, Date, Number, YesNo, cells_payload
from dpengine.spec.numeric.edges import equal_edges
from tests.calls_and_memory import calls, peak_bytes


@pytest.mark.parametrize("listed", [np.array, pd.Series, pd.Index])
def test_arrays_and_columns_of_frames_are_taken_as_lists(listed: Callable[[list[Any]], Any]) -> None:
    assert Category(name="c", values=listed(["x", "y"])).values == ("x", "y")
    assert Number(name="n", edges=listed([0, 5, 9])).edges == (0, 5, 9)


@pytest.mark.parametrize(
    ("low", "high", "bins"),
    [
        (1950, 2025, 10),
        (0, 1, 4),
        (-1, 1, 7),
        (1000, 1100, 10),
        (0, 1, 3),
        (0, 120, 12),
        ("0.1", "0.2", 10),
        (0, 1, 4096),
    ],
)
def test_equal_bins_are_exactly_as_many_as_asked(low: object, high: object, bins: int) -> None:
    edges = equal_edges(low, high, bins)
    column = Number(name="x", edges=edges)
    assert len(column.declared) == bins
    assert edges[0] == Decimal(str(low))
    assert edges[-1] == Decimal(str(high))
    width = (Fraction(str(high)) - Fraction(str(low))) / bins
    for k, edge in enumerate(edges):
        assert abs(Fraction(edge) - (Fraction(str(low)) + k * width)) < width / 10**5


@given(
    start=st.fractions(-100, 100, max_denominator=60),
    width=st.fractions(Fraction(1, 60), 100, max_denominator=60),
    bins=st.integers(1, 40),
)
def test_edges_of_equal_bins_behave_like_their_tuple_and_are_made_later(
    start: Fraction, width: Fraction, bins: int
) -> None:
    edges = equal_edges(start, start + width, bins)
    column, listed = Number(name="x", edges=edges), Number(name="x", edges=list(edges))
    assert column == listed
    assert hash(column) == hash(listed)
    assert column.model_dump(mode="json") == listed.model_dump(mode="json")
    assert edges[1:] == tuple(edges)[1:]
    assert deepcopy(column) == listed


@given(start=st.integers(-(2**60), 2**60), step=st.integers(1, 600), bins=st.integers(1, 20))
def test_equal_edges_that_are_no_different_numbers_are_refused_as_listed_ones_are(
    start: int, step: int, bins: int
) -> None:
    def fault(edges: object) -> str:
        try:
            Number(name="x", edges=edges)
        except PlanError as error:
            return str(error)
        return ""

    edges = equal_edges(start, start + step * bins, bins)
    assert fault(edges) == fault(list(edges))


def test_edges_stay_as_they_were_typed() -> None:
    column = Number(name="x", edges=["-1.50", "0", "0.10", "1e3"])
    assert column.declared == ("[-1.50, 0)", "[0, 0.10)", "[0.10, 1000]")


@pytest.mark.parametrize(
    ("edges", "fragment"),
    [
        ([], "at least two edges"),
        ([3], "at least two edges"),
        ([3, 1], "increase"),
        ([0, 0], "increase"),
        ([0, "inf"], "finite"),
        ([0, "nan"], "finite"),
        (["1", "1.00000000000000000001"], "too close"),
        ({"from": 0, "to": 1}, "from, to and bins"),
        ({"from": 1, "to": 0, "bins": 3}, "below the end"),
        ({"from": 0, "to": 1, "bins": 10**9}, "too many"),
    ],
)
def test_unusable_edges_are_refused(edges: object, fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        Number(name="x", edges=edges)


def test_categories_hold_any_text() -> None:
    values = ["False", "Paris, TX", 'Rare "X"', " trailing", "007", "NA", "null", "Ελλάδα", "東京", "=cmd", "x" * 80]
    assert Category(name="x", values=values).labels == (*values, OTHER, MISSING)


@pytest.mark.parametrize(
    ("values", "fragment"),
    [([], "list the values"), (["a", "a"], "listed twice"), ([""], "missing value"), ([OTHER], "cell of its own")],
)
def test_unusable_categories_are_refused(values: list[str], fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        Category(name="x", values=values)


def test_other_and_missing_are_cells_unless_switched_off() -> None:
    yes_no = YesNo(name="x")
    assert yes_no.labels == ("yes", "no", OTHER, MISSING)
    assert (yes_no.other_code, yes_no.missing_code) == (2, 3)
    assert YesNo(name="x", missing=False).missing_code == 2  # a missing value is something undeclared
    assert YesNo(name="x", other=False).other_code == -1  # such rows are left out
    assert YesNo(name="x", other=False).missing_code == 2
    assert YesNo(name="x", other=False, missing=False).missing_code == -1


@pytest.mark.parametrize(
    "day", [0, "0", "86400", 86400.0, True, 1704067200, "2024", "20240101", "01.01.2024", "2024-1-1", "٢٠٢٤-01-01"]
)
def test_a_day_is_written_as_one_and_no_number_is_taken_for_seconds(day: Any) -> None:
    with pytest.raises(PlanError):
        Date(name="visit", first=day, last="2030-12-31", by="year")


@given(
    first=st.dates(date(1990, 1, 1), date(2030, 1, 1)),
    days=st.integers(0, 900),
    by=st.sampled_from(["day", "week", "month", "quarter", "year"]),
)
def test_periods_cover_the_span_once(first: date, days: int, by: str) -> None:
    last = first + timedelta(days=days)
    column = Date(name="d", **{"from": first, "to": last, "by": by})
    start = column.ordinal(first)
    assert len(set(column.declared)) == len(column.declared)
    covered = []
    for k in range(len(column.declared)):
        begin, end = column.period(start + k)
        covered += [begin + timedelta(days=n) for n in range((end - begin).days + 1)]
        assert column.ordinal(begin) == column.ordinal(end) == start + k
    assert covered == [first + timedelta(days=n) for n in range(days + 1)]


def test_weeks_begin_on_mondays_and_have_iso_names() -> None:
    column = Date(name="d", **{"from": "2024-12-30", "to": "2025-01-06", "by": "week"})
    assert column.declared == ("2025-W01", "2025-W02")


def test_the_last_week_of_the_calendar_ends_with_it() -> None:
    column = Date(name="d", first="9999-12-20", last="9999-12-31", by="week")
    assert column.period(column.ordinal(column.last)) == (date(9999, 12, 27), date(9999, 12, 31))


def test_a_span_runs_forward() -> None:
    with pytest.raises(PlanError, match="is after"):
        Date(name="d", **{"from": "2025-01-02", "to": "2025-01-01", "by": "day"})


def test_a_standard_list_named_in_code_gives_its_values_and_an_unknown_one_is_refused() -> None:
    for values in ({}, {"values": []}, {"values": ()}):
        months = Category(name="m", codebook="months", **values)
        assert months.declared[0] == "January"
        assert months.source == "standard"
    for wanted, fragment in [("martian-months", "no standard list"), ("x.csv", "not at hand"), ("", "no standard")]:
        with pytest.raises(PlanError, match=fragment):
            Category(name="m", codebook=wanted)


@pytest.mark.parametrize(
    "edge",
    ["1e99999999", "-1e99999999", "1e-99999999", "1e31", "1e-31", "1_0", "١٢", "9" * 5000, 10**400, 1e300, "0x9", True,
     Decimal("1e400"), None, "1/3"],
)  # fmt: skip
def test_absurdly_large_numbers_are_refused_without_being_computed(edge: object) -> None:
    def refused() -> None:
        with pytest.raises(PlanError, match="edge 2: this"):
            Number(name="x", edges=[-(10**30), edge])
        for low, high, bins in [(-1, edge, 2), (edge, 10**30, 2), (0, 1, edge)]:
            if edge not in ("1/3", "1e-31", True):
                with pytest.raises(PlanError):
                    Number(name="x", edges={"from": low, "to": high, "bins": bins})

    assert peak_bytes(refused) < 4_000_000, "10 to the power of 99,999,999 is never written out"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "edges", [lambda n: range(n + 1), lambda n: {"from": 0, "to": 1, "bins": n},
              lambda n: {"from": "1/3", "to": 7, "bins": n}]
)  # fmt: skip
def test_work_grows_with_the_bins_and_no_faster(edges: Callable[[int], object]) -> None:
    few, many = (calls(lambda n=n: Number(name="x", edges=edges(n))) for n in (1_000, 10_000))
    assert many < 11 * few
    assert len(Number(name="x", edges=edges(10**6)).edges) == 10**6 + 1


CONTROLS = ["\0", "\x1b", "\x7f", "\x85", "\x9f", "\ud800", "\udfff"]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_no_text_of_a_column_holds_a_control_character(control: str) -> None:
    text = f"a{control}b"
    for make in [
        lambda: YesNo(name=text),
        lambda: YesNo(name="x", missing_as=[text]),
        lambda: Category(name="x", values=["a", text]),
        lambda: Category(name="x", source="codebook", values=["a"], codebook=text),
        lambda: Date(name="d", **{"from": "2025-01-01", "to": "2025-01-02", "by": "day", "format": text}),
    ]:
        with pytest.raises(PlanError, match="control character"):
            make()


def test_numbers_in_another_format_are_counted_in_other_cells() -> None:
    """So a plan that reads 1.234 as 1234 is another one than a plan that reads it as 1.234."""
    for make in (
        lambda form: Number(name="pay", edges=[0, 18, 65], format=form),
        lambda form: Amount(name="pay", low=0, high=65, format=form),
    ):
        assert len({str(cells_payload(make(form))) for form in ("1234.5", "1,234.5", "1.234,5")}) == 3
