"""A stranger's plan that would cause too much work is refused before that work, with the limit in the message."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dpengine import Plan, PlanError
from dpengine.spec import strict_yaml
from dpengine.spec.declared import MAX_FAULTS
from dpengine.spec.numeric.edges import EqualEdges
from tests.corpus.plans import BINS, columns, plan_of

DAYS = "date, from: 0001-01-01, to: 2700-01-01, by: day"

REFUSED: dict[str, tuple[Callable[[], str], str]] = {
    "thirty columns of a million bins": (lambda: plan_of(columns(30, BINS)), "declare 29,999,700 cells in all"),
    "a thousand of them": (lambda: plan_of(columns(1000, BINS)), "above the limit of 2,000,000"),
    "bins with an exponent": (lambda: plan_of(columns(3, BINS.replace("999990", "1e6"))), "3,000,000 cells in all"),
    "less than no bins, which make up for the others": (
        lambda: plan_of(f"{{name: c, kind: {BINS.replace('999990', '-99999999')}}}, {columns(7, BINS)}"),
        "6,999,930 cells in all",
    ),
    "three columns of a million days": (lambda: plan_of(columns(3, DAYS)), "cells in all, above the limit"),
    "more columns than a plan has": (lambda: plan_of(columns(5_001, "yesno")), "a plan has at most 5,000"),
    "more tables than a plan has": (
        lambda: plan_of(columns(200, "yesno"), str([[f"c{a}", f"c{b}"] for a in range(200) for b in range(a)])),
        "these are 19,900 tables; a plan has at most 10,000",
    ),
    "all pairs of too many columns": (lambda: plan_of(columns(150, "yesno"), "{each: 2}"), "more than 10,000 tables"),
    "a table of all columns": (
        lambda: plan_of(columns(40, "yesno"), str([[f"c{k}" for k in range(40)]])),
        "this table has 40 columns; a table has at most 32",
    ),
    "all but one of many": (lambda: plan_of(columns(4_000, "yesno"), "{each: 3999}"), "less than or equal to 32"),
    "a name of a book's length": (lambda: plan_of(f"{{name: {'n' * 9_999}, kind: yesno}}"), "longer than 2,000 char"),
    "a value of a book's length": (
        lambda: plan_of(f"{{name: a, kind: category, values: [{'v' * 10_001}]}}"),
        "longer than 10,000 char",
    ),
    "more keys than any plan's": (lambda: "".join(f"k{k}: 1\n" for k in range(100_001)), "100,000 keys"),
    "lists in lists": (lambda: "[" * 100_000, "too deep"),
    "lists in lists, by lines": (lambda: "- " * 100_000, "too deep"),
    "mappings in mappings": (lambda: "{a: " * 100_000, "too deep"),
    "many texts at once": (lambda: "--- a\n" * 100_000, "expected a single document"),
    "more than a plan's text": (lambda: "#" * 20_000_001, "too long for a plan: at most 20 MB"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_too_large_a_plan_is_refused_with_the_limit(name: str) -> None:
    text, fragment = REFUSED[name]
    with pytest.raises(PlanError) as refused:
        Plan.loads(text())
    assert fragment in str(refused.value)
    assert len(refused.value.faults) == 1


def test_no_edge_is_made_of_columns_that_declare_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("dpengine.spec.numeric.edges.equal_edges", never)
    with pytest.raises(PlanError, match="cells in all"):
        Plan.loads(plan_of(columns(30, BINS)))


# Two columns, the most that a plan may declare, with edges of many digits, which take longest to make.
MANY_DIGITS = "number, edges: {from: 0.123456789012345678901, to: 987654321.1, bins: 999990}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (plan_of(columns(2, MANY_DIGITS), "[[c0], [c9]]"), "table c9: there is no column 'c9'"),
        (plan_of(columns(2, MANY_DIGITS), "[[c0, c1]]"), "above the limit of 4,000,000"),
        (plan_of(columns(2, MANY_DIGITS)).replace("epsilon: 1", "epsilon: 0"), "epsilon: ε must be above 0"),
        (plan_of(f"{columns(2, MANY_DIGITS)}, {{name: d, kind: day}}"), "kind must be one of"),
    ],
)
def test_no_edge_is_made_of_a_plan_that_is_refused_for_something_else(
    monkeypatch: pytest.MonkeyPatch, text: str, fault: str
) -> None:
    made: list[object] = []
    monkeypatch.setattr(EqualEdges, "_edges", property(made.append))
    with pytest.raises(PlanError, match=fault):
        Plan.loads(text)
    assert not made


def test_no_edge_is_made_before_one_is_used() -> None:
    plan = Plan.loads(plan_of(columns(1, BINS)))
    edges = plan.columns[0].edges  # type: ignore[union-attr]
    assert plan.cells(("c0",)) == 999_992
    assert "_edges" not in vars(edges)
    assert (edges[0], edges[-1], len(edges)) == (0, 1, 999_991)


def test_the_first_of_very_many_faults_are_listed_and_the_rest_are_counted() -> None:
    unknown = ", ".join(f"k{k}: 1" for k in range(50_000))
    with pytest.raises(PlanError) as refused:
        Plan.loads(plan_of(f"{{name: a, kind: yesno, {unknown}}}"))
    assert len(refused.value.faults) == MAX_FAULTS + 1
    assert str(refused.value).endswith("\nand 49,900 more")


def test_a_list_with_a_wrong_entry_is_one_fault() -> None:
    with pytest.raises(PlanError) as refused:
        Plan.loads(plan_of(f"{{name: a, kind: category, values: [{'{}, ' * 10_000}]}}"))
    assert [str(fault) for fault in refused.value.faults] == [
        "columns → 1 (a) → values → 1: this must be a text; a number is written in quotes, such as '0'"
    ]


def test_values_are_counted_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_yaml, "MAX_VALUES", 1_000)
    assert strict_yaml.mapping(f"a: [{'0,' * 997}]", "a plan")
    with pytest.raises(PlanError, match=r"line 1: .*too long: at most 20 MB, 1,000 values and 100,000 keys"):
        strict_yaml.mapping(f"a: [{'0,' * 1_000}]\n'", "a plan")  # the open quote is not reached


def test_the_largest_honest_plans_are_read_and_sizes_known_without_labels() -> None:
    plan = Plan.loads(plan_of(f"{columns(1, BINS.replace('999990', '99990'))}, {{name: d, kind: {DAYS}}}"))
    assert (plan.cells(("c0",)), plan.cells(("d",))) == (99_992, 985_792)
    assert not {"labels", "declared"} & (vars(plan.column("c0")).keys() | vars(plan.column("d")).keys())
    assert len(Plan.loads(plan_of(columns(141, "yesno"), "{each: 2}")).marginals) == 9_870


@pytest.mark.parametrize("name", ["plan.yaml", "codebook.csv"])
def test_a_pipe_is_no_file_and_nobody_waits_for_it(tmp_path: Path, name: str) -> None:
    plan = plan_of("{name: a, kind: category, codebook: codebook.csv}")
    (tmp_path / "plan.yaml").write_text(plan)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(PlanError, match=f"{name} is not a file"):
        Plan.load(tmp_path / "plan.yaml")


def test_an_endless_file_is_no_plan() -> None:
    with pytest.raises(PlanError, match="zero is not a file"):
        Plan.load("/dev/zero")


def test_no_more_of_a_file_is_read_than_a_plan_may_have(tmp_path: Path) -> None:
    with (tmp_path / "plan.yaml").open("wb") as file:
        file.truncate(strict_yaml.MAX_BYTES * 1000)
    with pytest.raises(PlanError, match="larger than 20 MB"):
        Plan.load(tmp_path / "plan.yaml")
