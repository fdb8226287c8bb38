"""Names of published columns, cells and tables as people type them: those in the files, or the words for readers.

Letters may be large or small where only one name fits. A name that is unknown is refused with the nearest known one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dpengine.array_types import Columns
from dpengine.errors import ReleaseError
from dpengine.spec.declared import close_match
from dpengine.spec.domain import Column, Time
from dpengine.spec.plan import Plan
from dpengine.spec.wording import headings_of, name_of, shown_labels
from dpengine.translation.catalogue import _, some_of

__all__ = ["cells_typed", "column_typed", "columns_typed", "labels_typed", "table_typed", "typed_columns"]

MAX_TABLES = 5  # tables that an error names


def typed_columns(plan: Plan) -> dict[str, str]:
    """Map the names by which people may call columns of published tables to those in the files."""
    names = dict.fromkeys(name for table in plan.marginals for name in table)
    heading = headings_of(plan)
    return _by_word((name, heading((name,))) for name in names)


def column_typed(plan: Plan, typed: object) -> str:
    """Return the column of a published table that is meant. Raises `ReleaseError` if there is none.

    >>> age = {"name": "q7", "kind": "yesno", "label": "Smokes"}
    >>> plan = Plan(dataset="d", epsilon=1, columns=[age], tables=[["q7"]])
    >>> column_typed(plan, "smokes"), column_typed(plan, "q7")
    ('q7', 'q7')
    """
    by_word = typed_columns(plan)
    name = _find(str(typed), by_word)
    if name is None:
        text = _("no published table has a column {name}{hint}; there are {names}", name=repr(typed),
                 hint=_hint(str(typed), by_word), names=some_of(dict.fromkeys(by_word.values())))  # fmt: skip
        raise ReleaseError(text)
    return name


def columns_typed(plan: Plan, typed: Iterable[str]) -> list[str]:
    """Return the columns that are meant; a table's name, such as *age × region*, stands for all of its columns."""
    if isinstance(typed, str):
        raise ReleaseError(_("a table is given by the names of its columns, as a tuple or a list"))
    by_word = typed_columns(plan)
    parts = [[each] if _find(each, by_word) else each.split(" × ") for each in typed]
    return [column_typed(plan, name) for names in parts for name in names]


def labels_typed(plan: Plan, name: str, given: str | Sequence[str]) -> list[str]:
    """Return the labels of a column in files that are meant. Raises `ReleaseError` if there is no such cell.

    Two labels with ``..`` between them stand for all from the first to the last; hours and weekdays go round. Of bins,
    the ends are enough, and a hyphen stands for a dash.

    >>> sex = {"name": "sex", "kind": "category", "values": ["f", "m"], "words": {"f": "female", "m": "male"}}
    >>> labels_typed(Plan(dataset="d", epsilon=1, columns=[sex], tables=[["sex"]]), "sex", ["Female", "m", "(other)"])
    ['f', 'm', '(other)']
    >>> hour = {"name": "hour", "of": "t", "kind": "time", "by": "hour"}
    >>> labels_typed(Plan(dataset="d", epsilon=1, columns=[hour], tables=[["hour"]]), "hour", "23:00..01:00")
    ['23:00', '00:00', '01:00']
    >>> age = {"name": "age", "kind": "number", "edges": [0, 18, 30, 65], "whole": True}
    >>> plan = Plan(dataset="d", epsilon=1, columns=[age], tables=[["age"]])
    >>> labels_typed(plan, "age", ["0-17"]), labels_typed(plan, "age", "0..29")
    (['[0, 18)'], ['[0, 18)', '[18, 30)'])
    """
    column, found = plan.column(name), []
    by_word = _by_word(zip(column.labels, shown_labels(column), strict=True))
    for typed in [given] if isinstance(given, str) else given:
        label = _find(typed, by_word)
        ends = _ends(typed, by_word) if label is None else []
        if len(ends) == 2 and None not in ends:
            found += _span(column, *(column.labels.index(str(end)) for end in ends))
            continue
        if label is None:
            text = _("{name!r} has no cell {label!r}{hint}; it has {listed}", name=name, label=typed,
                     hint=_hint(typed, by_word), listed=some_of(column.labels))  # fmt: skip
            raise ReleaseError(text)
        found.append(label)
    return found


def _ends(typed: str, by_word: dict[str, str]) -> list[str | None]:
    """Return the first and the last label of a span, each by itself or by the end of its own span."""
    ends = [end.strip() for end in typed.split("..")]
    if len(ends) != 2:
        return []
    first = {label for word, label in by_word.items() if word.startswith(f"{ends[0]}–")}
    last = {label for word, label in by_word.items() if word.endswith(f"–{ends[1]}")}
    bins = [found.pop() if len(found) == 1 else None for found in (first, last)]
    return [_find(end, by_word) or bin_ for end, bin_ in zip(ends, bins, strict=True)]


def cells_typed(plan: Plan, text: str) -> tuple[str, list[str]]:
    """Return the column and the labels that a text such as ``region=North`` means; a name may hold an equals sign.

    Raises `ReleaseError` if there is no such column or cell.
    """
    ends = [place for place, letter in enumerate(text) if letter == "="]
    if not ends:
        raise ReleaseError(
            _("{text!r} must be a column, an equals sign and a label, such as region=North", text=text)
        )  # fmt: skip
    by_word = typed_columns(plan)
    end = max((place for place in ends if _find(text[:place], by_word)), default=ends[0])
    name = column_typed(plan, text[:end])
    return name, labels_typed(plan, name, text[end + 1 :])


def table_typed(plan: Plan, typed: Sequence[str]) -> Columns:
    """Return the published table of these columns, in its own order. Raises `ReleaseError` if there is none."""
    names = columns_typed(plan, typed)
    table = plan.by_columns.get(frozenset(names))
    if not table or len(table) != len(names):  # a column may be given twice
        published = some_of([*map(name_of, plan.marginals or [()])], MAX_TABLES)
        raise ReleaseError(
            _("no table of these columns was published: {columns}; published are: {tables}",
              columns=some_of(names) or "()", tables=published)
        )  # fmt: skip
    return table


def _span(column: Column, first: int, last: int) -> list[str]:
    """Return the labels of declared cells from the first to the last one."""
    if first > last and isinstance(column, Time):
        return [*column.labels[first : column.declared_size], *column.labels[: last + 1]]
    return [*column.labels[min(first, last) : max(first, last) + 1]]


def _by_word(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map each name, and each word that stands for one of them alone, to the name."""
    named = dict(pairs)
    times = Counter(named.values())
    return {word: name for name, word in named.items() if times[word] == 1} | {name: name for name in named}


def _find(typed: str, by_word: dict[str, str]) -> str | None:
    """Return the name that was typed, also with large letters for small ones if only one name fits."""
    if typed in by_word:
        return by_word[typed]
    folded = typed.strip().casefold()
    for dash in (folded, folded.replace("-", "–")):  # a keyboard has no dash
        if found := {name for word, name in by_word.items() if word.casefold() == dash}:
            break
    return found.pop() if len(found) == 1 else None


def _hint(typed: str, by_word: dict[str, str]) -> str:
    folded = {word.casefold(): word for word in by_word}
    match = close_match(typed.casefold(), folded)
    return _(" (did you mean {name}?)", name=folded[match]) if match else ""
