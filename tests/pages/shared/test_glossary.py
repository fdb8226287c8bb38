"""The glossary holds together, is found by what people type, says right numbers, and has every term that pages use."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dpengine.accounting.composition import posterior
from dpengine.spec.wording import percent_at_most
from dpengine.translation.catalogue import _, speaking
from pages.parts.attacks.counting_questions import AVERAGING, DIFFERENCING
from pages.parts.shared.glossary.help import GLOSSARY, term
from pages.parts.shared.glossary.places import PLACES
from pages.parts.shared.glossary.search import search

ROOT = Path(__file__).parents[3]


def test_every_see_also_and_every_page_exists() -> None:
    for key, entry in GLOSSARY.items():
        assert set(entry.see) <= GLOSSARY.keys() - {key}, key
        assert entry.places, key
        assert set(entry.places) <= PLACES.keys(), key
    assert len({entry.name for entry in GLOSSARY.values()}) == len(GLOSSARY)
    others = {other for entry in GLOSSARY.values() for other in entry.see}
    assert others == GLOSSARY.keys(), "each is met by going on from term to term"


def test_pages_stand_as_in_the_navigation() -> None:
    """Else a link would lead nowhere, or a search would not find a new page."""
    page = re.compile(r'page\("(\w+)", _?\(?"(\w+)"\)?, "(\w+)"(, labs)?')
    text = (ROOT / "app.py").read_text(encoding="utf-8")
    listed = {
        (f"pages/{'labs/' * bool(labs)}{name}.py", title, f":material/{icon}:", name)
        for name, title, icon, labs in page.findall(text)
        if name not in ("approval", "glossary")
    }
    assert listed == {(place.file, place.title, place.icon, address) for address, place in PLACES.items()}


def calls_of_term() -> list[tuple[str, ast.Call]]:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.py")}
    trees = {name: ast.parse(text) for name, text in texts.items() if "term(" in text}
    return [
        (name, node)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "term"
    ]


def test_every_term_that_a_page_explains_is_in_the_glossary() -> None:
    for name, call in calls_of_term():
        (key, *_note) = call.args
        if ast.unparse(key) == "attack.name":
            assert {AVERAGING.name, DIFFERENCING.name} <= GLOSSARY.keys()
        else:
            assert isinstance(key, ast.Constant), name
            assert key.value in GLOSSARY, (name, key.value)


def test_help_says_what_a_term_means_after_what_the_widget_is_for() -> None:
    said = term("interval", "Of this cell.")
    assert said.startswith("Of this cell.\n\n**Interval.** ")
    with speaking("de"):
        assert term("interval").startswith("**Intervall.** Der Bereich")


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("epsilon", "epsilon"),
        ("ε", "epsilon"),
        ("confidence interval", "interval"),
        ("Confidence INTERVALS", "interval"),
        ("anonymous", "k-anonymity"),
        ("l-diversity", "k-anonymity"),
        ("hide small numbers", "suppression"),
        ("can I suppress rare cells", "suppression"),
        ("sampling weights", "survey-weights"),
        ("averages", "averaging"),
        ("synthétic dâta", "synthetic-rows"),
        ("plus minus", "half-width"),
        ("±", "half-width"),
        ("what is a bin?", "bin"),
        ("Dinur", "reconstruction"),
        ("Smallville", "domain"),
        ("GDPR", "not-protected"),
        ("can I delete it", "not-protected"),
        ("law", "not-protected"),
        ("trust", "trust"),
    ],
)
def test_a_term_is_found_by_other_words_without_case_and_accents(typed: str, first: str) -> None:
    assert search(typed).terms[0] == first


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("where do I see how averaging breaks a defence", "attacks"),
        ("verify", "verify"),
        ("coins", "survey"),
        ("how much is left", "budget"),
        ("upload excel", "publish"),
    ],
)
def test_pages_and_labs_are_found_by_their_subject(typed: str, first: str) -> None:
    assert search(typed).places[0] == first


@pytest.mark.parametrize(
    ("typed", "first"),
    [("Konfidenzintervall", "interval"), ("überwiegend", "mostly-noise"), ("UBERWIEGEND", "mostly-noise"),
     ("synthetic rows", "synthetic-rows"), ("Was ist ein Codebuch?", "codebook")],
)  # fmt: skip
def test_a_search_knows_the_language_of_the_page_and_english(typed: str, first: str) -> None:
    with speaking("de"):
        assert search(typed).terms[0] == first


@pytest.mark.parametrize("typed", ["zebra", "x", "?!", "the", "🦓"])
def test_what_is_nowhere_is_not_found(typed: str) -> None:
    assert (search(typed).terms, search(typed).places) == ((), ())


def test_some_of_the_words_are_better_than_nothing() -> None:
    found = search("interval zebra")
    assert found.terms[0] == "interval"
    assert not found.whole
    assert search("interval").whole


@pytest.mark.parametrize(
    ("key", "epsilon", "prior"),
    [("differential-privacy", "1", 0.5), ("epsilon", "0.1", 0.5), ("epsilon", "1", 0.5), ("epsilon", "4", 0.5),
     ("composition", "2", 0.5), ("group-privacy", "0.5", 0.5), ("group-privacy", "2", 0.5), ("odds", "1", 0.01),
     ("odds", "1", 0.5), ("membership", "1", 0.5), ("membership", "0.1", 0.5)],
)  # fmt: skip
def test_beliefs_in_examples_are_right(key: str, epsilon: str, prior: float) -> None:
    belief = percent_at_most(posterior(prior, Fraction(epsilon))).removesuffix("%").strip()
    assert re.search(rf"\b{re.escape(belief)}\b", GLOSSARY[key].example)
    with speaking("de"):
        assert belief.replace(".", ",") in _(GLOSSARY[key].example)
