"""What `verify` finds in changed files of releases whose estimates are those of a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpengine import Plan, preview
from dpengine.array_types import Floats, Ints
from dpengine.bundle import write
from dpengine.bundle.checks.choice_check import stated_error
from dpengine.bundle.checks.model_check import ModelBounds, StatedError, wrong_intervals
from dpengine.bundle.checks.strategy_check import is_stated
from dpengine.bundle.read import read_manifest
from dpengine.bundle.verify import verify
from dpengine.estimate import estimates
from dpengine.estimate.model_intervals import min_half_widths, model_half_widths
from dpengine.exact import exact_text
from dpengine.marginals.measurement import AUDIT, GRAIN, PERMUTE_AND_FLIP, Allocation
from dpengine.measure.strategy import decide
from tests.bundles import (
    AGE,
    ESTIMATE,
    HIGH,
    LOW,
    TOTAL,
    Members,
    cell,
    faults_of,
    manifest_in,
    members_of,
    plus,
    rows_of,
    stated,
    stated_as,
    table_of,
    with_portals,
    zipped,
)
from tests.plans import CLINIC, sparse_plan

NOT_AS_WIDE = "intervals are not as wide as half_width_95 says"
NARROWER = f"{AGE}: an interval is narrower than the noise of its columns"
DOES_NOT_FIT = "mechanism or sensitivity does not fit this purpose"
NOT_AROUND = "an interval does not lie around its estimate"
NOISE_OF_ALL = "Adaptive: measuring all 3 tables would leave noise of about 12 % of all rows in each."


def hidden(*columns: str) -> Callable[[Members], None]:
    """Leave out what was measured of the first of `columns`, or of all together; the next measurement has its ε."""

    def edit(members: Members) -> None:
        with manifest_in(members) as manifest:
            measured = manifest["measurements"]
            left_out = [each for each in measured if {*columns} <= {*each["columns"]}]
            for entry in left_out:
                measured.remove(entry)
            other = measured[0]
            epsilon = sum(Fraction(each["epsilon"]) for each in (other, *left_out))
            other |= {"epsilon": exact_text(epsilon), "scale": exact_text(other["sensitivity"] / epsilon)}

    return edit


def audit_gets(share: str) -> Callable[[Members], None]:
    """Give the audit this part of ε, and a column the rest, or take it from there."""

    def edit(members: Members) -> None:
        with manifest_in(members) as manifest:
            audit = next(each for each in manifest["measurements"] if each.get("purpose") == AUDIT)
            column = next(each for each in manifest["measurements"] if len(each["columns"]) == 2)
            whole, part = Fraction(audit["epsilon"]) + Fraction(column["epsilon"]), 3 * Fraction(share)
            for entry, epsilon in ((audit, part), (column, whole - part)):
                entry |= {"epsilon": exact_text(epsilon), "scale": exact_text(entry["sensitivity"] / epsilon)}

    return edit


def audited_twice(members: Members) -> None:
    """Divide the audit's part of ε between two audits."""
    with manifest_in(members) as manifest:
        audit = next(each for each in manifest["measurements"] if each.get("purpose") == AUDIT)
        half = Fraction(audit["epsilon"]) / 2
        audit |= {"epsilon": exact_text(half), "scale": exact_text(audit["sensitivity"] / half)}
        manifest["measurements"].append(audit)


def narrowed(times: float, error: float = 1.0) -> Callable[[Members], None]:
    """Make all intervals of tables of two columns narrower, their half-widths too, and the model's error smaller."""

    def edit(members: Members) -> None:
        with manifest_in(members) as manifest:
            manifest["model_error"]["factor"] *= error
            for table in (each for each in manifest["tables"] if len(each["columns"]) == 2):
                head, *rows = rows_of(members[table["file"]])
                count, estimate, low, high = (head.index(name) for name in ("count", "estimate", "low", "high"))
                middle = np.array([float(row[estimate]) for row in rows])
                wide = times * np.maximum(np.array([float(row[high]) for row in rows]) - middle, 1.0)
                ends = published(middle, wide, np.array([int(row[count]) for row in rows]))
                for row, start, end in zip(rows, *ends, strict=True):
                    row[low], row[high] = str(start), str(end)
                members[table["file"]] = table_of([head, *rows])
                table["half_width_95"] = float(np.quantile(wide, 0.95, method="higher"))

    return edit


def both(*edits: Callable[[Members], None]) -> Callable[[Members], None]:
    return lambda members: [edit(members) for edit in edits] and None


def purpose(text: str) -> Callable[[Members], None]:
    """Say that a choice was for another purpose."""

    def edit(members: Members) -> None:
        with manifest_in(members) as manifest:
            next(each for each in manifest["measurements"] if "purpose" in each)["purpose"] = text

    return edit


def modelled_bundle() -> bytes:
    clinic = CLINIC[: CLINIC.index("tables:")].replace('epsilon: "1"', 'epsilon: "3"')
    plan = Plan.loads(clinic + "tables: {each: 2}\nstrategy: adaptive\n")
    return write.pack(preview(plan))


@pytest.fixture(scope="module")
def modelled() -> bytes:
    """A bundle whose estimates are those of a model, at an ε for which the plan alone has every pair measured."""
    return modelled_bundle()


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (cell(AGE, 3, ESTIMATE, lambda _: "9" * 30), f"{AGE}: {NOT_AROUND}"),
        (cell(AGE, 3, ESTIMATE, plus(2)), f"{AGE}: {NOT_AROUND}"),
        (cell(AGE, 3, HIGH, plus(2)), f"{AGE}: {NOT_AROUND}"),
        (cell(AGE, 3, LOW, plus(-2)), f"{AGE}: {NOT_AROUND}"),
        (cell(AGE, 3, ESTIMATE, lambda _: "-1"), f"{AGE}: an estimate is negative"),
        (cell(AGE, 3, ESTIMATE, plus(-1e6)), f"{AGE} and {TOTAL} disagree on the estimates in all"),
        (
            cell(TOTAL, 1, ESTIMATE, lambda text: f"{round(1.01 * float(text), 3):.12g}"),
            "disagree on the estimates in all",
        ),
        (cell(TOTAL, 1, ESTIMATE, lambda text: f"{round(1.0001 * float(text), 3):.12g}"), ""),
        (cell(TOTAL, 1, LOW, lambda _: "0"), f"{TOTAL}: {NOT_AS_WIDE}"),
        (cell(TOTAL, 1, HIGH, plus(9)), f"{TOTAL}: {NOT_AS_WIDE}"),
        (stated_as(lambda wide: wide / 2, "tables", 0, "half_width_95"), f"{AGE}: {NOT_AS_WIDE}"),
        (stated_as(lambda wide: wide * 2, "tables", 0, "half_width_95"), f"{AGE}: {NOT_AS_WIDE}"),
        (stated_as(lambda wide: wide / 2, "tables", -1, "half_width_95"), f"{TOTAL}: {NOT_AS_WIDE}"),
        (stated_as(lambda wide: wide * 2, "tables", -1, "half_width_95"), f"half_width_95 of {TOTAL} does not follow"),
        (hidden("region"), "column region lies within no measured marginal"),
        (hidden("age", "region"), "half_width_95 of tables/total.csv does not follow from the measurements"),
        (cell(AGE, 3, LOW, lambda _: "-1"), f"{AGE}: an interval goes below 0"),
        (narrowed(0.2), NARROWER),
        (narrowed(0.2, error=0), NARROWER),
        (both(narrowed(0.2), stated("schema_version", value=6)), NARROWER),
        (
            both(stated("schema_version", value=6), stated_as(lambda wide: wide / 2, "tables", -1, "half_width_95")),
            f"half_width_95 of {TOTAL} does not follow",
        ),
        (audit_gets("0.001"), "the audit of a model has another part of ε"),
        (audit_gets("0.03"), "the audit of a model has another part of ε"),
        (stated("model_error", "factor", value=0.0), "an interval is wider than model_error says"),
        (stated_as(lambda factor: factor / 9, "model_error", "factor"), "an interval is wider than model_error says"),
        (narrowed(0.4), NARROWER),
        (stated("model_error", "power", value=0.6), "the power of model_error is not one that versions try"),
        (stated("model_error", value=None), "model_error is given if the tables of a model were audited, and only"),
        (purpose("as approved by the ministry"), "no version states this purpose"),
        (purpose("up to 9 pairs\n"), "no version states this purpose"),
        (audited_twice, "the tables of a model are audited once"),
        (stated("strategy", value="Adaptive: which\nApproved"), "strategy is not what plan.yaml says"),
        (stated("strategy", value="Adaptive: \u202ederevocsid"), "strategy is not what plan.yaml says"),
        (stated("strategy", value=f"{NOISE_OF_ALL} Approved."), "strategy is not what plan.yaml says"),
        (stated("strategy", value=NOISE_OF_ALL.replace("all 3", "all 99")), "strategy is not what plan.yaml says"),
        (stated("strategy", value="Direct, as the plan says: what is asked is what is measured."), "strategy is not"),
    ],
)
def test_numbers_of_a_model_lie_within_their_intervals_as_wide_as_stated_and_have_one_total(
    modelled: bytes, edit: Callable[[Members], None], fault: str
) -> None:
    members = members_of(modelled)
    edit(members)
    forged = zipped(with_portals(members))
    if fault:
        assert any(fault in each for each in faults_of(forged))
    else:
        verify(forged)


@pytest.mark.parametrize("factor", [0.0, 1e-3])
def test_an_error_below_the_noise_of_its_audit_is_refused_with_all_that_follows_from_it(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intervals are as narrow as such an error makes them. Nothing here depends on what was drawn."""
    with monkeypatch.context() as patched:
        patched.setattr(estimates, "error_by_size", lambda _audit, _tables: (factor, 0.75))
        made = modelled_bundle()
    assert faults_of(made) == (
        "manifest.json: the factor of model_error is smaller than the noise of the audit allows",
    )


def test_the_rows_that_a_strategy_is_said_to_follow_from_are_those_of_the_plan() -> None:
    plan = sparse_plan()
    decided = decide(plan)
    assert "with about 2,000 rows" in decided.why
    assert is_stated(decided.why, decided.plan)
    assert not is_stated(decided.why.replace("2,000", "200,000"), decided.plan)


@pytest.mark.parametrize("left", [[0], [-1, -4], [7, 6, 1], [8, 6], [14, 3]])
def test_no_more_cells_are_left_by_merging_than_there_are(modelled: bytes, left: list[int]) -> None:
    members = members_of(modelled)
    manifest = json.loads(members["manifest.json"])
    pair = next(k for k, entry in enumerate(manifest["measurements"]) if entry["columns"] == ["age", "region"])
    stated("measurements", pair, "merged_to", value=left)(members)
    assert "mechanism or number of cells does not fit these columns" in "".join(faults_of(zipped(members)))


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("cells", -1, "measurements → {} → cells"),
        ("cells", 8, "measurement {}: the number of noisy numbers"),
        ("sensitivity", 0, "measurements → {} → sensitivity"),
    ],
)
def test_a_choice_or_an_audit_draws_no_more_numbers_than_it_can(
    modelled: bytes, name: str, value: int, fault: str
) -> None:
    members = members_of(modelled)
    manifest = json.loads(members["manifest.json"])
    chosen = next(k for k, entry in enumerate(manifest["measurements"]) if "purpose" in entry)
    stated("measurements", chosen, name, value=value)(members)
    assert any(fault.format(chosen + 1) in each for each in faults_of(zipped(members)))


@pytest.mark.parametrize(
    ("place", "facts", "fault"),
    [
        (-2, {"merged_to": []}, "a measurement for this purpose is not merged"),
        (-2, {"columns": ["age"]}, "or the columns, do not fit this purpose"),
        (-1, {"columns": ["age"]}, "or the columns, do not fit this purpose"),
        (-2, {"sensitivity": 767}, DOES_NOT_FIT),
        (-1, {"sensitivity": 767}, DOES_NOT_FIT),
        (-1, {"mechanism": PERMUTE_AND_FLIP}, DOES_NOT_FIT),
        (-2, {"mechanism": PERMUTE_AND_FLIP, "purpose": "up to 9 pairs", "sensitivity": 1536}, DOES_NOT_FIT),
        (-1, {"cells": 0, "purpose": "how strongly columns depend on each other"}, "model_error is given if"),
    ],
)
def test_each_fact_of_a_choice_and_of_an_audit_fits_its_purpose(
    modelled: bytes, place: int, facts: dict[str, Any], fault: str
) -> None:
    members = members_of(modelled)
    with manifest_in(members) as manifest:
        entry = manifest["measurements"][place]
        entry |= facts
        entry["scale"] = exact_text(entry["sensitivity"] / Fraction(entry["epsilon"]))
    assert any(fault in each for each in faults_of(zipped(with_portals(members))))


def test_the_noise_of_an_audit_is_that_of_all_its_sums(modelled: bytes) -> None:
    manifest, checked = read_manifest(members_of(modelled)["manifest.json"])
    audit, known = manifest["measurements"][-1], stated_error(checked)
    assert known is not None
    assert known.noise == pytest.approx(float(Fraction(audit["scale"])) / GRAIN * np.sqrt(audit["cells"]))


def test_choices_and_audits_are_stated_for_all_rows_of_a_person() -> None:
    clinic = CLINIC[: CLINIC.index("tables:")].replace('epsilon: "1"', 'epsilon: "3"')
    text = clinic.replace("rows: 1", "rows: 3, id: who") + "tables: {each: 2}\nstrategy: adaptive\n"
    members = members_of(write.pack(preview(Plan.loads(text))))
    with manifest_in(members) as manifest:
        assert any("more than one value in who" in each for each in manifest["not_protected"])
        entry = next(entry for entry in manifest["measurements"] if "purpose" in entry)
        alone = entry["sensitivity"]
        while alone % 3 == 0:  # the number of pairs asked about may be a multiple of 3, too
            alone //= 3
        entry["scale"] = exact_text(Fraction(entry["scale"]) * alone / entry["sensitivity"])
        entry["sensitivity"] = alone
    assert any("mechanism or sensitivity does not fit this purpose" in each for each in faults_of(zipped(members)))


def published(estimate: Floats, half_width: Floats, count: Ints) -> tuple[Ints, Ints]:
    """Return the ends of intervals as a release gives them (`Result.derive_numbers`)."""
    low = np.minimum(np.maximum(np.ceil(estimate - half_width), 0), count)
    return low.astype(np.int64), np.maximum(np.floor(estimate + half_width), count).astype(np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_intervals_that_a_release_may_give_are_never_refused(seed: int) -> None:
    """Ends are whole, not below 0, and moved to the published count; the half-width is that of 95 in 100 cells."""
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 60))
    estimate = np.round(random.exponential(20, size) * random.integers(0, 2, size), 3)
    half_width = random.exponential(10, size) + 1
    count = np.maximum(0, np.rint(estimate + random.normal(0, 8, size))).astype(np.int64)
    low, high = published(estimate, half_width, count)
    stated_width = float(np.quantile(half_width, 0.95, method="higher"))
    assert [*wrong_intervals(count, estimate, low, high, stated_width)] == []


@pytest.mark.parametrize("seed", range(20))
def test_the_noise_of_columns_alone_is_never_wider_than_with_any_error(seed: int) -> None:
    random = np.random.default_rng(seed)
    people = 10.0 ** random.uniform(0, 6)
    expected = random.exponential(people / 12, (3, 2, 2)[: int(random.integers(2, 4))])
    scales, own = list(10.0 ** random.uniform(-2, 3, expected.ndim)), random.choice([None, 2.0])
    error = 10.0 ** random.uniform(-3, 4), float(random.choice([0.5, 0.75, 1.0]))
    most = random.choice([None, 2 * people])
    least = min_half_widths(expected, scales, own, most)
    assert (least <= model_half_widths(expected, scales, error, own, most)).all()


@pytest.mark.parametrize("seed", range(20))
def test_intervals_of_a_release_that_an_earlier_version_stated_are_never_too_narrow(seed: int) -> None:
    """They are kept when the release is packed again. Where few people are under wide noise, they are narrower."""
    random = np.random.default_rng(seed)
    people = 10.0 ** random.uniform(-1, 4)
    expected = random.exponential(1, (9, 12)) * random.exponential(1, (9, 1)) ** 3
    expected *= people / expected.sum()
    scales, most = 10.0 ** random.uniform(0, 4, 2), people * 10.0 ** random.uniform(0, 3)
    parts = [expected.sum(axis=axis, keepdims=True) / people for axis in (1, 0)]
    off = [np.minimum(3 * scale, 3 * (part * people + most / part.size))
           for scale, part in zip(scales, parts, strict=True)]  # fmt: skip
    earlier = np.maximum(1, np.hypot(off[0] * parts[1], off[1] * parts[0]))
    assert (min_half_widths(expected, list(scales), None, most) <= earlier * (1 + 1e-9)).all()


def test_rounded_estimates_do_not_make_a_model_of_more_people() -> None:
    """Each of 300 × 300 cells that hardly anybody is in is rounded up by nearly half of the last digit."""
    columns = [{"name": name, "kind": "number", "edges": list(range(301)), "other": False, "missing": False}
               for name in ("a", "b")]  # fmt: skip
    plan = Plan.model_validate({"dataset": "d", "epsilon": 1, "columns": columns, "tables": [["a", "b"]]})
    fitted = np.full((300, 300), 0.00051)
    fitted[:, 0] = 0.5
    bounds = ModelBounds(plan, [(Allocation((name,), Fraction(1), 1), (300,)) for name in ("a", "b")])
    deviation = np.sqrt(300)  # of the total, from two columns whose counts have variance 2
    published_as = np.round(fitted, 3)
    honest = min_half_widths(published_as, [1.0, 1.0], None, fitted.sum() + 3 * deviation)
    assert (bounds.half_widths(("a", "b"), published_as)[0] <= honest + 1e-9).all()


def bounds_of_hundreds(factor: float, *pair: int, rows: int = 1) -> tuple[Floats, Floats]:
    """Return the bounds of half-widths of cells of 100 rows, for columns with little noise and a stated error.

    With the shape of a `pair`, the table itself was measured, too, in so many cells. Each of a person's `rows` has ε 1.
    """
    columns = [{"name": name, "kind": "number", "edges": list(range(11)), "other": False, "missing": False}
               for name in ("a", "b")]  # fmt: skip
    unit = {"id": "who", "rows": rows} if rows > 1 else {}
    plan = Plan.model_validate(
        {"dataset": "d", "epsilon": rows, "unit": unit, "columns": columns, "tables": [["a", "b"]]}
    )
    measured = [(Allocation((name,), Fraction(1, 2), 1), (10,)) for name in ("a", "b")]
    measured += [(Allocation(("a", "b"), Fraction(1, 2), 1), pair)] if pair else []
    least, most = ModelBounds(plan, measured, StatedError((factor, 0.75), 1.0)).half_widths(("a", "b"), HUNDREDS)
    assert most is not None
    return least, most


HUNDREDS = np.full((10, 10), 100.0)


def test_intervals_that_leave_out_the_stated_error_of_a_model_are_refused() -> None:
    """The noise of the columns alone changes no cell by as much as a person, and the model is off by dozens."""
    count = HUNDREDS.astype(np.int64)
    for factor, wide, fault in (
        (1.0, 30.0, "narrower"), (1.0, 105.0, ""), (1.0, 115.0, "wider"), (0.1, 20.0, ""), (0.0, 3.0, ""),
    ):  # fmt: skip
        ends = published(HUNDREDS, np.full((10, 10), wide), count)
        found = [*wrong_intervals(count, HUNDREDS, *ends, None, *bounds_of_hundreds(factor))]
        assert [fault in each for each in found] == [True] * bool(fault), (factor, wide, found)


def test_the_noise_of_a_table_bounds_its_intervals_only_if_no_cells_were_merged() -> None:
    alone, whole, merged = (bounds_of_hundreds(1.0, *pair) for pair in ((), (10, 10), (5, 5)))
    assert (whole[1] < 11).all()
    assert (merged[1] > 100).all()
    assert (merged[0] >= alone[0] * 0.99).all()


@pytest.mark.parametrize(("pairs_alone", "widest"), [(False, 11), (True, 1_000)])
def test_the_noise_of_a_table_of_three_columns_bounds_its_intervals_since_version_8(
    pairs_alone: bool, widest: float
) -> None:
    columns = [{"name": name, "kind": "number", "edges": list(range(11)), "other": False, "missing": False}
               for name in ("a", "b", "c")]  # fmt: skip
    plan = Plan.model_validate({"dataset": "d", "epsilon": 1, "columns": columns, "tables": [["a", "b", "c"]]})
    measured = [(Allocation((name,), Fraction(1, 6), 1), (10,)) for name in ("a", "b", "c")]
    measured.append((Allocation(("a", "b", "c"), Fraction(1, 2), 1), (10, 10, 10)))
    bounds = ModelBounds(plan, measured, StatedError((1.0, 0.75), 1.0), pairs_alone=pairs_alone)
    most = bounds.half_widths(("a", "b", "c"), np.full((10, 10, 10), 100.0))[1]
    assert most is not None
    assert widest / 10 < most.max() < widest


def test_how_much_of_an_error_is_believed_follows_from_the_epsilon_of_a_row() -> None:
    assert (bounds_of_hundreds(9.0, rows=3)[0] == bounds_of_hundreds(9.0)[0]).all()
