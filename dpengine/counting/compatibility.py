"""Whether the columns of a table can be read as they are declared, and what to say where they cannot."""

from __future__ import annotations

from difflib import get_close_matches

from dpengine.counting.encode_sql import Family
from dpengine.sources.plan_template import header_doubt
from dpengine.spec.domain import Column, Date
from dpengine.spec.numeric_grid import Grid

__all__ = ["lacking", "unfit"]

_USABLE: dict[str, tuple[Family, ...]] = {
    "number": ("text", "integer", "float", "decimal", "boolean"),
    "yesno": ("text", "integer", "float", "decimal", "boolean"),
    "date": ("text", "date", "timestamp"),
}


def lacking(name: str, names: list[str]) -> str:
    """That the table has no column of this name, and which it may be instead."""
    if header_doubt(names):  # they may be a person's row, which no message may quote
        return f"the table has no column {name!r}, and its first line looks like data: add a line with the names"
    near = [other for other in names if other.strip().lower() == name.strip().lower()]
    near = near or get_close_matches(name, names, n=3)
    shown = ", ".join(repr(other) for other in names[:50]) + (", …" if len(names) > 50 else "")
    hint = f"did you mean {' or '.join(repr(other) for other in near)}? " if near else ""
    return f"the table has no column {name!r}; {hint}it has {shown}"


def unfit(column: Column | Grid, family: Family | None) -> str | None:
    """Why a column whose type is of this family cannot be read as declared; None where it can."""
    usable = _USABLE.get(column.kind)
    if usable is None or family in usable or (isinstance(column, Date) and column.format is not None):
        return None
    held = {"date": "dates", "timestamp": "times", "boolean": "yes and no"}.get(str(family), "numbers")
    advice = "; a format tells how to read numbers as dates" if column.kind == "date" else ""
    return f"column {column.name!r} holds {held} and cannot be read as {column.kind}; declare another kind{advice}"
