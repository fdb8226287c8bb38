"""Declared values as texts, normalised like the cells of each type that are compared with them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from decimal import Decimal
from typing import Literal

from dpengine.spec.domain import Category

__all__ = ["NUMBERS", "Family", "codes_by_text", "normalised", "plain_numeral", "whole_text"]

Family = Literal["text", "integer", "float", "decimal", "boolean", "date", "timestamp"]

NUMBERS: tuple[Family, ...] = ("integer", "float", "decimal")
_WHOLE = r"-?(0|[1-9][0-9]*)"
_DECLARED_NUMBER = r"-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]{1,4})?"


def normalised(text: str, family: Family = "text") -> str:
    """Normalise a declared text like the text of a cell: no outer blanks, composed Unicode (NFC).

    For numbers of any type, numerals of the same number are the same.

    >>> normalised(" TRUE "), normalised(" TRUE ", "boolean"), normalised("1.50", "decimal")
    ('TRUE', 'true', '1.5')
    """
    composed = unicodedata.normalize("NFC", text.strip())
    if family in NUMBERS:
        return _numeral_of(composed, family)
    return composed.lower() if family == "boolean" else composed


def _numeral_of(text: str, family: Family) -> str:
    """Return the text that `local_sql` writes for a number of this family, given any numeral of the same number.

    Texts with a plus or leading zeros are names, not numerals, so they stay as they are.
    """
    if not re.fullmatch(_DECLARED_NUMBER, text) or not -400 < (number := Decimal(text)).adjusted() < 400:
        return text
    if family == "float":
        value = float(text)
        exact = math.isfinite(value) and Decimal(repr(value)) == number
        return (whole_text(value) or repr(value)) if exact else text
    return plain_numeral(number)


def plain_numeral(number: Decimal) -> str:
    """Write a number without an exponent and without zeros at its end.

    >>> plain_numeral(Decimal("1.50")), plain_numeral(Decimal("1E+2")), plain_numeral(Decimal("-0.0"))
    ('1.5', '100', '0')
    """
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if number else "0"


def whole_text(value: float) -> str:
    """Return the text of a whole number below 2^63, blank for any other number.

    >>> whole_text(1e16), whole_text(0.5), whole_text(1e19)
    ('10000000000000000', '', '')
    """
    return str(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < 2**63 else ""


def codes_by_text(column: Category, family: Family) -> tuple[dict[str, int], dict[str, int]]:
    """Return the codes by raw text, and by normalised text if only one declared value has it.

    A missing marker prevails over a declared value in both. A number has a normalised text only, so that its cell does
    not depend on its type; of declared values that are the same number, it has the plainest, or the first.

    As texts, 2 and 2.0 are the same unless both are declared: programs that hold whole numbers with gaps as floating
    point numbers write all of them with a point.

    >>> codes_by_text(Category(name="sex", values=["1", "2"]), "text")[1]
    {'1': 0, '2': 1, '1.0': 0, '2.0': 1}
    """
    if family in NUMBERS:
        by_number: dict[str, int] = {}
        for code, value in enumerate(column.values):
            numeral = value.strip()
            plainest = re.fullmatch(_DECLARED_NUMBER, numeral) and numeral == _numeral_of(numeral, "decimal")
            if (form := normalised(value, family)) not in by_number or plainest:
                by_number[form] = code
        return {}, by_number | {normalised(text, family): column.missing_code for text in column.missing_as}
    by_raw = {value: code for code, value in enumerate(column.values)}
    uses = Counter(normalised(value, family) for value in column.values)
    by_form = {form: code for code, value in enumerate(column.values) if uses[form := normalised(value, family)] == 1}
    for text in column.missing_as:
        by_raw[text] = by_form[normalised(text, family)] = column.missing_code
    if family == "text":
        taken = by_form.keys() | uses.keys()
        by_form |= {variant: code for form, code in by_form.items() if (variant := _with_point(form)) not in taken}
    return by_raw, by_form


def _with_point(text: str) -> str:
    """Return a whole number with ``.0`` at its end, or without it if it has one; other texts as they are."""
    if re.fullmatch(_WHOLE, text):
        return f"{text}.0"
    return text[:-2] if re.fullmatch(_WHOLE + "[.]0", text) else text
