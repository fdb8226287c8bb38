"""Replicates: distributed like the errors, the same from a release and from its bundle, and useful for intervals."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dpengine as dpe
from dpengine.bundle import write
from dpengine.cli import main
from dpengine.estimate.error_distribution import least_squares
from dpengine.estimate.table_errors import table_error
from dpengine.noise import moments
from dpengine.replicates import DRAWS, Basis, basis_from, basis_of, draw, draw_replicates, pack, replicate
from dpengine.replicates.draw import _conditioned_on_sums
from dpengine.replicates.guide import read_me
from dpengine.results.mock_table import mock_counts
from tests.plans import letters_plan, sparse_plan

PAIRS = letters_plan([3, 4, 2], [["a", "b"], ["b", "c"], ["a"]], strategy="direct", rows_about=500)
RANGES = dpe.Plan(
    dataset="d", epsilon="0.5", rows_about=300,
    columns=[{"name": "age", "kind": "number", "edges": list(range(0, 101)), "other": False, "missing": False}],
    tables=[{"columns": ["age"], "ranges": True}],
)  # fmt: skip
LEVELS = dpe.Plan(
    dataset="d", epsilon="0.5", rows_about=300,
    columns=[{"name": "age", "kind": "number", "edges": list(range(0, 101)), "other": False, "missing": False,
              "levels": {"decade": list(range(0, 101, 10)), "half": [0, 50, 100]}}],
    tables=[["age"], ["age@decade"], ["age@half"]],
)  # fmt: skip
SINGLES = letters_plan([30, 40], {"each": 1}, strategy="direct", rows_about=500)
# With this ε, pairs are measured too: a column's counts in these and the total that is published disagree.
MODELLED = letters_plan([6, 5, 4], {"each": 2}, strategy="adaptive", rows_about=2000, epsilon="3")


def drawn(basis: Basis) -> dict[tuple[str, ...], np.ndarray]:
    return dict(replicate(basis, [*basis.plan.marginals, ()]))


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    "plan", [PAIRS, sparse_plan(), MODELLED, RANGES], ids=["direct", "one table", "model", "boxes"]
)
def test_replicates_agree_from_table_to_table_and_are_the_same_each_time(plan: dpe.Plan) -> None:
    result = dpe.preview(plan)
    tables = drawn(basis_of(result))
    rounded = 0.005 * max(each[0].size for each in tables.values()) + 0.01
    for table, values in tables.items():
        assert values.shape == (DRAWS + 1, *result.plan.shape(table))
        totals = values.reshape(DRAWS + 1, -1).sum(axis=1)
        assert np.allclose((totals - totals[0]), tables[()] - tables[()][0], atol=rounded)
        for other in tables:
            if len(other) == 1 and set(other) < set(table):
                sums = values.sum(axis=tuple(k + 1 for k, name in enumerate(table) if name not in other))
                assert np.allclose((sums - sums[0]), tables[other] - tables[other][0], atol=rounded)
    again = drawn(basis_of(result))
    assert all(np.array_equal(again[table], values) for table, values in tables.items())
    other_release = drawn(basis_of(dpe.preview(plan)))
    assert not np.array_equal(other_release[()] - other_release[()][0], tables[()] - tables[()][0])


def test_cells_that_are_known_exactly_have_no_errors_to_spread() -> None:
    shape = (DRAWS, 3, 4)
    singles = [np.zeros((DRAWS, 3)), np.zeros((DRAWS, 4))]
    assert not _conditioned_on_sums(np.zeros(shape), np.zeros(shape[1:]), singles).any()


def test_each_draw_is_the_least_squares_estimate_of_its_own_noise() -> None:
    basis = basis_of(dpe.preview(PAIRS))
    squares = least_squares(basis.plan, basis.allocations)
    noise = [
        draw._noise(basis.release_id, k, float(each.scale), basis.plan.shape(each.columns)).astype(np.int64)
        for k, each in enumerate(basis.allocations)
    ]
    errors = draw._errors_of_estimates(basis)
    for table in PAIRS.marginals:
        for k in (0, 7, DRAWS - 1):
            assert np.allclose(errors(table)[k], squares.estimate(table, [each[k] for each in noise]))


@pytest.mark.parametrize("plan", [SINGLES, RANGES, LEVELS], ids=["direct", "boxes", "levels"])
def test_each_measurement_has_draws_and_a_scale_of_its_own(plan: dpe.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables with the same noise would seem to agree: what two of them have apart from each other would be certain."""
    basis, made, scales = basis_of(dpe.preview(plan)), draw._noise, dict[object, float]()

    def noted(release_id: str, what: object, scale: float, shape: Sequence[int]) -> np.ndarray:
        assert scales.setdefault(what, scale) == scale
        return made(release_id, what, scale, shape)

    monkeypatch.setattr(draw, "_noise", noted)
    drawn(basis)
    expected = [each.scale_in_units for each in basis.allocations]
    if basis.tree is not None:
        expected = [basis.tree.boxes.scale(int(part)) for part in np.unique(basis.tree.boxes.parts)]
    assert len(expected) > 1
    assert sorted(scales.values()) == pytest.approx(sorted(map(float, expected)))
    first, second = (made("name", what, 9.0, (4000,)).ravel() for what in (0, 1))
    assert abs(np.corrcoef(first, second)[0, 1]) < 6 / math.sqrt(first.size)


@pytest.mark.parametrize("scale", [0.3, 1.0, 25.0])
def test_fresh_noise_has_the_moments_of_discrete_laplace_noise(scale: float) -> None:
    noise = draw._noise("name", 0, scale, (4000,))
    n, variance = noise.size, moments.variance(scale)
    kurtosis = 6 + 1 / variance  # of discrete Laplace noise, at most; for the error of a variance
    assert abs(noise.mean()) < 6 * math.sqrt(variance / n)
    assert abs(noise.var() / variance - 1) < 6 * math.sqrt(kurtosis / n)
    assert abs(np.mean(noise == 0) - math.tanh(1 / (2 * scale))) < 6 * 0.5 / math.sqrt(n)
    between_draws = np.corrcoef(noise)[np.triu_indices(DRAWS, 1)]
    assert np.abs(between_draws).max() < 6 / math.sqrt(noise.shape[1]), "each draw has noise of its own"


def test_intervals_from_replicates_hold_the_truth() -> None:
    """Of 50 releases of the mock table, 95 % are expected; fewer than 68 % would be by chance once in 10⁹ runs."""
    truth, covered = mock_counts(PAIRS, ("a", "b")), 0
    releases = 50
    for _ in range(releases):
        values = drawn(basis_of(dpe.preview(PAIRS)))["a", "b"]
        numbers = values[:, :2, 1:3].sum(axis=(1, 2)) - values[:, 2, 0]
        true = truth[:2, 1:3].sum() - truth[2, 0]
        covered += abs(numbers[0] - true) <= 2.1 * math.sqrt(((numbers[1:] - numbers[0]) ** 2).mean())
    assert covered >= 0.68 * releases
    assert table_error(PAIRS, basis_of(dpe.preview(PAIRS)).allocations, ("a", "b")).half_width() > 1


@pytest.mark.parametrize("plan", [PAIRS, MODELLED], ids=["direct", "model"])
def test_anyone_makes_the_same_file_from_the_bundle(plan: dpe.Plan, tmp_path: Path) -> None:
    result = dpe.preview(plan)
    bundle = write.pack(result)
    packed = pack(result)
    assert pack(bundle) == packed
    (tmp_path / "r.zip").write_bytes(bundle)
    made = CliRunner().invoke(main, ["replicates", str(tmp_path / "r.zip"), "-o", str(tmp_path / "out.zip")])
    assert made.exit_code == 0, made.output
    assert (tmp_path / "out.zip").read_bytes() == packed
    frames = draw_replicates(bundle)
    first = plan.marginals[0]
    assert np.allclose(frames[first]["r0"], result.estimates.estimate(first).ravel(), atol=0.0051)


def test_the_boxes_of_ranges_are_not_in_a_bundle() -> None:
    with pytest.raises(dpe.ReleaseError, match="by its publisher alone"):
        basis_from(dpe.published(write.pack(dpe.preview(RANGES))))


def test_too_many_cells_are_refused() -> None:
    basis = basis_of(dpe.preview(PAIRS))
    with pytest.raises(dpe.ReleaseError, match="too many"):
        next(replicate(basis, [("a", "b")] * draw.MAX_CELLS))


def test_the_recipe_of_the_guide_runs_as_it_stands(tmp_path: Path) -> None:
    odd = 'it\'s "a" \\ #'
    columns = [
        {"name": name, "kind": "category", "values": values, "other": False, "missing": False}
        for name, values in ((odd, [odd, "a1", "a2"]), ("b", ["=1", "b1", "b2", "b3"]))
    ]
    result = dpe.preview(dpe.Plan(dataset="odd", epsilon="1", columns=columns, tables=[[odd, "b"]]))
    with zipfile.ZipFile(io.BytesIO(pack(result))) as packed:
        packed.extractall(tmp_path)
    guide = (tmp_path / "README.txt").read_text()
    assert guide == read_me(basis_of(result))
    assert max(map(len, guide.splitlines())) <= 120
    lines = [
        line for line in guide.splitlines() if line.startswith(("import", "table =", "mine =", "value,", "print("))
    ]
    output = io.StringIO()
    with chdir(tmp_path), redirect_stdout(output):
        exec("\n".join(lines[:5]), names := {})
        table = names["table"]
        names |= {"np": np, "X": np.stack([np.ones(12), np.repeat(range(3), 4)], 1), "y": np.tile(range(4), 3)}
        exec("\n".join([lines[5], *lines[3:5]]), names)
    value, half = map(float, output.getvalue().splitlines()[0].split("±"))
    assert value == pytest.approx(table.loc[table[odd] == odd, "r0"].sum())
    assert 0 < half < 100
    assert "±" in output.getvalue().splitlines()[1]
