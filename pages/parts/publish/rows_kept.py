"""Show what a bound on the rows of a person leaves out: exactly to the owner alone, or as paid private estimates."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import streamlit as st

from dpengine import PlanError, owner
from dpengine.ask import ask_rows_kept, rising, rows_kept_questions
from dpengine.exact import exactly
from dpengine.results.answer import expect
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, plural
from pages.parts.server.jobs import Progress
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.typed_numbers import decimal
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.fault_text import all_faults, ledger_faults_shown
from pages.parts.visit.state import visit

__all__ = ["show_rows_kept"]

BOUNDS = (1, 2, 5, 10, 20)


def show_rows_kept(table: Table, id_column: str) -> None:
    """Show, on request, how many rows several bounds keep: exactly to the owner alone, or as paid estimates."""
    title = _("How many rows are kept")
    with st.popover(title, icon=":material/filter_alt:", key=visit().key("kept"), on_change="rerun"):
        st.markdown(
            _(
                "This counts your real rows, and shows **you alone** how many are kept for each bound. The bound is "
                "published with the plan: if you choose it by these numbers, it tells readers a little about them. So "
                "take one that you can also give a public reason for, such as a usual number of visits a year."
            )
        )
        if st.toggle(_("Show them to me"), key=visit().key("kept-look")):
            _show_exact(table, id_column)
        elif st.toggle(_("Pay for estimates instead, which may be published"), key=visit().key("kept-pay")):
            _show_paid(table, id_column)


def _columns() -> dict[str, Any]:
    config = st.column_config
    return {
        "at most": config.NumberColumn(_("rows per person, at most"), format="%,d"),
        "rows kept": config.NumberColumn(_("rows kept"), format="%,d"),
        "of all": config.NumberColumn(_("of all rows"), format="%.0f %%"),
        "±": config.NumberColumn("±", format="%,.0f", help=_("95 estimates in 100 are within it.")),
    }


def _show_exact(table: Table, id_column: str) -> None:
    facts = background_read.read(
        "rows-kept", lambda _progress: owner.rows_kept(table, id_column), table, question=id_column
    )
    if facts is None:
        return
    part = [100 * rows / max(facts.rows, 1) for rows in facts.kept]
    frame = pd.DataFrame({"at most": facts.bounds, "rows kept": facts.kept, "of all": part})
    with st.container(key="private-kept", border=True):
        show_numbers(frame, _columns())
        st.caption(
            plural(
                "{n} row has a value in *{column}*. The more rows a person may keep, the wider the noise. Only you see "
                "this; never share it.",
                "{n} rows have a value in *{column}*. The more rows a person may keep, the wider the noise. Only you "
                "see this; never share it.",
                facts.rows,
                column=plain(id_column),
            )
        )


@ledger_faults_shown()
def _show_paid(table: Table, id_column: str) -> None:
    """Ask which budget pays how much, say how far off the estimates will be, and make them once they are paid for."""
    whose, price = st.columns(2)
    dataset = whose.text_input(_("Dataset whose budget pays"), visit().entries.dataset, key=visit().key("kept-dataset"))
    epsilon = price.text_input(_("ε for all estimates together"), "0.1", key=visit().key("kept-epsilon"))
    try:
        questions = rows_kept_questions(dataset, id_column, BOUNDS, decimal(epsilon))
    except PlanError as error:
        st.caption(all_faults(error))
        return
    widths = [expect(each).half_width for each in questions]
    whole = exactly(sum((each.epsilon for each in questions), Fraction(0)))
    place = st.empty()
    show_numbers(pd.DataFrame({"at most": BOUNDS, "±": widths}), _columns(), place=place)
    paid, asked = "rows-kept-paid", tuple(each.key for each in questions)
    pay = _("Estimate, for ε = {epsilon} of the budget of {dataset}", epsilon=whole, dataset=plain(dataset))
    if background_read.job_for(paid, asked) is None and not st.button(pay, key=visit().key("kept-buy")):
        return
    charged = visit().ledger_to_charge

    def work(progress: Progress) -> pd.DataFrame:
        estimates = rising(ask_rows_kept(table, questions, charged, progress=progress))
        return pd.DataFrame({"at most": BOUNDS, "rows kept": [estimates[bound] for bound in BOUNDS], "±": widths})

    estimates = background_read.read(paid, work, table, question=asked)
    if estimates is not None:
        show_numbers(estimates, _columns(), place=place)
        st.caption(_("Charged and recorded. Asked again for the same rows, they are the same and cost nothing."))
