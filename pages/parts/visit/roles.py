"""Roles on the page: only those whose role lets them publish see the steps that spend a budget."""

from __future__ import annotations

import streamlit as st

from dpengine.translation.catalogue import _
from pages.parts.access.accounts import May
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["publishes"]


def publishes() -> bool:
    """Return whether the visitor may publish; if not, say what they may do instead."""
    account = visit().account
    if May.PUBLISH in account.may:
        return True
    title = plain(account.title)
    st.info(
        _(
            "As a steward of **{account}**, you see what was published and what it cost. Its owners publish.",
            account=title,
        )
        if account.may
        else _(
            "As a viewer of **{account}**, you see what was published and what it cost. Its owners publish.",
            account=title,
        ),
        icon=":material/visibility:",
    )
    if May.APPROVE in account.may:
        st.page_link("pages/approval.py", label=_("See the plans that wait for approval"), icon=":material/how_to_reg:")
    st.page_link("pages/budget.py", label=_("See budget and releases"), icon=":material/account_balance_wallet:")
    return False
