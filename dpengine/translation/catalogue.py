"""Texts in the reader's language, by gettext: English is in the code, every other language in a file here.

A language is a file such as `de.po`, which any translation editor opens. To add one, copy and translate it: its number
format and its plural forms follow from its name.

A text is translated by `_("{rows} rows were read", rows=number(1200))`. A text that is kept for later, such as a
constant, is marked by `mark` in the source and translated by `_` where it is shown. Everything that is stored, compared
or charged for (manifests, plans, ledgers) is always English: it is made under `speaking("en")`.
"""

from __future__ import annotations

import gettext
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

__all__ = [
    "ENGLISH", "MAX_LISTED", "_", "choose_by", "day", "language", "languages", "localised", "mark", "number", "plural",
    "some_of", "speaking",
]  # fmt: skip

ENGLISH = "en"
FOLDER = Path(__file__).parent
MAX_LISTED = 10  # names in a sentence

_spoken: ContextVar[str | None] = ContextVar("language", default=None)
_chosen: list[Callable[[], str]] = []


@cache
def languages() -> dict[str, str]:
    """Return the available languages, English first: each code with the language's own name.

    >>> languages()["de"]
    'Deutsch'
    """
    from babel import Locale  # imported only if a second language is used

    codes = [ENGLISH, *sorted(file.stem for file in FOLDER.glob("*.po"))]
    return {code: str(Locale.parse(code).get_display_name(code)).capitalize() for code in codes}


def language() -> str:
    """Return the code of the current language."""
    spoken = _spoken.get()
    if spoken is not None:
        return spoken
    return _chosen[0]() if _chosen else ENGLISH


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Use the language of this code in a block, or in a decorated function.

    >>> with speaking("de"):
    ...     number(1234.5)
    '1.234,5'
    """
    token = _spoken.set(code)
    try:
        yield
    finally:
        _spoken.reset(token)


def choose_by(chosen: Callable[[], str]) -> None:
    """Ask `chosen` for the language outside of `speaking` blocks, for example a page that knows its visitor's."""
    _chosen[:] = [chosen]


def _(text: str, /, **values: object) -> str:
    """Return `text` in the current language, with `values` in its placeholders.

    >>> _("{rows} rows", rows=3)
    '3 rows'
    """
    spoken = language()
    # In a translation file, the empty text is the file's header.
    translated = text if spoken == ENGLISH or not text else _messages(spoken).gettext(text)
    return translated.format(**values) if values else translated


def plural(one: str, many: str, count: int, /, **values: object) -> str:
    """Return the text for this number of things, in which `{n}` is the number.

    >>> plural("{n} row", "{n} rows", 1), plural("{n} row", "{n} rows", 1200)
    ('1 row', '1,200 rows')
    """
    spoken = language()
    english = one if count == 1 else many
    translated = english if spoken == ENGLISH else _messages(spoken).ngettext(one, many, count)
    return translated.format(n=number(count), **values)


def some_of(names: Iterable[str], most: int = MAX_LISTED, between: str = ", ") -> str:
    """Name the first `most` of some things, and how many more there are: no message grows with a table.

    >>> some_of(["age", "sex"]), some_of("abcd", 2), some_of(["age, in years", "sex"], between="; ")
    ('age, sex', 'a, b and 2 more', 'age, in years; sex')
    """
    every = [*names]
    first, more = between.join(every[:most]), len(every) - most
    return _("{names} and {n} more", names=first, n=number(more)) if more > 0 else first


def mark(text: str) -> str:
    """Mark a text for translation when it is shown, and return it unchanged."""
    return text


def number(value: float, form: str = ",", /) -> str:
    """Write a number in the format of the language; `form` is a Python format such as `,.1f`.

    >>> number(1234567), number(0.25, ".1%")
    ('1,234,567', '25.0%')
    """
    return localised(format(value, form))


def localised(written: str) -> str:
    """Convert a number written in English to the format of the language.

    >>> localised("1,234.5")
    '1,234.5'
    """
    spoken = language()
    return written if spoken == ENGLISH else written.translate(_marks(spoken))


def day(iso: str) -> str:
    """Write a day such as 2026-12-31 in the format of the language.

    >>> day("2026-12-31")
    '2026-12-31'
    >>> with speaking("de"):
    ...     day("2026-12-31")
    '31.12.2026'
    """
    written = _("YYYY-MM-DD")
    for letters, digits in zip(("YYYY", "MM", "DD"), iso.split("-"), strict=True):
        written = written.replace(letters, digits)
    return written


@cache
def _marks(code: str) -> dict[int, str]:
    from babel import Locale

    symbols: Any = Locale.parse(code).number_symbols["latn"]
    return str.maketrans({",": symbols["group"], ".": symbols["decimal"]})


@cache
def _messages(code: str) -> gettext.NullTranslations:
    """Return the texts of a language, read from its file. A text without translation stays English."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = BytesIO()
    with (FOLDER / f"{code}.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=code))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
