"""Check that the columns of a table can be read as they are declared. No row is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import reduce

from dpengine.counting.encoding.bin_boundaries import family_of
from dpengine.counting.encoding.coding import can_read, is_hour
from dpengine.counting.encoding.declared_texts import Family
from dpengine.sources.mixed import OBJECTS, member_types
from dpengine.sources.plan_template import header_doubt
from dpengine.sources.table import Field
from dpengine.spec.domain import Category, Column, Date, Time
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Unit
from dpengine.translation.catalogue import MAX_LISTED, _, mark, number, some_of

__all__ = ["column_faults", "missing_columns"]

MAX_KNOWN = 50  # columns of the table that a message names


def column_faults(
    fields: Sequence[Field], columns: Sequence[Column | Grid], unit: Unit, index: Sequence[str] = ()
) -> list[str]:
    """Return a sentence for each declared column, and for the ID, that a table with `fields` cannot serve.

    In a mixed column, cells of a type that cannot be read as declared are read as texts. `index` names what a data
    frame has as its index, which is no column.
    """
    types = {field.name: field.type for field in fields}
    objects = {field.name: field.objects for field in fields if field.objects}
    needed: list[tuple[str, Column | Grid | None]] = [(column.table_column, column) for column in columns]
    if unit.id is not None:
        needed.append((unit.id, None))
    lacking = [name for name in dict.fromkeys(name for name, _column in needed) if name not in types]
    faults = [missing_columns(lacking, list(types))] if lacking else []
    if hidden := [name for name in lacking if name in index]:
        faults.append(_("the index of the data frame is not read, and has {names}: make it columns with .reset_index()",
                        names=some_of(map(repr, hidden))))  # fmt: skip
    for name, column in needed:
        if name not in types:
            continue
        if column is not None and name in objects and (fault := _objects_unread(column, objects[name])):
            faults.append(fault)
            continue
        members = member_types(types[name])
        if isinstance(column, Date | Time) and column.zone is not None and tuple(members) == OBJECTS:
            text = mark(
                "column {name} has cells of several types, as in a workbook or among Python objects, which keep no "
                "zone: leave the zone out, or make it a column of times with a zone, or of texts"
            )
            faults.append(_(text, name=repr(name)))
        for each in members or [types[name]]:
            if (family := family_of(each)) is None:
                text = mark("column {name} holds {kind} values, which cannot be counted; write them as text or numbers")
                faults.append(_(text, name=repr(name), kind=_plain_type(each)))
            elif column is not None and each == types[name] and (fault := _unreadable(column, family)):
                faults.append(fault)
    return faults


def _plain_type(kind: str) -> str:
    """Name a type that cannot be counted, as an engine calls it.

    >>> _plain_type("STRUCT(a BIGINT)"), _plain_type("VARCHAR[]"), _plain_type("ARRAY<STRING>")
    ('struct', 'list', 'array')
    """
    return "list" if kind.endswith("]") else re.split(r"[(<:]", kind)[0].lower()


def missing_columns(lacking: Sequence[str], names: list[str]) -> str:
    """Return the message for columns that a table with `names` lacks, with close matches for the first of them.

    >>> missing_columns(["Age"], ["age", "sex"])
    "the table has no column 'Age'; did you mean 'age'? it has 'age', 'sex'"
    >>> missing_columns(["Age", "pay"], ["age", "sex"])
    "the table lacks 2 columns: 'Age' (did you mean 'age'?), 'pay'; it has 'age', 'sex'"
    """
    several_missing = len(lacking) > 1
    if header_doubt(names):  # they may be a person's row, which no message may quote
        if several_missing:
            return _(
                "the table lacks {n} columns: {columns}; the names that it has look like data: add a line with the "
                "names, or name the columns of a data frame",
                n=number(len(lacking)),
                columns=some_of(map(repr, lacking)),
            )
        return _(
            "the table has no column {name}, and the names that it has look like data: add a line with the names, or "
            "name the columns of a data frame",
            name=repr(lacking[0]),
        )
    names_in_words = some_of(map(repr, names), MAX_KNOWN)
    if several_missing:
        first_missing = [_name_with_matches(name, names) for name in lacking[:MAX_LISTED]]
        columns = some_of([*first_missing, *lacking[MAX_LISTED:]])
        return _("the table lacks {n} columns: {columns}; it has {names}", n=number(len(lacking)), columns=columns,
                 names=names_in_words)  # fmt: skip
    if not (matches := _close_matches(lacking[0], names)):
        return _("the table has no column {name}; it has {names}", name=repr(lacking[0]), names=names_in_words)
    return _(
        "the table has no column {name}; did you mean {meant}? it has {names}",
        name=repr(lacking[0]),
        meant=matches,
        names=names_in_words,
    )


def _name_with_matches(name: str, names: list[str]) -> str:
    matches = _close_matches(name, names)
    return _("{name} (did you mean {meant}?)", name=repr(name), meant=matches) if matches else repr(name)


def _close_matches(name: str, names: list[str]) -> str:
    """Return the close matches of `name` among `names`, as a phrase; an empty text if there are none."""
    matches = [other for other in names if other.strip().lower() == name.strip().lower()]
    matches = matches or get_close_matches(name, names, n=3)
    return reduce(lambda one, other: _("{one} or {other}", one=one, other=other), map(repr, matches)) if matches else ""


_OBJECTS = {  # how cells of a pandas frame are read, by their type, and what to make of them instead
    "period": ("2024-01", mark("make them times with .dt.to_timestamp(), or give their format, such as %Y-%m")),
    "duration": ("1 days 02:00:00", mark("make them numbers, such as with .dt.total_seconds()")),
    "interval": ("(0, 5]", mark("declare these texts as the values of a category, or take the column that was cut")),
    "complex": ("(1+2j)", mark("make them numbers, such as with numpy.real")),
    "list": ("['A', 'B']", mark("join them to texts, such as with .str.join('; '), and name the answers when opening")),
    "dict": ("{'a': 1}", mark("take one of their values, such as with .str.get('a')")),
    "enum": ("Colour.RED", mark("take their values, such as with .map(lambda each: each.value)")),
}


def _objects_unread(column: Column | Grid, objects: str) -> str | None:
    """Return why objects, which are read as Python writes them, would not be found as declared; None if they may be."""
    kind, _space, name = objects.partition(" ")
    if kind == "enum":
        fits = isinstance(column, Category) and any(label.startswith(f"{name}.") for label in column.labels)
    elif kind == "period":
        fits = not isinstance(column, Date | Time) or column.format is not None
    elif kind in ("list", "dict"):
        fits = isinstance(column, Category) and any(value[:1] in ("[", "(", "{") for value in column.declared)
    else:
        fits = isinstance(column, Category)
    if fits:
        return None
    example, advice = _OBJECTS[kind]
    return _(
        "column {name} holds {kind} objects, which are read as texts such as {example}, and none would be found as "
        "declared; {advice}",
        name=repr(column.name), kind=kind, example=repr(example), advice=_(advice),
    )  # fmt: skip


def _unreadable(column: Column | Grid, family: Family) -> str | None:
    """Return why values of this family cannot be read as declared, or None if they can."""
    if can_read(column, family):
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
