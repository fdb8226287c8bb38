"""The values that a ledger stores and returns: charges, outcomes, and the entries of its history."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from dpengine.accounting.sketch import Sketch
from dpengine.errors import BudgetError, LedgerError, PlanError
from dpengine.translation.catalogue import _

__all__ = ["Charge", "Entry", "Kind", "Outcome", "Resemblance", "reopening", "same_name"]


class Kind(StrEnum):
    """The kind of result that a charge paid for."""

    RELEASE = "release"
    ANSWER = "answer"
    CHOICE = "choice"
    MECHANISM = "mechanism"


@dataclass(frozen=True, slots=True)
class Charge:
    """The price of one private result, and what it pays for.

    `fingerprint` identifies the data and `plan_id` what is measured of it: the same pair is charged once. `title` and
    `summary` are for people who read the history. A `sketch` recognises near copies of the data, which share one
    budget unless the owner states that they are of `other_people`. `plan_sha256` is the digest of a release's plan, to
    find its approval by, where a second person has to approve it.
    """

    kind: Kind
    dataset: str
    fingerprint: bytes
    plan_id: str
    epsilon: Fraction
    title: str
    summary: str
    sketch: Sketch | None = None
    other_people: bool = False
    plan_sha256: bytes = b""


@dataclass(frozen=True, slots=True)
class Resemblance:
    """An earlier charge for a table that seems to be of the same people.

    `overlap` estimates how many rows they have in common, as a fraction of the rows of both. With `other_people`, the
    owner has stated that they are of other people, so they share no budget.
    """

    release_id: str
    dataset: str
    overlap: float
    other_people: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result that is drawn but not yet charged, as the bytes to store.

    `cost` is the exact sum of ε over all mechanisms that ran; the ledger compares it with the price.
    """

    release_id: str
    created: str
    cost: Fraction
    payload: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """One line in the history of a ledger: what was paid, when, and what it bought.

    `recognised` are earlier charges whose tables it resembled when it was charged.
    """

    release_id: str
    dataset: str
    created: str
    epsilon: Fraction
    title: str
    summary: str
    kind: Kind
    recognised: tuple[Resemblance, ...] = ()


def same_name(dataset: str) -> str:
    """Normalise a dataset's name, so that capitals, blanks and invisible characters open no second budget.

    Raises `BudgetError` for what is no text.

    >>> same_name(" Clinic  2026 ") == same_name("CLINIC 20\u200b26")
    True
    """
    if not isinstance(dataset, str):
        raise BudgetError(_("A dataset is named by a text, such as clinic-2026."))
    if not dataset.isascii():
        seen = "".join(letter for letter in dataset if unicodedata.category(letter) != "Cf")
        dataset = unicodedata.normalize("NFKC", seen or dataset)
    return " ".join(unicodedata.normalize("NFKC", dataset.casefold()).split())


@contextmanager
def reopening(payload: bytes, kind: Kind, message: str) -> Iterator[dict[str, Any]]:
    """Yield the fields of a stored result of this kind, to make it anew; any error becomes a `LedgerError`."""
    try:
        fields: dict[str, Any] = json.loads(payload)
        if fields.pop("kind") != kind:
            raise KeyError(kind)
        yield fields
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, PlanError) as error:
        raise LedgerError(message) from error
