"""The engine's faults as sentences about what a person sees on the page."""

from __future__ import annotations

from collections.abc import Sequence

from dpengine.errors import Fault
from dpengine.spec.declared import NEEDED

__all__ = ["sentence"]

FIELDS = {"from": "the first day", "to": "the last day", "format": "how dates are written", "epsilon": "ε"}


def sentence(fault: Fault, columns: Sequence[str] = ()) -> str:
    """Say a fault without its path into the plan; its column by name where `columns` lists them.

    >>> sentence(Fault(("columns", 2, "from"), NEEDED), ["age", "visit"])
    'visit: the first day is needed'
    >>> sentence(Fault(("columns", 1), "list the values"))
    'list the values'
    """
    lead, steps = "", fault.path
    match fault.path:
        case "columns", int(position), *_:
            lead = f"{columns[position - 1]}: " if position <= len(columns) else ""
            steps = fault.path[2:]
    field = FIELDS.get(str(steps[-1]), "") if steps else ""
    if fault.text == NEEDED:
        return f"{lead}{field or ' '.join(map(str, steps))} is needed"
    return f"{lead}{field}: {fault.text}" if field else f"{lead}{fault.text}"
