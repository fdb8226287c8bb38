"""Write a first plan for a table: names and kinds of its columns, and blanks to fill in from public knowledge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

import yaml

from dpengine.sources.table import Field
from dpengine.spec.domain import Column, plan_entry
from dpengine.spec.exchange.draft import ReadCodebook

__all__ = ["DOUBT", "MAX_HEADING", "first_plan", "header_doubt"]

HEAD = """\
# A first plan. Fill in every blank from public knowledge (a codebook, the questionnaire), not from the rows.
title: ""
dataset: {dataset}          # whose budget is spent; keep the name for as long as it is the same people
epsilon: "1"                # what the whole release costs
unit: {{rows: 1}}             # one row is one person; or {{id: column_that_names_the_person, rows: 3}}
# rows_about: 10000         # rough public size, for previews and warnings
# nouns: {{rows: visits}}     # what the rows are, in the plural, for charts and the report; else people
# If nobody can list the values of a column, write   values: found, among: {{pattern: "#####"}}   (# is a digit): a
# release finds those that many people have, for a quarter of ε. Bins of a number are found, for a tenth of ε, by
#   from: 0, to: 5000, step: 10, bins: 20   instead of edges. The upper bound of a kind: amount, for a tenth of ε, by
#   from: 0, to: 1000000, step: 100, upper: found   if nobody knows how large its values are.
# Dates that are not written as 2024-12-31 need a format, such as   format: "%d/%m/%Y %H:%M"; else they are (other).
columns:                    # keep those that stand in a table below
"""
BLANKS = {
    "number": "kind: number, edges: []",
    "category": "kind: category, values: []",
    "yesno": "kind: yesno",
    "date": "kind: date, from: '', to: '', by: month",
}
NOTES = {
    "number": "edges of bins [a, b), e.g. [0, 18, 65, 120]",
    "category": "every value that is publicly known to be possible",
    "yesno": "",
    "date": "first and last day; by day, week, month, quarter or year; or kind: time, by: hour or weekday",
}
MAX_HEADING, MAX_WORDS = 60, 50  # letters of a name for readers; codes that are shown
TAIL = """\
tables:                     # what is published; or {each: 1}, {each: 2} for all k-way tables
  - []
strategy: auto
"""
DOUBT = (
    "warning: the first line looks like data, not like names; if it is a row of the table, keep this plan to yourself "
    "and run this again with --no-names; if a title stands above the names, with --skip-rows"
)
_DATA = re.compile(
    r"[+-]?([0-9][0-9.,]*|\.[0-9]+)(e[+-]?[0-9]+)?%?|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([t ].*)?|nan"
)
_YEAR = re.compile(r"(19|20)[0-9]{2}")


def first_plan(fields: Sequence[Field], *, dataset: str, book: ReadCodebook | None = None) -> str:
    """Return the text of a plan file for a table with `fields`; it holds no value of a row.

    Declarations of a codebook are filled in. The file's own descriptions of codes, or a doubtful codebook, become
    comments: they may have been made from the rows.
    """
    lines = []
    declared = {column.name: column for column in book.codebook.columns} if book else {}
    doubtful = book is not None and book.doubtful
    for field in fields:
        if field.name in declared and not doubtful:
            lines.append(f"  - {_flow(declared[field.name])}")
            continue
        label = f", label: {_scalar(field.label)}" if 0 < len(field.label) <= MAX_HEADING else ""
        line = f"  - {{name: {_scalar(field.name)}{label}, {BLANKS[field.kind_hint]}}}"
        lines.append(f"{line}   # {NOTES[field.kind_hint]}" if NOTES[field.kind_hint] else line)
        if field.words:
            words = ", ".join(f"{_scalar(code)}: {_scalar(word)}" for code, word in field.words[:MAX_WORDS] if word)
            more = ", …" if len(field.words) > MAX_WORDS else ""
            lines.append(f"    # the file itself says: words: {{{words}{more}}}; some programs make this from the rows")
        if field.name in declared:
            entry = _flow(declared[field.name])
            lines.append(f"    # the codebook, which was made with the rows, says: {entry}; take it if it is public")
    return HEAD.format(dataset=_scalar(dataset)) + "\n".join(lines) + "\n" + TAIL


def header_doubt(names: Iterable[str]) -> str | None:
    """Return a warning if `names` look like a row of data, otherwise None; it quotes no name, which may be a cell.

    They do if one is a number or a date (years may name columns), or if two differ in case or blanks only.

    >>> header_doubt(["age", "2024"]) is None, header_doubt(["34", "North"]) is None
    (True, False)
    """
    plain = [name.strip().casefold() for name in names]
    like_data = any(_DATA.fullmatch(name) and not _YEAR.fullmatch(name) for name in plain)
    return DOUBT if like_data or len(set(plain)) < len(plain) else None


def _flow(column: Column) -> str:
    """Write a declared column as one line of a plan."""
    return json.dumps(plan_entry(column), ensure_ascii=False, default=str)


def _scalar(text: str) -> str:
    """Write a text as a YAML scalar."""
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=10_000).strip()
