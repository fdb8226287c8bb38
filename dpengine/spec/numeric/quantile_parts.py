"""Fractions of the people at which quantiles are published."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dpengine.exact import decimal
from dpengine.translation.catalogue import _

__all__ = ["QuantileParts"]

MAX_QUANTILES = 20  # of an amount in a table


def read_parts(values: Any) -> tuple[Decimal, ...]:
    """Read fractions between 0 and 1, such as 0.5; return the distinct ones in increasing order. Raises ValueError.

    >>> read_parts([0.5, "0.250", 0.50])
    (Decimal('0.25'), Decimal('0.5'))
    """
    if not isinstance(values, list | tuple):
        raise ValueError(_("list the quantiles that are asked for, such as [0.25, 0.5, 0.75]"))
    try:
        parts = sorted({decimal(value).normalize() for value in values})
    except ValueError:
        parts = [Decimal(0)]
    if any(not 0 < part < 1 or part != round(part, 4) for part in parts):
        raise ValueError(_("a quantile is at a part of the people between 0 and 1, such as 0.5; at most 4 decimals"))
    return tuple(parts)


QuantileParts = Annotated[
    tuple[Decimal, ...], BeforeValidator(read_parts), Field(min_length=1, max_length=MAX_QUANTILES)
]
