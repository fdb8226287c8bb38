"""Check that the columns of a table can be read as they are declared. No row is read."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from dpengine.counting.encoding.bin_boundaries import family_of
from dpengine.counting.encoding.coding import reads
from dpengine.counting.encoding.declared_texts import Family
from dpengine.sources.mixed import member_types
from dpengine.sources.plan_template import header_doubt
from dpengine.sources.table import Field
from dpengine.spec.domain import Column
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Unit

__all__ = ["column_faults", "missing_column"]


def column_faults(fields: Sequence[Field], columns: Sequence[Column | Grid], unit: Unit) -> list[str]:
    """Return a sentence for each declared column, and for the ID, that a table with `fields` cannot serve.

    In a mixed column, cells of a type that cannot be read as declared are read as texts.
    """
    types = {field.name: field.type for field in fields}
    needed: list[tuple[str, Column | Grid | None]] = [(column.name, column) for column in columns]
    if unit.id is not None:
        needed.append((unit.id, None))
    faults = []
    for name, column in needed:
        if name not in types:
            faults.append(missing_column(name, list(types)))
            continue
        for each in member_types(types[name]) or [types[name]]:
            if (family := family_of(each)) is None:
                kind = each.split("(")[0].lower()
                faults.append(
                    f"column {name!r} holds {kind} values, which cannot be counted; write them as text or numbers"
                )
            elif column is not None and each == types[name] and (fault := _unreadable(column, family)):
                faults.append(fault)
    return faults


def missing_column(name: str, names: list[str]) -> str:
    """Return the message for a missing column, with close matches among `names`.

    >>> missing_column("Age", ["age", "sex"])
    "the table has no column 'Age'; did you mean 'age'? it has 'age', 'sex'"
    """
    if header_doubt(names):  # the names may be a person's row, which no message may quote
        return f"the table has no column {name!r}, and its first line looks like data: add a line with the names"
    near = [other for other in names if other.strip().lower() == name.strip().lower()]
    near = near or get_close_matches(name, names, n=3)
    listed = ", ".join(repr(other) for other in names[:50]) + (", …" if len(names) > 50 else "")
    hint = f"did you mean {' or '.join(repr(other) for other in near)}? " if near else ""
    return f"the table has no column {name!r}; {hint}it has {listed}"


def _unreadable(column: Column | Grid, family: Family) -> str | None:
    """Return why values of this family cannot be read as declared, or None if they can."""
    if reads(column, family):
        return None
    values = {"date": "dates", "timestamp": "times", "boolean": "yes and no"}.get(family, "numbers")
    advice = ", or give the format by which numbers are dates, such as %Y%m%d" if column.kind == "date" else ""
    return f"column {column.name!r} holds {values} and cannot be read as {column.kind}; declare another kind{advice}"
