"""Questions of a survey to which one cell holds several answers, such as "German; Turkish".

As it is, each combination of answers would be a value of its own. So each possible answer, which the questionnaire
makes public, becomes a column of yes and no beside the others, named after both: "languages: Turkish". It is derived in
the engine, as the rows are read, from the cell of its own row alone.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dpengine.errors import TableError
from dpengine.sources.mixed import text_of
from dpengine.sources.relation import check_names, one_line, place_of, types_of
from dpengine.sql import literal
from dpengine.translation.catalogue import _, mark

__all__ = ["BETWEEN", "EXAMPLE", "add_answers", "read_answers", "write_answers"]

EXAMPLE = mark("languages = German; Turkish")  # a line for `read_answers`
_LIKE_THIS = mark("write the possible answers like this: {example}")
BETWEEN = ";,|\n\r"  # letters that stand between two answers in a cell
_BLANK = r"[\s\x{00a0}]*"
_APART = f"{_BLANK}[{re.escape(BETWEEN)}]{_BLANK}"


def read_answers(lines: Sequence[str]) -> dict[str, list[str]]:
    """Read lines such as "languages = German; Turkish": a column, and the possible answers in its cells.

    >>> read_answers(["languages = German; Turkish", "languages=Arabic"])
    {'languages': ['German', 'Turkish', 'Arabic']}

    The first sign with blanks around it counts, if there is one: a column may have others in its name. An answer with a
    semicolon stands in double quotes. Raises `TableError` for a line of another form.
    """
    answers: dict[str, list[str]] = {}
    for line in lines:
        column, sign, listed = line.partition(" = " if " = " in line else "=")
        cells = next(csv.reader([listed], delimiter=";", skipinitialspace=True), [])
        found = [each.strip() for each in cells if each.strip()]
        if not (column.strip() and sign and found):
            raise TableError(_(_LIKE_THIS, example=_(EXAMPLE)))
        answers.setdefault(column.strip(), []).extend(found)
    return answers


def write_answers(column: str, answers: Sequence[str]) -> str:
    """Write a line for `read_answers`.

    >>> write_answers("languages", ["German", "Turkish"]), write_answers("q=1", ["yes; often"])
    ('languages = German; Turkish', 'q=1 = "yes; often"')
    """
    listed = ['"' + each.replace('"', '""') + '"' if re.search('^"|;', each) else each for each in answers]
    return f"{one_line(column)} = {'; '.join(listed)}"


def add_answers(connection: Any, names: Sequence[str], answers: Mapping[str, Sequence[str]]) -> list[str]:
    """Make `rows` anew, with a column of yes and no for each possible answer; return the names of all columns.

    An answer is given if it stands in the cell alone, or between the letters of `BETWEEN` or its ends; blanks around it
    do not matter. A blank cell is missing in all columns of its question. Raises `TableError` if there is no such
    column, or if answers are blank, repeated, or not a list of texts.
    """
    types = types_of(connection)
    added: list[str] = []
    made: list[str] = []
    if not isinstance(answers, Mapping):
        raise TableError(_(_LIKE_THIS, example='{"languages": ["German", "Turkish"]}'))
    for column, listed in answers.items():
        place = place_of(names, column)
        if place is None:
            raise TableError(_("there is no column {name!r} with several answers in a cell", name=column))
        if not (_is_list(listed) and all(isinstance(each, str) and each.strip() for each in listed)):
            raise TableError(_("column {name!r}: list the possible answers, each of them a text", name=column))
        cell = f"nfc_normalize({text_of(f'c{place}', types[place])})"
        blank = f"{cell} IS NULL OR regexp_full_match({cell}, {literal(_BLANK)})"
        for answer in listed:
            given = f"regexp_matches({cell}, {literal(_pattern(answer.strip()))})"
            made.append(f"CASE WHEN NOT ({blank}) THEN {given} END AS c{len(names) + len(made)}")
            added.append(f"{column}: {answer.strip()}")
    check_names([*names, *added])
    connection.execute("ALTER VIEW rows RENAME TO with_several_answers")
    connection.execute(f"CREATE VIEW rows AS SELECT *, {', '.join(made)} FROM with_several_answers")
    return [*names, *added]


def _is_list(listed: object) -> bool:
    return isinstance(listed, Collection) and not isinstance(listed, str) and len(listed) > 0


def _pattern(answer: str) -> str:
    return f"(^{_BLANK}|{_APART}){re.escape(unicodedata.normalize('NFC', answer))}({_BLANK}$|{_APART})"
