"""Learn lab: follow experts round by round and do nearly as well as the best, while revealing little of any round."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.errors import TableError
from dpengine.exact import exact_text, exactly
from dpengine.lessons.market import Market, read_losses, share_prices, simulated_market
from dpengine.mechanisms.online_learning import (
    average_regret,
    best_expert,
    expected_loss,
    free_rate,
    on_grid,
    regret_bound,
)
from dpengine.translation.catalogue import _, mark, number
from pages.parts.learn.charts import end_figure, time_figure
from pages.parts.learn.runs import NO_PRIVACY, RATES, Run, after_rounds, named, over_epsilon, rate, run, thinned
from pages.parts.shared.choices import choose_one
from pages.parts.shared.code.show import show_code
from pages.parts.shared.data_twin import twin
from pages.parts.shared.demo import file_box
from pages.parts.shared.epsilon_ladder import DELTAS, coarse
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import require_entry, visit

SIMULATED, SHARES, OWN = mark("Simulated market"), mark("Six shares, 2018–19"), mark("My own table")
MARKETS: dict[str, Callable[[], Market]] = {SIMULATED: simulated_market, SHARES: share_prices}
CHOICES = coarse("0.1", "30")

CURIOUS = mark(r"""
**The learner.** In round $t$, expert $i$ of $k$ is picked with probability proportional to $e^{-\eta L_i}$, where
$L_i$ is the sum of its earlier losses; every loss lies in $[0, 1]$. This is randomized weighted majority (Littlestone
and Warmuth 1994). Whatever the losses, even if an adversary chooses them, its average loss over $T$ rounds is expected
to be at most $\eta + \ln k / (\eta T)$ above that of the best expert. At $\eta = \sqrt{\ln k / T}$ this is
$2\sqrt{\ln k / T}$, which goes to 0.

**What is private.** Neighbouring tables differ in all losses of one round. The sequence of picks may be published.
Each pick is the exponential mechanism, $2\eta$-differentially private for every earlier round.

**How $\eta$ follows from $(\varepsilon, \delta)$.** By advanced composition $\eta = \varepsilon / \sqrt{32\,T
\ln(1/\delta)}$ (Dwork and Roth 2014, Section 11.2), where $\varepsilon$ is not large. By zero-concentrated
privacy each pick costs $\rho = \eta^2/2$ (Bun and Steinke 2016; Cesar and Rogers 2021), so $\eta = \sqrt{2\rho/T}$
with $\rho + 2\sqrt{\rho \ln(1/\delta)} = \varepsilon$. That $\eta$ is about four times as large, so privacy adds about
a quarter of the regret. An $\eta$ above $\sqrt{\ln k / T}$ would help nobody, and is not used.

**Follow the leader** always picks the expert with the smallest loss so far. It protects nothing, and it can be
exploited: if the leader is always the next to lose, it loses every round.

**Exact.** Losses are kept in millionths, sums are whole numbers, and each pick is drawn with its exact probability
from random bits of the operating system. The market has a seed, so it is the same for everybody; the picks have none.
""")


def choose_market() -> tuple[str, Market] | None:
    """Return the market to learn from and the name that identifies it in this session; None if none is chosen yet."""
    kind = choose_one(_("Experts to learn from"), [*MARKETS, OWN], "learn_kind")
    if kind != OWN:
        return kind, MARKETS[kind]()
    file = file_box(
        _("Table of losses"),
        type="csv",
        key="learn_file",
        help=_(
            "CSV with a header: one column for each expert, one row for each round, every loss from 0 (best) to 1 "
            "(worst), scaled by limits that are public. A first column of dates or names is left out."
        ),
    )
    if file is None:
        st.caption(
            _("Losses from 0 to 1, one column for each expert and one row for each round. The file is not stored.")
        )
        return None
    content = file.getvalue()
    try:
        own_market = read_losses(content)
        on_grid(own_market.losses)
    except TableError as refused:
        st.warning(all_faults(refused), icon=":material/edit:")
        return None
    return hashlib.sha256(content).hexdigest(), own_market


def choose_settings() -> tuple[list[Fraction], str, Fraction]:
    """Return the values of ε, the rule for the learning rate, and δ."""
    left, middle, right = st.columns([3, 2, 1], gap="large", vertical_alignment="bottom")
    epsilons = left.pills(
        _("Privacy budget ε of the whole sequence of picks"),
        CHOICES,
        default=[Fraction(1, 10), Fraction(1), Fraction(10)],
        selection_mode="multi",
        format_func=exactly,
        key="learn_epsilons",
        help=term("regret", _("Left: more private. Right: less regret. Each chosen ε is a line in the figure.")),
    )
    rule = middle.segmented_control(
        _("Learning rate"), list(RATES), default=next(iter(RATES)), required=True, key="learn_rate", format_func=_,
        help=_("How the rate η is computed from ε and δ; see For the curious."),
    )  # fmt: skip
    delta = right.selectbox("δ", list(DELTAS), index=1, key="learn_delta", help=term("delta"))
    return sorted(epsilons), rule, DELTAS[delta]


def show_numbers_of_run(runs: list[Run], chosen: Market, lowest: float) -> None:
    """Show the average loss of the best expert and of every learner but the leader's followers."""
    best = plain(chosen.names[best_expert(on_grid(chosen.losses))])
    with st.grid(4, min_column_width=140):
        note = _("{expert}, on average; known only afterwards.", expert=best)
        st.metric(_("Best expert loses"), number(lowest, ".3f"), border=True, help=note)
        for each in sorted(runs, key=lambda one: one.name != NO_PRIVACY):
            if each.eta is not None:
                label, regret = _("Learner, {name}", name=named(each.name)), float(each.regret[-1])
                st.metric(label, number(each.loss, ".3f"), number(regret, "+.3f"), "inverse", border=True)


def show_run(name: str, chosen: Market, epsilons: list[Fraction], rule: str, delta: Fraction) -> None:
    """Show one run of every learner; it stays until the visitor asks for another."""
    private, shape = name not in MARKETS, chosen.losses.shape
    inputs = (name, tuple(epsilons), rule, delta, visit().renewals("learn"))
    runs = visit().once("learn", inputs, lambda: run(chosen.losses, rule, delta, epsilons))
    show_numbers_of_run(runs, chosen, float(chosen.losses.mean(axis=0).min()))
    unproved = [each for each in epsilons if rate(rule, each, delta, chosen.losses) is None]
    if unproved:
        st.caption(
            _(
                "There is no proven rate {rule} at ε = {epsilons}. Use zCDP, or a smaller ε.",
                rule=_(rule),
                epsilons="; ".join(map(exactly, unproved)),
            )
        )
    rows = thinned(runs)
    draw_run(runs, rows, chosen, private=private)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Run it again"), icon=":material/replay:", key="learn_again", on_click=visit().renew, args=("learn",)
        )
        st.caption(_("New draws each time; the table stays the same."), width="content")
    with st.container(key="private-learners" if private else "learners"):
        list_learners(runs, shape)
    st.caption(
        _(
            "*Follow the leader* does well where one expert is soon clearly the best. But its regret has no bound: "
            "whoever knows its rule can make it lose every round. And it protects no round: each pick shows who leads."
        )
    )
    column = st.column_config.NumberColumn
    columns = {each: column(named(each), format="%.4f") for each in rows.columns[1:]}
    columns["round"] = column(_(chosen.round), format="%,d")
    twin(rows, "learn-time", columns, private=private)


def draw_run(runs: list[Run], rows: pd.DataFrame, chosen: Market, *, private: bool) -> None:
    """Draw the regret of every learner over time, which `rows` hold; a `private` figure cannot be saved."""
    shape = chosen.losses.shape
    learners = [each for each in runs if each.name.startswith("ε")]
    ends = [f"{named(each.name)}: {number(float(each.regret[-1]), '.3f')}".replace("-", "−") for each in learners]
    results = "; ".join(each.replace(" ", "\u00a0") for each in ends) or _("no private learner chosen")
    after = after_rounds(chosen.round, shape[0])
    st.markdown(_("**Regret {after}, in this run: {results}**", after=after, results=results))
    figure = time_figure(rows, chosen.round, regret_bound(free_rate(*shape), *shape))
    draw(figure, _("Average regret over time. {results}.", results=results), "learn-time", 380, private=private)


def list_learners(runs: list[Run], shape: tuple[int, int]) -> None:
    """Show the learners with their rate, loss, regret and the proven bound on it."""
    table = pd.DataFrame(
        {
            "learner": [named(each.name) for each in runs],
            "eta": ["—" if each.eta is None else number(float(each.eta), ".3g") for each in runs],
            "loss": [each.loss for each in runs],
            "regret": [float(each.regret[-1]) for each in runs],
            "bound": ["—" if each.eta is None else number(regret_bound(each.eta, *shape), ".3f") for each in runs],
        }
    )
    column, text = st.column_config.NumberColumn, st.column_config.TextColumn
    columns = {
        "learner": text(_("learner")),
        "eta": text(_("rate η"), alignment="right"),
        "loss": column(_("average loss"), format="%.4f"),
        "regret": column(_("regret"), format="%.4f"),
        "bound": text(
            _("bound on regret"),
            alignment="right",
            help=_("On expected regret, for every table. A bound of 1 or more says nothing."),
        ),
    }
    show_numbers(table, columns, alt=_("Learners with their rate, loss, regret and bound"))


def show_over_epsilon(chosen: Market, epsilons: list[Fraction], rule: str, delta: Fraction, *, private: bool) -> None:
    """Show the expected regret after the last round over ε."""
    rows = over_epsilon(chosen.losses, rule, delta)
    steps = on_grid(chosen.losses)
    free = float(average_regret(steps, expected_loss(steps, free_rate(*steps.shape)))[-1])
    after = after_rounds(chosen.round, len(steps))
    st.markdown(_("**What ε costs: expected regret {after}**", after=after))
    first, last = rows.iloc[0], rows.iloc[-1]
    alt = _(
        "Expected regret is {first} at ε = {low} and {last} at ε = {high}, always below its bound; without privacy it "
        "is {free}.",
        first=number(first["expected"], ".3f"),
        low=number(first["epsilon"], "g"),
        last=number(last["expected"], ".3f"),
        high=number(last["epsilon"], "g"),
        free=number(free, ".3f"),
    )
    draw(end_figure(rows, free, [float(each) for each in epsilons]), alt, "learn-end", 320, private=private)
    column = st.column_config.NumberColumn
    columns = {
        "epsilon": column("ε", format="%g"),
        "eta": column(_("rate η"), format="%.3g"),
        "expected": column(_("expected"), format="%.4f"),
        "bound": column(_("bound"), format="%.4f"),
    }
    twin(rows, "learn-end", columns, private=private)


@st.fragment
def lab() -> None:
    """Show learners of the chosen market."""
    known = choose_market()
    if known is None:
        return
    name, chosen = known
    st.markdown(plain(chosen.story))
    epsilons, rule, delta = choose_settings()
    show_run(name, chosen, epsilons, rule, delta)
    show_over_epsilon(chosen, epsilons, rule, delta, private=name not in MARKETS)
    if name in MARKETS:
        show_code(
            "learn",
            lambda: {
                "market": MARKETS[name].__name__,
                "rate": RATES[rule].__name__,
                "epsilons": [
                    exact_text(each) for each in epsilons if rate(rule, each, delta, chosen.losses) is not None
                ],
                "delta": exact_text(delta),
            },
        )


require_entry()
st.title(_("Learn"))
st.markdown(
    _(
        "Each day, follow one of several experts. Learn whom to trust, without your choices revealing what happened on "
        "any single day. *Regret* is how much more a learner loses per day, on average, than the best expert."
    )
)
st.caption(
    _(
        "A demonstration: nothing is charged, since nothing leaves this page. Losses and regret are as private as the "
        "table; only the choices of expert could be published."
    )
)
lab()
with st.expander(_("For the curious"), icon=":material/school:"):
    st.markdown(_(CURIOUS))
st.markdown(
    _(
        "**What this means for your release.** Many small answers add up. A private learner pays a little ε every "
        "round, so it has to learn slowly. Over thousands of rounds that costs little; in a hundred rounds it can "
        "learn almost nothing. One release that answers all questions at once is often the better choice."
    )
)
st.page_link("pages/budget.py", label=_("Plan releases over years"), icon=":material/account_balance_wallet:")
