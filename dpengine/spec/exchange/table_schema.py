"""Codebooks in Table Schema, alone or in the descriptor of a Data Package.

Source: Data Package standard, versions 1 and 2 (datapackage.org).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpengine.errors import PlanError
from dpengine.spec.column import MISSING, OTHER
from dpengine.spec.exchange.draft import Draft, ReadCodebook, dates_between, number_between, texts
from dpengine.spec.notation import YES_NO
from dpengine.translation.catalogue import _, mark

__all__ = ["read"]

_MARKS = {(".", ","): "1,234.5", (",", "."): "1.234,5"}


def read(document: Mapping[str, Any]) -> ReadCodebook:
    """Return the codebook in a Table Schema or in a Data Package, whose tables may share columns. Raises `PlanError`.

    >>> field = {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}
    >>> read({"fields": [field]}).codebook.columns[0].declared
    ('f', 'm')
    """
    draft = Draft(title=_text(document.get("title")), licence=_licence(document))
    resources = document.get("resources")
    tables = [each for each in resources if isinstance(each, dict)] if isinstance(resources, list) else []
    for table in tables:
        if isinstance(table.get("schema"), str):
            raise PlanError(_("the schema of {table} stands in a file of its own: bring that file",
                              table=_text(table.get("name"))))  # fmt: skip
        stats = table.get("stats")
        if table.get("rowCount") or (isinstance(stats, dict) and stats.get("rows")):
            draft.refuse(_text(table.get("name")), mark("the number of rows"))
    schemas = [each["schema"] for each in tables if isinstance(each.get("schema"), dict)] if tables else [document]
    seen: set[str] = set()
    for schema in schemas:
        listed = schema.get("fields")
        for field in listed if isinstance(listed, list) else ():
            name = field.get("name") if isinstance(field, dict) else None
            if isinstance(name, str) and name and name not in seen:
                seen.add(name)
                _add(draft, name, field, schema.get("missingValues", [""]))
    return draft.finish()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _licence(document: Mapping[str, Any]) -> str:
    listed = document.get("licenses")
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    return next((text for key in ("title", "name", "path") if (text := _text(first.get(key)))), "")


def _add(draft: Draft, name: str, field: Mapping[str, Any], missing_values: object) -> None:
    given = field.get("constraints")
    limits: Mapping[str, Any] = given if isinstance(given, dict) else {}
    values, words = _values(field, limits)
    fields = _cells(field, limits, values)
    if "kind" in fields:
        marks = _coded(field.get("missingValues", missing_values))[0]
        fields |= {"missing": limits.get("required") is not True} | ({"missing_as": marks} if marks else {})
    if fields.get("kind") == "category":
        listed = set(values)
        meanings = {value: word for value, word in words.items() if word and word != value and value in listed}
        fields |= {"words": meanings} if meanings else {}
    draft.add(name, fields, label=_text(field.get("title")), text=_text(field.get("description")))


def _values(field: Mapping[str, Any], limits: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Return the values that are listed for a field, and words for them."""
    values, words = _coded(field.get("categories"))
    values = values or texts(limits.get("enum"))
    return [value for value in values if value not in (OTHER, MISSING)], words  # a release lists these cells, too


def _coded(listed: object) -> tuple[list[str], dict[str, str]]:
    """Return the values of a list, given alone or each as a mapping with its label, and these labels by value."""
    entries = listed if isinstance(listed, list) else []
    coded = [each for each in entries if isinstance(each, dict) and "value" in each]
    alone = [each.get("value") if isinstance(each, dict) else each for each in entries]
    words = {text: _text(each.get("label")) for each in coded for text in texts([each["value"]])}
    return texts(alone), words


def _cells(field: Mapping[str, Any], limits: Mapping[str, Any], values: list[str]) -> dict[str, Any]:
    kind, low, high = field.get("type", "string"), limits.get("minimum"), limits.get("maximum")
    if kind == "boolean":
        return _booleans(field)
    if values:
        return {"kind": "category", "values": values}
    if kind in ("integer", "number", "year"):
        bounds = number_between(low, high, whole=kind != "number")
        marks = _MARKS.get((_text(field.get("decimalChar")) or ".", _text(field.get("groupChar"))))
        return bounds | ({"format": marks} if bounds and marks else {})
    if kind in ("date", "datetime"):
        bounds, form = dates_between(low, high), _text(field.get("format"))
        return bounds | ({"format": form} if bounds and "%" in form else {})
    return {}


def _booleans(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return yes and no, or the two words that a field has for true and false."""
    pair = [texts(field.get(key)) for key in ("trueValues", "falseValues")]
    if not all(pair) or {each.casefold() for words in pair for each in words} in YES_NO:
        return {"kind": "yesno"}
    return {"kind": "category", "values": [value for words in pair for value in words]}
