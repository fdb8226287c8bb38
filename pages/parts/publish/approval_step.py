"""The last step if a second person has to approve: send the plan, wait, and publish what was approved."""

from __future__ import annotations

import streamlit as st

from dpengine import BudgetError, Plan, predict
from dpengine.accounting.approval.desk import MAX_NOTE
from dpengine.accounting.approval.request import OPEN, Request, State
from dpengine.accounting.entry import same_name
from dpengine.bundle.approval_paper import Budget, approval_paper
from dpengine.exact import exactly
from dpengine.translation.catalogue import _
from pages.parts.publish.outlook import trial
from pages.parts.shared.approval_wording import decision, signed
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit
from pages.parts.visit.strategy import is_adaptive

__all__ = ["ask_note", "offer_paper", "offer_withdrawal", "show"]

MAX_OTHERS = 3  # other plans that are named


def show(plan: Plan, *, other_people: bool, needed: bool = True) -> bool:
    """Show the state of the approval of exactly this plan and what to do next; return whether it is approved.

    If approval is not `needed`, the plan can still be sent to a colleague.
    """
    request = visit().ledger.approvals.find(plan, other_people=other_people)
    if not visit().person.identity:
        approved = request is not None and request.state is State.APPROVED
        if not approved:
            _say_that_nobody_signs_in()
        return approved
    if request is None or request.state not in OPEN:
        _offer_to_send(plan, request, other_people=other_people, needed=needed)
        return False
    approved = request.state is State.APPROVED
    if approved:
        st.success(
            _("{decision} Exactly this plan may now be published, once.", decision=decision(request)),
            icon=":material/how_to_reg:",
        )
    else:
        st.info(
            _(
                "Sent for approval by {signed}. Another person of **{account}** looks at it on *Approval* and decides. "
                "Tell them: no message is sent.",
                signed=signed(request.asked_by, request.asked),
                account=plain(visit().account.heading),
            ),
            icon=":material/hourglass_top:",
        )
    with st.container(horizontal=True):
        if not approved:
            st.button(_("Look again"), key=visit().key("look-again"), icon=":material/refresh:")
        offer_withdrawal(request)
    return approved


def _say_that_nobody_signs_in() -> None:
    """Say how to have a plan approved on a server without sign-in, where the page cannot tell people apart."""
    st.warning(
        _(
            "This release needs a second person's approval. Nobody signs in here, so nobody can approve on this "
            "page: save the plan and send it on the command line: `{command}`.",
            command="private-release ledger approval send plan.yaml",
        ),
        icon=":material/how_to_reg:",
    )


def _offer_to_send(plan: Plan, before: Request | None, *, other_people: bool, needed: bool) -> None:
    """Offer to send the plan, and say what was decided if it was sent before."""
    if before is not None:
        st.info(decision(before), icon=":material/history:")
    _name_other_plans(plan)
    why = (
        _("**This release needs a second person's approval.**")
        if needed
        else _(
            "This dataset needs no approval: *Publish once* waits for nobody. A colleague can look at it all the same."
        )
    )
    st.markdown(
        _(
            "{why} They see the plan, its predicted error and its price. They do not see the table. Sending spends "
            "nothing. Whatever you change afterwards makes another plan of it.",
            why=why,
        )
    )
    note = ask_note(_("Note for the person who approves"), visit().fresh_key("approval-note"))
    if st.button(
        _("Send for approval"),
        type="primary",
        icon=":material/send:",
        key=visit().key("send-approval"),
        width="stretch",
    ):
        try:
            visit().send_for_approval(plan, note, other_people=other_people)
        except BudgetError as error:
            st.warning(all_faults(error), icon=":material/block:")
        else:
            visit().renew("approval-note")
            st.rerun()


def ask_note(label: str, key: str) -> str:
    """Ask for a note of a few lines."""
    return st.text_area(label, key=key, max_chars=MAX_NOTE, height=68).strip()


def _name_other_plans(plan: Plan) -> None:
    """Say which other plans of the same dataset wait or are approved: this one may be meant as one of them."""
    requests = visit().ledger.approvals.requests()
    others = [each for each in requests if each.state in OPEN and same_name(each.dataset) == same_name(plan.dataset)]
    for each in others[:MAX_OTHERS]:
        text = _(
            "Another plan of {dataset}, at ε = {epsilon}: {what} The plan here is not the same in every letter. If it "
            "should be, *Undo* leads back, or load that plan in step 2.",
            dataset=plain(each.dataset),
            epsilon=exactly(each.epsilon),
            what=decision(each)
            if each.state is State.APPROVED
            else _("Sent by {whom}.", whom=signed(each.asked_by, each.asked)),
        )
        st.caption(f":material/info: {text}")


def offer_withdrawal(request: Request) -> None:
    """Offer to take back a request or an approval."""
    key = f"approval-withdraw-{request.request_id}"  # names the request, so a late click cannot mean another
    if st.button(_("Withdraw it"), key=key, icon=":material/undo:", type="tertiary"):
        try:
            visit().withdraw(request.request_id)
        except BudgetError as error:
            st.warning(all_faults(error), icon=":material/block:")
        else:
            st.rerun()


def offer_paper(plan: Plan, request: Request | None = None) -> None:
    """Offer a page to print for the person who approves, as soon as the plan's error is known."""
    tried = trial.errors_of(plan) if is_adaptive(plan) else None
    if tried is None and is_adaptive(plan):
        return

    ledger = visit().ledger  # not in `paper`: the click that makes the file runs no page, and knows nobody

    def paper() -> bytes:
        expected = predict(plan) if tried is None else tried
        expected.attrs["simulated"] = tried is not None
        dataset = plan.dataset
        budget = Budget(ledger.spent(dataset), ledger.left(dataset), ledger.history(dataset))
        return approval_paper(plan, expected, budget, request)

    offer_file(
        _("Paper to sign"),
        paper,
        "approval.html",
        "text/html",
        icon=":material/print:",
        type="tertiary",
        key=f"approval-paper-{request.request_id if request else visit().key('paper')}",
        help=_(
            "A page to print for whoever has to agree: what would be published, about whom, at what price and how "
            "exactly, with lines to sign. Reads no table and spends nothing."
        ),
    )
