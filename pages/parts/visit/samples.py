"""The two samples for everybody, each with a plan that is ready to publish."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from dpengine import Plan, open_table
from dpengine.translation.catalogue import _, mark
from pages.parts.access.accounts import May
from pages.parts.shared.wording import plain
from pages.parts.visit import saved_draft
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.state import STEPS, visit

__all__ = ["DATA", "SAMPLES", "Sample", "bring_sample", "load_sample", "show_samples"]

DATA = Path(__file__).parents[3] / "data"


@dataclass(frozen=True, slots=True)
class Sample:
    """A table that comes with this program."""

    title: str
    about: str
    file: str


SAMPLES = {
    "census": Sample(
        mark("Census income 1994–95"), mark("199,523 people: age, education, origin, income"), "census.parquet"
    ),
    "rand": Sample(
        mark("RAND health insurance"), mark("5,912 people over years: cost sharing, doctor visits"), "rand.csv.gz"
    ),
}


def show_samples(prefix: str) -> None:
    """Show a card with a button for each sample; the buttons' keys begin with `prefix`."""
    for place, (key, sample) in zip(st.columns(2), SAMPLES.items(), strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{_(sample.title)}**")
            st.caption(_(sample.about))
            if _has_own_plan():
                _ask_before_replacing(prefix, key)
            else:
                label = _("Use this sample")
                st.button(label, key=f"{prefix}_{key}", on_click=load_sample, args=(key,), width="stretch")


def _ask_before_replacing(prefix: str, key: str) -> None:
    """Say that a sample takes the place of the visitor's own plan, before it does."""
    with st.popover(_("Use this sample"), width="stretch", key=f"{prefix}_{key}_box"):
        st.markdown(
            _(
                "Your plan for {table} is put aside: bring its table again to continue with it. To keep it"
                " beyond this visit, save the project first.",
                table=plain(visit().table_name),
            )
        )
        st.button(_("Put it aside"), key=f"{prefix}_{key}", on_click=load_sample, args=(key,))


def _has_own_plan() -> bool:
    """Whether a sample would replace a plan for the visitor's own table."""
    here = visit()
    return here.table is not None and not here.sample and bool(here.entries.chosen)


def load_sample(key: str) -> None:
    """Begin with a sample; if another click interrupts this, the next run continues it.

    Raises `BudgetError` if the role does not let the visitor publish.
    """
    visit().account.require(May.PUBLISH)
    visit().wanted_sample = key
    bring_sample()


def bring_sample() -> None:
    """Open the wanted sample, or the one that a saved plan waits for, with everything filled in up to ε.

    To be called at the beginning of each run. Another click may interrupt a run anywhere, so the wish is forgotten
    last, and the next run does all of it again.
    """
    here = visit()
    draft = here.waiting
    key = here.wanted_sample or _sample_that_waits(draft)
    if not key:
        return
    sample = SAMPLES[key]
    here.begin(plan_form.from_plan(Plan.load(DATA / f"{key}.plan.yaml")))
    table = open_table(DATA / sample.file)
    here.keep_table(table, sample.title, sample=key)
    waited = draft is not None and draft.sample == key
    if not waited or not saved_draft.restore(table):
        here.settle(*STEPS)
    here.wanted_sample = ""
    if waited:
        saved_draft.forget()


def _sample_that_waits(draft: Draft | None) -> str:
    """Return the sample of a saved plan, which needs no file; "" if the address names a release, which comes first."""
    if draft is None or draft.sample not in SAMPLES or saved_draft.has_another_subject():
        return ""
    return draft.sample if visit().table is None or visit().sample == draft.sample else ""
