"""Ask: what was answered, to read again and take along, and what one release in place of it would have cost."""

from __future__ import annotations

import json

import pandas as pd
import streamlit as st

from dpengine.ask import history
from dpengine.exact import exact_text
from dpengine.results.answer import Answer
from dpengine.results.batch_pricing import Batch, price_batch
from dpengine.safe_csv import guard
from pages.parts.ask.wording import interval, shown, told
from pages.parts.shared.wording import name_of, plain, plural
from pages.parts.visit.state import visit

__all__ = ["show_answer", "show_history"]


def show_answer(answer: Answer) -> None:
    """One answer, as it may be told to anyone."""
    with st.container(border=True):
        st.markdown(told(answer))
        st.caption(
            f"Paid once and kept: asking again costs nothing. Of {answer.created[:10]}, in the ledger as "
            f"{answer.answer_id}; it may be passed on."
        )


def show_history(dataset: str) -> None:
    """All answers on this account, the latest first."""
    answers = history(visit().ledger, dataset)
    if not answers:
        return
    st.subheader("Answers so far", anchor=False)
    frame = pd.DataFrame(
        {
            "when": [answer.created for answer in answers],
            "question": [answer.question.description for answer in answers],
            "answer": [shown(answer) for answer in answers],
            "95 %": [interval(answer) for answer in answers],
            "ε": [exact_text(answer.question.epsilon) for answer in answers],
        }
    )
    latest = frame.iloc[::-1].assign(when=pd.to_datetime(frame["when"], utc=True, format="ISO8601"))
    st.dataframe(
        latest,
        hide_index=True,
        alt="All answers, the latest first",
        column_config={
            "when": st.column_config.DatetimeColumn("when", format="YYYY-MM-DD HH:mm"),
            "question": st.column_config.TextColumn("question", width="large"),
            "95 %": st.column_config.TextColumn("95 %", help="Where the true number lies, in 95 of 100 such answers."),
        },
    )
    with st.container(horizontal=True):
        _download("CSV", _csv(answers), "text/csv")
        _download("JSON", _json(answers), "application/json")
    _instead(answers)


def _download(kind: str, content: str, mime: str) -> None:
    st.download_button(
        f"Answers as {kind}",
        content,
        f"answers.{kind.lower()}",
        mime,
        icon=":material/download:",
        on_click="ignore",
        key=f"ask_{kind.lower()}",
    )


def _rows(answers: list[Answer]) -> list[dict[str, str | None]]:
    return [
        {
            "created": answer.created,
            "question": answer.question.description,
            "answer": str(answer.value),
            "low": None if answer.low is None else str(answer.low),
            "high": None if answer.high is None else str(answer.high),
            "within": None if answer.reach is None else str(answer.reach),
            "epsilon": exact_text(answer.question.epsilon),
            "dataset": answer.question.dataset,
            "answer_id": answer.answer_id,
        }
        for answer in answers
    ]


def _csv(answers: list[Answer]) -> str:
    frame = pd.DataFrame(_rows(answers))
    labels = [isinstance(answer.value, str) for answer in answers]
    # A label that starts like a formula would be one in a spreadsheet; numbers may well start with a minus.
    for name, texts in (("question", [True] * len(answers)), ("answer", labels), ("dataset", [True] * len(answers))):
        frame[name] = [guard(cell) if is_text else cell for cell, is_text in zip(frame[name], texts, strict=True)]
    return frame.to_csv(index=False)


def _json(answers: list[Answer]) -> str:
    whole = [
        row | {"details": json.loads(answer.to_bytes())} for row, answer in zip(_rows(answers), answers, strict=True)
    ]
    return json.dumps(whole, ensure_ascii=False, indent=1)


def _instead(answers: list[Answer]) -> None:
    """Interactive against non-interactive: one by one, or all at once."""
    found: Batch | None = price_batch([answer.question for answer in answers])
    if found is None:
        return
    st.subheader("One by one, or all at once", anchor=False)
    price, tables = found.plan.epsilon, " and ".join(plain(name_of(table)) for table in found.plan.marginals)
    counts = plural(len(found.questions), "count")
    rest = len(answers) - len(found.questions)
    one_by_one, at_once = st.columns(2)
    one_by_one.metric(f"These {counts}, asked one by one", f"ε = {exact_text(found.apart)}", border=True)
    at_once.metric("One release that answers all of them", f"ε = {exact_text(price)}", border=True)
    if price < found.apart:
        said = (
            f"A release of {tables} holds every one of these {counts} at least as exactly, and all other cells as "
            "well. Noise is paid for once there, and what you ask of it later is free."
        )
    else:
        said = (
            f"A release of {tables} would need more to be as exact, for these questions add up many of its cells. "
            "For a few broad questions asking is the better way; for many, a release."
        )
    st.markdown(said)
    others = f" {plural(rest, 'other question')} of yours {'is' if rest == 1 else 'are'} no sum of cells, and left out."
    st.caption(f"From predicted errors alone, 95 % half-widths alike for each question.{others if rest else ''}")
