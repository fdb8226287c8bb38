"""A question is public, says what it means, and is the same question however it is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import get_args

import pytest

from dpengine import PlanError
from dpengine.spec.declared import STATISTICS
from dpengine.spec.domain import Amount, Category, Number, YesNo
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query import (
    Condition,
    Count,
    Mean,
    Mode,
    Proportion,
    Quantile,
    Question,
    Statistic,
    Sum,
    Variance,
)
from dpengine.spec.query.statistic import quantile_name
from dpengine.translation.catalogue import speaking

REGION = Category(name="region", values=["North", "South", "Paris, TX"])
AGE = Number(name="age", edges=[0, 18, 30, 45, 65, 120])
SMOKES = YesNo(name="smokes")
INCOME = Grid(name="income", low=-500, high=2000, step="0.5")
NORTH = Condition(column=REGION, labels=["North"])
YES = Condition(column=SMOKES, labels=["yes"])


def question(statistic: object = None, **more: object) -> Question:
    return Question(**{"dataset": "clinic", "epsilon": "1/2", "statistic": statistic or Count(), **more})


EVERY = [
    Count(),
    Proportion(of=[YES]),
    Sum(of=INCOME),
    Mean(of=INCOME),
    Variance(of=INCOME),
    Quantile(of=INCOME),
    Quantile(of=INCOME, level="0.9"),
    Mode(of=REGION),
]


@pytest.mark.parametrize(
    ("statistic", "rows", "delta"),
    [
        (Count(), 1, 1),
        (Count(), 3, 3),
        (Proportion(of=[YES]), 3, 3),
        (Sum(of=INCOME), 1, 4000),
        (Sum(of=Grid(name="income", low=-2000, high=500, step="0.5")), 2, 8000),
        (Mean(of=INCOME), 1, 5000),
        (Variance(of=INCOME), 2, 2 * 5000**2),
        (Quantile(of=INCOME), 1, 1),
        (Quantile(of=INCOME, level="0.9"), 2, 18),
        (Quantile(of=INCOME, level="0.1"), 2, 18),
        (Mode(of=REGION), 2, 2),
    ],
)
def test_the_sensitivity_is_derived_from_what_is_stated(statistic: object, rows: int, delta: int) -> None:
    query = question(statistic, unit={"id": "who", "rows": rows})
    assert query.sensitivity == delta
    assert query.scale == Fraction(delta) * 2


@pytest.mark.parametrize("statistic", EVERY)
def test_a_question_comes_back_from_plain_values(statistic: object) -> None:
    where = [NORTH, Condition.between("age", 18, "64.5"), Condition.masked(AGE, "1100010")]
    query = question(statistic, where=where, unit={"id": "who", "rows": 2}, rows_about=100)
    again = Question(**json.loads(json.dumps(query.to_dict())))
    assert (again, again.key, again.description) == (query, query.key, query.description)
    assert Question.loads(query.dumps()) == query
    grouped = question(Mean(of=INCOME), by=[REGION])
    assert Question.loads(grouped.dumps()) == Question(**json.loads(json.dumps(grouped.to_dict()))) == grouped


def test_a_question_about_a_column_with_levels_comes_back() -> None:
    nested = {"values": {"CA": ["Kern", "Napa"], "TX": ["Travis"]}, "levels": ["state", "county"]}
    flat = {"values": ["Kern", "Napa", "Travis"]}
    tree, leaves = (Category(name="county", **fields) for fields in (nested, flat))

    def queries(column: Category) -> list[Question]:
        condition = Condition(column=column, labels=["Napa"])
        of: list[dict[str, object]] = [
            {"statistic": Count(), "by": [column]}, {"statistic": Count(), "where": [condition]},
            {"statistic": Mode(of=column)}, {"statistic": Proportion(of=[condition])},
        ]  # fmt: skip
        return [Question(dataset="d", epsilon="1", **each) for each in of]

    for with_levels, without in zip(queries(tree), queries(leaves), strict=True):
        assert Question(**with_levels.to_dict()) == Question.loads(with_levels.dumps()) == with_levels
        assert with_levels.key == without.key


def test_the_key_holds_what_is_asked_and_no_more() -> None:
    both = question(where=[NORTH, Condition(column=AGE, labels=["[18, 30)", "[0, 18)"])])
    turned = question(
        where=[Condition(column=AGE, labels=["[0, 18)", "[18, 30)"]), NORTH], dataset="other", rows_about=7
    )
    assert both.key == turned.key
    others = [
        question(where=[NORTH]),
        question(where=both.where, epsilon="0.25"),
        question(where=both.where, unit={"id": "who"}),
        question(Mean(of=INCOME)),
        question(Sum(of=INCOME)),
        question(Sum(of=Grid(name="income", low=-500, high=2000, step="0.25"))),
        question(Sum(of=Grid(name="income", low=-500, high=2000, step="0.5", absent=0))),
        question(Quantile(of=INCOME)),
        question(Quantile(of=INCOME, level="0.9")),
        question(Variance(of=INCOME)),
        question(where=both.where, by=[REGION]),
        question(where=both.where, by=[Category(name="region", values=["Paris, TX", "North", "South"])]),
        question(where=both.where, by=[REGION, SMOKES]),
        question(where=both.where, by=[SMOKES, REGION]),
        question(where=[NORTH, Condition(column=AGE, labels=["[0, 18)", "[30, 45)"])]),
        question(Sum(of=Grid(name="income", low=-1000, high=4000, step=1))),
        question(Sum(of=Grid(name="income", low=-500, high=2000, step="0.5", missing_as=["-9"]))),
        question(Sum(of=Grid(name="income", low=-500, high=2000, step="0.5", format="1.234,5"))),
        question(Proportion(of=[YES])),
        question(Proportion(of=[NORTH])),
        question(Mode(of=REGION)),
        question(Mode(of=Category(name="region", values=["North", "West", "Paris, TX"]))),
    ]
    assert len({both.key, *(each.key for each in others)}) == len(others) + 1


def test_questions_are_those_of_earlier_ledgers() -> None:
    """A changed key would charge again for what was answered before; plain values are as older versions read them."""
    query = question(Mean(of=INCOME), where=[NORTH], unit={"id": "who", "rows": 2})
    assert query.key == "question cc8151e126bfd01b" + query.key[25:]
    assert set(query.to_dict()) == {"dataset", "epsilon", "statistic", "where", "unit", "rows_about"}


def test_a_question_reads_like_a_sentence() -> None:
    query = question(Proportion(of=[YES]), where=[NORTH, Condition.between("age", low=18)])
    assert query.description == "share of rows with smokes is yes, where region is North and age is at least 18"
    assert question(Quantile(of=INCOME)).description == "median of income"
    assert question(Mode(of=REGION)).description == "most common value of region"
    assert Condition(column=AGE, labels=AGE.labels[:-1]).description == "age is not (missing)"


def test_a_mask_chooses_cells_bit_by_bit() -> None:
    assert Condition.masked(REGION, "[1, 0, 1, 0, 0]").labels == ("North", "Paris, TX")
    for bits in ("1", "10100x", "111111", ""):
        with pytest.raises(PlanError, match="has 5 bits"):
            Condition.masked(REGION, bits)
    with pytest.raises(PlanError, match="at least one"):
        Condition.masked(REGION, "00000")


def one(**fields: object) -> object:
    return lambda: question(**fields)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Condition(column=REGION, labels=[]), "at least one value"),
        (lambda: Condition(column=REGION, labels=["West"]), "no cell 'West'"),
        (lambda: Condition(column=REGION, labels=["North", "North"]), "twice"),
        (lambda: Condition.between("age", 30, 20), "increase"),
        (lambda: Proportion(of=[]), "at least 1"),
        (lambda: Quantile(of=INCOME, level=0), "between 0 and 1"),
        (lambda: Quantile(of=INCOME, level="1"), "between 0 and 1"),
        (lambda: Quantile(of=INCOME, level="nan"), "a decimal or a fraction"),
        (lambda: Quantile(of=Grid(name="x", low=0, high=10**6)), "at most 1,000,000 values"),
        (lambda: Mode(of=Category(name="x", values=["only"])), "nothing to choose"),
        (one(dataset=" "), "name the dataset"),
        (lambda: Condition(column=Amount(name="pay", low=0, high=9), labels=["0"]), "give a range of its values"),
        (lambda: Mode(of=Amount(name="pay", low=0, high=9)), "ask for its median"),
        (lambda: Variance(of=Grid(name="x", low=0, high=10**7)), "at most 1,000,000 steps"),
        (one(by=[AGE, AGE]), "twice as a group"),
        (one(by=[AGE, SMOKES, REGION]), "at most 2"),
        (one(by=[Amount(name="pay", low=0, high=9)]), "forms no groups"),
        (one(by=[AGE], unit={"id": "age"}), "identifies the person"),
        (one(by=[Number(name="x", edges=list(range(1200)))]), "1,201 groups"),
        (one(by=[AGE], statistic=Quantile(of=INCOME)), "are answered by group"),
        (one(epsilon="0"), "above 0"),
        (one(epsilon="nan"), "a decimal or a fraction"),
        (one(statistic={"kind": "range"}), "statistic"),
        (one(unit={"rows": 3}), "needs 'id'"),
        (one(rows_about=0), "rows_about"),
        (one(statistic=Sum(of=Grid(name="x", low=0, high=10**13, step="1")), epsilon="0.01"), "larger step"),
    ],
)
def test_an_unusable_question_is_refused_in_words(make: object, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        make()  # type: ignore[operator]


def test_quantiles_are_named_with_the_marks_of_the_language() -> None:
    with speaking("de"):
        assert quantile_name(Fraction(999, 1000)).startswith("99,9")
    assert quantile_name(Fraction(999, 1000)).startswith("99.9")


@pytest.mark.parametrize(
    ("make", "instead"),
    [
        (lambda: Mean(of="age"), "{name: age, low: 0, high: 120, step: 1}"),
        (lambda: Proportion(of=["smokes"]), "{column: {name: smokes, kind: yesno}, labels: [yes]}"),
        (lambda: Mode(of="smokes"), "{name: smokes, kind: yesno}"),
        (lambda: question(by=["smokes"]), "{name: smokes, kind: yesno}"),
    ],
)
def test_a_name_in_place_of_a_column_is_answered_with_what_to_write(make: Callable[[], object], instead: str) -> None:
    with pytest.raises(PlanError) as refused:
        make()
    assert instead in str(refused.value)
    assert "instance of" not in str(refused.value)


@pytest.mark.parametrize(
    ("statistic", "instead"),
    [
        ("mean", "statistic: a statistic is declared with its kind, and with what is known of its column, such as "
                 "{kind: mean, of: {name: age, low: 0, high: 120, step: 1}}"),
        ({"kind": "mena"}, "statistic: kind must be one of count, proportion, sum, mean, "
                           "variance, quantile, mode; did you mean 'mean'?"),
        ({"kind": "mode", "of": {"name": "a", "kind": "text"}},
         "statistic → mode → of: kind must be one of number, category, yesno, date, time, amount; did you mean "
         "'category'?"),
    ],
)  # fmt: skip
def test_a_statistic_that_is_no_statistic_is_answered_with_what_to_write(statistic: object, instead: str) -> None:
    with pytest.raises(PlanError) as refused:
        Question(dataset="d", epsilon=1, statistic=statistic)
    assert str(refused.value) == instead


def test_kinds_of_statistics_are_those_that_a_question_takes() -> None:
    kinds = (each.model_fields["kind"].default for each in get_args(get_args(Statistic)[0]))
    assert tuple(kinds) == STATISTICS


def test_a_question_file_is_given_as_its_path() -> None:
    with pytest.raises(PlanError, match="the question file is given as its path"):
        Question.load(5)  # type: ignore[arg-type]
