"""The inpatient table that the textbooks use, in the form that was to protect twelve patients, and two that follow it.

Made up by Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, "ℓ-Diversity: Privacy Beyond k-Anonymity", ACM TKDD
1(1), 2007: the patients (Figure 1), a 4-anonymous table of them (Figure 2), a 3-diverse one (Figure 3). Patients
stand in the same order in all three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpengine.counting.equivalence_classes import Classes
from dpengine.lessons.syntactic import classes_of

__all__ = [
    "FOUR_ANONYMOUS",
    "PATIENTS",
    "STORIES",
    "THREE_DIVERSE",
    "Patient",
    "Story",
    "candidates",
    "classes",
    "shared",
]


@dataclass(frozen=True, slots=True)
class Patient:
    """A row of any of the three tables; ``age`` is a number or, where generalised, a range."""

    zip: str
    age: str
    nationality: str
    condition: str

    @property
    def look(self) -> tuple[str, str, str]:
        """The quasi-identifiers: what a neighbour knows of someone."""
        return self.zip, self.age, self.nationality


Published = tuple[Patient, ...]

_CONDITIONS = (
    "Heart disease", "Heart disease", "Viral infection", "Viral infection",
    "Cancer", "Heart disease", "Viral infection", "Viral infection",
    "Cancer", "Cancer", "Cancer", "Cancer",
)  # fmt: skip
_PEOPLE = (
    ("13053", "28", "Russian"), ("13068", "29", "American"), ("13068", "21", "Japanese"), ("13053", "23", "American"),
    ("14853", "50", "Indian"), ("14853", "55", "Russian"), ("14850", "47", "American"), ("14850", "49", "American"),
    ("13053", "31", "American"), ("13053", "37", "Indian"), ("13068", "36", "Japanese"), ("13068", "35", "American"),
)  # fmt: skip
_FOUR = (*[("130**", "< 30", "*")] * 4, *[("1485*", "≥ 40", "*")] * 4, *[("130**", "3*", "*")] * 4)
_NEAR, _FAR = ("1305*", "≤ 40", "*"), ("1306*", "≤ 40", "*")
_THREE = (_NEAR, _FAR, _FAR, _NEAR, *[("1485*", "> 40", "*")] * 4, _NEAR, _NEAR, _FAR, _FAR)


def _table(looks: Sequence[tuple[str, str, str]]) -> Published:
    return tuple(Patient(*look, condition) for look, condition in zip(looks, _CONDITIONS, strict=True))


PATIENTS = _table(_PEOPLE)
FOUR_ANONYMOUS = _table(_FOUR)
THREE_DIVERSE = _table(_THREE)


def classes(table: Published) -> Classes:
    """The classes of one of the tables."""
    return classes_of([row.look for row in table], [row.condition for row in table])


def candidates(table: Published, patient: int, *, never: frozenset[str] = frozenset()) -> list[str]:
    """The conditions that the patient in this place may have: those of the class, one each row, without ``never``."""
    look = table[patient].look
    return [row.condition for row in table if row.look == look and row.condition not in never]


def shared(first: Published, second: Published, patient: int) -> list[str]:
    """The conditions that the patient may have for a reader of both tables, where each is of the same people."""
    other = set(candidates(second, patient))
    return sorted({condition for condition in candidates(first, patient) if condition in other})


def differenced(before: Published, after: Published) -> list[Patient]:
    """The rows that ``after`` has beyond ``before``: what two tables, each k-anonymous, say of who came in between."""
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
    """Someone who knows one patient, what they know, and what the 4-anonymous table tells them."""

    title: str
    patient: int
    knows: str
    never: frozenset[str] = frozenset()

    @property
    def left(self) -> list[str]:
        """The conditions that remain, one for each row that remains."""
        return candidates(FOUR_ANONYMOUS, self.patient, never=self.never)


STORIES = (
    Story("Homogeneity", 8, "A neighbour, American, 31 years old, zip code 13053, was taken to this hospital."),
    Story(
        "Background knowledge",
        2,
        "A pen friend, Japanese, 21 years old, zip code 13068, lies in this hospital. "
        "Heart disease is very rare among young Japanese.",
        frozenset({"Heart disease"}),
    ),
)

# A thirteenth patient, and the class that they come into: the table of the day after is 4-anonymous too.
NEWCOMER = Patient("1485*", "≥ 40", "*", "Cancer")
