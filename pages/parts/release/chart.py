"""A published table, or a made-up one, as a chart and as numbers, with controls for what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpengine.array_types import Columns
from dpengine.charts import figures, style
from dpengine.charts.drawing import Drawing
from dpengine.charts.figures import ALL, Form
from dpengine.charts.heatmap import readable_width
from dpengine.charts.level_rows import LOOK, level_rows
from dpengine.charts.levels import level_table, level_tree
from dpengine.results import published_columns
from dpengine.results.proportions import PROPORTIONS, groups_of, proportions
from dpengine.results.published_columns import ENDS, NUMBERS, Measure, measures, published_name
from dpengine.results.result import Result
from dpengine.results.spans import decimals_of
from dpengine.results.views.published import PublishedTables
from dpengine.spec.domain import Category
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark
from pages.parts.shared.figures import Drawn, is_dark
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.picture_buttons import picture_buttons
from pages.parts.shared.wording import heading_of, headings_of, name_of, plain, shown_labels

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "counts_or_percentages", "figure_with_choice", "in_readers_words", "number_columns", "numbers_of", "show_twin",
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
        "low": st.column_config.NumberColumn(_("low"), format=whole, help=_("95 % interval, lower end.")),
        "high": st.column_config.NumberColumn(_("high"), format=whole, help=_("95 % interval, upper end.")),
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
    measure = _measure(plan, table, key)
    form, fixed = _choices(plan, table, measure, key)
    drawn = [name for name in table if name not in fixed]
    if form == "levels":
        with st.container(key=f"{key}-chart"):
            st.html(LOOK)
            st.html(level_rows(level_tree(result, table, drawn[0], fixed), heading_of(plan, (drawn[0],))))
    else:
        drawing = figures.release_drawing(result, table, fixed=fixed, form=form, measure=measure, dark=is_dark())
        place = f"{key}-{_room(plan, drawn, form, drawing)}"
        if place.endswith(("-facets", "-vast")):
            with st.container(key=f"{key}-sideways"):  # visible only on a phone
                st.caption(":material/swipe: " + _("Move the chart sideways to see all of it."))
        with st.container(key=place):
            st.plotly_chart(
                Drawn(drawing) if isinstance(drawing, Drawing) else drawing,
                key=f"{key}-figure",
                theme=None,
                alt=figures.alt_text(result, table, measure, made_up=made_up),
                config=style.CONFIG,
            )
        if not made_up:
            name = heading_of(plan, table)
            picture_buttons(place, name if measure is None else f"{name} {measure.heading(plan)}")
    show_twin(result, table, measure, key=key)
    return table, measure


def show_twin(result: Result, table: Columns, measure: Measure | None, *, key: str) -> None:
    """Offer the same numbers as a table."""
    twin = st.expander(_("The same as a table"), icon=":material/table:", key=f"{key}-twin", on_change="rerun")
    if twin.open:  # drawn only when open: a browser redraws even a hidden table at each change
        with twin:
            frame, columns = numbers_of(result, table, measure)
            if measure is None:
                frame, columns = counts_or_percentages(result, table, frame, columns, key=f"{key}-as")
            show_numbers(frame, columns)


def counts_or_percentages(
    published: PublishedTables, table: Columns, frame: pd.DataFrame, columns: dict[str, Any], *, key: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Ask whether `frame`, a table as shown, has its counts or percentages; return it, and how it is shown."""
    plan = published.plan
    groups = groups_of(plan, table)
    if not groups:
        return frame, columns
    words = {"counts": _("counts"), **{str(k): _group_in_words(plan, group) for k, group in enumerate(groups)}}
    chosen = st.selectbox(_("Numbers as"), list(words), format_func=words.__getitem__, key=f"{key}-{name_of(table)}")
    if chosen == "counts":
        return frame, columns
    found = proportions(published, table, groups[int(chosen)])[list(PROPORTIONS)]
    labels = {name: published_name(name, PROPORTIONS) for name in frame.columns[: len(table)]}
    frame = frame.rename(columns=labels)
    shown = frame[[*labels.values(), COUNT]].assign(**{name: 100 * found[name] for name in PROPORTIONS})
    if "mostly noise" in frame:
        shown["mostly noise"] = frame["mostly noise"]
    digits = decimals_of(float((shown[PROPORTIONS[2]] - shown[PROPORTIONS[1]]).median()))
    form = f"%.{min(2, digits)}f %%"
    heads = (_("percentage"), _("low"), _("high"))
    helps = (words[chosen], _("95 % interval, lower end."), _("95 % interval, upper end."))
    percents = {
        name: st.column_config.NumberColumn(head, format=form, help=text)
        for name, head, text in zip(PROPORTIONS, heads, helps, strict=True)
    }
    return shown, columns | percents


def _group_in_words(plan: Plan, group: Columns) -> str:
    if not group:
        return _("percentages of all")
    return _("percentages within {columns}", columns=heading_of(plan, group))


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
    for name, heading, span in zip(measure.names, measure.headings(plan), result.spans(table, measure), strict=True):
        noisy = f"{name}_noise"
        shown += [f"{name}{end}" for end in ENDS] + [noisy]
        frame[noisy] = span.noisy.ravel()
        columns |= _measured_columns(name, heading, span.digits) | {noisy: columns["mostly noise"]}
    return in_readers_words(frame[[*shown, COUNT]], plan, table), columns


def in_readers_words(frame: pd.DataFrame, plan: Plan, table: Columns) -> pd.DataFrame:
    """Return the numbers of a table with cells and columns named as in its charts, not as in the files.

    The first columns are those of the labels. A name that would then occur twice is left as it is in the files.
    """
    shown, headings = frame.copy(), {}
    for name, column in zip(frame.columns, map(plan.column, table), strict=False):
        shown[name] = shown[name].map(dict(zip(column.labels, shown_labels(column), strict=True)))
        headings[name] = heading_of(plan, (column.name,))
    renamed = shown.rename(columns=headings)
    return renamed if renamed.columns.is_unique else shown


def _measured_columns(name: str, heading: str, digits: int) -> dict[str, Any]:
    shown = f"%,.{digits}f"
    return {
        name: st.column_config.NumberColumn(heading, format=shown),
        f"{name}_low": st.column_config.NumberColumn(_("low"), format=shown, help=_("95 % interval, lower end.")),
        f"{name}_high": st.column_config.NumberColumn(_("high"), format=shown, help=_("95 % interval, upper end.")),
    }


def _measure(plan: Plan, table: Columns, key: str) -> Measure | None:
    """Ask what to show of a table that has more than counts; means, sums and quantiles come first."""
    offered = {"_".join(filter(None, (each.kind, each.amount, each.on))): each for each in measures(plan, table)}
    if not offered:
        return None
    words = {name: each.heading(plan) for name, each in offered.items()}
    words = {name: text[:1].upper() + text[1:] for name, text in words.items()} | {COUNT: _("Count")}
    options = [*offered, COUNT]
    here = f"{key}-of-{'-'.join(options)}"
    if len(options) <= MAX_SIDE_BY_SIDE:
        chosen = st.segmented_control(
            _("What is shown"),
            options,
            default=options[0],
            required=True,
            format_func=lambda name: plain(words[name]),
            key=here,
            label_visibility="collapsed",
        )
    else:
        chosen = st.selectbox(
            _("What is shown"), options, format_func=words.__getitem__, key=here, label_visibility="collapsed"
        )
    return offered.get(chosen)


def _choices(plan: Plan, table: Columns, measure: Measure | None, key: str) -> tuple[Form, dict[str, str | None]]:
    """Ask how to draw the table, and which value, or all, to show of each column for which the chart has no room."""
    alone = {FORMS["map"]: next((name for name in table if _has_shapes(plan, name)), None)}
    if measure is None:
        leaf = level_table(plan, table)
        alone |= {LEVELS: leaf, FORMS["treemap"]: leaf}
    elif measure.kind not in ("mean", "sum"):
        alone = {}
    many = len(table) > 2 and measure is None
    if many:
        side_by_side = len(figures.columns_to_fix(plan, table)) < len(table) - 2
        ways = [ONE_AT_A_TIME, *([FORMS["facets"]] if side_by_side else [])]
        label = _("Values of {column}", column=plain(plan.column(table[2]).heading))
    else:
        drawn = table if measure is None else table[: -len(figures.columns_to_fix(plan, table, measure)) or None]
        ways = [FORMS[form] for form in figures.forms(plan, drawn, measure)]
        label = _("Chart")
    ways += [way for way, name in alone.items() if name is not None and len(table) > 1 and way not in ways]
    if alone.get(LEVELS) is not None:
        ways = [LEVELS, *(way for way in ways if way != LEVELS)]
    way = ways[0]
    if len(ways) > 1:
        name = "layout" if many else f"as-{'-'.join(ways)}"
        way = st.segmented_control(
            label,
            ways,
            default=ways[0],
            required=True,
            format_func=_,
            key=f"{key}-{name}",
            label_visibility="visible" if many else "collapsed",
        )
    if (one := alone.get(way)) is not None:
        sliced: Columns = tuple(name for name in table if name != one)
    elif measure is not None or way == FORMS["facets"]:
        sliced = figures.columns_to_fix(plan, table, measure)
    else:
        sliced = table[2:]
    places = st.columns(min(3, len(sliced))) if sliced else []
    fixed = {name: _one_label(places[k % len(places)], plan, name, key) for k, name in enumerate(sliced)}
    form = next((form for form, words in FORMS.items() if words == way), None)
    return form or figures.forms(plan, table[:2])[0], fixed


def _one_label(place: DeltaGenerator, plan: Plan, name: str, key: str) -> str | None:
    """Ask for one value of a column, or for all of them together, the first option."""
    column = plan.column(name)
    everything = next(text for text in ("all", "all values", "(all values)", "") if text not in column.labels)
    words = {everything: _("all")} | dict(zip(column.labels, shown_labels(column), strict=True))
    label: str = place.selectbox(plain(column.heading), list(words), format_func=words.__getitem__, key=f"{key}-{name}")
    return ALL if label == everything else label


def _has_shapes(plan: Plan, name: str) -> bool:
    column = plan.column(name)
    return isinstance(column, Category) and bool(column.shapes)


def _room(plan: Plan, drawn: list[str], form: Form, drawing: Drawing | Figure) -> str:
    """Return how wide a chart is, as a name in the page's style sheet: so wide that the numbers in it are readable."""
    if form == "facets" and len(drawn) > 2:
        size, facets = plan.column(drawn[1]).size, plan.column(drawn[2]).size + 1
        return "vast" if size * figures.facets_across(size, facets) > WIDE else "facets"
    if form == "facets" or (form in ("dots", "bars") and len(drawn) > 1):
        return "facets"
    if form != "heatmap" or not isinstance(drawing, Drawing):
        return "chart"
    across, cells = plan.column(drawn[1]).size, drawing.data[0]
    width = readable_width(cells["z"]) if "text" in cells else 0
    if across > VERY_WIDE or width > SIDEWAYS:
        return "vast"
    return "facets" if across > WIDE or width > PHONE else "chart"
