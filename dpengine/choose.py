"""Choose one candidate by private scores: draw once, charge the dataset's budget, and store.

The candidates, the sensitivity and ε are public; the scores are private. Only the drawn name may be shown to others,
and it is charged before it is shown. The same choice on the same scores returns the same name again at no cost.
"""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.accounting.entry import Charge, Kind, Outcome, same_name
from dpengine.accounting.ledger import Ledger
from dpengine.array_types import Ints
from dpengine.errors import LedgerError, PlanError
from dpengine.exact import rational
from dpengine.noise.selection import (
    MAX_APART,
    exponential_mechanism,
    exponential_probabilities,
    permute_and_flip,
    permute_and_flip_probabilities,
)
from dpengine.spec.plan import exact_epsilon

__all__ = ["Candidates", "Drawn", "Mechanism", "draw_once", "probabilities", "published", "reopen", "sample"]

MAX_CANDIDATES = 10**6


class Mechanism(StrEnum):
    """How a candidate is drawn; at the same ε the first is never worse in expected score."""

    PERMUTE_AND_FLIP = "permute-and-flip"
    EXPONENTIAL = "exponential mechanism"


_MECHANISMS = {Mechanism.PERMUTE_AND_FLIP: permute_and_flip, Mechanism.EXPONENTIAL: exponential_mechanism}
_PROBABILITIES = {
    Mechanism.PERMUTE_AND_FLIP: permute_and_flip_probabilities,
    Mechanism.EXPONENTIAL: exponential_probabilities,
}


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of a choice with their scores, the sensitivity of a score, and the mechanism.

    `sensitivity` is the most that one person can move a score. `monotone` states that one person moves all scores in
    the same direction. Build it with `of`, which reads numbers as they were typed.
    """

    names: tuple[str, ...]
    scores: tuple[Fraction, ...]
    sensitivity: Fraction
    epsilon: Fraction
    mechanism: Mechanism = Mechanism.PERMUTE_AND_FLIP
    monotone: bool = False

    @classmethod
    def of(
        cls, names: Sequence[object], scores: Sequence[object], sensitivity: object, epsilon: object,
        mechanism: Mechanism = Mechanism.PERMUTE_AND_FLIP, monotone: bool = False,
    ) -> Candidates:  # fmt: skip
        """Read names and numbers; raise `PlanError`, which names a place in the list and never a score.

        A number is an int, a Fraction, a text such as "0.1" or "1/3", or a float, taken by its first 12 digits.

        >>> Candidates.of(["fee 1", "fee 3"], ["0.5", "2/3"], sensitivity=1, epsilon="0.1").scores
        (Fraction(1, 2), Fraction(2, 3))
        """
        if len(names) != len(scores):
            raise PlanError("each candidate needs a score, and each score a candidate")
        if len(names) < 2:
            raise PlanError("a choice needs at least two candidates")
        if len(names) > MAX_CANDIDATES:
            raise PlanError(f"there may be at most {MAX_CANDIDATES:,} candidates")
        stripped = tuple(name.strip() if isinstance(name, str) else "" for name in names)
        if "" in stripped:
            raise PlanError(f"candidate {stripped.index('') + 1} has no name")
        if len(set(stripped)) < len(stripped):
            twice = next(k for k, name in enumerate(stripped, 1) if name in stripped[: k - 1])
            raise PlanError(f"candidate {twice} has the name of another one; names must differ")
        exact = tuple(_number(score, f"the score of candidate {k}") for k, score in enumerate(scores, 1))
        step = _number(sensitivity, "the sensitivity")
        if step <= 0:
            raise PlanError("the sensitivity must be above 0: the most that one person can move a score")
        try:
            budget = exact_epsilon(epsilon)
        except ValueError as error:
            raise PlanError(str(error)) from None
        candidates = cls(stripped, exact, step, budget, Mechanism(mechanism), monotone)
        _whole(candidates)
        return candidates

    def at(self, epsilon: Fraction) -> Candidates:
        """Return the same choice at another ε."""
        return replace(self, epsilon=epsilon)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A paid choice, as it may be shown to anyone; `release_id` is its id in the ledger."""

    name: str
    question: str
    names: tuple[str, ...]
    sensitivity: Fraction
    epsilon: Fraction
    mechanism: Mechanism
    monotone: bool
    dataset: str
    release_id: str
    created: str

    @property
    def key(self) -> str:
        """Identity of what was asked."""
        return _plan_id(self)

    def to_bytes(self) -> bytes:
        """Return the choice as the ledger keeps it."""
        payload = {name: getattr(self, name) for name in Drawn.__slots__}
        return json.dumps({"kind": Kind.CHOICE, **payload}, default=str, ensure_ascii=False).encode()


def probabilities(candidates: Candidates) -> npt.NDArray[np.float64]:
    """Return each candidate's probability, in order, for the owner's eyes only: it is as private as the scores."""
    scores, sensitivity = _whole(candidates)
    of = _PROBABILITIES[candidates.mechanism]
    return of(scores, candidates.epsilon, sensitivity, monotone=candidates.monotone)


def sample(candidates: Candidates) -> str:
    """Sample a candidate's name without charging or storing it: for demonstrations on scores that are not private."""
    return _draw(candidates)[0]


def published(candidates: Candidates, dataset: str, ledger: Ledger) -> Drawn | None:
    """Return the stored draw for these candidates and scores of this dataset; None if there is none."""
    payload = ledger.find(_fingerprint(candidates, dataset, ledger), _plan_id(candidates))
    return None if payload is None else reopen(payload)


def draw_once(candidates: Candidates, dataset: str, ledger: Ledger, question: str = "") -> Drawn:
    """Draw a name, charge ε to `dataset`, store the answer, and only then return it.

    The same choice again returns the stored name and costs nothing, in any order of candidates and under any
    `question`. The ledger recognises data by `dataset` and scores together: scores of the same people under another
    name count as new, so keep one name for them.

    Raises `BudgetError` if the budget does not allow it; nothing is spent then.
    """

    def draw() -> Outcome:
        name, cost = _draw(candidates)
        release_id, created = uuid.uuid4().hex, datetime.now(UTC).isoformat(timespec="seconds")
        drawn = Drawn(
            name, question, candidates.names, candidates.sensitivity, candidates.epsilon, candidates.mechanism,
            candidates.monotone, dataset, release_id, created,
        )  # fmt: skip
        return Outcome(release_id, created, drawn.key, cost, drawn.to_bytes())

    charge = Charge(
        Kind.CHOICE, dataset, _fingerprint(candidates, dataset, ledger), _plan_id(candidates), candidates.epsilon,
        title=question, summary=f"one choice among {len(candidates.names):,} candidates",
    )  # fmt: skip
    return ledger.charge_once(charge, draw, reopen)


def reopen(payload: bytes) -> Drawn:
    """Return the choice that `Drawn.to_bytes` wrote; raise `LedgerError` if the payload is no choice."""
    try:
        fields: dict[str, Any] = json.loads(payload)
        if fields.pop("kind") != Kind.CHOICE:
            raise ValueError("another kind of entry")
        fields["names"] = tuple(fields["names"])
        fields |= {key: Fraction(fields[key]) for key in ("sensitivity", "epsilon")}
        return Drawn(**fields | {"mechanism": Mechanism(fields["mechanism"])})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError("this entry of the ledger is not a choice") from error


def _draw(candidates: Candidates) -> tuple[str, Fraction]:
    """Return the name of a candidate, drawn exactly, and the ε that the mechanism spent."""
    scores, sensitivity = _whole(candidates)
    epsilon = candidates.epsilon
    index = _MECHANISMS[candidates.mechanism](scores, epsilon, sensitivity, monotone=candidates.monotone)
    return candidates.names[index], epsilon


def _number(value: object, what: str) -> Fraction:
    if value is None:
        raise PlanError(f"{what} is missing")
    try:
        return rational(float(value) if isinstance(value, np.floating) else value, what)
    except ValueError as error:
        raise PlanError(str(error)) from None


def _whole(candidates: Candidates) -> tuple[Ints, int]:
    """Return scores, from the lowest on, and sensitivity, both times their common denominator.

    These are whole numbers with exactly the same probabilities.
    """
    numbers = (*candidates.scores, candidates.sensitivity)
    scale = math.lcm(*(number.denominator for number in numbers))
    low = min(candidates.scores)
    gaps = [int((score - low) * scale) for score in candidates.scores]
    if max(gaps) > MAX_APART:
        raise PlanError("scores lie too far apart for the digits that they have; round them")
    return np.array(gaps, dtype=np.int64), int(candidates.sensitivity * scale)


def _fingerprint(candidates: Candidates, dataset: str, ledger: Ledger) -> bytes:
    """Return the fingerprint of dataset and scores; without the name, different people could share a budget."""
    scored = sorted(zip(candidates.names, map(str, candidates.scores), strict=True))
    description = json.dumps([Kind.CHOICE, same_name(dataset), scored], ensure_ascii=False)
    return ledger.fingerprint(hashlib.sha256(description.encode()).digest())


def _plan_id(choice: Candidates | Drawn) -> str:
    """Return the identity of what is asked, without the data."""
    return json.dumps(
        {
            "kind": Kind.CHOICE,
            "names": hashlib.sha256(json.dumps(sorted(choice.names)).encode()).hexdigest(),
            "epsilon": str(choice.epsilon),
            "sensitivity": str(choice.sensitivity),
            "mechanism": choice.mechanism,
            "monotone": choice.monotone,
        },
        sort_keys=True,
    )
