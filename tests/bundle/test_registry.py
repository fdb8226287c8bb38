"""The draft entry holds to the public registry's own schema, whatever the plan, and marks what a person must add."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from dpengine import Plan, preview
from dpengine.bundle.write import pack
from dpengine.translation.catalogue import speaking
from tests.bundles import members_of
from tests.plans import CLINIC, letters_plan

SCHEMA = yaml.safe_load((Path(__file__).parent / "deployments-schema.yaml").read_text(encoding="utf-8"))
CHECK = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
PLANS = {
    "direct": Plan.loads(f"{CLINIC}strategy: direct\n"),
    "optimised": Plan.loads(f"{CLINIC}strategy: optimised\n"),
    "adaptive": letters_plan([3, 3, 4], {"each": 2}, strategy="adaptive"),
    "ranges": Plan(
        dataset="r",
        epsilon="1/3",
        columns=[{"name": "age", "kind": "number", "edges": {"from": 0, "to": 100, "bins": 20}}],
        tables=[{"columns": ["age"], "ranges": True}],
    ),
    "people": letters_plan([2, 2], [["a", "b"]], unit={"id": "who", "rows": 3}, epsilon="0.7"),
    "persons": letters_plan([2, 2], [["a", "b"], {"columns": ["a"], "distinct": True}], unit={"id": "who", "rows": 3}),
    "a title without letters": letters_plan([2], [["a"]], title="統計 – 2026", notes="$x$ <b>[a](b)</b>"),
}


def entry_of(plan: Plan) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(members_of(pack(preview(plan)))["registry.yaml"])
    return content


@pytest.mark.by_day(2)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_registry_accepts_the_entry(plan: Plan) -> None:
    entry = entry_of(plan)
    assert [f"{list(fault.path)}: {fault.message}" for fault in CHECK.iter_errors(entry)] == []
    stated = entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"]
    assert plan.epsilon <= Fraction(repr(stated)) < plan.epsilon * Fraction("1.000001"), "never less than was spent"


@pytest.mark.parametrize("plan", [PLANS["direct"], PLANS["persons"]], ids=["direct", "persons"])
def test_the_entry_is_in_english_whatever_page_made_it(plan: Plan) -> None:
    release = preview(plan)
    english = members_of(pack(release))["registry.yaml"]
    with speaking("de"):
        assert members_of(pack(release))["registry.yaml"] == english


def test_the_schema_finds_a_fault() -> None:
    entry = entry_of(PLANS["direct"])
    del entry["url_slug"]
    entry["deployment"]["basic"]["data_product_type"] = ["Summary statistics"]
    assert {".".join(map(str, fault.path)) for fault in CHECK.iter_errors(entry)} == {
        "",
        "deployment.basic.data_product_type",
    }


def test_what_a_person_must_add_is_marked_and_nothing_is_blank() -> None:
    def texts(part: Any) -> list[str]:
        if isinstance(part, dict):
            return [text for value in part.values() for text in texts(value)]
        return [text for value in part for text in texts(value)] if isinstance(part, list) else [str(part)]

    entries = texts(entry_of(PLANS["direct"]))
    assert all(text.strip() for text in entries)
    assert sum(text.startswith("[to fill in: ") for text in entries) == 9


def test_the_address_of_the_entry_keeps_letters_that_have_no_plain_form() -> None:
    assert entry_of(letters_plan([2], [["a"]], title="Parkverstöße in Łódź"))["url_slug"] == "parkverstosse-in-lodz"
