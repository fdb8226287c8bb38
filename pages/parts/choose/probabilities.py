"""The probability that each candidate is drawn: in numbers, at the chosen ε, and over all ε."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpengine.charts.style import escape, shorten
from dpengine.choose import Candidates, Mechanism, probabilities
from dpengine.exact import exactly
from dpengine.spec.wording import percent
from dpengine.translation.catalogue import _, number
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import add_line, draw, epsilon_axis, hatched, tones
from pages.parts.shared.wording import plain

__all__ = ["EPSILONS", "show_best", "show_probabilities"]

MAX_BARS = 40
MAX_LINES = 6
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross")
EPSILONS = rungs("0.01", "10")

Chances = dict[Mechanism, np.ndarray]  # the probability of each candidate, by the mechanism that draws


def show_best(candidates: Candidates, by_mechanism: Chances) -> None:
    """Show how often the best candidate is drawn, and how far below its score the drawn one is on average."""
    scores = np.array([float(score) for score in candidates.scores])
    best = scores == scores.max()
    lost = {each: float(scores.max() - chances @ scores) for each, chances in by_mechanism.items()}
    with st.grid(2, min_column_width=150):
        chance = float(by_mechanism[candidates.mechanism][best].sum())
        st.metric(
            _("The best is drawn"),
            percent(chance),
            border=True,
            help=_("Any of the best, if several have the highest score."),
        )
        st.metric(
            _("Falls short by"), number(lost[candidates.mechanism], ",.3g"), border=True,
            help=_("How far the drawn candidate's score lies below the best score, on average."),
        )  # fmt: skip
    shortfalls = ", ".join(f"{_(each.value)} {number(short, ',.3g')}" for each, short in lost.items())
    st.caption(_("Average shortfall by mechanism: {shortfalls}", shortfalls=shortfalls))


def show_probabilities(candidates: Candidates, by_mechanism: Chances, *, private: bool) -> None:
    """Draw the probabilities of both mechanisms at this ε, and of the chosen one over all ε.

    Those of `private` scores are saved nowhere.
    """
    order = sorted(range(len(candidates.names)), key=lambda k: (-candidates.scores[k], k))
    _show_now(candidates, by_mechanism, order, private=private)
    _show_over_epsilon(candidates, order, private=private)


def _show_now(candidates: Candidates, by_mechanism: Chances, order: list[int], *, private: bool) -> None:
    """Draw the probability of each candidate at the chosen ε; `order` has the places of candidates, the best first."""
    names = list(candidates.names)
    line = _(
        "At ε = {epsilon}, {candidate} is drawn {chance} of the time",
        epsilon=exactly(candidates.epsilon),
        candidate=plain(names[order[0]]),
        chance=percent(float(by_mechanism[candidates.mechanism][order[0]])),
    )
    st.markdown(f"**{line}**")
    largest = sorted(order[:MAX_BARS])
    shown = {each: chances[largest] for each, chances in by_mechanism.items()}
    alt = _("{line}; both mechanisms side by side.", line=line)
    draw(_likely_figure([names[k] for k in largest], shown), alt, "choose-likely", 300, private=private)
    if len(largest) < len(names):
        st.caption(
            _("The {n} of {candidates} candidates that score highest.", n=len(largest), candidates=number(len(names)))
        )
    frame = pd.DataFrame({"candidate": names, "score": [float(score) for score in candidates.scores]})
    for each, chances in by_mechanism.items():
        frame[each.value] = chances
    column = st.column_config.NumberColumn
    config: dict[str, Any] = {each.value: column(_(each.value), format="percent") for each in by_mechanism}
    config |= {"candidate": _("candidate"), "score": column(_("score"), format="%g")}
    twin(frame, "choose-likely", config, private=private)


def _show_over_epsilon(candidates: Candidates, order: list[int], *, private: bool) -> None:
    """Draw the probability of each of the best candidates over all ε."""
    names = [candidates.names[k] for k in order]
    st.markdown(_("**Probability of each over ε, by {mechanism}**", mechanism=_(candidates.mechanism.value)))
    chances = np.array([probabilities(candidates.at(each)) for each in EPSILONS])
    rows = pd.DataFrame(chances[:, order], columns=names)
    rows.insert(0, "epsilon", [float(each) for each in EPSILONS])
    alt = _(
        "At small ε all are nearly equally likely; at large ε it is nearly always {candidate}.",
        candidate=plain(names[0]),
    )
    figure = _over_epsilon_figure(rows, names[:MAX_LINES], float(candidates.epsilon))
    draw(figure, alt, "choose-over-epsilon", 320, private=private)
    column = st.column_config.NumberColumn
    columns = {name: column(name, format="percent") for name in names}
    columns["epsilon"] = column("ε", format="%g")
    twin(rows, "choose-over-epsilon", columns, private=private)


def _likely_figure(names: list[str], both: Chances) -> go.Figure:
    """Draw the probability of each candidate in the given order, as one bar for each mechanism."""
    colours = tones()
    looks = {Mechanism.PERMUTE_AND_FLIP: (colours["accent"], ""), Mechanism.EXPONENTIAL: (colours["other"], "/")}
    labels = [escape(name) for name in shorten(names)]
    figure = go.Figure()
    for mechanism, chances in both.items():
        colour, pattern = looks[mechanism]
        method = _(mechanism.value)
        figure.add_bar(
            x=labels,
            y=chances.tolist(),
            name=method,
            marker=hatched(colour, pattern),
            hovertemplate="%{x}: %{y:.1%}<extra>" + method + "</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.25)
    figure.update_xaxes(title_text=_("candidate"), type="category")
    figure.update_yaxes(title_text=_("probability of being drawn"), tickformat=".0%", rangemode="tozero")
    return figure


def _over_epsilon_figure(rows: pd.DataFrame, best: list[str], epsilon: float) -> go.Figure:
    """Draw the probability over ε of the candidates in `best`; the first, which scores highest, in the accent."""
    colours = tones()
    figure = go.Figure()
    for k, (name, label) in enumerate(zip(best, shorten(best), strict=True)):
        colour, width = (colours["accent"], 2.5) if k == 0 else (colours["grey"], 1.6)
        add_line(
            figure, rows["epsilon"], rows[name], escape(label), "ε = %{x:g}: %{y:.1%}",
            colour=colour, dash=DASHES[k], width=width, symbol=SYMBOLS[k], size=5,
        )  # fmt: skip
    epsilon_axis(figure, epsilon, right=_("sharper"))
    figure.update_yaxes(title_text=_("probability of being drawn"), tickformat=".0%", range=[-0.02, 1.02])
    return figure
