"""Step 6: the bill, and the one button that cannot be undone."""

from __future__ import annotations

import streamlit as st

from dpengine import BudgetError, Plan, PrivateReleaseError, counting
from dpengine.plan import epsilon_text, exact
from dpengine.release import release
from pages.parts import session, state
from pages.parts.words import plain

__all__ = ["publish_step"]

STAGES = {
    "recognising the data": "Recognising the data",
    "counting": "Counting",
    "adding noise and making the tables agree": "Adding noise, making the tables agree",
    "recording": "Recording the charge and the release",
}


def publish_step(plan: Plan) -> None:
    """What it costs, what it leaves, and the button."""
    book, entries = state.ledger(), session.entries()
    name, title = st.columns(2)
    dataset = name.text_input(
        "Dataset whose budget is spent",
        value=entries.dataset,
        key=session.key("dataset"),
        help="Keep one name for the same people, year after year. The same data under another name is recognised.",
    )
    heading = title.text_input("Title for readers", value=entries.title, key=session.key("title"))
    if dataset.strip() and (dataset, heading) != (entries.dataset, entries.title):
        session.change(dataset=dataset.strip(), title=heading)
        st.rerun()
    spent, cap = book.spent(plan.dataset), book.cap(plan.dataset)
    bill = {"Spent so far": epsilon_text(spent), "This release": epsilon_text(plan.epsilon)}
    bill["Left after"] = "no cap set" if cap is None else epsilon_text(max(cap - spent - plan.epsilon, exact(0)))
    for place, (label, value) in zip(st.columns(3), bill.items(), strict=True):
        place.metric(label, value)
    if cap is None:
        _offer_cap(plan.dataset)
    st.markdown(
        f"Publishing spends **ε = {epsilon_text(plan.epsilon)}** of the budget of **{plain(plan.dataset)}** for good. "
        "Publishing the same plan on the same data again shows the same release and costs nothing."
    )
    if st.button(
        "Publish once", type="primary", icon=":material/publish:", key=session.key("publish"), width="stretch"
    ):
        _publish(plan)


def _offer_cap(dataset: str) -> None:
    with st.popover("Set a cap for this dataset", icon=":material/lock:"):
        typed = st.text_input("Total ε that it may ever spend", "4", key=session.key("cap"))
        if st.button("Set the cap", key=session.key("set-cap")):
            try:
                state.ledger().set_cap(dataset, typed.strip())
            except BudgetError as error:
                st.caption(f":material/report: {plain(str(error))}")
            else:
                st.rerun()


def _publish(plan: Plan) -> None:
    """Release once; the ledger makes a second click, tab or reload the same release."""
    table = session.table()
    assert table is not None
    try:
        with st.status("Publishing", expanded=True) as status:
            counting.check(table, plan)
            finished = release(table, plan, state.ledger(), progress=lambda stage: status.update(label=STAGES[stage]))
            status.update(label="Published", state="complete")
    except PrivateReleaseError as error:
        _refused(error, plan)
        return
    state.set_release(finished)
    st.query_params["release"] = finished.release_id
    st.rerun()


def _refused(error: PrivateReleaseError, plan: Plan) -> None:
    st.warning("\n\n".join(plain(fault) for fault in error.faults), icon=":material/block:")
    st.caption("Nothing was spent.")
    left = state.ledger().left(plan.dataset)
    if isinstance(error, BudgetError) and left:
        st.button(
            f"Use what is left: ε = {epsilon_text(left)}",
            key=session.key("use-left"),
            on_click=session.change,
            kwargs={"epsilon": epsilon_text(left)},
        )
    if isinstance(error, BudgetError):
        st.page_link("pages/budget.py", label="See the budget", icon=":material/account_balance_wallet:")
