"""Recognise a codebook in an exchange format by its content, and read it."""

from __future__ import annotations

import json
from typing import Any

from dpengine.errors import PlanError
from dpengine.spec.exchange import csvw_eo, ddi, table_schema
from dpengine.spec.exchange.draft import ReadCodebook
from dpengine.spec.strict_yaml import MAX_BYTES, MAX_VALUES
from dpengine.translation.catalogue import _

__all__ = ["ENDINGS", "is_described", "read"]

ENDINGS = (".json", ".jsonld", ".json-ld", ".xml")


def read(content: bytes, suffix: str) -> ReadCodebook:
    """Return the codebook in a file with one of `ENDINGS`: CSVW-EO, Table Schema, Data Package or DDI Codebook.

    Raises `PlanError` if it is none of these.
    """
    if len(content) > MAX_BYTES:
        raise PlanError(_("this file is too long: at most {most} MB are read", most=MAX_BYTES // 10**6))
    if suffix == ".xml":
        return ddi.read(content)
    document = parsed(content)
    if not is_described(document):
        raise PlanError(
            _(
                "this JSON is no codebook that is known here: it describes columns as CSVW-EO (tableSchema), as a "
                "Table Schema (fields), or as a Data Package (resources)"
            )
        )
    of_fields = "resources" in document or isinstance(document.get("fields"), list)
    return table_schema.read(document) if of_fields else csvw_eo.read(document)


def parsed(content: bytes) -> Any:
    """Parse a JSON file. Raises `PlanError`."""
    if content.count(b",") + content.count(b"[") + content.count(b"{") > 4 * MAX_VALUES:
        raise PlanError(_("this file holds too many values"))
    try:
        return json.loads(content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise PlanError(_("line {line}: this is not readable JSON", line=error.lineno)) from None
    except (ValueError, RecursionError):
        raise PlanError(_("this is not readable JSON")) from None


def is_described(document: object) -> bool:
    """Return whether a JSON document describes the columns of tables in one of these formats."""
    if not isinstance(document, dict):
        return False
    keys = {key.rpartition(":")[2] for key in document}
    return bool(keys & {"tableSchema", "tables", "resources"}) or isinstance(document.get("fields"), list)
