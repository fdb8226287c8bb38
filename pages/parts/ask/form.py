"""Form of the Ask page: a question is made of columns, cells and bounds, all of them public."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import streamlit as st

from dpengine import Plan, PlanError
from dpengine.errors import Fault
from dpengine.sources.table import Field
from dpengine.spec.domain import Amount, Column, Number
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query import Condition, Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance
from dpengine.spec.wording import label_words
from dpengine.translation.catalogue import ENGLISH, _, language, localised, mark, number
from pages.parts.shared.glossary.help import term
from pages.parts.shared.typed_numbers import decimal, with_point
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["build"]

STATISTICS = {
    "count": mark("How many rows there are"),
    "proportion": mark("What share of the rows …"),
    "mean": mark("The average of a number"),
    "sum": mark("The sum of a number"),
    "variance": mark("The variance and the standard deviation of a number"),
    "quantile": mark("The median, or another quantile"),
    "mode": mark("The most common value"),
}
VALUES, RANGE, MASK = mark("Values"), mark("From – to"), mark("Mask")


def build(plan: Plan, fields: tuple[Field, ...]) -> Question:
    """Return the question as entered. Raises `PlanError` with everything that is still missing or wrong."""
    kind = st.selectbox(
        _("What do you want to know?"),
        list(STATISTICS),
        format_func=lambda name: _(STATISTICS[name]),
        key=visit().key("ask-what"),
    )
    faults: list[str | Fault] = []
    statistic = _statistic(kind, plan, fields, faults)
    st.markdown(_("**Which rows?**"))
    where = _conditions("ask-where", _("Only rows where"), plan, faults)
    by = () if kind in ("quantile", "mode") else _groups(plan)
    epsilon, rows = _price_and_size(kind, plan)
    if faults or statistic is None:
        raise PlanError(faults or _("choose a column"))
    return Question(
        dataset=plan.dataset,
        epsilon=decimal(epsilon),
        statistic=statistic,
        where=where,
        by=by,
        unit=plan.unit,
        rows_about=rows,
    )


def _price_and_size(kind: str, plan: Plan) -> tuple[str, int | None]:
    """Ask for ε, and for a rough number of rows if the error depends on it."""
    price, about = st.columns(2, vertical_alignment="bottom")
    epsilon = price.text_input(
        _("Price: ε of the budget"),
        localised("0.1"),
        key=visit().key("ask-epsilon"),
        help=term("epsilon", _("A decimal or a fraction.")),
    )
    rows = plan.rows_about
    if kind in ("proportion", "mean", "variance"):
        rows = about.number_input(
            _("Roughly how many such rows"),
            1,
            10**12,
            value=plan.rows_about,
            placeholder=_("such as 5000"),
            key=visit().key("ask-rows"),
            help=_("A rough size that is public knowledge, to predict the error. The answer does not depend on it."),
        )
    return epsilon, rows


def _groups(plan: Plan) -> tuple[Column, ...]:
    names = [column.name for column in plan.columns if not isinstance(column, Amount)]
    chosen = st.multiselect(
        _("For each group of"),
        names,
        max_selections=2,
        key=visit().key("ask-by"),
        placeholder=_("all together; or choose 1 or 2 columns"),
        help=_("One price for the answers of all groups, since each row is in one group only."),
    )
    return tuple(plan.column(name) for name in chosen)


def _statistic(kind: str, plan: Plan, fields: tuple[Field, ...], faults: list[str | Fault]) -> Any:
    match kind:
        case "proportion":
            of = _conditions("ask-of", _("… that meet this"), plan, faults)
            if not of and not faults:
                faults.append(_("choose the condition of the share"))
            return _try(faults, Proportion, of=of) if of else None
        case "mode":
            names = [column.name for column in plan.columns if not isinstance(column, Amount)]
            name = st.selectbox(_("Column"), names, key=visit().key("ask-mode"))
            return _try(faults, Mode, of=plan.column(name))
        case "sum" | "mean" | "variance" | "quantile":
            grid = _grid(plan, fields, faults)
            if grid is None:
                return None
            if kind == "quantile":
                level = st.text_input(
                    _("Share of the rows below it"),
                    localised("0.5"),
                    key=visit().key("ask-level"),
                    help=_("0.5 gives the median; 0.9 the value that nine in ten rows do not exceed."),
                )
                return _try(faults, Quantile, of=grid, level=decimal(level))
            return _try(faults, {"sum": Sum, "mean": Mean, "variance": Variance}[kind], of=grid)
    return Count()


def _grid(plan: Plan, fields: tuple[Field, ...], faults: list[str | Fault]) -> Grid | None:
    """Return a numeric column with public bounds and a public step; None while something is missing."""
    declared = {column.name: column for column in plan.columns if isinstance(column, Number | Amount)}
    known = {plan.unit.id, *(column.name for column in plan.columns)}  # a code of digits is no number to average
    others = [field.name for field in fields if field.kind_hint == "number" and field.name not in known]
    names = [*declared, *others]
    if not names:
        faults.append(_("no column of this table is known to hold numbers; declare one as a number on Publish"))
        return None
    name = st.selectbox(_("Column"), names, key=visit().key("ask-number"))
    column = declared.get(name)
    bounds = _ask_bounds(name, column)
    absent = st.text_input(
        _("A missing value counts as"),
        "",
        key=visit().key(f"ask-absent-{name}"),
        placeholder=_("nothing: its row is left out"),
        help=_("This includes empty, infinite and unreadable values."),
    )
    if any(not text.strip() for text in bounds.values()):
        faults.append(_("enter public bounds for {column}", column=name))
        return None
    how = {} if column is None else column.model_dump(include={"missing_as", "format", "affixes"})
    ends = {end: with_point(text, faults) for end, text in bounds.items()}
    counts_as = with_point(absent, faults).strip() or None
    grid: Grid | None = _try(faults, Grid, name=name, **ends, absent=counts_as, **how)
    return grid


def _ask_bounds(name: str, column: Number | Amount | None) -> dict[str, str]:
    """Ask for the bounds and the step of a column; those that the plan declares are offered."""
    given = ("", "", "1") if column is None else tuple(localised(f"{bound.normalize():f}") for bound in _bounds(column))
    low, high, step = st.columns(3)
    bounds = {
        "low": low.text_input(_("Lowest"), given[0], key=visit().key(f"ask-low-{name}"), placeholder=_("such as 0")),
        "high": high.text_input(
            _("Highest"), given[1], key=visit().key(f"ask-high-{name}"), placeholder=_("such as 120")
        ),
        "step": step.text_input(_("In steps of"), given[2], key=visit().key(f"ask-step-{name}")),
    }
    st.caption(
        _(
            "Bounds come from public knowledge, not from the data. Values beyond a bound count as that bound, and "
            "values between two steps as the nearer one. Wider bounds need more noise."
        )
    )
    return bounds


def _bounds(column: Number | Amount) -> tuple[Decimal, Decimal, Decimal]:
    """Return the bounds and the step that a plan declares for a number; bins have no step, so 1 is offered."""
    if isinstance(column, Amount):
        return column.low, column.high, column.step
    return column.edges[0], column.edges[-1], Decimal(1)


def _conditions(key: str, label: str, plan: Plan, faults: list[str | Fault]) -> tuple[Condition, ...]:
    names = [column.name for column in plan.columns]
    chosen = st.multiselect(
        label, names, key=visit().key(key), placeholder=_("all rows; choose columns to narrow it down")
    )
    conditions = []
    for name in chosen:
        with st.container(border=True):
            try:
                condition = _condition(f"{key}-{name}", plan.column(name), faults)
            except PlanError as error:
                faults.extend(error.faults)
                continue
            if condition is None:
                faults.append(_("choose values of {column}", column=name))
            else:
                conditions.append(condition)
    return tuple(conditions)


def _condition(key: str, column: Column, faults: list[str | Fault]) -> Condition | None:
    """Return a condition on a column: chosen values, a range, or a mask of bits; None while nothing is chosen."""
    ways = [VALUES, RANGE, MASK] if isinstance(column, Number) else [VALUES, MASK]
    if isinstance(column, Amount):
        ways = [RANGE]
    title, choice = st.columns([1, 1], vertical_alignment="center")
    title.markdown(f"**{plain(column.name)}**")
    way = choice.segmented_control(
        _("How to choose values of {column}", column=column.name),
        ways,
        default=ways[0],
        format_func=_,
        required=True,
        key=visit().key(f"{key}-way"),
        label_visibility="collapsed",
    )
    named = _labels_in_words(column)
    if way == MASK:
        bits = st.text_input(
            _("One bit for each of {n} cells", n=number(column.size)),
            key=visit().key(f"{key}-mask"),
            placeholder="1" + "0" * (min(column.size, 12) - 1),
            help=", ".join(map(named, column.labels[:60])),
        )
        return Condition.masked(column, bits) if bits.strip() else None
    if way == RANGE:
        first, last = st.columns(2)
        low = first.text_input(_("From"), key=visit().key(f"{key}-low"), placeholder=_("no bound")).strip()
        high = last.text_input(_("To, included"), key=visit().key(f"{key}-high"), placeholder=_("no bound")).strip()
        ends = (with_point(end, faults) or None for end in (low, high))
        return Condition.between(column.name, *ends) if low or high else None
    labels = st.multiselect(
        _("is one of these values of {column}", column=column.name),
        column.labels,
        format_func=named,
        key=visit().key(f"{key}-values"),
        placeholder=_("choose values"),
        label_visibility="collapsed",
    )
    return Condition(column=column, labels=labels) if labels else None


def _labels_in_words(column: Column) -> Callable[[str], str]:
    """Return what a cell is called in the page's language; in English, as it is declared."""
    if language() == ENGLISH:
        return str
    return label_words(column).__getitem__


def _try(faults: list[str | Fault], make: Any, **fields: Any) -> Any:
    """Return the result of `make`; if it raises, add the faults to `faults` and return None."""
    try:
        return make(**fields)
    except PlanError as error:
        faults.extend(error.faults)
        return None
