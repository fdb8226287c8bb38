"""Codebooks in CSVW-EO, the vocabulary of the Swiss Federal Statistical Office for public knowledge about a table.

It extends W3C's CSV on the Web with the values and the bins of columns, and with the person who is protected. Files
that its tools make from rows also hold numbers of rows and shares of missing values: these are refused.

Source: github.com/dscc-admin-ch/csvw-eo, version 0.2.1 of its library, and its vocabulary 0.3.0 (CC BY 4.0).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from dpengine.errors import PlanError
from dpengine.exact import decimal
from dpengine.spec.codebook import from_columns
from dpengine.spec.domain import Amount, Category, Column, Date, Number, YesNo
from dpengine.spec.exchange.draft import BOUNDS, Draft, ReadCodebook, dates_between, number_between, texts
from dpengine.translation.catalogue import _, mark

__all__ = ["read", "write"]

CONTEXT = [
    "http://www.w3.org/ns/csvw",
    "https://raw.githubusercontent.com/dscc-admin-ch/csvw-eo/main/csvw-eo-context.jsonld",
]
MANY_ROWS = 10**12  # a bound on the rows of any table, so that it says nothing about this one
_PREFIXES = ("csvw-eo:", "csvw-safe:", "csvw-dp:", "csvw:", "public.", "bounds.", "synth.")
_INTEGERS = {
    "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "unsignedLong", "unsignedInt",
    "unsignedShort", "unsignedByte", "nonPositiveInteger", "negativeInteger",
}  # fmt: skip
_NUMBERS = _INTEGERS | {"decimal", "double", "float", "number"}
_DATES = {"date", "dateTime", "datetime", "dateTimeStamp"}
_OF_TABLE = {
    "publicLength": mark("the number of rows"),
    "length": mark("the number of rows"),
    "additionalInformation": mark("which values of several columns occur together"),
    "columnGroups": mark("which values of several columns occur together"),
}
_OF_COLUMN = {
    "nullableProportion": mark("the share of missing values"),
    "rowDependencies": mark("how the columns depend on each other"),
    "dependsOn": mark("how the columns depend on each other"),
    "mapping": mark("how the columns depend on each other"),
    "invariantPublicKeys": mark("which of its values occur"),
}


def read(document: Mapping[str, Any]) -> ReadCodebook:
    """Return the codebook in a CSVW or CSVW-EO document. Raises `PlanError`.

    >>> column = {"name": "sex", "datatype": "string", "keyValues": ["f", "m"], "nullableProportion": 0.1}
    >>> found = read({"publicLength": 344, "tableSchema": {"columns": [column]}})
    >>> found.codebook.columns[0].declared, found.refused[0]
    (('f', 'm'), 'table: the number of rows, which only the rows can tell')
    """
    table = _plain(_one_table(document))
    schema = table.get("tableSchema")
    columns = [_plain(each) for each in _listed(schema.get("columns") if isinstance(schema, dict) else None)]
    draft = Draft(title=_words(table.get("title") or table.get("titles")))
    rows = table.get("maxContributions")
    for key, what in _OF_TABLE.items():
        if table.get(key):
            draft.refuse("", what)
    if _is_below(table.get("maxLength"), MANY_ROWS):
        draft.refuse("", mark("the number of rows"))
    for column in columns:
        _refuse(draft, column, rows)
    doubtful = bool(draft.refused)
    for column in columns:
        _add(draft, column, table, doubtful=doubtful)
    return draft.finish()


def _one_table(document: Mapping[str, Any]) -> Mapping[str, Any]:
    tables = document.get("tables")
    if not isinstance(tables, list):
        return document
    if len(tables) != 1 or not isinstance(tables[0], dict):
        raise PlanError(_("this file describes {n} tables: bring a file that describes one", n=len(tables)))
    return {**document, **tables[0]}


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry without the prefixes that some versions of the vocabulary write, and without null."""
    plain = {}
    for key, value in entry.items():
        for prefix in _PREFIXES:
            key = key.removeprefix(prefix)
        if value is not None:
            plain[key] = value
    return plain


def _listed(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _words(value: object) -> str:
    """Return the first text of a property that may be a text, a list of texts, or texts by language."""
    if isinstance(value, Mapping):
        value = value.get("@value") or next(iter(value.values()), "")
    if isinstance(value, list):
        return _words(value[0]) if value else ""
    return value if isinstance(value, str) else ""


def _is_below(value: object, bound: object) -> bool:
    """Return whether a number is below a bound."""
    return isinstance(value, int) and isinstance(bound, int) and value < bound


def _refuse(draft: Draft, column: Mapping[str, Any], rows: object) -> None:
    """Refuse facts measured from the rows of a column."""
    name = str(column.get("name", ""))
    for key, what in _OF_COLUMN.items():
        if key in column and column[key] is not False and column[key] != []:
            draft.refuse(name, what)
    for part in (column, *map(_plain, _listed(column.get("partitions")))):
        if _is_below(part.get("maxLength"), MANY_ROWS):
            draft.refuse(name, mark("the number of rows with a value"))
        if any(_is_below(part.get(key), rows) for key in ("maxGroupsPerUnit", "maxContributions")):
            draft.refuse(name, mark("how many rows of a person have a value"))
    listed = len(column.get("keyValues") or column.get("partitions") or ())
    if column.get("maxNumPartitions", listed) != listed:
        draft.refuse(name, mark("the number of different values"))


def _add(draft: Draft, column: Mapping[str, Any], table: Mapping[str, Any], *, doubtful: bool) -> None:
    """Add public knowledge about a column; in a `doubtful` file, its bounds may be those of the rows."""
    name = column.get("name") or _words(column.get("titles"))
    if not isinstance(name, str) or not name:
        return
    label, text = _words(column.get("titles")), _words(column.get("description") or column.get("dc:description"))
    if column.get("privacyId") is True or name == table.get("privacyUnit"):
        rows = table.get("maxContributions")
        draft.unit = name + (_(", with at most {rows} rows", rows=rows) if isinstance(rows, int) and rows > 1 else "")
        draft.add(name, {}, label=label, text=text or _("names the person who is protected"))
        return
    kind, low, high = _type(column)
    if doubtful and not (low is None and high is None):
        draft.refuse(name, BOUNDS)
        low = high = None
    fields = _cells(name, column, kind, low, high)
    if "kind" in fields:
        nulls = column.get("null")
        marks = texts(nulls if isinstance(nulls, list) else [nulls])
        fields |= {"missing": column.get("required") is not True} | ({"missing_as": marks} if marks else {})
        exhaustive = column.get("exhaustiveKeys") is True or column.get("exhaustivePartitions") is True
        fields |= {"other": not exhaustive}
    draft.add(name, fields, label=label, text=text)


def _type(column: Mapping[str, Any]) -> tuple[str, Any, Any]:
    """Return the type of a column and its bounds, which are in the type or beside it."""
    given = column.get("datatype", "string")
    inner = given if isinstance(given, dict) else {"base": given}
    low, high = (column.get(key, inner.get(key)) for key in ("minimum", "maximum"))
    return str(inner.get("base", "string")).removeprefix("xsd:"), low, high


def _cells(name: str, column: Mapping[str, Any], kind: str, low: Any, high: Any) -> dict[str, Any]:
    """Return the cells of a column: its bins or values, or one bin between its bounds."""
    predicates = [_plain(each.get("predicate") or {}) for each in _listed(column.get("partitions"))]
    values = texts(
        column.get("keyValues") or [each["partitionValue"] for each in predicates if "partitionValue" in each]
    )
    bins = [(each.get("lowerBound"), each.get("upperBound")) for each in predicates if "lowerBound" in each]
    if kind == "boolean":
        return {"kind": "yesno"}
    if bins and not values:
        return _dates(name, bins) if kind in _DATES else {"kind": "number", "edges": _edges(name, bins)}
    if values:
        return {"kind": "category", "values": values}
    if kind in _NUMBERS:
        return number_between(low, high, whole=kind in _INTEGERS)
    return dates_between(low, high) if kind in _DATES else {}


def _edges(name: str, bins: Sequence[tuple[Any, Any]]) -> list[str]:
    """Return the edges of bins that follow each other. Raises `PlanError`."""
    try:
        ends = sorted((decimal(str(low)), decimal(str(high))) for low, high in bins)
    except ValueError:
        raise PlanError(_("{column}: a bin needs two numbers as its bounds", column=name)) from None
    if any(one[1] != next_[0] for one, next_ in pairwise(ends)):
        raise PlanError(_("{column}: its bins leave gaps or overlap", column=name))
    return [f"{end.normalize():f}" for end in (ends[0][0], *(high for _low, high in ends))]


def _dates(name: str, bins: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the column of dates whose periods are as many as the bins."""
    period = dates_between(min(str(low) for low, _high in bins), max(str(high) for _low, high in bins))
    for by in ("year", "quarter", "month", "week", "day") if period else ():
        (column,) = from_columns([{"name": name, **period, "by": by}], {}).columns
        if column.declared_size == len(bins):
            return period | {"by": by}
    return period


def write(columns: Iterable[Column], unit: Mapping[str, Any] | None = None, title: str = "") -> bytes:
    """Return the public knowledge of columns as CSVW-EO; `unit` is that of a plan, with `rows` and maybe `id`.

    Nothing in it was measured: it has no number of rows, and no share of missing values. A bin of the vocabulary needs
    a maximum number of rows; it is one that no table reaches.

    >>> from dpengine.spec.domain import Category
    >>> json.loads(write([Category(name="sex", values=["f", "m"])]))["tableSchema"]["columns"][0]["keyValues"]
    ['f', 'm']
    """
    rows, person = (unit or {}).get("rows", 1), (unit or {}).get("id")
    named = [{"@type": "Column", "name": person, "datatype": "string", "required": True, "privacyId": True}]
    table = {
        "@context": CONTEXT,
        "@type": "Table",
        **({"title": title} if title else {}),
        **({"privacyUnit": person} if person else {}),
        "maxContributions": rows,
        "tableSchema": {"columns": [*(named if person else []), *(_column(each, rows) for each in columns)]},
    }
    return (json.dumps(table, indent=2, ensure_ascii=False) + "\n").encode()


def _column(column: Column, rows: int) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    match column:
        case YesNo():
            kind, cells = "boolean", {"keyValues": [False, True], "exhaustiveKeys": not column.other}
        case Number():
            kind = "integer" if column.whole else "double"
            cells = _bounds(column.edges[0], column.edges[-1])
            if not column.share:  # otherwise only a release knows its bins
                cells |= _partitions(pairwise(column.edges), column, rows)
        case Amount():
            kind, cells = "double", _bounds(column.low, column.as_written.high)
        case Date():
            kind = "date"
            ends = [*(column.period(k)[0] for k in column.ordinals), column.last]
            cells = {"minimum": column.first.isoformat(), "maximum": column.last.isoformat()}
            cells |= _partitions(((str(low), str(high)) for low, high in pairwise(ends)), column, rows)
        case Category() if column.share:
            kind = "string"  # only a release knows its values
        case _:
            kind, cells = "string", {"keyValues": list(column.declared), "exhaustiveKeys": not column.other}
    return {
        "@type": "Column",
        "name": column.name,
        **({"titles": column.label} if column.label else {}),
        **({"dc:description": column.description} if column.description else {}),
        "datatype": kind,
        "required": not column.missing,
        "privacyId": False,
        **({"null": ["", *column.missing_as]} if column.missing_as else {}),
        **cells,
    }


def _bounds(low: Any, high: Any) -> dict[str, Any]:
    return {"minimum": _number(low), "maximum": _number(high)}


def _partitions(bins: Iterable[tuple[Any, Any]], column: Column, rows: int) -> dict[str, Any]:
    return {
        "partitions": [
            {
                "@type": "Partition",
                "predicate": {"lowerBound": _number(low), "upperBound": _number(high)},
                "maxLength": MANY_ROWS,
                "maxGroupsPerUnit": rows,
                "maxContributions": rows,
            }
            for low, high in bins
        ],
        "exhaustivePartitions": not column.other,
    }


def _number(end: Any) -> Any:
    """Return a number as JSON has it, a date as its text."""
    if isinstance(end, str):
        return end
    return int(end) if end % 1 == 0 else float(end)
