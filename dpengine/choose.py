"""Choose one candidate by private scores: draw once, charge the dataset's budget, and store.

The candidates, the sensitivity and ε are public; the scores are private. Only the drawn name may be shown to others,
and it is charged before it is shown. The same choice on the same scores returns the same name again at no cost.
"""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from dpengine.accounting.drawing import check_reopens
from dpengine.accounting.entry import Charge, Kind, Outcome, reopening, same_name
from dpengine.accounting.ledger import Ledger
from dpengine.array_types import Ints
from dpengine.errors import PlanError
from dpengine.exact import exact_number
from dpengine.noise.selection import (
    MAX_APART,
    exponential_mechanism,
    exponential_probabilities,
    permute_and_flip,
    permute_and_flip_probabilities,
)
from dpengine.spec.plan import exact_epsilon
from dpengine.translation.catalogue import _, mark, number

__all__ = ["Candidates", "Drawn", "Mechanism", "draw_once", "probabilities", "published", "reopen", "sample"]

MAX_CANDIDATES = 10**6
MAX_BITS = 4096  # size of the scores' common denominator; any floats need 1,074


class Mechanism(StrEnum):
    """The mechanism that draws a candidate; at the same ε, the first one is never worse in expected score."""

    PERMUTE_AND_FLIP = mark("permute-and-flip")
    EXPONENTIAL = mark("exponential mechanism")


_MECHANISMS = {Mechanism.PERMUTE_AND_FLIP: permute_and_flip, Mechanism.EXPONENTIAL: exponential_mechanism}
_PROBABILITIES = {
    Mechanism.PERMUTE_AND_FLIP: permute_and_flip_probabilities,
    Mechanism.EXPONENTIAL: exponential_probabilities,
}


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of a choice with their scores, the sensitivity of a score, and the mechanism.

    `sensitivity` is the most by which one person can change a score, exactly as given here: nothing is rounded
    afterwards. `monotone` states that one person changes all scores in the same direction. Build it with `of`.
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
        """Read names and numbers; raise `PlanError`, which names a position in the list and never a score.

        A number is an int, a Fraction, a text such as "0.1" or "1/3", or a float, which is taken at its exact value
        (`exact.exact_number`). So `sensitivity` must hold for the numbers that are passed in: if they are floats from a
        calculation, it includes the rounding of that calculation. Whole numbers and texts avoid this problem. A float
        `sensitivity` counts as the larger of its exact value and its text.

        >>> Candidates.of(["fee 1", "fee 3"], ["0.5", "2/3"], sensitivity=1, epsilon="0.1").scores
        (Fraction(1, 2), Fraction(2, 3))
        """
        if len(names) != len(scores):
            raise PlanError(_("each candidate needs a score, and each score a candidate"))
        stripped = _checked(names)
        exact = tuple(_number(score, partial(_score_of, k)) for k, score in enumerate(scores, 1))
        step = _number(sensitivity, lambda: _("the sensitivity"))
        if isinstance(sensitivity, float | np.floating):
            step = max(step, Fraction(str(sensitivity)))
        if step <= 0:
            raise PlanError(_("the sensitivity must be above 0: the most that one person can move a score"))
        try:
            budget = exact_epsilon(epsilon)
        except ValueError as error:
            raise PlanError(str(error)) from None
        candidates = cls(stripped, exact, step, budget, Mechanism(mechanism), monotone)
        _as_integers(candidates)
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
        """The identity of the question."""
        return _plan_id(self)

    def to_bytes(self) -> bytes:
        """Return the choice as the ledger keeps it."""
        payload = {name: getattr(self, name) for name in Drawn.__slots__}
        return json.dumps({"kind": Kind.CHOICE, **payload}, default=str, ensure_ascii=False).encode()


def probabilities(candidates: Candidates) -> npt.NDArray[np.float64]:
    """Return each candidate's probability, in order, for the owner's eyes only: it is as private as the scores."""
    scores, sensitivity = _as_integers(candidates)
    of = _PROBABILITIES[candidates.mechanism]
    return of(scores, candidates.epsilon, sensitivity, monotone=candidates.monotone)


def sample(candidates: Candidates) -> str:
    """Sample a candidate's name without charging or storing it: for demonstrations on scores that are not private."""
    return _draw(candidates, _as_integers(candidates))[0]


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

    def concluded(name: str) -> Drawn:
        release_id, created = uuid.uuid4().hex, datetime.now(UTC).isoformat(timespec="seconds")
        return Drawn(
            name, question, candidates.names, candidates.sensitivity, candidates.epsilon, candidates.mechanism,
            candidates.monotone, dataset, release_id, created,
        )  # fmt: skip

    def prepare() -> tuple[Ints, int]:
        blank = concluded(candidates.names[0])
        check_reopens(blank, blank.to_bytes(), reopen)
        return _as_integers(candidates)

    def draw(exact: tuple[Ints, int]) -> Outcome:
        name, cost = _draw(candidates, exact)
        drawn = concluded(name)
        return Outcome(drawn.release_id, drawn.created, cost, drawn.to_bytes())

    charge = Charge(
        Kind.CHOICE, dataset, _fingerprint(candidates, dataset, ledger), _plan_id(candidates), candidates.epsilon,
        title=question, summary=f"one choice among {len(candidates.names):,} candidates",
    )  # fmt: skip
    return ledger.charge_once(charge, prepare, draw, reopen)


def reopen(payload: bytes) -> Drawn:
    """Return the choice that `Drawn.to_bytes` wrote; raise `LedgerError` if the payload is no choice."""
    with reopening(payload, Kind.CHOICE, "this entry of the ledger is not a choice") as fields:
        fields["names"] = tuple(fields["names"])
        fields |= {key: Fraction(fields[key]) for key in ("sensitivity", "epsilon")}
        return Drawn(**fields | {"mechanism": Mechanism(fields["mechanism"])})


def _draw(candidates: Candidates, exact: tuple[Ints, int]) -> tuple[str, Fraction]:
    """Return the name of a candidate, drawn exactly by scores and sensitivity in whole numbers, and the ε spent."""
    scores, sensitivity = exact
    epsilon = candidates.epsilon
    index = _MECHANISMS[candidates.mechanism](scores, epsilon, sensitivity, monotone=candidates.monotone)
    return candidates.names[index], epsilon


def _checked(names: Sequence[object]) -> tuple[str, ...]:
    """Return the names of candidates, without blanks around them. Raises `PlanError`."""
    if len(names) < 2:
        raise PlanError(_("a choice needs at least two candidates"))
    if len(names) > MAX_CANDIDATES:
        raise PlanError(_("there may be at most {most} candidates", most=number(MAX_CANDIDATES)))
    stripped = tuple(name.strip() if isinstance(name, str) else "" for name in names)
    if "" in stripped:
        raise PlanError(_("candidate {k} has no name", k=stripped.index("") + 1))
    if len(set(stripped)) < len(stripped):
        twice = next(k for k, name in enumerate(stripped, 1) if name in stripped[: k - 1])
        raise PlanError(_("candidate {k} has the name of another one; names must differ", k=twice))
    return stripped


def _score_of(k: int) -> str:
    return _("the score of candidate {k}", k=k)


def _number(value: object, what: Callable[[], str]) -> Fraction:
    """Read a number; `what` names it, and is called only for a message, since there may be a million of them."""
    if value is None:
        raise PlanError(_("{what} is missing", what=what()))
    try:
        return exact_number(value)
    except ValueError:
        pass
    try:
        return exact_number(value, what())
    except ValueError as error:
        raise PlanError(str(error)) from None


def _as_integers(candidates: Candidates) -> tuple[Ints, int]:
    """Return scores, from the lowest on, and sensitivity, both times their common denominator.

    They give exactly the same probabilities, and are Python integers if 64 bits are too few.
    """
    scale = candidates.sensitivity.denominator
    for denominator in {score.denominator for score in candidates.scores}:
        scale = math.lcm(scale, denominator)
        if scale.bit_length() > MAX_BITS:
            raise PlanError(_("the scores are fractions with too many different denominators; write them as decimals"))
    low = min(candidates.scores)
    gaps = [int((score - low) * scale) for score in candidates.scores]
    kind = np.int64 if max(gaps) <= MAX_APART else object
    return np.array(gaps, dtype=kind), int(candidates.sensitivity * scale)


def _fingerprint(candidates: Candidates, dataset: str, ledger: Ledger) -> bytes:
    """Return the fingerprint of dataset and scores; without the name, different people could share a budget."""
    scored = sorted(zip(candidates.names, map(str, candidates.scores), strict=True))
    description = json.dumps([Kind.CHOICE, same_name(dataset), scored], ensure_ascii=False)
    return ledger.fingerprint(hashlib.sha256(description.encode()).digest())


def _plan_id(choice: Candidates | Drawn) -> str:
    """Return the identity of the question, without the data."""
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
