"""The picks in the rows of the owner's list of tables, whether their boxes are drawn or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import streamlit as st

from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.table_measures import Measure, measures_of
from pages.parts.visit.plan.tables import published
from pages.parts.visit.state import visit

__all__ = ["Rows"]

Picked: TypeAlias = tuple[list[str], list[Measure]]  # the columns of a table, and what it publishes of amounts
KEPT = "own-rows"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one run: what is `picked` in each, and the keys of the two boxes of each.

    Streamlit forgets a box that is not drawn, so what is picked is also kept apart, with the tables that the entries
    had then: if they have others now, these count.
    """

    picked: list[Picked]
    boxes: list[tuple[str, str]]

    @staticmethod
    def of(entries: Entries, fits: tuple[Callable[[str], bool], Callable[[Measure], bool]]) -> Rows:
        """Return the rows with the columns and measures that fit, and two empty ones: one may be filled just now."""
        key = visit().key  # worked out once: for a hundred rows it is slow
        known, kept = st.session_state.get(key(KEPT), (None, []))
        as_left = known == (entries.own, entries.more)
        if not as_left:
            tables = published(entries.with_(layout="own", margins=False))
            kept = [(list(table.columns), measures_of(table)) for table in tables]
        kept = [*kept, ([], []), ([], [])]
        boxes = [(key(f"own-{k}"), key(f"own-also-{k}")) for k in range(len(kept))]
        if not as_left:
            _show(kept, boxes)
        drawn = st.session_state.to_dict()  # asked once: most boxes of hundreds of rows are not drawn
        picked = [
            (_fitting(drawn, by, columns, fits[0]), _fitting(drawn, also, measures, fits[1]))
            for (by, also), (columns, measures) in zip(boxes, kept, strict=True)
        ]
        return Rows(picked, boxes)

    @property
    def filled(self) -> int:
        """The number of rows up to the last one in which something is picked."""
        return max((k + 1 for k, picked in enumerate(self.picked) if any(picked)), default=0)

    def keep(self, entries: Entries) -> None:
        """Keep what is picked, beside the tables that the entries now have."""
        st.session_state[visit().key(KEPT)] = (entries.own, entries.more), self.picked[: self.filled]

    def remove(self, k: int) -> None:
        """Remove a row, also with what was picked since it was drawn; those below move up."""
        now = [
            tuple(map(st.session_state.get, boxes, picked))
            for boxes, picked in zip(self.boxes, self.picked, strict=True)
        ]
        known, _kept = st.session_state[visit().key(KEPT)]
        st.session_state[visit().key(KEPT)] = known, (left := [*now[:k], *now[k + 1 :], ([], [])])
        _show(left, self.boxes)


def _fitting(drawn: Mapping[Any, Any], box: str, before: list[Any], fits: Callable[[Any], bool]) -> list[Any]:
    """Return the picks in a box that fit; for a box that Streamlit has forgotten, those from `before`."""
    picked = drawn.get(box, before)
    fitting = [each for each in picked if fits(each)]
    if box in drawn and fitting != picked:
        st.session_state[box] = fitting
    return fitting


def _show(picked: list[Picked], boxes: list[tuple[str, str]]) -> None:
    """Show what is picked in the boxes that are drawn; a box that is drawn later begins with it."""
    for both in zip(boxes, picked, strict=True):
        for box, value in zip(*both, strict=True):
            if box in st.session_state:
                st.session_state[box] = value
