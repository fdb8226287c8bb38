"""Tables for ranges, at levels and others in one plan: their shares add up to ε, they agree, and they verify."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, PlanError, Unit, draw_replicates, open_table, predict, preview, release, verify
from dpengine.array_types import Columns, Ints
from dpengine.bundle import write
from dpengine.counting import count as counting
from dpengine.estimate.estimates import derive_estimates
from dpengine.exact import exact_text
from dpengine.marginals.measurement import GRAIN
from dpengine.measure.box_strategy import Hierarchical
from dpengine.measure.level_strategies import Levels, LevelsApart
from dpengine.measure.parts import InParts
from dpengine.measure.strategy import decide
from dpengine.measure.summed_strategy import Summed
from dpengine.results.mock_table import mock_counts
from dpengine.results.result import Result
from tests.bundles import faults_of, manifest_in, members_of, zipped
from tests.measure.test_box_strategy import counted

PLACE = {"name": "place", "kind": "category", "levels": ["land", "place"], "other": False, "missing": False,
         "values": {f"l{k}": [f"p{k}{j}" for j in range(2 + k)] for k in range(4)}}  # fmt: skip
AGE = {"name": "age", "kind": "number", "edges": list(range(61)), "levels": {"20-year": 20}, "other": False}
AGES = {"columns": ["age"], "ranges": True}
TABLES: dict[str, list[Any]] = {
    "levels beside ranges": [AGES, ["place@land", "sex"], ["place", "sex"]],
    "a level of the column for ranges": [AGES, ["age@20-year", "sex"], ["sex", "trade"]],
    "two for ranges": [{"columns": ["age", "sex"], "ranges": True}, {"columns": ["hours"], "ranges": True}, ["sex"]],
    "a ring at a level": [AGES, *(list(pair) for pair in combinations(["age@20-year", "sex", "edu"], 2))],
    "two for ranges in a ring": [{"columns": [name, "sex"], "ranges": True} for name in ("age", "hours")]
    + [["sex", "trade"], ["trade", "age"]],
    "all at once": [AGES, {"columns": ["hours", "sex"], "ranges": True}, ["place@land", "sex"],
                    {"columns": ["sex", "trade"], "mean": ["pay"]}, {"columns": ["place"], "sum": ["pay"]}],
    "a model beside ranges": [AGES, *map(list, combinations(["age", "sex", "trade", "hours"], 2))],
    "a model beside ranges with other columns": [
        {"columns": ["age", "hours"], "ranges": True}, *map(list, combinations(["age", "sex", "trade", "place"], 2))
    ],
    "a model beside two for ranges, one at a level": [
        AGES, {"columns": ["hours", "sex"], "ranges": True},
        *map(list, combinations(["age@20-year", "hours", "trade", "place"], 2)),
        ["sex", "trade"],
        {"columns": ["trade"], "mean": ["pay"]},
    ],
    "a model beside levels that share columns with it and with ranges": [
        {"columns": ["sex", "place"], "ranges": True}, ["place", "sex", "hours"], ["place@land", "hours"],
        ["hours", "age"], ["sex", "age"],
    ],
    "levels beside a model": [["place"], ["place@land", "sex"], ["sex", "trade"], ["trade", "edu"], ["edu", "sex"]],
    "levels of two columns apart": [["place"], ["place@land", "sex"], ["age"], ["age@20-year"]],
    "levels beside a table": [["place"], ["place@land", "sex"], {"columns": ["sex", "edu"], "mean": ["pay"]}],
}  # fmt: skip

MODELLED = [name for name in TABLES if name.startswith("a model beside")]


@cache
def plan_of(name: str, epsilon: str = "1/3") -> Plan:
    columns = [
        PLACE, AGE,
        {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False},
        {"name": "trade", "kind": "category", "values": ["a", "b", "c"]},
        {"name": "edu", "kind": "category", "values": ["x", "y"]},
        {"name": "hours", "kind": "number", "edges": list(range(41)), "missing": False},
        {"name": "pay", "kind": "amount", "from": 0, "to": 10},
    ]  # fmt: skip
    return Plan(
        dataset="d", epsilon=epsilon, rows_about=3000, columns=columns, tables=TABLES[name], strategy="adaptive"
    )


def row(**values: Any) -> pd.DataFrame:
    plain = {"place": "p00", "age": 3, "sex": "f", "trade": "a", "edu": "x", "hours": 7, "pay": 4}
    return pd.DataFrame([{**plain, **values}], dtype=object)


@pytest.mark.by_day(3)
@pytest.mark.parametrize("name", TABLES)
def test_all_tables_agree_and_the_release_verifies(name: str, tmp_path: Path) -> None:
    made = preview(plan_of(name))
    plan = made.plan
    assert made.measured.cost == plan.epsilon
    finer = plan.resolution.finer_columns
    for one, other in product((*plan.marginals, ()), repeat=2):
        assert made.counts(one).min() >= 0
        for shared in {plan.resolution.shared_columns(one, other), ()}:
            columns = [finer(shared, table) for table in (one, other)]
            sums = [
                _summed(made, table, of, shared)
                for table, of in zip((one, other), columns, strict=True)
                if of is not None
            ]
            assert (sums[0] == sums[1]).all(), (one, other, shared)
    write.save(made, tmp_path / "release.zip")
    verify(tmp_path / "release.zip")
    again = Result.from_bytes(made.to_bytes())
    for table in plan.marginals:
        assert (again.counts(table) == made.counts(table)).all()
        cells = made.cells(table)
        assert (cells["low"] <= cells["count"]).all()
        assert (cells["count"] <= cells["high"]).all()
    assert set(draw_replicates(made)) == {*plan.marginals, ()}


def _summed(made: Result, table: Columns, columns: Columns, shared: Columns) -> Ints:
    axes = tuple(k for k, each in enumerate(table) if each not in columns)
    left = [each for each in table if each in columns]
    sums = np.asarray(made.counts(table).sum(axis=axes)).transpose([left.index(each) for each in columns])
    return made.plan.resolution.coarsen(sums, columns, shared)


@pytest.mark.parametrize("name", ["all at once", "levels beside a table", *MODELLED])
def test_no_row_moves_all_parts_together_by_more_than_epsilon(name: str) -> None:
    """Each row moves each measured marginal by one cell; boxes and models add up to their share along any cell."""
    plan = plan_of(name)
    strategy = decide(plan)
    assert isinstance(strategy, InParts)
    boxes, direct, rest = strategy._parts
    assert sum((each.epsilon for each in (*boxes, *direct)), rest) == plan.epsilon
    marginals = list(strategy.marginals)[: len(boxes) + len(direct)]
    assert marginals == [each.columns for each in (*boxes, *direct)]
    base = row()
    with open_table(base) as table:
        before = counting.count(table, plan, marginals, truncation_key=b"k" * 32)
    for more in (row(place="p31", age=59, pay=None), row(sex="m", trade="odd", hours="x", edu=None)):
        with open_table(pd.concat([base, more])) as table:
            counts = [before, counting.count(table, plan, marginals, truncation_key=b"k" * 32)]
        moved = [Fraction(int(np.abs(other - one).sum()), each.grain)
                 for one, other, each in zip(*counts, (*boxes, *direct), strict=True)]  # fmt: skip
        spent = sum((rows / each.scale for rows, each in zip(moved, (*boxes, *direct), strict=True)), rest)
        assert spent == plan.epsilon


@pytest.mark.parametrize("name", TABLES)
def test_what_is_measured_costs_what_was_allocated(name: str) -> None:
    plan = plan_of(name)
    strategy = decide(plan)
    assert isinstance(strategy, InParts)
    boxes, direct, rest = strategy._parts
    measured = strategy.measure(counted(plan))
    assert [each.cost for each in measured.trees] == [each.epsilon for each in boxes]
    assert [one.allocation for one in measured.marginals[: len(direct)]] == direct
    modelled = sum((one.allocation.epsilon for one in measured.marginals[len(direct) :]), Fraction(0))
    audit = measured.audit.epsilon if measured.audit is not None else Fraction(0)
    assert modelled + audit + sum((each.epsilon for each in measured.choices), Fraction(0)) == rest


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", TABLES)
def test_plans_of_much_epsilon_are_predicted_and_previewed(name: str) -> None:
    """Where what levels say of the rest has hardly any noise, its scale is not rounded to 0."""
    plan = plan_of(name, "1000")
    assert np.isfinite(predict(plan)["half_width_95"]).all()
    assert all(np.isfinite(preview(plan).estimates.estimate(table)).all() for table in plan.marginals)


def test_a_part_that_is_charged_nothing_is_caught() -> None:
    plan = plan_of("all at once")
    strategy = decide(plan)
    assert isinstance(strategy, InParts)
    shares = strategy.shares
    for k in range(len(shares)):
        cheap = InParts(plan)
        cheap.__dict__["shares"] = [share * (1 + (k == j)) for j, share in enumerate(shares)]
        with pytest.raises(ArithmeticError, match="does not cost"):
            cheap.measure(counted(plan))


def test_each_table_is_read_from_the_part_that_is_for_it() -> None:
    estimates = preview(plan_of("all at once")).estimates
    read = {table: estimates.source_part(table)[0] for table in estimates.plan.marginals}  # type: ignore[attr-defined]
    assert [*read.values()] == ["boxes", "boxes", "levels", "direct", "levels"]
    assert type(decide(plan_of("levels beside a model"))) is InParts
    alone = Plan(**plan_of("all at once").to_dict() | {"tables": [AGES, ["age@20-year"]], "strategy": "adaptive"})
    assert type(decide(alone)) is Hierarchical, "a coarser level is a sum of ranges"
    levels = Plan(**alone.to_dict() | {"tables": [["place"], ["place@land"]], "strategy": "adaptive"})
    assert type(decide(levels)) is Levels, "nothing is left for a model"
    assert decide(levels).why.startswith("Adaptive: levels of place")


def test_auto_measures_in_parts_where_the_rest_is_better_modelled_or_one_table_would_be_too_large() -> None:
    """Few places are nearer in the model of all columns."""
    others = [{"name": f"c{k}", "kind": "number", "edges": list(range(31))} for k in range(4)]
    rest = [list(pair) for pair in combinations([f"c{k}" for k in range(4)], 2)]
    many = {"name": "place", "kind": "number", "edges": list(range(301)), "levels": {"land": 20}}
    fields: dict[str, Any] = {"dataset": "d", "columns": [PLACE, *others], "rows_about": 5000, "epsilon": "0.1"}
    large = fields | {"columns": [many, *others], "rows_about": 50_000, "epsilon": "0.5"}
    plan = Plan(**large, tables=[["place"], ["place@land"], *rest])
    assert type(decide(plan)) is InParts
    assert "which pairs to measure is chosen" in decide(plan).why
    assert type(decide(Plan(**fields, tables=[["place"], ["place@land"], *rest]))) is Summed
    assert type(decide(Plan(**fields, tables=[["place"], ["place@land", "c0"], ["c0"]]))) is LevelsApart
    assert type(decide(Plan(**fields, tables=[["place"], ["place@land"], ["c0"]], strategy="adaptive"))) is InParts
    with pytest.raises(PlanError, match="above the limit"):
        Plan(**fields, tables=[["place"], ["place@land"], *rest], strategy="direct")


def test_a_ring_through_levels_is_refused_in_words() -> None:
    wide = [{"columns": [name, "sex"], "ranges": True} for name in ("age", "hours")]
    tables = [*wide, ["age@20-year", "hours"]]
    plan = Plan(**plan_of("all at once").to_dict() | {"tables": tables, "strategy": "adaptive"})
    with pytest.raises(PlanError, match="overlap in a ring through levels of age"):
        decide(plan).check()


def test_a_model_draws_on_tables_beside_ranges_where_they_would_have_much_noise() -> None:
    strategies = {epsilon: decide(plan_of("a model beside ranges", epsilon)) for epsilon in ("1/3", "50")}
    assert all(isinstance(each, InParts) for each in strategies.values())
    assert [each.model is not None for each in strategies.values()] == [True, False]  # type: ignore[attr-defined]
    for each, said in zip(strategies.values(), ("is chosen privately", "are measured as they are"), strict=True):
        assert each.why.endswith(f"{said}.")
    few = Plan(**plan_of("a model beside ranges").to_dict() | {"tables": [AGES, ["sex", "trade"]]})
    assert decide(few).model is None, "a single table is measured"  # type: ignore[attr-defined]


@pytest.mark.parametrize("epsilon", ["1/3", "50"])
def test_ranges_beside_a_model_keep_their_boxes(epsilon: str) -> None:
    """Each box of a table for ranges keeps its expected count to within two people, also where rows are generated."""
    made = preview(plan_of("a model beside ranges", epsilon))
    tree, counts = made.estimates.trees[0], made.counts(("age",))  # type: ignore[attr-defined]
    known = made.estimates.boxes[0].tree  # type: ignore[attr-defined]
    expected = replace(known, total=float(counts.sum())).expected
    for leaf in tree.leaves:
        first, last = tree.boxes.first[leaf, 0], tree.boxes.last[leaf, 0]
        assert abs(counts[first:last].sum() - expected[leaf]) < 2


def test_the_total_counts_nothing_twice() -> None:
    """The total's variance is that of independent totals: of the boxes alone, and of the model.

    95 % of Laplace noise, the heaviest of its sums, is within 2.12 standard deviations.
    """
    estimates = preview(plan_of("a model beside ranges")).estimates
    of_boxes, of_model = estimates.trees[0].unbiased_total()[1], estimates.model.total[1]  # type: ignore[attr-defined]
    variance = 1 / (1 / of_boxes + 1 / of_model)
    assert estimates._squares.variance(()) == pytest.approx(variance)  # type: ignore[attr-defined]
    assert 2.12 * variance**0.5 <= estimates.half_width(()) <= 2.3 * variance**0.5 + 1
    assert estimates.mean_abs_error(()) == pytest.approx((2 * variance / np.pi) ** 0.5), "that of a normal error"


def test_intervals_hold_and_errors_are_as_predicted() -> None:
    """Each share of cells held is of 20 draws; with 95 % expected, less than 85 % of 220 or more would be a fault."""
    plan = plan_of("levels beside ranges")
    predicted = predict(plan).set_index("table")["mean_abs_error"]
    strategy, table = decide(plan), ("place", "sex")
    truth = mock_counts(plan, table)
    covered, off = [], []
    for _ in range(20):
        estimates = derive_estimates(plan, strategy.measure(counted(plan)))
        middle, half_width = estimates.intervals(table)
        covered.append((np.abs(truth - middle) <= half_width).mean())
        off.append(np.abs(estimates.estimate(table) - truth).mean())
    assert np.mean(covered) >= 0.85
    assert 0.6 <= np.mean(off) / predicted["place × sex"] <= 1.6


@pytest.mark.by_day(2)
@pytest.mark.parametrize("fault", ["a level left out", "one box left out", "boxes twice", "surer"])
def test_every_change_in_a_release_is_found(fault: str) -> None:
    members = members_of(bundle())
    with manifest_in(members) as manifest:
        measured = manifest["measurements"]
        if fault == "surer":
            next(each for each in manifest["tables"] if each["columns"] == ["place@land", "sex"])["half_width_95"] /= 2
        else:
            gone = {"a level left out": 0, "one box left out": -1, "boxes twice": -1}[fault]
            left = measured.pop(gone)
            other = dict(measured[-1]) if fault == "boxes twice" else measured[-1]
            epsilon = Fraction(left["epsilon"]) + (0 if fault == "boxes twice" else Fraction(other["epsilon"]))
            other |= {"epsilon": exact_text(epsilon), "scale": exact_text(other["sensitivity"] / epsilon)}
            measured += [other] if fault == "boxes twice" else []
    expected = {
        "a level left out": "are not the levels of place", "surer": "does not follow from the measurements",
        "one box left out": "must be measured in boxes, once",
        "boxes twice": "must be measured in boxes, once",
    }  # fmt: skip
    assert any(expected[fault] in each for each in faults_of(zipped(members)))


@cache
def bundle() -> bytes:
    return write.pack(preview(plan_of("all at once")), None)


def test_replicates_of_levels_beside_a_model_are_made_from_the_file_too() -> None:
    made = preview(plan_of("levels beside a model"))
    from_file = draw_replicates(io.BytesIO(write.pack(made, None)))
    for table, frame in draw_replicates(made).items():
        assert np.allclose(
            from_file[table].filter(regex="^r").to_numpy(), frame.filter(regex="^r").to_numpy(), atol=0.02
        )


def _stepped(name: str, steps: int) -> dict[str, Any]:
    edges = list(range(steps + 1))
    return {"name": name, "kind": "number", "edges": edges, "levels": {"ten": 10}, "other": False, "missing": False}


def _ranges(*columns: str) -> dict[str, Any]:
    return {"columns": list(columns), "ranges": True}


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "tables",
    [
        [_ranges("a", "b@ten"), _ranges("b@ten"), ["a@ten", "b"], ["a", "b"]],
        [_ranges("c"), _ranges("c", "b@ten"), ["c", "a"], ["a@ten", "b"], ["b", "c"]],
        [_ranges("c"), _ranges("b@ten", "c"), ["c", "a@ten", "d"], ["c", "a"], ["d"], ["b@ten", "d"]],
    ],
)
def test_levels_that_a_table_for_ranges_alone_uses_are_read_from_its_boxes(tables: list[Any]) -> None:
    columns = [_stepped("a", 30), _stepped("b", 40), _stepped("c", 20), {"name": "d", "kind": "yesno"}]
    made = preview(Plan(dataset="d", epsilon=1, rows_about=3000, columns=columns, tables=tables, strategy="adaptive"))
    verify(write.pack(made))
    assert {made.counts(table).sum() for table in made.plan.marginals} == {made.counts(()).sum()}


@pytest.mark.parametrize("name", MODELLED)
def test_everything_that_is_measured_covers_all_rows_of_a_person(name: str) -> None:
    """Counts, boxes, choices and audits of all parts: each moves by as many rows as a person has.

    The plan is a copy of one for single rows, which has remembered the plans of its parts.
    """
    single = plan_of(name, "3")
    assert decide(single).measure(counted(single)).cost == 3
    plan = single.model_copy(update={"unit": Unit(id="who", rows=7)})
    measured = decide(plan).measure(counted(plan))
    assert measured.audit is not None
    moved = [each.allocation.sensitivity for each in measured.marginals]
    moved += [tree.sensitivity for tree in measured.trees]
    assert {*moved} == {7}
    in_parts = [measured.audit.sensitivity, *(choice.sensitivity for choice in measured.choices)]
    assert all(each % (7 * GRAIN) == 0 for each in in_parts)


def test_a_release_by_a_copy_of_a_plan_for_more_rows_of_a_person_verifies() -> None:
    """Its noise is that of all rows that it counts, not of those of the plan that was copied."""
    rows = pd.concat([row()] * 60).assign(who=np.repeat(range(12), 5))
    single = Plan(**plan_of("levels beside ranges", "3").to_dict() | {"unit": {"id": "who", "rows": 1}})
    made = release(rows, single.model_copy(update={"unit": Unit(id="who", rows=5)}))
    assert {each.allocation.sensitivity for each in made.measured.marginals} == {5}
    assert verify(made.bundle)["guarantee"]["unit"]["rows"] == 5


SAME_SIZES = [
    PLACE, {"name": "age", "kind": "number", "edges": list(range(61))},
    *({"name": name, "kind": "category", "values": ["x", "y", "z"]} for name in "abcd"),
]  # fmt: skip
PAIRS = [list(pair) for pair in combinations("abcd", 2)]


@pytest.mark.parametrize(
    "others",
    [
        ([["place@land", "a"], ["place", "b"]], [["place@land", "b"], ["place", "a"]]),
        ([each for each in PAIRS if each != ["a", "b"]], [each for each in PAIRS if each != ["c", "d"]]),
    ],
    ids=["levels", "model"],
)
def test_other_tables_of_the_same_columns_and_sizes_are_another_release(others: tuple[list[Any], list[Any]]) -> None:
    """Even if ε is divided alike, other tables are measured."""
    plans = [
        Plan(dataset="d", epsilon="1/3", rows_about=300, columns=SAME_SIZES, tables=[AGES, *each], strategy="adaptive")
        for each in others
    ]
    one, other = map(decide, plans)
    assert isinstance(one, InParts)
    assert isinstance(other, InParts)
    assert (one.model is None) == (other.model is None) == (["place", "b"] in others[0])
    assert one.plan_id != other.plan_id
    again = plans[0].model_copy(update={"tables": tuple(reversed(plans[0].tables)), "title": "Again"})
    assert decide(again).plan_id == one.plan_id
