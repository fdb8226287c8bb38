"""Words for readers in place of the labels of bins."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

__all__ = ["GROUPED_FROM", "words_of_bins"]

GROUPED_FROM = 10_000  # numbers of five digits are written with marks for thousands; years and codes have four


def words_of_bins(edges: Sequence[Decimal], *, whole: bool) -> tuple[str, ...]:
    """Return words for the bins between `edges`; `whole` numbers have other ends than numbers with decimals.

    >>> [words_of_bins([Decimal(0), Decimal(18), Decimal(65)], whole=whole) for whole in (False, True)]
    [('0 to <18', '18 to 65'), ('0–17', '18–65')]
    >>> words_of_bins([Decimal(0), Decimal(5000), Decimal(20000)], whole=True)
    ('0–4,999', '5,000–20,000')
    """
    comma = "," if max(abs(edges[0]), abs(edges[-1])) >= GROUPED_FROM else ""
    if not whole:
        *texts, last = (f"{edge:{comma}f}" for edge in edges)
        return (*(f"{low} to <{high}" for low, high in pairwise(texts)), f"{texts[-1]} to {last}")
    integers = list(map(int, edges))
    ends = [edge - 1 for edge in integers[1:-1]] + [integers[-1]]
    between = " to " if integers[0] < 0 else "–"  # a dash beside a minus sign is unreadable
    return tuple(
        f"{low:{comma}}{between}{high:{comma}}" if low < high else f"{low:{comma}}"
        for low, high in zip(integers, ends, strict=False)
    )
