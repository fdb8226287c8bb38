"""Whether the columns of a table can be read as they are declared; reads no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from dpengine.counting.bin_boundaries import Family, family_of
from dpengine.sources.plan_template import header_doubt
from dpengine.sources.table import Field
from dpengine.spec.domain import Column, Date
from dpengine.spec.numeric_grid import Grid
from dpengine.spec.plan import Unit

__all__ = ["column_faults", "missing_column"]

_READABLE: Mapping[str, tuple[Family, ...]] = {
    "number": ("text", "integer", "float", "decimal", "boolean"),
    "yesno": ("text", "integer", "float", "decimal", "boolean"),
    "date": ("text", "date", "timestamp"),
}


def column_faults(fields: Sequence[Field], columns: Sequence[Column | Grid], unit: Unit) -> list[str]:
    """Return a sentence for each declared column, and for the ID, that a table with `fields` cannot serve."""
    types = {field.name: field.type for field in fields}
    needed: list[tuple[str, Column | Grid | None]] = [(column.name, column) for column in columns]
    if unit.id is not None:
        needed.append((unit.id, None))
    faults = []
    for name, column in needed:
        if name not in types:
            faults.append(missing_column(name, list(types)))
        elif (family := family_of(types[name])) is None:
            type_name = types[name].split("(")[0].lower()
            faults.append(
                f"column {name!r} holds {type_name} values, which cannot be counted; write them as text or numbers"
            )
        elif column is not None and (fault := _unreadable(column, family)):
            faults.append(fault)
    return faults


def missing_column(name: str, names: list[str]) -> str:
    """Return the message for a missing column, with close matches among `names`.

    >>> missing_column("Age", ["age", "sex"])
    "the table has no column 'Age'; did you mean 'age'? it has 'age', 'sex'"
    """
    if header_doubt(names):  # they may be a person's row, which no message may quote
        return f"the table has no column {name!r}, and its first line looks like data: add a line with the names"
    near = [other for other in names if other.strip().lower() == name.strip().lower()]
    near = near or get_close_matches(name, names, n=3)
    listed = ", ".join(repr(other) for other in names[:50]) + (", …" if len(names) > 50 else "")
    hint = f"did you mean {' or '.join(repr(other) for other in near)}? " if near else ""
    return f"the table has no column {name!r}; {hint}it has {listed}"


def _unreadable(column: Column | Grid, family: Family) -> str | None:
    """Return why values of this family cannot be read as declared, or None where they can."""
    readable = _READABLE.get(column.kind)
    if readable is None or family in readable or (isinstance(column, Date) and column.format is not None):
        return None
    values = {"date": "dates", "timestamp": "times", "boolean": "yes and no"}.get(family, "numbers")
    advice = "; a format tells how to read numbers as dates" if column.kind == "date" else ""
    return f"column {column.name!r} holds {values} and cannot be read as {column.kind}; declare another kind{advice}"
