"""The cap of a dataset, set in two steps: type it, then confirm what it means."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from dpengine.accounting.ledger import Ledger
from dpengine.exact import exactly, rational
from dpengine.translation.catalogue import _, mark
from pages.parts.access.accounts import May
from pages.parts.shared.typed_numbers import decimal
from pages.parts.shared.wording import briefly, plain
from pages.parts.visit.state import visit

__all__ = ["cap_form"]


def cap_form(ledger: Ledger, dataset: str) -> None:
    """Show the cap, and let those whose role allows it type another one and confirm what it means."""
    st.header(_("Cap"))
    old, spent = ledger.cap(dataset), ledger.spent(dataset)
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
        _confirm(dataset, reviewed, spent)


def _confirm(dataset: str, text: str, spent: Fraction) -> None:
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
        st.markdown(_("A cap of **ε = {cap}** would leave **{left}** to spend.", cap=exactly(cap), left=briefly(left)))
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
