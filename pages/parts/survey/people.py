"""Who answers in the Survey lab: made-up people, a column of a sample, or one of the visitor's own table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import streamlit as st

from dpengine import Plan, PrivateReleaseError, open_table, owner
from dpengine.lessons.survey import made_up_counts, scaled_counts
from dpengine.sources.table import Table
from pages.parts.server.jobs import Progress
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["People", "choose_people", "stand_in"]

DATA = Path(__file__).parents[3] / "data"
MADE_UP, OWN = "Made-up people", "Your table"
SAMPLES = {"Census": "census.parquet", "Health insurance": "rand.csv.gz"}
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MAX_ANSWERS, MAX_PEOPLE = 100, 10**6


@dataclass(frozen=True, slots=True)
class People:
    """A question, its answers and how many people have which; ``name`` tells it from others in this session."""

    name: tuple[str, ...]
    question: str
    labels: tuple[str, ...]
    counts: np.ndarray
    private: bool = False

    @property
    def size(self) -> int:
        return int(self.counts.sum())


def choose_people() -> People | None:
    """The people who are asked, with the controls to choose them; None where that cannot be."""
    own = visit().table is not None and visit().plan is not None
    kinds = [MADE_UP, *SAMPLES, *([OWN] if own else [])]
    kind = st.segmented_control("Who is asked", kinds, default=MADE_UP, required=True, key="survey_who")
    if kind == MADE_UP:
        return _made_up()
    try:
        return _of_own() if kind == OWN else _of_sample(kind)
    except PrivateReleaseError as refused:
        st.warning(plain(" ".join(map(str, refused.faults))), icon=":material/edit:")
        return None


def stand_in(asked: People) -> People:
    """Made-up people, about as many and with as many answers, for views that need not know private ones."""
    size = min(SIZES, key=lambda size: abs(math.log(size / asked.size)))
    return _invented(len(asked.labels), size)


def _made_up() -> People:
    left, right = st.columns(2, vertical_alignment="bottom")
    size = left.select_slider(
        "How many people", SIZES, value=10_000, format_func=lambda people: f"{people:,}", key="survey_people"
    )
    answers = right.number_input(
        "Answers to choose from", min_value=2, max_value=MAX_ANSWERS, value=8, step=1, key="survey_answers"
    )
    return _invented(int(answers), size)


def _invented(answers: int, size: int) -> People:
    labels = ("no", "yes") if answers == 2 else tuple(f"answer {k}" for k in range(1, answers + 1))
    return People((MADE_UP, str(answers), str(size)), "A made-up question", labels, made_up_counts(answers, size))


def _of_sample(kind: str) -> People:
    plan = Plan.load(DATA / f"{SAMPLES[kind].partition('.')[0]}.plan.yaml")
    column = st.selectbox("The question", _askable(plan), key=f"survey_column_{kind}")
    known: dict[tuple[str, str], np.ndarray] = st.session_state.setdefault("survey_counts", {})
    if (kind, column) not in known:
        with open_table(DATA / SAMPLES[kind]) as table:
            known[kind, column] = _counted(table, plan, column)
    return People((kind, column), column, tuple(plan.column(column).labels), known[kind, column])


def _of_own() -> People | None:
    """The owner's own column: added up here, and for the owner's eyes only."""
    table, plan = visit().table, visit().plan
    if table is None or plan is None:
        return None
    if not (names := _askable(plan)):
        st.caption(f"No column of your plan has from 2 to {MAX_ANSWERS} cells.")
        return None
    column = st.selectbox("The question", names, key=visit().key("survey_column"))
    key = visit().key("survey_own")
    counts = background_read.read(
        "survey", lambda tell: _counted(table, plan, column, tell), table, question=(column, plan.column(column))
    )
    if counts is None:
        return None
    if counts.sum() > MAX_PEOPLE:
        counts = scaled_counts(counts, MAX_PEOPLE)
        st.caption(f"Scaled down to {MAX_PEOPLE:,} people.")
    return People((OWN, key, column, plan.model_dump_json()), column, tuple(plan.column(column).labels), counts, True)


def _askable(plan: Plan) -> list[str]:
    return [name for name in sorted(plan.used) if 2 <= plan.column(name).size <= MAX_ANSWERS]


def _counted(table: Table, plan: Plan, column: str, tell: Progress | None = None) -> np.ndarray:
    """Each row answers once."""
    part = None if tell is None else partial(tell, "counting")
    counts = owner.rows_by_cell(table, [plan.column(column)], part)[column]
    return scaled_counts(counts, int(counts.sum()))
