"""Reconstruction in the Attacks lab: it takes seconds, so it runs on request, in steps, and can be stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.lessons.reconstruction import METHODS, Reconstruction, least_squares, reconstruct
from dpengine.translation.catalogue import _, mark, number
from pages.parts.attacks.charts import ACROSS, people_figure, rates_figure
from pages.parts.attacks.outcome import DEFENCES, choose_defence, rate_columns, rate_rows, show_rates, verdict
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import OURS
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["reconstruction_tab"]

STORY = mark(
    "Take a list of people; who of them is in the register is secret. Ask how many of a random half of the list are in "
    "it, again and again with other halves, and solve for everybody at once. No question is about any one person."
)
ASKED, UNIT, MORE = mark("questions asked"), mark("questions"), mark("more questions do not help")
PEOPLE = (100, 500)
STEPS = {
    True: (0.25, 0.5, 2, 4, 8),
    False: (0.5, 1.5, 3),
}  # questions per person; fewer for linear programs, which are slow


@dataclass(slots=True)
class Run:
    """A run of the attack: its settings, the steps that remain, the results so far, and the fault that ended it."""

    settings: tuple[str, Fraction, int, str]
    left: list[tuple[str, int]]
    results: dict[str, dict[int, Reconstruction]] = field(default_factory=dict)
    fault: str = ""

    @property
    def steps(self) -> int:
        """Number of all steps, whether done or not."""
        return len(self.left) + sum(map(len, self.results.values()))


def reconstruction_tab() -> None:
    """Run the attack when asked, and show whom it found."""
    st.markdown(_(STORY), help=term("reconstruction"))
    name, epsilon = choose_defence()
    left, right = st.columns([3, 2], gap="large")
    method = left.selectbox(_("Solve by"), list(METHODS), format_func=_, key="attacks_method")
    people = right.segmented_control(_("People"), PEOPLE, default=500, required=True, key="attacks_people")
    settings = name, epsilon, int(people), method
    run: Run | None = visit().recall("reconstruction", settings)
    with st.container(horizontal=True, vertical_alignment="center"):
        label = _("Run the attack") if run is None else _("Run it again")
        st.button(
            label, type="primary", icon=":material/play_arrow:", key="attacks_run", on_click=_begin, args=(settings,)
        )
        st.caption(_("Least squares takes a few seconds, linear programs up to half a minute."), width="content")
    if run is None:
        st.caption(_("Nothing has been run with these settings yet."))
        return
    if run.left:
        _work(run)
    _show(run)


def _begin(settings: tuple[str, Fraction, int, str]) -> None:
    name, _epsilon, people, method = settings
    steps = STEPS[METHODS[method] is least_squares]
    left = [(each, round(step * people)) for step in steps for each in dict.fromkeys([name, OURS])]
    visit().keep("reconstruction", settings, Run(settings, left))


def _work(run: Run) -> None:
    """Run the remaining steps; a click of the visitor interrupts between two of them, and keeps the results so far."""
    _name, epsilon, people, method = run.settings
    total = run.steps
    place = st.empty()
    with place.container():
        bar = st.progress(0.0)
        st.button(_("Stop"), icon=":material/stop:", key="attacks_stop", on_click=run.left.clear)
    while run.left:
        name, questions = run.left[0]
        doing = _("{name}: {n} questions", name=_(name), n=number(questions))
        bar.progress(1 - len(run.left) / total, text=doing)
        try:
            reconstruction = reconstruct(DEFENCES[name](epsilon), people, questions, method=METHODS[method])
        except PlanError as timeout:
            run.fault = all_faults(timeout)
            run.left.clear()
            break
        run.results.setdefault(name, {})[questions] = reconstruction
        run.left[:1] = []
    place.empty()


def _show(run: Run) -> None:
    name, epsilon, _people, _method = run.settings
    if run.fault:
        st.warning(_("It stopped: {fault}.", fault=run.fault), icon=":material/timer_off:")
    if name not in run.results:
        st.caption(_("Stopped before anything was found."))
        return
    bound = posterior(0.5, epsilon)
    lines = {each: {k: one.rate for k, one in steps.items()} for each, steps in run.results.items()}
    show_rates(lines, bound, UNIT)
    line = verdict(name, lines[name], bound, UNIT, MORE)
    st.markdown(f"**{line}**")
    draw(rates_figure(lines, bound, _(ASKED)), line, "attacks-reconstruction", 380)
    for place, (k, (each, steps)) in zip(st.columns(len(run.results)), enumerate(run.results.items()), strict=True):
        with place:
            _show_people(each, steps, f"attacks-people-{k}")
    twin(rate_rows(lines, ASKED), "attacks-reconstruction", rate_columns(ASKED))


def _show_people(name: str, steps: dict[int, Reconstruction], key: str) -> None:
    """Show whom the attack on a defence guessed right from the most questions."""
    questions, last = list(steps.items())[-1]
    people = len(last.secret)
    title = _(
        "{name}: {right} of {people} people guessed right from {answers} answers",
        name=_(name),
        right=last.rate.successes,
        people=people,
        answers=number(questions),
    )
    st.markdown(f"**{title}**")
    draw(people_figure(last), title, key, 60 + 13 * people // ACROSS)
    rows = pd.DataFrame({"person": range(1, people + 1), "secret": last.secret, "guess": last.guess})
    box = st.column_config.CheckboxColumn
    columns = {
        "person": st.column_config.NumberColumn(_("person"), format="%,d"),
        "secret": box(_("in the register")),
        "guess": box(_("guessed to be in it")),
    }
    twin(rows, key, columns)
