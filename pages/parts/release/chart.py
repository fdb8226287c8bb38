"""A published table, or a made-up one, as a chart and as numbers, with the choices that it leaves."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpengine.array_types import Columns
from dpengine.charts import figures, style
from dpengine.charts.figures import ALL, Form
from dpengine.results.result import Result
from dpengine.spec.domain import Category
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark
from pages.parts.shared.figures import is_dark
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.picture_buttons import picture_buttons
from pages.parts.shared.wording import heading_of, plain, shown_labels

__all__ = ["figure_with_choice", "number_columns"]

FORMS: dict[Form, str] = {
    "bars": mark("Bars"),
    "sorted": mark("Bars by size"),
    "lines": mark("Lines"),
    "map": mark("Map"),
    "heatmap": mark("Grid"),
    "facets": mark("Side by side"),
}
ONE_AT_A_TIME = mark("One at a time")
WIDE, VERY_WIDE = 12, 40  # cells side by side: with more, a phone shows a part of the chart and moves it sideways


def number_columns() -> dict[str, Any]:
    """Return how the numbers of a published table are shown."""
    whole = "%,d"
    return {
        "count": st.column_config.NumberColumn(
            _("count"), format=whole, help=_("A whole number, never negative; all tables add up.")
        ),
        "estimate": st.column_config.NumberColumn(
            _("estimate"), format="%,.1f", help=_("Right on average; may be negative or fractional.")
        ),
        "low": st.column_config.NumberColumn(_("low"), format=whole, help=_("95 % interval, lower end.")),
        "high": st.column_config.NumberColumn(_("high"), format=whole, help=_("95 % interval, upper end.")),
        "mostly noise": st.column_config.CheckboxColumn(_("mostly noise")),
    }


def figure_with_choice(result: Result, *, key: str, made_up: bool = False) -> Columns:
    """Show the chosen table as a chart and as numbers; return it. The choice is offered if there are several."""
    tables = list(result.plan.marginals)
    table = tables[0]
    if len(tables) > 1:
        table = st.selectbox(
            _("Table"),
            tables,
            format_func=partial(heading_of, result.plan),
            key=f"{key}-table",
            label_visibility="collapsed",
        )
    form, fixed = _choices(result.plan, table, key)
    figure = figures.release_figure(result, table, fixed=fixed, form=form, dark=is_dark())
    place = f"{key}-{_room(result.plan, [name for name in table if name not in fixed], form)}"
    with st.container(key=place):
        st.plotly_chart(
            figure,
            key=f"{key}-figure",
            theme=None,
            alt=figures.alt_text(result, table, made_up=made_up),
            config=style.CONFIG,
        )
    if not made_up:
        picture_buttons(place, heading_of(result.plan, table))
    twin = st.expander(_("The same as a table"), icon=":material/table:", key=f"{key}-twin", on_change="rerun")
    if twin.open:  # a browser redraws a table at each change, even a hidden one
        frame = result.tables[table].assign(**{"mostly noise": result.mostly_noise(table).ravel()})
        frame = frame.round({"estimate": 1})  # a browser that writes numbers by itself would show more
        show_numbers(frame, number_columns(), place=twin)
    return table


def _choices(plan: Plan, table: Columns, key: str) -> tuple[Form, dict[str, str | None]]:
    """Ask how the table is drawn, and for one value, or all, of each column for which that has no room."""
    mapped = next((name for name in table if _has_shapes(plan, name)), None)
    if len(table) > 2:
        side_by_side = len(figures.columns_to_fix(plan, table)) < len(table) - 2
        ways = [ONE_AT_A_TIME, *([FORMS["facets"]] if side_by_side else [])]
        label = _("Values of {column}", column=plain(plan.column(table[2]).heading))
    else:
        ways = [FORMS[form] for form in figures.forms(plan, table)]
        label = _("Chart")
    if mapped is not None and len(table) > 1:
        ways.append(FORMS["map"])
    way = ways[0]
    if len(ways) > 1:
        name = "layout" if len(table) > 2 else f"as-{'-'.join(ways)}"
        way = st.segmented_control(
            label,
            ways,
            default=ways[0],
            required=True,
            format_func=_,
            key=f"{key}-{name}",
            label_visibility="visible" if len(table) > 2 else "collapsed",
        )
    if way == FORMS["map"]:
        sliced: Columns = tuple(name for name in table if name != mapped)
    else:
        sliced = figures.columns_to_fix(plan, table) if way == FORMS["facets"] else table[2:]
    places = st.columns(min(3, len(sliced))) if sliced else []
    fixed = {name: _one_label(places[k % len(places)], plan, name, key) for k, name in enumerate(sliced)}
    form = next((form for form, words in FORMS.items() if words == way), None)
    return form or figures.forms(plan, table[:2])[0], fixed


def _one_label(place: DeltaGenerator, plan: Plan, name: str, key: str) -> str | None:
    """Ask for one value of a column, or for all of them together, which come first."""
    column = plan.column(name)
    everything = next(text for text in ("all", "all values", "(all values)", "") if text not in column.labels)
    words = {everything: _("all")} | dict(zip(column.labels, shown_labels(column), strict=True))
    label: str = place.selectbox(plain(column.heading), list(words), format_func=words.__getitem__, key=f"{key}-{name}")
    return ALL if label == everything else label


def _has_shapes(plan: Plan, name: str) -> bool:
    column = plan.column(name)
    return isinstance(column, Category) and bool(column.shapes)


def _room(plan: Plan, drawn: list[str], form: Form) -> str:
    """Return how much room a chart needs, as the style sheet of the page calls it."""
    if form == "facets":
        return "facets"
    across = plan.column(drawn[1]).size if form == "heatmap" else 0
    return "vast" if across > VERY_WIDE else "facets" if across > WIDE else "chart"
