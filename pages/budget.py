"""Budget page: what every dataset has spent, on what, and what is left."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from dpengine.accounting.entry import Entry
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.signing_key import signing_key
from dpengine.bundle.signature import fingerprint, public_text
from dpengine.errors import BudgetError, LedgerError
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _
from pages.parts.budget.cap_form import cap_form
from pages.parts.budget.history import show_history
from pages.parts.budget.overview import show_overview
from pages.parts.budget.planner import plan_ahead
from pages.parts.budget.same_people import show_other_names
from pages.parts.shared.bill import warn_of_ledger
from pages.parts.shared.code.show import show_code
from pages.parts.shared.entries_table import kinds_in_words
from pages.parts.shared.glossary.help import term
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.project.as_code import ledger_values
from pages.parts.visit.state import require_entry, visit

PUBLISH = "pages/publish.py"


def introduce() -> None:
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


def choose_dataset(ledger: Ledger, plan: Plan | None) -> str | None:
    """Return the dataset to show; None if there is none."""
    names = ledger.datasets()
    if plan is not None and plan.dataset not in names:
        names = sorted([*names, plan.dataset])
    if len(names) < 2:
        if names:
            st.markdown(_("Dataset **{name}**", name=plain(names[0])))
        return names[0] if names else None
    latest = ledger.history()[-1:]  # a visitor most likely looks for the latest release
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


def explain_trust(history: list[Entry]) -> None:
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


def show_key(ledger: Ledger) -> None:
    """Show the public key that signs the releases of this ledger, once the first release has made it."""
    key = signing_key(ledger)
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
        offer_file(
            _("Download the public key"),
            lambda: public_text(public).encode(),
            "private-release-key.pem",
            "application/x-pem-file",
            icon=":material/key:",
            key="budget_key",
        )


require_entry()
st.title(_("Budget"))
st.markdown(
    _("What each dataset has spent, on which releases, and what is left. Nothing is ever refunded or forgotten.")
)
try:
    ledger, own_plan = visit().ledger, visit().plan
    warn_of_ledger(ledger)
    if (selected := choose_dataset(ledger, own_plan)) is None:
        introduce()
        plan_ahead(own_plan, "", None, Fraction(0))
    else:
        entries = ledger.history(selected)
        show_other_names(ledger, selected, entries, ledger.history())
        show_overview(ledger, selected, entries, own_plan)
        show_history(ledger, entries, selected)
        cap_form(ledger, selected)
        plan_ahead(own_plan, selected, ledger.left(selected), ledger.spent(selected))
        show_key(ledger)
        show_code("budget", lambda: {"dataset": selected} | ledger_values())
        explain_trust(entries)
except (BudgetError, LedgerError) as refused:
    st.error(all_faults(refused), icon=":material/account_balance_wallet:")
