"""Check that the columns of a table can be read as they are declared. No row is read."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import reduce

from dpengine.counting.encoding.bin_boundaries import family_of
from dpengine.counting.encoding.coding import is_hour, reads
from dpengine.counting.encoding.declared_texts import Family
from dpengine.sources.mixed import member_types
from dpengine.sources.plan_template import header_doubt
from dpengine.sources.table import Field
from dpengine.spec.domain import Column
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Unit
from dpengine.translation.catalogue import _, mark

__all__ = ["column_faults", "missing_column"]


def column_faults(fields: Sequence[Field], columns: Sequence[Column | Grid], unit: Unit) -> list[str]:
    """Return a sentence for each declared column, and for the ID, that a table with `fields` cannot serve.

    In a mixed column, cells of a type that cannot be read as declared are read as texts.
    """
    types = {field.name: field.type for field in fields}
    needed: list[tuple[str, Column | Grid | None]] = [(column.table_column, column) for column in columns]
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
                    _(
                        "column {name} holds {kind} values, which cannot be counted; write them as text or numbers",
                        name=repr(name),
                        kind=kind,
                    )
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
        return _(
            "the table has no column {name}, and its first line looks like data: add a line with the names",
            name=repr(name),
        )
    near = [other for other in names if other.strip().lower() == name.strip().lower()]
    near = near or get_close_matches(name, names, n=3)
    listed = ", ".join(repr(other) for other in names[:50]) + (", …" if len(names) > 50 else "")
    if not near:
        return _("the table has no column {name}; it has {names}", name=repr(name), names=listed)
    meant = reduce(lambda one, other: _("{one} or {other}", one=one, other=other), map(repr, near))
    return _(
        "the table has no column {name}; did you mean {meant}? it has {names}",
        name=repr(name),
        meant=meant,
        names=listed,
    )


def _unreadable(column: Column | Grid, family: Family) -> str | None:
    """Return why values of this family cannot be read as declared, or None if they can."""
    if reads(column, family):
        return None
    values = {"date": _("dates"), "timestamp": _("times"), "boolean": _("yes and no")}.get(family, _("numbers"))
    if is_hour(column) and family == "date":
        return _("column {name} holds dates without a time of day, so their hour is not known", name=repr(column.name))
    sentence = mark("column {name} holds {values} and cannot be read as {kind}; declare another kind")
    if column.kind in ("date", "time"):
        sentence = mark(
            "column {name} holds {values} and cannot be read as {kind}; declare another kind, or give the format by "
            "which numbers are dates, such as %Y%m%d"
        )
    return _(sentence, name=repr(column.name), values=values, kind=column.kind)
