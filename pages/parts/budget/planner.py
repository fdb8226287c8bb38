"""The planner of the Budget page: so many releases a year for so many years, and what each may cost."""

from __future__ import annotations

import math
from fractions import Fraction

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpengine.accounting.composition import Rule, allowance, cost, group, odds_factor, posterior
from dpengine.errors import PlanError
from dpengine.exact import exact_text, rational
from dpengine.spec.plan import Plan
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw, tones
from pages.parts.shared.wording import plain, plural, sure
from pages.parts.visit import session

__all__ = ["planner"]

NAMES = {Rule.BASIC: "added up", Rule.ADVANCED: "advanced composition", Rule.ZCDP: "zCDP"}
DELTAS = {"10⁻⁴": Fraction(1, 10**4), "10⁻⁶": Fraction(1, 10**6), "10⁻⁹": Fraction(1, 10**9)}
MOST = 10_000
CURIOUS = r"""
- **Added up** (basic composition): $\varepsilon_1 + \varepsilon_2 + \ldots$, exactly. It needs no $\delta$, and it is
  what this ledger does.
- **Advanced composition** (Dwork, Rothblum and Vadhan 2010): $k$ releases at $\varepsilon$ are together
  $(\varepsilon\sqrt{2k\ln(1/\delta)} + k\varepsilon(e^\varepsilon - 1),\ \delta)$-private.
- **zCDP** (Bun and Steinke 2016): each is $\varepsilon^2/2$-concentrated, that adds up to $\rho$, and promises
  $(\rho + 2\sqrt{\rho\ln(1/\delta)},\ \delta)$.

All three hold at once, for releases chosen one after the other too, so the best may be taken. With a $\delta$, the
bound on anyone's odds may fail, in a part of cases of about that size. Figures are rounded so that the total is never
passed.

A group of $s$ people who come or go together is protected by $s\varepsilon$: odds move by up to $e^{s\varepsilon}$.
"""


def _factor(epsilon: Fraction) -> str:
    if epsilon > 13:
        return f"10^{float(epsilon) / math.log(10):.0f}"
    return f"{odds_factor(epsilon):,.3g}" if epsilon < 4 else f"{odds_factor(epsilon):,.0f}"


def _rounded_down(epsilon: Fraction) -> Fraction:
    """At most three digits, which a person can type, and never more than it was."""
    if epsilon == 0:
        return epsilon
    step = Fraction(10) ** (math.floor(math.log10(epsilon)) - 2)
    return epsilon // step * step


@st.fragment
def planner(left: Fraction | None, plan: Plan | None) -> None:
    """What each of many releases may cost; ``left`` is what the dataset's cap still allows, where there is one."""
    st.subheader("Plan ahead")
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    a_year = first.number_input("Releases a year", 1, 366, 4, key="planner_a_year")
    years = second.number_input("For how many years", 1, 100, 5, key="planner_years")
    typed = third.text_input(
        "Total ε",
        exact_text(left) if left else "4",
        key="planner_total",
        help="The most that all of them together may tell about a person. Starts from what is left under the cap.",
    )
    delta = DELTAS[fourth.selectbox("δ, for rules that need one", list(DELTAS), index=1, key="planner_delta")]
    times = a_year * years
    try:
        total = rational(typed, "ε")
        each = {rule: allowance(rule, total, times, delta) for rule in Rule}
    except (ValueError, PlanError) as error:
        st.warning(plain(str(error)), icon=":material/edit:")
        return
    _said(times, total, each)
    _pictured(times, total, delta)
    _listed(times, total, delta, each)
    _meaning(total, each[Rule.BASIC])
    usable = _rounded_down(each[Rule.BASIC])
    if plan is not None and usable != plan.epsilon:
        text = exact_text(usable)
        if st.button(f"Use ε = {text} in my plan", key="planner_adopt", icon=":material/edit_note:"):
            session.change(epsilon=text)
            st.switch_page("pages/publish.py")
    with st.expander("How costs add up", icon=":material/school:"):
        st.markdown(CURIOUS)


def _said(times: int, total: Fraction, each: dict[Rule, Fraction]) -> None:
    price = exact_text(_rounded_down(each[Rule.BASIC]))
    line = f"**{plural(times, 'release')} within ε = {exact_text(total)} in all: each may cost ε = {price}**"
    best = max(each, key=lambda rule: each[rule])
    if best is not Rule.BASIC:
        line += f" This ledger adds up; one that allows a δ could spend {_of(each[best])} on each, by {NAMES[best]}."
    st.markdown(line)


def _of(epsilon: Fraction) -> str:
    return f"ε = {exact_text(_rounded_down(epsilon))}"


def _pictured(times: int, total: Fraction, delta: Fraction) -> None:
    counts = sorted({1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, MOST, times})
    rows = pd.DataFrame({"releases": counts})
    colours, figure = tones(), go.Figure()
    looks = {
        Rule.BASIC: (colours["accent"], "solid", "circle"),
        Rule.ADVANCED: (colours["grey"], "dot", "diamond"),
        Rule.ZCDP: (colours["other"], "dash", "square"),
    }
    for rule, (colour, dash, symbol) in looks.items():
        rows[NAMES[rule]] = [float(allowance(rule, total, count, delta)) for count in counts]
        figure.add_scatter(
            x=counts,
            y=rows[NAMES[rule]].where(rows[NAMES[rule]] > 0).tolist(),
            name=NAMES[rule],
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2.2},
            marker={"symbol": symbol, "size": 6},
            hovertemplate="%{x:,} releases: ε = %{y:.3~g} each<extra>" + NAMES[rule] + "</extra>",
        )
    figure.add_vline(x=times, line={"color": colours["grey"], "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text="number of releases", type="log", dtick=1, tickformat=",~g")
    figure.update_yaxes(title_text="ε that each may cost", type="log", dtick=1, tickformat="~g")
    draw(figure, f"What each release may cost, from 1 to {MOST:,} releases, by three rules.", "planner", 300)
    number = st.column_config.NumberColumn
    twin(rows, "planner", {name: number(name, format="%.4g") for name in NAMES.values()})


def _listed(times: int, total: Fraction, delta: Fraction, each: dict[Rule, Fraction]) -> None:
    rows = [
        {
            "rule": NAMES[rule],
            "each": float(price),
            "together": float(cost(rule, price, times, delta)),
            "odds": _factor(price),
            "sure": sure(posterior(0.5, price)),
            "promise": "certain" if rule is Rule.BASIC else "but for δ",
        }
        for rule, price in each.items()
    ]
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    columns = {
        "each": number("each may cost, ε", format="%.4g"),
        "together": number("all together, ε", format="%.6g"),
        "odds": text("one moves odds by up to", help="The factor e^ε on the odds that a person is in the data."),
        "sure": text("after one, 50 % sure becomes"),
        "promise": text("the total is"),
    }
    st.dataframe(rows, hide_index=True, column_config=columns, alt="What each release may cost, by three rules")


def _meaning(total: Fraction, each: Fraction) -> None:
    size = st.number_input(
        "A family or group of", 2, 1000, 4, key="planner_group", width=240,
        help="People whose being in the data stands or falls together.",
    )  # fmt: skip
    together, one = group(total, size), group(each, size)
    st.markdown(
        "All releases together move the odds that a person is in the data by a factor of at most "
        f"**{_factor(total)}**: from 50 % to **{sure(posterior(0.5, total))}**. For {size} people at once it is "
        f"{_factor(one)} for each release and {_factor(together)} for all: from 50 % to "
        f"{sure(posterior(0.5, together))}."
    )
