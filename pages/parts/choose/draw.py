"""Draw a candidate: as a free demonstration, or once for a dataset, which is charged."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from dpengine.choose import Candidates, draw_once, published, sample
from dpengine.errors import BudgetError, LedgerError
from dpengine.exact import exactly
from dpengine.translation.catalogue import _, mark
from pages.parts.release.ledger_entry import show_drawn
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults, ledger_faults_shown
from pages.parts.visit.roles import publishes
from pages.parts.visit.state import visit

__all__ = ["draw_part"]

DEMONSTRATION, CHARGED = mark("Made up: a demonstration"), mark("Private: charge a dataset")


def draw_part(candidates: Candidates, question: str, *, own: bool) -> None:
    """Show the button to draw, and what it costs."""
    with st.container(border=True):
        st.markdown(_("**Draw once**"))
        way = st.radio(
            _("These scores are"),
            (DEMONSTRATION, CHARGED),
            format_func=_,
            index=int(own),
            key=f"choose_way_{own}",
            horizontal=True,
        )
        if way == DEMONSTRATION:
            _offer_free_draw(candidates)
        else:
            _offer_charged_draw(candidates, question)


def _offer_free_draw(candidates: Candidates) -> None:
    """Offer to draw as often as wanted, at no cost and without protection."""
    st.caption(
        _("Free, and no protection for anybody: nothing is charged or kept, and you can draw as often as you like.")
    )
    if st.button(_("Draw"), icon=":material/casino:", key="choose_lesson", width="stretch"):
        visit().keep("choice", candidates, [sample(candidates), *(visit().recall("choice", candidates) or [])][:12])
    names: list[str] = visit().recall("choice", candidates) or []
    if names:
        st.markdown(_("Drawn as a demonstration: **{name}**", name=plain(names[0])))
    if len(names) > 1:
        st.caption(_("before: {names}", names=", ".join(map(plain, names[1:]))))


@ledger_faults_shown()
def _offer_charged_draw(candidates: Candidates, question: str) -> None:
    """Offer to draw once, charged to the budget of a dataset."""
    if not publishes():
        return
    ledger = visit().ledger
    dataset = st.text_input(
        _("Dataset whose budget is spent"),
        key="choose_dataset",
        placeholder=_("such as clinic-2026"),
        help=_("Keep one name for the same people. Scores that are typed under another name cannot be recognised."),
    ).strip()
    if not dataset:
        st.caption(_("Name the dataset that the scores come from. Nothing is spent until you draw."))
        return
    try:
        before = published(candidates, dataset, ledger)
        if before is not None:
            st.markdown(_("**Already drawn: costs 0.** The same choice on the same scores has one answer."))
            show_drawn(before)
            return
        left, price = ledger.left(dataset), candidates.epsilon
        after = (
            _("it has no cap")
            if left is None
            else _("{epsilon} left after", epsilon=exactly(max(left - price, Fraction(0))))
        )
        spends = _(
            "Spends **ε = {epsilon}** of the budget of **{dataset}** for good; {after}.",
            epsilon=exactly(price),
            dataset=plain(dataset),
            after=after,
        )
        st.markdown(spends)
        if st.button(_("Draw once"), type="primary", icon=":material/casino:", key="choose_charge", width="stretch"):
            draw_once(candidates, dataset, visit().ledger_to_charge, question)
            st.rerun()
    except (BudgetError, LedgerError) as refused:
        st.warning(all_faults(refused), icon=":material/block:")
        st.caption(_("Nothing was drawn or spent."))
