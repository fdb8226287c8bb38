"""A bundle with several levels of a column: whole and in agreement, and every planted fault in it is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, Release, release, verify
from dpengine.bundle.write import pack
from dpengine.replicates import DRAWS, basis_of, replicate
from tests import bundles
from tests.bundles import Members, manifest_in, members_of, rows_of, zipped
from tests.plans import geography_plan

ZONES = "tables/01-place-zone-x-sex.csv"


@cache
def made() -> Release:
    plan = geography_plan(1, about={"publisher": "Office"}, rows_about=300)
    places = plan.column("place").declared
    frame = pd.DataFrame({"place": [*places, "", "odd"] * 20, "sex": ["f", "m"] * (10 * (len(places) + 2))})
    return release(frame, plan)


@cache
def members() -> Members:
    return members_of(pack(made()))


def faults_of(edit: Callable[[Members], None]) -> str:
    changed = dict(members())
    edit(changed)
    return "\n".join(bundles.faults_of(zipped(changed)))


def edited(name: str, line: int, place: int, value: str) -> Callable[[Members], None]:
    def edit(changed: Members) -> None:
        rows = rows_of(changed[name])
        rows[line][place] = value
        changed[name] = ("\r\n".join(map(",".join, rows)) + "\r\n").encode()

    return edit


def test_it_verifies_and_names_its_levels() -> None:
    manifest = verify(zipped(members()))
    assert [entry["columns"] for entry in manifest["tables"]] == [*map(list, made().plan.marginals), []]
    assert manifest["domain"]["place@land"]["level_of"] == "place"
    assert rows_of(members()["synthetic.csv"])[0] == ["place@zone", "place@land", "place", "sex"]
    assert rows_of(members()[ZONES])[0] == ["place@zone", "sex", "count", "estimate", "low", "high"]
    assert b"zone" in members()["report.html"]
    for table, frame in made().tables.items():
        assert (frame["low"] <= frame["count"]).all(), table
        assert (frame["count"] <= frame["high"]).all(), table


def test_counts_and_estimates_and_levels_of_rows_that_disagree_are_found() -> None:
    zones, rows = rows_of(members()[ZONES]), rows_of(members()["synthetic.csv"])
    one_more = str(int(zones[1][2]) + 1)
    assert "disagree on the counts of place@zone" in faults_of(edited(ZONES, 1, 2, one_more))
    assert "disagree on the estimates" in faults_of(edited(ZONES, 1, 3, str(float(zones[1][3]) + 0.5)))
    assert "an interval is not the estimate" in faults_of(edited(ZONES, 1, 5, str(int(zones[1][5]) + 9)))
    other = next(row[0] for row in rows[1:] if row[0] != rows[1][0])
    faults = faults_of(edited("synthetic.csv", 1, 0, other))
    assert "place@zone is not the level of the column place everywhere" in faults


@pytest.mark.parametrize("fault", ["nothing", "less", "left out", "no level"])
def test_a_level_that_is_charged_too_little_is_found(fault: str) -> None:
    def edit(changed: Members) -> None:
        with manifest_in(changed) as manifest:
            first, *others = manifest["measurements"]
            if fault == "nothing":
                first["epsilon"] = "0"
            elif fault == "less":
                first["epsilon"] = "1/1000"
            elif fault == "left out":
                manifest["measurements"] = others
            else:
                first["columns"] = first["columns"][::-1] if len(first["columns"]) > 1 else ["place@land"]

    expected = {
        "nothing": "epsilon is not a number above 0", "less": "does not add up to 1",
        "left out": "does not add up to 1", "no level": "lies within no measured marginal",
    }  # fmt: skip
    assert expected[fault] in faults_of(edit)


def test_replicates_add_up_along_the_levels_too() -> None:
    plan = made().plan
    zones, places = (draws for _, draws in replicate(basis_of(made()), [("place@zone", "sex"), ("place", "sex")]))
    assert len(zones) == DRAWS + 1
    assert np.unique(zones[:, 0, 0]).size > 5
    group = plan.resolution.groups("place", "place@zone")
    for k in range(zones.shape[1]):
        assert np.allclose(places[:, group == k].sum(axis=1), zones[:, k], atol=0.5)


def test_dates_and_numbers_are_published_at_their_levels_and_rows_name_the_groups_they_lie_in() -> None:
    span = {"from": "2024-01-01", "to": "2025-06-30", "by": "month"}
    columns = {
        "visit": {"kind": "date", **span, "levels": ["quarter", "year"]},
        "age": {"kind": "number", "whole": True, "edges": [0, 5, 10, 15, 20], "levels": {"10-year": 10}},
    }
    frame = pd.DataFrame({"visit": ["2024-05-17", "2025-03-31", ""] * 100, "age": [4, 12, 19] * 100})
    for name, coarse in (("visit", ["2024-Q2", "2025-Q1", ""]), ("age", ["[0, 10)", "[10, 20]", "[10, 20]"])):
        level = {"visit": "visit@quarter", "age": "age@10-year"}[name]
        plan = Plan(dataset="d", epsilon="100", columns=[{"name": name} | columns[name]], tables=[[level], [name]])
        bundle = pack(release(frame, plan))
        verify(bundle)
        header, *rows = rows_of(members_of(bundle)["synthetic.csv"])
        assert header == [level, name]
        assert Counter(row[0] for row in rows) == Counter(coarse * 100)


def test_two_columns_at_one_level_each_and_a_mean_by_such_a_level_are_published() -> None:
    columns = [
        {"name": "county", "kind": "category", "values": {"CA": ["Kern", "Napa"], "TX": ["Travis"]},
         "levels": ["state", "county"], "other": False, "missing": False},
        {"name": "age", "kind": "number", "edges": [0, 5, 10, 15, 20], "levels": {"10-year": 10}, "missing": False},
        {"name": "pay", "kind": "amount", "from": 0, "to": 100},
    ]  # fmt: skip
    frame = pd.DataFrame({"county": ["Kern", "Napa", "Travis"] * 100, "age": [4, 12, 19] * 100, "pay": [50] * 300})
    table = {"columns": ["county@state", "age@10-year"], "mean": ["pay"]}
    made = release(frame, Plan(dataset="d", epsilon="100", columns=columns, tables=[table]))
    bundle = pack(made)
    manifest = verify(bundle)
    assert manifest["domain"]["age@10-year"]["level_of"] == "age"
    assert made.tables["county@state", "age@10-year"]["count"].tolist() == [100, 100, 0, 0, 100, 0]
    assert rows_of(members_of(bundle)["synthetic.csv"])[0] == ["county@state", "age@10-year", "pay"]
