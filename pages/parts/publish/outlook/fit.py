"""Whether the owner's rows fit what was declared: how many fall in *(other)*. For the owner's eyes only.

What is read here is not protected. It is kept in the session alone, goes with the table, and enters no file. It serves
to notice formats and spellings that were declared wrong, for which a release would spend ε and tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dpengine import PlanError, owner
from dpengine.sources.table import Table
from dpengine.spec.declared import NumberFormat
from dpengine.spec.domain import Amount, Column, Number
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark
from pages.parts.server.jobs import Progress
from pages.parts.shared.wording import percent, plain
from pages.parts.visit import background_read
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.plan import plan_form
from pages.parts.visit.state import visit

__all__ = ["show_on_request", "warn"]

# Only coarse shares are shown without being asked for.
COARSE = (
    (0.95, mark("**{column}**: nearly all rows fall in *(other)*. Only you see this.")),
    (0.5, mark("**{column}**: more than half of the rows fall in *(other)*. Only you see this.")),
    (0.2, mark("**{column}**: more than a fifth falls in *(other)*. Only you see this.")),
)
FORMATS: tuple[NumberFormat, ...] = ("1234.5", "1,234.5", "1.234,5")

Shares = dict[str, float]
Better = dict[str, NumberFormat]


def warn(plan: Plan) -> None:
    """Warn before the button of columns of which many rows fall in *(other)*, with the format that would fit."""
    table = visit().table
    assert table is not None
    columns = _with_other(plan.columns)
    found = background_read.glance("misfits", lambda _progress: _misfits(table, columns), table, question=repr(columns))
    if found is None:
        return
    shares, better = found
    for name, share in shares.items():
        how_many = next((words for least, words in COARSE if share >= least), None)
        if how_many is None:
            continue
        with st.container(key=f"misfit-{name}"):
            much = _(how_many, column=plain(name))
            if name in better:
                todo = _("If it is not meant, numbers are written in another way than declared.")
            else:
                todo = _("If it is not meant, look for another format or spelling in step 3.")
            st.warning(f"{much} {todo}", icon=":material/rule:")
            if name in better:
                _offer_format(name, better[name])


def _offer_format(name: str, written: NumberFormat) -> None:
    entries = visit().entries
    st.button(
        _("Read {column} as written like {example}", column=plain(name), example=written),
        key=visit().key(f"format-of-{name}"),
        on_click=visit().change,
        kwargs={"declared": entries.declared | {name: entries.declared[name] | {"format": written}}},
    )


def _misfits(table: Table, columns: Sequence[Column]) -> tuple[Shares, Better]:
    """Return the share of *(other)* by column; and of numbers the format that fits far better, where one does."""
    shares = _shares(table, columns)
    doubtful = [column for column in columns if isinstance(column, Number) and shares[column.name] >= COARSE[-1][0]]
    better: Better = {}
    least = {column.name: shares[column.name] / 2 for column in doubtful}
    for written in FORMATS if doubtful else ():
        for name, share in _shares(table, [c.model_copy(update={"format": written}) for c in doubtful]).items():
            if share < least[name]:
                better[name], least[name] = written, share
    return shares, better


def _shares(table: Table, columns: Sequence[Column], progress: Progress | None = None) -> Shares:
    counts = owner.rows_by_cell(table, columns, None if progress is None else partial(progress, "counting"))
    return {c.name: int(counts[c.name][c.other_code]) / max(int(counts[c.name].sum()), 1) for c in columns}


def _with_other(columns: Sequence[Column]) -> list[Column]:
    kept = {"other": True, "missing": True}
    return [column.model_copy(update=kept) for column in columns if not isinstance(column, Amount)]


def show_on_request(used: list[str]) -> None:
    """Show the owner, on request, how much of the data falls outside the declared cells; it is kept nowhere."""
    box = st.popover(_("Check the fit"), icon=":material/fact_check:", key=visit().key("fit"), on_change="rerun")
    if not box.open:
        return
    with box:
        st.markdown(
            _(
                "This reads your real rows and shows, **to you alone**, how many of them fall outside what you "
                "declared. So you notice dates read in the wrong format. The result is not protected; it is not kept, "
                "and enters no file. Use it to correct formats and spellings, not to extend the list of values."
            )
        )
        entries, table = visit().entries, visit().table
        assert table is not None
        alone = entries.with_(chosen=tuple(used), layout="single", several_rows=False, epsilon="1", dataset="fit")
        try:
            plan = plan_form.to_plan(alone)
        except PlanError as error:
            st.caption(all_faults(error, used))
            return
        columns = _with_other(plan.columns)
        clicked = st.button(_("Look at my real data"), key=visit().key("fit-look"))
        if not clicked and background_read.held("fit", plan.key) is None:
            return
        shares = background_read.read("fit", partial(_shares, table, columns), table, question=plan.key)
        if shares is None:
            return
        background_read.drop("fit")  # it is not kept
        for name, share in shares.items():
            st.markdown(
                _(
                    "**{column}**: {share} of the rows fall in *(other)*",
                    column=plain(name),
                    share=percent(share),
                )
            )
