"""What goes into a ledger and comes out of it: charges, outcomes, and the entries of its history."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

__all__ = ["Charge", "Entry", "Kind", "Outcome", "same_name"]


class Kind(StrEnum):
    """What a charge bought."""

    RELEASE = "release"
    ANSWER = "answer"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class Charge:
    """The price of one private result, and what it pays for.

    `fingerprint` identifies the data and `plan_id` what is measured of it: the same pair is charged once. `title` and
    `summary` are for people who read the history.
    """

    kind: Kind
    dataset: str
    fingerprint: bytes
    plan_id: str
    epsilon: Fraction
    title: str
    summary: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result that is drawn but not yet charged, as the bytes to store.

    `key` identifies what was asked; the reopened bytes must have the same. `cost` is the exact sum of ε over all
    mechanisms that ran; the ledger compares it with the price.
    """

    release_id: str
    created: str
    key: str
    cost: Fraction
    payload: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """One line in the history of a ledger: what was paid, when, and what it bought."""

    release_id: str
    dataset: str
    created: str
    epsilon: Fraction
    title: str
    summary: str
    kind: Kind


def same_name(dataset: str) -> str:
    """Normalise a dataset's name, so that a capital letter or a blank opens no second budget.

    >>> same_name(" Clinic ") == same_name("CLINIC")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", dataset).casefold()).strip()
