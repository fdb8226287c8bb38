"""Codebooks: files with public knowledge about columns.

A codebook is a YAML file with the same ``columns:`` as a plan. For one category column it may also be a CSV file, with
the values in a column named ``value``, else in the first column; or a JSON file with a list, or with lists by column
name. For a column with levels, the CSV file has one column for each level, and the JSON file nested values. For a sheet
with a row for each column, see `codebook_sheet`; for exchange formats such as CSVW-EO and DDI, see `exchange`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from dpengine import shapes
from dpengine.errors import PlanError
from dpengine.spec import strict_yaml
from dpengine.spec.categories import tree as trees
from dpengine.spec.csv_rows import csv_rows
from dpengine.spec.declared import Declared, Text, readable_faults
from dpengine.spec.domain import Column
from dpengine.spec.standard_lists import standard_lists
from dpengine.translation.catalogue import _, mark

__all__ = ["Codebook", "from_columns", "loads", "resolve", "values_from"]

_FILES = (".csv", ".json", ".jsonld", ".json-ld", ".xml")


class Codebook(Declared):
    """The public domains of a table's columns, and their origin."""

    title: Text = ""
    origin: Text = ""
    licence: Text = ""
    privacy_unit: Text = ""
    about: dict[str, Text]
    columns: tuple[Column, ...]


def loads(text: str, geojson: Mapping[str, str] | None = None) -> Codebook:
    """Read the text of a YAML codebook; its columns get ``source: codebook``. Raises `PlanError`.

    `geojson` holds the texts of the files that its columns may name as their `shapes`.
    """
    fields = strict_yaml.mapping(text, mark("a codebook"))
    listed = fields.get("columns")
    if not isinstance(listed, list) or not all(isinstance(column, dict) for column in listed):
        raise PlanError(_("a codebook needs 'columns:', a list like that of a plan"))
    about = {str(column.get("name")): column.get("about", "") for column in listed}
    columns = [{k: v for k, v in column.items() if k != "about"} for column in listed]
    columns = [_with_shapes(column, (geojson or {}).get) for column in columns]
    return from_columns(columns, about, fields)


def from_columns(
    columns: Sequence[Mapping[str, Any]], about: Mapping[str, str], fields: Mapping[str, Any] | None = None
) -> Codebook:
    """Return the codebook of these columns, given as in a plan, with texts about them; they get ``source: codebook``.

    `fields` are those of the whole codebook, such as its title. Raises `PlanError` with every fault.
    """
    return Codebook(
        **{**(fields or {}), "columns": [{"source": "codebook", **column} for column in columns], "about": about}
    )


def values_from(text: str, name: str, *, column: str) -> tuple[str, ...]:
    """Return the values that the CSV or JSON file `name`, with this text, lists for `column`. Raises `PlanError`.

    >>> values_from("value,meaning\\nN,north\\nS,south\\n", "regions.csv", column="region")
    ('N', 'S')
    """
    if name.lower().endswith(".json"):
        content = _json(text, name)
        listed = content.get(column) if isinstance(content, dict) else content
        try:
            return TypeAdapter(tuple[str, ...]).validate_python(listed)
        except ValidationError as error:
            raise PlanError(
                _("codebook {name}, column {column!r}: {fault}", name=name, column=column, fault=fault)
                for fault in readable_faults(error)
            ) from None
    rows = _rows(text, name)
    position = rows[0].index("value") if "value" in rows[0] else 0
    return tuple(row[position] for row in rows[1:] if len(row) > position)


def _json(text: str, name: str) -> Any:
    """Read a JSON file. Raises `PlanError`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise PlanError(
            _("codebook {name}, line {line}: this is not readable JSON", name=name, line=error.lineno)
        ) from None
    except (ValueError, RecursionError):
        raise PlanError(
            _("codebook {name}: this JSON is nested too deeply, or holds too long a number", name=name)
        ) from None


def _rows(text: str, name: str) -> list[list[str]]:
    """Read the header and the lines of a CSV file. Raises `PlanError`."""
    try:
        rows = [row for row in csv_rows(text) if row]
    except PlanError:
        raise PlanError(_("codebook {name}: this is not readable CSV", name=name)) from None
    if len(rows) < 2:
        raise PlanError(
            _("codebook {name} lists no values: it needs a header line, then one line for each value", name=name)
        )
    return rows


def resolve(plan: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Fill in values and shapes of category columns that name files in `folder`. Raises `PlanError`.

    `Category` fills in standard lists itself.
    """
    columns = plan.get("columns")
    if not isinstance(columns, list):
        return plan
    return {**plan, "columns": [_resolved(column, folder) for column in columns]}


def _resolved(column: Any, folder: Path | None) -> Any:
    if not isinstance(column, dict) or folder is None:
        return column
    column = _with_values(column, folder)
    return _with_shapes(column, lambda name: _text_beside(column, folder, name, mark("file of shapes")))


def _with_values(column: dict[str, Any], folder: Path) -> dict[str, Any]:
    wanted = column.get("codebook")
    if not isinstance(wanted, str) or not wanted.lower().endswith(_FILES):
        return column
    if column.get("values"):
        return {name: value for name, value in column.items() if name != "source"}  # `Category` refuses both
    text = _text_beside(column, folder, wanted, mark("codebook"))
    if (described := _described(column, text, Path(wanted).name)) is not None:
        return {**column, **described, "source": "codebook"}
    if column.get("levels"):
        return {**column, **_tree_from(text, Path(wanted).name, column), "source": "codebook"}
    values = values_from(text, Path(wanted).name, column=str(column.get("name")))
    return {**column, "values": values, "source": "codebook"}


def _described(column: Mapping[str, Any], text: str, name: str) -> dict[str, Any] | None:
    """Return values of a column and words for them from a file in an exchange format; None if it is in none.

    Raises `PlanError`, also if numbers in the file were measured from rows: then its values may have been, too.
    """
    from dpengine.spec.exchange import formats  # that module imports this one

    suffix = Path(name).suffix.lower()
    if suffix == ".csv" or (suffix != ".xml" and not formats.is_described(_json(text, name))):
        return None
    try:
        content = formats.read(text.encode(), suffix)
    except PlanError as error:
        raise PlanError(_("codebook {name}: {fault}", name=name, fault=fault) for fault in error.faults) from None
    if content.refused:
        raise PlanError(
            _(
                "codebook {name} holds what was measured from rows, so its values may have been, too ({what}): take "
                "that out once you know that the rest is public, or list the values here",
                name=name,
                what="; ".join(content.refused[:3]),
            )
        )
    mine = next((each for each in content.codebook.columns if each.name == column.get("name")), None)
    if mine is None or mine.kind != "category":
        raise PlanError(
            _("codebook {name} lists no values of the column {column!r}", name=name, column=column.get("name"))
        )
    words = column.get("words") or dict(mine.words)
    return {"values": list(mine.declared)} | ({"words": words} if words else {})


def _tree_from(text: str, name: str, column: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a column with levels, and their parents; in a JSON file, values are already nested."""
    if name.lower().endswith(".json"):
        content = _json(text, name)
        inner = content.get(str(column.get("name"))) if isinstance(content, dict) else None
        return {"values": content if inner is None else inner}
    levels, rows = column["levels"], _rows(text, name)
    try:
        if not isinstance(levels, list | tuple):
            raise ValueError(_("'levels' is a list of names, coarsest first, such as [state, county]"))
        return trees.from_rows(rows[0], rows[1:], list(map(str, levels)))
    except ValueError as error:
        raise PlanError(_("codebook {name}: {fault}", name=name, fault=error)) from None


def _with_shapes(column: dict[str, Any], text_of: Callable[[str], str | None]) -> dict[str, Any]:
    """Replace the name of a GeoJSON file by its outlines of the column's values."""
    wanted, values = column.get("shapes"), column.get("values")
    if not isinstance(wanted, str) or (text := text_of(wanted)) is None:
        return column
    listed = values or standard_lists().get(str(column.get("codebook")), ())
    words = column.get("words")
    try:
        named = {str(word): str(value) for value, word in words.items()} if isinstance(words, dict) else {}
        return {**column, "shapes": shapes.from_geojson(text, [str(value) for value in listed], named)}
    except ValueError as error:
        raise PlanError(
            _("column {name!r}, shapes {file}: {error}", name=column.get("name"), file=Path(wanted).name, error=error)
        ) from None


def _text_beside(column: Mapping[str, Any], folder: Path, name: str, what: str) -> str:
    """Read a file beside the plan. Raises `PlanError` if it is elsewhere or cannot be read."""
    try:
        path = (folder / name).resolve()
        within = path.is_relative_to(folder.resolve())
    except ValueError:  # for example NUL, which no path may hold
        within = False
    if not within:
        raise PlanError(
            _("column {name!r}: the {what} must lie in the folder of the plan", name=column.get("name"), what=_(what))
        )
    if path.exists() and not path.is_file():  # reading a pipe might never end
        raise PlanError(
            _("column {name!r}: the {what} {file} is not a file", name=column.get("name"), what=_(what), file=path.name)
        )
    return strict_yaml.read(path, what)
