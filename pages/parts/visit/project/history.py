"""The decisions of a visit in order: earlier states of the entries, for undo and redo.

A state is the entries and the settled steps: what a person decided, and never anything of the table. States share all
that did not change, so a long history is small.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace

from dpengine.translation.catalogue import ENGLISH, _, language, mark, speaking
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.project import changes

__all__ = ["History", "Moment"]

MAX_MOMENTS = 200
A_CHANGE = mark("a change")


@dataclass(frozen=True, slots=True)
class Moment:
    """Earlier entries, with the decision that led to them, in words, and its time."""

    entries: Entries
    settled: frozenset[str]
    words: str = ""
    at: str = ""
    describe: Callable[[], str] | None = None  # returns `words` in the page's language


@dataclass(frozen=True, slots=True)
class History:
    """The moments of a plan in order, and which of them is current; those after it were undone.

    >>> history = History().noted(Entries(), set()).noted(Entries(epsilon="2"), set(), at="14:05")
    >>> history.undoes, history.back().redoes, history.back().now.entries.epsilon
    ('ε 1 → 2', 'ε 1 → 2', '1')
    """

    moments: tuple[Moment, ...] = ()
    place: int = -1
    moved: bool = False  # reached by undo or redo, after which the page may fill in its suggestions

    @property
    def now(self) -> Moment:
        """The current moment: the last one, unless undo went back. There must be one."""
        return self.moments[self.place]

    @property
    def past(self) -> tuple[Moment, ...]:
        """The moments up to the current one that hold a decision, the earliest first."""
        return tuple(each for each in self.moments[: self.place + 1] if each.words)

    @property
    def undoes(self) -> str:
        """The decision that `back` would undo, in words; "" if there is none."""
        return self.in_words(self.place) if self.place > 0 else ""

    @property
    def redoes(self) -> str:
        """The decision that `forth` would redo, in words; "" if there is none."""
        return self.in_words(self.place + 1) if self.place + 1 < len(self.moments) else ""

    def in_words(self, place: int) -> str:
        """Return what was decided at a moment, in the page's language."""
        moment = self.moments[place]
        if moment.describe is not None:
            return moment.describe()
        if language() == ENGLISH or place == 0 or not moment.words:
            return moment.words
        return changes.in_words(self.moments[place - 1].entries, moment.entries) or _(A_CHANGE)

    def noted(
        self, entries: Entries, settled: Set[str], *, at: str = "", describe: Callable[[], str] | None = None
    ) -> History:
        """Return the history with the current entries, as a new moment if something was decided.

        `describe` returns the decision in words if the changes alone do not tell it. What the page fills in by itself
        right after an undo becomes part of the moment that undo reached: otherwise the next undo would take back only
        this.
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
        with speaking(ENGLISH):  # the history is kept in English
            words = (describe() if describe else "") or changes.in_words(now.entries, entries) or A_CHANGE
        moment = Moment(entries, frozenset(settled), words, at, describe)
        moments = (*self.moments[: self.place + 1], moment)[-MAX_MOMENTS:]
        return History(moments, len(moments) - 1)

    def back(self) -> History:
        """Return the history one decision earlier; the same if there is none."""
        return replace(self, place=self.place - 1, moved=True) if self.undoes else self

    def forth(self) -> History:
        """Return the history one undone decision later; the same if there is none."""
        return replace(self, place=self.place + 1, moved=True) if self.redoes else self
