"""Texts that stand before or after the numbers of a column, such as € or days, as their owner declares them.

An affix is taken away, and no more: 12 % is read as 12, 5 weeks as 5 and 85+ as 85. Taking it away never changes what a
number says: a text that is a number by itself is read as it is, and an affix next to a number is never a digit or a
sign of that number. Where several affixes could be taken away on one side, the longest is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from dpengine.spec.declared import Line, at_most
from dpengine.translation.catalogue import _

__all__ = ["MAX_AFFIXES", "Affixes", "payload_of_texts", "stands_after", "stands_before"]

MAX_AFFIXES = 20
_MINUS = "-\u2212\u2013\u2012\u2010\u2011"  # and other dashes that people write for it
_ENDS_IN_NUMBER = re.compile(rf"([0-9][0-9.,' \u00a0\u202feE+]*|[{_MINUS}(])\Z")
_BEGINS_WITH_NUMBER = re.compile(rf"[{_MINUS}.,' \u00a0\u202feE+]*[0-9]")


def stands_before(affix: str) -> bool:
    """Return whether an affix may stand before a number: it must not end in a digit or a minus of its own.

    >>> [each for each in ("€", "ca.", "<", "m2", "-", "(") if stands_before(each)]
    ['€', 'ca.', '<']
    """
    return not _ENDS_IN_NUMBER.search(affix)


def stands_after(affix: str) -> bool:
    """Return whether an affix may stand after a number: it must not begin with digits, or be the sign of a number.

    >>> [each for each in ("days", "+", ".-", "m2", "0 kg", ",50 €", "-", ")") if stands_after(each)]
    ['days', '+', '.-', 'm2']
    """
    return not (_BEGINS_WITH_NUMBER.match(affix) or affix in (*_MINUS, ")"))


def _check(texts: tuple[str, ...]) -> tuple[str, ...]:
    affixes = tuple(dict.fromkeys(unicodedata.normalize("NFC", text.strip()) for text in texts))
    for affix in affixes:
        if not affix or not (stands_before(affix) or stands_after(affix)):
            raise ValueError(
                _(
                    "{affix!r} cannot be left out beside a number, since it would change the number: write a text such "
                    "as days, € or +",
                    affix=affix,
                )
            )
    return affixes


Affixes = Annotated[
    tuple[Annotated[Line, at_most(50)], ...],
    AfterValidator(_check),
    Field(max_length=MAX_AFFIXES, description="texts before or after the numbers, such as days or €"),
]


def payload_of_texts(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of a numeric column, with the way to read its texts unless that is the default.

    So plans from before there were formats and affixes keep their identity. The order of affixes does not matter.
    """
    affixes = {"affixes": sorted(plain["affixes"])} if plain["affixes"] else {}
    form = {} if plain["format"] == "1234.5" else {"format": plain["format"]}
    return {name: each for name, each in plain.items() if name not in ("affixes", "format")} | form | affixes
