"""The project's menu: save, open a file or an earlier plan, copy a plan to next year, or have it approved."""

from __future__ import annotations

import streamlit as st

from dpengine import PlanError
from dpengine.spec import strict_yaml
from dpengine.translation.catalogue import _
from pages.parts.publish.project import next_year
from pages.parts.shared.demo import file_box, is_demo
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.wording import plain
from pages.parts.visit import saved_draft
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.project import file, recent
from pages.parts.visit.project.recent import Recent
from pages.parts.visit.state import visit

__all__ = ["show"]

BOX = "project-box"


def show() -> None:
    """Show the menu; its lists are looked up only while it is open."""
    box = st.popover(
        _("Project"), icon=":material/folder_open:", type="tertiary", key=visit().fresh_key(BOX), on_change="rerun"
    )
    if not box.open:
        return
    with box:
        _save()
        _open()
        _choose_recent()
        if not is_demo():  # a demonstration opens no file, and nobody approves there
            _point_to_approval()


def _save() -> None:
    draft = saved_draft.current()
    if draft is None:
        st.caption(_("Save the project here at any step, once there are columns."))
        return
    history, name = visit().history, f"{draft.entries.dataset or 'my-table'}.project.yaml"
    offer_file(
        _("Save this project"),
        lambda: file.write(draft, history).encode(),
        name,
        "application/yaml",
        icon=":material/save:",
        key="save-project",
        width="stretch",
        help=_(
            "A text file with all that is decided so far, even if it is not complete. It holds no data and no counts."
        ),
    )


def _open() -> None:
    chosen = file_box(
        _("Open a project or a plan"),
        type=["yaml", "yml"],
        key=visit().fresh_key("project-file"),
        max_upload_size=strict_yaml.MAX_BYTES // 10**6,
        help=_("The table may come before or after it."),
    )
    if chosen is None:
        return
    try:
        draft = file.read(chosen.getvalue().decode("utf-8-sig", "replace"), visit().account.owner)
    except PlanError as error:
        st.warning(all_faults(error), icon=":material/report:")
        return
    go_on_with(draft)
    st.rerun()


def _choose_recent() -> None:
    plans = recent.listed()
    if not plans:
        return
    chosen: Recent | None = st.selectbox(
        _("Recent: put aside, or published on this server")
        if not visit().person.identity
        else _("Recent in this account"),
        plans,
        index=None,
        format_func=lambda each: each.name,
        placeholder=_("Choose one to go on with"),
        key=visit().key("recent"),
    )
    if chosen is None:
        return
    draft = visit().once("recent", (chosen, visit().earlier), lambda: recent.draft_of(chosen))
    if draft is None:
        return
    st.button(_("Open it"), key="open-recent", icon=":material/folder_open:", on_click=go_on_with, args=(draft,))
    if copied := next_year.ask(draft):
        go_on_with(copied, for_another_table=True)
        st.rerun()


def go_on_with(draft: Draft, *, for_another_table: bool = False) -> None:
    """Continue with a draft, and close the menu."""
    visit().renew(BOX)
    visit().renew("project-file")
    saved_draft.take_over(draft, for_another_table=for_another_table)


def _point_to_approval() -> None:
    st.markdown(_("**Approval by a colleague**"))
    if visit().person.identity:
        st.caption(_("Step 6 sends the plan to a colleague of your account, who decides on *Approval*."))
    else:
        st.caption(
            _(
                "Nobody signs in here, so nobody can approve on this page. Save the project and give the file to your "
                "colleague, who opens it here. Or save the plan in step 6 and send it: {command}.",
                command=plain("private-release ledger approval send plan.yaml"),
            )
        )
