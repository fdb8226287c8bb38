"""Describe the changes from one state of the entries to the next, for undo and for the history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpengine.spec.wording import KINDS
from dpengine.translation.catalogue import _, localised, mark, number, plural
from pages.parts.visit.plan.column_entry import is_found, listed, notation_of_page
from pages.parts.visit.plan.entries import LAYOUTS, Entries
from pages.parts.visit.plan.table_measures import OF_AMOUNTS, named
from pages.parts.visit.plan.tables import published

__all__ = ["in_words"]

MAX_CHANGES = 3  # changes that are named one by one
MAX_LETTERS = 60  # letters of one value
CHANGED = mark("changed")
WAYS = {
    "typed": mark("typed"),
    "codebook": mark("from a codebook"),
    "standard": mark("a standard list, or a usual range"),
    "confirmed": mark("confirmed"),
}


def in_words(before: Entries, after: Entries) -> str:
    """Return what changed from `before` to `after`, with the first few changes by name; "" if nothing did.

    >>> in_words(Entries(), Entries(epsilon="2"))
    'ε 1 → 2'
    >>> in_words(Entries(), Entries(chosen=("age", "region"), layout="pairs"))
    'add age, region; tables: every pair of them'
    """
    sentences = list(_changes(before, after))
    more = len(sentences) - MAX_CHANGES
    return "; ".join([*sentences[:MAX_CHANGES], *([_("and {n} more", n=number(more))] if more > 0 else [])])


def _changes(before: Entries, after: Entries) -> Iterator[str]:
    if before.epsilon != after.epsilon:
        yield f"ε {localised(before.epsilon)} → {localised(after.epsilon)}"
    if added := [name for name in after.chosen if name not in before.chosen]:
        yield _("add {columns}", columns=_short(", ".join(added)))
    if removed := [name for name in before.chosen if name not in after.chosen]:
        yield _("leave out {columns}", columns=_short(", ".join(removed)))
    yield from _tables(before, after)
    for name in after.chosen:
        old, new = before.declared.get(name), after.declared.get(name)
        if old is not None and new is not None and old is not new and old != new:
            yield f"{name}: {_column(old, new)}"
    yield from _unit(before, after)
    if before.strategy != after.strategy:
        yield _("strategy {before} → {after}", before=before.strategy, after=after.strategy)
    yield from _texts(before, after)


def _texts(before: Entries, after: Entries) -> Iterator[str]:
    """Yield what changed in the names and the words of a plan."""
    if after.title != before.title:
        yield _("title: {title}", title=_short(after.title) or _("none"))
    if after.dataset != before.dataset:
        yield _("dataset: {dataset}", dataset=_short(after.dataset) or _("none"))
    if before.nouns != after.nouns:
        yield _("counted: {nouns}", nouns=", ".join(after.nouns.values()) or _("none"))
    if _words(before) != _words(after):
        yield _("words for readers")


def _words(entries: Entries) -> tuple[object, ...]:
    return entries.notes, entries.language, entries.about, entries.texts


def _tables(before: Entries, after: Entries) -> Iterator[str]:
    if before.layout != after.layout:
        yield _("tables: {tables}", tables=_lowered(_(LAYOUTS[after.layout])))
    if after.layout == "own" and (before.own, before.more) != (after.own, after.more):
        old, new = _named(before), _named(after)
        tables = ", ".join(sorted(new, key=old.__contains__))  # what was changed comes first, to be visible
        yield _("tables: {tables}", tables=_short(tables or _("none")))
    if before.of_amounts != after.of_amounts:
        yield _(
            "of amounts: {measures}", measures=", ".join(_(OF_AMOUNTS[each]) for each in after.of_amounts) or _("none")
        )
    if before.margins != after.margins:
        yield _("each column by itself: {yes}", yes=_yes(after.margins))
    if before.ranges != after.ranges:
        yield _("sums over ranges: {yes}", yes=_yes(after.ranges))


def _named(entries: Entries) -> list[str]:
    return [named(table) for table in published(entries.with_(margins=False))]


def _column(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what changed in the entry of one column; the two entries differ.

    >>> _column({"kind": "number", "edges": []}, {"kind": "number", "edges": ["18", "23", "28", "33"]})
    '18 to 33 by 5'
    """
    written, before = _cells(new), _cells(old)
    if old["kind"] != new["kind"]:
        kind = _(KINDS.get(str(new["kind"]), str(new["kind"])))
        return f"{kind}, {_short(written)}" if written else kind
    if written != before or listed(new) != listed(old):
        return _short(written) or _("no cells")
    for key, words in (("other", mark("cell (other): {yes}")), ("missing", mark("cell (missing): {yes}"))):
        if old.get(key, True) != new.get(key, True):
            return _(words, yes=_yes(new.get(key, True)))
    if old.get("missing_as", []) != new.get("missing_as", []):
        return _("texts that mean missing")
    if old.get("affixes", []) != new.get("affixes", []):
        return _("texts beside the numbers")
    if old.get("source", "typed") != new.get("source", "typed"):
        return _(WAYS.get(str(new.get("source", "typed")), CHANGED))
    if old.get("suggested") != new.get("suggested"):
        return _("suggestion to confirm") if new.get("suggested") else _("suggestion confirmed")
    return _(CHANGED)


def _cells(column: Mapping[str, Any]) -> str:
    """Return the cells of a column in words; values are only counted, so that removed ones are not kept."""
    if column["kind"] == "category" and not is_found(column):
        return plural("{n} value", "{n} values", len(values)) if (values := column.get("values", ())) else ""
    return str(column.get("written") or "") or notation_of_page(column)


def _unit(before: Entries, after: Entries) -> Iterator[str]:
    def unit(entries: Entries) -> tuple[object, ...]:
        return entries.several_rows, *((entries.id_column, entries.rows) if entries.several_rows else ())

    if unit(before) != unit(after):
        if after.several_rows is None:
            yield _("whom it protects: open")
        elif not after.several_rows:
            yield _("each row is one person")
        else:
            yield (
                plural(
                    "persons by {column}, at most {n} row",
                    "persons by {column}, at most {n} rows",
                    after.rows,
                    column=after.id_column,
                )
                if after.id_column
                else plural(
                    "persons by a column to choose, at most {n} row",
                    "persons by a column to choose, at most {n} rows",
                    after.rows,
                )
            )
    if before.rows_about != after.rows_about:
        yield (
            _("no rough size")
            if after.rows_about is None
            else plural("about {n} row", "about {n} rows", after.rows_about)
        )


def _short(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 2].rstrip(', ')} …"


def _yes(on: object) -> str:
    return _("yes") if on else _("no")


def _lowered(words: str) -> str:
    """Return words with a small first letter, as within a sentence."""
    return f"{words[:1].lower()}{words[1:]}"
