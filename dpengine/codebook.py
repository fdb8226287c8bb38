"""Codebooks and standard lists: public knowledge about columns that someone has already written down.

A codebook is a YAML file with the same ``columns:`` as a plan; for one category column also a CSV file
(a column named ``value``, or the first) or a JSON file (a list, or lists by column name).
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from dpengine import strictyaml
from dpengine.domain import Column, Declared, readable_faults
from dpengine.errors import PlanError

__all__ = ["STANDARD", "Codebook", "loads", "resolve", "values_from"]

STANDARD: dict[str, tuple[str, ...]] = {
    "months": ("January", "February", "March", "April", "May", "June", "July", "August", "September",
               "October", "November", "December"),
    "weekdays": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "us-states": (
        "Alabama", "Alaska", "Arizona", "Arkansas", "California", "Colorado", "Connecticut", "Delaware",
        "District of Columbia", "Florida", "Georgia", "Hawaii", "Idaho", "Illinois", "Indiana", "Iowa", "Kansas",
        "Kentucky", "Louisiana", "Maine", "Maryland", "Massachusetts", "Michigan", "Minnesota", "Mississippi",
        "Missouri", "Montana", "Nebraska", "Nevada", "New Hampshire", "New Jersey", "New Mexico", "New York",
        "North Carolina", "North Dakota", "Ohio", "Oklahoma", "Oregon", "Pennsylvania", "Rhode Island",
        "South Carolina", "South Dakota", "Tennessee", "Texas", "Utah", "Vermont", "Virginia", "Washington",
        "West Virginia", "Wisconsin", "Wyoming"),
    "us-state-codes": (
        "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "DC", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS",
        "KY", "LA", "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC",
        "ND", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY"),
    "eu-countries": (
        "Austria", "Belgium", "Bulgaria", "Croatia", "Cyprus", "Czechia", "Denmark", "Estonia", "Finland", "France",
        "Germany", "Greece", "Hungary", "Ireland", "Italy", "Latvia", "Lithuania", "Luxembourg", "Malta",
        "Netherlands", "Poland", "Portugal", "Romania", "Slovakia", "Slovenia", "Spain", "Sweden"),
    "german-states": (
        "Baden-Württemberg", "Bayern", "Berlin", "Brandenburg", "Bremen", "Hamburg", "Hessen",
        "Mecklenburg-Vorpommern", "Niedersachsen", "Nordrhein-Westfalen", "Rheinland-Pfalz", "Saarland", "Sachsen",
        "Sachsen-Anhalt", "Schleswig-Holstein", "Thüringen"),
}  # fmt: skip


class Codebook(Declared):
    """The public domain of a table's columns, with where it comes from."""

    title: str = ""
    origin: str = ""
    licence: str = ""
    privacy_unit: str = ""
    about: dict[str, str]
    columns: tuple[Column, ...]


class _Described(Declared):
    model_config = ConfigDict(extra="allow")
    name: str
    about: str = ""


def loads(text: str) -> Codebook:
    """Read the text of a YAML codebook; its columns carry ``source: codebook``. Raises :class:`PlanError`."""
    fields = strictyaml.mapping(text, "a codebook")
    listed = fields.get("columns")
    if not isinstance(listed, list) or not all(isinstance(column, dict) for column in listed):
        raise PlanError("a codebook needs 'columns:', a list like that of a plan")
    about = {str(column.get("name")): column.get("about", "") for column in listed}
    columns = [{"source": "codebook", **{k: v for k, v in column.items() if k != "about"}} for column in listed]
    return Codebook(**{**fields, "columns": columns, "about": about})


def values_from(text: str, name: str, *, column: str) -> tuple[str, ...]:
    """The values that the CSV or JSON file ``name`` lists for ``column``. Raises :class:`PlanError`."""
    if name.lower().endswith(".json"):
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise PlanError(f"codebook {name}, line {error.lineno}: this is not readable JSON") from None
        listed = content.get(column) if isinstance(content, dict) else content
        try:
            return TypeAdapter(tuple[str, ...]).validate_python(listed)
        except ValidationError as error:
            raise PlanError(
                [f"codebook {name}, column {column!r}: {fault}" for fault in readable_faults(error)]
            ) from None
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if len(rows) < 2:
        raise PlanError(f"codebook {name} lists no values: it needs a header line and a line a value")
    position = rows[0].index("value") if "value" in rows[0] else 0
    return tuple(row[position] for row in rows[1:] if len(row) > position)


def resolve(plan: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Fill in the values of the category columns of a plan file that name a codebook or a standard list."""
    columns = plan.get("columns")
    if not isinstance(columns, list):
        return plan
    return {**plan, "columns": [_resolved(column, folder) for column in columns]}


def _resolved(column: Any, folder: Path | None) -> Any:
    if not isinstance(column, dict) or "codebook" not in column or "values" in column:
        return column
    wanted = str(column["codebook"])
    if wanted in STANDARD:
        return {**column, "values": STANDARD[wanted], "source": "standard"}
    if not wanted.lower().endswith((".csv", ".json")):
        names = ", ".join(STANDARD)
        raise PlanError(f"column {column.get('name')!r}: no standard list is called {wanted!r}; there are {names}")
    if folder is None:
        raise PlanError(
            f"column {column.get('name')!r}: the codebook {wanted!r} is not at hand here; list its values instead"
        )
    path = (folder / wanted).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise PlanError(f"column {column.get('name')!r}: the codebook must lie in the folder of the plan")
    values = values_from(strictyaml.read(path, "codebook"), path.name, column=str(column.get("name")))
    return {**column, "values": values, "source": "codebook"}
