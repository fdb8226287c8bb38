"""Errors list what is wrong as values: a place and a sentence, which pages and programs need not take apart."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import pytest

import dpengine as dpe
from dpengine.errors import MAX_LINES, Fault, LedgerError, PrivateReleaseError, TableError


def test_a_fault_reads_as_its_place_and_a_sentence() -> None:
    fault = Fault(("columns", 2, "edges"), "give at least two edges", column="age")
    assert str(fault) == "columns → 2 (age) → edges: give at least two edges"
    assert str(Fault(("columns", 2), "list the values")) == "columns → 2: list the values"
    assert str(Fault((), "the table has no columns")) == "the table has no columns"


def test_a_fault_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Fault((), "a").text = "b"  # type: ignore[misc]


def test_texts_and_faults_may_be_mixed_and_each_is_a_line_of_the_message() -> None:
    error = TableError(["the table has no columns", Fault(("header",), "2 columns are named 'a'")])
    assert error.faults == (Fault((), "the table has no columns"), Fault(("header",), "2 columns are named 'a'"))
    assert str(error) == "the table has no columns\nheader: 2 columns are named 'a'"
    assert TableError("one").faults == TableError(Fault((), "one")).faults


def test_a_message_has_a_limited_number_of_lines_and_the_faults_are_all_there() -> None:
    error = TableError(f"column {k} cannot be read" for k in range(1000))
    assert len(error.faults) == 1000
    assert len(str(error).splitlines()) == MAX_LINES + 1
    assert str(error).endswith("and 800 more faults")


def test_faults_survive_the_way_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(TableError([Fault(("header",), "a"), "b"])))  # noqa: S301
    assert error.faults == (Fault(("header",), "a"), Fault((), "b"))


def test_the_faults_of_a_plan_name_their_places_from_one() -> None:
    with pytest.raises(dpe.PlanError) as caught:
        dpe.Plan(
            dataset="clinic", epsilon="0", tables=[["age"]],
            columns=[{"name": "age", "kind": "number", "edges": [1]}, {"name": "visit", "kind": "date", "by": "month"}],
        )  # fmt: skip
    places = [fault.path for fault in caught.value.faults]
    assert places == [("epsilon",), ("columns", 1, "edges"), ("columns", 2, "from"), ("columns", 2, "to")]
    assert [fault.column for fault in caught.value.faults] == ["", "age", "visit", "visit"]


@pytest.mark.parametrize("columns", ["age", [7], [{"kind": "number"}], [{"name": ["age"]}], {"age": {}}, None])
def test_a_column_without_a_name_is_named_by_its_place_alone(columns: object) -> None:
    with pytest.raises(dpe.PlanError) as caught:
        dpe.Plan(dataset="clinic", epsilon="1", tables=[["age"]], columns=columns)
    assert {fault.path[0] for fault in caught.value.faults} == {"columns"}
    assert {fault.column for fault in caught.value.faults} == {""}


def test_every_kind_of_error_can_be_caught_as_one() -> None:
    kinds = set(PrivateReleaseError.__subclasses__())
    assert kinds == {
        dpe.PlanError, dpe.TableError, dpe.BudgetError, LedgerError, dpe.ReleaseError, dpe.SettingsError, dpe.NoiseError
    }  # fmt: skip
    assert {each for kind in kinds for each in kind.__subclasses__()} == {dpe.LedgerBusyError}
