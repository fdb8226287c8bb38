"""What was decided from one state of the entries to the next, in words: for undo, and for the history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpengine.spec import notation
from pages.parts.shared.wording import plural
from pages.parts.visit import plan_form
from pages.parts.visit.plan_form import LAYOUTS, Entries

__all__ = ["in_words"]

MAX_CHANGES = 3  # named one by one
MAX_LETTERS = 60  # of one value
WAYS = {"typed": "typed", "codebook": "from a codebook", "standard": "from a standard list", "confirmed": "confirmed"}


def in_words(before: Entries, after: Entries) -> str:
    """Return what changed from `before` to `after`, the first few things by name; "" if nothing did.

    >>> in_words(Entries(), Entries(epsilon="2"))
    'ε 1 → 2'
    >>> in_words(Entries(), Entries(chosen=("age", "region"), layout="pairs"))
    'add age, region; tables: every pair of them'
    """
    found = list(_changes(before, after))
    more = len(found) - MAX_CHANGES
    return "; ".join(found[:MAX_CHANGES]) + (f"; and {more} more" if more > 0 else "")


def _changes(before: Entries, after: Entries) -> Iterator[str]:
    if before.epsilon != after.epsilon:
        yield f"ε {before.epsilon} → {after.epsilon}"
    if added := [name for name in after.chosen if name not in before.chosen]:
        yield f"add {_short(', '.join(added))}"
    if removed := [name for name in before.chosen if name not in after.chosen]:
        yield f"leave out {_short(', '.join(removed))}"
    yield from _tables(before, after)
    for name in after.chosen:
        old, new = before.declared.get(name), after.declared.get(name)
        if old is not None and new is not None and old is not new and old != new:
            yield f"{name}: {_column(old, new)}"
    yield from _unit(before, after)
    if before.strategy != after.strategy:
        yield f"strategy {before.strategy} → {after.strategy}"
    for what in ("title", "dataset"):
        if (new := getattr(after, what)) != getattr(before, what):
            yield f"{what}: {_short(new) or 'none'}"
    if _words(before) != _words(after):
        yield "words for readers"


def _words(entries: Entries) -> tuple[object, ...]:
    return entries.notes, entries.language, entries.about, entries.told


def _tables(before: Entries, after: Entries) -> Iterator[str]:
    if before.layout != after.layout:
        words = LAYOUTS[after.layout]
        yield f"tables: {words[0].lower()}{words[1:]}"
    if after.layout == "own" and plan_form.tables_of(before) != plan_form.tables_of(after) and before.own != after.own:
        yield "tables: " + _short(", ".join(" × ".join(table) for table in after.own) or "none")
    if before.margins != after.margins:
        yield f"each column by itself: {_yes(after.margins)}"
    if before.ranges != after.ranges:
        yield f"sums over ranges: {_yes(after.ranges)}"


def _column(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what changed in the entry of one column, which it did.

    >>> _column({"kind": "number", "edges": []}, {"kind": "number", "edges": ["18", "23", "28", "33"]})
    '18 to 33 by 5'
    """
    written, before = _cells(new), _cells(old)
    if old["kind"] != new["kind"]:
        return f"{new['kind']}, {_short(written)}" if written else str(new["kind"])
    if written != before or list(map(str, new.get("values", ()))) != list(map(str, old.get("values", ()))):
        return _short(written) or "no cells"
    for key in ("other", "missing"):
        if old.get(key, True) != new.get(key, True):
            return f"cell ({key}): {_yes(new.get(key, True))}"
    if old.get("source", "typed") != new.get("source", "typed"):
        return WAYS.get(str(new.get("source", "typed")), "changed")
    if old.get("suggested") != new.get("suggested"):
        return "suggestion to confirm" if new.get("suggested") else "suggestion confirmed"
    return "changed"


def _cells(column: Mapping[str, Any]) -> str:
    """Return the cells of a column in words; of values only how many: one that was taken out again is not kept."""
    if column["kind"] == "category":
        return plural(len(values), "value") if (values := column.get("values", ())) else ""
    return str(column.get("written") or "") or notation.write(column)


def _unit(before: Entries, after: Entries) -> Iterator[str]:
    def unit(entries: Entries) -> tuple[object, ...]:
        return entries.several_rows, *((entries.id_column, entries.rows) if entries.several_rows else ())

    if unit(before) != unit(after):
        if after.several_rows is None:
            yield "whom it protects: open"
        elif not after.several_rows:
            yield "each row is one person"
        else:
            who = f"by {after.id_column}" if after.id_column else "by a column to choose"
            yield f"persons {who}, at most {plural(after.rows, 'row')}"
    if before.rows_about != after.rows_about:
        yield "no rough size" if after.rows_about is None else f"about {plural(after.rows_about, 'row')}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 2].rstrip(', ')} …"


def _yes(on: object) -> str:
    return "yes" if on else "no"
