"""The inpatient table of the textbooks: twelve made-up patients, a 4-anonymous table of them, and a 3-diverse one.

The patients are in the same order in all three tables.

Source: Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, "ℓ-Diversity: Privacy Beyond k-Anonymity", ACM TKDD 1(1),
2007, Figures 1 to 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpengine.counting.equivalence_classes import Classes
from dpengine.lessons.syntactic import classes_of
from dpengine.translation.catalogue import mark

__all__ = [
    "FOUR_ANONYMOUS", "NEWCOMER", "PATIENTS", "STORIES", "THREE_DIVERSE", "Patient", "Published", "Story", "added_rows",
    "candidates", "classes",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Patient:
    """A row of any of the three tables; `age` is a number or, if generalised, a range."""

    zip: str
    age: str
    nationality: str
    condition: str

    @property
    def quasi_identifiers(self) -> tuple[str, str, str]:
        """Zip code, age and nationality, which a neighbour may know."""
        return self.zip, self.age, self.nationality


Published = tuple[Patient, ...]

_HEART, _VIRUS, _CANCER = mark("Heart disease"), mark("Viral infection"), mark("Cancer")
mark("heart disease"), mark("viral infection"), mark("cancer")  # within a sentence
_CONDITIONS = (_HEART, _HEART, _VIRUS, _VIRUS, _CANCER, _HEART, _VIRUS, _VIRUS, *[_CANCER] * 4)
mark("Russian"), mark("American"), mark("Japanese"), mark("Indian")
_PEOPLE = (
    ("13053", "28", "Russian"), ("13068", "29", "American"), ("13068", "21", "Japanese"), ("13053", "23", "American"),
    ("14853", "50", "Indian"), ("14853", "55", "Russian"), ("14850", "47", "American"), ("14850", "49", "American"),
    ("13053", "31", "American"), ("13053", "37", "Indian"), ("13068", "36", "Japanese"), ("13068", "35", "American"),
)  # fmt: skip
_FOUR = (*[("130**", "< 30", "*")] * 4, *[("1485*", "≥ 40", "*")] * 4, *[("130**", "3*", "*")] * 4)
_NEAR, _FAR = ("1305*", "≤ 40", "*"), ("1306*", "≤ 40", "*")
_THREE = (_NEAR, _FAR, _FAR, _NEAR, *[("1485*", "> 40", "*")] * 4, _NEAR, _NEAR, _FAR, _FAR)


def _table(quasi_identifiers: Sequence[tuple[str, str, str]]) -> Published:
    return tuple(Patient(*known, condition) for known, condition in zip(quasi_identifiers, _CONDITIONS, strict=True))


PATIENTS = _table(_PEOPLE)
FOUR_ANONYMOUS = _table(_FOUR)
THREE_DIVERSE = _table(_THREE)


def classes(table: Published) -> Classes:
    """Return the equivalence classes of one of the tables."""
    return classes_of([row.quasi_identifiers for row in table], [row.condition for row in table])


def candidates(table: Published, patient: int, *, never: frozenset[str] = frozenset()) -> list[str]:
    """List the conditions that patient number `patient` may have: one for each row of the class, except `never`."""
    known = table[patient].quasi_identifiers
    return [row.condition for row in table if row.quasi_identifiers == known and row.condition not in never]


def added_rows(before: Published, after: Published) -> list[Patient]:
    """List the rows of `after` that `before` lacks: what two k-anonymous tables reveal about a newcomer."""
    left = list(before)
    new = []
    for row in after:
        if row in left:
            left.remove(row)
        else:
            new.append(row)
    return new


@dataclass(frozen=True, slots=True)
class Story:
    """Background knowledge about one patient, with the conditions that the 4-anonymous table leaves possible."""

    title: str
    patient: int
    knows: str
    never: frozenset[str] = frozenset()

    @property
    def remaining(self) -> list[str]:
        """Conditions that remain possible, one for each possible row."""
        return candidates(FOUR_ANONYMOUS, self.patient, never=self.never)


STORIES = (
    Story(
        mark("Homogeneity"),
        8,
        mark("A neighbour, American, 31 years old, zip code 13053, was taken to this hospital."),
    ),
    Story(
        mark("Background knowledge"),
        2,
        mark(
            "A pen friend, Japanese, 21 years old, zip code 13068, lies in this hospital. "
            "Heart disease is very rare among young Japanese."
        ),
        frozenset({_HEART}),
    ),
)

# A thirteenth patient, as published the day after; that table is 4-anonymous too.
NEWCOMER = Patient("1485*", "≥ 40", "*", _CANCER)
