"""Whether tables of three columns and more are measured or follow a model is asked privately, where it can help."""

from __future__ import annotations

import io
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Ledger, Plan, release, verify
from dpengine.array_types import Columns, Ints
from dpengine.marginals.measurement import DISCRETE_LAPLACE, GRAIN, TABLES_OR_MODEL, Choice, Measurements
from dpengine.measure.allocation import allocate_directly, needs_a_model
from dpengine.measure.strategy import decide
from dpengine.measure.tables_or_model import MOVED_BY_ROW, TablesOrModel, net_gain
from dpengine.release import true_counts
from dpengine.results.result import conclude
from tests.replay import check_only_outputs_decide

SIZE, ROWS = 8, 6_000


def plan(*, size: int = SIZE, names: str = "abcd", **changes: Any) -> Plan:
    values = [str(value) for value in range(size)]
    given = {
        "dataset": "toy",
        "epsilon": "1",
        "rows_about": ROWS,
        "columns": [{"name": name, "kind": "category", "values": values} for name in names],
        "tables": {"each": 3},
        "strategy": "adaptive",
    }
    return Plan(**(given | changes))


def rows(*, related: bool, size: int = SIZE, columns: str = "abcd", people: int = ROWS) -> pd.DataFrame:
    """All values beside all others, equally often; or any two are, and decide the others, so that cells are few."""
    all_cells = np.indices([size] * len(columns)).reshape(len(columns), -1)
    free = all_cells.take(np.arange(people) % all_cells.shape[1], axis=1)
    if related:
        free = np.random.default_rng(7).integers(0, size, (len(columns), people))
        free = np.array([(free[0] + k * free[1]) % size for k in range(len(columns))])
    return pd.DataFrame(dict(zip(columns, free.astype(str), strict=True)))


def exact_counts(frame: pd.DataFrame, asked: Plan, table: Columns) -> Ints:
    codes = [frame[name].astype(int).to_numpy() for name in table]
    shape = asked.shape(table)
    if not table:
        return np.asarray(len(frame))
    return np.bincount(np.ravel_multi_index(codes, shape), minlength=int(np.prod(shape))).reshape(shape)


def measured(frame: pd.DataFrame, asked: Plan) -> Measurements:
    return decide(asked).measure(lambda tables: list(map(partial(exact_counts, frame, asked), tables)))


def number_of(exact: Ints, scale: int) -> int:
    return net_gain({tuple("abcde"[: exact.ndim]): exact}, [exact], [scale])


def moved(exact: Ints, cell: tuple[int, ...], scale: int) -> float:
    """By how much one row more in a cell changes the number that decides, in rows, for one table."""
    more = exact.copy()
    more[cell] += 1
    return abs(number_of(more, scale) - number_of(exact, scale)) / GRAIN


@pytest.mark.parametrize(("columns", "tried"), [(2, 20), (3, 200), (4, 20), (5, 2)])
def test_no_row_moves_the_number_by_more_than_is_paid_for(columns: int, tried: int) -> None:
    chance = np.random.default_rng(3)
    for _ in range(tried):
        shape = tuple(chance.integers(1, 4, columns))
        exact = chance.poisson(np.exp(chance.uniform(-2, 7, shape))) * (chance.random(shape) < chance.uniform(0.2, 1))
        for scale in (1, 1_000):
            assert max(moved(exact, cell, scale) for cell in np.ndindex(exact.shape)) <= MOVED_BY_ROW


def test_a_row_may_move_the_number_by_nearly_as_much_as_is_paid_for() -> None:
    """So neither the model's error nor the noise may be left out of the sensitivity."""
    exact = np.array([[[0, 42], [2, 0]], [[17, 713], [2, 389]]])
    assert MOVED_BY_ROW - 2 < moved(exact, (0, 0, 0), 1_000) <= MOVED_BY_ROW


def test_a_table_is_as_far_from_its_pairs_as_its_most_dependent_three_columns() -> None:
    """So a row counts once, however many columns a table has; a pair has no three columns."""
    odd = np.array([[[8, 0], [0, 8]], [[0, 8], [8, 0]]])
    beside = odd[..., None] * np.array([3, 1])
    assert number_of(beside, 1) == number_of(odd, 1) * 4 - 3 * GRAIN * (8 - 4 * 4)
    assert number_of(odd.sum(axis=2), 1) == -3 * GRAIN * 4


@pytest.mark.parametrize("together", [True, False])
def test_no_row_moves_the_number_of_several_tables_by_more_than_is_paid_for(*, together: bool) -> None:
    """Also where these are sums of the one table that would be measured."""
    chance = np.random.default_rng(4)
    joint = chance.poisson(np.exp(chance.uniform(-2, 4, (2, 3, 2, 2, 2))))

    def number(joint: Ints) -> int:
        tables = {
            tuple(name for axis, name in enumerate("abcde") if axis not in axes): joint.sum(axis=axes)
            for axes in combinations(range(5), 2)
        }
        return net_gain(
            tables, [joint] if together else list(tables.values()), [30] if together else range(10, 110, 10)
        )

    for cell in np.ndindex(joint.shape):
        more = joint.copy()
        more[cell] += 1
        assert abs(number(more) - number(joint)) <= 10 * MOVED_BY_ROW * GRAIN


@pytest.mark.parametrize("unit", [1, 3])
def test_tables_are_measured_where_three_columns_decide_each_other(unit: int) -> None:
    asked = plan(unit={"rows": unit, "id": "who"}, epsilon=str(unit))
    found = measured(rows(related=True), asked)
    (choice,) = found.choices
    assert (choice.what, choice.mechanism) == (TABLES_OR_MODEL, DISCRETE_LAPLACE)
    assert choice.sensitivity == 4 * MOVED_BY_ROW * GRAIN * unit
    assert found.chose_tables
    assert found.audit is None
    assert found.cost == asked.epsilon
    assert [one.allocation for one in found.marginals] == list(allocate_directly(asked.at(unit - choice.epsilon)))


def test_a_model_is_fitted_where_columns_are_independent() -> None:
    """The answer would be another one in fewer than one of a thousand million runs."""
    asked = plan(size=9, rows_about=9**4)
    found = measured(rows(related=False, size=9, people=9**4), asked)
    assert found.choices[0].what == TABLES_OR_MODEL
    assert not found.chose_tables
    assert found.audit is not None
    assert found.cost == asked.epsilon
    assert max(len(one.allocation.columns) for one in found.marginals) < 3


def test_tables_that_agree_only_through_their_pairs_are_asked_about_too() -> None:
    wide = plan(size=24, names="abcde", rows_about=60_000, epsilon="4")
    assert needs_a_model(wide)
    assert len(allocate_directly(wide)) == 10
    found = measured(rows(related=True, size=24, columns="abcde", people=60_000), wide)
    assert found.chose_tables
    assert {one.allocation.columns for one in found.marginals} == {*combinations("abcde", 3)}


@pytest.mark.parametrize(
    "tables",
    [{"each": 4}, [["a", "b", "c", "d"], ["c", "d", "e"], ["a", "e"], ["b", "e"]]],
    ids=["four", "some of four, three and two"],
)
def test_tables_of_four_columns_are_asked_about_also_beside_smaller_ones(tables: Any) -> None:
    asked = plan(size=6, names="abcde", tables=tables, rows_about=6**5)
    found = measured(rows(related=True, size=6, columns="abcde", people=6**5), asked)
    assert found.choices[0].what == TABLES_OR_MODEL
    assert found.chose_tables
    assert found.cost == asked.epsilon


def test_a_model_is_fitted_to_tables_of_four_columns_that_are_independent() -> None:
    asked = plan(size=6, names="abcde", tables={"each": 4}, rows_about=6**5)
    found = measured(rows(related=False, size=6, columns="abcde", people=6**5), asked)
    assert found.choices[0].what == TABLES_OR_MODEL
    assert not found.chose_tables
    assert found.cost == asked.epsilon


def test_the_answer_is_noisy() -> None:
    """Else it would cost more than any ε: at the least ε at which it is asked, it may be either of both."""
    question = TablesOrModel.of(plan(epsilon="3", rows_about=1_000))
    assert question is not None
    even = {table: np.full([SIZE] * len(table), 1) for table in question.marginals}
    assert {question.ask(even, rows=200)[0] for _ in range(60)} == {False, True}


NEVER_ASKED = {
    "nobody said how many rows there are": {"rows_about": None},
    "the answer would be too noisy": {"rows_about": 800},
    "there is hardly anything but noise": {"size": 30, "rows_about": 20_000, "epsilon": "0.2"},
    "pairs are published": {"tables": {"each": 2}},
    "one table is published": {"tables": [["a", "b", "c"]]},
    "tables have weights": {"tables": [{"columns": list(each), "weight": len(each) + k}
                                       for k, each in enumerate(combinations("abcd", 3))]},
}  # fmt: skip


@pytest.mark.parametrize("why", NEVER_ASKED)
def test_nothing_is_asked_where_the_answer_could_not_help(why: str) -> None:
    assert TablesOrModel.of(plan()) is not None
    assert TablesOrModel.of(plan(**NEVER_ASKED[why])) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("related", [True, False])
def test_only_what_is_paid_for_decides(*, related: bool) -> None:
    frame = rows(related=related)
    others = rows(related=not related)
    check_only_outputs_decide(frame, frame.iloc[:1], others, plan())


def test_what_was_measured_is_published_as_a_direct_release() -> None:
    asked = plan(strategy="auto", epsilon="0.6")
    assert decide(asked).plan.strategy == "adaptive"
    done = conclude(decide(asked).plan, measured(rows(related=True), asked))
    assert done.plan.strategy == "direct"
    truth = exact_counts(rows(related=True), asked, ("a", "b", "c"))
    assert np.abs(done.counts(("a", "b", "c")) - truth).sum() < len(rows(related=True)), (
        "a model is off by twice as many"
    )


def test_such_a_release_is_drawn_once_and_verified() -> None:
    ledger, frame = Ledger.in_memory(), rows(related=True)
    first = release(frame, plan(), ledger)
    again = release(frame, plan(), ledger)
    assert first.plan.strategy == again.plan.strategy == "direct"
    assert first.release_id == again.release_id
    assert ledger.spent("toy") == Fraction(1)
    manifest = verify(io.BytesIO(first.bundle))
    assert manifest["strategy"].startswith("Direct: a private answer says")
    assert manifest["measurements"][-1]["purpose"] == TABLES_OR_MODEL


def test_its_owner_sees_the_counts_of_the_rows_that_were_measured() -> None:
    """Which rows of a person count follows from the identity of the release, which was asked for as an adaptive one."""
    ledger, frame = Ledger.in_memory(), rows(related=True).assign(who=np.arange(ROWS) % 1_500)
    asked = plan(unit={"id": "who", "rows": 2}, epsilon="8", rows_about=3_000)
    done = release(frame, asked, ledger)
    assert done.plan.strategy == "direct"
    owned, wanted = (true_counts(frame, each, ledger, [("a", "b", "c")]) for each in (done.plan, asked))
    np.testing.assert_array_equal(owned["a", "b", "c"], wanted["a", "b", "c"])


def test_cells_that_are_found_have_their_share_of_epsilon_beside_the_question() -> None:
    *others, last = plan().columns
    found = {"name": last.name, "kind": "number", "low": 0, "high": SIZE, "step": 1, "bins": SIZE}
    frame = rows(related=True)
    done = release(frame.assign(**{last.name: frame[last.name].astype(int)}), plan(columns=[*others, found]))
    assert done.plan.strategy == "direct"
    assert done.measured.cost == done.plan.epsilon
    verify(io.BytesIO(done.bundle))


def answered(joint: Ints, *, rows: int, output: int = 0) -> tuple[int, Fraction, bool, Choice]:
    """Ask about exact counts, of which the noisy number is given; return the exact one, its scale, and the answer."""
    question, drawn = TablesOrModel.of(plan()), list[tuple[int, Fraction]]()
    assert question is not None
    counts = {table: joint.sum(axis=tuple({*range(4)} - {*map("abcd".index, table)})) for table in question.marginals}

    def noisy(exact: Ints, scale: Fraction) -> Ints:
        drawn.append((int(exact), scale))
        return np.array(output)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpengine.measure.tables_or_model.perturb", noisy)
        answer, choice = question.ask(counts, rows)
    return *drawn[0], answer, choice


EVEN = np.full([SIZE] * 4, 3)
TABLES = {
    "nobody": 0 * EVEN,
    "all alike": EVEN,
    "very many": 10_000 * EVEN,
    "one cell": np.pad([[[[7]]]], (0, SIZE - 1)),
}


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("name", TABLES)
def test_a_person_moves_what_is_asked_by_no_more_than_its_noise_allows(name: str, rows: int) -> None:
    """The cells that noise would bury are those of the plan, too, and not of the largest counts."""
    more = TABLES[name].copy()
    more[0, 0, 0, 0] += rows
    (here, scale, _, choice), (there, _, _, _) = (answered(joint, rows=rows) for joint in (TABLES[name], more))
    assert scale == choice.sensitivity / choice.epsilon
    assert abs(here - there) <= scale * choice.epsilon


@pytest.mark.parametrize("of_scale", [Fraction(1, 2), Fraction(3, 2), 1_000])
def test_the_noisy_number_alone_decides_whatever_the_rows(of_scale: Fraction) -> None:
    _, scale, _, _ = answered(EVEN, rows=1)
    answers = {answered(joint, rows=1, output=int(of_scale * scale))[2] for joint in TABLES.values()}
    assert answers == {of_scale > 1}
