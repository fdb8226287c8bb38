"""The entry of one column, as plain values like those in a plan file, and the open questions about it.

Defaults follow from names and kinds of columns. Nothing here ever sees a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from dpengine.exact import decimal
from dpengine.sources.mixed import holds_texts
from dpengine.sources.plan_template import MAX_HEADING
from dpengine.spec import notation
from dpengine.spec.domain import FOR_READERS, Category, Column
from dpengine.spec.german_notation import in_german
from dpengine.spec.numeric.amount_text import even_knots
from dpengine.spec.plan import Plan
from dpengine.spec.suggestions import suggested, suggested_amount
from dpengine.translation.catalogue import _, language, mark
from pages.parts.visit.plan.level_entry import longer_periods

__all__ = [
    "BOUNDS", "HOW_WRITTEN", "TO_CONFIRM", "all_whole", "cleaned", "coarser", "confirmed", "edges_of", "entry",
    "entry_without_words", "finds_cells", "has_found_bins", "has_found_upper",
    "is_blank", "is_found", "is_from_file", "listed", "notation_of_page",
    "open_questions", "plan_of_one", "same_cells", "suggestion", "texts_from_file", "waits_for_a_list",
    "with_even_knots",
]  # fmt: skip

HOW_WRITTEN = mark("say how its dates are written")
TO_CONFIRM = mark("confirm the suggestion, or correct it")
BOUNDS = mark("say between which bounds its values lie, such as 0 to 200000 by 100")
OF_THE_PAGE = ("suggested", "written")  # fields of an unfinished entry that no plan has
PARTS = 20  # equal parts of an amount's range, for quantiles
OF_LEVELS = ("levels", "above")  # the names of the levels, coarsest first, and the groups of each value


def suggestion(
    name: str, kind: str, *, stored_as: str = "VARCHAR", codes: Sequence[str] = (), keep_kind: bool = False
) -> dict[str, Any]:
    """Return a first entry for a column, from its name, kind and stored type; what only a person can know is blank.

    Suggestions from the name, or from the file as the `codes` of a category, are marked as `suggested` until a person
    confirms or changes them; with `keep_kind`, only those of the given kind are made. A `format` of None waits for an
    answer; "" stands for ISO dates, and for columns that are stored as dates.
    """
    as_text, wanted = holds_texts(stored_as), kind
    if kind == "number" and not keep_kind and suggested_amount(name):
        kind = "amount"
    column: dict[str, Any] = {"name": name, "kind": kind, "source": "typed"}
    if codes and kind == "category":
        return column | {"values": list(codes), "source": "codebook", "suggested": True}
    text = suggested_amount(name) if kind == "amount" else ""
    text = text or suggested(name, wanted, year=date.today().year, as_text=as_text)
    fields = notation.read(text, "yesno" if text == "yes, no" else kind) if text else {"kind": ""}
    if not text or (keep_kind and fields["kind"] != kind):
        return column | _blank(kind, as_text)
    return column | _blank(fields["kind"], as_text) | fields | {"source": "standard", "suggested": True}


def texts_from_file(label: str, words: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the words for readers that a file has for a column: a short label is a name, a long one a description.

    >>> texts_from_file("Sex", [("1", "male"), ("2", "female"), ("9", "")])
    {'label': 'Sex', 'words': {'1': 'male', '2': 'female'}}
    """
    meanings = {code: word for code, word in words if word}
    heading = {"label" if len(label) <= MAX_HEADING else "description": label} if label else {}
    return heading | ({"words": meanings} if meanings else {})


def _blank(kind: str, as_text: bool) -> dict[str, Any]:
    match kind:
        case "number":
            return {"edges": []}
        case "category":
            return {"values": []}
        case "date":
            return {"from": "", "to": "", "by": "month", "format": None if as_text else ""}
        case "time":
            return {"by": "hour", "format": None if as_text else ""}
        case "amount":
            return {"from": "", "to": "", "step": "1"}
        case _:
            return {}


def confirmed(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry as confirmed by a person: without the mark of a suggestion or a text that could not be read."""
    return {key: value for key, value in column.items() if key not in OF_THE_PAGE}


def waits_for_a_list(column: Mapping[str, Any]) -> bool:
    """Whether `shareable` left out the list that a data file suggested for a column."""
    return is_from_file(column) and column.get("values") == []


def is_from_file(column: Mapping[str, Any]) -> bool:
    return bool(column.get("suggested")) and column.get("source") == "codebook"


def is_found(column: Mapping[str, Any]) -> bool:
    """Whether the release is to find the values of a column."""
    return column.get("values") == "found"


def is_blank(column: Mapping[str, Any]) -> bool:
    """Whether nobody has declared cells of a column yet, and nothing suggests any.

    >>> is_blank({"kind": "category", "values": []}), is_blank({"kind": "category", "values": [], "written": "a;"})
    (True, False)
    """
    return not any(column.get(key) for key in ("values", "edges", "from", "to", "bins", *OF_THE_PAGE))


def has_found_bins(column: Mapping[str, Any]) -> bool:
    """Whether the release is to find the bins of a column, which then has no edges.

    >>> has_found_bins({"bins": 20}), has_found_bins({"bins": 20, "edges": ["0", "9"]})
    (True, False)
    """
    return bool(column.get("bins")) and not column.get("edges")


def has_found_upper(column: Mapping[str, Any]) -> bool:
    """Whether the release is to find the upper bound of an amount.

    >>> has_found_upper({"kind": "amount", "upper": "found"}), has_found_upper({"kind": "amount", "upper": None})
    (True, False)
    """
    return column["kind"] == "amount" and bool(column.get("upper"))


def finds_cells(column: Mapping[str, Any]) -> bool:
    """Whether the release is to find the bins or values of a column, for a part of ε.

    >>> finds_cells({"bins": 20}), finds_cells({"values": "found"}), finds_cells({"values": ["a"]})
    (True, True, False)
    """
    return is_found(column) or has_found_bins(column)


def listed(column: Mapping[str, Any]) -> list[str]:
    """Return the values that an entry lists, as texts; none if the release is to find them.

    >>> listed({"values": [1, "b"]}), listed({"values": "found"}), listed({"kind": "yesno"})
    (['1', 'b'], [], [])
    """
    return [] if is_found(column) else list(map(str, column.get("values") or ()))


def notation_of_page(column: Mapping[str, Any]) -> str:
    """Return the short text of an entry, with German words for spans and periods on a German page."""
    text = notation.write(column)
    return in_german(text) if language() == "de" and column["kind"] in ("number", "amount", "date", "time") else text


def same_cells(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two entries of a column declare the same cells, with the same provenance.

    A `format` of None, which waits for an answer, differs from "", that of ISO dates.

    >>> same_cells({"kind": "date", "format": None}, {"kind": "date", "format": ""})
    False
    """
    return _declares(one) == _declares(other)


def _declares(column: Mapping[str, Any]) -> dict[str, object]:
    """Return the fields of an entry that say what its cells are and who knows them, written alike to be compared."""
    levels, values = column.get("levels") or (), listed(column)
    return {
        **{name: column.get(name) or "" for name in ("from", "to", "by", "of", "step", "zone")},
        **{name: [*map(str, column.get(name) or ())] for name in ("edges", "knots")},
        "kind": column["kind"],
        "values": values,
        "among": str(column["among"]) if is_found(column) else "",
        "bins": str(column["bins"]) if has_found_bins(column) else "",
        "upper": str(column["upper"]) if has_found_upper(column) else "",
        "levels": [*map(str, levels.items() if isinstance(levels, Mapping) else levels)],
        "above": {value: column["above"].get(value) for value in values} if "above" in column else {},
        "format": column.get("format", ""),
        "other": column["kind"] != "amount" and column.get("other", True),  # an amount has none
        "missing": column.get("missing", True),
        "missing_as": [*column.get("missing_as", ())],
        "affixes": [*column.get("affixes", ())],
        "source": column.get("source", "typed"),
    }


def all_whole(edges: Sequence[Any] | Mapping[str, Any]) -> bool:
    """Whether the edges of bins are listed, and are whole numbers.

    >>> all_whole(["0", "18"]), all_whole(["0", "0.5"]), all_whole(["0", "x"])
    (True, False, False)
    """
    try:
        return not isinstance(edges, Mapping) and all(decimal(edge) % 1 == 0 for edge in edges)
    except ValueError:
        return False


def edges_of(text: str) -> list[str]:
    """Split typed edges at commas, blanks or semicolons; if there are semicolons, 1,5 is one number.

    >>> edges_of("0, 18 65"), edges_of("0; 1,5; 3")
    (['0', '18', '65'], ['0', '1.5', '3'])
    """
    text = text.replace(",", ".").replace(";", " ") if ";" in text else text.replace(",", " ")
    return text.split()


def open_questions(column: dict[str, Any]) -> tuple[str, ...]:
    """Return what a person still has to say about an entry, in addition to what the plan lacks."""
    if "written" in column:
        return (_unreadable(column),)
    if column["kind"] == "amount" and not (column.get("knots") or (column.get("from") and column.get("to"))):
        return (BOUNDS,)
    if (apart := _belongs_nowhere(column)) is not None:
        return (apart,)
    unwritten = (HOW_WRITTEN,) if column["kind"] in ("date", "time") and column.get("format", "") is None else ()
    return (*((TO_CONFIRM,) if column.get("suggested") else ()), *unwritten)


def _belongs_nowhere(column: Mapping[str, Any]) -> str | None:
    """Name a value that was added to a list with levels but belongs to no group."""
    levels, above = column.get("levels", ()), column.get("above", {})
    apart = next((value for value in listed(column) if value not in above), None) if levels else None
    if apart is None:
        return None
    return _(
        "{value} belongs to no {level}: take it out, or bring a codebook of the levels with it",
        value=apart,
        level=levels[-2],
    )


def _unreadable(column: dict[str, Any]) -> str:
    for strict in (False, True):
        try:
            notation.read(column["written"], column["kind"], strict=strict)
        except ValueError as error:
            return str(error)
    return mark("write it again")


def entry(column: Column) -> dict[str, Any]:
    """Return the entry that declares `column`.

    For levels it holds the groups of each value, so that a value can be taken out of the list or added to it.
    """
    levels: dict[str, Any] = {}
    if isinstance(column, Category) and column.levels:
        above = dict(zip(column.values, map(list, zip(*column.parents, strict=True)), strict=True))
        levels = {"levels": list(column.levels), "above": above}
        column = column.model_copy(update={"levels": (), "parents": ()})
    declared: dict[str, Any] = plan_of_one(column.as_written, column.name).to_dict()["columns"][0]
    return declared | levels


def coarser(column: Mapping[str, Any]) -> list[str]:
    """Return the names of the coarser levels of an entry, the coarsest first.

    >>> coarser({"kind": "category", "levels": ["state", "county"]})
    ['state']
    >>> coarser({"kind": "date", "by": "month", "levels": ["year", "quarter"]})
    ['year', 'quarter']
    """
    if column.get("kind") == "date":
        return longer_periods(column)
    levels = list(column.get("levels") or ())
    return levels[:-1] if column.get("kind") == "category" else levels


def entry_without_words(column: Column) -> dict[str, Any]:
    """Return the entry that declares `column`, without words for readers."""
    return {key: value for key, value in entry(column).items() if key not in FOR_READERS}


def cleaned(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry for a plan, without blank fields, so that faults say "missing" and not "unreadable"."""
    left_out = _not_declared(column)
    fields = {key: value for key, value in column.items() if value not in ("", None) and key not in left_out}
    if column["kind"] == "date" and fields.get("levels"):
        fields["levels"] = longer_periods(column)
    if is_found(column) or column["kind"] != "category" or not column.get("levels"):
        return fields
    levels, blanks = list(column["levels"]), [""] * len(column["levels"])
    paths = [[*column.get("above", {}).get(str(value), ()), *blanks] for value in column.get("values", ())]
    parents = [[path[place] for path in paths] for place in range(len(levels) - 1)]
    return fields | {"levels": levels, "parents": parents}


def _not_declared(column: Mapping[str, Any]) -> set[str]:
    """Return the keys of an entry that its plan leaves out: of the page, of other kinds, and of other ways to bins."""
    left_out = {*OF_THE_PAGE, "knots" if has_found_upper(column) else "upper"}
    left_out |= {"other", "codebook"} if is_found(column) else {"among"}
    match column["kind"]:
        case "category":
            left_out |= {*OF_LEVELS}
        case "amount":
            left_out |= {"other"}
        case "number":
            left_out |= {"edges", "levels"} if has_found_bins(column) else {"bins", "from", "to", "step"}
    return left_out


def plan_of_one(column: Column | Mapping[str, Any], name: str) -> Plan:
    """Return a plan with a table of only this column, or with its mean. Raises `PlanError` with all that is wrong."""
    kind = column["kind"] if isinstance(column, Mapping) else column.kind
    if kind != "amount":
        return Plan(dataset="x", epsilon="1", columns=[column], tables=[[name]])
    by = "by" if name != "by" else "group"
    table = {"columns": [by], "mean": [name]}
    return Plan(dataset="x", epsilon="1", columns=[column, {"name": by, "kind": "yesno"}], tables=[table])


def with_even_knots(column: Mapping[str, Any], parts: int = PARTS) -> dict[str, Any]:
    """Return the entry of an amount with knots at equal distances; the same entry if its bounds are wrong."""
    try:
        low, high, step = (decimal(column.get(key, "1")) for key in ("from", "to", "step"))
        fits = step > 0 and (high - low) / step >= parts
    except (ValueError, ArithmeticError):
        fits = False
    return {**column, "knots": [f"{knot:f}" for knot in even_knots(low, high, step, parts)]} if fits else {**column}
