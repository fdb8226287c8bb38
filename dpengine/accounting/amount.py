"""Amounts of ε as exact rationals, and texts that every database keeps as they are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from dpengine.errors import BudgetError
from dpengine.exact import ExactLike, rational

__all__ = ["check_texts", "read_amount", "total"]

_MAX_BITS = 400  # keeps arithmetic and storage small


def read_amount(value: ExactLike, what: str) -> Fraction:
    """Return the positive rational that an int, a Fraction or an exact text stands for; raise `BudgetError`.

    >>> read_amount("0.1", "ε")
    Fraction(1, 10)
    """
    try:
        number = rational(value, what, strict=True)
    except (TypeError, ValueError) as error:
        raise BudgetError(f"{error}.") from None
    if number <= 0:
        raise BudgetError(f"{what} must be more than 0.")
    if max(number.numerator, number.denominator).bit_length() > _MAX_BITS:
        raise BudgetError(f"{what} has too many digits; round it to sixty or fewer.")
    return number


def total(charges: Sequence[sa.Row[Any]]) -> Fraction:
    """Return the sum of the ε of charges."""
    return sum((Fraction(row.epsilon) for row in charges), Fraction(0))


def check_texts(**texts: object) -> None:
    """Raise `BudgetError` unless all are texts that every database keeps, and a `dataset` among them is not blank."""
    for name, text in texts.items():
        # Databases differ on NUL and lone surrogates; a ledger must not.
        if not isinstance(text, str) or "\0" in text or text != text.encode("utf-8", "ignore").decode():
            raise BudgetError(f"The {name} must be a text without NUL or half characters.")
    if not str(texts.get("dataset", "named")).strip():
        raise BudgetError("The dataset needs a name: it says whose budget is spent.")
