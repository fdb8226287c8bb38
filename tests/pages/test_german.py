"""A page in German says nothing in English: Publish from the first screen to the last step, and the other pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from dpengine import Plan, release
from dpengine.accounting.approval.request import Actor
from dpengine.ask import ask, history
from dpengine.choose import Candidates, draw_once
from dpengine.spec.query import Count, Question
from dpengine.translation.catalogue import _, speaking
from pages.parts.visit.state import STEPS
from tests.bundles import members_of, zipped
from tests.charges import charge
from tests.pages.people import PROVIDER, always_by_the_entry, set_rules, sign_in
from tests.pages.visits import ledger, settled, visit, visit_of, whole

SHOWN = {"alt", "body", "caption", "content", "help", "label", "options", "placeholder", "text"}
WORD = re.compile(r"[^\W\d_]{2,}")
NAMES = {  # the same in every language
    "Census income 1994–95", "RAND health insurance", "UTF-8", "Excel", "CSV", "CSVW-EO", "CC BY 4.0",
    "data@example.org", "Budget",
}  # fmt: skip
WRITTEN = {"2020 to 2024 by year, written 31/12/2024"}  # by people, into a cell


def sentences(page: AppTest) -> set[str]:
    """Return each text that the parts of the page tell the browser to show, help and headings of columns included."""
    return {text for part in _parts(page.main) for text in _texts(part) if WORD.search(text)}


def _parts(block: Any) -> Iterator[Message]:
    for child in block.children.values():
        if "-language-box-" in str(getattr(child.proto, "id", "")):  # which names the language itself
            continue
        if child.proto is not None:
            yield child.proto
        if hasattr(child, "children"):
            yield from _parts(child)


def _texts(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.name in SHOWN:
            texts = [value] if isinstance(value, str) else [text for text in value if isinstance(text, str)]
            yield from (line for text in texts for line in re.split(r"\n| · ", text))
        for part in value if field.is_repeated else [value]:
            if isinstance(part, Message):
                yield from _texts(part)


def in_the_other_language(page: AppTest) -> set[str]:
    """Return what the page says in the language that is not its own by now, which it speaks from then on."""
    now = page.session_state["language"]
    page.session_state["language"] = "en" if now == "de" else "de"
    with speaking(now):  # in which the test still knows the options of each box
        return sentences(whole(page.run()))


def english(found: set[str], *names: str) -> list[str]:
    """Return the texts, of those that a page says in both languages, that are words of the page."""
    same = re.compile("|".join(map(re.escape, sorted(NAMES | {*names}, key=len, reverse=True))))
    return [text for text in found if WORD.search(same.sub("", re.sub(r"[\\\N{WORD JOINER}]", "", text)))]


def opened(name: str) -> AppTest:
    """Open a page in German."""
    page = visit(language="de")
    with speaking("de"):
        return whole(page.switch_page(f"pages/{name}.py").run())


def test_no_step_of_publish_says_anything_in_english() -> None:
    page = visit()
    found = sentences(page) & in_the_other_language(page)
    with speaking("de"):
        page.button(key="sample_rand").click()
        settled(whole(page.run()))
    entries, names = visit_of(page).entries, {field.name for field in visit_of(page).table.columns}
    names |= {words["label"] for words in entries.texts.values()}
    for step in ("columns", "domain", "unit", ""):
        if step:
            visit_of(page).open_step(step)
        else:
            visit_of(page).settle(*STEPS)
        with speaking(page.session_state["language"]):
            page.run()
        here, there = sentences(page), in_the_other_language(page)
        assert abs(len(here) - len(there)) < 4, "the same, in other words"
        found |= here & there
    assert visit_of(page).entries == entries, "what was entered stays as it is"
    assert english(found, *WRITTEN, *names) == []


def test_the_report_of_an_own_table_is_in_the_language_of_its_owner() -> None:
    page = visit(language="de")
    page.get("file_uploader")[0].upload("ort.csv", b"Ort,Alter\nNord,34\n").run()
    settled(page)
    assert visit_of(page).table is not None
    assert visit_of(page).entries.language == "de"


def budget(_patch: pytest.MonkeyPatch) -> None:
    book = ledger()
    page = opened("budget")
    assert english(sentences(page) & in_the_other_language(page)) == [], "where nothing was spent yet"
    rows = pd.DataFrame({"sex": ["yes", "no"] * 40})
    for title in ("Erhebung", ""):
        charge(book, title, "klinik", title.encode(), Fraction("1/2"), title=title, summary="2 tables: age; sex")
    ask(rows, Question(dataset="klinik", epsilon="0.1", statistic=Count()), book)
    draw_once(Candidates.of(["rot", "blau"], [3, 1], 1, "0.5"), "klinik", book, "Farbe?")
    charge(book, "x", "schule", b"others")
    book.set_cap("klinik", "4")
    page = opened("budget")
    with speaking("de"):
        page.selectbox(key="budget_dataset").select("klinik").run()
        page.text_input(key="budget_cap_text").set_value("2,5")
        next(button for button in page.button if button.label == "Grenze prüfen").click().run()
    ids = {entry.release_id for entry in book.history()}
    stored = {text for entry in book.history() for text in (entry.title, entry.dataset)} - {""}
    assert "Wofür bezahlt wurde" in sentences(page)
    assert english(sentences(page) & in_the_other_language(page), "rot", "blau", *ids, *stored) == []


def verify(_patch: pytest.MonkeyPatch) -> None:
    page = opened("verify")
    assert english(sentences(page) & in_the_other_language(page)) == [], "before a file is dropped"
    columns = [{"name": "land", "kind": "category", "values": ["Nord", "Sued"]}, {"name": "krank", "kind": "yesno"}]
    plan = Plan(dataset="klinik", title="Kranke", epsilon="1/2", columns=columns, tables=[["land", "krank"]])
    bundle = release(pd.DataFrame({"land": ["Nord", "Sued"] * 40, "krank": "yes"}), plan).bundle
    wrong = zipped(members_of(bundle) | {"synthetic.csv": b"land,krank\n"}, rehash=False)
    for name, file, says in (
        ("echt.zip", bundle, "echt.zip ist vollständig und stimmig"),
        ("falsch.zip", wrong, "ist nicht, was synthetic.csv beim Zählen ergibt"),
    ):
        page = opened("verify")
        with speaking("de"):
            page.file_uploader(key="verify_file").upload(name, file).run()
            page.text_area(key="verify_key").set_value("abc").run()
        assert any(says in text for text in sentences(page))
        names = {name, "klinik", "Kranke", "land × krank", *re.findall("[0-9a-f]{32}", " ".join(sentences(page)))}
        assert english(sentences(page) & in_the_other_language(page), *names) == []


def approval(monkeypatch: pytest.MonkeyPatch) -> None:
    anna, berta, sven = "anna@amt.de", "berta@amt.de", "sven@amt.de"
    always_by_the_entry(monkeypatch)
    set_rules(monkeypatch, f'{PROVIDER}[groups.klinik]\nowners = ["{anna}", "{berta}"]\nstewards = ["{sven}"]')
    desk = ledger().for_owner("group:klinik").approvals
    columns = [{"name": "krank", "kind": "yesno"}]
    plans = [Plan(dataset=f"haus-{k}", epsilon="1/2", columns=columns, tables=[["krank"]]) for k in range(4)]
    asks = [desk.send(plan, Actor(anna, anna), "bis Freitag") for plan in plans]
    desk.approve(asks[0].request_id, Actor(berta, berta), "gut so")
    desk.decline(asks[1].request_id, Actor(berta, berta), "gut so")
    desk.set_rule("haus-1", needed=True)
    for email in (anna, sven):
        sign_in(monkeypatch, email)
        page = opened("approval")
        assert "Was eine Freigabe braucht" in sentences(page)
        names = (anna, berta, sven, "klinik", "haus", "krank", "bis Freitag", "gut so")
        written = {*plans[2].dumps().splitlines(), *plans[3].dumps().splitlines()}  # the plan, letter by letter
        assert english(sentences(page) & in_the_other_language(page) - written, *names) == []


def questions(_patch: pytest.MonkeyPatch) -> None:
    page = opened("ask")
    found = sentences(page) & in_the_other_language(page)
    page = opened("ask")
    with speaking("de"):
        settled(whole(page.button(key="ask_rand").click().run()))
    names = {field.name for field in visit_of(page).table.columns} | {"rand-hie"}
    key = visit_of(page).key
    for kind in ("count", "proportion", "mean", "variance", "quantile", "mode"):
        with speaking("de"):
            page.selectbox(key=key("ask-what")).set_value(kind).run()
            if kind == "proportion":
                page.multiselect(key=key("ask-of")).set_value(["sex"]).run()
                page.multiselect(key=key("ask-of-sex-values")).set_value(["female"]).run()
            if kind == "count":
                page.multiselect(key=key("ask-where")).set_value(["sex", "age"]).run()
                page.multiselect(key=key("ask-where-sex-values")).set_value(["male"]).run()
                page.segmented_control(key=key("ask-where-age-way")).set_value("From – to").run()
                page.text_input(key=key("ask-where-age-low")).set_value("17,5").run()
                page.button(key=key("ask-pay")).click().run()
                settled(page)
        here, there = sentences(page), in_the_other_language(page)
        in_the_other_language(page)
        found |= here & there
    (answer,) = history(ledger(), "rand-hie")
    assert answer.question.description == "number of rows, where sex is male and age is at least 17.5"
    assert english(found, answer.answer_id, "male", "female", *names) == []


def accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpengine.results.alternatives.SIMULATED_FOR", 0)
    page = opened("accuracy")
    names = page.selectbox(key="accuracy_table").options
    found = sentences(page) & in_the_other_language(page)
    columns = [{"name": "krank", "kind": "yesno"}, {"name": "land", "kind": "category", "values": ["Nord", "Sued"]}]
    plan = Plan(dataset="klinik", epsilon="1/2", columns=columns, tables=[["krank"], ["land"]], rows_about=50)
    tabs = ("Every table", "Mostly noise", "Small and empty cells", "What is measured", "What ε means")
    for tab in tabs:
        page = visit(language="de")
        visit_of(page).plan = plan
        with speaking("de"):
            page.session_state["accuracy_view"] = _(tab)
            whole(page.switch_page("pages/accuracy.py").run())
            if tab == "Small and empty cells":
                page.button(key="accuracy_simulate").click().run()
        here = sentences(page)
        page.session_state["accuracy_view"] = tab
        found |= here & in_the_other_language(page)
    assert english(found, "krank", "land", "Nord", "Sued", "klinik", *names) == []


@pytest.mark.by_day(1)
@pytest.mark.parametrize("page", [budget, verify, questions, approval, accuracy])
def test_a_page_says_nothing_in_english(
    page: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    page(monkeypatch)
