"""The plan of the Accuracy page: the visitor's own, or one of the samples."""

from __future__ import annotations

import streamlit as st

from dpengine.errors import PlanError
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark, plural
from pages.parts.shared.choices import choose_one
from pages.parts.shared.wording import plain
from pages.parts.visit import saved_draft
from pages.parts.visit.plan.plan_form import to_plan
from pages.parts.visit.samples import DATA
from pages.parts.visit.state import visit

__all__ = ["choose_plan"]

SAMPLES = {mark("Census sample"): "census.plan.yaml", mark("Health insurance sample"): "rand.plan.yaml"}


def choose_plan() -> Plan | None:
    """Return the visitor's own plan, or the chosen sample; None if there is neither."""
    plan, unfinished = _own_plan()
    if plan is not None:
        title = plan.title or _("dataset {name}", name=plan.dataset)
        tables = plural("{n} table", "{n} tables", len(plan.marginals))
        st.caption(_("For your plan: {title}, {tables}.", title=plain(title), tables=tables))
        return plan
    samples = {name: DATA / file for name, file in SAMPLES.items() if (DATA / file).is_file()}
    with st.container(border=True):
        if unfinished:
            st.markdown(
                _(
                    "Your plan for {table} is not complete yet. Once it is, this page shows how wrong its numbers will "
                    "be.",
                    table=plain(unfinished),
                )
            )
        else:
            st.markdown(
                _("You have no plan yet. Once you have said what to publish, this page shows how exact it will be.")
            )
        label = _("Go on with it on Publish") if unfinished else _("Start a plan on Publish")
        st.page_link("pages/publish.py", label=label, icon=":material/edit_note:")
        if not samples:
            return None
        name = choose_one(
            _("Until then, try a sample"),
            samples,
            "accuracy_sample",
            help=_("Plans for the two tables that come with this program. Trying them spends nothing."),
        )
    return Plan.load(samples[name])


def _own_plan() -> tuple[Plan | None, str]:
    """Return the visitor's plan, even if a reload closed its table; without one, the name of an unfinished one."""
    here = visit()
    draft = saved_draft.current()
    if here.plan is not None or draft is None:
        return here.plan, ""
    try:
        return to_plan(draft.entries), ""
    except PlanError:
        return None, draft.table or draft.entries.title
