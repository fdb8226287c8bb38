"""The textbook's patients: generalised tables of the same people, and what their neighbours learn from them."""

from __future__ import annotations

from dpengine.lessons import syntactic as lesson
from dpengine.lessons import textbook_patients


def test_generalised_tables_are_of_the_same_patients() -> None:
    for table in (textbook_patients.FOUR_ANONYMOUS, textbook_patients.THREE_DIVERSE):
        for row, patient in zip(table, textbook_patients.PATIENTS, strict=True):
            assert row.condition == patient.condition
            assert patient.zip.startswith(row.zip.rstrip("*"))


def test_who_knows_a_patient_learns_the_condition_from_the_4_anonymous_table() -> None:
    homogeneity, background = textbook_patients.STORIES
    assert homogeneity.remaining == ["Cancer"] * 4
    assert background.remaining == ["Viral infection"] * 2
    assert set(textbook_patients.candidates(textbook_patients.FOUR_ANONYMOUS, background.patient)) == {
        "Heart disease",
        "Viral infection",
    }


def test_two_tables_together_reveal_more_than_either() -> None:
    first, second = textbook_patients.FOUR_ANONYMOUS, textbook_patients.THREE_DIVERSE
    both = lesson.classes_of([(a.quasi_identifiers, b.quasi_identifiers) for a, b in zip(first, second, strict=True)])
    assert lesson.k_anonymity(both) == 2, "each alone is 4-anonymous"
    for patient, common in ((3, {"Heart disease", "Viral infection"}), (9, {"Cancer"})):
        one, other = (set(textbook_patients.candidates(table, patient)) for table in (first, second))
        assert one & other == common < other


def test_the_tables_of_two_days_reveal_the_newcomer() -> None:
    today, tomorrow = textbook_patients.FOUR_ANONYMOUS, (*textbook_patients.FOUR_ANONYMOUS, textbook_patients.NEWCOMER)
    assert all(lesson.k_anonymity(textbook_patients.classes(table)) == 4 for table in (today, tomorrow))
    assert textbook_patients.added_rows(today, tomorrow) == [textbook_patients.NEWCOMER]
    assert textbook_patients.added_rows(today, today) == []
