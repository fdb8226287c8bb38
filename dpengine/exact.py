"""Exact numbers: the one place where rational numbers are read from what a person wrote, and written back.

Python's own readers accept 1_000, digits of any script, and exponents that fill the memory. A plan may come from a
stranger, so every text is matched against a pattern before it becomes a number. Numbers that a person states (an ε, an
edge, a step) are read as they were meant: a float 0.1 is 1/10. Private numbers are read by `exact_number`, which rounds
nothing.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TypeAlias

from dpengine.translation.catalogue import _, localised, mark

__all__ = ["DecimalLike", "ExactLike", "decimal", "exact_number", "exact_text", "exactly", "ratio_text", "rational"]

DecimalLike: TypeAlias = "int | float | str | Decimal"
ExactLike: TypeAlias = "DecimalLike | Fraction"

_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,60}(?:\.[0-9]{0,60})?|\.[0-9]{1,60})(?:[eE][+-]?[0-9]{1,2})?")
_FRACTION = re.compile(r"[+-]?[0-9]{1,60}/(?=0*[1-9])[0-9]{1,60}")
_STRICT = re.compile(r"([0-9]+)(?:\.([0-9]+)|/(?=0*[1-9])([0-9]+))?")
_COMMA = re.compile(r"[0-9]{1,9},[0-9]{1,9}")  # decimals as in German; 1,000 would be too much to spend
_MAX_TEXT = 130
_THIS = mark("this")
_MAX_NUMBER, _MAX_DECIMALS = 10**30, 30


def rational(value: object, what: str = _THIS, *, strict: bool = False, digits: int = 60) -> Fraction:
    """Read an exact rational number that a person states, such as an ε or a quantile's level.

    Takes whole numbers, `Fraction`, `Decimal`, texts such as "0.1", "1e-3" or "1/3" of at most 60 digits a part,
    and floats, which are read by their first 12 significant digits. With `strict`, for amounts that are spent or scales
    that are drawn, takes whole numbers, `Fraction`, and texts of an unsigned decimal or fraction of at most `digits`
    digits a part: no float, no exponent, no blank.

    Raises ValueError with a message that begins with `what`, and TypeError for a type that `strict` refuses.

    >>> rational("1e-3"), rational(0.1), rational("1/3", strict=True)
    (Fraction(1, 1000), Fraction(1, 10), Fraction(1, 3))
    """
    if strict:
        return _strict(value, what, digits)
    huge = isinstance(value, int) and abs(value) >= 10**_MAX_TEXT  # Python refuses to print very long integers
    text = "" if huge else f"{value:.12g}" if isinstance(value, float) else str(value).strip()
    if isinstance(value, bool) or len(text) > _MAX_TEXT or not (_DECIMAL.fullmatch(text) or _FRACTION.fullmatch(text)):
        raise ValueError(_("{what} must be a number: a decimal or a fraction, such as 0.5 or 1/3", what=_(what)))
    return Fraction(text)


def _strict(value: object, what: str, digits: int) -> Fraction:
    message = _("{what} must be exact: a whole number, a Fraction, or a text such as '0.1' or '1/3'", what=_(what))
    if isinstance(value, bool) or not isinstance(value, int | Fraction | str):
        raise TypeError(f"{message}; not {type(value).__name__}")
    if isinstance(value, str):
        if _COMMA.fullmatch(value):
            raise ValueError(_("{what} must be written with a point, not a comma: {number}", what=_(what),
                               number=value.replace(",", ".")))  # fmt: skip
        parts = _STRICT.fullmatch(value)
        if parts is None or any(len(part) > digits for part in parts.groups("")):
            raise ValueError(_("{message}, of at most {digits} digits a part", message=message, digits=digits))
    return Fraction(value)


def exact_number(value: object, what: str = _THIS) -> Fraction:
    """Read a private number exactly, without rounding.

    Takes whole numbers, `Fraction`, floats of Python and NumPy, each at its exact binary value, and texts and `Decimal`
    as `rational` does. A sensitivity that holds for the numbers given then holds for the numbers read. Any rounding
    would break this: scores near 10^12 that differ by 1/2 would change by whole rounding steps. The shortest decimal
    text of a float would break it too: neighbouring floats beyond 2^53 are up to a quarter further apart in that text.

    Raises ValueError with a message that begins with `what`, and never quotes the value.

    >>> exact_number("0.1"), exact_number(0.5), exact_number(1e12 + 0.5) - exact_number(1e12)
    (Fraction(1, 10), Fraction(1, 2), Fraction(1, 2))
    """
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    ratio = None if isinstance(value, bool | Decimal) else getattr(value, "as_integer_ratio", None)
    if ratio is None:
        return rational(value, what)
    try:
        numerator, denominator = ratio()
    except (OverflowError, ValueError):
        raise ValueError(_("{what} must be a finite number", what=_(what))) from None
    return Fraction(int(numerator), int(denominator))


def decimal(value: object) -> Decimal:
    """Read a decimal number, keeping the digits as typed: at most 10^30 in size, and 30 decimals.

    Raises ValueError.

    >>> decimal(" 0.10"), decimal(0.5), decimal("1e3")
    (Decimal('0.10'), Decimal('0.5'), Decimal('1E+3'))
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise ValueError(_("this is not a number: write one such as 18 or 0.5"))
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        raise ValueError(_("this number is larger than 1e30"))
    text = str(value).strip()
    if len(text) > _MAX_TEXT or not _DECIMAL.fullmatch(text):
        if re.fullmatch(r"[+-]?(inf|infinity|s?nan)", text, re.IGNORECASE):
            raise ValueError(_("this must be finite; values outside the edges count as (other)"))
        raise ValueError(_("this is not a number: write one such as 18 or 0.5"))
    if len(text) <= 30 and text.isdecimal():  # most edges; a plan may have a million
        return Decimal(text)
    number = Decimal(text)
    if abs(number) > _MAX_NUMBER or -int(number.as_tuple().exponent) > _MAX_DECIMALS:
        raise ValueError(_("this number is larger than 1e30, or has more than 30 decimals"))
    return number


def exact_text(number: Fraction | int) -> str:
    """Write the shortest exact text: a decimal if one of at most 18 places is exact, and otherwise a fraction.

    >>> exact_text(Fraction(1, 8)), exact_text(Fraction(1, 3)), exact_text(Fraction(-5, 2))
    ('0.125', '1/3', '-2.5')
    """
    places = next((places for places in range(19) if 10**places % number.denominator == 0), None)
    if places is None:
        return ratio_text(number)
    whole, rest = divmod(abs(number.numerator) * 10**places // number.denominator, 10**places)
    sign = "-" if number < 0 else ""
    return f"{sign}{whole}.{rest:0{places}}" if places else f"{sign}{whole}"


def exactly(number: Fraction | int) -> str:
    """Write the shortest exact text, with the decimal mark of the language.

    >>> exactly(Fraction(1, 2))
    '0.5'
    """
    return localised(exact_text(number))


def ratio_text(number: Fraction | int) -> str:
    """Write numerator and denominator, whole numbers too: the text that ledgers store and seal.

    >>> ratio_text(Fraction(2))
    '2/1'
    """
    return f"{number.numerator}/{number.denominator}"
