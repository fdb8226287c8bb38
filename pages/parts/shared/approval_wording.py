"""Requests for approval in words."""

from __future__ import annotations

from dpengine.accounting.approval.request import Actor, Request, State
from pages.parts.shared.wording import plain

__all__ = ["decision", "name_of_actor", "signed"]


def name_of_actor(actor: Actor) -> str:
    """Return how somebody is shown; people whom nobody vouches for have no name."""
    return actor.name or "somebody without a name"


def signed(actor: Actor, when: str) -> str:
    """Return who did something, and when, as Markdown.

    >>> signed(Actor("1", "ann"), "2026-11-22T12:10:45+00:00")
    '**ann** on 2026-11-22 at 12:10 UTC'
    """
    return f"**{plain(name_of_actor(actor))}** on {when[:10]} at {when[11:16]} UTC"


def decision(request: Request) -> str:
    """Say what became of a request, in a sentence or two of Markdown."""
    answer = f" “{plain(request.answer)}”" if request.answer else ""
    by = f" by {signed(request.decided_by, request.decided)}" if request.decided_by is not None else ""
    match request.state:
        case State.WAITING:
            return "It waits for a decision."
        case State.APPROVED:
            return f"Approved{by}.{answer}"
        case State.DECLINED:
            return f"Declined{by}.{answer}"
        case State.WITHDRAWN:
            return f"Withdrawn by **{plain(request.ended_by)}**."
        case State.LAPSED:
            return f"Approved{by}, but the budget no longer sufficed when it was to be published: the approval lapsed."
        case State.PUBLISHED:
            return f"Approved{by}, and published. That approval is used up.{answer}"
