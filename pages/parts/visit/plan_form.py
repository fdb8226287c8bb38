"""The entries of a half-filled plan, and the plan that they make: plain values, no widgets.

Defaults come from names and kinds of columns. Nothing here ever sees a row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import combinations
from typing import Any

from dpengine.errors import PlanError
from dpengine.exact import decimal, exact_text
from dpengine.sources.mixed import holds_texts
from dpengine.sources.plan_template import MAX_HEADING
from dpengine.spec import notation
from dpengine.spec.domain import FOR_READERS, Category, Column
from dpengine.spec.plan import Plan, Strategy
from dpengine.spec.suggestions import suggested
from dpengine.translation.catalogue import ENGLISH, _, mark
from pages.parts.visit.fault_text import sentence

__all__ = [
    "HOW_WRITTEN", "LAYOUTS", "TO_CONFIRM", "Draft", "Entries", "all_whole", "column_faults", "confirmed", "edges_of",
    "entry", "from_plan", "has_ranges", "said", "same_cells", "shareable", "size_of", "stem",
    "suggestion", "tables_of", "to_plan", "undressed", "used", "waits_for_a_list",
]  # fmt: skip

LAYOUTS = {
    "together": mark("One table of all of them"),
    "pairs": mark("Every pair of them"),
    "single": mark("Each by itself"),
    "own": mark("A list of my own"),
}
WHOLE = re.compile(r"(^|[^a-z])(age|ages|year|years|yr|alter|jahr)($|[^a-z])")  # names of whole numbers
HOW_WRITTEN = mark("say how its dates are written")
TO_CONFIRM = mark("confirm the suggestion, or correct it")
OF_THE_PAGE = ("suggested", "written")  # what an entry says beside the plan's own fields, while it is filled in


@dataclass(frozen=True)
class Entries:
    """One visitor's half-filled plan; `declared` holds the plan file's entry of each column, by name."""

    title: str = ""
    dataset: str = ""
    chosen: tuple[str, ...] = ()
    layout: str = "together"
    own: tuple[tuple[str, ...], ...] = ()
    margins: bool = True
    ranges: bool = False
    declared: dict[str, dict[str, Any]] = field(default_factory=dict)
    several_rows: bool | None = None
    id_column: str | None = None
    rows: int = 1
    rows_about: int | None = None
    epsilon: str = "1"
    strategy: Strategy = "auto"
    notes: str = ""
    language: str = ENGLISH
    about: dict[str, str] = field(default_factory=dict)
    told: dict[str, dict[str, Any]] = field(default_factory=dict)  # by column: what readers see of it

    def with_(self, **changes: Any) -> Entries:
        """Return the entries with some of them changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Draft:
    """Entries for a table, by the table's name; `sample` is its key if it is one of the samples.

    `owner` is whose entries they are, as the ledger names them.
    """

    table: str
    sample: str
    settled: tuple[str, ...]
    entries: Entries
    owner: str = ""


def suggestion(
    name: str, kind: str, *, stored_as: str = "VARCHAR", codes: Sequence[str] = (), keep_kind: bool = False
) -> dict[str, Any]:
    """Return a first entry for a column, from its name, kind and stored type; blank where only a person can know.

    What the name suggests, or the file itself as the `codes` of a category, is marked as `suggested`, until a person
    confirms or changes it; with `keep_kind`, only what is of the given kind. A `format` of None waits for an answer; ""
    stands for ISO dates, and for columns that are stored as dates.
    """
    as_text = holds_texts(stored_as)
    column: dict[str, Any] = {"name": name, "kind": kind, "source": "typed"}
    if codes and kind == "category":
        return column | {"values": list(codes), "source": "codebook", "suggested": True}
    text = suggested(name, kind, year=date.today().year, as_text=as_text)
    fields = notation.read(text, "yesno" if text == "yes, no" else kind) if text else {"kind": ""}
    if not text or (keep_kind and fields["kind"] != kind):
        return column | _blank(kind, as_text)
    return column | _blank(fields["kind"], as_text) | fields | {"source": "standard", "suggested": True}


def said(label: str, words: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return what readers are told of a column by its file: a short label is its name, a long one says what it holds.

    >>> said("Sex", [("1", "male"), ("2", "female"), ("9", "")])
    {'label': 'Sex', 'words': {'1': 'male', '2': 'female'}}
    """
    found = {code: word for code, word in words if word}
    heading = {"label" if len(label) <= MAX_HEADING else "description": label} if label else {}
    return heading | ({"words": found} if found else {})


def _blank(kind: str, as_text: bool) -> dict[str, Any]:
    match kind:
        case "number":
            return {"edges": []}
        case "category":
            return {"values": []}
        case "date":
            return {"from": "", "to": "", "by": "month", "format": None if as_text else ""}
        case _:
            return {}


def confirmed(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry as a person's own: no longer a suggestion, nor with a text that could not be read."""
    return {key: value for key, value in column.items() if key not in OF_THE_PAGE}


def shareable(entries: Entries) -> Entries:
    """Return the entries as they may leave this visit, in a file or with the tab.

    A list of values that a data file itself suggests may be made from its rows: until a person confirms it, it is left
    out. So are words and shapes for values that are not, or no longer, listed.
    """
    declared = {name: _confirmed_lists(column) for name, column in entries.declared.items()}
    told = {name: _of_its_values(fields, declared.get(name, {})) for name, fields in entries.told.items()}
    return entries.with_(declared=declared, told=told)


def _confirmed_lists(column: dict[str, Any]) -> dict[str, Any]:
    return column | {"values": []} if _is_from_file(column) and "values" in column else column


def waits_for_a_list(column: Mapping[str, Any]) -> bool:
    """Whether the list that a data file suggested for a column was left out by `shareable`."""
    return _is_from_file(column) and column.get("values") == []


def _is_from_file(column: Mapping[str, Any]) -> bool:
    return bool(column.get("suggested")) and column.get("source") == "codebook"


def _of_its_values(told: dict[str, Any], column: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is told of a column, of its words and shapes only those of its values."""
    if not told.keys() & {"words", "shapes"}:
        return told
    known = set(map(str, column.get("values", ())))
    mine = {
        key: {value: text for value, text in told.get(key, {}).items() if value in known} for key in ("words", "shapes")
    }
    return {key: said for key, said in (told | mine).items() if key not in mine or said}


def same_cells(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two entries of a column declare the same cells, with the same provenance.

    A `format` that waits for an answer, None, is another than that of ISO dates.

    >>> same_cells({"kind": "date", "format": None}, {"kind": "date", "format": ""})
    False
    """
    return _declares(one) == _declares(other)


def _declares(column: Mapping[str, Any]) -> tuple[object, ...]:
    lists = tuple(tuple(map(str, column.get(name, ()))) for name in ("edges", "values"))
    days = *(column.get(name) or "" for name in ("from", "to", "by")), column.get("format", "")
    kept = column.get("other", True), column.get("missing", True), column.get("source", "typed")
    return column["kind"], *lists, *days, *kept


def tables_of(entries: Entries) -> tuple[tuple[str, ...], ...]:
    """Return the tables that the layout makes of the chosen columns, without repeats."""
    chosen = entries.chosen
    match entries.layout:
        case "together":
            tables: Sequence[tuple[str, ...]] = [chosen] if chosen else []
        case "pairs":
            tables = list(combinations(chosen, 2)) or [chosen]
        case "single":
            tables = [(name,) for name in chosen]
        case _:
            tables = [kept for table in entries.own if (kept := tuple(name for name in table if name in chosen))]
    if entries.margins and entries.layout != "single":
        within = {name for table in tables if len(table) > 1 for name in table}
        tables = [*tables, *((name,) for name in chosen if name in within)]
    distinct: dict[frozenset[str], tuple[str, ...]] = {}
    for table in tables:
        if table:
            distinct.setdefault(frozenset(table), table)
    return tuple(distinct.values())


def has_ranges(entries: Entries) -> bool:
    """Whether one table holds all columns and one of them is ordered, so that sums over ranges can matter."""
    names = used(entries)
    ordered = any(entries.declared[name]["kind"] in ("number", "date") for name in names)
    return ordered and any(set(table) == set(names) for table in tables_of(entries))


def to_plan(entries: Entries) -> Plan:
    """Return the plan as entered. Raises `PlanError` with every fault."""
    tables: list[Any] = list(tables_of(entries))
    if entries.ranges and has_ranges(entries):
        everything = set(used(entries))
        tables = [{"columns": t, "ranges": True} if set(t) == everything else t for t in tables]
    if entries.several_rows is None:
        raise PlanError(_("say whether a person may have several rows"))
    if waiting := [f"{name}: " + _(open_) for name in used(entries) for open_ in _open(entries.declared[name])]:
        raise PlanError(waiting)
    unit: dict[str, Any] = {"rows": 1}
    if entries.several_rows:
        if entries.id_column is None:
            raise PlanError(_("choose the column that identifies the person"))
        unit = {"id": entries.id_column, "rows": entries.rows}
    return Plan(
        title=entries.title,
        dataset=entries.dataset,
        epsilon=entries.epsilon,
        unit=unit,
        rows_about=entries.rows_about,
        columns=[_cleaned(entries.declared[name]) | _told(entries, name) for name in used(entries)],
        tables=tables,
        strategy=entries.strategy,
        notes=entries.notes,
        language=entries.language,
        about=entries.about,
    )


def _told(entries: Entries, name: str) -> dict[str, Any]:
    """Return what readers are told of a column, as far as it fits what is declared of it now."""
    told, column = entries.told.get(name, {}), entries.declared[name]
    fields: dict[str, Any] = {key: told[key] for key in ("label", "description") if told.get(key)}
    whole = told.get("whole", bool(WHOLE.search(name.lower())))
    if column["kind"] == "number" and whole and all_whole(column.get("edges", ())):
        fields["whole"] = True
    if column["kind"] == "category":
        known = set(map(str, column.get("values", ())))
        for key in ("words", "shapes"):
            fields[key] = {value: text for value, text in told.get(key, {}).items() if value in known}
    return fields


def all_whole(edges: Sequence[Any] | Mapping[str, Any]) -> bool:
    """Whether the edges of bins are listed, and are whole numbers.

    >>> all_whole(["0", "18"]), all_whole(["0", "0.5"]), all_whole(["0", "x"])
    (True, False, False)
    """
    try:
        return not isinstance(edges, Mapping) and all(decimal(edge) % 1 == 0 for edge in edges)
    except ValueError:
        return False


def column_faults(entries: Entries, name: str) -> tuple[str, ...]:
    """Return what is still missing or wrong in the entry of one column."""
    open_ = _open(entries.declared[name])
    try:
        _alone(entries, name)
    except PlanError as error:
        return (*open_, *(sentence(fault) for fault in error.faults))
    return open_


def size_of(entries: Entries, name: str) -> int | None:
    """Return the number of cells of a column, or None while its entry is incomplete."""
    try:
        return _alone(entries, name).columns[0].size
    except PlanError:
        return None


def stem(title: str) -> str:
    """Return a name for a dataset from the title of its table.

    >>> stem("Visits 2026 (all)"), stem("…")
    ('visits-2026-all', 'my-table')
    """
    return re.sub(r"[^\w-]+", "-", title).strip("-").lower() or "my-table"


def used(entries: Entries) -> list[str]:
    """Return the chosen columns that stand in a table."""
    within = {name for table in tables_of(entries) for name in table}
    return [name for name in entries.chosen if name in within]


def edges_of(text: str) -> list[str]:
    """Split typed edges at commas, blanks or semicolons; if there are semicolons, 1,5 is one number.

    >>> edges_of("0, 18 65"), edges_of("0; 1,5; 3")
    (['0', '18', '65'], ['0', '1.5', '3'])
    """
    text = text.replace(",", ".").replace(";", " ") if ";" in text else text.replace(",", " ")
    return text.split()


def _alone(entries: Entries, name: str) -> Plan:
    return Plan(dataset="x", epsilon="1", columns=[_cleaned(entries.declared[name])], tables=[[name]])


def _open(column: dict[str, Any]) -> tuple[str, ...]:
    """Return what a person still has to say of an entry, beside what the plan itself lacks."""
    if "written" in column:
        return (_unreadable(column),)
    unwritten = (HOW_WRITTEN,) if column["kind"] == "date" and column.get("format", "") is None else ()
    return (*((TO_CONFIRM,) if column.get("suggested") else ()), *unwritten)


def _unreadable(column: dict[str, Any]) -> str:
    for strict in (False, True):
        try:
            notation.read(column["written"], column["kind"], strict=strict)
        except ValueError as error:
            return str(error)
    return mark("write it again")


def entry(column: Column) -> dict[str, Any]:
    """Return the entry that declares `column`; coarser levels are left out, which this page cannot ask for yet."""
    if isinstance(column, Category) and column.levels:
        column = column.model_copy(update={"levels": (), "parents": ()})
    elif column.groupings:
        plain = column.model_dump(by_alias=True, exclude={"levels"})
        column = type(column)(**plain)
    plan = Plan(dataset="x", epsilon="1", columns=[column], tables=[[column.name]])
    declared: dict[str, Any] = plan.to_dict()["columns"][0]
    return declared


def undressed(column: Column) -> dict[str, Any]:
    """Return the entry that declares `column`, without what only readers are told."""
    return {key: value for key, value in entry(column).items() if key not in FOR_READERS}


def from_plan(plan: Plan) -> Entries:
    """Return the entries that would make `plan`. Raises `PlanError` for what this page cannot ask for yet."""
    if plan.amounts(()) or plan.resolution.levels or plan.weights:
        raise PlanError(
            _("this plan asks for more than this page can do yet (means, levels or weights): use the command line for it")
        )
    chosen = tuple(column.name for column in plan.columns)
    return Entries(
        title=plan.title,
        dataset=plan.dataset,
        chosen=chosen,
        **_listed(plan.marginals, chosen),
        ranges=plan.ranged is not None,
        declared={column.name: undressed(column) for column in plan.columns},
        notes=plan.notes,
        language=plan.language,
        about={key: text for key, text in plan.about.model_dump().items() if text},
        told={column.name: column.model_dump(include={*FOR_READERS}) for column in plan.columns},
        several_rows=plan.unit.id is not None,
        id_column=plan.unit.id,
        rows=plan.unit.rows,
        rows_about=plan.rows_about,
        epsilon=exact_text(plan.epsilon),
        strategy=plan.strategy,
    )


def _listed(tables: tuple[tuple[str, ...], ...], chosen: tuple[str, ...]) -> dict[str, Any]:
    """Return the tables as a list of one's own, without the single columns where ticking their box gives them all.

    >>> _listed((("age", "sex"), ("age",), ("sex",)), ("age", "sex"))
    {'layout': 'own', 'own': (('age', 'sex'),), 'margins': True}
    >>> _listed((("age", "sex"), ("age",)), ("age", "sex"))
    {'layout': 'own', 'own': (('age', 'sex'), ('age',)), 'margins': False}
    """
    within = {name for table in tables if len(table) > 1 for name in table}
    own = tuple(table for table in tables if len(table) > 1 or table[0] not in within)
    if within and tables_of(Entries(chosen=chosen, layout="own", own=own, margins=True)) == tables:
        return {"layout": "own", "own": own, "margins": True}
    return {"layout": "own", "own": tables, "margins": False}


def _cleaned(column: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is blank, so that a fault says "missing" rather than "unreadable"."""
    return {key: value for key, value in column.items() if value not in ("", None) and key not in OF_THE_PAGE}
