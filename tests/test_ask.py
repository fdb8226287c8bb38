"""Answers: correct without noise, private by enumeration, paid once, and stored."""

from __future__ import annotations

import json
import math
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpengine import BudgetError, Ledger, LedgerError, PlanError, TableError, open_table
from dpengine.ask import _draw, _exact, ask, history, published, resembling
from dpengine.counting import count, single_query
from dpengine.counting.single_query import Selection
from dpengine.noise.selection import permute_and_flip_probabilities
from dpengine.results.answer import conclude, expect, reopen
from dpengine.sources.table import Table
from dpengine.spec.domain import Category, Number, YesNo
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query import Condition, Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance

ALPHA = 2e-9  # false alarms: two assertions for each of seven statistics
REGION = Category(name="region", values=["North", "South"], missing=False)
AGE = Number(name="age", edges=[0, 18, 65])
SMOKES = YesNo(name="smokes", other=False, missing=False)
INCOME = Grid(name="income", low=-2, high=3)
NORTH = Condition(column=REGION, labels=["North"])
YES = Condition(column=SMOKES, labels=["yes"])
EVERY = [
    Count(),
    Proportion(of=[YES]),
    Sum(of=INCOME),
    Sum(of=Grid(name="income", low=-2, high=3, absent=1)),
    Mean(of=INCOME),
    Quantile(of=INCOME, level="3/4"),
    Mode(of=REGION),
    Variance(of=INCOME),
]
NAMES = ["region", "smokes", "income", "age"]
UNIVERSE = [
    ("North", "yes", 3, 10),
    ("North", "odd", -7, 70),
    ("South", "no", 0.5, None),
    ("North", None, math.nan, 18),
    ("elsewhere", "yes", math.inf, 65),
]
ROWS = [("North", "yes", 3.0, 20)] * 40 + [("South", "no", -1.0, 40)] * 50 + [("North", "no", 1.4, 70)] * 30


def frame(rows: list[tuple[object, ...]], names: list[str] = NAMES) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=names, dtype=object).astype({"income": float, "age": float})


def question(statistic: object, **more: object) -> Question:
    return Question(**{"dataset": "clinic", "epsilon": "1", "statistic": statistic, **more})


def exact(query: Question, data: pd.DataFrame) -> np.ndarray:
    with open_table(data) as table:
        return np.array(_exact(table, query, Selection(query.where, query.unit, b"key", query.by)))


# ── Private by enumeration ────────────────────────────────────────────────────────────────────────


def moved(query: Question, here: np.ndarray, there: np.ndarray) -> float:
    """Return the log of the greatest ratio of probabilities of any outcome on two tables, computed exactly."""
    if isinstance(query.statistic, Quantile | Mode):
        monotone = isinstance(query.statistic, Mode)
        one, other = (
            permute_and_flip_probabilities(scores, query.epsilon, query.sensitivity, monotone=monotone)
            for scores in (here, there)
        )
        return float(np.abs(np.log(one / other)).max())
    return float(np.abs(here - there).sum() / query.scale)  # reached by every outcome on the far side


@pytest.mark.parametrize("statistic", EVERY, ids=lambda statistic: statistic.kind)
@pytest.mark.by_day(2)
def test_no_row_moves_an_answer_by_more_than_epsilon(statistic: object) -> None:
    query = question(statistic, epsilon="1/3")
    furthest = 0.0
    for base in ([], [UNIVERSE[0]], [UNIVERSE[2], UNIVERSE[1], UNIVERSE[0]]):
        here = exact(query, frame(base))
        for row in UNIVERSE:
            furthest = max(furthest, moved(query, here, exact(query, frame([*base, row]))))
    assert furthest <= 1 / 3 + 1e-9
    assert furthest >= 0.3 or isinstance(statistic, Quantile | Mode), "the bound is met: no more noise than needed"


@pytest.mark.parametrize("statistic", EVERY[:-1], ids=lambda statistic: statistic.kind)  # variances: by group, below
@pytest.mark.by_day(1)
def test_a_person_of_many_rows_moves_it_by_no_more_either(statistic: object) -> None:
    query = question(statistic, where=[NORTH], unit={"id": "who", "rows": 2})
    names = ["who", *NAMES]
    base = [("p", *UNIVERSE[0]), ("p", *UNIVERSE[1]), ("q", *UNIVERSE[2]), (None, *UNIVERSE[0])]
    here = exact(query, frame(base, names))
    for rows in combinations_with_replacement(UNIVERSE[1:], 3):
        there = exact(query, frame([*base, *(("new", *row) for row in rows)], names))
        assert moved(query, here, there) <= 1 + 1e-9


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "statistic", [Count(), Mean(of=INCOME), Variance(of=INCOME)], ids=lambda statistic: statistic.kind
)
def test_all_groups_together_are_as_private_as_one(statistic: object) -> None:
    query = question(statistic, by=[REGION, SMOKES], unit={"id": "who", "rows": 2})
    names = ["who", *NAMES]
    base = [("p", *UNIVERSE[0]), ("p", *UNIVERSE[1]), ("q", *UNIVERSE[2])]
    here, furthest = exact(query, frame(base, names)), 0.0
    assert len(here) == query.groups * query.numbers == 6 * query.numbers
    for rows in combinations_with_replacement(UNIVERSE[:3], 2):
        there = exact(query, frame([*base, *(("new", *row) for row in rows)], names))
        furthest = max(furthest, moved(query, here, there))
    assert 0.6 < furthest <= 1 + 1e-9


def test_rows_are_chosen_among_those_that_meet_the_conditions() -> None:
    data = frame([("p", *UNIVERSE[2])] * 5 + [("p", *UNIVERSE[0])] * 3, ["who", *NAMES])
    for rows, counted in ((1, 1), (2, 2), (4, 3)):
        assert exact(question(Count(), where=[NORTH], unit={"id": "who", "rows": rows}), data).tolist() == [counted]


# ── Right ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("statistic", "where", "value"),
    [
        (Count(), [], 120),
        (Count(), [NORTH], 70),
        (Count(), [Condition.between("age", 40, 70)], 80),
        (Count(), [Condition.between("age", low=21), NORTH], 30),
        (Count(), [Condition.between("age", high=20), Condition(column=AGE, labels=["[18, 65]"])], 40),
        (Count(), [Condition.masked(REGION, "101")], 70),
        (Proportion(of=[YES]), [], 1 / 3),
        (Proportion(of=[YES]), [NORTH], 4 / 7),
        (Proportion(of=[YES, NORTH]), [Condition(column=AGE, labels=["[18, 65]"])], 4 / 9),
        (Sum(of=INCOME), [], 40 * 3 - 50 + 30),
        (Sum(of=Grid(name="income", low=0, high=2, step="0.1")), [], Decimal("122")),
        (Mean(of=INCOME), [], 100 / 120),
        (Mean(of=Grid(name="income", low=-2, high=3, step="0.1")), [NORTH], (120 + 42) / 70),
        (Variance(of=INCOME), [], (40 * 9 + 50 + 30) / 120 - (100 / 120) ** 2),
        (Quantile(of=INCOME), [], 1),
        (Quantile(of=INCOME, level="0.9"), [], 3),
        (Mode(of=REGION), [], "North"),
        (Mode(of=AGE), [NORTH], "[18, 65]"),
    ],
)
def test_almost_without_noise_the_answer_is_the_truth(statistic: object, where: list[Condition], value: object) -> None:
    answer = ask(frame(ROWS), question(statistic, where=where, epsilon="1000"))
    if isinstance(value, float):
        assert float(answer.value) == pytest.approx(value, abs=1e-9)
        assert float(answer.low) <= value <= float(answer.high)
    else:
        assert answer.value == value
    assert (answer.low is None) == isinstance(statistic, Quantile | Mode)


def test_by_group_each_is_answered_in_declared_order_and_paid_once() -> None:
    book, data = Ledger.in_memory(), frame([*ROWS, ("elsewhere", "yes", 2.0, 20)])
    query = question(Mean(of=INCOME), by=[SMOKES, REGION], where=[Condition.between("age", high=100)], epsilon="1000")
    answer = ask(data, query, book)
    assert (answer.value, answer.low, book.spent("clinic")) == (None, None, 1000)
    assert [group.labels for group in answer.groups] == [
        (smokes, region) for smokes in ("yes", "no") for region in ("North", "South", "(other)")
    ]
    truths = {("no", "North"): 1, ("no", "South"): -1, ("yes", "North"): 3, ("yes", "(other)"): 2}
    for group in answer.groups:
        if group.labels in truths:
            assert float(group.low) <= truths[group.labels] <= float(group.high)
            assert float(group.value) == pytest.approx(truths[group.labels], abs=0.05)
        else:
            assert (float(group.low), float(group.high)) == (-2, 3), "nobody is there"
    assert reopen(ask(data, query, book).to_bytes()) == answer
    assert book.spent("clinic") == 1000
    assert answer.question.description == "average of income by smokes and region, where age is at most 100"
    assert expect(question(Count(), by=[REGION])) == expect(question(Count())), "each group is as exact as all rows"


@pytest.mark.parametrize("statistic", [Count(), Proportion(of=[YES])])
def test_a_row_without_a_group_counts_in_none(statistic: object) -> None:
    query = question(statistic, by=[Category(name="region", values=["North", "South"], other=False)])
    rows = [*ROWS[:3], *[("elsewhere", "yes", 2.0, 20)] * 9]
    with open_table(frame(rows)) as table:
        exact = _exact(table, query, Selection(query.where, query.unit, b"key", query.by))
    assert list(exact) == ([3, 0, 0] if isinstance(statistic, Count) else [3, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("statistic", EVERY, ids=lambda statistic: statistic.kind)
def test_a_table_without_matching_rows_is_answered_like_any_other(statistic: object) -> None:
    nobody = Condition.between("age", 1000, 2000)
    query = question(statistic, where=[nobody], epsilon="1")
    answer = ask(frame(ROWS), query)
    if query.numbers > 1:
        least, most = {"mean": (-2.0, 3.0), "variance": (0.0, 6.25)}.get(statistic.kind, (0.0, 1.0))
        assert least <= float(answer.low) <= float(answer.value) <= float(answer.high) <= most
        without_noise = conclude(query, [0] * query.numbers)  # all that a ratio can be, since nothing was seen
        assert (float(without_noise.low), float(without_noise.high)) == (least, most)


@pytest.mark.parametrize(
    ("statistic", "truth", "rows"),
    [
        (Count(), 120, None),
        (Sum(of=INCOME), 100, None),
        (Mean(of=INCOME), 100 / 120, 120),
        (Proportion(of=[YES]), 1 / 3, 120),
    ],
)
@pytest.mark.by_day(1)
def test_intervals_cover_and_answers_are_as_wrong_as_predicted(
    statistic: object, truth: float, rows: int | None
) -> None:
    """Noise of scale s has variance 1/(cosh(1/s) − 1) = 1/(2·sinh²(1/2s)).

    A ratio p of n rows has ((1 − p)² + p²)/n² times that, to first order, in steps of the grid.
    """
    runs, query = 2000, question(statistic, rows_about=120, epsilon="1/2")
    counted = [int(number) for number in exact(query, frame(ROWS))]
    answers = [conclude(query, _draw(query, counted)[0]) for _ in range(runs)]
    off = np.array([float(answer.value) - truth for answer in answers])
    covered = sum(float(answer.low) - 1e-9 <= truth <= float(answer.high) + 1e-9 for answer in answers)
    assert stats.binom.cdf(covered, runs, 0.95) > ALPHA
    sd = 1 / (math.sqrt(2) * math.sinh(float(1 / (2 * query.scale))))
    if rows is not None:
        part = counted[0] / sum(counted)
        sd *= math.hypot(part, 1 - part) / rows
    assert abs(off.mean()) < stats.norm.isf(ALPHA / 2) * sd / math.sqrt(runs) + (0 if rows is None else sd / 10)
    assert off.std() == pytest.approx(sd, rel=0.25)
    expected = expect(query)
    assert (np.abs(off) <= expected.half_width + 1e-9).mean() > 0.9
    assert np.abs(off).mean() <= expected.mean_abs * 1.2


def test_the_expected_error_needs_no_data_and_shrinks_with_epsilon() -> None:
    for statistic in EVERY:
        errors = [expect(question(statistic, epsilon=epsilon, rows_about=1000)) for epsilon in ("0.1", "1", "10")]
        sizes = [each.reach if each.half_width is None else each.half_width for each in errors]
        assert sizes == sorted(sizes, reverse=True)
    assert expect(question(Mean(of=INCOME))).half_width is None, "that depends on how many rows there are"


# ── Paid once, and kept ───────────────────────────────────────────────────────────────────────────


@pytest.mark.by_day(3)
@pytest.mark.parametrize("statistic", EVERY, ids=lambda statistic: statistic.kind)
def test_the_same_question_is_answered_once(statistic: object) -> None:
    book, data = Ledger.in_memory(), frame(ROWS)
    first = ask(data, question(statistic, where=[NORTH]), book)
    again = ask(data.iloc[::-1], question(statistic, where=[NORTH], dataset="another name", rows_about=5), book)
    assert again == first
    assert book.spent("clinic") == 1
    with open_table(data) as table:
        assert published(count.digest(table), first.question, book) == first
    assert history(book, "clinic") == [first]
    assert reopen(first.to_bytes()) == first
    assert json.loads(first.to_bytes())["kind"] == "answer"


def test_a_table_that_shares_no_more_than_the_column_asked_about_shares_its_budget() -> None:
    random, book = np.random.default_rng(1), Ledger.in_memory()
    income = random.normal(size=1000)
    first, second = (
        pd.DataFrame({"income": random.permutation(income), "a": random.normal(size=1000), "b": random.random(1000)})
        for _ in range(2)
    )
    ask(first, question(Mean(of=INCOME)), book)
    with open_table(second) as table:
        fingerprint = book.fingerprint(count.digest(table))
        alike = resembling(table, question(Mean(of=INCOME), dataset="other"), fingerprint, book)
    assert [each.dataset for each in alike] == ["clinic"]


def test_a_passed_cap_refuses_and_nothing_is_drawn() -> None:
    book, data = Ledger.in_memory(), frame(ROWS)
    book.set_cap("clinic", "1.5")
    ask(data, question(Count()), book)
    with pytest.raises(BudgetError, match="does not allow"):
        ask(data, question(Mean(of=INCOME)), book)
    assert (book.spent("clinic"), len(history(book, "clinic"))) == (1, 1)


@pytest.mark.parametrize("statistic", [Count(), Mode(of=REGION)], ids=lambda statistic: statistic.kind)
def test_a_mechanism_that_spends_another_epsilon_is_caught_before_anything_is_recorded(
    statistic: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, module = Ledger.in_memory(), sys.modules["dpengine.ask"]
    monkeypatch.setattr(module, "_draw", lambda *given: (_draw(*given)[0], 2 * _draw(*given)[1]))
    with pytest.raises(BudgetError, match="did not spend exactly ε = 1"):
        ask(frame(ROWS), question(statistic), book)
    assert book.history() == []


def test_a_question_that_the_table_cannot_answer_is_refused_and_costs_nothing() -> None:
    book = Ledger.in_memory()
    for query, message in [
        (question(Sum(of=Grid(name="wages", low=0, high=1))), "no column 'wages'"),
        (question(Count(), where=[Condition.between("hieght", 1, 2)]), "no column 'hieght'"),
        (question(Count(), unit={"id": "who"}), "no column 'who'"),
        (question(Mean(of=Grid(name="day", low=0, high=1))), "cannot be read as number"),
    ]:
        data = frame(ROWS).assign(day=pd.Timestamp("2024-01-01"))
        with pytest.raises(TableError, match=message):
            ask(data, query, book)
    assert book.datasets() == []


def test_a_file_that_changes_while_it_is_asked_about_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, path, derived = Ledger.in_memory(), tmp_path / "rows.csv", Ledger.derive_key
    frame(ROWS).to_csv(path, index=False)

    def change(ledger: Ledger, *parts: bytes | str) -> bytes:  # the last thing before rows are counted
        frame(ROWS[1:]).to_csv(path, index=False)
        return derived(ledger, *parts)

    monkeypatch.setattr(Ledger, "derive_key", change)
    with pytest.raises(TableError, match="changed since it was opened"):
        ask(path, question(Count()), book)
    assert book.history() == []


def test_the_most_common_value_is_one_that_was_declared() -> None:
    odd = pd.DataFrame({"region": ["elsewhere"] * 900 + ["South"] * 90})
    assert ask(odd, question(Mode(of=REGION), epsilon="20")).value == "South", "*other* is no value"


def test_a_table_in_another_engine_is_not_asked() -> None:
    class Elsewhere(Table):
        columns = ()

        def close(self) -> None: ...

    with pytest.raises(TableError, match="export them to a file"):
        ask(Elsewhere(), question(Count()))


def test_an_entry_that_is_no_answer_is_not_opened_as_one() -> None:
    for payload in (b"PK\x03\x04", b"{}", b'{"kind": "choice"}', b'{"kind": "answer"}', b"[1]", b""):
        with pytest.raises(LedgerError, match="not the answer"):
            reopen(payload)


def test_a_question_about_a_whole_table_needs_no_column() -> None:
    with open_table(frame(ROWS)) as table:
        assert single_query.count_matching(table, Selection((), question(Count()).unit, b"")) == [(120, 0)]


def test_values_that_are_texts_are_read_as_in_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x\n1.5\n 2 \nnan\n-99\n1e400\n1,2\n\n0.285\n".replace("1,2", '"1,2"'))
    grid = Grid(name="x", low=0, high=10, step="0.01", missing_as=["-99"])
    with open_table(path) as table:
        selection = Selection((), question(Count()).unit, b"")
        assert single_query.sums(table, selection, grid, squares=True) == [(3, 150 + 200 + 29, 150**2 + 200**2 + 29**2)]
        counts = single_query.histogram(table, selection, grid)
    assert (counts.sum(), np.flatnonzero(counts).tolist()) == (3, [29, 150, 200])


@pytest.mark.parametrize("epsilon", [Fraction(-1), 0, "none"])
def test_a_question_needs_a_positive_price(epsilon: object) -> None:
    with pytest.raises(PlanError, match="ε must be"):
        question(Count(), epsilon=epsilon)


def test_a_question_is_stopped_before_noise_is_drawn_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    book, stages, drawn = Ledger.in_memory(), list[str](), list[int]()
    module = sys.modules["dpengine.ask"]

    def counted(*given: object) -> object:
        drawn.append(len(stages))
        return _draw(*given)  # type: ignore[arg-type]

    def stop(stage: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_draw", counted)
    with pytest.raises(KeyboardInterrupt):
        ask(frame(ROWS), question(Count()), book, progress=stop)
    assert (book.history(), drawn) == ([], [])
    ask(frame(ROWS), question(Count()), book, progress=stages.append)
    assert (stages, drawn) == (["adding noise"], [1]), "nothing is reported once noise is drawn"
