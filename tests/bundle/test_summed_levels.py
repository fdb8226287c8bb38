"""A bundle whose coarser levels are sums: it verifies, is read again and drawn again, and planted faults are found."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpengine import Ledger, Plan, Release, ReleaseError, draw_replicates, preview, release, verify
from dpengine.bundle.checks.model_check import ModelBounds, StatedError
from dpengine.bundle.write import pack
from dpengine.marginals.plan_levels import group_sizes
from dpengine.measure.allocation import allocate
from dpengine.replicates import basis_of, replicate
from tests import bundles
from tests.bundles import Members, members_of, rows_of, zipped

AGE = {"name": "age", "kind": "number", "edges": list(range(0, 81, 5)), "levels": {"20-year": [0, 20, 60, 80]}}
OTHERS = [{"name": name, "kind": "category", "values": ["v0", "v1", "v2"]} for name in ("a", "b", "c")]
TABLES = [["age", "a"], ["age", "b"], ["b", "c"], ["age@20-year"], ["age@20-year", "a"], ["age@20-year", "c"]]
COARSE = "tables/05-age-20-year-x-a.csv"
STRATEGIES = ["direct", "adaptive"]


def plan_of(strategy: str, **more: Any) -> Plan:
    fields: dict[str, Any] = {"dataset": "d", "epsilon": "1", "rows_about": 4_000, "columns": [AGE, *OTHERS]}
    return Plan(**(fields | {"tables": TABLES, "strategy": strategy, "coarser_levels": "summed"} | more))


def people() -> pa.Table:
    chance = np.random.default_rng(5)
    columns = {each["name"]: [f"v{k}" for k in chance.integers(0, 3, 4_000)] for each in OTHERS}
    return pa.table({"age": chance.integers(0, 80, 4_000)} | columns)


@cache
def made(strategy: str) -> Release:
    return release(people(), plan_of(strategy))


@cache
def members(strategy: str) -> Members:
    return members_of(pack(made(strategy)))


def faults_of(strategy: str, edit: Callable[[Members], None]) -> str:
    changed = dict(members(strategy))
    edit(changed)
    return "\n".join(bundles.faults_of(zipped(changed)))


def moved(line: int, place: int, by: int) -> Callable[[Members], None]:
    def edit(changed: Members) -> None:
        rows = rows_of(changed[COARSE])
        rows[line][place] = str(float(rows[line][place]) + by) if place == 3 else str(int(rows[line][place]) + by)
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        changed[COARSE] = text.getvalue().encode()

    return edit


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_it_verifies_and_says_that_levels_are_sums(strategy: str) -> None:
    manifest = verify(zipped(members(strategy)))
    assert manifest["strategy"].endswith("Coarser levels are sums of the finest ones.")
    assert b"coarser_levels: summed" in members(strategy)["plan.yaml"]
    measured = {name for entry in manifest["measurements"] for name in entry["columns"]}
    assert measured == {"age", "a", "b", "c"}
    for table, frame in made(strategy).tables.items():
        assert (frame["low"] <= frame["count"]).all(), table
        assert (frame["count"] <= frame["high"]).all(), table


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_counts_and_estimates_that_are_no_sums_are_found(strategy: str) -> None:
    assert "disagree on the counts" in faults_of(strategy, moved(1, 2, 1))
    assert "estimate" in faults_of(strategy, moved(1, 3, 40))


def test_a_narrower_interval_of_a_sum_is_found() -> None:
    """It still lies around its estimate and holds the count; only its width says that it is not that of the sum."""
    rows = rows_of(members("direct")[COARSE])
    width = {k: int(row[5]) - int(row[4]) for k, row in enumerate(rows[1:], start=1) if int(row[4]) > 0}
    line = max(width, key=lambda k: min(int(rows[k][2]) - int(rows[k][4]), int(rows[k][5]) - int(rows[k][2])))

    def narrow(changed: Members) -> None:
        moved(line, 4, 5)(changed)
        moved(line, 5, -5)(changed)

    assert faults_of("direct", narrow).splitlines()[0].startswith(f"{COARSE}: an interval is not the estimate")


def test_a_models_interval_narrower_than_the_noise_of_its_sums_is_found() -> None:
    rows = rows_of(members("adaptive")[COARSE])
    line = max(range(1, len(rows)), key=lambda k: float(rows[k][3]))
    middle = round(float(rows[line][3]))

    def narrow(changed: Members) -> None:
        ends = sorted([middle, int(rows[line][2])])
        moved(line, 4, ends[0] - 1 - int(rows[line][4]))(changed)
        moved(line, 5, ends[1] + 1 - int(rows[line][5]))(changed)

    assert "narrower than the noise of its columns" in faults_of("adaptive", narrow)


def test_the_least_interval_of_a_models_sum_has_the_noise_of_all_its_cells() -> None:
    """In a column of a group, noise grows with the root of the cells that it adds up."""
    plan, table = plan_of("adaptive"), ("age@20-year", "a")
    measured = [(allocate(plan.finest, (name,), Fraction(1, 8)), plan.shape((name,))) for name in plan.finest.counted]
    bounds = ModelBounds(plan, measured, StatedError((0.2, 0.75), 100.0))
    least = bounds.half_widths(table, np.full(plan.shape(table), 100.0))[0].max(axis=1)
    of_one, of_four, of_eight = (least[group_sizes(plan, table)[0] == size].max() for size in (1, 4, 8))
    assert of_one * 1.02 < of_four
    assert of_four * 1.02 < of_eight


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_half_width_of_a_sum_that_does_not_follow_is_found(strategy: str) -> None:
    manifest = json.loads(members(strategy)["manifest.json"])
    entry = next(each for each in manifest["tables"] if each["columns"] == ["age@20-year"])
    entry["half_width_95"] *= 0.5
    with pytest.raises(ReleaseError, match="half_width_95"):
        verify(zipped({**members(strategy), "manifest.json": json.dumps(manifest, indent=2).encode()}))


def test_earlier_versions_have_no_such_plan() -> None:
    manifest = json.loads(members("direct")["manifest.json"])
    manifest["schema_version"] = 7
    with pytest.raises(ReleaseError, match="schema_version"):
        verify(zipped({**members("direct"), "manifest.json": json.dumps(manifest, indent=2).encode()}))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_replicates_of_sums_are_sums_of_replicates(strategy: str) -> None:
    plan = plan_of(strategy)
    drawn = dict(replicate(basis_of(made(strategy)), [("age", "a"), ("age@20-year", "a")]))
    sums = np.stack([plan.resolution.coarsen(each, ("age", "a"), ("age@20-year", "a")) for each in drawn["age", "a"]])
    assert np.allclose(drawn["age@20-year", "a"], sums, atol=0.05)


def test_a_file_gives_replicates_only_if_it_has_all_that_a_model_draws_on() -> None:
    assert draw_replicates(zipped(members("direct")))
    with pytest.raises(ReleaseError, match="by its publisher alone"):
        draw_replicates(zipped(members("adaptive")))


def test_a_release_of_the_finest_tables_answers_for_their_sums_at_no_cost() -> None:
    ledger, table = Ledger.in_memory(), people()
    finest = [["age", "a"], ["age", "b"], ["b", "c"], ["age", "c"]]
    first = release(table, plan_of("direct", tables=finest, coarser_levels=None), ledger)
    again = release(table, plan_of("direct"), ledger)
    assert again.release_id == first.release_id
    assert ledger.spent("d") == 1
    assert verify(pack(again))["tables"][3]["columns"] == ["age@20-year"]


def test_auto_releases_what_crossing_could_not() -> None:
    wide = [{"name": f"c{k}", "kind": "number", "edges": list(range(41))} for k in range(5)]
    pairs = [["age", f"c{k}"] for k in range(5)]
    plan = plan_of("auto", columns=[AGE, *wide], tables=[*pairs, ["age@20-year"]], coarser_levels=None)
    assert verify(pack(preview(plan)))["strategy"].endswith("Coarser levels are sums of the finest ones.")
