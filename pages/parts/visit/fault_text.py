"""The engine's faults as sentences in terms of what the page shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from dpengine.errors import Fault, LedgerError, PrivateReleaseError, TableError
from dpengine.translation.catalogue import _, mark, plural
from pages.parts.shared.wording import plain

__all__ = ["all_faults", "ledger_faults_shown", "names_repeat", "sentence", "title_may_stand_above"]

MAX_SHOWN = 5

FIELDS = {
    "from": mark("the first day"),
    "to": mark("the last day"),
    "format": mark("how dates are written"),
    "epsilon": "ε",
}


def sentence(fault: Fault, columns: Sequence[str] = ()) -> str:
    """Return a fault as a sentence without its path in the plan; with `columns`, it names the column.

    >>> sentence(Fault(("columns", 2, "from"), "not given", missing=True), ["age", "visit"])
    'visit: the first day is needed'
    >>> sentence(Fault(("columns", 1), "list the values"))
    'list the values'
    >>> sentence(Fault(("epsilon",), "ε must be above 0"))
    'ε must be above 0'
    """
    lead, steps = "", fault.path
    match fault.path:
        case "columns", int(position), *_:
            lead = f"{columns[position - 1]}: " if position <= len(columns) else ""
            steps = fault.path[2:]
    field = FIELDS.get(str(steps[-1]), "") if steps else ""
    if fault.missing:
        return lead + _("{what} is needed", what=_(field) or " ".join(map(str, steps)))
    named = field and not fault.text.startswith(_(field))  # such as: ε must be a number
    return f"{lead}{_(field)}: {fault.text}" if named else f"{lead}{fault.text}"


def all_faults(error: PrivateReleaseError, columns: Sequence[str] | None = None) -> str:
    """Return the first few faults of an error as Markdown, a paragraph each.

    Without `columns`, faults keep their path in a file; with them, faults are about the page's entries (see
    `sentence`). The address of a ledger is left out: it is for operators, not for visitors. So is the place of a fault
    in a table's header, which its text names.

    >>> print(all_faults(PrivateReleaseError(f"fault {k}" for k in range(7)))[-17:])
    and 2 more faults
    """
    shown = error.faults[:MAX_SHOWN]
    hidden = isinstance(error, LedgerError)
    shown = tuple(Fault((), fault.text) if hidden or fault.path[:1] == ("header",) else fault for fault in shown)
    lines = [plain(str(fault) if columns is None else sentence(fault, columns)) for fault in shown]
    if (rest := len(error.faults) - MAX_SHOWN) > 0:
        lines.append(plural("and {n} more fault", "and {n} more faults", rest))
    return "\n\n".join(lines)


def title_may_stand_above(error: BaseException | None) -> bool:
    """Whether the names of a table's columns are no names, as where a title stands above them.

    Equal names have a place of their own in the header: to skip their row would not help.
    """
    return isinstance(error, TableError) and {("header",)} == {fault.path for fault in error.faults}


def names_repeat(error: BaseException | None) -> bool:
    """Whether all that is wrong with a table is that some of its columns have the same name."""
    return isinstance(error, TableError) and all(
        len(fault.path) == 2 and fault.path[0] == "header" for fault in error.faults
    )


@contextmanager
def ledger_faults_shown() -> Iterator[None]:
    """If the ledger cannot be used, show why, in place of what needs it."""
    try:
        yield
    except LedgerError as error:
        st.error(all_faults(error), icon=":material/account_balance_wallet:")
