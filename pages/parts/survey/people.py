"""Respondents of the Survey lab: made-up people, or those of a sample or of the visitor's own table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import streamlit as st

from dpengine import Plan, PrivateReleaseError, open_table, owner
from dpengine.array_types import Ints
from dpengine.lessons.survey import made_up_counts, scaled_counts
from dpengine.sources.table import Table
from dpengine.spec.wording import shown_labels
from dpengine.translation.catalogue import _, mark, number
from pages.parts.server.jobs import Progress
from pages.parts.shared.choices import choose_one
from pages.parts.visit import background_read
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.samples import DATA
from pages.parts.visit.state import visit

__all__ = ["People", "choose_people", "made_up_like"]

MADE_UP, OWN = mark("Made-up people"), mark("Your table")
SAMPLES = {mark("Census"): "census.parquet", mark("Health insurance"): "rand.csv.gz"}
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MAX_ANSWERS, MAX_PEOPLE = 100, 10**6


@dataclass(frozen=True, slots=True)
class People:
    """A question, its answers, and how many people give each answer; `name` identifies all of this in the session."""

    name: tuple[str, ...]
    question: str
    labels: tuple[str, ...]
    counts: Ints
    private: bool = False

    @property
    def size(self) -> int:
        """Number of people."""
        return int(self.counts.sum())


def choose_people() -> People | None:
    """Show the controls to choose the people who are asked, and return them; None if there are none."""
    possible = visit().table is not None and visit().plan is not None
    kinds = [MADE_UP, *SAMPLES, *([OWN] if possible else [])]
    kind = choose_one(_("Who is asked"), kinds, "survey_who")
    if kind == MADE_UP:
        return _choose_made_up()
    try:
        return _choose_own() if kind == OWN else _choose_sample(kind)
    except PrivateReleaseError as refused:
        st.warning(all_faults(refused), icon=":material/edit:")
        return None


def made_up_like(respondents: People) -> People:
    """Return about as many made-up people with as many answers, for views that need no private data."""
    size = min(SIZES, key=lambda size: abs(math.log(size / respondents.size)))
    return _made_up_people(len(respondents.labels), size)


def _choose_made_up() -> People:
    left, right = st.columns(2, vertical_alignment="bottom")
    size = left.select_slider(_("How many people"), SIZES, value=10_000, format_func=number, key="survey_people")
    answers = right.number_input(
        _("Answers to choose from"), min_value=2, max_value=MAX_ANSWERS, value=8, step=1, key="survey_answers"
    )
    return _made_up_people(int(answers), size)


def _made_up_people(answers: int, size: int) -> People:
    several = tuple(_("answer {k}", k=k) for k in range(1, answers + 1))
    labels = (_("no"), _("yes")) if answers == 2 else several
    return People((MADE_UP, str(answers), str(size)), _("A made-up question"), labels, made_up_counts(answers, size))


def _choose_sample(kind: str) -> People:
    plan = Plan.load(DATA / f"{SAMPLES[kind].partition('.')[0]}.plan.yaml")
    column = st.selectbox(_("The question"), _askable(plan), key=f"survey_column_{kind}")

    def count() -> Ints:
        with open_table(DATA / SAMPLES[kind]) as table:
            return _count(table, plan, column)

    counts = visit().once(f"survey-{kind}", column, count)
    return People((kind, column), column, shown_labels(plan.column(column)), counts)


def _choose_own() -> People | None:
    """Count a column of the owner's table, for the owner's eyes only."""
    table, plan = visit().table, visit().plan
    if table is None or plan is None:
        return None
    if not (names := _askable(plan)):
        st.caption(_("No column of your plan has from 2 to {most} cells.", most=MAX_ANSWERS))
        return None
    column = st.selectbox(_("The question"), names, key=visit().key("survey_column"))
    key = visit().key("survey_own")
    counts = background_read.read(
        "survey", lambda progress: _count(table, plan, column, progress), table, question=(column, plan.column(column))
    )
    if counts is None:
        return None
    if counts.sum() > MAX_PEOPLE:
        counts = scaled_counts(counts, MAX_PEOPLE)
        st.caption(_("Scaled down to {people} people.", people=number(MAX_PEOPLE)))
    return People((OWN, key, column, plan.model_dump_json()), column, shown_labels(plan.column(column)), counts, True)


def _askable(plan: Plan) -> list[str]:
    return [name for name in sorted(plan.used) if 2 <= plan.column(name).size <= MAX_ANSWERS]


def _count(table: Table, plan: Plan, column: str, progress: Progress | None = None) -> Ints:
    """Count the rows by their value of `column`; each row answers once."""
    part = None if progress is None else partial(progress, "counting")
    counts = owner.rows_by_cell(table, [plan.column(column)], part)[column]
    return scaled_counts(counts, int(counts.sum()))
