"""The right side of Publish: what the plan would publish of a made-up table, in which nothing is the owner's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import streamlit as st

from dpengine import Category, Plan, predict
from dpengine.charts import error_curve
from dpengine.charts.plain import lines_and_grids
from dpengine.exact import exactly
from dpengine.marginals.measurement import FoundKeys
from dpengine.results.alternatives import MockCells, predict_table
from dpengine.results.mock_table import ASSUMED_ROWS, listed_cells
from dpengine.results.preview import preview_table
from dpengine.results.published_columns import Measure
from dpengine.results.result import EXACT, Result
from dpengine.spec.categories.universe import Universe
from dpengine.spec.counted_wording import noun
from dpengine.spec.domain import plan_entry
from dpengine.spec.wording import heading_of, name_of, people
from dpengine.translation.catalogue import _, language, number
from pages.parts.publish.outlook import trial
from pages.parts.publish.outlook.measure_facts import measure_facts
from pages.parts.publish.rough_size import left_aside, rows_of_use
from pages.parts.release.chart import figure_with_choice, show_twin
from pages.parts.shared.data_twin import measured_columns, predicted_columns
from pages.parts.shared.figures import FigureOfDrawing, buttons, is_dark
from pages.parts.shared.glossary.help import term
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import plain, plain_name, rows_noun, with_headings
from pages.parts.visit.state import visit
from pages.parts.visit.strategy import is_adaptive
from pages.parts.visit.strategy_comparison import show_strategies

__all__ = ["as_findable", "findable_in_words", "in_words", "show_preview", "show_preview_so_far"]

FEW = 10_000  # cells of a made-up table up to which several tables are kept


def show_preview_so_far(plan: Plan | None) -> None:
    """Show a made-up release of what is declared so far; without a `plan`, say what is still to come."""
    with st.container(border=True):
        if plan is None:
            st.markdown(
                _("**What readers will see** is drawn here as soon as one column is declared, from made-up numbers.")
            )
            return
        redraw = _show_head(_("What readers will see, so far"))
        if not is_adaptive(plan):
            _show_figure(_previewed(plan, afresh=redraw))
        elif (drawn := trial.drawn(plan, _table_to_show(plan), afresh=redraw)) is not None:
            _show_figure(drawn[1])


def show_preview(plan: Plan, *, own: bool, curve: bool) -> None:
    """Show a made-up release, its error in words, and with `curve` a figure of the error over ε."""
    if is_adaptive(plan):
        _show_adaptive(plan, own=own)
        return
    with st.container(border=True):
        redraw = _show_head(_("What readers will see") if own else _("What a release looks like"))
        result = _previewed(plan, afresh=redraw)
        words = st.container()
        measure = _show_figure(result) if own else None
        if not own:
            _show_first(result)
        with words:
            st.markdown(in_words(plan), help=term("mostly-noise"))
    if not curve:
        return
    asked = trial.question_of(plan), measure
    numbers = visit().once("curve", asked, lambda: _curve(plan, measure), most=trial.KEPT)
    with st.container(border=True):
        if own:
            _show_curve(plan, numbers, measure)
        else:
            drawing = error_curve.curve_drawing(plan, numbers=numbers, dark=is_dark())
            st.html(lines_and_grids.curve(drawing, error_curve.error_curve_alt(plan, numbers)))
        folded = st.expander(_("The numbers"), icon=":material/table:", key="curve-numbers", on_change="rerun")
        if folded.open:
            with folded:
                _show_numbers(plan, numbers)


def _show_first(result: Result) -> None:
    """Show the example of the first screen as a picture, so that the browser need not load the script for charts."""
    (table,) = result.plan.marginals
    st.html(lines_and_grids.grid(result, table, dark=is_dark()))
    show_twin(result, table, None, key="preview")


def _show_curve(plan: Plan, numbers: dict[str, list[float]], measure: Measure | None) -> None:
    drawing = error_curve.curve_drawing(plan, numbers=numbers, measure=measure, dark=is_dark())
    drawing.layout["height"] = 340
    st.plotly_chart(
        FigureOfDrawing(drawing),
        key="curve",
        theme=None,
        alt=error_curve.error_curve_alt(plan, numbers, measure),
        config=buttons(),
    )


def _show_head(title: str) -> bool:
    """Show the title, and that the numbers are made up; return whether they are to be drawn again."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="preview-title"
    ):
        st.header(title, anchor=False, width="content", help=term("preview"))
        redraw = st.button(_("Draw again"), icon=":material/refresh:", key="redraw", type="tertiary")
    st.badge(_("Made-up numbers: your table has not been read for this"), icon=":material/science:", color="blue")
    return redraw


def _show_numbers(plan: Plan, numbers: dict[str, list[float]]) -> None:
    st.caption(_("At ε = {epsilon}, every table", epsilon=exactly(plan.epsilon)))
    show_numbers(with_headings(plan, predict(plan)), predicted_columns() | measured_columns(plan))
    st.caption(_("The curve in numbers: 95 in 100 are within ±, for each ε"))
    headings = {name_of(table): heading_of(plan, table) for table in plan.marginals}
    formats = {name: st.column_config.NumberColumn(headings.get(name, name), format="%.4g") for name in numbers}
    show_numbers(pd.DataFrame(numbers), formats)


def _show_adaptive(plan: Plan, *, own: bool) -> None:
    """Show a made-up release of a plan whose errors are unknown before trials, which run in the background."""
    with st.container(border=True):
        redraw = _show_head(_("What readers will see") if own else _("What a release looks like"))
        last = trial.drawn(plan, _table_to_show(plan), afresh=redraw)
        if last is None:
            st.caption(
                ":material/hourglass_top: " + _("A release of made-up people is being drawn. This takes some seconds.")
            )
        else:
            of, result = last
            st.markdown(in_words(plan), help=term("mostly-noise"))
            is_of_plan = trial.question_of(of) == trial.question_of(plan)
            _show_figure(_with_words_of(plan, result) if is_of_plan else result)
            if not is_of_plan:
                st.caption(
                    _(
                        "Drawn at ε = {epsilon}; the picture of this plan is being drawn.",
                        epsilon=exactly(of.epsilon),
                    )
                )
    with st.container(border=True):
        show_strategies(plan)


def _curve(plan: Plan, measure: Measure | None) -> dict[str, list[float]]:
    """Return the numbers of the error curve; if only ε changed, only the point at this ε is computed."""
    shape = trial.question_of(plan.at(1)), measure
    numbers = error_curve.error_curve_numbers(plan, measure, earlier=visit().recall("curve-before", shape))
    visit().keep("curve-before", shape, numbers)
    return numbers


def _previewed(plan: Plan, *, afresh: bool) -> Result:
    """Draw noise for the shown table once for each plan, so that the picture stays while other things change."""
    table = _table_to_show(plan)
    question = trial.question_of(plan), table
    most = trial.KEPT if plan.cells(table) <= FEW else 1
    drawn = visit().once("preview", question, lambda: preview_table(plan, table), afresh=afresh, most=most)
    return _with_words_of(plan, drawn)


def _with_words_of(plan: Plan, drawn: Result) -> Result:
    """Return the drawn release with the plan's current words and shapes for readers, which may have changed."""
    if (drawn.plan.columns, drawn.plan.nouns) == (plan.columns, plan.nouns):
        return drawn
    return replace(drawn, plan=plan.as_decided(drawn.plan))


def in_words(plan: Plan, *, pictured: bool = True) -> str:
    """Return how wrong the chosen table would be, in one sentence for each fact.

    Unless it is `pictured`, nothing is said of the made-up release that *Publish* shows.
    """
    if not is_adaptive(plan):
        table = _table_to_show(plan)
        return visit().once(
            "in-words",
            (plan, table, pictured, language()),
            lambda: _facts(plan, predict_table(plan, table).assign(table=name_of(table)), pictured=pictured),
            most=trial.KEPT,
        )
    last = trial.errors(plan)
    if last is None:
        return _("For *adaptive* the error cannot be computed beforehand. It is being tried out on made-up people.")
    of, tried = last
    facts = [
        _facts(of, tried, trial.drawn_of(of), pictured=pictured),
        _("This was tried out on made-up people; your table may do better or worse."),
    ]
    if of.epsilon != plan.epsilon:
        facts.append(_("ε = {epsilon} is being tried out.", epsilon=exactly(plan.epsilon)))
    elif trial.question_of(of) != trial.question_of(plan):
        facts.append(_("That was before the last change, which is being tried out."))
    return " ".join(facts)


def _table_to_show(plan: Plan) -> tuple[str, ...]:
    """Return the table to show: the first of the plan until a person chooses another."""
    table: tuple[str, ...] | None = st.session_state.get("preview-table")
    chosen = table in plan.marginals and table != visit().recall("preview-begins", ())
    return table if table is not None and chosen else plan.marginals[0]


def _show_figure(result: Result) -> Measure | None:
    """Show the chosen table, and return the mean, sum or quantile that is shown; None for its counts."""
    shown = _table_to_show(result.plan)
    if shown != st.session_state.get("preview-table"):
        st.session_state["preview-table"] = shown
        visit().keep("preview-begins", (), shown)
    return figure_with_choice(result, key="preview", made_up=True)[1]


def _typical_error(error: float, **names: str) -> str:
    """Say how far a typical cell is off; an error that is too small to write as a number gets no *about*."""
    if error < 0.1:  # which `people` writes as "under 0.1"
        return _("At ε = {epsilon} a typical cell of {table} is off by **less than 0.1** {unit}.", **names)
    return _(
        "At ε = {epsilon} a typical cell of {table} is off by about **{error}** {unit}.", error=people(error), **names
    )


def _facts(plan: Plan, predicted: pd.DataFrame, drawn: Result | None = None, *, pictured: bool = True) -> str:
    """Say what is predicted for the chosen table.

    Also say what readers would see of a made-up release, if it is `drawn`, and `pictured` on the same page.
    """
    table = _table_to_show(plan)
    unit = noun(plan, table)
    row = predicted[predicted["table"] == name_of(table)].iloc[0]
    epsilon, name = exactly(plan.epsilon), plain_name(heading_of(plan, table))
    of_amounts = measure_facts(plan, table, row)
    cell, total = float(row["half_width_95"]), float(row["total_half_width_95"])
    if cell >= EXACT and is_adaptive(plan):
        facts = [
            _("At ε = {epsilon} readers get intervals of about **±{half_width}** {unit} for a cell of {table}, if its "
              "columns depend on each other as usual.",
              epsilon=epsilon, half_width=people(cell), unit=unit, table=name),
            *([_noise_seen(drawn, table)] if drawn is not None and pictured else []),
        ]  # fmt: skip
    elif cell >= EXACT:
        facts = [
            _typical_error(float(row["mean_abs_error"]), epsilon=epsilon, table=name, unit=unit),
            _("95 in 100 are within **±{half_width}**.", half_width=people(cell)),
        ]
    else:
        facts = [
            _("At ε = {epsilon} a cell of {table} is **almost certain** to be exact.", epsilon=epsilon, table=name)
        ]
    if unit != (whole := noun(plan)) and total >= EXACT:
        facts.append(_("The number of all {unit} is within **±{half_width}**, 95 times in 100.",
                       unit=whole, half_width=people(total)))  # fmt: skip
    elif total >= EXACT:
        facts.append(_("The total is within **±{half_width}**, 95 times in 100.", half_width=people(total)))
    else:
        facts.append(_("The total is **almost certain** to be exact."))
    if drawn is None or cell < EXACT:
        facts.append(_noise(plan, table, cell, pictured=pictured))
    facts.append(left_aside(plan, [table]))
    return " ".join(filter(None, [*of_amounts, *facts, *findable_in_words(plan)]))


def _noise_seen(drawn: Result, table: tuple[str, ...]) -> str:
    """For a release that measures its own error, say how wide its intervals are and how many cells are mostly noise.

    The errors of this one release are left unsaid: they are smaller than its intervals, and not those of the owner's.
    """
    cells, noisy = drawn.cells(table), drawn.mostly_noise(table)[listed_cells(drawn.plan, table)]
    return _(
        "If they hardly do, as in the made-up release shown here, of about {rows} {unit}, intervals are about "
        "±{reach}, and **{noisy} of {cells} cells** are mostly noise.",
        rows=number(drawn.plan.rows_about or ASSUMED_ROWS),
        unit=rows_noun(drawn.plan),
        reach=people(float((cells["high"] - cells["estimate"]).mean())),
        noisy=number(int(noisy.sum())),
        cells=number(noisy.size),
    )


def _noise(plan: Plan, table: tuple[str, ...], cell: float, *, pictured: bool) -> str:
    """Say how many cells would be mostly noise if counts have intervals of ±`cell`."""
    if plan.rows_about is None:
        return _noise_by_size(plan, table, pictured=pictured)
    made_up, unit = MockCells.of(plan, table), rows_noun(plan)
    noisy = round(float(made_up.mostly_noise(cell)) * made_up.cells)
    if not noisy:
        return _("No cell would be mostly noise in a table of about {rows} {unit}.",
                 rows=number(plan.rows_about), unit=unit)  # fmt: skip
    return _("**{noisy} of {cells} cells** would be mostly noise in a table of about {rows} {unit}.",
             noisy=number(noisy), cells=number(made_up.cells), rows=number(plan.rows_about), unit=unit)  # fmt: skip


def _noise_by_size(plan: Plan, table: tuple[str, ...], *, pictured: bool) -> str:
    """Say from which size on at most half of the cells of a table are mostly noise, as its size is not stated."""
    least = rows_of_use(plan, [table])
    if least is None:
        return _("Noise would hardly matter in it.")
    named = {"least": number(least), "unit": noun(plan, table)}
    if not pictured:
        return _("With fewer than about **{least} {unit}** in the table, most of its cells would be mostly noise.",
                 **named)  # fmt: skip
    return _("With fewer than about **{least} {unit}** in the table, most of its cells would be mostly noise; the "
             "picture assumes {rows}.",
             rows=number(ASSUMED_ROWS), **named)  # fmt: skip


def as_findable(plan: Plan) -> Plan:
    """Return a plan for the preview, with no more found values than a table of the stated rough size can have.

    A value is found only if enough rows have it. The limit follows from the plan alone, and changes nothing published.
    """
    fewer = {
        column.name: Category(**plan_entry(column) | {"among": among.model_dump() | {"most": most}})
        for column, among, most, _least in _findable(plan)
        if most < among.most
    }
    return plan.with_columns(fewer)


def findable_in_words(plan: Plan) -> list[str]:
    """Say how many values each column has in a preview of `as_findable`, if that is the most that can be found."""
    return [
        _(
            "Drawn with {n} values of {column}: each that is found has about {least} rows or more.",
            n=number(most),
            column=plain(column.heading),
            least=number(least),
        )
        for column, among, most, least in _findable(plan)
        if most == among.most
    ]


def _findable(plan: Plan) -> Iterator[tuple[Category, Universe, int, int]]:
    """Yield each column whose values are found: how many a table of the stated size can have, and the rows of each."""
    for column in plan.columns:
        if isinstance(column, Category) and column.among is not None and plan.rows_about is not None:
            least = FoundKeys.none(column.name, column.among, plan.epsilon, plan.unit.rows).least
            yield column, column.among, max(1, plan.rows_about // least), least
