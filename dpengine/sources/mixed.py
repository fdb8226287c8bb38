"""Columns whose cells have different types, as in files that store a column differently, or in Python objects.

Such a column is a struct with a member for each type (``cell_0``, ``cell_1``, …), and a cell is in the member of its
type. So a row is read by its own type alone. If all cells were converted to one type, one row could change how all
others are read: a single float would round integers above 2^53.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "OBJECTS", "ZONED", "holds_texts", "may_have_zone", "member", "member_types", "members", "mixed_type", "text_of",
    "text_of_member",
]  # fmt: skip

# The members of a column of Python objects, or of cells of a workbook: an instant among them is a time in UTC.
OBJECTS = ("BOOLEAN", "BIGINT", "DECIMAL(38,0)", "DOUBLE", "TIMESTAMP", "VARCHAR")
ZONED = "TIMESTAMP WITH TIME ZONE"  # the type of instants, which tell their time in UTC
_MEMBER = re.compile(r"cell_[0-9]+ ")


def member(place: int) -> str:
    """Return the name of the member for the type at `place`."""
    return f"cell_{place}"


def mixed_type(types: Sequence[str]) -> str:
    """Return the DuckDB type of a column whose cells have one of `types`.

    >>> mixed_type(["BIGINT", "DECIMAL(9,2)"])
    'STRUCT(cell_0 BIGINT, cell_1 DECIMAL(9,2))'
    """
    return f"STRUCT({', '.join(f'{member(k)} {each}' for k, each in enumerate(types))})"


def member_types(type_name: str) -> list[str]:
    """Return the types of a mixed column, none for other columns.

    >>> member_types("STRUCT(cell_0 BIGINT, cell_1 DECIMAL(9,2))"), member_types("BIGINT")
    (['BIGINT', 'DECIMAL(9,2)'], [])
    """
    if not type_name.startswith("STRUCT(cell_0 "):
        return []
    types = [part.removesuffix(", ") for part in _MEMBER.split(type_name[len("STRUCT(") : -1])[1:]]
    return types if mixed_type(types) == type_name else []


def members(cell: str, type_name: str) -> dict[str, str]:
    """Return SQL for the members of a cell of a mixed column, with their types; of another column, the cell itself.

    >>> members("c0", "STRUCT(cell_0 DATE, cell_1 VARCHAR)"), members("c0", "DATE")
    ({'c0.cell_0': 'DATE', 'c0.cell_1': 'VARCHAR'}, {'c0': 'DATE'})
    """
    types = member_types(type_name)
    return {f"{cell}.{member(k)}": each for k, each in enumerate(types)} if types else {cell: type_name}


def holds_texts(type_name: str) -> bool:
    """Whether cells of a column of this type are, or may be, texts.

    >>> holds_texts("VARCHAR"), holds_texts("STRUCT(cell_0 DATE, cell_1 VARCHAR)"), holds_texts("DATE")
    (True, True, False)
    """
    return "VARCHAR" in members("c", type_name).values()


def may_have_zone(type_name: str) -> bool:
    """Whether times in a column of this type may have a zone or an offset that is still known.

    >>> [may_have_zone(each) for each in ("VARCHAR", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DATE")]
    [True, True, False, False]
    """
    types = (*members("c", type_name).values(),)
    return types != OBJECTS and not {"VARCHAR", ZONED}.isdisjoint(types)


def text_of(cell: str, type_name: str) -> str:
    """Write a cell as text; one of a mixed column as `cells.cell_text` writes it."""
    if not member_types(type_name):
        return cell if type_name == "VARCHAR" else f"{cell}::VARCHAR"
    return f"coalesce({', '.join(text_of_member(*each) for each in members(cell, type_name).items())})"


def text_of_member(cell: str, type_name: str) -> str:
    """Write a member of a mixed column as text."""
    text = f"{cell}::VARCHAR"
    match type_name.partition(" ")[0]:
        case "FLOAT" | "DOUBLE":
            whole = f"{cell} = trunc({cell}) AND abs({cell}) < 9223372036854775808"
            return f"CASE WHEN isnan({cell}) THEN NULL WHEN {whole} THEN {cell}::BIGINT::VARCHAR ELSE {text} END"
        case "BOOLEAN":
            return f"CASE WHEN {cell} THEN 'True' WHEN NOT {cell} THEN 'False' END"
        case "TIMESTAMP" | "TIMESTAMP_NS":
            midnight = f"{cell}::TIMESTAMP = date_trunc('day', {cell}::TIMESTAMP)"
            return f"CASE WHEN {midnight} THEN {cell}::DATE::VARCHAR ELSE {text} END"
    return text
