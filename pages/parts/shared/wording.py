"""Numbers and plan facts in plain words, for the pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from unicodedata import bidirectional

import pandas as pd

from dpengine.charts.style import middle
from dpengine.spec.counted_wording import noun
from dpengine.spec.numeric.number import GROUPED_FROM
from dpengine.spec.plan import Plan
from dpengine.spec.wording import headings_of, name_of
from dpengine.translation.catalogue import _, day, localised, mark

__all__ = [
    "OURS", "briefly", "bullets", "duration", "edge_or_day", "plain", "plain_name", "protected", "rows_noun",
    "with_headings",
]  # fmt: skip

MAX_NAME = 60  # letters of a column's name in a sentence
OURS = mark("This engine")  # this engine's name among other methods in the labs

# Plain text of which Markdown makes links, and Streamlit emoji, icons or arrows; a break after the match prevents it.
_LIVELY = re.compile(
    r"https?(?=://)|www(?=\.)|(?=@)|:(?=[\w+/-]+:)|(?:(?<=\s)|^)(?:<->|->|<-|--|>=|<=|~=)(?=\s|$)", re.IGNORECASE
)
_MARKUP = re.compile(r"[\\`*{}\[\]#|<>$~:&]|(?<![^\W_])_|_(?![^\W_])")
_LIST = re.compile(r"^(\d*)([-+.)])(?=[-+\s]|$)")  # what would begin a list or draw a line


def with_headings(plan: Plan, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the names of tables for readers, in place of those of the files in its column `table`."""
    heading = headings_of(plan)
    names = {name_of(table): heading(table) for table in plan.published}
    return frame.assign(table=[names.get(name, name) for name in frame["table"]])


def rows_noun(plan: Plan) -> str:
    """Name what the rough size of a plan counts: rows, also if all its tables count the persons who have them."""
    return (plan.nouns.rows or _("rows")) if plan.unit.id and plan.unit.rows > 1 else noun(plan)


def plain(text: str) -> str:
    """Escape what Markdown would read as formatting, so that a typed text is shown as it is, on one line.

    The page also makes links, icons and arrows of plain text, which no escape prevents (``www.``, ``@``, ``:smile:``,
    ``->``). An invisible word joiner inside keeps them text. A text that runs from right to left is isolated, so that
    numbers and words of the page around it keep their places. Labels of boxes are read out as they are written, so
    that nothing is escaped that needs no escape: ``_`` within a word marks up nothing.

    >>> print(plain("my_file *1* _x_"))
    my_file \\*1\\* \\_x\\_
    >>> plain("www.example.org") == "www\N{WORD JOINER}.example.org"
    True
    >>> plain("גיל") == "\N{FIRST STRONG ISOLATE}גיל\N{POP DIRECTIONAL ISOLATE}"
    True
    """
    line = " ".join(text.split())
    joined = _LIVELY.sub("\\g<0>\N{WORD JOINER}", line)
    shown = _LIST.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", joined))
    if line.isascii() or not any(bidirectional(c) in ("R", "AL") for c in line):
        return shown
    return f"\N{FIRST STRONG ISOLATE}{shown}\N{POP DIRECTIONAL ISOLATE}"


def bullets(lines: Iterable[str]) -> str:
    """Return texts as a list in Markdown, each as it is.

    >>> print(bullets(["a", "*b*"]))
    - a
    - \\*b\\*
    """
    return "\n".join(f"- {plain(line)}" for line in lines)


def plain_name(name: str) -> str:
    """Escape the name of a column or table as `plain` does; what is long is cut in the middle, each column by itself.

    Boxes to choose from hold it in full.

    >>> plain_name("sex × " + "How satisfied are you, all in all, with the trains that you take to work?")
    'sex × How satisfied are you, all in…trains that you take to work?'
    """
    return plain(" × ".join(middle(part, MAX_NAME) for part in name.split(" × ")))


def briefly(epsilon: Fraction) -> str:
    """Write an ε as a decimal of at most four digits, with ≈ if that is not exact.

    >>> briefly(Fraction(1, 2)), briefly(Fraction(1, 3))
    ('0.5', '≈ 0.3333')
    """
    text = f"{float(epsilon):.4g}"
    return localised(text if Fraction(text) == epsilon else f"≈ {text}")


def edge_or_day(entered: object) -> str:
    """Write an entered edge or day as the page's language does; any other text stays as it is.

    >>> edge_or_day("200000"), edge_or_day(1990), edge_or_day("0.5"), edge_or_day("2026-12-31"), edge_or_day("?")
    ('200,000', '1990', '0.5', '2026-12-31', '?')
    >>> from dpengine.translation.catalogue import speaking
    >>> with speaking("de"):
    ...     edge_or_day("200000"), edge_or_day("2026-12-31")
    ('200.000', '31.12.2026')
    """
    text = str(entered)
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return day(text)
        edge = Decimal(text)
        return localised(f"{edge:,f}" if abs(edge) >= GROUPED_FROM else f"{edge:f}")
    except InvalidOperation:
        return text


def duration(seconds: float) -> str:
    """Return how long something has taken, in whole seconds or minutes.

    >>> duration(7.9), duration(185)
    ('7 s', '3 min')
    """
    return f"{int(seconds)} s" if seconds < 120 else f"{int(seconds) // 60} min"


def protected(plan: Plan) -> str:
    """Return whom the guarantee protects, as part of a sentence."""
    if plan.unit.id is None:
        return _("a person who has one row in the table")
    if plan.unit.rows == 1:
        return _("a person, identified by {id}, with at most 1 row counted", id=plain(plan.unit.id))
    return _(
        "a person, identified by {id}, with at most {rows} rows counted",
        id=plain(plan.unit.id),
        rows=localised(f"{plan.unit.rows}"),
    )
