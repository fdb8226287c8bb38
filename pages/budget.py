"""Budget page: what every dataset has spent, on what, and what is left."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.accounting.entry import Entry, Resemblance
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.signing_key import signing_key
from dpengine.bundle.signature import fingerprint, public_text
from dpengine.errors import BudgetError, LedgerError
from dpengine.exact import rational
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, localised, mark, number, plural
from pages.parts.access.accounts import May
from pages.parts.budget.charts import spending_figure
from pages.parts.budget.history import show_history
from pages.parts.budget.planner import planner
from pages.parts.shared.code.show import show_code
from pages.parts.shared.entries_table import kinds_in_words
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import bound, decimal, exactly, plain, sure
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.project.as_code import ledger_values
from pages.parts.visit.recognition import is_published, is_recognised
from pages.parts.visit.same_people import alike_in_words
from pages.parts.visit.state import require_entry, visit

PUBLISH = "pages/publish.py"
SEGMENTS = 40
PUBLISHED = mark("Your plan is published already. Opening it again costs nothing.")
PUBLISHED_BEFORE = mark("Your plan was published before. Of the same data it is opened again at no cost.")


def short(epsilon: Fraction) -> str:
    """Return ε as a decimal of at most four digits, with ≈ if that is not exact."""
    text = f"{float(epsilon):.4g}"
    return localised(text if Fraction(text) == epsilon else f"≈ {text}")


def explain() -> None:
    """Explain what a budget is to someone who has none yet."""
    with st.container(border=True):
        st.markdown(
            _(
                "Every release of a table reveals a little about each person in it. ε measures how much, and the ε of "
                "several releases adds up. A budget is the total ε that a dataset may ever spend. This page keeps the "
                "account; nothing is ever removed from it."
            )
        )
        st.markdown(_("Nothing has been spent yet."))
        st.page_link(PUBLISH, label=_("Plan a first release on Publish"), icon=":material/edit_note:")


def choose_dataset(book: Ledger, plan: Plan | None) -> str | None:
    """Return the dataset to show; None if there is none."""
    names = book.datasets()
    if plan is not None and plan.dataset not in names:
        names = sorted([*names, plan.dataset])
    if len(names) < 2:
        if names:
            st.markdown(_("Dataset **{name}**", name=plain(names[0])))
        return names[0] if names else None
    latest = book.history()[-1:]  # a visitor most likely looks for the latest release
    named = plan.dataset if plan is not None else latest[0].dataset if latest else names[0]
    first = names.index(named) if named in names else 0
    return st.selectbox(
        _("Dataset"),
        names,
        index=first,
        key="budget_dataset",
        width=420,
        help=term("dataset"),
    )


def show_overview(book: Ledger, dataset: str, history: list[Entry], plan: Plan | None) -> None:
    """Show what is spent and left, and the cap, in numbers and one bar."""
    spent, cap, left = book.spent(dataset), book.cap(dataset), book.left(dataset)
    with st.grid(4, min_column_width=150):
        st.metric(_("Spent, in ε"), short(spent), border=True, help=term("epsilon"))
        st.metric(_("Left"), _("no cap") if left is None else short(left), border=True)
        st.metric(_("Cap"), _("no cap") if cap is None else short(cap), border=True, help=term("cap"))
        st.metric(
            _("Entries"),
            number(len(history)),
            border=True,
            help=_("Releases of tables, answers to questions, and private choices."),
        )
    here = plan is not None and plan.dataset in {dataset, *(e.dataset for e in history)}
    known = plan is not None and here and is_published(plan)
    price = plan.epsilon if plan is not None and here and not known else None
    if plan is not None and price is not None and not is_recognised(plan) and is_published(plan, of_any_data=True):
        price = None  # as after a reload: whether it is the same data is not known yet
        published = [_(PUBLISHED_BEFORE)]
    else:
        published = [_(PUBLISHED)] if known else []
    paid = [(entry.title or entry.summary, float(entry.epsilon)) for entry in history]
    if len(paid) > SEGMENTS:
        earlier = paid[: 1 - SEGMENTS]
        together = math.fsum(each for _name, each in earlier)
        paid = [(_("{n} earlier entries", n=number(len(earlier))), together), *paid[1 - SEGMENTS :]]
    kinds = kinds_in_words(entry.kind for entry in history)
    if cap is None:
        line = _("ε {spent} spent by {kinds}", spent=short(spent), kinds=kinds)
    else:
        line = _("ε {spent} of {cap} spent by {kinds}", spent=short(spent), cap=short(cap), kinds=kinds)
    st.markdown(f"**{line}**")
    if len(paid) + (price is not None) > 1 or cap is not None:  # else there is nothing to compare it with
        figure = spending_figure(paid, None if price is None else float(price), None if cap is None else float(cap))
        no_cap = _("no cap")
        draw(figure, f"{line}, {no_cap}." if cap is None else f"{line}.", "spending", height=150)
    st.markdown(" ".join([*published, *_still_fits(left, price), _taken_together(spent)]))


def _still_fits(left: Fraction | None, price: Fraction | None) -> list[str]:
    """Say how many times the budget could still pay for the current plan; nothing if the plan costs nothing."""
    if price is None:
        return []
    if left is None:
        return [
            _(
                "Your plan would add ε = {price} (hatched). Without a cap no release is refused.",
                price=exactly(price),
            )
        ]
    fits = left // price
    if fits == 0:
        return [
            _(
                "Your plan asks for ε = {price} (hatched), but only {left} is left: it would be refused. Earlier "
                "releases can be opened again at no cost.",
                price=exactly(price),
                left=short(left),
            )
        ]
    return [
        plural(
            "One more release like your plan, at ε = {price} (hatched), fits.",
            "{n} more releases like your plan, at ε = {price} (hatched), fit.",
            fits,
            price=exactly(price),
        )
    ]


def _taken_together(spent: Fraction) -> str:
    if spent == 0:
        return _("Nothing was released yet.")
    return _(
        "From all releases together, someone who is 50 % sure that a person is in this data can become {belief}.",
        belief=sure(posterior(0.5, spent)),
    )


def show_other_names(book: Ledger, dataset: str, history: list[Entry], every: list[Entry]) -> None:
    """Name other datasets under which the same data was published, how it was recognised, and what its owner stated."""
    others = sorted({entry.dataset for entry in history} - {dataset})
    if others:
        names = ", ".join(f"**{plain(name)}**" for name in others)
        st.info(
            _(
                "The same data was also published as {names}. These names share one account, since the people are the "
                "same: what one spends counts for all, and the smallest of their caps holds.",
                names=names,
            ),
            icon=":material/link:",
        )
    ids = {entry.release_id for entry in history}
    recognised = [
        (entry, each) for entry in every for each in entry.recognised if ids & {entry.release_id, each.release_id}
    ]
    _warn_of_statements(book, dataset, ids, [(entry, each) for entry, each in recognised if each.other_people])
    if recognised:
        label = _("Tables recognised by their rows ({n})", n=number(len(recognised)))
        with st.expander(label, icon=":material/group:"):
            st.markdown("\n".join(f"- {_recognised(entry, each)}" for entry, each in recognised))


def _warn_of_statements(book: Ledger, dataset: str, ids: set[str], stated: list[tuple[Entry, Resemblance]]) -> None:
    """Say what follows if the owner's statement that tables are of other people turns out to be wrong."""
    far = [
        replace(each, release_id=entry.release_id, dataset=entry.dataset) if each.release_id in ids else each
        for entry, each in stated
    ]
    elsewhere = {each.dataset: each for each in far if each.release_id not in ids}
    if not elsewhere:
        return
    tables = ", ".join(f"**{plain(name)}** ({alike_in_words(each)})" for name, each in elsewhere.items())
    together = book.spent(dataset, alike=list(elsewhere.values()))
    st.warning(
        plural(
            "A table that looks like this one was stated to be of other people: {tables}. The account below does not "
            "count what was spent there. If the people are the same, ε = {together} was spent on them in all, and "
            "someone who is 50 % sure that a person is in this data can become {belief}.",
            "Tables that look like this one were stated to be of other people: {tables}. The account below does not "
            "count what was spent there. If the people are the same, ε = {together} was spent on them in all, and "
            "someone who is 50 % sure that a person is in this data can become {belief}.",
            len(elsewhere),
            tables=tables,
            together=exactly(together),
            belief=sure(posterior(0.5, together)),
        ),
        icon=":material/group:",
    )


def _recognised(entry: Entry, like: Resemblance) -> str:
    rows = _("its rows and those of **{other}** are {alike}", other=plain(like.dataset), alike=alike_in_words(like))
    statement = (
        _("stated to be other people: no shared account") if like.other_people else _("the same people: one account")
    )
    return f"{bound(entry.created[:10])}, **{plain(entry.dataset)}**: {rows}; {statement}."


def cap_form(book: Ledger, dataset: str) -> None:
    """Set a cap in two steps: type it, then confirm what it means."""
    st.header(_("Cap"))
    old, spent = book.cap(dataset), book.spent(dataset)
    st.markdown(
        _("No cap is set. Every release is recorded, and none is refused.")
        if old is None
        else _("At most ε = {cap} may ever be spent. A release that would exceed it is refused.", cap=exactly(old))
    )
    if May.CAP not in visit().account.may:
        group = plain(visit().account.heading)
        st.caption(_("Stewards of {group} set it; its owners, if it has none.", group=group))
        return
    with st.form("budget_cap_form", border=False):
        field, button = st.columns([2, 1], vertical_alignment="bottom")
        text = field.text_input(
            _("Total ε that this data may ever spend"),
            placeholder=_("such as 4 or 2.5"),
            key="budget_cap_text",
            help=_("A decimal or a fraction. It limits all releases together, including past ones."),
        )
        if button.form_submit_button(_("Review the cap"), icon=":material/rule:"):
            visit().keep("cap", dataset, text)
    if (reviewed := visit().recall("cap", dataset)) is not None:
        confirm(book, dataset, reviewed, spent)


def confirm(book: Ledger, dataset: str, text: str, spent: Fraction) -> None:
    """Show what a typed cap would mean, and set it when that is confirmed."""
    try:
        cap = rational(decimal(text), mark("it"))
        if cap <= 0:
            raise ValueError(_("the cap must be above 0"))
    except ValueError as error:
        st.warning(_("That cannot be a cap: {fault}.", fault=error), icon=":material/edit:")
        return
    with st.container(border=True):
        left = max(cap - spent, Fraction(0))
        st.markdown(_("A cap of **ε = {cap}** would leave **{left}** to spend.", cap=exactly(cap), left=short(left)))
        if left == 0:
            st.markdown(_("That much is spent already, so nothing more could be published."))
        st.caption(
            _("Raising the cap later is up to whoever is responsible for the data. What is published stays published.")
        )
        with st.container(horizontal=True):
            if st.button(_("Set the cap to {cap}", cap=exactly(cap)), type="primary", key="budget_cap_set"):
                visit().set_cap(dataset, cap)
                visit().forget("cap")
                st.toast(_("The cap is set."), icon=":material/check:")
                st.rerun()
            if st.button(_("Leave it as it is"), key="budget_cap_leave"):
                visit().forget("cap")
                st.rerun()


def for_the_curious(history: list[Entry]) -> None:
    """Explain in detail what the ledger proves, and what it cannot notice."""
    with st.expander(_("How far this account can be trusted"), icon=":material/fact_check:"):
        st.markdown(
            _(
                "Every entry seals the one before it, and the whole chain was checked when this page was drawn. A "
                "changed or removed entry would have been reported. No ledger can notice by itself that it was "
                "replaced by an older copy. To notice that, keep the number of releases and the name of the last one "
                "somewhere else."
            )
        )
        st.markdown(
            _(
                "A budget follows people as far as tables show who they are. The same table under another name shares "
                "its account. So does a near copy, with rows or columns left out, added, renamed or changed, as long "
                "as it has about three in five of its rows in common with an earlier table, in the columns that are "
                "published or in most columns. Not recognised are the same people in another table (another year, "
                "another survey), and tables of fewer than about forty rows: give these the same dataset name."
            )
        )
        if history:
            kinds = kinds_in_words(entry.kind for entry in history)
            st.code(_("{kinds}, the last one {id}", kinds=kinds, id=history[-1].release_id), language=None)


def show_key(book: Ledger) -> None:
    """Show the public key that signs the releases of this ledger, once the first release has made it."""
    key = signing_key(book)
    if key is None:
        return
    st.header(_("Key"))
    public = key.public_key()
    st.markdown(
        _(
            "Every release file is signed with the key of this ledger. Give readers its fingerprint by another route "
            "than the files, such as your own site: then they see on Verify that a file is yours, and unchanged."
        )
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.code(fingerprint(public), language=None, width="content", wrap_lines=True)
        st.download_button(
            _("Download the public key"),
            public_text(public),
            "private-release-key.pem",
            "application/x-pem-file",
            icon=":material/key:",
            on_click="ignore",
            key="budget_key",
        )


require_entry()
st.title(_("Budget"))
st.markdown(
    _("What each dataset has spent, on which releases, and what is left. Nothing is ever refunded or forgotten.")
)
try:
    account = visit().ledger
    mine = visit().plan
    if (selected := choose_dataset(account, mine)) is None:
        explain()
        planner(mine)
    else:
        bought = account.history(selected)
        show_other_names(account, selected, bought, account.history())
        show_overview(account, selected, bought, mine)
        show_history(account, bought, selected)
        cap_form(account, selected)
        planner(mine, selected, account.left(selected), account.spent(selected))
        show_key(account)
        show_code("budget", lambda: {"dataset": selected} | ledger_values())
        for_the_curious(bought)
except (BudgetError, LedgerError) as refused:
    st.error(all_faults(refused), icon=":material/account_balance_wallet:")
