"""Approval: the plans that wait for a second person, what they would cost, and how wrong they would be."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd
import streamlit as st

from dpengine import BudgetError, Ledger, LedgerError, Plan, PlanError, predict
from dpengine.accounting.approval.records import ALL
from dpengine.accounting.approval.request import OPEN, Request, State
from dpengine.accounting.entry import same_name
from dpengine.bundle.report import provenance
from dpengine.exact import exactly
from dpengine.spec.wording import heading_of
from dpengine.translation.catalogue import _, mark, plural
from pages.parts.access.accounts import May
from pages.parts.publish.approval_step import ask_note, offer_paper, offer_withdrawal
from pages.parts.publish.epsilon_step import say_what_it_means
from pages.parts.publish.outlook import trial
from pages.parts.publish.outlook.preview import in_words
from pages.parts.shared.approval_wording import decision, name_of_actor, signed
from pages.parts.shared.bill import show_bill
from pages.parts.shared.data_twin import predicted_columns
from pages.parts.shared.entries_table import show_entries
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import plain, protected, with_headings
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import require_entry, visit
from pages.parts.visit.strategy import is_adaptive

MAX_SHOWN = 100_000  # letters of a plan that are shown; a longer one can be downloaded
ENDED = (mark("state"), mark("dataset"), mark("sent by"), mark("decided by"), mark("note"), mark("release"))


def main() -> None:
    """Show which plans wait for a decision, what was decided, and which datasets need approval."""
    st.title(_("Approval"), anchor=False)
    if May.APPROVE not in visit().account.may:
        st.info(_("You are in no group in which you may approve."), icon=":material/visibility:")
        return
    st.markdown(
        _(
            "Where approval is needed, nothing is published before a second person has looked at the plan. One sends "
            "it, another decides. An approval is for exactly one plan, and is used once."
        )
    )
    ledger = visit().ledger
    requests = ledger.approvals.requests()
    waiting = [each for each in requests if each.state is State.WAITING]
    say_if_too_late(requests)
    st.header(_("Waiting"), anchor=False)
    if waiting:
        show_request(ledger, choose_request(ledger, waiting))
    else:
        st.markdown(_("No plan waits for a decision."))
    if approved := [each for each in requests if each.state is State.APPROVED]:
        st.header(_("Approved, not yet published"), anchor=False)
        for request in approved:
            show_approved(ledger, request)
    if ended := [each for each in requests if each.state not in (State.WAITING, State.APPROVED)]:
        st.header(_("Earlier"), anchor=False)
        list_ended(ended)
    show_rules(ledger)


def say_if_too_late(requests: list[Request]) -> None:
    """Say if a button was pressed for a request whose buttons are gone, since somebody else was faster.

    Without this, who declines a plan that was approved a moment before would believe that it is declined.
    """
    for each in requests:
        gone = ["approve", "decline"] if each.state is not State.WAITING else []
        gone += ["approval-withdraw"] if each.state not in OPEN else []
        if any(st.session_state.get(f"{button}-{each.request_id}") for button in gone):
            text = _(
                "**{dataset}**: nothing was changed. Meanwhile, this request was decided on or withdrawn, and is "
                "*{state}*.",
                dataset=plain(each.dataset),
                state=_(each.state.value),
            )
            st.warning(text, icon=":material/block:")


def choose_request(ledger: Ledger, waiting: list[Request]) -> Request:
    """Return the request to look at, chosen by the titles of the plans; the earliest one is offered first."""
    if len(waiting) == 1:
        return waiting[0]
    titles = {each.request_id: title_of(ledger, each) for each in waiting}
    plans = plural("{n} plan", "{n} plans", len(waiting))
    st.markdown(f"**{plans}**")
    request: Request = st.selectbox(
        _("Plan to look at"),
        waiting,
        format_func=lambda each: (
            f"{titles[each.request_id]} · ε {exactly(each.epsilon)} · {name_of_actor(each.asked_by)}"
        ),
        key="approval_request",
    )
    return request


def title_of(ledger: Ledger, request: Request) -> str:
    """Return the title of a plan, else its dataset: one dataset may have several plans of one price."""
    of_request = request.request_id
    plan: Plan = visit().once(f"title-{of_request}", (), lambda: Plan.loads(ledger.approvals.plan_text(of_request)))
    return plan.title or plan.dataset


def show_request(ledger: Ledger, request: Request) -> None:
    """Show a plan with its price and its predicted error, and the buttons to decide."""
    text = ledger.approvals.plan_text(request.request_id)
    plan = Plan.loads(text)
    with st.container(border=True, key="approval-request"):
        st.markdown(f"**{plain(plan.title or plan.dataset)}**")
        who = signed(request.asked_by, request.asked)
        st.markdown(
            _("Sent by {whom}: “{note}”", whom=who, note=plain(request.note))
            if request.note
            else _("Sent by {whom}.", whom=who)
        )
        show_price(ledger, request)
        if request.other_people:
            st.warning(
                _(
                    "With it, the owner states that the table is of **other people** than an earlier table that it "
                    "looks like. It would then have a budget of its own."
                ),
                icon=":material/group:",
            )
        show_content(request, plan)
        show_columns(plan)
        with st.expander(_("The plan, letter by letter"), icon=":material/description:"):
            if len(text) <= MAX_SHOWN:
                st.code(text, language="yaml")
            offer_plan(ledger, request)
        offer_paper(plan, request)
        decide(request)


def show_price(ledger: Ledger, request: Request) -> None:
    """Show what the release would cost, and how much of the budget it would leave."""
    left = ledger.left(request.dataset)
    st.markdown(_("From the budget of **{dataset}**, in ε:", dataset=plain(request.dataset)))
    show_bill(ledger.spent(request.dataset), _("This release"), request.epsilon, left)
    if left is not None and left < request.epsilon:
        st.warning(_("The budget does not allow this now. An approval would lapse."), icon=":material/block:")


def show_content(request: Request, plan: Plan) -> None:
    """Show which tables would be published, whom they protect, and how wrong they would be."""
    tables = [plain(heading_of(plan, table)) for table in plan.marginals]
    listed = "; ".join(tables[:6]) + ("; …" if len(tables) > 6 else "")
    st.markdown(
        plural(
            "It publishes {n} table: {listed}. It protects {whom}.",
            "It publishes {n} tables: {listed}. It protects {whom}.",
            len(tables),
            listed=listed,
            whom=protected(plan),
        )
    )
    if is_adaptive(plan):
        frame = trial.errors_of(plan)
        if frame is None:
            st.caption(_(":material/hourglass_top: Its error is being tried out on made-up people."))
            return
    else:
        frame = visit().once("approval", request.plan_sha256, lambda: predict(plan))
    st.markdown(in_words(plan, pictured=False))
    show_numbers(with_headings(plan, frame), predicted_columns(), alt=_("Predicted errors of each table"))
    say_what_it_means(plan)


def show_columns(plan: Plan) -> None:
    """Show which values of each column are told apart, and how they are known: nobody reads that from a file."""
    heads = [_("Column"), _("Kind"), _("Values"), _("How its values are known")]
    rows = [
        [plain(str(text)) for text in (each["label"] or each["name"], each["kind"], each["extent"], each["source"])]
        for each in (provenance(plan, name) for name in plan.released)
    ]
    st.table(pd.DataFrame(rows, columns=heads), hide_index=True)


def decide(request: Request) -> None:
    """Offer buttons to approve or decline the plan, or, to the person who sent it, one to take it back."""
    if visit().actor.is_same(request.asked_by):
        st.caption(_("You sent this. Another person decides."))
        offer_withdrawal(request)
        return
    note = ask_note(_("Note with your decision"), f"approval-note-{request.request_id}")
    with st.container(horizontal=True):
        # The keys name this request, so that a late click cannot decide on another one.
        approve = st.button(
            _("Approve"), type="primary", key=f"approve-{request.request_id}", icon=":material/how_to_reg:"
        )
        decline = st.button(_("Decline"), key=f"decline-{request.request_id}", icon=":material/block:")
    if approve or decline:
        try:
            visit().decide(request.request_id, note, approve=approve)
        except BudgetError as error:
            st.warning(all_faults(error), icon=":material/block:")
        else:
            st.toast(_("Approved.") if approve else _("Declined."), icon=":material/check:")
            st.rerun()


def offer_plan(ledger: Ledger, request: Request) -> None:
    """Offer the plan as a file."""
    offer_file(
        _("Download the plan"),
        lambda: ledger.approvals.plan_text(request.request_id).encode(),
        "plan.yaml",
        "application/yaml",
        icon=":material/download:",
        type="tertiary",
        key=f"approval-plan-{request.request_id}",
        help=_("Load it in step 2 of Publish to publish exactly this plan."),
    )


def show_approved(ledger: Ledger, request: Request) -> None:
    """Show an approval that may still be withdrawn."""
    with st.container(border=True):
        st.markdown(
            _(
                "**{dataset}**, ε = {epsilon}, sent by {whom}. {decision}",
                dataset=plain(" · ".join(dict.fromkeys((title_of(ledger, request), request.dataset)))),
                epsilon=exactly(request.epsilon),
                whom=signed(request.asked_by, request.asked),
                decision=decision(request),
            )
        )
        with st.container(horizontal=True):
            offer_plan(ledger, request)
            offer_paper(Plan.loads(ledger.approvals.plan_text(request.request_id)), request)
            offer_withdrawal(request)


def list_ended(ended: list[Request]) -> None:
    """List the requests that were declined, withdrawn, lapsed or published."""
    rows = [
        {
            "when": each.ended or each.decided,
            "state": _(each.state.value),
            "dataset": each.dataset,
            "ε": exactly(each.epsilon),
            "sent by": name_of_actor(each.asked_by),
            "decided by": name_of_actor(each.decided_by) if each.decided_by else "",
            "note": each.answer or each.note,
            "release": each.release_id,
        }
        for each in ended
    ]
    named = {name: st.column_config.TextColumn(_(name)) for name in ENDED}
    show_entries(pd.DataFrame(rows), _("Earlier requests, the latest first"), named)


def show_rules(ledger: Ledger) -> None:
    """Say what needs approval; let stewards change it."""
    st.header(_("What needs approval"), anchor=False)
    rules = ledger.approvals.rules()
    group = plain(visit().account.heading)
    if ALL in rules:
        st.markdown(_("Every release of **{group}**. Single questions and private choices are refused.", group=group))
    elif rules:
        names = ", ".join(f"**{plain(name)}**" for name in rules)
        st.markdown(
            _("Every release of {names}. Single questions and private choices about them are refused.", names=names)
        )
    else:
        st.markdown(_("Nothing at present: owners publish by themselves."))
    if May.RULE in visit().account.may:
        ask_rules(sorted({*ledger.datasets(), *rules} - {ALL}), rules)
    else:
        st.caption(
            _(
                "Stewards who do not publish themselves set this, or whoever runs this server: who publishes could "
                "lift it."
            )
        )


def ask_rules(datasets: list[str], rules: Collection[str]) -> None:
    """Ask which of the known `datasets`, or others, need approval, and save it."""
    with st.form("approval_rules", border=True):
        every = st.toggle(
            _("Every dataset of {group}", group=plain(visit().account.heading)),
            ALL in rules,
            key=visit().fresh_key("approval-every"),
        )
        single = st.multiselect(
            _("Or single datasets"),
            datasets,
            [name for name in rules if name != ALL],
            accept_new_options=True,
            key=visit().fresh_key("approval-single"),
            placeholder=_("Choose or type names"),
            help=_("Type the name of a dataset that nothing was published of yet."),
        )
        if not st.form_submit_button(_("Save"), icon=":material/save:"):
            return
    try:
        save_rules(rules, [*single, *([ALL] if every else [])])
    except BudgetError as error:
        st.warning(all_faults(error), icon=":material/block:")
        return
    for name in ("approval-every", "approval-single"):
        visit().renew(name)
    st.toast(_("Saved."), icon=":material/check:")
    st.rerun()


def save_rules(before: Collection[str], names: list[str]) -> None:
    """Require approval for datasets of these names, and no more for others that needed it `before`."""
    wanted = {same_name(name): name for name in names}
    for name in before:
        if same_name(name) not in wanted:
            visit().set_rule(name, needed=False)
    for name in wanted.values():
        visit().set_rule(name, needed=True)


require_entry()
try:
    main()
except (LedgerError, PlanError) as refused:
    st.error(all_faults(refused), icon=":material/account_balance_wallet:")
