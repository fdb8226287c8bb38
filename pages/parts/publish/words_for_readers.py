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
from dpengine.translation.catalogue import _, languages, mark
from pages.parts.shared.wording import plain
from pages.parts.visit import plan_form
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["ask_words"]

ABOUT = {
    "publisher": (mark("Publisher"), mark("Office of Statistics of Example City")),
    "contact": (mark("Contact"), "data@example.org"),
    "source": (mark("Source of the data"), mark("Household survey 2026")),
    "period": (mark("Period"), mark("March 2026")),
    "licence": (mark("Licence"), "CC BY 4.0"),
    "cite_as": (mark("Cite as"), mark("Example City (2026): Households.")),
}


def ask_words(plan: Plan) -> None:
    """Ask, folded, for all that readers are told; nothing of it is needed."""
    box = st.expander(_("Words for readers"), icon=":material/translate:", key=visit().key("words"), on_change="rerun")
    if not box.open:
        return
    with box:
        st.caption(_("Said in the report, the charts and README.txt. Changes no number, and costs nothing."))
        _ask_about(plan)
        _ask_columns(plan)
        _ask_codes(plan)


def _ask_about(plan: Plan) -> None:
    with st.form(visit().key("about"), border=False):
        places = st.columns(2)
        about = {
            field: places[k % 2].text_input(
                _(label), getattr(plan.about, field), placeholder=_(example), key=visit().key(f"about-{field}")
            )
            for k, (field, (label, example)) in enumerate(ABOUT.items())
        }
        codes = list(languages())
        spoken = st.selectbox(
            _("Language of the report"),
            codes,
            index=codes.index(plan.language),
            format_func=languages().__getitem__,
            key=visit().key("report-language"),
            help=_(
                "The report and README.txt are written in it. Your own words and the names of cells stay as they are."
            ),
        )
        notes = st.text_area(_("Notes"), plan.notes, height=80, key=visit().key("notes"))
        if st.form_submit_button(_("Use these")):
            said = {field: text.strip() for field, text in about.items() if text.strip()}
            _take(about=said, notes=notes.strip(), language=spoken)


def _ask_columns(plan: Plan) -> None:
    st.markdown(_("**What the columns say**"))
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
                "column": st.column_config.Column(_("column")),
                "name for readers": st.column_config.Column(_("name for readers")),
                "what it says": st.column_config.Column(_("what it says")),
                "whole numbers": st.column_config.CheckboxColumn(
                    _("whole numbers"), help=_("Readers see 18–29 instead of [18, 30).")
                ),
            },
        )
        if st.form_submit_button(_("Use these names")):
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
    st.markdown(_("**Words for codes**"))
    name = st.selectbox(_("Column with codes"), coded, key=visit().key("coded"))
    column = plan.column(name)
    assert isinstance(column, Category)
    with st.form(visit().key(f"codes-{name}"), border=False):
        text = st.text_area(
            _("Value = words, one a line"),
            "\n".join(f"{value} = {column.words.get(value, '')}".rstrip() for value in column.values[:1000]),
            height=min(240, 90 + 22 * min(len(column.values), 7)),
            key=visit().key(f"codes-of-{name}"),
            help=_("For example 1 = male. A value without words is shown as it is."),
        )
        if st.form_submit_button(_("Use these words")):
            words, unknown = words_of(text, column.values)
            if unknown:
                text = _("No such value: {values}.", values=plain(", ".join(unknown[:5])))
                st.warning(text, icon=":material/report:")
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
