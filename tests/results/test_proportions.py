"""Proportions of published counts: of everybody or within groups, with intervals that hold the true proportion."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import dpengine as dpe
from dpengine.results.proportions import groups_of

SIZES = {"a": 400, "b": 250, "c": 120, "d": 30}


def plan(epsilon: str, tables: list[object], **more: object) -> dpe.Plan:
    columns = [
        {"name": "kind", "kind": "category", "values": list(SIZES), "other": False, "missing": False},
        {"name": "town", "kind": "category", "values": list("ABCDE"), "other": False, "missing": False},
    ]
    return dpe.Plan.model_validate({"dataset": "d", "epsilon": epsilon, "columns": columns, "tables": tables, **more})


def rows() -> pd.DataFrame:
    """Towns of different sizes with the same kinds of people in other proportions."""
    cells = [(kind, town, size * (2 + (k * j) % 3)) for k, (kind, size) in enumerate(SIZES.items())
             for j, town in enumerate("ABCDE")]  # fmt: skip
    return pd.DataFrame([{"kind": kind, "town": town} for kind, town, size in cells for _ in range(size // 10)])


@pytest.fixture(scope="module")
def precise() -> dpe.Release:
    of = plan("1000", [["kind", "town"], ["town"]])
    return dpe.release(rows(), of, ledger=dpe.Ledger.in_memory())


@pytest.mark.parametrize("within", [(), ("town",)])
def test_without_noise_to_speak_of_proportions_are_those_of_the_rows(
    precise: dpe.Release, within: tuple[str, ...]
) -> None:
    frame = dpe.proportions(precise, ("kind", "town"), within)
    data = rows()
    counts = data.groupby(["kind", "town"]).size().reset_index(name="n")
    whole = data.groupby("town").size()[counts["town"]].to_numpy() if within else len(data)
    true = (counts["n"] / whole).to_numpy()
    for name in ("proportion", "proportion_low", "proportion_high"):
        assert frame[name].to_numpy() == pytest.approx(true)
    assert list(frame.columns)[:3] == ["kind", "town", "count"]


def test_groups_are_those_that_are_published(precise: dpe.Release) -> None:
    assert groups_of(precise.plan, ("kind", "town")) == [(), ("town",)]
    assert groups_of(precise.plan, ("town",)) == [()]
    with pytest.raises(dpe.ReleaseError, match="these groups are not published"):
        dpe.proportions(precise, ("kind", "town"), ("kind",))
    with pytest.raises(dpe.ReleaseError, match="no table of these columns"):
        dpe.proportions(precise, ("kind",))


def test_cells_that_do_not_add_up_to_people_have_no_proportions() -> None:
    unit = {"id": "who", "rows": 3}
    once, several = ({"columns": ["kind", "town"], "distinct": True, "cells_per_person": most} for most in (1, 2))
    assert groups_of(plan("1", [once, ["town"]], unit=unit), ("kind", "town")) == [], "the total counts rows"
    assert groups_of(plan("1", [several], unit=unit), ("kind", "town")) == []


def test_groups_of_two_columns_may_be_published_in_another_order() -> None:
    columns = [{"name": name, "kind": "category", "values": list(values), "other": False, "missing": False}
               for name, values in (("a", "xy"), ("b", "pqr"), ("c", "uv"))]  # fmt: skip
    of = dpe.Plan.model_validate(
        {"dataset": "d", "epsilon": 1000, "columns": columns, "tables": [["a", "b", "c"], ["b", "a"]]}
    )
    data = pd.DataFrame([(a, b, c) for k, (a, b, c) in enumerate(product("xy", "pqr", "uv")) for _ in range(9 * k + 5)],
                        columns=["a", "b", "c"])  # fmt: skip
    frame = dpe.proportions(dpe.release(data, of, ledger=dpe.Ledger.in_memory()), ("a", "b", "c"), ("a", "b"))
    true = data.groupby(["a", "b", "c"]).size() / data.groupby(["a", "b"]).size()
    assert frame["proportion"].to_numpy() == pytest.approx(true.to_numpy())


def test_an_interval_follows_from_those_of_both_counts() -> None:
    made = dpe.preview(plan("0.5", [["kind", "town"], ["town"]]))
    frame = dpe.proportions(made, ("kind", "town"), ("town",)).set_index(["kind", "town"])
    group = made.tables["town",].set_index("town")
    cell, of = frame.loc["a", "B"], group.loc["B"]
    part = cell["count"] / of["count"]
    down = np.hypot(part - cell["low"] / of["count"], part - cell["count"] / of["high"])
    up = np.hypot(cell["high"] / of["count"] - part, cell["count"] / of["low"] - part)
    assert cell["proportion_low"] == pytest.approx(max(part - down, 0))
    assert cell["proportion_high"] == pytest.approx(min(part + up, 1))


def test_a_column_may_be_called_like_the_new_ones() -> None:
    of = dpe.Plan(dataset="d", epsilon=1, columns=[dpe.YesNo(name="proportion")], tables=[["proportion"]])
    frame = dpe.proportions(dpe.preview(of), ("proportion",))
    assert frame["proportion_"].tolist()[:2] == ["yes", "no"]
    assert frame["proportion"].max() <= 1


def test_an_empty_group_says_nothing() -> None:
    of = plan("1000", [["kind", "town"], ["town"]])
    made = dpe.release(rows().query("town != 'C'"), of, ledger=dpe.Ledger.in_memory())
    empty = dpe.proportions(made, ("kind", "town"), ("town",)).query("town == 'C'")
    assert empty["proportion"].isna().all()
    assert (empty[["proportion_low", "proportion_high"]].to_numpy() == [0, 1]).all()


def test_intervals_hold_the_true_proportion() -> None:
    """With 95 % each, fewer than 130 of 160 would hold it with a probability of 1e-10, if they were independent."""
    data, held = rows(), []
    true = data.groupby(["kind", "town"]).size() / data.groupby("town").size()
    for k in range(8):
        made = dpe.release(
            data, plan("0.5", [["kind", "town"], ["town"]], dataset=f"d{k}"), ledger=dpe.Ledger.in_memory()
        )
        frame = dpe.proportions(made, ("kind", "town"), ("town",)).set_index(["kind", "town"])
        held.append((frame["proportion_low"] <= true) & (true <= frame["proportion_high"]))
        assert (frame["proportion_high"] - frame["proportion_low"]).median() < 0.5, "not by saying nothing"
    assert np.sum(held) >= 130
