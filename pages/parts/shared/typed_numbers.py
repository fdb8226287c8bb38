"""Numbers as people type them, with a decimal point or comma."""

from __future__ import annotations

import re

from dpengine.errors import Fault
from dpengine.translation.catalogue import _, localised

__all__ = ["decimal", "with_point"]

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")


def decimal(typed: str) -> str:
    """Return a typed number with a decimal point; many people write a half as 0,5.

    >>> decimal(" 0,5 ")
    '0.5'
    """
    return typed.strip().replace(",", ".")


def with_point(typed: str, faults: list[str | Fault]) -> str:
    """Return a typed number with a decimal point, if the page's language writes a comma.

    There, 200.000 is two hundred thousand to some and two hundred to others: it is a fault.
    """
    if localised(".") == ".":
        return typed
    if THOUSANDS.fullmatch(typed.strip()):
        whole = typed.strip().replace(".", "")
        faults.append(_("{typed} can be read in two ways: leave out the point of thousands and write {whole}, or write "
                        "a decimal comma", typed=typed.strip(), whole=whole))  # fmt: skip
    return decimal(typed)
