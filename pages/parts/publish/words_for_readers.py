"""What readers are told beside the numbers: who publishes, what the columns say, and words for codes.

None of it changes a cell, the price or the noise, so it stands beside the plan's entries, and can be changed at any
time: the same release is then shown in other words, at no cost.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dpengine import PlanError
from dpengine.spec.codebook_sheet import words_of
from dpengine.spec.domain import Category, Number
from dpengine.spec.plan import Plan
from pages.parts.shared.wording import plain
from pages.parts.visit import plan_form
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["ask_words"]

ABOUT = {
    "publisher": ("Publisher", "Office of Statistics of Example City"),
    "contact": ("Contact", "data@example.org"),
    "source": ("Source of the data", "Household survey 2026"),
    "period": ("Period", "March 2026"),
    "licence": ("Licence", "CC BY 4.0"),
    "cite_as": ("Cite as", "Example City (2026): Households."),
}


def ask_words(plan: Plan) -> None:
    """Ask, folded, for all that readers are told; nothing of it is needed."""
    box = st.expander("Words for readers", icon=":material/translate:", key=visit().key("words"), on_change="rerun")
    if not box.open:
        return
    with box:
        st.caption("Said in the report, the charts and README.txt. Changes no number, and costs nothing.")
        _ask_about(plan)
        _ask_columns(plan)
        _ask_codes(plan)


def _ask_about(plan: Plan) -> None:
    with st.form(visit().key("about"), border=False):
        places = st.columns(2)
        about = {
            field: places[k % 2].text_input(
                label, getattr(plan.about, field), placeholder=example, key=visit().key(f"about-{field}")
            )
            for k, (field, (label, example)) in enumerate(ABOUT.items())
        }
        notes = st.text_area("Notes", plan.notes, height=80, key=visit().key("notes"))
        if st.form_submit_button("Use these"):
            _take(about={field: text.strip() for field, text in about.items() if text.strip()}, notes=notes.strip())


def _ask_columns(plan: Plan) -> None:
    st.markdown("**What the columns say**")
    rows = [
        {
            "column": name,
            "name for readers": plan.column(name).label,
            "what it says": plan.column(name).description,
            "whole numbers": isinstance(column := plan.column(name), Number) and column.whole,
        }
        for name in plan.used
    ]
    with st.form(visit().key("columns-words"), border=False):
        edited = st.data_editor(
            pd.DataFrame(rows),
            hide_index=True,
            disabled=["column"],
            key=visit().key("columns-words-grid"),
            column_config={
                "whole numbers": st.column_config.CheckboxColumn(help="Readers see 18–29 instead of [18, 30).")
            },
        )
        if st.form_submit_button("Use these names"):
            told = visit().entries.told
            changed = {
                row["column"]: told.get(row["column"], {})
                | {
                    "label": str(row["name for readers"] or "").strip(),
                    "description": str(row["what it says"] or "").strip(),
                    "whole": bool(row["whole numbers"]),
                }
                for row in edited.to_dict("records")
            }
            _take(told=told | changed)


def _ask_codes(plan: Plan) -> None:
    coded = [name for name in plan.used if isinstance(plan.column(name), Category)]
    if not coded:
        return
    st.markdown("**Words for codes**")
    name = st.selectbox("Column with codes", coded, key=visit().key("coded"))
    column = plan.column(name)
    assert isinstance(column, Category)
    with st.form(visit().key(f"codes-{name}"), border=False):
        text = st.text_area(
            "Value = words, one a line",
            "\n".join(f"{value} = {column.words.get(value, '')}".rstrip() for value in column.values[:1000]),
            height=min(240, 90 + 22 * min(len(column.values), 7)),
            key=visit().key(f"codes-of-{name}"),
            help="For example 1 = male. A value without words is shown as it is.",
        )
        if st.form_submit_button("Use these words"):
            words, unknown = words_of(text, column.values)
            if unknown:
                st.warning(f"No such value: {plain(', '.join(unknown[:5]))}.", icon=":material/report:")
            else:
                told = visit().entries.told
                _take(told=told | {name: told.get(name, {}) | {"words": words}})


def _take(**changes: Any) -> None:
    """Take the words over if the plan admits them, else say why not."""
    try:
        plan_form.to_plan(visit().entries.with_(**changes))
    except PlanError as error:
        st.warning(all_faults(error), icon=":material/report:")
        return
    visit().change(**changes)
    st.rerun()
