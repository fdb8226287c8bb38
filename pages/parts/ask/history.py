"""Earlier answers on the Ask page: a list, files to download, and what one release of them all would have cost."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpengine.ask import history
from dpengine.exact import exact_text, exactly
from dpengine.results.answer import Answer, Group
from dpengine.results.answer_wording import answer_interval, answer_value
from dpengine.results.batch_pricing import Batch, price_batch
from dpengine.spec.wording import name_of
from dpengine.translation.catalogue import _, mark, plural
from pages.parts.shared.entries_table import offer_files, show_entries
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import ledger_faults_shown
from pages.parts.visit.state import visit

__all__ = ["as_rows", "show_history"]


@ledger_faults_shown()
def show_history(dataset: str) -> None:
    """List all answers about a dataset, the latest first."""
    answers = history(visit().ledger, dataset)
    if not answers:
        return
    st.header(_("Answers so far"), anchor=False)
    frame = pd.DataFrame(
        {
            "question": [answer.question.in_words for answer in answers],
            "answer": [answer_value(answer, answer.question.statistic) for answer in answers],
            "95 %": [answer_interval(answer, answer.question.statistic) for answer in answers],
            "ε": [exactly(answer.question.epsilon) for answer in answers],
            "when": [answer.created for answer in answers],  # last: a phone shows the first columns
        }
    )
    columns = {
        "question": st.column_config.TextColumn(_("question"), width="medium"),
        "answer": st.column_config.TextColumn(_("answer")),
        "95 %": st.column_config.TextColumn("95 %", help=_("This interval holds the true number, 95 times in 100.")),
    }
    show_entries(frame, _("All answers, the latest first"), columns)
    details = [json.loads(answer.to_bytes()) for answer in answers for _part in _parts(answer)]
    offer_files(mark("answers"), "answers", as_rows(answers), details=details)
    _compare_with_one_release(answers)


def as_rows(answers: list[Answer]) -> list[dict[str, str | None]]:
    """Return answers as rows of a file, with exact numbers."""
    return [
        {
            "created": answer.created,
            "question": answer.question.description,
            "group": ", ".join(part.labels) if isinstance(part, Group) else None,
            "answer": str(part.value),
            "low": None if part.low is None else str(part.low),
            "high": None if part.high is None else str(part.high),
            "within": None if answer.reach is None else str(answer.reach),
            "epsilon": exact_text(answer.question.epsilon),
            "dataset": answer.question.dataset,
            "answer_id": answer.answer_id,
        }
        for answer in answers
        for part in _parts(answer)
    ]


def _parts(answer: Answer) -> Sequence[Answer | Group]:
    return answer.groups or [answer]


def _compare_with_one_release(answers: list[Answer]) -> None:
    """Compare what the counting questions cost one by one with the price of one release that answers all of them."""
    batch: Batch | None = price_batch([answer.question for answer in answers])
    if batch is None:
        return
    st.header(_("One by one, or all at once"), anchor=False)
    price, tables = batch.plan.epsilon, _(" and ").join(plain(name_of(table)) for table in batch.plan.marginals)
    counts = plural("{n} count", "{n} counts", len(batch.questions))
    rest = len(answers) - len(batch.questions)
    one_by_one, at_once = st.columns(2)
    apart = _("These {counts}, asked one by one", counts=counts)
    one_by_one.metric(apart, f"ε = {exactly(batch.separate_cost)}", border=True)
    at_once.metric(_("One release that answers all of them"), f"ε = {exactly(price)}", border=True)
    if price < batch.separate_cost:
        st.markdown(
            _(
                "A release of {tables} gives all of these {counts} at least as exactly, and every other cell as well. "
                "You pay once, and whatever you ask of it later is free.",
                tables=tables,
                counts=counts,
            )
        )
    else:
        st.markdown(
            _(
                "A release of {tables} would cost more to be as exact, since these questions add up many of its cells. "
                "Asking is better for a few broad questions, a release for many.",
                tables=tables,
            )
        )
    text = _("From predicted errors, with the same 95 % half-width for each question.")
    if rest:
        text += plural(
            " Left out: {n} question that cannot be answered by adding up cells.",
            " Left out: {n} questions that cannot be answered by adding up cells.",
            rest,
        )
    st.caption(text)
