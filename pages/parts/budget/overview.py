"""The spent and the remaining budget of a dataset, in numbers, as one bar, and in words."""

from __future__ import annotations

import math
from fractions import Fraction

import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.accounting.entry import Entry
from dpengine.accounting.ledger import Ledger
from dpengine.exact import exactly
from dpengine.spec.plan import Plan
from dpengine.spec.wording import certainty
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.budget.charts import spending_figure
from pages.parts.shared.entries_table import kinds_in_words
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import briefly
from pages.parts.visit.recognition import is_published, is_recognised

__all__ = ["show_overview"]

SEGMENTS = 40
PUBLISHED = mark("Your plan is published already. Opening it again costs nothing.")
PUBLISHED_BEFORE = mark("Your plan was published before. Of the same data it is opened again at no cost.")


def show_overview(ledger: Ledger, dataset: str, history: list[Entry], plan: Plan | None) -> None:
    """Show what is spent and left, and the cap, in numbers and one bar, and whether the current plan still fits."""
    spent, cap, left = ledger.spent(dataset), ledger.cap(dataset), ledger.left(dataset)
    with st.grid(4, min_column_width=150):
        st.metric(_("Spent, in ε"), briefly(spent), border=True, help=term("epsilon"))
        st.metric(_("Left"), _("no cap") if left is None else briefly(left), border=True)
        st.metric(_("Cap"), _("no cap") if cap is None else briefly(cap), border=True, help=term("cap"))
        st.metric(
            _("Entries"),
            number(len(history)),
            border=True,
            help=_("Releases of tables, answers to questions, and private choices."),
        )
    is_about_it = plan is not None and plan.dataset in {dataset, *(entry.dataset for entry in history)}
    price, published = _price_of(plan) if plan is not None and is_about_it else (None, "")
    kinds = kinds_in_words(entry.kind for entry in history)
    if cap is None:
        line = _("ε {spent} spent by {kinds}", spent=briefly(spent), kinds=kinds)
    else:
        line = _("ε {spent} of {cap} spent by {kinds}", spent=briefly(spent), cap=briefly(cap), kinds=kinds)
    st.markdown(f"**{line}**")
    _draw_spending(history, price, cap, line)
    st.markdown(" ".join(filter(None, [published, _still_fits(left, price), _taken_together(spent)])))


def _price_of(plan: Plan) -> tuple[Fraction | None, str]:
    """Return what the plan would cost, or None and that it was published before."""
    if is_published(plan):
        return None, _(PUBLISHED)
    if not is_recognised(plan) and is_published(plan, of_any_data=True):
        return None, _(PUBLISHED_BEFORE)  # as after a reload: whether it is the same data is not known yet
    return plan.epsilon, ""


def _draw_spending(history: list[Entry], price: Fraction | None, cap: Fraction | None, line: str) -> None:
    """Draw what each entry has cost, unless there is nothing to compare it with; the list below has the numbers."""
    paid = [(entry.title or entry.summary, float(entry.epsilon)) for entry in history]
    if len(paid) > SEGMENTS:
        earlier = paid[: 1 - SEGMENTS]
        together = math.fsum(each for _name, each in earlier)
        paid = [(_("{n} earlier entries", n=number(len(earlier))), together), *paid[1 - SEGMENTS :]]
    if len(paid) + (price is not None) > 1 or cap is not None:
        figure = spending_figure(paid, None if price is None else float(price), None if cap is None else float(cap))
        no_cap = _("no cap")
        draw(figure, f"{line}, {no_cap}." if cap is None else f"{line}.", "spending", height=150)


def _still_fits(left: Fraction | None, price: Fraction | None) -> str:
    """Say how many times the budget could still pay for the current plan; "" if the plan costs nothing."""
    if price is None:
        return ""
    if left is None:
        return _(
            "Your plan would add ε = {price} (hatched). Without a cap no release is refused.", price=exactly(price)
        )
    fits = left // price
    if fits == 0:
        return _(
            "Your plan asks for ε = {price} (hatched), but only {left} is left: it would be refused. Earlier "
            "releases can be opened again at no cost.",
            price=exactly(price),
            left=briefly(left),
        )
    return plural(
        "One more release like your plan, at ε = {price} (hatched), fits.",
        "{n} more releases like your plan, at ε = {price} (hatched), fit.",
        fits,
        price=exactly(price),
    )


def _taken_together(spent: Fraction) -> str:
    if spent == 0:
        return _("Nothing was released yet.")
    return _(
        "From all releases together, someone who is 50 % sure that a person is in this data can become {belief}.",
        belief=certainty(posterior(0.5, spent)),
    )
