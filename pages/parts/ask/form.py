"""Form of the Ask page: a question is made of columns, cells and bounds, all of them public."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import streamlit as st

from dpengine import Plan, PlanError
from dpengine.errors import Fault
from dpengine.sources.table import Field
from dpengine.spec.domain import Amount, Column, Number
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query import Condition, Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import decimal, plain
from pages.parts.visit.state import visit

__all__ = ["build"]

STATISTICS = {
    "count": "How many rows there are",
    "proportion": "What share of the rows …",
    "mean": "The average of a number",
    "sum": "The sum of a number",
    "variance": "The variance and the standard deviation of a number",
    "quantile": "The median, or another quantile",
    "mode": "The most common value",
}
WAYS = ("Values", "From – to", "Mask")


def build(plan: Plan, fields: tuple[Field, ...]) -> Question:
    """Return the question as entered. Raises `PlanError` with everything that is still missing or wrong."""
    kind = st.selectbox(
        "What do you want to know?", list(STATISTICS), format_func=STATISTICS.__getitem__, key=visit().key("ask-what")
    )
    faults: list[str | Fault] = []
    statistic = _statistic(kind, plan, fields, faults)
    st.markdown("**Which rows?**")
    where = _conditions("ask-where", "Only rows where", plan, faults)
    by = () if kind in ("quantile", "mode") else _groups(plan)
    price, about = st.columns(2, vertical_alignment="bottom")
    epsilon = price.text_input(
        "Price: ε of the budget",
        "0.1",
        key=visit().key("ask-epsilon"),
        help=term("epsilon", "A decimal or a fraction."),
    )
    rows = plan.rows_about
    if kind in ("proportion", "mean", "variance"):
        rows = about.number_input(
            "Roughly how many such rows",
            1,
            10**12,
            value=plan.rows_about,
            placeholder="such as 5000",
            key=visit().key("ask-rows"),
            help="A rough size that is public knowledge, to predict the error. The answer does not depend on it.",
        )
    if faults or statistic is None:
        raise PlanError(faults or "choose a column")
    return Question(
        dataset=plan.dataset,
        epsilon=decimal(epsilon),
        statistic=statistic,
        where=where,
        by=by,
        unit=plan.unit,
        rows_about=rows,
    )


def _groups(plan: Plan) -> tuple[Column, ...]:
    names = [column.name for column in plan.columns if not isinstance(column, Amount)]
    chosen = st.multiselect(
        "For each group of",
        names,
        max_selections=2,
        key=visit().key("ask-by"),
        placeholder="all together; or choose 1 or 2 columns",
        help="One price for the answers of all groups, since each row is in one group only.",
    )
    return tuple(plan.column(name) for name in chosen)


def _statistic(kind: str, plan: Plan, fields: tuple[Field, ...], faults: list[str | Fault]) -> Any:
    match kind:
        case "proportion":
            of = _conditions("ask-of", "… that meet this", plan, faults)
            if not of and not faults:
                faults.append("choose the condition of the share")
            return _try(faults, Proportion, of=of) if of else None
        case "mode":
            names = [column.name for column in plan.columns if not isinstance(column, Amount)]
            name = st.selectbox("Column", names, key=visit().key("ask-mode"))
            return _try(faults, Mode, of=plan.column(name))
        case "sum" | "mean" | "variance" | "quantile":
            grid = _grid(plan, fields, faults)
            if grid is None:
                return None
            if kind == "quantile":
                level = st.text_input(
                    "Share of the rows below it",
                    "0.5",
                    key=visit().key("ask-level"),
                    help="0.5 gives the median; 0.9 the value that nine in ten rows do not exceed.",
                )
                return _try(faults, Quantile, of=grid, level=decimal(level))
            return _try(faults, {"sum": Sum, "mean": Mean, "variance": Variance}[kind], of=grid)
    return Count()


def _grid(plan: Plan, fields: tuple[Field, ...], faults: list[str | Fault]) -> Grid | None:
    """Return a numeric column with public bounds and a public step; None while something is missing."""
    declared = {column.name: column for column in plan.columns if isinstance(column, Number | Amount)}
    others = [
        field.name
        for field in fields
        if field.kind_hint == "number" and field.name != plan.unit.id and field.name not in declared
    ]
    names = [*declared, *others]
    if not names:
        faults.append("no column of this table is known to hold numbers; declare one as a number on Publish")
        return None
    name = st.selectbox("Column", names, key=visit().key("ask-number"))
    column = declared.get(name)
    given = ("", "", "1") if column is None else tuple(f"{bound:f}" for bound in _bounds(column))
    low, high, step = st.columns(3)
    bounds = {
        "low": low.text_input("Lowest", given[0], key=visit().key(f"ask-low-{name}"), placeholder="such as 0"),
        "high": high.text_input("Highest", given[1], key=visit().key(f"ask-high-{name}"), placeholder="such as 120"),
        "step": step.text_input("In steps of", given[2], key=visit().key(f"ask-step-{name}")),
    }
    st.caption(
        "Bounds come from public knowledge, not from the data. Values beyond a bound count as that bound, and values "
        "between two steps as the nearer one. Wider bounds need more noise."
    )
    absent = st.text_input(
        "A missing value counts as",
        "",
        key=visit().key(f"ask-absent-{name}"),
        placeholder="nothing: its row is left out",
        help="This includes empty, infinite and unreadable values.",
    )
    if any(not text.strip() for text in bounds.values()):
        faults.append(f"enter public bounds for {name}")
        return None
    missing_as = () if column is None else column.missing_as
    grid: Grid | None = _try(faults, Grid, name=name, **bounds, absent=absent.strip() or None, missing_as=missing_as)
    return grid


def _bounds(column: Number | Amount) -> tuple[Decimal, Decimal, Decimal]:
    """Return the bounds and the step that a plan declares for a number; bins have no step, so 1 is offered."""
    if isinstance(column, Amount):
        return column.low, column.high, column.step
    return column.edges[0], column.edges[-1], Decimal(1)


def _conditions(key: str, label: str, plan: Plan, faults: list[str | Fault]) -> tuple[Condition, ...]:
    names = [column.name for column in plan.columns]
    chosen = st.multiselect(
        label, names, key=visit().key(key), placeholder="all rows; choose columns to narrow it down"
    )
    conditions = []
    for name in chosen:
        with st.container(border=True):
            try:
                condition = _condition(f"{key}-{name}", plan.column(name))
            except PlanError as error:
                faults.extend(error.faults)
                continue
            if condition is None:
                faults.append(f"choose values of {name}")
            else:
                conditions.append(condition)
    return tuple(conditions)


def _condition(key: str, column: Column) -> Condition | None:
    """Return a condition on a column: chosen values, a range, or a mask of bits; None while nothing is chosen."""
    ways = [way for way in WAYS if way != "From – to" or isinstance(column, Number)]
    if isinstance(column, Amount):
        ways = ["From – to"]
    title, choice = st.columns([1, 1], vertical_alignment="center")
    title.markdown(f"**{plain(column.name)}**")
    way = choice.segmented_control(
        f"How to choose values of {column.name}",
        ways,
        default=ways[0],
        required=True,
        key=visit().key(f"{key}-way"),
        label_visibility="collapsed",
    )
    if way == "Mask":
        bits = st.text_input(
            f"One bit for each of {column.size} cells",
            key=visit().key(f"{key}-mask"),
            placeholder="1" + "0" * (min(column.size, 12) - 1),
            help=", ".join(column.labels[:60]),
        )
        return Condition.masked(column, bits) if bits.strip() else None
    if way == "From – to":
        first, last = st.columns(2)
        low = first.text_input("From", key=visit().key(f"{key}-low"), placeholder="no bound").strip()
        high = last.text_input("To, included", key=visit().key(f"{key}-high"), placeholder="no bound").strip()
        return Condition.between(column.name, low or None, high or None) if low or high else None
    labels = st.multiselect(
        f"is one of these values of {column.name}",
        column.labels,
        key=visit().key(f"{key}-values"),
        placeholder="choose values",
        label_visibility="collapsed",
    )
    return Condition(column=column, labels=labels) if labels else None


def _try(faults: list[str | Fault], make: Any, **fields: Any) -> Any:
    """Return the result of `make`; if it raises, add the faults to `faults` and return None."""
    try:
        return make(**fields)
    except PlanError as error:
        faults.extend(error.faults)
        return None
