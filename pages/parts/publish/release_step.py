"""Step 6: the price, and the one button that cannot be undone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import streamlit as st

from dpengine import BudgetError, Ledger, LedgerError, Plan, PrivateReleaseError
from dpengine.accounting.entry import Resemblance
from dpengine.exact import exact_text
from dpengine.release import resembling
from dpengine.translation.catalogue import _
from pages.parts.access.accounts import May
from pages.parts.publish import approval_step, progress
from pages.parts.publish.words_for_readers import ask_words
from pages.parts.shared.code.show import show_code
from pages.parts.shared.glossary.help import term
from pages.parts.shared.made_on_click import made_on_click
from pages.parts.shared.wording import decimal, exactly, plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.project import recent
from pages.parts.visit.project.as_code import table_values
from pages.parts.visit.recognition import digest_of_table
from pages.parts.visit.same_people import other_people
from pages.parts.visit.state import visit
from pages.parts.visit.strategy import plan_id_of

__all__ = ["publish_step"]


def publish_step(plan: Plan) -> None:
    """Show what the release costs, what it leaves of the budget, and the button to publish."""
    ledger, entries = visit().ledger.snapshot(), visit().entries
    name, title = st.columns(2)
    dataset = name.text_input(
        _("Dataset whose budget is spent"),
        value=entries.dataset,
        key=visit().key("dataset"),
        on_change=_rename,
        help=term(
            "dataset",
            _(
                "Keep one name for the same people, year after year. The same data, and near copies of it, are "
                "recognised under another name. A copy is not recognised with fewer than about three in five rows in "
                "common, and hardly one of fewer than about forty rows."
            ),
        ),
    )
    heading = title.text_input(_("Title for readers"), value=entries.title, key=visit().key("title"), on_change=_rename)
    _say_who_reads_the_file_name(dataset, heading)
    ask_words(plan)
    digest = digest_of_table(plan, ledger)
    if digest is None:
        return
    data = ledger.fingerprint(digest)
    published = ledger.find(data, plan_id_of(plan)) is not None
    price = Fraction(0) if published else plan.epsilon
    table = visit().table
    assert table is not None
    resemblances = [] if published else resembling(table, plan, data, ledger)
    others = other_people(data, resemblances)
    alike = [] if others else resemblances
    spent, cap = ledger.spent(plan.dataset, data, alike), ledger.cap(plan.dataset, data, alike)
    bill = {_("Spent so far"): exactly(spent), _("This release"): exactly(price)}
    if cap is not None and cap - spent < price:  # the ledger would refuse it, and charge nothing
        bill[_("Left now")] = exactly(max(cap - spent, Fraction(0)))
    else:
        bill[_("Left after")] = _("no cap") if cap is None else exactly(cap - spent - price)
    with st.grid(3, min_column_width=110):
        for label, value in bill.items():
            st.metric(label, value)
    first = spent == 0 and not published
    if first and not resemblances:
        _say_who_has_these_columns(dataset.strip(), ledger)
    if cap is None and May.CAP in visit().account.may:
        _offer_cap(plan.dataset, asked=first)
    refusal = None if published else _refusal(ledger, plan, data, alike)
    ended = progress.outcome()
    if published:
        st.markdown(_("**Already published: costs 0.** The same plan on the same data always gives the same release."))
    elif refusal is not None:
        _refused(refusal, ledger.left(plan.dataset, data, alike))
    else:
        if isinstance(ended, str):
            st.info(" ".join([_(ended), _("Nothing was spent.")]), icon=":material/stop_circle:")
        elif ended is not None:
            _refused(ended, ledger.left(plan.dataset, data, alike))
        st.markdown(
            _(
                "Publishing spends **ε = {epsilon}** of the budget of **{dataset}** for good. Publishing the same plan "
                "on the same data again shows the same release and costs nothing.",
                epsilon=exactly(plan.epsilon),
                dataset=plain(plan.dataset),
            ),
            help=term("trust"),
        )
    asks = not published and refusal is None and ledger.approvals.needed(plan.dataset, data, resemblances)
    if not published and not asks and visit().person.identity:
        box = st.expander(
            _("Have a colleague look at it first"),
            icon=":material/how_to_reg:",
            key="ask-colleague",
            on_change="rerun",
        )
        if box.open:
            with box:
                approval_step.show(plan, other_people=others, needed=False)
    if (not asks or approval_step.show(plan, other_people=others)) and st.button(
        _("Show it again") if published else _("Publish once"),
        type="primary",
        icon=":material/publish:",
        key=visit().key("publish"),
        width="stretch",
        disabled=refusal is not None,
    ):
        progress.begin(table, plan, other_people=others)
    st.download_button(
        _("Save this plan"),
        made_on_click(lambda: plan.dumps().encode(), "plan.yaml", "application/yaml"),
        file_name="plan.yaml",
        mime="application/yaml",
        icon=":material/download:",
        key=visit().key("save-plan"),
        type="tertiary",
        on_click="ignore",
        help=_(
            "Everything you have entered so far, without any data. This tab restores it after a reload; elsewhere, "
            "load it in step 2."
        ),
    )
    show_code(
        "publish",
        lambda: {"plan": "plan.yaml", "bundle": "release.zip", "other_people": others} | table_values(),
        {"plan.yaml": plan.dumps},
    )


def _refusal(ledger: Ledger, plan: Plan, data: bytes, alike: Sequence[Resemblance]) -> BudgetError | LedgerError | None:
    """Return why the ledger would refuse the charge now; it checks again when the charge is made."""
    try:
        ledger.check(plan.dataset, data, plan.epsilon, alike)
    except (BudgetError, LedgerError) as error:
        return error
    return None


def _rename(dataset: str = "") -> None:
    """Take a new name or title before the page is drawn, so that a click sent with it acts on the new plan."""
    here = visit()
    if dataset:
        st.session_state[here.key("dataset")] = dataset
    dataset, title = (st.session_state[here.key(name)] for name in ("dataset", "title"))
    here.change(dataset=dataset.strip() or here.entries.dataset, title=title)


def _say_who_reads_the_file_name(dataset: str, title: str) -> None:
    """Warn that readers will see the name of the owner's file, if the dataset or title still has it."""
    from_file = visit().table_name.split(".")[0]
    if not visit().sample and from_file in (dataset, title):
        st.caption(
            _("“{name}” is the name of your file. Readers will see it as it stands here.", name=plain(from_file)),
        )


def _say_who_has_these_columns(dataset: str, ledger: Ledger) -> None:
    """Ask before a first charge whether the same people already have a budget under another name."""
    for name in recent.with_columns_of_the_table(dataset, ledger):
        st.info(
            _(
                "**{name}** was published with columns of the same names. If this table is of the same people, use "
                "that name: then both share one budget.",
                name=plain(name),
            ),
            icon=":material/group:",
        )
        st.button(
            _("Use the name {name}", name=plain(name)),
            key=visit().key(f"same-{name}"),
            on_click=_rename,
            args=(name,),
        )


def _offer_cap(dataset: str, *, asked: bool) -> None:
    """Offer to set a cap; before the first charge, recommend it."""
    name = "cap-box"
    if asked:
        st.info(
            _(
                "**No cap is set for {dataset}.** Nothing would stop later releases from adding up. Decide now how "
                "much it may ever spend.",
                dataset=plain(dataset),
            ),
            icon=":material/lock_open:",
        )
    with st.popover(_("Set a cap"), icon=":material/lock:", key=visit().turned(name), on_change="rerun"):
        typed = st.text_input(
            _("Total ε that this dataset may ever spend"), "4", key=visit().key("cap"), help=term("cap")
        )
        sure = st.checkbox(
            _(
                "Refuse every release of **{dataset}** that would take its total above {cap}",
                dataset=plain(dataset),
                cap=plain(typed.strip()),
            ),
            key=visit().turned("cap-sure"),
        )
        if st.button(_("Set the cap"), key=visit().key("set-cap"), disabled=not sure):
            try:
                visit().set_cap(dataset, decimal(typed))
            except (BudgetError, LedgerError) as error:
                st.caption(f":material/report: {all_faults(error)}")
            else:
                visit().turn(name)
                visit().turn("cap-sure")
                st.rerun()


def _refused(error: PrivateReleaseError, left: Fraction | None) -> None:
    st.warning(all_faults(error), icon=":material/block:")
    st.caption(_("Nothing was spent."))
    if isinstance(error, BudgetError) and left:
        st.button(
            _("Use what is left: ε = {epsilon}", epsilon=exactly(left)),
            key=visit().key("use-left"),
            on_click=visit().change,
            kwargs={"epsilon": exact_text(left)},
        )
    if isinstance(error, BudgetError):
        st.page_link("pages/budget.py", label=_("See the budget"), icon=":material/account_balance_wallet:")
