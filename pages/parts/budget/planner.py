"""Planner of the Budget page: what each of many releases over the years may cost."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.accounting.composition import Rule, allowance, group_epsilon, posterior, total_cost
from dpengine.errors import PlanError
from dpengine.exact import exact_text, exactly, rational
from dpengine.spec.plan import Plan
from dpengine.spec.wording import certainty, factor
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.budget.charts import allowance_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import DELTAS, rounded_down
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.typed_numbers import decimal
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["plan_ahead"]

NAMES = {Rule.BASIC: mark("added up"), Rule.ADVANCED: mark("advanced composition"), Rule.ZCDP: "zCDP"}
MAX_RELEASES = 10_000
CURIOUS = mark(r"""
- **Added up** (basic composition): $\varepsilon_1 + \varepsilon_2 + \ldots$, exactly. It needs no $\delta$. This ledger
  uses it.
- **Advanced composition** (Dwork, Rothblum and Vadhan 2010): $k$ releases at $\varepsilon$ are together
  $(\varepsilon\sqrt{2k\ln(1/\delta)} + k\varepsilon(e^\varepsilon - 1),\ \delta)$-private.
- **zCDP** (Bun and Steinke 2016): each release is $\varepsilon^2/2$-concentrated. These add up to $\rho$, and
  together the releases are $(\rho + 2\sqrt{\rho\ln(1/\delta)},\ \delta)$-private.

All three hold at once, also for releases that are chosen one after another, so the best of them may be used. With a
$\delta$, the bound on anyone's odds may fail, with a chance of about that size. Figures are rounded so that the total
is never exceeded.

A group of $s$ people who are all in the data or all absent is protected by $s\varepsilon$: odds change by a factor of
at most $e^{s\varepsilon}$.
""")


@st.fragment
def plan_ahead(plan: Plan | None, dataset: str, left: Fraction | None, spent: Fraction) -> None:
    """Show what each of many releases may cost.

    `left` is what the cap of the dataset still allows, if it has one; `spent` is what was spent on it so far.
    """
    st.header(_("Plan ahead"), help=term("composition"))
    times, typed = _ask(dataset, left)
    if left == 0 and typed.strip() == "0":
        st.info(_("0 is left under the cap. To plan for a larger cap, type a total."), icon=":material/edit:")
        return
    try:
        total = rational(decimal(typed), "ε")
        price = allowance(Rule.BASIC, total, times, Fraction(0))  # adding up needs no δ
    except (ValueError, PlanError) as error:
        st.warning(plain(str(error)), icon=":material/edit:")
        return
    usable = rounded_down(price)
    st.markdown(
        plural(
            "**{n} release within ε = {total} in all: each may cost ε = {each}**",
            "**{n} releases within ε = {total} in all: each may cost ε = {each}**",
            times,
            total=exactly(total),
            each=exactly(usable),
        )
    )
    _say_what_it_means(times, total, spent)
    _ask_group(total, price)
    if plan is not None and usable != plan.epsilon:
        label = _("Use ε = {epsilon} in my plan", epsilon=exactly(usable))
        if st.button(label, key="planner_adopt", icon=":material/edit_note:"):
            visit().change(epsilon=exact_text(usable))
            st.switch_page("pages/publish.py")
    with st.expander(_("How costs add up, and rules that allow a δ"), icon=":material/school:"):
        _compare_rules(times, total)


def _ask(dataset: str, left: Fraction | None) -> tuple[int, str]:
    """Ask how many releases there will be, and for the total ε, which begins at what is `left`."""
    first, second, third = st.columns(3, vertical_alignment="bottom")
    a_year = first.number_input(_("Releases a year"), 1, 366, 4, key="planner_a_year")
    years = second.number_input(_("For how many years"), 1, 100, 5, key="planner_years")
    if st.session_state.get("planner_of") != (dataset, left) or "planner_total" not in st.session_state:
        st.session_state["planner_of"] = dataset, left
        st.session_state["planner_total"] = "4" if left is None else exactly(left)
    typed = third.text_input(
        _("Total ε"),
        key="planner_total",
        help=_("The limit for all of them together. It starts at what is left under the cap."),
    )
    return a_year * years, typed


def _compare_rules(times: int, total: Fraction) -> None:
    """Show what each release may cost by the rule of this ledger and by two others."""
    chosen = st.selectbox(_("δ, for the rules that use one"), list(DELTAS), index=1, key="planner_delta", width=240)
    delta = DELTAS[chosen]
    prices = {rule: allowance(rule, total, times, delta) for rule in Rule}
    best = max(prices, key=lambda rule: prices[rule])
    if best is not Rule.BASIC:
        st.markdown(
            _(
                "This ledger adds ε up. One that allows a δ could spend {price} on each, by {rule}.",
                price=_as_epsilon(prices[best]),
                rule=_(NAMES[best]),
            )
        )
    _draw_prices(times, total, delta, prices)
    _list_prices(times, delta, prices)
    st.markdown(_(CURIOUS))


def _as_epsilon(epsilon: Fraction) -> str:
    return f"ε = {exactly(rounded_down(epsilon))}"


def _draw_prices(times: int, total: Fraction, delta: Fraction, prices: dict[Rule, Fraction]) -> None:
    counts = sorted({1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, MAX_RELEASES, times})
    rows = pd.DataFrame({"releases": counts})
    for rule, name in NAMES.items():
        rows[_(name)] = [float(allowance(rule, total, count, delta)) for count in counts]
    listed = "; ".join(f"{_(NAMES[rule])}: {_as_epsilon(price)}" for rule, price in prices.items())
    alt = plural(
        "The more releases, the less each may cost. Of {n} release each may cost, by {prices}.",
        "The more releases, the less each may cost. Of {n} releases each may cost, by {prices}.",
        times,
        prices=listed,
    )
    draw(allowance_figure(rows, times), alt, "planner", 300)
    column = st.column_config.NumberColumn
    columns = {name: column(name, format="%.4g") for name in rows.columns[1:]}
    twin(rows, "planner", {"releases": column(_("releases"), format="%,d")} | columns)


def _list_prices(times: int, delta: Fraction, prices: dict[Rule, Fraction]) -> None:
    rows = [
        {
            "rule": _(NAMES[rule]),
            "each": float(price),
            "together": float(total_cost(rule, price, times, delta)),
            "odds": factor(price),
            "sure": certainty(posterior(0.5, price)),
            "promise": _("always") if rule is Rule.BASIC else _("except with chance δ"),
        }
        for rule, price in prices.items()
    ]
    text, column = st.column_config.TextColumn, st.column_config.NumberColumn
    columns = {
        "rule": text(_("rule")),
        "each": column(_("each may cost, ε"), format="%.2g"),
        "together": column(_("all together, ε"), format="%.3g"),
        "odds": text(
            _("odds grow at most ×"),
            alignment="right",
            help=_("By one release: the factor e^ε on the odds that a person is in the data."),
        ),
        "sure": text(_("after one, 50 % sure becomes"), alignment="right"),
        "promise": text(_("the total holds")),
    }
    show_numbers(pd.DataFrame(rows), columns, alt=_("What each release may cost, by three rules"))


def _say_what_it_means(times: int, total: Fraction, spent: Fraction) -> None:
    """Say how sure anyone can become by all releases together."""
    meaning = plural(
        "All {n} release together multiply the odds that a person is in the data by at most **{factor}**: 50 % sure "
        "becomes **{belief}**.",
        "All {n} releases together multiply the odds that a person is in the data by at most **{factor}**: 50 % sure "
        "becomes **{belief}**.",
        times,
        factor=factor(total),
        belief=certainty(posterior(0.5, total)),
    )
    if spent:
        belief = certainty(posterior(0.5, spent + total))
        meaning += _(" With the ε = {spent} that is spent already, **{belief}**.", spent=exactly(spent), belief=belief)
    st.markdown(meaning)


def _ask_group(total: Fraction, price: Fraction) -> None:
    """Ask for the size of a group, and say how far its people are protected together."""
    size = st.number_input(
        _("A family or group of"), 2, 1000, 4, key="planner_group", width=240,
        help=_("People who are either all in the data or all absent."),
    )  # fmt: skip
    together, one = group_epsilon(total, size), group_epsilon(price, size)
    st.markdown(
        _(
            "For a group of {size}, one release multiplies the odds by at most {one} (50 % sure becomes {after_one}); "
            "all of them, by at most {all} (50 % sure becomes {after_all}).",
            size=number(size),
            one=factor(one),
            after_one=certainty(posterior(0.5, one)),
            all=factor(together),
            after_all=certainty(posterior(0.5, together)),
        )
    )
