"""Columns of a plan for the hour and the weekday of a column of the table, which no header names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dpengine.sources.mixed import holds_texts
from dpengine.sources.table import Field
from dpengine.spec.time_column import TIMES

__all__ = ["offered_times", "table_column"]

OF_TIMES = ("date", "time")  # kinds of columns whose hours and weekdays are offered


def table_column(declared: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """Return the column of the table that a column of the plan reads.

    >>> table_column({"started hour": {"of": "started"}}, "started hour"), table_column({}, "age")
    ('started', 'age')
    """
    return str(declared.get(name, {}).get("of") or name)


def offered_times(fields: Iterable[Field], declared: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return entries for the hours and weekdays of the table's columns of times, by name, and those declared already.

    >>> list(offered_times([Field("started", "date", "TIMESTAMP"), Field("born", "date", "DATE")], {}))
    ['started hour', 'started weekday', 'born weekday']
    """
    fields = list(fields)
    names = {field.name for field in fields}
    offers = {
        name: dict(column) for name, column in declared.items() if name not in names and column.get("of") in names
    }
    known = {(column["of"], column.get("by")) for column in offers.values()}
    for field in fields:
        now = declared.get(field.name, {})
        if now.get("kind", field.kind_hint) not in OF_TIMES:
            continue
        for by in TIMES[field.type == "DATE" :]:  # the hour of a date is not known
            name = f"{field.name} {by}"
            if name in names or (field.name, by) in known or (now.get("kind"), now.get("by")) == ("time", by):
                continue
            written = now.get("format", None if holds_texts(field.type) else "")
            zone = {"zone": now["zone"]} if now.get("zone") else {}  # one clock for all that read a column
            offers[name] = zone | {"name": name, "kind": "time", "of": field.name, "by": by, "source": "standard",
                            "format": written}  # fmt: skip
    return offers
