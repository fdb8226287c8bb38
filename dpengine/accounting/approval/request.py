"""Requests for approval: a plan, its price, who asked and who decided. Never rows, or numbers from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from dpengine.accounting.entry import same_name

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["OPEN", "Actor", "Request", "State", "plan_digest"]


class State(StrEnum):
    """The state of a request."""

    WAITING = "waiting"
    APPROVED = "approved"  # once: until it is published, withdrawn or lapsed
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    LAPSED = "lapsed"  # the budget no longer sufficed when it was to be published
    PUBLISHED = "published"


OPEN = (State.WAITING, State.APPROVED)


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who asks or decides. `identity` never changes; `name` is shown to others."""

    identity: str
    name: str = ""

    def is_same(self, other: Actor) -> bool:
        """Return whether both may be one person: they share an identity or a name, however it is spelled.

        >>> Actor("provider 1", "Ann@example.org").is_same(Actor("provider 2", "ann@example.org"))
        True
        >>> Actor("provider 1").is_same(Actor("provider 2"))
        False
        """
        names = same_name(self.name), same_name(other.name)
        return same_name(self.identity) == same_name(other.identity) or (names[0] != "" and names[0] == names[1])


@dataclass(frozen=True, slots=True)
class Request:
    """One request to publish exactly one plan of one dataset, once.

    `plan_sha256` is the digest of the plan's text. With `other_people`, the request also covers the statement that the
    table is of other people than earlier ones like it. `decided_by` approved or declined it, with an `answer`.
    `ended_by` is who withdrew it, and `release_id` what it was used for. Times are ISO 8601, and "" where there is
    none.
    """

    request_id: str
    dataset: str
    epsilon: Fraction
    plan_sha256: bytes
    other_people: bool
    asked_by: Actor
    asked: str
    note: str
    state: State
    decided_by: Actor | None
    decided: str
    answer: str
    ended_by: str
    ended: str
    release_id: str


def plan_digest(plan: Plan) -> bytes:
    """Return the SHA-256 of the plan's exact text: the smallest change makes it another plan."""
    return hashlib.sha256(plan.dumps().encode()).digest()
