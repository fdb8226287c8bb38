"""Hypothesis strategies for any plan that the schema admits, small, and for rows that may fit it."""

from __future__ import annotations

from typing import Any

import pandas as pd
from hypothesis import strategies as st

from dpengine import Plan, PlanError

__all__ = ["rows_for", "whole_plans"]

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=8).filter(
    str.strip
)
ODD = ["", " ", "?", "-99", "NA", "1e400", "=1+1", "2024-02-30", "(other)", "ß", "yes"]
EPSILONS = ["0.01", "0.1", "1/3", "1", "10", "1000"]


@st.composite
def _columns(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """One column of any kind, with up to about a dozen cells."""
    column: dict[str, Any] = {"name": name, "kind": draw(st.sampled_from(["number", "category", "yesno", "date"]))}
    column |= {key: draw(st.booleans()) for key in ("other", "missing")}
    column |= {"source": draw(st.sampled_from(["typed", "codebook", "confirmed"]))}
    column["missing_as"] = draw(st.lists(st.sampled_from(["?", "-99", "0", "2024-01-01"]), max_size=2, unique=True))
    match column["kind"]:
        case "number":
            if draw(st.booleans()):
                low = draw(st.integers(-5, 5))
                column["edges"] = {"from": low, "to": low + draw(st.integers(1, 100)), "bins": draw(st.integers(1, 8))}
            else:
                edge = st.decimals(-1000, 1000, places=2).map(str)
                column["edges"] = sorted(draw(st.lists(edge, min_size=2, max_size=6, unique_by=float)), key=float)
        case "category" if draw(st.integers(0, 4)) == 0:
            column |= {"codebook": "weekdays", "source": "standard"} if draw(st.booleans()) else {"values": ["only"]}
        case "category":
            column["values"] = draw(st.lists(TEXTS, min_size=1, max_size=6, unique=True))
        case "date":
            column |= {"from": "2024-01-01", "to": draw(st.sampled_from(["2024-01-01", "2024-03-01", "2025-12-31"]))}
            short = column["to"] < "2024-02"
            column["by"] = draw(st.sampled_from(["day", "week"] if short else ["month", "quarter", "year"]))
            column["format"] = draw(st.sampled_from([None, "%d.%m.%Y", "%m/%d/%y"]))
    return column


@st.composite
def _amounts(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to two amounts, with two ends or more knots."""
    ends = st.sampled_from(
        [
            {"from": 0, "to": 1},
            {"from": -5, "to": "2.5", "step": "0.5"},
            {"knots": [0, 10, 16, 20, 40]},
            {"from": -5, "to": 300, "step": 5, "upper": "found"},
        ]
    )
    names = draw(st.lists(st.sampled_from(["pay", "mean", "Größe"]), max_size=2, unique=True))
    return [{"name": name, "kind": "amount", "missing": draw(st.booleans())} | draw(ends) for name in names]


@st.composite
def _tables(draw: st.DrawFn, names: list[str], amounts: list[str], with_knots: list[str]) -> Any:
    """All tables of a width, or some that are listed, or one for its ranges."""
    if amounts:
        tables = draw(st.lists(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True),
                               min_size=1, max_size=3, unique_by=frozenset))  # fmt: skip
        some = st.lists(st.sampled_from(amounts), max_size=2, unique=True)
        parts = st.lists(st.sampled_from(["0.5", "0.25", "0.9999"]), min_size=1, max_size=2)
        quantiles = st.dictionaries(st.sampled_from(with_knots), parts) if with_knots else st.just({})
        pairs = st.just([amounts]) if len(amounts) == 2 else st.just([])
        slopes = [{"of": amounts[0], "on": amounts[1]}] if len(amounts) == 2 and amounts[1] not in with_knots else []
        return [
            {"columns": table, "mean": draw(some), "sum": draw(some), "quantiles": draw(quantiles),
             "covariance": draw(st.just([]) | pairs), "slope": draw(st.sampled_from([[], slopes]))}
            for table in tables
        ]  # fmt: skip
    match draw(st.integers(0, 3)):
        case 0:
            return {"each": draw(st.integers(1, min(3, len(names))))}
        case 1:
            columns = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
            other = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
            weight = draw(st.sampled_from([1, "0.4", 30]))
            beside = [] if {*other} == {*columns} else [{"columns": other, "weight": weight}]
            return [{"columns": columns, "ranges": True}, *beside]
        case _:
            table = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
            return draw(st.lists(table, min_size=1, max_size=4, unique_by=frozenset))


@st.composite
def whole_plans(draw: st.DrawFn) -> Plan:
    """Return a plan of up to four columns of any kind, by any strategy, for any unit."""
    name = st.one_of(st.sampled_from(["count", "low", "age", "Größe, cm"]), TEXTS)
    names = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    amounts = [each for each in draw(_amounts()) if each["name"] not in names]
    unit = draw(st.sampled_from([{"rows": 1}, {"id": "who is it", "rows": 1}, {"id": "who is it", "rows": 3}]))
    fields: dict[str, Any] = {
        "dataset": "any",
        "title": draw(st.one_of(st.just(""), TEXTS)),
        "notes": draw(st.sampled_from(["", "two\nlines", "<b>&</b>"])),
        "nouns": draw(
            st.sampled_from([{}, {"rows": "visits"}, {"rows": "Schüler/innen", "people": "patients’ (all)"}])
        ),
        "epsilon": draw(st.sampled_from(EPSILONS)),
        "unit": unit,
        "rows_about": draw(st.sampled_from([None, 1, 50, 10**6])),
        "columns": [*(draw(_columns(name)) for name in names), *amounts],
        "tables": draw(
            _tables(names, [each["name"] for each in amounts], [each["name"] for each in amounts if "knots" in each])
        ),
        "strategy": draw(st.sampled_from(["adaptive", "direct", "optimised", "auto"])),
    }
    try:
        return Plan(**fields)
    except PlanError:
        return draw(st.nothing())  # such as a value that is the name of a cell


@st.composite
def rows_for(draw: st.DrawFn, plan: Plan) -> pd.DataFrame:
    """Return up to 40 rows of declared and odd values, which belong to few people."""
    number = draw(st.sampled_from([0, 1, 40]))
    columns: dict[str, list[str]] = {}
    for column in plan.columns:
        known = [label.strip("[)]").split(", ")[0] for label in column.declared]
        value = st.sampled_from([*known, *ODD])
        columns[column.name] = draw(st.lists(value, min_size=number, max_size=number))
    if plan.unit.id is not None:
        people = st.sampled_from(["a", "b", "c", ""])
        columns[plan.unit.id] = draw(st.lists(people, min_size=number, max_size=number))
    return pd.DataFrame(columns, dtype=str)
