"""The short text of a declaration: it says what was meant, and comes back the same."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpengine.spec.date_text import DATE_FORMATS
from dpengine.spec.notation import read, write
from dpengine.spec.standard_lists import standard_lists


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("0, 18, 65", "number", {"kind": "number", "edges": ["0", "18", "65"]}),
        ("0 18\n65", "number", {"kind": "number", "edges": ["0", "18", "65"]}),
        ("0; 1,5; 3", "number", {"kind": "number", "edges": ["0", "1.5", "3"]}),
        ("140,5; 160,5; 180", "category", {"kind": "number", "edges": ["140.5", "160.5", "180"]}),
        ("140; 160; 180", "category", {"kind": "category", "values": ["140", "160", "180"]}),
        ("18 to 33 by 5", "category", {"kind": "number", "edges": ["18", "23", "28", "33"]}),
        ("18 to 30 by 5", "number", {"kind": "number", "edges": ["18", "23", "28", "30"]}),
        ("0, 10 to 30 by 10, 99", "number", {"kind": "number", "edges": ["0", "10", "20", "30", "99"]}),
        ("0 to 1 by 0.5, 1 to 3 by 1", "number", {"kind": "number", "edges": ["0", "0.5", "1", "2", "3"]}),
        ("0 to 1 in 4 bins", "number", {"kind": "number", "edges": ["0", "0.25", "0.5", "0.75", "1"]}),
        ("0–20 by 10", "number", {"kind": "number", "edges": ["0", "10", "20"]}),
        ("-10 to 10 by 10, written 1.234,5", "number",
         {"kind": "number", "edges": ["-10", "0", "10"], "format": "1.234,5"}),
        ("0 to 200000 by 100", "amount",
         {"kind": "amount", "from": "0", "to": "200000", "step": "100", "knots": [], "upper": None}),
        ("0 – 80", "amount", {"kind": "amount", "from": "0", "to": "80", "step": "1", "knots": [], "upper": None}),
        ("0; 2,5; 10 by 0,5, written 1.234,5", "amount",
         {"kind": "amount", "from": "0", "to": "10", "step": "0.5", "knots": ["0", "2.5", "10"], "upper": None,
          "format": "1.234,5"}),
        ("0 to 10 by 1 in 2 parts", "amount",
         {"kind": "amount", "from": "0", "to": "10", "step": "1", "knots": ["0", "5", "10"], "upper": None}),
        ("0 to 90 by 1, upper bound found, share 1/5", "number",
         {"kind": "amount", "from": "0", "to": "90", "step": "1", "knots": [], "upper": {"share": "0.2"}}),
        ("0 bis 9000 je 10, Obergrenze gefunden", "amount",
         {"kind": "amount", "from": "0", "to": "9000", "step": "10", "knots": [], "upper": {"share": "0.1"}}),
        ("100 to 0 by 30", "amount",
         {"kind": "amount", "from": "100", "to": "0", "step": "30", "knots": [], "upper": None}),
        ("us-state-codes", "amount", {"kind": "category", "values": list(standard_lists()["us-state-codes"])}),
        ("North, South", "category", {"kind": "category", "values": ["North", "South"]}),
        ("North, South", "number", {"kind": "category", "values": ["North", "South"]}),
        ('North; "Paris, TX"\n"6"" pipe"', "category",
         {"kind": "category", "values": ["North", "Paris, TX", '6" pipe']}),
        ("1..3, 99", "number", {"kind": "category", "values": ["1", "2", "3", "99"]}),
        ("01..03", "category", {"kind": "category", "values": ["01", "02", "03"]}),
        ("18 to 24, 25 to 34", "category", {"kind": "category", "values": ["18 to 24", "25 to 34"]}),
        ('"1 to 5"', "category", {"kind": "category", "values": ["1 to 5"]}),
        ("18-24, 25-34", "category", {"kind": "category", "values": ["18-24", "25-34"]}),
        ("weekdays, never", "category", {"kind": "category", "values": [*standard_lists()["weekdays"], "never"]}),
        ('"weekdays"', "category", {"kind": "category", "values": ["weekdays"]}),
        ("yes, no", "number", {"kind": "yesno"}),
        ("Y; N", "yesno", {"kind": "yesno"}),
        ("yes, no", "category", {"kind": "category", "values": ["yes", "no"]}),
        ("2020 to 2024 by year", "category",
         {"kind": "date", "from": "2020-01-01", "to": "2024-12-31", "by": "year"}),
        ("2024 by month, written 31.12.2024", "category",
         {"kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month", "format": "%d.%m.%Y"}),
        ("2020-03 to 2024-02 by months", "date",
         {"kind": "date", "from": "2020-03-01", "to": "2024-02-29", "by": "month"}),
        ("2020-03-04 to 2024-02-03 by week, written 31.12.2024", "date",
         {"kind": "date", "from": "2020-03-04", "to": "2024-02-03", "by": "week", "format": "%d.%m.%Y"}),
        ("1.3.2020 to 31.12.2024 by month", "category",
         {"kind": "date", "from": "2020-03-01", "to": "2024-12-31", "by": "month"}),
        ("2020 to 2024 by day written %y%m%d", "date",
         {"kind": "date", "from": "2020-01-01", "to": "2024-12-31", "by": "day", "format": "%y%m%d"}),
    ],
)  # fmt: skip
def test_a_text_is_read_as_the_fields_that_it_declares(text: str, kind: str, fields: dict[str, Any]) -> None:
    assert read(text, kind) == fields


@pytest.mark.parametrize(
    ("text", "kind", "fragment"),
    [
        ("18 to 90", "number", "how wide"),
        ("0, 1x, 3", "number", "1x is not a number"),
        ("90 to 18 by 5", "number", "lower number first"),
        ("18 to 90 by 0", "number", "lower number first"),
        ("0 to 1 by 0.000000001", "number", "too many"),
        ("0 to 5000 by 0.01", "category", "500,000 bins"),
        ("0, 1, written 1 234", "number", "how 1234.5 looks"),
        ("2020", "date", "first and last day"),
        ("2024-02-30 to 2024-12-31 by day", "date", "no day 2024-02-30"),
        ("31.02.2024 to 31.12.2024 by day", "date", "no day 31.02.2024"),
        ("2020 to 2024 by year, written somehow", "date", "last day of 2024 looks"),
        ("North, …", "category", "not whole"),
        ('"Paris, TX" and North', "category", "comma after"),
        ("9..1", "category", "lower code first"),
        ("1 to 5", "category", "write codes as 1..5"),
        ("", "category", "list the possible values"),
    ],
)
def test_an_unreadable_text_is_refused_with_what_to_write(text: str, kind: str, fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        read(text, kind)


def test_a_kind_that_a_person_chose_stays() -> None:
    with pytest.raises(ValueError, match="not a number"):
        read("North, South", "number", strict=True)
    with pytest.raises(ValueError, match="first and last day"):
        read("18 to 90 by 5", "date", strict=True)
    with pytest.raises(ValueError, match="no other values"):
        read("maybe", "yesno", strict=True)
    assert read("18 to 90 by 5", "category", strict=True)["values"] == ["18 to 90 by 5"]


texts = st.text(min_size=1).filter(lambda text: text.isprintable())
odd = st.sampled_from(
    [
        *("us-states", "1..3", "…", "...", "18 to 90 by 5", "2020 to 2024 by year", 'a"b', " a", "a,b", "by 3"),
        *("2024 by month", "1 to 2", "yes", "no", "written %d", "x written y", "007", "8", "9", "10", "11", "AL", "AK"),
    ]
)
numbers = st.decimals(-(10**9), 10**9, allow_nan=False, places=2) | st.integers(-50, 50).map(Decimal)
days = st.dates(date(1800, 1, 1), date(2200, 12, 31))


@given(st.lists(texts | odd, min_size=1, unique=True))
def test_categories_come_back(values: list[str]) -> None:
    column = {"kind": "category", "values": values}
    assert read(write(column), "category") == column


@given(st.lists(numbers, min_size=2, unique=True), st.integers(0, 12), st.sampled_from(["", "1,234.5", "1.234,5"]))
def test_edges_come_back(edges: list[Decimal], steps: int, form: str) -> None:
    edges = sorted({*edges, *(edges[0] + 5 * k for k in range(steps))})
    column = {"kind": "number", "edges": [f"{edge:f}" for edge in edges]} | ({"format": form} if form else {})
    assert read(write(column), "number") == column


@given(days, days, st.sampled_from(["day", "week", "month", "quarter", "year"]),
       st.sampled_from(list(DATE_FORMATS)) | texts)  # fmt: skip
def test_spans_come_back(first: date, last: date, by: str, pattern: str) -> None:
    column = {"kind": "date", "from": str(first), "to": str(last), "by": by} | ({"format": pattern} if pattern else {})
    assert read(write(column), "date") == column


@given(st.text(), st.sampled_from(["number", "category", "date", "yesno"]))
def test_any_text_is_read_or_refused_and_what_is_read_comes_back(text: str, kind: str) -> None:
    try:
        fields = read(text, kind)
    except ValueError:
        return
    assume(write(fields))
    again = read(write(fields), fields["kind"])
    assert again == fields or {"format": ""} | again == fields


@pytest.mark.parametrize("name", sorted(standard_lists()))
def test_standard_lists_are_written_by_their_names(name: str) -> None:
    assert write({"kind": "category", "values": standard_lists()[name]}) == name
    assert read(name, "category")["values"] == list(standard_lists()[name])


def test_half_typed_text_is_shown_as_it_is() -> None:
    assert write({"kind": "number", "edges": ["0", "x"]}) == "0, x"
    assert write({"kind": "number", "edges": []}) == write({"kind": "date", "from": "", "to": ""}) == ""
    assert write({"kind": "date", "from": "2020-01-01", "to": "", "by": "day"}) == "2020-01-01 to ? by day"


@pytest.mark.parametrize("text", ["1-5", "1 - 5", "1 bis 5"])
def test_a_scale_written_as_a_span_is_no_column_of_one_value(text: str) -> None:
    """It became the only value of the column, and everybody fell into (other)."""
    with pytest.raises(ValueError, match=r"write codes as 1\.\.5"):
        read(text, "category")
    assert read(f'"{text}"', "category")["values"] == [text]
    assert read(write({"kind": "category", "values": [text]}), "category")["values"] == [text]
    assert read("0-17, 18-64", "category")["values"] == ["0-17", "18-64"]


@pytest.mark.parametrize(
    ("german", "english", "kind"),
    [
        ("01.10.2025 bis 31.12.2025 je Monat, geschrieben 31.12.2024",
         "2025-10-01 to 2025-12-31 by month, written 31.12.2024", "category"),
        ("2024 je Quartal", "2024 by quarter", "date"),
        ("0 bis 5000 je 500, geschrieben 1.234,5", "0 to 5000 by 500, written 1.234,5", "number"),
        ("18 bis 90 in 12 Klassen", "18 to 90 in 12 bins", "number"),
        ("0 bis 200000 je 100", "0 to 200000 by 100", "amount"),
        ("je Stunde", "by hour", "category"),
    ],
)  # fmt: skip
def test_what_a_german_page_shows_is_read_in_german(german: str, english: str, kind: str) -> None:
    assert read(german, kind) == read(english, kind)


def test_values_that_hold_german_words_stay_as_they_are() -> None:
    values = ["1 bis 2 je Haushalt", "bis 5", "je Tag", "Tag", "10 bis 20 je 5"]
    assert read(write({"kind": "category", "values": values}), "category")["values"] == values
