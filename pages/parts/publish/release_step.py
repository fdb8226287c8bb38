"""Step 6: the price, and the one button that cannot be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import streamlit as st

from dpengine import BudgetError, Ledger, LedgerError, Plan, PrivateReleaseError
from dpengine.accounting.entry import Entry, Kind, Resemblance
from dpengine.exact import exact_text, exactly
from dpengine.release import resembling
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, day
from pages.parts.access.accounts import May
from pages.parts.publish import approval_step, progress
from pages.parts.publish.epsilon_step import epsilon_is_read
from pages.parts.publish.words_for_readers import ask_words
from pages.parts.shared.bill import show_bill, warn_of_ledger
from pages.parts.shared.code.show import show_code
from pages.parts.shared.glossary.help import term
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.typed_numbers import decimal
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.project import recent
from pages.parts.visit.project.as_code import table_values
from pages.parts.visit.recognition import digest_of_table
from pages.parts.visit.same_people import other_people
from pages.parts.visit.state import visit
from pages.parts.visit.strategy import plan_id_of

__all__ = ["publish_step"]


@dataclass(frozen=True, slots=True)
class _Bill:
    """The price of publishing a plan on the open table, as the ledger stands."""

    dataset: str
    published: bool  # the same plan on the same data, which costs nothing again
    price: Fraction
    spent: Fraction
    elsewhere: Fraction  # how much of what is spent was spent under other names
    left: Fraction | None  # None without a cap
    resembles: Sequence[Resemblance]
    other_people: bool  # whether the owner says that the people are others than those of the tables that it resembles
    needs_approval: bool
    refusal: BudgetError | LedgerError | None


def publish_step(plan: Plan) -> None:
    """Show what the release costs, what it leaves of the budget, and the button to publish."""
    ledger = visit().ledger.snapshot()
    above = st.container()
    _ask_names(plan)
    digest = digest_of_table(plan, ledger)
    if digest is None:
        return
    bill = _bill(plan, ledger, ledger.fingerprint(digest))
    with above:
        _say_how_it_ended(bill)
    _show_bill(bill)
    first = bill.spent == 0 and not bill.published
    if first and not bill.resembles:
        _say_who_has_these_columns(visit().entries.dataset.strip(), ledger)
    if bill.left is None and May.CAP in visit().account.may:
        _offer_cap(plan.dataset, asked=first)
    if not bill.published:
        _say_what_is_there(bill, recent.with_all_tables_of(plan, ledger.fingerprint(digest), ledger))
        _say_who_has_this_title(plan, ledger)
    readable = epsilon_is_read()
    if readable:
        _say_what_publishing_does(bill, ledger)
    else:
        st.markdown(":material/report: " + _("What is typed in step 5 is no ε. Correct it there before you publish."))
    possible = readable and bill.refusal is None
    pressed = (not readable or _colleague_agrees(plan, bill)) and st.button(
        _("Show it again") if bill.published else _("Publish once"),
        type="primary",
        icon=":material/publish:",
        key=visit().key("publish"),
        width="stretch",
        disabled=not possible,
    )
    if pressed and possible:  # a press that comes together with the text that makes it impossible counts for nothing
        progress.begin(_table(), plan, other_people=bill.other_people)
    _offer_files(plan, bill)


def _ask_names(plan: Plan) -> None:
    """Ask whose budget is spent, and for the title and the words that readers see."""
    entries = visit().entries
    name, title = st.columns(2, vertical_alignment="bottom")
    dataset = name.text_input(
        _("Dataset whose budget is spent"),
        value=entries.dataset,
        key=visit().key("dataset"),
        on_change=visit().while_shown(_rename),
        help=term(
            "dataset",
            _(
                "Keep one name for the same people, year after year. The same data, and near copies of it, are "
                "recognised under another name. A copy is not recognised with fewer than about three in five rows in "
                "common, and hardly one of fewer than about forty rows."
            ),
        ),
    )
    heading = title.text_input(
        _("Title for readers"), value=entries.title, key=visit().key("title"), on_change=visit().while_shown(_rename)
    )
    _say_who_reads_the_file_name(dataset, heading)
    ask_words(plan)


def _bill(plan: Plan, ledger: Ledger, data: bytes) -> _Bill:
    """Return the bill, after asking whether the people are those of a table that this one resembles."""
    published = ledger.find(data, plan_id_of(plan)) is not None
    resembles = [] if published else resembling(_table(), plan, data, ledger)
    others = other_people(data, resembles)
    alike = [] if others else resembles
    spent = ledger.spent(plan.dataset, data, alike)
    refusal = None if published else _refusal(ledger, plan, data, alike)
    return _Bill(
        dataset=plan.dataset,
        published=published,
        price=Fraction(0) if published else plan.epsilon,
        spent=spent,
        elsewhere=spent - ledger.spent(plan.dataset),
        left=ledger.left(plan.dataset, data, alike),
        resembles=resembles,
        other_people=others,
        needs_approval=not published and refusal is None and ledger.approvals.needed(plan.dataset, data, resembles),
        refusal=refusal,
    )


def _table() -> Table:
    table = visit().table
    assert table is not None
    return table


def _show_bill(bill: _Bill) -> None:
    """Show what is spent, the price, and what it leaves; also what was spent under other names."""
    show_bill(bill.spent, _("This release"), bill.price, bill.left)
    if bill.elsewhere > 0:
        st.caption(
            _(
                "Of what is spent, ε = {epsilon} was spent under another name: the same people share one budget.",
                epsilon=exactly(bill.elsewhere),
            )
        )


def _say_how_it_ended(bill: _Bill) -> None:
    """Say why the last attempt to publish gave no release, unless the bill says it."""
    ended = visit().unpublished
    if ended is None or bill.published or bill.refusal is not None:
        return
    if isinstance(ended, str):
        st.info(" ".join([_(ended), _("Nothing was spent.")]), icon=":material/stop_circle:")
    else:
        _refused(ended, bill.left)


def _say_what_publishing_does(bill: _Bill, ledger: Ledger) -> None:
    """Say that it costs nothing again, why it would be refused, or what it spends."""
    if bill.published:
        st.markdown(_("**Already published: costs 0.** The same plan on the same data always gives the same release."))
    elif bill.refusal is not None:
        _refused(bill.refusal, bill.left)
    else:
        st.markdown(
            _(
                "Publishing spends **ε = {epsilon}** of the budget of **{dataset}** for good. Publishing the same plan "
                "on the same data again shows the same release and costs nothing.",
                epsilon=exactly(bill.price),
                dataset=plain(bill.dataset),
            ),
            help=term("trust"),
        )
        warn_of_ledger(ledger)


def _say_what_is_there(bill: _Bill, entry: Entry | None) -> None:
    """Say that an earlier release already holds these tables, before they are paid for a second time."""
    if entry is None:
        return
    text = _(
        "**Your release of {day} already holds all tables of this plan**, at ε = {paid}. To look at them again costs "
        "nothing. Publishing them anew spends ε = {price} more, for numbers of their own.",
        day=day(entry.created[:10]),
        paid=exactly(entry.epsilon),
        price=exactly(bill.price),
    )
    st.info(text, icon=":material/inventory_2:")
    st.button(
        _("Open that release"), key=visit().key("open-earlier"), icon=":material/folder_open:",
        on_click=st.query_params.from_dict, args=({"release": entry.release_id},),
    )  # fmt: skip


def _say_who_has_this_title(plan: Plan, ledger: Ledger) -> None:
    """Say that an earlier release has the title of this plan, such as one of last year's table."""
    titled = [each for each in ledger.history(plan.dataset) if each.kind is Kind.RELEASE and each.title == plan.title]
    if plan.title and titled:
        text = _(
            "Your release of {day} has this title too. Readers tell releases apart by their titles: name the year, for "
            "example.",
            day=day(titled[-1].created[:10]),
        )
        st.caption(f":material/title: {text}")


def _colleague_agrees(plan: Plan, bill: _Bill) -> bool:
    """Whether a second person has approved, if that is needed; otherwise, offer to ask one."""
    if bill.needs_approval:
        return approval_step.show(plan, other_people=bill.other_people)
    if not bill.published and visit().person.identity:
        box = st.expander(
            _("Have a colleague look at it first"),
            icon=":material/how_to_reg:",
            key="ask-colleague",
            on_change="rerun",
        )
        if box.open:
            with box:
                approval_step.show(plan, other_people=bill.other_people, needed=False)
    return True


def _offer_files(plan: Plan, bill: _Bill) -> None:
    """Offer the plan, a paper for whoever has to agree to it, and the release as code."""
    show_code(
        "publish",
        lambda: {"plan": "plan.yaml", "bundle": "release.zip", "other_people": bill.other_people} | table_values(),
        {"plan.yaml": plan.dumps},
    )
    place = st.container(horizontal=True)  # apart from *Publish once*, which their help texts would cover
    if not bill.published:
        with place:
            approval_step.offer_paper(plan)
    offer_file(
        _("Save this plan"),
        lambda: plan.dumps().encode(),
        "plan.yaml",
        "application/yaml",
        icon=":material/download:",
        key=visit().key("save-plan"),
        type="tertiary",
        help=_(
            "Everything you have entered so far, without any data. This tab restores it after a reload; elsewhere, "
            "load it in step 2."
        ),
        place=place,
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
    with st.popover(_("Set a cap"), icon=":material/lock:", key=visit().fresh_key(name), on_change="rerun"):
        typed = st.text_input(
            _("Total ε that this dataset may ever spend"), "4", key=visit().key("cap"), help=term("cap")
        )
        sure = st.checkbox(
            _(
                "Refuse every release of **{dataset}** that would take its total above {cap}",
                dataset=plain(dataset),
                cap=plain(typed.strip()),
            ),
            key=visit().fresh_key("cap-sure"),
        )
        if st.button(_("Set the cap"), key=visit().key("set-cap"), disabled=not sure):
            try:
                visit().set_cap(dataset, decimal(typed))
            except (BudgetError, LedgerError) as error:
                st.caption(f":material/report: {all_faults(error)}")
            else:
                visit().renew(name)
                visit().renew("cap-sure")
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
