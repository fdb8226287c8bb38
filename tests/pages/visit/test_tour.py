"""The tour over Definition, Attacks and Publish, and back to one's own way at any time.

Streamlit's test harness stays on a page when a script leaves it, and runs files directly in `pages` without the entry.
So each step is followed by hand here, and `tests/browser/test_tour.py` shows the whole tour.
"""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from dpengine import Plan, predict
from dpengine.accounting.composition import posterior
from dpengine.accounting.ledger import Ledger
from dpengine.spec.wording import certainty
from pages.parts.visit.tour import STEPS
from tests.pages.visits import ENTRY, visit_of

ATTACKS, DEFINITION = "pages/labs/attacks.py", "pages/labs/definition.py"


def opened(page: str = ATTACKS) -> AppTest:
    at = AppTest.from_file(str(ENTRY), default_timeout=60).run()
    return at.switch_page(page).run()


def press(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception
    return at


def walk(at: AppTest, *keys: str) -> AppTest:
    """Press buttons that lead from page to page, and follow."""
    for key in keys:
        press(at, key).switch_page(STEPS[visit_of(at).tour].page).run()
        assert not at.exception
    return at


def begun() -> AppTest:
    return walk(opened(), "tour_begin")


def words(at: AppTest) -> str:
    return "\n".join(element.value for element in (*at.markdown, *at.caption))


def box(at: AppTest) -> str:
    """What the box says; empty where there is none."""
    return next((line.value for line in at.markdown if f" of {len(STEPS)} · " in line.value), "")


def titles(at: AppTest) -> list[str]:
    return [title.value for title in at.title]


def keys(at: AppTest) -> set[str | None]:
    return {button.key for button in at.button}


@pytest.mark.nightly
@pytest.mark.parametrize("page", [DEFINITION, ATTACKS])
def test_labs_invite_to_the_tour_and_start_it_only_when_asked(page: str) -> None:
    at = opened(page)
    assert box(at) == ""
    assert titles(walk(at, "tour_begin")) == ["Definition"]
    assert "tour_begin" not in keys(at)


def test_the_tour_leads_from_the_definition_over_attacks_to_a_sample_ready_to_publish() -> None:
    at = begun()
    assert STEPS[0].text in box(at)
    assert "tour_back" not in keys(at)
    walk(at, "tour_next")
    assert titles(at) == ["Attacks"]
    assert "True counts: after 1,000 pairs of questions, right in 1,000 of 1,000. The attack wins" in words(at)
    walk(at, "tour_next")
    assert at.selectbox(key="attacks_defence").value == "This engine"
    assert "that is within what ε allows" in words(at)
    walk(at, "tour_next")
    assert "Census income" in words(at)
    assert visit_of(at).tour == 3
    assert not Ledger().history(), "the tour itself spends nothing"


@pytest.mark.nightly
def test_the_tour_replaces_an_attack_chosen_before() -> None:
    at = opened()
    at.segmented_control(key="attacks_attack").set_value("Averaging").run()
    at.selectbox(key="attacks_defence").set_value("Rounded to 5s").run()
    walk(at, "tour_begin", "tour_next")
    assert at.segmented_control(key="attacks_attack").value == "Differencing"
    assert at.selectbox(key="attacks_defence").value == "True counts"


@pytest.mark.nightly
def test_the_tour_can_go_back_and_be_ended() -> None:
    at = walk(begun(), "tour_next", "tour_next", "tour_back")
    assert at.selectbox(key="attacks_defence").value == "True counts"
    assert titles(walk(at, "tour_back")) == ["Definition"]
    assert box(press(at, "tour_end")) == ""


@pytest.mark.nightly
def test_the_tour_waits_while_its_visitor_is_on_another_page() -> None:
    at = walk(begun(), "tour_next")
    at.switch_page("pages/labs/learn.py").run()
    assert "The tour is paused" in box(at)
    assert titles(walk(at, "tour_return")) == ["Attacks"]
    assert STEPS[1].text in box(at)


@pytest.mark.nightly
def test_the_last_step_has_no_next() -> None:
    at = begun()
    visit_of(at).tour = len(STEPS) - 1
    at.run()
    assert not {"tour_next", "tour_back"} & keys(at)
    assert "tour_return" in keys(at)


def test_the_numbers_in_the_tour_are_those_of_the_engine() -> None:
    plan = Plan.load(ENTRY.parent / "data" / "census.plan.yaml")
    off = predict(plan, ["0.1", "1"]).query("table == 'age × sex'").set_index("epsilon")["mean_abs_error"]
    assert f"**off by about {off[1]:.0f}** at ε = 1, and by about {off[0.1]:.0f} at ε = 0.1" in STEPS[3].text
    assert f"**at most {certainty(posterior(0.5, 1)).removeprefix('at most ')}" in STEPS[0].text
    assert f"about {posterior(0.5, 1):.0%}".removesuffix("%") in STEPS[2].text
