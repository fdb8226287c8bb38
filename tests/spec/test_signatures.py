"""The constructors that type checkers see take exactly the fields that are read at run time."""

from __future__ import annotations

import ast
import inspect
import typing
from pathlib import Path

import pytest

from dpengine.spec import date_column, domain, plan
from dpengine.spec.categories import category, universe
from dpengine.spec.column import ColumnOptions
from dpengine.spec.declared import Declared
from dpengine.spec.numeric import amount, grid, number
from dpengine.spec.query import condition, question, statistic


def constructors() -> dict[str, tuple[type[Declared], ast.arguments]]:
    """Each class with a constructor for type checkers, and the arguments of that constructor."""
    classes = {}
    for module in (
        amount, category, condition, date_column, domain, grid, number, plan, question, statistic, universe,
    ):  # fmt: skip
        for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                        classes[node.name] = (getattr(module, node.name), inner.args)
    return classes


def test_every_class_that_reads_more_types_than_it_keeps_has_one() -> None:
    assert {
        "Amount",
        "Category",
        "Condition",
        "Date",
        "Grid",
        "Number",
        "Plan",
        "Proportion",
        "Quantile",
        "Question",
        "Universe",
    } <= set(constructors())


@pytest.mark.parametrize("name", sorted(constructors()))
def test_a_constructor_takes_the_fields_of_its_class(name: str) -> None:
    declared, arguments = constructors()[name]
    options = set(typing.get_type_hints(ColumnOptions)) if arguments.kwarg else set()
    assert {each.arg for each in arguments.kwonlyargs} | options == set(declared.model_fields)


@pytest.mark.parametrize("name", sorted(constructors()))
def test_a_constructor_needs_the_fields_that_have_no_default(name: str) -> None:
    declared, arguments = constructors()[name]
    needed = {
        each.arg for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if not default
    }
    of_bins = {"edges"} if name == "Number" else set()  # needed unless bins are found
    assert needed | of_bins == {field for field, about in declared.model_fields.items() if about.is_required()}


def test_a_person_at_a_prompt_sees_the_fields_too() -> None:
    shown = inspect.signature(plan.Plan).parameters
    assert set(shown) == set(plan.Plan.model_fields)


@pytest.mark.parametrize("name", sorted(constructors()))
def test_help_shows_the_names_of_python_and_types_without_what_checks_them(name: str) -> None:
    declared = constructors()[name][0]
    shown = inspect.signature(declared)
    assert list(shown.parameters) == list(declared.model_fields)
    assert not any(odd in str(shown) for odd in ("Annotated", "function", "Undefined"))


def test_an_argument_without_its_name_is_answered_with_the_names() -> None:
    with pytest.raises(TypeError, match="Unit takes named arguments only: rows, id"):
        plan.Unit("patient", 3)  # type: ignore[misc]
