"""Read and write bins to find as one short text, such as 0 to 200000 by 1000 in 20 found bins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpengine.exact import decimal, exact_text
from dpengine.spec.numeric.found_bins import DEFAULT_SHARE, read_share

__all__ = ["is_bins_text", "read_bins_text", "write_bins_text"]

_NUMBER = r"[+-]?[0-9.]+(?:e[+-]?[0-9]+)?"
_FOUND = re.compile(
    rf"({_NUMBER})\s*(?:\bto\b|–|—)\s*({_NUMBER})(?:\s+by\s+({_NUMBER}))?\s+in\s+([0-9]{{1,6}})\s+found\s+bins?"
    r"(?:,?\s+share\s+([0-9./]+))?",
    re.IGNORECASE,
)


def is_bins_text(text: str) -> bool:
    """Return whether a text declares bins to find.

    >>> is_bins_text("0 to 90 by 5 in 4 found bins"), is_bins_text("0 to 90 in 4 bins")
    (True, False)
    """
    return bool(_FOUND.fullmatch(text.strip()))


def read_bins_text(text: str) -> dict[str, Any]:
    """Return the plan entries for a column whose bins are to be found, from a text that `is_bins_text` accepts.

    Raises ValueError.

    >>> read_bins_text("0 to 90 by 5 in 4 found bins, share 1/5")
    {'edges': [], 'from': '0', 'to': '90', 'step': '5', 'bins': {'count': 4, 'share': '0.2'}}
    """
    match = _FOUND.fullmatch(text.strip())
    assert match is not None, "a text that says that bins are to be found"
    low, high, step = (f"{decimal(each):f}" for each in (match[1], match[2], match[3] or "1"))
    share = read_share(match[5]) if match[5] else DEFAULT_SHARE
    return {"edges": [], "from": low, "to": high, "step": step,
            "bins": {"count": int(match[4]), "share": exact_text(share)}}  # fmt: skip


def write_bins_text(column: Mapping[str, Any]) -> str:
    """Return the text that `read_bins_text` reads back; "" while there is no range.

    >>> write_bins_text({"from": 0, "to": 90, "step": 5, "bins": 4})
    '0 to 90 by 5 in 4 found bins'
    """
    bins = column["bins"] if isinstance(column["bins"], Mapping) else {"count": column["bins"]}
    low, high, step = ("" if column.get(key) is None else str(column[key]) for key in ("from", "to", "step"))
    if not low or not high:
        return ""
    share = str(bins.get("share") or exact_text(DEFAULT_SHARE))
    more = "" if share in ("1/10", exact_text(DEFAULT_SHARE)) else f", share {share}"
    return f"{low} to {high} by {step or '1'} in {bins.get('count') or '?'} found bins{more}"
