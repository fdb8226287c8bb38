"""Texts and numbers as a person may type them, bounded before anything is made of them.

Python's own readers take 1_000, digits of any script, and exponents that fill the memory; a plan may
come from a stranger, so what it says is held against a pattern first.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

__all__ = ["Line", "Text", "decimal", "rational"]

_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,60}(?:\.[0-9]{0,60})?|\.[0-9]{1,60})(?:[eE][+-]?[0-9]{1,2})?")
_FRACTION = re.compile(r"[+-]?[0-9]{1,60}/(?=0*[1-9])[0-9]{1,60}")
_MOST, _MAX_DECIMALS = 10**30, 30
_NUMBERS = (str, int, float, Decimal)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_BUT_LAYOUT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def rational(text: str) -> Fraction:
    """The exact number that a decimal or a fraction of at most 60 digits a part stands for; else ValueError.

    >>> rational("1e-3"), rational("1/3")
    (Fraction(1, 1000), Fraction(1, 3))
    """
    text = text.strip()
    if len(text) > 130 or not (_DECIMAL.fullmatch(text) or _FRACTION.fullmatch(text)):
        raise ValueError("not a number")
    return Fraction(text)


def decimal(value: object) -> Decimal:
    """The number as it was typed, of at most 10^30 either way and 30 decimals; else ValueError.

    >>> decimal(" 0.10"), decimal(0.5), decimal("1e3")
    (Decimal('0.10'), Decimal('0.5'), Decimal('1E+3'))
    """
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        raise ValueError("this is not a number such as 18 or 0.5")
    if isinstance(value, int) and abs(value) > _MOST:
        raise ValueError("this number is larger than 1e30")
    text = str(value).strip()
    if len(text) > 130 or not _DECIMAL.fullmatch(text):
        if re.fullmatch(r"[+-]?(inf|infinity|s?nan)", text, re.IGNORECASE):
            raise ValueError("this must be finite; values outside of the edges count as (other)")
        raise ValueError("this is not a number such as 18 or 0.5, of at most 10^30 and 30 decimals")
    if len(text) <= 30 and text.isdecimal():  # most edges; a plan may have a million
        return Decimal(text)
    number = Decimal(text)
    if abs(number) > _MOST or -int(number.as_tuple().exponent) > _MAX_DECIMALS:
        raise ValueError("this number is larger than 1e30, or has more than 30 decimals")
    return number


def _plain(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("this text holds a control character, such as a tab or a line break, or half a character")
    return text


def _laid_out(text: str) -> str:
    if _CONTROL_BUT_LAYOUT.search(text):
        raise ValueError("this text holds a control character or half a character; only line breaks and tabs may stand")
    return text


# Headers and cells of real tables hold line breaks and tabs; what names a budget, a file or a format does not.
Line = Annotated[str, AfterValidator(_plain)]
Text = Annotated[str, AfterValidator(_laid_out)]
