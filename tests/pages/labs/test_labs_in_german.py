"""A lab in German says nothing in English, before and after its buttons are pressed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpengine import open_table
from dpengine.lessons.survey import METHODS
from dpengine.translation.catalogue import _, speaking
from pages.parts.choose.samples import OWN, SAMPLES
from pages.parts.definition.examples import EXAMPLES
from pages.parts.risk.lessons import LESSONS
from pages.parts.shared.wording import OURS
from pages.parts.survey.tabs import VIEWS
from pages.parts.visit.plan.entries import Entries
from tests.pages.test_german import english, in_the_other_language, opened, sentences
from tests.pages.visits import labelled, ledger, settled, visit_of, whole


def in_both(page: AppTest, **tabs: str) -> set[str]:
    """Return what a German page says in both languages, with these tabs open; it is in German afterwards."""
    with speaking("de"):
        for key, name in tabs.items():
            page.session_state[key] = _(name)
        here = sentences(whole(page.run()))
    for key, name in tabs.items():
        page.session_state[key] = name
    there = in_the_other_language(page)
    in_the_other_language(page)
    return here & there


def definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.parts.definition.audit.RUNS", 4)
    monkeypatch.setattr("pages.parts.definition.audit.checks", lambda _epsilon: [])  # a table: no text to look at
    page = opened("labs/definition")
    found = set()
    for example in EXAMPLES:
        found |= in_both(page, definition_example=example)
    for question, delta in (("How many over 21", 1), ("Sum of incomes", 50)):
        with speaking("de"):
            page.segmented_control(key="definition_question").set_value(question).run()
            next(each for each in page.number_input if each.label.startswith("Δ")).set_value(delta).run()
        found |= in_both(page)
    with speaking("de"):
        page.button(key="definition_audit").click().run()
    assert any(text.startswith("Von Ergebnissen belegt") for text in sentences(page))
    names = ("Definition", "Fatma", "Hong", "Ron", "Oren", "Pr", "in", "le", "varepsilon")
    assert english(found | in_both(page), *names) == []


def attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.parts.attacks.audit.RUNS", 20)
    monkeypatch.setattr("pages.parts.attacks.audit.BATCH", 10)
    page = opened("labs/attacks")
    found = set()
    for attack, press in (
        ("Differencing", "attacks_run_again"),
        ("Averaging", "attacks_run_again"),
        ("Reconstruction", "attacks_run"),
        ("Floating point", "attacks_another"),
        ("Try to break ours", "attacks_break"),
    ):
        with speaking("de"):
            page.segmented_control(key="attacks_attack").set_value(attack).run()
            if attack == "Averaging":
                page.selectbox(key="attacks_defence").set_value(OURS).run()
            if attack == "Reconstruction":
                page.segmented_control(key="attacks_people").set_value(100).run()
        found |= in_both(page)
        with speaking("de"):
            page.button(key=press).click().run()
        found |= in_both(page)
    assert english(found) == []


def risk(_monkeypatch: pytest.MonkeyPatch) -> None:
    page = opened("labs/risk")
    found = set()
    for lesson in LESSONS:
        found |= in_both(page, risk_lesson=lesson)
    rows = pd.DataFrame({"plz": ["1", "2", "2"], "alt": ["1", "1", "2"], "wer": ["a", "b", "c"]})
    with open_table(rows) as table:
        visit_of(page).table = table
        visit_of(page).entries = Entries(chosen=("plz", "alt"), several_rows=True, id_column="wer")
        with speaking("de"):
            whole(page.run())
            labelled(page.toggle, "Zeigen").set_value(True).run()
        assert "Nur für Ihre Augen" in " ".join(sentences(settled(page)))
        found |= in_both(page, risk_lesson="All the same")
    assert english(found, "plz", "alt", "wer") == []


def survey(_monkeypatch: pytest.MonkeyPatch) -> None:
    page = opened("labs/survey")
    found = set()
    for view in VIEWS:
        found |= in_both(page, survey_view=view)
    for method in METHODS:
        with speaking("de"):
            page.selectbox(key="survey_method").set_value(method).run()
        found |= in_both(page)
    with speaking("de"):
        page.checkbox(key="survey_fit").check().run()
        page.segmented_control(key="survey_who").set_value("Census").run()
    columns = page.selectbox(key="survey_column_Census").options
    assert english(found | in_both(page), "Census", *columns) == []


def choose(_monkeypatch: pytest.MonkeyPatch) -> None:
    page = opened("labs/choose")
    found = set()
    for kind in SAMPLES:
        with speaking("de"):
            page.segmented_control(key="choose_kind").set_value(kind).run()
            if kind != OWN:
                page.button(key="choose_lesson").click().run()
                page.button(key="choose_lesson").click().run()
        found |= in_both(page)
    with speaking("de"):
        page.radio[0].set_value("Private: charge a dataset").run()
        page.text_input(key="choose_dataset").set_value("klinik").run()
    found |= in_both(page)
    with speaking("de"):
        page.button(key="choose_charge").click().run()
    found |= in_both(page)
    (entry,) = ledger().history("klinik")
    assert entry.title == "Which is best?", "what the ledger keeps is English"
    for wrong in ("0", "1.000", "viel"):
        with speaking("de"):
            page.text_input(key=f"choose_sensitivity_{OWN}").set_value(wrong).run()
        assert page.warning
        found |= in_both(page)
    with speaking("de"):
        page.text_input(key=f"choose_sensitivity_{OWN}").set_value("1,5").run()
    assert not page.warning
    assert english(found, "klinik", entry.release_id) == []


def learn(_monkeypatch: pytest.MonkeyPatch) -> None:
    page = opened("labs/learn")
    found = in_both(page)
    with speaking("de"):
        page.segmented_control(key="learn_kind").set_value("Six shares, 2018–19").run()
        page.segmented_control(key="learn_rate").set_value("by advanced composition").run()
        page.pills(key="learn_epsilons").set_value([Fraction(30)]).run()
        page.button(key="learn_again").click().run()
    found |= in_both(page)
    with speaking("de"):
        page.segmented_control(key="learn_kind").set_value("My own table").run()
        page.file_uploader(key="learn_file").upload("verluste.csv", b"aa,bb\n0,1\n1,0\n").run()
    found |= in_both(page)
    with speaking("de"):
        page.file_uploader(key="learn_file").upload("verluste.csv", b"aa,bb\n0,1.5\n").run()
    found |= in_both(page)
    assert page.warning
    assert english(found, "aa", "bb", "AAPL", "AMZN", "FB", "GOOG", "MSFT", "NFLX", "verluste.csv", "CSV") == []


@pytest.mark.nightly
@pytest.mark.parametrize("lab", [learn, choose, definition, attacks, risk, survey])
def test_a_lab_says_nothing_in_english(
    lab: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab(monkeypatch)
