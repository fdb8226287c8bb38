"""Privately chosen quantiles: a person costs at most ε in any neighbouring table, and choices are right.

What is exact has no false alarms. The tests that draw choose at so much ε that a wrong choice has a probability below
1e-20: a step that is one person off has exp(−100) times the weight of the right one.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpengine import Ledger, Plan, predict, release, verify
from dpengine.array_types import Ints
from dpengine.bundle.promises import promises
from dpengine.counting.count import count
from dpengine.exact import exact_text
from dpengine.marginals.measurement import QUANTILES, Allocation, Measurement, QuantileShare
from dpengine.measure.quantile_choice import SHARE, choose_quantiles, contests, row_sensitivity, scores
from dpengine.measure.strategy import decide
from dpengine.noise.selection import permute_and_flip_probabilities
from dpengine.sources.open import open_table
from dpengine.spec.domain import Amount
from dpengine.spec.numeric.amount_steps import Stepped, at_steps
from tests import ibis_tables
from tests.bundles import faults_of, manifest_in, members_of, stated, zipped

pytestmark = ibis_tables.TOLERATED

PARTS = [Decimal(part) for part in ("0.5", "0.25", "0.9")]
SEX = {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False}
PAY = {"name": "pay", "kind": "amount", "knots": [0, 10, 20, 30, 40, 60], "step": "0.5"}
SMALL = Amount(name="pay", low="0", high="4", knots=["0", "1", "2", "3", "4"])


def plan_of(*tables: Any, epsilon: object = 1000, **more: Any) -> Plan:
    town = {**SEX, "name": "town", "values": ["north", "south"]}
    return Plan(dataset="d", epsilon=epsilon, columns=[SEX, town, PAY], tables=list(tables), **more)


MEDIAN = {"columns": ["sex"], "quantiles": {"pay": [0.5]}}


@pytest.mark.parametrize("part", PARTS)
def test_scores_are_distances_in_rank_and_one_row_moves_each_by_the_sensitivity_at_most(part: Decimal) -> None:
    moved, p, q = 0, *Fraction(part).as_integer_ratio()
    for numbers in itertools.product(range(4), repeat=3):
        counts = np.array(numbers)
        for place, score in enumerate(scores(counts, part)):
            below, up_to, wanted = counts[:place].sum(), counts[: place + 1].sum(), Fraction(p, q) * counts.sum()
            assert score == -q * max(0, below - wanted, wanted - up_to)
        for place in range(3):
            more = counts + np.eye(3, dtype=np.int64)[place]
            moved = max(moved, int(np.abs(scores(more, part) - scores(counts, part)).max()))
    assert moved == row_sensitivity(part)


def noisy(share: QuantileShare, cells: int = 2) -> Measurement:
    """A noisy table of given numbers, the same for all neighbours."""
    values = np.tile([3, 9, 14, 9, 2, 1], (cells, 1))
    return Measurement(Allocation((*share.columns, share.amount), Fraction(1), share.sensitivity), values)


@pytest.mark.parametrize("rows", [1, 2])
def test_no_outcome_reveals_more_about_a_person_than_epsilon(rows: int) -> None:
    """All tables of two cells with few people, and every way to add a person's rows to one cell or both.

    Probabilities are those of permute-and-flip from scores, ε and sensitivity as they are handed over to it.
    """
    share = QuantileShare(("sex",), "pay", tuple(sorted(PARTS)), Fraction(3, 2), rows)
    added = list(itertools.product(range(2), range(6)))
    worst, of_part = 0.0, np.zeros(len(PARTS))
    for women, men in [((0, 0, 0, 0, 0), (1, 0, 2, 0, 1)), ((0, 2, 1, 1, 0), (0, 0, 0, 0, 1))]:
        without = np.array([[*women, 0], [*men, 1]])
        before = log_probabilities(without, share)
        for person in itertools.combinations_with_replacement(added, rows):
            joined = without.copy()
            np.add.at(joined, tuple(np.transpose(person)), 1)
            after = log_probabilities(joined, share)
            moved = np.array([np.abs(x - y).max() for x, y in zip(before, after, strict=True)])
            worst = max(worst, float(moved.sum()))
            of_part = np.maximum(of_part, moved.reshape(len(PARTS), -1).sum(axis=1))  # in both cells together
    assert 0.5 * share.epsilon < worst <= float(share.epsilon) * (1 + 1e-9)
    assert (of_part <= float(share.epsilon) / len(PARTS) * (1 + 1e-9)).all(), "each part keeps to its own share"


def log_probabilities(counts: Ints, share: QuantileShare) -> list[np.ndarray]:
    """The logarithm of the probability of each candidate, for each choice."""
    return [np.log(permute_and_flip_probabilities(each.scores, each.epsilon, each.sensitivity))
            for each in contests(counts, noisy(share), SMALL, share)]  # fmt: skip


def test_choices_are_the_winners_of_the_stated_contests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is the winner of each contest; afterwards, they are only sorted."""
    share = QuantileShare(("sex",), "pay", tuple(sorted(PARTS)), Fraction(1), 3)
    counts, choices = np.array([[5, 1, 1, 1, 9, 0], [0, 0, 7, 0, 0, 2]]), []

    def falling(scored: Ints, epsilon: Fraction, sensitivity: int) -> int:
        choices.append((scored.tolist(), epsilon, sensitivity))
        return len(scored) - 1 if len(choices) <= 2 else 0  # the first part, in both cells, gets the largest value

    monkeypatch.setattr("dpengine.measure.quantile_choice.permute_and_flip", falling)
    chosen = choose_quantiles(counts, noisy(share), SMALL, share)
    expected = list(contests(counts, noisy(share), SMALL, share))
    assert choices == [(each.scores.tolist(), each.epsilon, each.sensitivity) for each in expected]
    assert (
        sum((epsilon for _, epsilon, _ in choices), Fraction(0)) == 2 * share.epsilon
    )  # of two cells, each person in one
    ends = np.array([each.places[-1 if k < 2 else 0] for k, each in enumerate(expected)]).reshape(3, 2).T
    assert (np.diff(ends, axis=1) < 0).any()
    assert np.array_equal(chosen.places, np.sort(ends, axis=1))


def test_parts_of_epsilon_add_up_and_choices_are_made_only_where_they_help() -> None:
    plan = plan_of(MEDIAN, ["town"], epsilon="7/3")
    strategy = decide(plan)
    (share,) = strategy.quantiles
    table = next(each for each in strategy.allocations if "pay" in each.columns)
    assert share.epsilon / (share.epsilon + table.epsilon) == SHARE
    assert sum((each.epsilon for each in (*strategy.allocations, share)), Fraction(0)) == plan.epsilon
    several = decide(plan_of(MEDIAN, {"columns": ["town", "sex"], "quantiles": {"pay": [0.5]}}, rows_about=10**6))
    assert [each.columns for each in several.quantiles] == [("sex",), ("sex", "town")]
    assert sum((each.epsilon for each in (*several.allocations, *several.quantiles)), Fraction(0)) == 1000
    both = {"columns": ["town", "sex"], "quantiles": {"pay": [0.5]}}
    of_towns = decide(plan_of(both, {"columns": ["town"], "quantiles": {"pay": [0.5]}}, rows_about=10**6))
    assert of_towns.allocations == several.allocations
    assert of_towns.plan_id != several.plan_id, "other quantiles are chosen beside the same table"
    none = [
        plan_of({**MEDIAN, "mean": ["pay"]}),  # quantiles come with means for nothing
        plan_of(MEDIAN, epsilon="0.01"),  # groups too small for the noise
        plan_of(MEDIAN, epsilon=2, rows_about=100),
        plan_of(MEDIAN, epsilon=1, rows_about=600),  # intervals would be half as wide again
        plan_of({"columns": ["sex"], "quantiles": {"pay": [k / 20 for k in range(1, 20)]}}, epsilon="0.2"),  # too many
        plan_of(MEDIAN, strategy="adaptive"),
    ]
    assert not any(getattr(decide(each), "quantiles", ()) for each in none)
    assert decide(plan_of(MEDIAN, epsilon=1, rows_about=1000)).quantiles
    assert (
        decide(plan_of({"columns": ["sex"], "quantiles": {"pay": [0.25]}})).plan_id != decide(plan_of(MEDIAN)).plan_id
    )


def test_a_choice_takes_its_epsilon_from_the_table_for_which_it_is_worth_it() -> None:
    """Two measured tables hold the quantile; only in the second one are people enough for the noise."""
    more = {"columns": ["town"], "quantiles": {"pay": [0.9]}, "weight": 100}
    both = {"columns": ["sex", "town"], "quantiles": {"pay": [0.5]}}
    plan = plan_of(both, more, epsilon=1, rows_about=3000, strategy="optimised")
    (share,), tables = decide(plan).quantiles, {each.columns: each.epsilon for each in decide(plan).allocations}
    assert [*tables] == [("pay", "sex", "town"), ("pay", "town")]
    assert share.epsilon / (share.epsilon + tables["pay", "town"]) == SHARE
    assert release(frame(), plan).measured.cost == 1
    rich = decide(plan_of(both, more, epsilon=100, rows_about=10**5, strategy="optimised"))
    assert [each.columns for each in rich.allocations] == [*tables]
    assert [each.columns for each in rich.quantiles] == [("sex", "town"), ("town",)], "each is chosen once"


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    pay = np.clip(np.round(2 * rng.normal(28, 9, 4001)) / 2, 0, 60)
    pay[:900] = 22.5  # many people at one value
    rows = pd.DataFrame({"sex": rng.choice(["f", "m"], 4001), "town": rng.choice(["north", "south"], 4001), "pay": pay})
    rows.loc[::9, "pay"] = np.nan
    return rows


@pytest.mark.parametrize("tables", [
    [MEDIAN],
    [{"columns": ["town", "sex"], "quantiles": {"pay": [0.5, 0.3]}}, ["town"]],
    [{"columns": ["sex", "town"], "quantiles": {"pay": [0.1]}},
     {"columns": ["town"], "quantiles": {"pay": [0.9, 0.1]}}],
])  # fmt: skip
def test_with_much_epsilon_the_published_quantile_is_the_true_one(tables: list[Any]) -> None:
    """The exact odds of all contests: one chooses wrongly with a probability below 10⁻⁸⁰ in each of the three."""
    rows, plan = frame(), plan_of(*tables, epsilon=1000, rows_about=10**9)
    made = release(rows, plan)
    assert made.measured.quantiles
    assert made.measured.cost == 1000
    for table in plan.marginals:
        for part in plan.quantiles(table, "pay"):
            quantiles = made.tables[table].set_index(table[0] if len(table) == 1 else list(table))[
                f"quantile_{part}_pay"
            ]
            for name, pay in rows.dropna().groupby(table[0] if len(table) == 1 else list(table)).pay:
                value = quantiles[name]
                assert (pay < value).sum() <= Fraction(part) * len(pay) <= (pay <= value).sum()


def test_a_release_is_kept_reopened_and_verified_and_costs_nothing_again() -> None:
    ledger, plan = Ledger.in_memory(), plan_of(MEDIAN, epsilon="1.5")
    first, again = (release(frame(), plan, ledger) for _ in range(2))
    assert first.bundle == again.bundle
    assert ledger.spent("d") == Fraction("1.5")
    manifest = verify(first.bundle)
    (entry,) = (each for each in manifest["measurements"] if each.get("purpose") == QUANTILES)
    assert (entry["columns"], entry["epsilon"], entry["sensitivity"]) == (["sex", "pay"], "1.05", 1)
    assert predict(plan).set_index("table")["quantile_0.5_pay_half_width_95"]["sex"] > 0


@pytest.mark.by_day(3)
@pytest.mark.parametrize(("edit", "fault"), [
    (("sensitivity", 2), "does not protect a person"),
    (("epsilon", "1"), "does not protect a person"),
    (("cells", 3), "number of quantiles does not fit"),
    (("mechanism", "discrete Laplace"), "mechanism or number of quantiles"),
    (("columns", ["town", "pay"]), "no such quantiles"),
    (("columns", []), "no such quantiles"),
    (("merged_to", [2]), "not merged"),
    (("purpose", "something else"), "units_per_row is not 40, as for these columns"),
])  # fmt: skip
def test_a_changed_choice_is_found(edit: tuple[str, object], fault: str) -> None:
    members = members_of(_bundle())
    stated("measurements", 1, edit[0], value=edit[1])(members)
    assert any(fault in each for each in faults_of(zipped(members))), faults_of(zipped(members))


@pytest.mark.parametrize(("place", "fault"), [
    (0, "the same columns are measured twice"), (1, "it chooses the same quantiles again"),
])  # fmt: skip
def test_a_bundle_that_measures_or_chooses_twice_is_refused(place: int, fault: str) -> None:
    members = members_of(_bundle())
    with manifest_in(members) as manifest:
        entry = manifest["measurements"][place]
        entry |= {
            "epsilon": exact_text(Fraction(entry["epsilon"]) / 2),
            "scale": exact_text(2 * Fraction(entry["scale"])),
        }
        manifest["measurements"].append(entry)
    assert any(fault in each for each in faults_of(zipped(members)))


@cache
def _bundle() -> bytes:
    return release(frame(), plan_of(MEDIAN, epsilon="1.5")).bundle


def test_earlier_versions_say_nothing_of_choices_and_make_none() -> None:
    members = members_of(_bundle())
    plan = Plan.loads(members["plan.yaml"].decode())
    sentences = [promises(plan, version)["post_processing"] for version in (4, 5, 6)]
    assert sentences[0] == sentences[1] != sentences[2]
    stated("schema_version", value=5)(members)
    assert any("units_per_row is not 40" in each for each in faults_of(zipped(members)))


@pytest.mark.parametrize("step", ["0.5", "0.01"])
def test_steps_are_counted_alike_here_and_in_another_engine(step: str) -> None:
    """Also where neighbouring steps stand together in a bin, beside a table of the amount's knots."""
    pay = {**PAY, "step": step}
    plan = Plan(dataset="d", epsilon=1, columns=[SEX, pay], tables=[MEDIAN])
    amount, rows = at_steps(plan.amount("pay")), frame()
    places = np.round(rows.pay / float(step)).fillna(amount.grid.steps + 1).to_numpy(dtype=np.int64)
    expected = np.zeros((2, amount.size), dtype=np.int64)
    bins = np.where(places > amount.grid.steps, amount.declared_size, places // amount.width)
    np.add.at(expected, ((rows.sex == "m").to_numpy(dtype=np.int64), bins), 1)
    assert (amount.width > 1) == (step == "0.01")
    for source in (rows, ibis_tables.in_duckdb(pa.Table.from_pandas(rows, preserve_index=False))):
        with open_table(source) as table:
            soft, steps = count(table, plan, [("sex", "pay"), Stepped(("sex", "pay"))], truncation_key=b"any")
        assert np.array_equal(steps, expected)
        assert soft.sum() == len(rows) * plan.grain(("sex", "pay"))


def test_a_person_keeps_as_many_rows_where_steps_are_counted_as_elsewhere() -> None:
    plan = Plan(dataset="d", epsilon=1, unit={"id": "who", "rows": 2}, columns=[SEX, PAY], tables=[MEDIAN])
    rows = pd.DataFrame({"who": ["a"] * 9 + ["b"], "sex": "f", "pay": [*range(9), 7]})
    with open_table(rows) as table:
        soft, stepped = count(table, plan, [("sex", "pay"), Stepped(("sex", "pay"))], truncation_key=b"any")
    assert stepped.sum() == 3
    assert stepped.max() <= 2
    assert soft.sum() == 3 * plan.grain(("sex", "pay"))


def test_bins_of_steps_hold_the_whole_range() -> None:
    amount = at_steps(Amount(name="x", low="0", high="9999", missing=False))
    assert amount.middles[0] == 1
    assert amount.middles[-1] == amount.grid.steps
    assert replace(Allocation(("x",), Fraction(1), 1)).grain == amount.grain == 1
