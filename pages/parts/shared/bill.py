"""A bill before something is spent: what is spent already, the price, and what it leaves."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from dpengine.exact import exactly
from dpengine.translation.catalogue import _

__all__ = ["show_bill"]


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
