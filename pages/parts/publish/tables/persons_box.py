"""Tables that count each person once per cell: in how many cells at most, and what this does to the error."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from dpengine import Plan, PlanError, owner
from dpengine.results.alternatives import predict_table
from dpengine.spec.domain import Column
from dpengine.spec.published_table import PublishedTable
from dpengine.spec.wording import people
from dpengine.translation.catalogue import _, plural
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.table_measures import named
from pages.parts.visit.plan.tables import counting_rows, saying_more
from pages.parts.visit.state import visit

__all__ = ["ask_cells", "say_what_it_does"]

MAX_CELLS = 1000  # largest number of cells that can be entered while the bound on rows is unknown
SHOWN = (1, 2, 3, 5, 10)


def ask_cells(table: PublishedTable, entries: Entries, row: int) -> PublishedTable:
    """Ask in how many cells of a table each person counts at most; the table is in this `row` of the list."""
    most = max(1, entries.rows if entries.several_rows else MAX_CELLS)
    cells = st.number_input(
        _("{table}: cells in which a person may count, at most", table=plain(" × ".join(table.columns))),
        1,
        most,
        min(table.cells_per_person, most),
        key=visit().key(f"cells-{row}-{'-'.join(sorted(table.columns))}"),
        help=_(
            "A person with several rows can be in several cells, such as one for each kind of visit. With 1, a person "
            "counts in one of them, drawn at random, and all such tables agree. With more, a person counts in up to "
            "so many different cells; the noise is wider, and the cells add up to more than the people."
        ),
    )
    return table.model_copy(update={"cells_per_person": int(cells)})


def say_what_it_does(entries: Entries) -> None:
    """Compare the predicted error of each table of persons with that of the same table of rows; this spends nothing."""
    for table in {frozenset(each.columns): each for each in entries.more if each.distinct}.values():
        name = plain(" × ".join(table.columns))
        widths = visit().once(f"as-rows-{name}", (entries, table), partial(_widths, entries, table))
        if entries.several_rows and entries.rows == 1:
            text = _("{table}: each person keeps one row (step 4), so rows are persons already.", table=name)
        elif widths is None:
            text = _(
                "{table}: how exact this makes it is said here once all columns are declared and step 4 names the "
                "column of the persons.",
                table=name,
            )
        else:
            text = plural(
                "{table}: 95 in 100 cells within **±{here}** {people}. If it counted rows, with {n} row a person, "
                "within ±{rows} rows.",
                "{table}: 95 in 100 cells within **±{here}** {people}. If it counted rows, with {n} rows a person, "
                "within ±{rows} rows.",
                entries.rows,
                people=entries.nouns.get("people") or _("people"),
                table=name,
                here=people(widths[0]),
                rows=people(widths[1]),
            )
        st.caption(f":material/group: {text}")
        _show_kept(table, entries)


def _widths(entries: Entries, table: PublishedTable) -> tuple[float, float] | None:
    """Return the predicted half-widths of a cell: in a table that counts persons, and in the same one with rows."""
    as_rows = [each if each is not table else counting_rows(each) for each in entries.more]
    try:
        plans = [plan_form.to_plan(each) for each in (entries, entries.with_(more=saying_more(as_rows)))]
    except PlanError:
        return None
    here, rows = (float(predict_table(plan, table.columns)["half_width_95"].iloc[0]) for plan in plans)
    return here, rows


def _show_kept(table: PublishedTable, entries: Entries) -> None:
    """Show the owner, on request, how much each bound on the cells leaves out; this is not kept."""
    columns, person = _declared(table, entries), entries.id_column
    if columns is None or person is None:
        return
    name = " × ".join(table.columns)
    title = _("How much of {table} is kept", table=plain(name))
    with st.popover(title, icon=":material/filter_alt:", key=visit().key(f"kept-{name}"), on_change="rerun") as box:
        if not box.open:
            return
        st.markdown(
            _(
                "This reads your real rows, and shows **you alone** how much is kept for each bound. The bound is "
                "published with the plan: take one that you can also give a public reason for."
            )
        )
        if not st.toggle(_("Show them to me"), key=visit().key(f"kept-look-{name}")):
            return
        data, question = visit().table, (named(table), repr(columns), person)
        assert data is not None
        cells = background_read.read(
            f"cells-{name}", lambda _job: owner.cells_kept(data, columns, person, SHOWN), data, question=question
        )
        if cells is not None:
            _show(cells)


def _show(cells: owner.CellsKept) -> None:
    config = st.column_config
    part = [100 * counted / max(cells.cells, 1) for counted in cells.kept]
    with st.container(border=True):
        show_numbers(
            pd.DataFrame({"bound": cells.bounds, "kept": cells.kept, "share": part, "people": cells.people}),
            {
                "bound": config.NumberColumn(_("cells per person, at most"), format="%,d"),
                "kept": config.NumberColumn(_("kept"), format="%,d"),
                "share": config.NumberColumn(_("of all"), format="%.0f %%"),
                "people": config.NumberColumn(_("people with nothing left out"), format="%,d"),
            },
        )
        st.caption(
            plural(
                "People are in {n} cell in all, each counted once in it. The bound on rows of step 4 may leave out "
                "more. Only you see this; never share it.",
                "People are in {n} cells in all, each counted once in a cell. The bound on rows of step 4 may leave "
                "out more. Only you see this; never share it.",
                cells.cells,
            )
        )


def _declared(table: PublishedTable, entries: Entries) -> list[Column] | None:
    """Return the declared columns of a table; None if one is not declared yet, or is used at a coarser level."""
    alone = entries.with_(chosen=table.columns, layout="together", several_rows=False, dataset="x", epsilon="1")
    try:
        plan: Plan = plan_form.to_plan(alone)
        return [next(column for column in plan.columns if column.name == name) for name in table.columns]
    except (PlanError, StopIteration):
        return None
