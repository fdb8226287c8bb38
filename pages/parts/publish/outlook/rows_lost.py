"""Tell the owner alone, and coarsely, whether a bound on the rows of a person leaves out much of the table.

A bound of one row is right to count persons, but leaves out most loans of a library. Readers would see far too small
counts, and nobody would notice, since ε is spent either way.
"""

from __future__ import annotations

import streamlit as st

from dpengine import owner
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark, plural
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["warn"]

COARSE = (
    (0.9, mark("more than nine rows in ten are left out")),
    (0.5, mark("more than half of the rows are left out")),
    (0.2, mark("more than a fifth of the rows is left out")),
)


def warn(plan: Plan) -> None:
    """Warn, before the button to publish, if a bound on the rows of a person leaves out many of the rows counted."""
    table, person = visit().table, plan.unit.id
    bounds = [tally.bound for tally in plan.tallies if tally.cells is None]
    if table is None or person is None or not bounds:
        return
    facts = background_read.glance(
        "rows-lost", lambda _progress: owner.rows_kept(table, person, bounds), table, question=(person, *bounds)
    )
    if facts is None or not facts.rows:
        return
    lost = 1 - facts.kept[0] / facts.rows
    how_many = next((words for least, words in COARSE if lost > least), None)
    if how_many is None:
        return
    head = plural(
        "**At most {n} row of a person is counted: {how_many}.** Only you see this.",
        "**At most {n} rows of a person are counted: {how_many}.** Only you see this.",
        bounds[0],
        how_many=_(how_many),
    )
    todo = (
        _("That is right if persons are to be counted. To count the rows, allow more of them in step 4.")
        if bounds[0] == 1
        else _(
            "All counts are then too small by so much. Allow more rows in step 4, or say so in the notes for readers."
        )
    )
    st.warning(f"{head} {todo}", icon=":material/filter_alt:")
    st.button(
        _("Change the rows per person"),
        key=visit().key("rows-lost-change"),
        icon=":material/edit:",
        on_click=visit().open_step,
        args=("unit",),
    )
