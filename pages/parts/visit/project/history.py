"""The decisions of a visit one after the other: earlier states of the entries, to go back to and forth again.

A state is the entries and the steps that were settled: what a person decided, never anything of the table. States
share all that did not change, so a long history is small.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from pages.parts.visit.plan_form import Entries
from pages.parts.visit.project.changes import in_words

__all__ = ["History", "Moment"]

MAX_MOMENTS = 200


@dataclass(frozen=True, slots=True)
class Moment:
    """The entries as they were, the decision that made them so, in words, and when that was."""

    entries: Entries
    settled: frozenset[str]
    said: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """The moments of a plan in order, and which of them is now: those after it were undone.

    >>> history = History().noted(Entries(), set()).noted(Entries(epsilon="2"), set(), at="14:05")
    >>> history.undoes, history.back().redoes, history.back().now.entries.epsilon
    ('ε 1 → 2', 'ε 1 → 2', '1')
    """

    moments: tuple[Moment, ...] = ()
    place: int = -1
    moved: bool = False  # by undo or redo, after which the page may fill in what it suggests

    @property
    def now(self) -> Moment:
        """The moment that was noted last, or gone to. There must be one."""
        return self.moments[self.place]

    @property
    def past(self) -> tuple[Moment, ...]:
        """The moments up to now that somebody decided, the earliest first."""
        return tuple(each for each in self.moments[: self.place + 1] if each.said)

    @property
    def undoes(self) -> str:
        """What `back` takes back, in words; "" if there is nothing."""
        return self.moments[self.place].said if self.place > 0 else ""

    @property
    def redoes(self) -> str:
        """What `forth` brings again, in words; "" if there is nothing."""
        return self.moments[self.place + 1].said if self.place + 1 < len(self.moments) else ""

    def noted(self, entries: Entries, settled: Set[str], *, at: str = "", said: str = "") -> History:
        """Return the history with the entries as they are now: a new moment, if something was decided.

        `said` is what was decided, if that is more than the changes say. What the page fills in by itself right after
        an undo is part of the moment that was gone back to: else the next undo would take back only that.
        """
        if not self.moments:
            return History((Moment(entries, frozenset(settled), "", at),), 0)
        now = self.now
        if self.moved or now.entries == entries:
            here = replace(now, entries=entries, settled=frozenset(settled))
            later = self.moments[self.place + 1 :]
            while later and later[0].entries == entries:
                later = later[1:]
            return History((*self.moments[: self.place], here, *later), self.place)
        words = said or in_words(now.entries, entries) or "a change"
        moments = (*self.moments[: self.place + 1], Moment(entries, frozenset(settled), words, at))[-MAX_MOMENTS:]
        return History(moments, len(moments) - 1)

    def back(self) -> History:
        """Return the history one decision earlier; the same if there is none."""
        return replace(self, place=self.place - 1, moved=True) if self.undoes else self

    def forth(self) -> History:
        """Return the history one undone decision later; the same if there is none."""
        return replace(self, place=self.place + 1, moved=True) if self.redoes else self
