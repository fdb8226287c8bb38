"""Requests for approval in words."""

from __future__ import annotations

from dpengine.accounting.approval.request import Actor, Request, State
from dpengine.translation.catalogue import _, day
from pages.parts.shared.wording import plain

__all__ = ["decision", "name_of_actor", "signed"]


def name_of_actor(actor: Actor) -> str:
    """Return the name to show for a person, who may have no verified one."""
    return actor.name or _("somebody without a name")


def signed(actor: Actor, when: str) -> str:
    """Return who did something, and when, as Markdown.

    >>> signed(Actor("1", "ann"), "2026-11-22T12:10:45+00:00")
    '**ann** on 2026-11-22 at 12:10 UTC'
    """
    return _(
        "**{name}** on {day} at {time} UTC",
        name=plain(name_of_actor(actor)),
        day=day(when[:10]),
        time=when[11:16],
    )


def decision(request: Request) -> str:
    """Say what was decided about a request, in a sentence or two of Markdown."""
    answer = _(" “{answer}”", answer=plain(request.answer)) if request.answer else ""
    by = signed(request.decided_by, request.decided) if request.decided_by is not None else ""
    match request.state:
        case State.WAITING:
            return _("It waits for a decision.")
        case State.APPROVED:
            return _("Approved by {whom}.", whom=by) + answer
        case State.DECLINED:
            return _("Declined by {whom}.", whom=by) + answer
        case State.WITHDRAWN:
            return _("Withdrawn by **{whom}**.", whom=plain(request.ended_by))
        case State.LAPSED:
            return _(
                "Approved by {whom}, but the budget no longer sufficed when it was to be published: the approval "
                "lapsed.",
                whom=by,
            )
        case State.PUBLISHED:
            return _("Approved by {whom}, and published. That approval is used up.", whom=by) + answer
