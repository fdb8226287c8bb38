"""Suggestions follow from names and declared types alone, and are always readable declarations."""

from __future__ import annotations

import inspect

import pytest

from dpengine.spec import suggestions
from dpengine.spec.notation import read
from dpengine.spec.suggestions import spellings, suggested, suggested_amount


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("age", "number", "0, 18, 30, 45, 65, 120"),
        ("Patient Age", "number", "0, 18, 30, 45, 65, 120"),
        ("age_group", "category", ""),
        ("age", "category", ""),
        ("SEX", "category", "female, male"),
        ("sex", "number", "1..2"),
        ("smoker", "category", "yes, no"),
        ("is_member", "yesno", "yes, no"),
        ("paid", "yesno", "yes, no"),
        ("month", "date", "months"),
        ("birthMonth", "number", "1..12"),
        ("day_of_week", "date", "weekdays"),
        ("state", "category", "us-states"),
        ("state_code", "category", "us-state-codes"),
        ("Bundesland", "category", "german-states"),
        ("country_of_birth", "category", "country-codes"),
        ("Geschlecht", "category", "männlich, weiblich, divers"),
        ("Körpergröße (cm)", "number", "50 to 220 by 10"),
        ("Aufnahmedatum", "date", "2017 to 2026 by year"),
        ("visit_date", "date", "2017 to 2026 by year"),
        ("date_of_birth", "date", "1900 to 2026 by year"),
        ("year_of_birth", "number", "1900 to 2026 by 10"),
        ("region", "category", ""),
        ("income", "number", ""),
        ("marriage", "category", ""),
        ("message", "category", ""),
        ("village", "category", ""),
        ("Zufriedenheit ÖPNV (1–5)", "category", "1..5"),
        ("How safe? [0 to 10]", "number", "0..10"),
        ("Employed (18-65)", "category", ""),
    ],
)
def test_a_name_and_a_kind_suggest(name: str, kind: str, text: str) -> None:
    assert suggested(name, kind, year=2026) == text


def test_an_amount_of_money_is_recognised_in_german() -> None:
    assert suggested_amount("Haushaltseinkommen (€)") == "0 to 200000 by 100"
    assert suggested_amount("Gebühr") == "0 to 1000 by 1"
    for name in ("Bruttolohn", "Jahresverdienst", "Arbeitsentgelt", "Gehalt pro Jahr", "Umsatz"):
        assert suggested_amount(name) == "0 to 200000 by 100", name
    assert suggested_amount("Bruttomonatsverdienst") == suggested_amount("Monatslohn") == "0 to 20000 by 10"
    assert suggested_amount("Belohnung") == suggested_amount("Lohngruppe") == "", "no amounts"


@pytest.mark.parametrize("name", ["sex", "Geschlecht", "gender", "state_code"])
def test_the_suggestion_of_a_column_is_one_of_its_spellings_and_each_can_be_read(name: str) -> None:
    ways = [read(way, "category")["values"] for way in spellings(name)]
    first = read(suggested(name, "category", year=2026), "category")["values"]
    assert set(first) in map(set, ways)
    assert all(len(set(values)) == len(values) for values in ways)


def test_a_column_stored_as_dates_gets_days_whatever_its_name() -> None:
    assert suggested("month", "date", year=2026, as_text=False) == "2017 to 2026 by year"


@pytest.mark.parametrize("kind", ["number", "category", "date", "yesno"])
@pytest.mark.parametrize("name", ["age", "sex", "month", "weekday", "state", "country", "blood_group", "pct", "bmi",
                                  "height_cm", "dob", "yob", "smoker", "visit_date", "hours_per_week",
                                  "Geschlecht"])  # fmt: skip
def test_every_suggestion_can_be_read(name: str, kind: str) -> None:
    text = suggested(name, kind, year=2026)
    assert not text or read(text, kind)["kind"] in ("number", "category", "date", "yesno")


def test_no_row_can_reach_a_suggestion() -> None:
    assert list(inspect.signature(suggestions.suggested).parameters) == ["name", "kind", "year", "as_text"]
