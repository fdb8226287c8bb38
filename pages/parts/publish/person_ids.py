"""Which columns of the open table may identify persons: guessed from names of columns, never from rows."""

from __future__ import annotations

import re

from pages.parts.visit.plan.tables import used
from pages.parts.visit.state import visit

__all__ = ["likely_ids", "may_have_several_rows", "published_ids"]

WHO = (
    "id|pid|uid|ssn|mrn|patient|person|subject|respondent|participant|member|customer|client|student|user|"
    "(patient|person|klient|proband)(in|en)|kunden?|mitglied(er|s)?|teilnehmer(in)?|versicherten?|sch(ü|ue)ler(in)?"
)
NUMBER = "id|no|nr|num|number|key|code|nummer|kennung|kennzeichen"
TELLS_WHO = (
    rf"id|pid|uid|ssn|mrn|(.*_)?({WHO}|response|record|case|row|fall|ausweis|matrikel|personal|steuer)_?({NUMBER})"
    rf"|(lfd|laufende)_({NUMBER})|aktenzeichen"
    r"|(.*_)?(e_?mail|phone|mobile|surname|nachname|vorname|(first|last|full|family|given)_?name)(_?(number|address))?"
)
PEOPLE = rf"((.*_)?({WHO})(_?({NUMBER}))?)"


def likely_ids() -> list[str]:
    """Return the columns that no table publishes and whose names are likely to identify the person of a row."""
    table, in_tables = visit().table, used(visit().entries)
    assert table is not None
    return [field.name for field in table.columns if field.name not in in_tables and _names_people(field.name)]


def published_ids() -> list[str]:
    """Return the columns of tables whose names are likely to identify the person of a row: they belong in no table."""
    return [name for name in used(visit().entries) if _tells_who(name)]


def may_have_several_rows() -> bool:
    """Whether a person may have several rows: as entered, else guessed from the names of columns."""
    entries = visit().entries
    return bool(likely_ids()) if entries.several_rows is None else entries.several_rows


def _names_people(name: str) -> bool:
    """Whether a column of this name is likely to identify the person of a row.

    >>> [_names_people(name) for name in ("patient_id", "PID", "id", "Patienten-Nr.", "paid", "Patientenalter")]
    [True, True, True, True, False, False]
    """
    return bool(re.fullmatch(PEOPLE, _plain(name), re.IGNORECASE))


def _tells_who(name: str) -> bool:
    """Whether a column of this name is likely to say who a person is, so that its values are no cells of a table.

    >>> [_tells_who(name) for name in ("ID", "ResponseId", "Last name", "Lfd. Nr.", "student", "hospital_id")]
    [True, True, True, True, False, False]
    """
    return bool(re.fullmatch(TELLS_WHO, _plain(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)), re.IGNORECASE))


def _plain(name: str) -> str:
    """Return a name with its words separated by underscores."""
    return re.sub(r"[\W_]+", "_", name).strip("_")
