"""One choice among candidates, with scores from private data: described, looked at beforehand, and drawn once.

The candidates, the sensitivity and ε are public; the scores are not. Only the name that is drawn may be shown to
others. A draw for a dataset is charged to its ledger before it is shown, and the same choice on the same scores is
the same answer again, free of charge.
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

from dpengine.accounting.hash_chain import same_name
from dpengine.accounting.ledger import Ledger
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

__all__ = [
    "Candidates", "Drawn", "Mechanism", "draw", "draw_once", "probabilities", "published", "reopen",
]  # fmt: skip

KIND = "choice"
MAX_CANDIDATES = 10**6


class Mechanism(StrEnum):
    """How a candidate is drawn; at the same ε the first is never worse in expected score."""

    PERMUTE_AND_FLIP = "permute-and-flip"
    EXPONENTIAL = "exponential mechanism"


_DRAWS = {Mechanism.PERMUTE_AND_FLIP: permute_and_flip, Mechanism.EXPONENTIAL: exponential_mechanism}
_LAWS = {
    Mechanism.PERMUTE_AND_FLIP: permute_and_flip_probabilities,
    Mechanism.EXPONENTIAL: exponential_probabilities,
}


@dataclass(frozen=True, slots=True)
class Candidates:
    """What there is to choose from, and how: names, a score each, and the most that a person moves a score.

    ``monotone`` says that one person moves all scores the same way. Build it with `of`, which reads
    numbers as they were typed.
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
        """Read names and numbers: a number is an int, a Fraction, a text such as "0.1" or "1/3", or a float by its
        first 12 digits. Raises `PlanError`, which names places and never a score.
        """
        if len(names) != len(scores):
            raise PlanError("each candidate needs a score, and each score a candidate")
        if len(names) < 2:
            raise PlanError("a choice needs two candidates or more: with one there is nothing to hide, or to spend")
        if len(names) > MAX_CANDIDATES:
            raise PlanError(f"there may be at most {MAX_CANDIDATES:,} candidates")
        found = tuple(name.strip() if isinstance(name, str) else "" for name in names)
        if "" in found:
            raise PlanError(f"candidate {found.index('') + 1} has no name")
        if len(set(found)) < len(found):
            twice = next(k for k, name in enumerate(found, 1) if name in found[: k - 1])
            raise PlanError(f"candidate {twice} has the name of another one; names must differ")
        numbers = tuple(_number(score, f"the score of candidate {k}") for k, score in enumerate(scores, 1))
        step = _number(sensitivity, "the sensitivity")
        if step <= 0:
            raise PlanError("the sensitivity must be above 0: the most that one person can move a score")
        try:
            budget = exact_epsilon(epsilon)
        except ValueError as error:
            raise PlanError(str(error)) from None
        chosen = cls(found, numbers, step, budget, Mechanism(mechanism), monotone)
        _whole(chosen)
        return chosen

    def at(self, epsilon: Fraction) -> Candidates:
        """The same at another ε."""
        return replace(self, epsilon=epsilon)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn, as it may be shown to anyone; ``release_id`` is its name in the ledger."""

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


def probabilities(candidates: Candidates) -> npt.NDArray[np.float64]:
    """The probability of each candidate, in order, as floats: as private as the scores, for the owner's eyes."""
    scores, step = _whole(candidates)
    return _LAWS[candidates.mechanism](scores, candidates.epsilon, step, monotone=candidates.monotone)


def draw(candidates: Candidates) -> str:
    """A name, drawn exactly, that nothing remembers: for lessons, on scores that are not private."""
    scores, step = _whole(candidates)
    place = _DRAWS[candidates.mechanism](scores, candidates.epsilon, step, monotone=candidates.monotone)
    return candidates.names[place]


def published(candidates: Candidates, dataset: str, ledger: Ledger) -> Drawn | None:
    """What was drawn before for these candidates, scores and budget of this dataset; None if nothing was."""
    found = ledger.find(_fingerprint(candidates, dataset, ledger), _identity(candidates))
    return None if found is None else reopen(found)


def draw_once(candidates: Candidates, dataset: str, ledger: Ledger, question: str = "") -> Drawn:
    """Draw a name, charge ε to ``dataset``, store the answer, and only then return it.

    The same again gives the stored answer and costs nothing, whatever the ``question`` is called and in whatever
    order the candidates come. The ledger knows the data by ``dataset`` and scores together: scores typed under
    another name for the same people are not recognised, so keep one name for them. Raises `BudgetError`
    where the budget does not allow it; then nothing was drawn that anyone sees, and nothing spent.
    """
    if (before := published(candidates, dataset, ledger)) is not None:
        return before
    fingerprint = _fingerprint(candidates, dataset, ledger)
    ledger.check(dataset, fingerprint, candidates.epsilon)
    release_id, created = uuid.uuid4().hex, datetime.now(UTC).isoformat(timespec="seconds")
    drawn = Drawn(
        draw(candidates), question, candidates.names, candidates.sensitivity, candidates.epsilon,
        candidates.mechanism, candidates.monotone, dataset, release_id, created,
    )  # fmt: skip
    payload = ledger.record(
        dataset=dataset,
        fingerprint=fingerprint,
        plan_key=_identity(candidates),
        epsilon=candidates.epsilon,
        release_id=release_id,
        created=created,
        title=question,
        summary=f"one choice among {len(candidates.names):,} candidates",
        payload=_pack(drawn),
    )
    return reopen(payload)


def reopen(payload: bytes) -> Drawn:
    """What `draw_once` stored. Raises `LedgerError` where that is not what it is."""
    try:
        held: dict[str, Any] = json.loads(payload)
        if held.pop("kind") != KIND:
            raise ValueError("another kind of release")
        held["names"] = tuple(held["names"])
        held |= {key: Fraction(held[key]) for key in ("sensitivity", "epsilon")}
        return Drawn(**held | {"mechanism": Mechanism(held["mechanism"])})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError("this entry of the ledger is not a choice") from error


def _pack(drawn: Drawn) -> bytes:
    fields = {name: getattr(drawn, name) for name in Drawn.__slots__}
    return json.dumps({"kind": KIND, **fields}, default=str, ensure_ascii=False).encode()


def _number(value: object, what: str) -> Fraction:
    if value is None:
        raise PlanError(f"{what} is missing")
    try:
        return rational(float(value) if isinstance(value, np.floating) else value, what)
    except ValueError as error:
        raise PlanError(str(error)) from None


def _whole(candidates: Candidates) -> tuple[npt.NDArray[np.int64], int]:
    """Scores and sensitivity times their common denominator: whole numbers, and exactly the same choice.

    Scores are counted from the lowest, which changes nothing either.
    """
    numbers = (*candidates.scores, candidates.sensitivity)
    scale = math.lcm(*(number.denominator for number in numbers))
    low = min(candidates.scores)
    gaps = [int((score - low) * scale) for score in candidates.scores]
    if max(gaps) > MAX_APART:
        raise PlanError("scores lie too far apart for the digits that they have; round them")
    return np.array(gaps, dtype=np.int64), int(candidates.sensitivity * scale)


def _fingerprint(candidates: Candidates, dataset: str, ledger: Ledger) -> bytes:
    """Of dataset and scores: without the name, equal scores of different people would share a budget."""
    scored = sorted(zip(candidates.names, map(str, candidates.scores), strict=True))
    told = json.dumps([KIND, same_name(dataset), scored], ensure_ascii=False)
    return ledger.fingerprint(hashlib.sha256(told.encode()).digest())


def _identity(candidates: Candidates) -> str:
    """What is asked, without the data: the same is never drawn twice."""
    return json.dumps(
        {
            "kind": KIND,
            "names": hashlib.sha256(json.dumps(sorted(candidates.names)).encode()).hexdigest(),
            "epsilon": str(candidates.epsilon),
            "sensitivity": str(candidates.sensitivity),
            "mechanism": candidates.mechanism,
            "monotone": candidates.monotone,
        },
        sort_keys=True,
    )
