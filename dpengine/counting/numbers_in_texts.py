"""Recognise numbers in columns of texts: how they are written, and which texts stand beside them.

Nothing is changed by what is found here: the owner is asked, and declares the format, and texts such as a unit, as
public knowledge of how the numbers are written.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from dpengine.counting.sample_rows import first_texts
from dpengine.sources.table import Table
from dpengine.spec.declared import NumberFormat
from dpengine.spec.domain import Amount, Number
from dpengine.spec.numeric.affixes import stands_after, stands_before

__all__ = ["affixes_found", "columns_without_numbers", "thousands_found"]

_MIN_CELLS, _ONE_IN = 3, 50  # a text is frequent if at least `_MIN_CELLS` cells, and one in `_ONE_IN`, hold it
_MAX_TEXTS, _MAX_LETTERS = 5, 20  # frequent texts that are returned, and letters of each
_BESIDE = re.compile(r"(?P<before>[^0-9]*?)[+-]?[0-9](?:[0-9.,' \u00a0\u202f]*[0-9])?(?P<after>[^0-9]*)")
_PLAIN = re.compile(r"[+-]?[0-9.,' \u00a0\u202f]+")
_NUMBER = re.compile(r"[0-9](?:[0-9.,]*[0-9])?")
# For each mark that may be a decimal mark: the format in which it groups thousands, and a pattern of such numbers.
_GROUPED: dict[str, tuple[NumberFormat, re.Pattern[str]]] = {
    ".": ("1.234,5", re.compile(r"[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]+)?")),
    ",": ("1,234.5", re.compile(r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?")),
}


def affixes_found(table: Table, names: Collection[str]) -> dict[str, list[str]]:
    """Return the frequent texts beside the numbers of some columns, by name, for the eyes of the owner only.

    Texts that few cells hold, that are long or that hold digits are not among them, since they may say something about
    a person. A table that stays in its database is not looked at.
    """
    found = {name: _frequent(cells) for name, cells in first_texts(table).items() if name in names}
    return {name: affixes for name, affixes in found.items() if affixes}


def thousands_found(table: Table, columns: Iterable[Number | Amount]) -> dict[str, NumberFormat]:
    """Return the format in which a mark groups thousands, of columns that are declared to have decimals behind it.

    Such a column reads 1.200 as 1.2, which may well lie within its bins, so that nobody would notice. This is for the
    eyes of the owner only, who knows what the mark stands for. A table that stays in its database is not looked at.
    """
    texts, found = first_texts(table), {}
    for column in columns:
        mark = "," if column.format == "1.234,5" else "."
        written, grouped = _GROUPED[mark]
        if _groups_thousands(texts.get(column.name, ()), mark, grouped):
            found[column.name] = written
    return found


def _groups_thousands(cells: Iterable[str], mark: str, grouped: re.Pattern[str]) -> bool:
    """Whether many cells have the mark, always before three digits, and no number has four digits without it.

    >>> cells = ["1.200 EUR", "950 EUR", "12.400 EUR"] * 2
    >>> _groups_thousands(cells, *(".", _GROUPED["."][1]))
    True
    >>> [_groups_thousands([*cells, odd], *(".", _GROUPED["."][1])) for odd in ("1.25", "0.375", "1200")]
    [False, False, False]
    """
    numbers = [match[0] for match in map(_NUMBER.search, cells) if match]
    marked = [each for each in numbers if mark in each]
    enough = max(_MIN_CELLS, len(numbers) / _ONE_IN)
    alike = all(grouped.fullmatch(each) if mark in each else len(re.split("[.,]", each)[0]) <= 3 for each in numbers)
    return len(marked) >= enough and alike


def columns_without_numbers(table: Table) -> list[str]:
    """Return the text columns with hardly any numbers in them, for the eyes of the owner only.

    A table that stays in its database is not looked at.
    """
    return [name for name, cells in first_texts(table).items() if cells and _hold_no_numbers(cells)]


def _hold_no_numbers(cells: Sequence[str]) -> bool:
    """Whether fewer than one in ten cells are a number, with or without a text beside it.

    >>> _hold_no_numbers(["North", "South", "7b"] * 9), _hold_no_numbers(["5 days", "n/a", "n/a"])
    (False, False)
    >>> _hold_no_numbers(["North", "South", "2024-01-05"])
    True
    """
    return 10 * sum(bool(_PLAIN.fullmatch(cell) or _BESIDE.fullmatch(cell)) for cell in cells) < len(cells)


def _frequent(cells: Sequence[str]) -> list[str]:
    """Return the affixes that many of the cells hold, the most frequent one first.

    >>> _frequent(["5 days", "1 day", "7 days", "2 days", "3", "85+ (Ann)"])
    ['days']
    """
    times = Counter(affix for cell in cells for affix in set(_beside(unicodedata.normalize("NFC", cell))))
    enough = max(_MIN_CELLS, len(cells) / _ONE_IN)
    return [affix for affix, count in times.most_common(_MAX_TEXTS) if count >= enough]


def _beside(cell: str) -> Iterator[str]:
    match = None if _PLAIN.fullmatch(cell) else _BESIDE.fullmatch(cell)
    if match is None:
        return
    before, after = match["before"].strip(), match["after"].strip()
    if before and len(before) <= _MAX_LETTERS and stands_before(before):
        yield before
    if after and len(after) <= _MAX_LETTERS and stands_after(after):
        yield after
