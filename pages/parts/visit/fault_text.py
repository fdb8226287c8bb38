"""The engine's faults as sentences about what a person sees on the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["sentence"]

FIELDS = {"from": "the first day", "to": "the last day", "format": "how dates are written", "epsilon": "ε"}


def sentence(fault: str, columns: Sequence[str] = ()) -> str:
    """A fault without the path into the plan that leads it; its column by name where ``columns`` lists them.

    >>> sentence("columns → 2 → from: this is needed and is not given", ["age", "visit"])
    'visit: the first day is needed'
    >>> sentence("columns → 1: list the values")
    'list the values'
    >>> sentence("columns → 1 → edges → 3: Input should be a valid decimal")
    'edge 3 is not a number'
    """
    path, colon, said = fault.partition(": ")
    if not colon or not re.fullmatch(r"[a-z_]+( → \w+)*", path):
        return fault
    steps = path.split(" → ")
    lead = ""
    if steps[0] == "columns" and len(steps) > 1:
        place = int(steps[1]) - 1
        lead = f"{columns[place]}: " if place < len(columns) else ""
        steps = steps[2:]
    if steps[:1] == ["edges"] and len(steps) == 2:
        return f"{lead}edge {steps[1]} is not a number"
    what = FIELDS.get(steps[-1], "") if steps else ""
    if said.startswith("this is needed"):
        return f"{lead}{what or ' '.join(steps)} is needed"
    return f"{lead}{what}: {said}" if what else f"{lead}{said}"
