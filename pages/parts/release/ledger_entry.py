"""Entries of the ledger other than releases of tables: answers to questions, and choices."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpengine import choose, mechanism
from dpengine.accounting.entry import Kind
from dpengine.charts.style import escape, shorten, whiskers
from dpengine.choose import Drawn
from dpengine.exact import exactly
from dpengine.results.answer import Answer
from dpengine.results.answer import reopen as reopen_answer
from dpengine.results.answer_wording import answer_interval, answer_value, group_rows, root_words
from dpengine.spec.query import Variance
from dpengine.translation.catalogue import _, day, number
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw, tones
from pages.parts.shared.wording import plain

__all__ = ["show_answer", "show_drawn", "show_entry"]

ASK = "pages/ask.py"
ROW, MAX_HEIGHT = 26, 1400  # pixels for each group of an answer, and of a figure of many


def show_entry(kind: Kind, payload: bytes) -> None:
    """Show a stored answer, a choice, or the result of a mechanism that a user added; all may be published."""
    if kind is Kind.MECHANISM:
        result = mechanism.reopen(payload)
        with st.container(border=True):
            st.markdown(_("What the mechanism {name} gave", name=f"**{plain(result.mechanism)}**"))
            st.json(result.value)
        return
    if kind is Kind.CHOICE:
        with st.container(border=True):
            show_drawn(choose.reopen(payload))
        return
    answer = reopen_answer(payload)
    show_answer(answer)
    st.page_link(ASK, label=_("Open on Ask"), icon=":material/open_in_new:", query_params={"answer": answer.answer_id})


def show_answer(answer: Answer, key: str = "answer") -> None:
    """Show an answer, which may be published; `key` distinguishes places on one page."""
    with st.container(border=True):
        st.markdown(_sentence(answer))
        if answer.question.by:
            _show_groups(answer, key)
        st.caption(
            _(
                "Paid once and stored: asking again costs nothing. It may be published. Answered on {day}, ledger "
                "entry {entry}.",
                day=day(answer.created[:10]),
                entry=answer.answer_id,
            )
        )


def _sentence(answer: Answer) -> str:
    """Return an answer as a sentence, for Markdown."""
    what, statistic = plain(answer.question.in_words), answer.question.statistic
    value, price = plain(answer_value(answer, statistic)), exactly(answer.question.epsilon)
    between = plain(answer_interval(answer, statistic))
    if answer.question.by:
        return _("The {what}, in **{value}**; ε = {price}.", what=what, value=value, price=price)
    if answer.low is None:
        return _(
            "The {what}: **{value}**, with 95 % probability {between} of the best; ε = {price}.",
            what=what,
            value=value,
            between=between,
            price=price,
        )
    if isinstance(statistic, Variance):
        between += f", {plain(root_words(answer))}"
    return _(
        "The {what}: **{value}**, 95 % interval {between}; ε = {price}.",
        what=what,
        value=value,
        between=between,
        price=price,
    )


def _show_groups(answer: Answer, key: str) -> None:
    """Draw the groups of an answer as dots with their intervals, and show these as a table that can be downloaded."""
    rows = group_rows(answer)
    labels = [escape(text) for text in shorten([", ".join(group.labels) for group in answer.groups])]
    frame = pd.DataFrame(rows)
    value, low, high = (frame[name].astype(float) for name in ("value", "low", "high"))
    tone = tones()
    figure = go.Figure(
        go.Scatter(
            x=value,
            y=labels,
            mode="markers",
            marker={"color": tone["accent"], "size": 9},
            error_x=whiskers(value, low.clip(upper=value), high.clip(lower=value), tone["grey"], thickness=1.8),
            hovertemplate="%{y}: %{x:,}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(title=escape(answer.question.in_words))
    alt = _("The answer for each of {n} groups, as dots with their 95 % intervals", n=len(rows))
    draw(figure, alt, f"groups-{key}", height=min(MAX_HEIGHT, 110 + ROW * len(rows)))
    columns = {name: st.column_config.NumberColumn(label, format="%.6g") for name, label in {
        "value": _("answer"), "low": _("95 %: from"), "high": _("95 %: to")}.items()}  # fmt: skip
    twin(frame, f"groups-{key}", columns)


def show_drawn(drawn: Drawn) -> None:
    """Show the drawn candidate, which may be published."""
    if drawn.question:
        st.markdown(plain(_(drawn.question)))
    st.markdown(f"### {plain(drawn.name)}")
    st.caption(
        _(
            "Drawn by {mechanism} at ε = {epsilon} from {candidates} candidates on {day}. It may be published. Ledger "
            "entry {entry}.",
            mechanism=_(drawn.mechanism.value),
            epsilon=exactly(drawn.epsilon),
            candidates=number(len(drawn.names)),
            day=day(drawn.created[:10]),
            entry=drawn.release_id,
        )
    )
