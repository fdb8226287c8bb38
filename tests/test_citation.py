"""How the software is cited says what `pyproject.toml` and the version say, in a form that others read."""

from __future__ import annotations

import json
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from dpengine.version import VERSION

ROOT = Path(__file__).parent.parent
SCHEMA = yaml.safe_load(Path(__file__).with_name("citation-schema.yaml").read_text(encoding="utf-8"))
MADE: dict[str, str] = runpy.run_path(str(ROOT / ".ci" / "citation.py"))["made"]()
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def faults(citation: dict[str, Any]) -> list[str]:
    return [fault.message for fault in Draft7Validator(SCHEMA).iter_errors(citation)]


@pytest.mark.parametrize("name", MADE)
def test_each_file_is_as_the_project_says(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == MADE[name], "run .ci/citation.py"


def test_the_citation_has_the_form_that_readers_of_it_demand() -> None:
    citation = yaml.safe_load(MADE["CITATION.cff"])
    assert faults(citation) == []
    assert faults(citation | {"license": "no such licence"})
    assert faults({key: value for key, value in citation.items() if key != "authors"})


def test_version_and_licence_are_the_same_everywhere() -> None:
    cff, codemeta = yaml.safe_load(MADE["CITATION.cff"]), json.loads(MADE["codemeta.json"])
    assert cff["version"] == codemeta["version"] == VERSION
    assert f"https://spdx.org/licenses/{cff['license']}" == codemeta["license"]
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith(f"{cff['license']} License")
    assert f"(c) 2026 {PROJECT['authors'][0]['name']}" in (ROOT / "LICENSE").read_text(encoding="utf-8")
