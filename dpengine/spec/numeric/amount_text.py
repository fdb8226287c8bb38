"""Read and write the bounds, the step and the knots of an amount as one text, such as 0 to 200000 by 100.

An upper bound that is to be found is a part of it: 0 to 10000000 by 100, upper bound found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpengine.exact import decimal, exact_text
from dpengine.spec.numeric.found_bins import read_share
from dpengine.spec.numeric.found_upper import DEFAULT_SHARE
from dpengine.translation.catalogue import _

__all__ = ["even_knots", "finds_upper", "is_amount_text", "read_amount", "spaced", "write_amount"]

_NUMBER = r"[+-]?[0-9.]+(?:e[+-]?[0-9]+)?"
_TEXT = re.compile(
    rf"(?:({_NUMBER}) to ({_NUMBER})|({_NUMBER}(?: {_NUMBER})+))(?: by ({_NUMBER}))?(?: in ([0-9]{{1,3}})(?: parts?)?)?"
    r"(?: (upper bound found)(?: share ([0-9./]+))?)?"
)


def read_amount(text: str) -> dict[str, Any]:
    """Return the fields of an amount that `text` declares. Raises ValueError with what to write instead.

    The default step is 1. Knots are listed before it, or given as the number of parts into which they divide the range.

    >>> read_amount("0 to 200000 by 100")
    {'from': '0', 'to': '200000', 'step': '100', 'knots': [], 'upper': None}
    >>> read_amount("0, 10, 50, 100 by 10")["knots"], read_amount("0 to 100 by 10 in 5 parts")["knots"]
    (['0', '10', '50', '100'], ['0', '20', '40', '60', '80', '100'])
    >>> read_amount("0 to 10000000 by 100, upper bound found, share 1/5")["upper"]
    {'share': '0.2'}
    """
    match = _TEXT.fullmatch(spaced(text))
    if match is None or (match[5] and match[3]) or (match[6] and (match[5] or match[3])):
        raise ValueError(_("write the lowest and the highest value and a step, such as 0 to 200000 by 100"))
    listed = match[3].split() if match[3] else [match[1], match[2]]
    numbers = [decimal(each) for each in (*listed, match[4] or "1")]
    *knots, step = [f"{each:f}" for each in numbers]
    if parts := int(match[5] or 0):
        low, high, width = numbers
        if width <= 0 or not low < high or not parts <= (high - low) / width:
            raise ValueError(_("write the lower number first, and no more parts than there are steps between them"))
        knots = [f"{each:f}" for each in even_knots(low, high, width, parts)]
    upper = {"share": exact_text(read_share(match[7]) if match[7] else DEFAULT_SHARE)} if match[6] else None
    return {"from": knots[0], "to": knots[-1], "step": step, "knots": knots if len(knots) > 2 else [], "upper": upper}


def write_amount(column: Mapping[str, Any]) -> str:
    """Return the text that `read_amount` reads back; "" while there is none.

    >>> write_amount({"from": "0", "to": "100", "step": "10", "knots": ["0", "20", "40", "60", "80", "100"]})
    '0 to 100 by 10 in 5 parts'
    >>> write_amount({"from": "0", "to": "100", "step": "1", "upper": "found"})
    '0 to 100 by 1, upper bound found'
    """
    low, high, step = (str(column.get(key) or "") for key in ("from", "to", "step"))
    knots = list(map(str, column.get("knots") or ()))
    if knots:
        low, high = low or knots[0], high or knots[-1]
    if not low and not high:
        return ""
    span, by = f"{low or '?'} to {high or '?'}", f" by {step or '1'}"
    if upper := column.get("upper"):
        return f"{span}{by}, upper bound found{_share_of(upper)}"
    if len(knots) < 3:
        return span + by
    try:
        even = even_knots(decimal(low), decimal(high), decimal(step or "1"), len(knots) - 1)
        if [decimal(knot) for knot in knots] == even:
            return f"{span}{by} in {len(knots) - 1} parts"
    except (ValueError, ArithmeticError):  # typed, but not a grid
        pass
    return ", ".join(knots) + by


def _share_of(upper: Any) -> str:
    """Write the share of ε that finds an upper bound, unless it is the usual one."""
    share = str(upper.get("share") or "") if isinstance(upper, Mapping) else ""
    return "" if share in ("", "1/10", exact_text(DEFAULT_SHARE)) else f", share {share}"


def even_knots(low: Decimal, high: Decimal, step: Decimal, parts: int) -> list[Decimal]:
    """Return knots from `low` to `high` that divide the range as evenly as its grid allows.

    >>> [str(knot) for knot in even_knots(Decimal(0), Decimal(7), Decimal(1), 3)]
    ['0', '2', '5', '7']
    """
    steps = int((high - low) / step)
    return [low + place * step for place in sorted({round(Fraction(k * steps, parts)) for k in range(parts + 1)})]


def finds_upper(text: str) -> bool:
    """Return whether a text declares an amount whose upper bound is to be found, and so no number in bins.

    >>> finds_upper("0 to 80 by 1, upper bound found"), finds_upper("0 to 80 by 1")
    (True, False)
    """
    match = _TEXT.fullmatch(spaced(text))
    return match is not None and match[6] is not None


def is_amount_text(text: str) -> bool:
    """Return whether a text can be read as bounds and a step.

    >>> is_amount_text("0 to 80"), is_amount_text("0 to 80, upper bound found"), is_amount_text("us-states")
    (True, True, False)
    """
    return _TEXT.fullmatch(spaced(text)) is not None


def spaced(text: str) -> str:
    """Return the text in lower case, with numbers separated by blanks; if there are semicolons, 1,5 is one number."""
    text = text.replace(",", ".").replace(";", " ") if ";" in text else text.replace(",", " ")
    return " ".join(re.sub(r"[–—]", " to ", text.lower()).split())
