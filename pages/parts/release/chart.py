"""A published table, or a made-up one, as a chart and as numbers, with controls for what is shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpengine.array_types import Columns
from dpengine.charts import figures
from dpengine.charts.cells import ALL
from dpengine.charts.drawable import Drawable
from dpengine.charts.drawing import Drawing
from dpengine.charts.forms import Form, forms
from dpengine.charts.grids import facets_across
from dpengine.charts.heatmap import readable_width
from dpengine.charts.level_rows import LOOK, level_rows
from dpengine.charts.levels import level_table, level_tree, tables_of_levels
from dpengine.results import published_columns
from dpengine.results.published_columns import ENDS, NUMBERS, Measure, measures, published_name
from dpengine.results.result import Result
from dpengine.spec.domain import Category
from dpengine.spec.plan import Plan
from dpengine.spec.wording import capitalised, heading_of, headings_of, label_words
from dpengine.translation.catalogue import _, mark, number
from pages.parts.shared.choices import choose_one
from pages.parts.shared.data_twin import interval_columns
from pages.parts.shared.figures import FigureOfDrawing, buttons, is_dark
from pages.parts.shared.number_table import MAX_SHOWN, show_numbers
from pages.parts.shared.picture_buttons import picture_buttons
from pages.parts.shared.wording import plain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "figure_with_choice", "in_readers_words", "number_columns", "numbers_of", "show_chart", "show_figure", "show_twin",
]  # fmt: skip

FORMS: dict[Form, str] = {
    "bars": mark("Bars"),
    "sorted": mark("Bars by size"),
    "lines": mark("Lines"),
    "map": mark("Map"),
    "heatmap": mark("Grid"),
    "facets": mark("Side by side"),
    "dots": mark("Dots"),
    "ranked": mark("Dots by size"),
    "treemap": mark("Areas"),
    "levels": mark("Levels"),  # a table with groups that unfold
}
LEVELS = FORMS["levels"]
COUNT = "count"
MAX_SIDE_BY_SIDE = 4  # most measures that are offered as buttons
ONE_AT_A_TIME = mark("One at a time")
WIDE, VERY_WIDE = 12, 40  # cells side by side from which on a chart is wider than a phone, and scrolls there
PHONE, SIDEWAYS = 330, 640  # pixels: the room for a chart on a phone, and the width of one that scrolls there


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
        **interval_columns(whole),
        "mostly noise": st.column_config.CheckboxColumn(_("mostly noise")),
    }


def figure_with_choice(result: Result, *, key: str, made_up: bool = False) -> tuple[Columns, Measure | None]:
    """Show the chosen table as a chart and as numbers, and return it; if there are several tables, offer the choice.

    If the table has means, sums or quantiles, one of them can be chosen and is returned too; None stands for its
    counts.
    """
    plan = result.plan
    tables = list(plan.marginals)
    table = tables[0]
    if len(tables) > 1:
        table = st.selectbox(
            _("Table"),
            tables,
            format_func=headings_of(plan),
            key=f"{key}-table",
            label_visibility="collapsed",
        )
    measure = show_figure(result, table, key=key, made_up=made_up)
    show_twin(result, table, measure, key=key)
    return table, measure


def show_figure(result: Drawable, table: Columns, *, key: str, made_up: bool = False) -> Measure | None:
    """Show a table as a chart, with controls for what is drawn, and return the measure if that is not its counts."""
    plan = result.plan
    measure = _ask_measure(plan, table, key)
    form, fixed = _ask_form(result, table, measure, key)
    if form == "levels":
        column = next(name for name in table if name not in fixed)
        with st.container(key=f"{key}-chart"):
            st.html(LOOK)
            st.html(level_rows(level_tree(result, table, column, fixed), heading_of(plan, (column,))))
    else:
        drawing = figures.release_drawing(result, table, fixed=fixed, form=form, measure=measure, dark=is_dark())
        place = f"{key}-{_room(plan, [name for name in table if name not in fixed], form, drawing)}"
        alt = figures.alt_text(result, table, measure, made_up=made_up)
        show_chart(drawing, alt, place, key)
        if not made_up:
            name = heading_of(plan, table)
            picture_buttons(place, name if measure is None else f"{name} {measure.heading(plan)}")
    return measure


def show_chart(drawing: Drawing | Figure, alt: str, place: str, key: str) -> None:
    """Show a chart in the container `place`, whose name gives it room on a phone."""
    with st.container(key=f"{key}-sideways", gap=None):
        if place.endswith(("-facets", "-vast")):  # visible only on a phone
            st.caption(":material/swipe: " + _("Move the chart sideways to see all of it."))
        with st.container(key=place):
            st.plotly_chart(
                FigureOfDrawing(drawing) if isinstance(drawing, Drawing) else drawing,
                key=f"{key}-figure",
                theme=None,
                alt=alt,
                config=buttons(),
            )


def show_twin(result: Result, table: Columns, measure: Measure | None, *, key: str) -> None:
    """Offer the same numbers as a table."""
    twin = st.expander(_("The same as a table"), icon=":material/table:", key=f"{key}-twin", on_change="rerun")
    if twin.open:  # drawn only when open: a browser redraws even a hidden table at each change
        frame, columns = numbers_of(result, table, measure)
        if len(frame) > MAX_SHOWN:
            shown, cells = number(MAX_SHOWN), number(len(frame))
            twin.caption(
                _("The first {shown} of {cells} cells; the files of a release hold all.", shown=shown, cells=cells)
            )
        show_numbers(frame.head(MAX_SHOWN), columns, place=twin)


def numbers_of(result: Result, table: Columns, measure: Measure | None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the counts of a table, or one measure of it, and how its columns are shown."""
    plan, whole = result.plan, result.tables[table]
    labels = [published_name(name, published_columns.number_columns(plan, table)) for name in table]
    if measure is None:
        frame = whole[[*labels, *NUMBERS]].assign(**{"mostly noise": result.mostly_noise(table).ravel()})
        frame = frame.round({"estimate": 1})  # otherwise some browsers show more digits
        return in_readers_words(frame, plan, table), number_columns()
    columns = number_columns()
    shown = list(labels)
    frame = whole.copy()
    for name, heading, interval in zip(
        measure.names, measure.headings(plan), result.interval_estimates(table, measure), strict=True
    ):
        noisy = f"{name}_noise"
        shown += [f"{name}{end}" for end in ENDS] + [noisy]
        frame[noisy] = interval.noisy.ravel()
        columns |= _measured_columns(name, heading, interval.digits) | {noisy: columns["mostly noise"]}
    return in_readers_words(frame[[*shown, COUNT]], plan, table), columns


def in_readers_words(frame: pd.DataFrame, plan: Plan, table: Columns) -> pd.DataFrame:
    """Return the numbers of a table with cells and columns named as in its charts, not as in the files.

    The first columns are those of the labels. A name that would then occur twice is left as it is in the files.
    """
    shown, headings = frame.copy(), {}
    for name, column in zip(frame.columns, map(plan.column, table), strict=False):
        shown[name] = shown[name].map(label_words(column))
        headings[name] = heading_of(plan, (column.name,))
    renamed = shown.rename(columns=headings)
    return renamed if renamed.columns.is_unique else shown


def _measured_columns(name: str, heading: str, digits: int) -> dict[str, Any]:
    shown = f"%,.{digits}f"
    return {name: st.column_config.NumberColumn(heading, format=shown)} | interval_columns(shown, name)


def _ask_measure(plan: Plan, table: Columns, key: str) -> Measure | None:
    """Ask what to show of a table that has more than counts; means, sums and quantiles come first."""
    offered = {"_".join(filter(None, (each.kind, each.amount, each.on))): each for each in measures(plan, table)}
    if not offered:
        return None
    words = {name: each.heading(plan) for name, each in offered.items()}
    words = {name: capitalised(text) for name, text in words.items()} | {COUNT: _("Count")}
    options = [*offered, COUNT]
    here = f"{key}-of-{'-'.join(options)}"
    if len(options) <= MAX_SIDE_BY_SIDE:
        chosen = choose_one(
            _("What is shown"), options, here, format_func=lambda name: plain(words[name]), label_visibility="collapsed"
        )
    else:
        chosen = st.selectbox(
            _("What is shown"), options, format_func=words.__getitem__, key=here, label_visibility="collapsed"
        )
    return offered.get(chosen)


def _ask_form(
    result: Drawable, table: Columns, measure: Measure | None, key: str
) -> tuple[Form, dict[str, str | None]]:
    """Ask how to draw the table, and which value, or all, to show of each column for which the chart has no room."""
    plan = result.plan
    result = result.of_tally(plan.tally_index(table))
    of_one_column = _forms_of_one_column(result, table, measure)
    ways = _ways(result, table, measure, of_one_column)
    if _is_large(table, measure):
        way = _ask_one(_("Values of {column}", column=plain(plan.column(table[2]).heading)), ways, f"{key}-layout")
    else:
        way = _ask_one(_("Chart"), ways, f"{key}-as-{'-'.join(ways)}", unlabelled=True)
    column = of_one_column.get(way)
    without = _without_room(plan, table, measure, way, column)
    levels = tables_of_levels(plan, table, column) if column and way in (LEVELS, FORMS["treemap"]) else [table]
    fixed = _ask_labels(result, levels, measure, without, key)
    form = next((form for form, words in FORMS.items() if words == way), None)
    return form or _ask_form_of_one(plan, table[:2], key), fixed


def _ask_one(label: str, ways: Sequence[str], key: str, *, unlabelled: bool = False) -> str:
    """Ask for one of some ways to draw a table, which are texts to be translated, unless there is only one."""
    if len(ways) == 1:
        return ways[0]
    return choose_one(label, ways, key, label_visibility="collapsed" if unlabelled else "visible")


def _is_large(table: Columns, measure: Measure | None) -> bool:
    """Whether a table of counts has more than two columns, whose cells have room only some at a time."""
    return len(table) > 2 and measure is None


def _ways(result: Drawable, table: Columns, measure: Measure | None, of_one_column: Collection[str]) -> list[str]:
    """Return the ways to draw a table, the default first."""
    plan = result.plan
    if _is_large(table, measure):
        fits = len(figures.columns_to_fix(plan, table)) < len(table) - 2
        side_by_side = fits and result.offers((*table[:2], *table[3:]))
        ways = [ONE_AT_A_TIME, *([FORMS["facets"]] if side_by_side else [])]
    else:
        drawn = table if measure is None else table[: -len(figures.columns_to_fix(plan, table, measure)) or None]
        ways = [FORMS[form] for form in forms(plan, drawn, measure)]
        if FORMS["treemap"] not in of_one_column:
            ways = [way for way in ways if way != FORMS["treemap"]]
    ways += [way for way in of_one_column if len(table) > 1 and way not in ways]
    return [LEVELS, *(way for way in ways if way != LEVELS)] if LEVELS in of_one_column else ways


def _ask_form_of_one(plan: Plan, shown: Columns, key: str) -> Form:
    """Ask how to draw two columns of a larger table, for one value of each of the others at a time."""
    offered = {FORMS[form]: form for form in forms(plan, shown)}
    return offered[_ask_one(_("Chart"), [*offered], f"{key}-one-as", unlabelled=True)]


def _forms_of_one_column(result: Drawable, table: Columns, measure: Measure | None) -> dict[str, str]:
    """Return the ways to draw a single column of a table, each with this column: as a map, or by its levels."""
    plan = result.plan
    if measure is not None and measure.kind not in ("mean", "sum"):
        return {}
    columns = {FORMS["map"]: next((name for name in table if _has_shapes(plan, name)), None)}
    if measure is None:
        leaf = level_table(plan, table)
        if leaf is not None and all(result.offers(each) for each in tables_of_levels(plan, table, leaf)):
            columns |= {LEVELS: leaf, FORMS["treemap"]: leaf}
    return {way: name for way, name in columns.items() if name is not None}


def _without_room(plan: Plan, table: Columns, measure: Measure | None, way: str, column: str | None) -> Columns:
    """Return the columns of a table for which a chart has no room; if a `column` is given, it shows this one alone."""
    if column is not None:
        return tuple(name for name in table if name != column)
    if measure is not None or way == FORMS["facets"]:
        return figures.columns_to_fix(plan, table, measure)
    return table[2:]


def _ask_labels(
    result: Drawable, tables: Sequence[Columns], measure: Measure | None, columns: Columns, key: str
) -> dict[str, str | None]:
    """Ask for one value of each of these columns of all `tables`, or for all together if these numbers can be had."""
    places, fixed = st.columns(min(3, len(columns))) if columns else [], dict[str, str | None]()
    for k, name in enumerate(columns):
        summed = {name, *(other for other, label in fixed.items() if label is ALL)}
        everything = all(
            result.offers(tuple(each for each in table if each not in summed), measure) for table in tables
        )
        fixed[name] = _ask_label(places[k % len(places)], result.plan, name, key, everything=everything)
    return fixed


def _ask_label(place: DeltaGenerator, plan: Plan, name: str, key: str, *, everything: bool) -> str | None:
    """Ask for one value of a column; with `everything`, the first option is all of them together."""
    column = plan.column(name)
    every = next(text for text in ("all", "all values", "(all values)", "") if text not in column.labels)
    words = ({every: _("all")} if everything else {}) | label_words(column)
    label: str = place.selectbox(plain(column.heading), list(words), format_func=words.__getitem__, key=f"{key}-{name}")
    return ALL if label == every else label


def _has_shapes(plan: Plan, name: str) -> bool:
    column = plan.column(name)
    return isinstance(column, Category) and bool(column.shapes)


def _room(plan: Plan, drawn: list[str], form: Form, drawing: Drawing | Figure) -> str:
    """Return how wide a chart is, as a name in the page's style sheet: so wide that the numbers in it are readable."""
    if form == "facets" and len(drawn) > 2:
        size, facets = plan.column(drawn[1]).size, plan.column(drawn[2]).size + 1
        return "vast" if size * facets_across(size, facets) > WIDE else "facets"
    if form == "facets" or (form in ("dots", "bars") and len(drawn) > 1):
        return "facets"
    if form != "heatmap" or not isinstance(drawing, Drawing):
        return "chart"
    across, cells = plan.column(drawn[1]).size, drawing.data[0]
    width = readable_width(cells["z"]) if "text" in cells else 0
    if across > VERY_WIDE or width > SIDEWAYS:
        return "vast"
    return "facets" if across > WIDE or width > PHONE else "chart"
