"""Which columns of the open table may identify persons: guessed from names of columns, never from rows."""

from __future__ import annotations

import re

from pages.parts.visit.plan import plan_form
from pages.parts.visit.state import visit

__all__ = ["likely_ids", "may_have_several_rows", "published_ids"]

WHO = "id|pid|uid|ssn|mrn|patient|person|subject|respondent|participant|member|customer|client|student|user"
NUMBER = "id|no|nr|num|number|key|code"
TELLS_WHO = (
    rf"id|pid|uid|ssn|mrn|(.*_)?({WHO}|response|record|case|row)_?({NUMBER})|matrikelnummer|personalnummer"
    r"|(.*_)?(e_?mail|phone|mobile|surname|nachname|vorname|(first|last|full|family|given)_?name)(_?(number|address))?"
)
PEOPLE = rf"((.*_)?({WHO})(_?({NUMBER}))?)"


def likely_ids() -> list[str]:
    """Return the columns that no table publishes and whose names are likely to identify the person of a row."""
    table, used = visit().table, plan_form.used(visit().entries)
    assert table is not None
    return [field.name for field in table.columns if field.name not in used and _names_people(field.name)]


def published_ids() -> list[str]:
    """Return the columns of tables whose names are likely to identify the person of a row: they belong in no table."""
    return [name for name in plan_form.used(visit().entries) if _tells_who(name)]


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


def _tells_who(name: str) -> bool:
    """Whether a column of this name is likely to say who a person is, so that its values are no cells of a table.

    >>> [_tells_who(name) for name in ("ID", "ResponseId", "Last name", "student", "hospital_id")]
    [True, True, True, False, False]
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return bool(re.fullmatch(TELLS_WHO, re.sub(r"[-\s]+", "_", words), re.IGNORECASE))
