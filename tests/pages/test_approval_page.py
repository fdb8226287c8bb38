"""A plan on its way through two people: sent on Publish, decided on Approval, published once."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dpengine import BudgetError, Plan
from dpengine.accounting.approval.request import Actor, Request, State
from dpengine.accounting.ledger import Ledger
from pages.parts.publish import approval_step
from tests.pages.people import PROVIDER, always_by_the_entry, set_rules, sign_in
from tests.pages.visits import ENTRY, labelled, ledger, metrics, press, settled, texts, visit_of, whole
from tests.plans import survey

ANN, BOB, SAM, VERA, BEA = (f"{name}@example.org" for name in ("ann", "bob", "sam", "vera", "bea"))
RULES = f"""{PROVIDER}
[groups.clinic]
owners = ["{ANN}", "{BOB}"]
stewards = ["{SAM}"]
viewers = ["{VERA}"]
[groups.school]
owners = ["{BEA}"]
"""
PLAN = survey(title="For the *annual* report")


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    always_by_the_entry(monkeypatch)
    set_rules(monkeypatch, RULES)


@pytest.fixture
def page_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Opens the app as somebody, on a page."""

    def opened(email: str, page: str = "approval") -> AppTest:
        sign_in(monkeypatch, email)
        found = AppTest.from_file(str(ENTRY), default_timeout=60).run()
        return whole(found.switch_page(f"pages/{page}.py").run())

    return opened


def clinic() -> Ledger:
    return ledger().for_owner("group:clinic")


def sent(plan: Plan = PLAN, by: str = ANN, note: str = "by *Friday*") -> Request:
    """Somebody's request, as the page makes it."""
    return clinic().approvals.send(plan, Actor(f"https://provider.example subject of {by}", by), note)


def labels(page: AppTest) -> set[str]:
    return {button.label for button in page.button}


@pytest.mark.nightly
def test_the_paper_to_sign_is_made_upon_a_click_which_runs_no_page(
    page_of: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asked who is signed in, which is known only to a run of the page: nobody who signs in could get the paper."""
    made: list[Callable[[], bytes]] = []
    monkeypatch.setattr(approval_step, "offer_file", lambda _label, make, *_args, **_look: made.append(make))
    sent()
    page_of(SAM)
    for_sam = made[-1]
    settled(press(page_of(ANN, "publish"), "Use this sample"))
    monkeypatch.setattr(approval_step, "visit", None)
    assert b"Sent by ann@example.org" in for_sam()
    assert b"For approval" in made[-1]()


def test_a_plan_goes_from_one_person_to_another_and_back(page_of: Callable[..., AppTest]) -> None:
    clinic().approvals.set_rule("", needed=True)
    page = settled(press(page_of(ANN, "publish"), "Use this sample"))
    assert "Publish once" not in labels(page)
    assert "needs a second person's approval" in texts(page)
    labelled(page.text_area, "Note for the person who approves").set_value("as agreed")
    press(page, "Send for approval")
    assert f"Sent for approval by {ANN}" in texts(page).replace("*", "").replace("\N{WORD JOINER}", "")
    assert labels(page) >= {"Look again", "Withdraw it"}
    assert "Publish once" not in labels(page)
    (request,) = clinic().approvals.requests()
    assert (request.note, request.epsilon, clinic().history()) == ("as agreed", 1, [])

    own = page_of(ANN)
    assert "Another person decides" in texts(own)
    assert not {"Approve", "Decline"} & labels(own)
    other = page_of(SAM)
    assert metrics(other) == {"Spent so far": "0", "This release": "1", "Left after": "no cap"}
    assert "95 in 100 are within" in texts(other)
    assert len(other.dataframe[0].value) > 1
    for shown in (page, other):
        assert "Paper to sign" in {button.label for button in shown.get("download_button")}
    assert other.code[0].value == clinic().approvals.plan_text(request.request_id).rstrip()
    labelled(other.text_area, "Note with your decision").set_value("fine")
    press(other, "Approve")
    assert "Approved, not yet published" in texts(other)

    again = settled(press(page_of(ANN, "publish"), "Use this sample"))
    assert "Exactly this plan may now be published, once." in texts(again)
    settled(press(again, "Publish once"))
    assert not again.exception
    (entry,) = clinic().history()
    used = clinic().approvals.request(request.request_id)
    assert (used.state, used.release_id, used.answer) == (State.PUBLISHED, entry.release_id, "fine")
    assert "published" in set(page_of(SAM).dataframe[0].value["state"])


def test_a_change_of_an_approved_plan_needs_another_approval(page_of: Callable[..., AppTest]) -> None:
    clinic().approvals.set_rule("", needed=True)
    page = settled(press(page_of(ANN, "publish"), "Use this sample"))
    press(page, "Send for approval")
    (request,) = clinic().approvals.requests()
    clinic().approvals.approve(request.request_id, Actor("sam", SAM))
    press(page, "Look again")
    assert "Publish once" in labels(page)
    labelled(page.text_input, "Title for readers").set_value("Another title").run()
    assert "Publish once" not in labels(page)
    assert "Send for approval" in labels(page)
    assert re.search(r"Another plan of .*, at ε = 1: Approved by \*\*sam.@example.org\*\*", texts(page))


@pytest.mark.by_day(1)
@pytest.mark.parametrize("decision", ["Decline", "Withdraw it"])
def test_the_decision_is_shown_where_the_request_was_sent(
    page_of: Callable[..., AppTest], decision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic().approvals.set_rule("", needed=True)
    page = settled(press(page_of(ANN, "publish"), "Use this sample"))
    press(page, "Send for approval")
    if decision == "Decline":
        other = page_of(BOB)
        labelled(other.text_area, "Note with your decision").set_value("too <b>exact</b>")
        press(other, "Decline")
        sign_in(monkeypatch, ANN)
        press(page, "Look again")
        assert "Declined by" in texts(page)
        assert "too <b>exact</b>" in texts(page)
    else:
        press(page, decision)
        assert "Withdrawn by" in texts(page)
    assert "Send for approval" in labels(page)
    assert clinic().history() == []


def test_without_a_rule_nobody_is_asked(page_of: Callable[..., AppTest]) -> None:
    page = settled(press(page_of(ANN, "publish"), "Use this sample"))
    assert "Publish once" in labels(page)
    assert "approval" not in texts(page)
    page.session_state["ask-colleague"] = True
    press(settled(page.run()), "Send for approval")
    assert [each.dataset for each in clinic().approvals.requests()] == ["census-1994"], "but a colleague may be"
    assert {"Publish once", "Withdraw it"} <= labels(page)


def test_a_steward_sets_and_lifts_the_rule_and_nobody_who_publishes_does(page_of: Callable[..., AppTest]) -> None:
    assert "Save" not in labels(page_of(ANN))
    page = page_of(SAM)
    page.toggle[0].set_value(True)
    press(page, "Save")
    assert clinic().approvals.rules() == [""]
    assert "Every release of clinic" in texts(page).replace("*", "")
    page.toggle[0].set_value(False)
    press(page, "Save")
    assert clinic().approvals.rules() == []
    clinic().set_cap("wages", 3)
    page = page_of(SAM)
    page.multiselect[0].set_value(["wages"])
    press(page, "Save")
    assert clinic().approvals.rules() == ["wages"]
    assert ledger().for_owner("group:school").approvals.rules() == []


def test_who_approves_reads_what_is_told_apart_what_it_means_for_a_person_and_of_no_picture(
    page_of: Callable[..., AppTest],
) -> None:
    """They saw names of columns and errors, and had to read bins and values from the plan's file."""
    sent(survey(rows_about=None))
    page = page_of(SAM)
    assert "can become **at most 62.3 % sure** by seeing the release" in texts(page)
    assert "would be mostly noise." in texts(page)
    assert "the picture assumes" not in texts(page), "there is none here"
    (columns,) = (each.value for each in page.table)
    assert list(columns["Column"]) == list(PLAN.released)
    assert all(columns["Values"])
    assert all(columns["How its values are known"])


@pytest.mark.nightly
def test_several_plans_are_looked_at_one_by_one(page_of: Callable[..., AppTest]) -> None:
    first, second = sent(), sent(survey(title="Another", dataset="wages"), BOB)
    page = page_of(SAM)
    options = labelled(page.selectbox, "Plan to look at").options
    assert [each.partition(" · ")[0] for each in options] == ["For the *annual* report", "Another"]
    assert "For the *annual* report" in texts(page)
    labelled(page.selectbox, "Plan to look at").set_value(labelled(page.selectbox, "Plan to look at").options[1]).run()
    assert not page.exception
    press(page, "Approve")
    assert [each.state for each in clinic().approvals.requests()] == [State.WAITING, State.APPROVED]
    assert first.request_id != second.request_id


def test_a_press_means_the_plan_that_was_looked_at_and_no_other(page_of: Callable[..., AppTest]) -> None:
    seen = sent()
    page = page_of(SAM)
    clinic().approvals.withdraw(seen.request_id, seen.asked_by)
    unseen = sent(survey(title="Sent meanwhile"))
    press(page, "Approve")
    assert clinic().approvals.request(unseen.request_id).state is State.WAITING
    assert "Sent meanwhile" in texts(page)


def test_a_decision_that_comes_too_late_is_said_to_change_nothing(page_of: Callable[..., AppTest]) -> None:
    """The page showed the plan as approved, and nothing said that *Decline* had not been heard."""
    request, bob, desk = sent(), page_of(BOB), clinic().approvals
    desk.approve(request.request_id, Actor("sam", SAM))
    press(bob, "Decline")
    assert "nothing was changed. Meanwhile, this request was decided on or withdrawn, and is *approved*." in texts(bob)
    assert desk.request(request.request_id).state is State.APPROVED
    assert "nothing was changed" not in texts(bob.run()), "said once"
    desk.withdraw(request.request_id, Actor("sam", SAM))
    press(bob, "Withdraw it")
    assert "and is *withdrawn*" in texts(bob)


def test_a_budget_that_does_not_suffice_is_said_to_who_approves(page_of: Callable[..., AppTest]) -> None:
    sent()
    clinic().set_cap("clinic", "0.2")
    page = page_of(SAM)
    assert metrics(page)["Left now"] == "0.2"
    assert "The budget does not allow this now" in texts(page)


@pytest.mark.nightly
def test_adaptive_errors_are_simulated(page_of: Callable[..., AppTest]) -> None:
    sent(survey(strategy="adaptive", epsilon="2"))
    page = settled(page_of(SAM)).run()
    assert "tried out on made-up people; your table may do better or worse" in texts(page)
    assert len(page.dataframe[0].value) == 3


def test_a_viewer_takes_back_no_request_of_others(page_of: Callable[..., AppTest]) -> None:
    request = sent()
    with pytest.raises(BudgetError, match="does not let you decide on plans"):
        visit_of(page_of(VERA, "budget")).withdraw(request.request_id)
    assert clinic().approvals.request(request.request_id).state is State.WAITING


@pytest.mark.parametrize("email", [VERA, BEA])
def test_viewers_and_other_groups_see_no_request(page_of: Callable[..., AppTest], email: str) -> None:
    sent()
    page = page_of(email, "budget" if email == VERA else "approval")
    assert "annual" not in texts(page)
    assert not {"Approve", "Decline"} & labels(page)


def test_texts_of_people_are_no_markup(page_of: Callable[..., AppTest]) -> None:
    sent(survey(title="[x](https://example.org) :smile:"), note="![x](https://example.org/x.png) <b>")
    drawn = "\n".join(str(part.value) for part in page_of(SAM).markdown)
    assert "](https:" not in drawn
    assert ":smile:" not in drawn


@pytest.mark.nightly
def test_without_sign_in_the_command_line_is_named_and_no_page_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules(monkeypatch, "")
    ledger().approvals.set_rule("", needed=True)
    page = AppTest.from_file(str(ENTRY), default_timeout=60).run()
    page.button(key="sample_census").click().run()
    shown = texts(settled(page))
    assert "private-release ledger approval send plan.yaml" in shown
    assert not {"Publish once", "Send for approval"} & labels(page)


@pytest.mark.parametrize("page", ["ask"])
def test_no_question_is_answered_under_the_rule(page_of: Callable[..., AppTest], page: str) -> None:
    clinic().approvals.set_rule("", needed=True)
    shown = settled(press(page_of(ANN, page), "Use this sample"))
    assert "No single question is answered" in texts(shown)
    assert not [label for label in labels(shown) if label.startswith("Ask, for")]
