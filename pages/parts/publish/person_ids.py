"""Which columns of the open table may identify persons: guessed from names of columns, never from rows."""

from __future__ import annotations

import re

from pages.parts.visit.plan import plan_form
from pages.parts.visit.state import visit

__all__ = ["likely_ids", "may_have_several_rows"]

WHO = "id|pid|uid|ssn|mrn|patient|person|subject|respondent|participant|member|customer|client|student|user"
PEOPLE = rf"((.*_)?({WHO})(_?(id|no|nr|num|number|key|code))?)"


def likely_ids() -> list[str]:
    """Return the columns that no table publishes and whose names are likely to identify the person of a row."""
    table, used = visit().table, plan_form.used(visit().entries)
    assert table is not None
    return [field.name for field in table.columns if field.name not in used and _names_people(field.name)]


def may_have_several_rows() -> bool:
    """Whether a person may have several rows: as entered, else guessed from the names of columns."""
    entries = visit().entries
    return bool(likely_ids()) if entries.several_rows is None else entries.several_rows


def _names_people(name: str) -> bool:
    """Whether a column of this name is likely to identify the person of a row.

    >>> _names_people("patient_id"), _names_people("PID"), _names_people("paid"), _names_people("id")
    (True, True, False, True)
    """
    return bool(re.fullmatch(PEOPLE, name.strip().replace("-", "_"), re.IGNORECASE))
