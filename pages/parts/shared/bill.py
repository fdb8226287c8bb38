"""A bill before something is spent: what is spent already, the price, and what it leaves."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from dpengine import Ledger
from dpengine.accounting.clock import clock_behind
from dpengine.accounting.witness import COPIED
from dpengine.exact import exactly
from dpengine.spec.wording import capitalised
from dpengine.translation.catalogue import _
from pages.parts.shared.wording import plain

__all__ = ["show_bill", "warn_of_ledger"]


def show_bill(spent: Fraction, what: str, price: Fraction, left: Fraction | None) -> None:
    """Show the bill for `what`; `left` is what may still be spent, None without a cap.

    If that is less than the price, the ledger would refuse it and charge nothing: then it shows what is left now.
    """
    if left is None:
        label, rest = _("Left after"), _("no cap")
    elif left < price:
        label, rest = _("Left now"), exactly(left)
    else:
        label, rest = _("Left after"), exactly(left - price)
    with st.grid(3, min_column_width=110):
        for name, value in {_("Spent so far"): exactly(spent), what: exactly(price), label: rest}.items():
            st.metric(name, value)


def warn_of_ledger(ledger: Ledger) -> None:
    """Warn of a clock that is behind the ledger, and of charges that only a copy of it holds."""
    if problem := clock_behind(ledger.history()):
        st.warning(plain(f"{capitalised(problem)}."), icon=":material/schedule:")
    if ledger.copied:
        st.warning(plain(f"{capitalised(_(COPIED))}."), icon=":material/file_copy:")
