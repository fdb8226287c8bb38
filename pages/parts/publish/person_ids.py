"""Find columns of the open table that may identify persons: by their names or, for the owner alone, by the rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpengine import owner
from dpengine.sources.table import Table
from pages.parts.visit.plan.column_entry import is_blank
from pages.parts.visit.plan.tables import used
from pages.parts.visit.state import visit

__all__ = ["ids_by_rows", "likely_ids", "may_have_several_rows", "published_ids", "unsuspected"]

MIN_ROWS = 50  # in a smaller table, values may differ by chance
NEARLY_ALL = 0.95  # of all rows have another value
MAX_LOOKED_AT = 40  # columns

WHO = (
    "id|pid|uid|ssn|mrn|patient|person|subject|respondent|participant|member|customer|client|student|user|"
    "(patient|person|klient|proband)(in|en)|kunden?|mitglied(er|s)?|teilnehmer(in)?|versicherten?|sch(ü|ue)ler(in)?"
    "|pupil|reader|borrower|employee|emp|worker|staff|resident|tenant|applicant|candidate|volunteer|donor|visitor"
    "|leser(in)?|(mit)?arbeiter(in)?|besucher(in)?|nutzer(in)?|bewohner(in)?|spender(in)?"
)
NUMBER = "id|no|nr|num|number|key|code|card|ref|reference|nummer|kennung|kennzeichen|karte"
RECORD = (
    "response|record|case|row|loan|order|claim|crime|incident|ticket|invoice|account|booking"
    "|fall|vorgang|ausweis|matrikel|personal|steuer|ausleihe?|rechnungs?|konto|kontrakt|vertrags?"
)
TELLS_WHO = (
    rf"id|pid|uid|ssn|mrn|(.*_)?({WHO}|{RECORD})_?({NUMBER})"
    rf"|(lfd|laufende)_({NUMBER})|aktenzeichen"
    r"|(.*_)?(e_?mail|phone|mobile|surname|nachname|vorname|(first|last|full|family|given)_?name)(_?(number|address))?"
)
PEOPLE = rf"((.*_)?({WHO})(_?({NUMBER}))?)"
EVENTS = (  # what a person may have or visit several of: a key of these names a row, or a place
    "visit|stay|admission|discharge|episode|encounter|event|session|transaction|purchase|trip|item|product|entry|line"
    "|response|record|case|row|loan|order|claim|crime|incident|ticket|invoice|booking|fall|vorgang|ausleihe?"
    "|rechnungs?|besuch(s|e)?|aufenthalts?|aufnahme|behandlungs?|bestell(ung)?s?|buchungs?|fahrt|ereignis|zeilen?"
    "|hospital|clinic|ward|school|class|site|centre|center|store|branch|station|department|region|city|country"
    "|krankenhaus|klinik|schul|schule|klassen?|filiale?|orts?|kreis|land"
)
KEY_OF_EVENT = rf"(.*_)?({EVENTS})_?(id|uid|pid)"


def likely_ids() -> list[str]:
    """Return the columns that no table publishes and whose names are likely to identify the person of a row.

    Those that say whom they name come first: a *patient_id* before an *id*, which may be one of rows.
    """
    table, in_tables = visit().table, used(visit().entries)
    assert table is not None
    names = [field.name for field in table.columns if field.name not in in_tables and _names_people(field.name)]
    return sorted(names, key=_is_plain_id)


def published_ids() -> list[str]:
    """Return the columns of tables whose names are likely to identify the person of a row: they belong in no table.

    A name such as *client* or *student* also fits a question about people, so it counts only while nothing is declared.
    """
    entries = visit().entries
    return [
        name for name in used(entries) if _tells_who(name) or (_names_people(name) and is_blank(entries.declared[name]))
    ]


def ids_by_rows(table: Table, names: Sequence[str]) -> list[str]:
    """Return the columns, among these, with another value in nearly every row: for the owner's eyes only.

    Numbers with decimals, such as wages, may all differ, but name nobody.
    """
    found = []
    for name in names:
        facts = owner.rows_kept(table, name, (1,))
        if facts.rows >= MIN_ROWS and facts.kept[0] >= NEARLY_ALL * facts.rows:
            texts = owner.distinct_texts(table, name, limit=MIN_ROWS)
            if 2 * sum(map(_has_decimals, texts)) < len(texts):
                found.append(name)
    return found


def _has_decimals(text: str) -> bool:
    """Whether a text is a number with decimals other than 0; three may be a group of thousands.

    >>> [_has_decimals(text) for text in ("2345,67", "1.234,5", "0.1234", "1001.0", "1.234", "K-2.5")]
    [True, True, True, False, False, False]
    """
    number = re.fullmatch(r"-?\d[\d.,' ]*?[.,](\d+)", text.strip())
    return number is not None and len(number[1]) != 3 and int(number[1]) > 0


def unsuspected() -> list[str]:
    """Return the undeclared columns of tables whose names do not say whether they identify persons."""
    entries, known = visit().entries, set(published_ids())
    names = used(entries) or entries.chosen  # all that are chosen if these are too many for one table
    names = [name for name in names if name not in known]
    blank = [name for name in names if is_blank(entries.declared[name])]
    return [name for name in blank if entries.declared[name]["kind"] in ("category", "number")][:MAX_LOOKED_AT]


def may_have_several_rows() -> bool:
    """Whether a person may have several rows: as entered, else guessed from the names of columns."""
    entries = visit().entries
    return bool(likely_ids()) if entries.several_rows is None else entries.several_rows


def _names_people(name: str) -> bool:
    """Whether a column of this name is likely to identify the person of a row.

    >>> [_names_people(name) for name in ("PID", "id", "Patienten-Nr.", "Reader card", "paid", "Leseralter")]
    [True, True, True, True, False, False]
    >>> [_names_people(name) for name in ("visit_id", "Aufenthalts-ID", "visit_patient_id", "household_id")]
    [False, False, True, True]
    """
    plain = _plain(name)
    return _matches(PEOPLE, plain) and not _matches(KEY_OF_EVENT, plain)


def _is_plain_id(name: str) -> bool:
    """Whether the name says no more than that it is an ID, or of something that is no word for people."""
    return _matches("(.*_)?(id|uid|pid)", _plain(name)) and not _matches(rf"(.*_)?({WHO})_?({NUMBER})", _plain(name))


def _matches(pattern: str, name: str) -> bool:
    return bool(re.fullmatch(pattern, name, re.IGNORECASE))


def _tells_who(name: str) -> bool:
    """Whether a column of this name is likely to say who a person is, so that its values are no cells of a table.

    >>> [_tells_who(name) for name in ("ID", "ResponseId", "Lfd. Nr.", "Loan no", "student", "hospital_id")]
    [True, True, True, True, False, False]
    """
    return _matches(TELLS_WHO, _plain(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)))


def _plain(name: str) -> str:
    """Return a name with its words separated by underscores."""
    return re.sub(r"[\W_]+", "_", name).strip("_")
