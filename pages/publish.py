"""Publish page: from a table to its release in six steps, on one page that grows step by step."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpengine import Plan, PlanError
from dpengine.accounting.entry import Kind
from dpengine.release import Release, reopen
from dpengine.translation.catalogue import _, mark, some_of
from pages.parts.publish import columns_step, domain_step, progress, table_step, unit_step
from pages.parts.publish.epsilon_step import choose_epsilon
from pages.parts.publish.grid import take_typed
from pages.parts.publish.outlook import fit, rows_lost
from pages.parts.publish.outlook.advice import advise
from pages.parts.publish.outlook.preview import as_findable, in_words, show_preview, show_preview_so_far
from pages.parts.publish.outlook.trial import KEPT
from pages.parts.publish.project import bar
from pages.parts.publish.release_step import publish_step
from pages.parts.release.view import show_release
from pages.parts.shared.example_plan import example_plan
from pages.parts.shared.wording import plain, plain_name
from pages.parts.visit import tour
from pages.parts.visit.fault_text import all_faults, ledger_faults_shown
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.column_checks import faulty
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.tables import counting_rows, used
from pages.parts.visit.roles import publishes
from pages.parts.visit.state import STEPS, require_entry, visit
from pages.parts.visit.strategy import strategy_of

CHANGES = {
    "table": mark("Change the table"),
    "columns": mark("Change the columns"),
    "domain": mark("Change the values"),
    "unit": mark("Change whom it protects"),
}


def main() -> None:
    """Draw a finished release, or the steps on the left and a preview on the right."""
    if (release := _release_in_address()) is not None:
        show_release(release)
        visit().focus = "release-title", True
        return
    if not publishes():
        return
    job = progress.current()
    if job is None and visit().table is None:
        _show_welcome()
    else:
        with st.container(key="page-title"):
            st.title(_title(), anchor=False)
    wide = job is None and visit().opened == "domain"  # the grid of columns needs more room
    if wide:
        take_typed()
    left, right = st.columns([8, 5] if wide else [5, 6], gap="large")
    with left:
        above = st.container()  # the bar is drawn last, once this run's decisions are known
        plan, fault = _whole_plan()
        refusal = "" if plan is None else _refusal(plan)
        if job is not None:
            progress.follow(job)
        else:
            _show_steps(plan, fault, refusal)
            with above:
                bar.show()
    with right, st.container(key="consequence"):
        _show_preview(plan if not refusal else None, wide=wide, example_too=job is None)
    visit().focus = _where_to_go_on(under_way=job is not None)


def _show_preview(plan: Plan | None, *, wide: bool, example_too: bool) -> None:
    """Show what readers of `plan` will see; without one, what is known of it so far, or an example of another table.

    After a reload, a release under way has no plan here, and an example beside it would be taken for its own.
    """
    if plan is not None:
        show_preview(as_findable(plan), own=True, curve=not wide)  # each cell typed would redraw the curve
    elif visit().table is not None:
        show_preview_so_far(_partial_plan())
    elif example_too:
        show_preview(example_plan(), own=False, curve=not wide)


def _where_to_go_on(*, under_way: bool) -> tuple[str, bool]:
    """Return where the keyboard goes on, and whether to scroll there: the open step, or why there is no release."""
    opened = visit().opened
    if under_way:
        return "page-title", False
    if opened:
        return f"step-{STEPS.index(opened) + 1}", False
    return ("step-5", False) if visit().unpublished is None else ("step-6", True)


def _title() -> str:
    name = visit().table_name
    return _("Publish {table}", table=plain(name)) if name else _("Publish a table")


@ledger_faults_shown()
def _release_in_address() -> Release | None:
    """Return the release that the address names, so that a reload, another tab or the back button finds it again."""
    wanted = st.query_params.get("release")
    release = visit().release
    if wanted is None:
        return None
    if release is None or release.release_id != wanted:
        entry, payload = visit().ledger.entry(wanted), visit().ledger.payload(wanted)
        if entry is None or payload is None:
            st.warning(_("The ledger of this server has no release with this address."), icon=":material/search_off:")
            return None
        if entry.kind is Kind.ANSWER:
            st.info(_("That entry is the answer to a question, not a table."), icon=":material/contact_support:")
            st.page_link("pages/ask.py", label=_("See it on Ask"), query_params={"answer": wanted})
            return None
        if entry.kind is not Kind.RELEASE:
            text = _("That entry is no release of tables: the Budget page shows it.")
            st.warning(text, icon=":material/search_off:")
            return None
        release = reopen(payload, visit().ledger)
        visit().release = release
    return release


def _show_welcome() -> None:
    if (ended := visit().unpublished) is not None:
        st.info(" ".join([plain(_(str(ended))), _("Nothing was spent.")]), icon=":material/stop_circle:")
    st.title(_("Publish tables about people without exposing anyone"), anchor=False)
    st.markdown(
        _(
            "Bring a table, say what is publicly known about it, and see how wrong the numbers will be *before* you "
            "spend anything. What you publish protects every single person by a mathematical guarantee. It is as "
            "strong as the ε that you choose: the smaller, the stronger. And it says honestly how exact each number is."
        )
    )
    tour.invite()


def _whole_plan() -> tuple[Plan | None, str]:
    """Return the plan that the entries make, or what is still missing or wrong."""
    if visit().table is None:
        visit().plan = None
        return None, ""
    try:
        plan = _plan_of(visit().entries)
    except PlanError as error:
        visit().plan = None
        names = used(visit().entries)
        return None, all_faults(error, names)
    visit().plan = plan
    return plan, ""


def _plan_of(entries: Entries) -> Plan:
    """Return the plan that the entries make; it is made again only if more than ε has changed."""
    at_one = entries.with_(epsilon="1")
    whole = visit().once("plan-at-1", at_one, lambda: plan_form.to_plan(at_one))
    return visit().once("plan", entries, lambda: whole.at(entries.epsilon), most=KEPT)


def _partial_plan() -> Plan | None:
    """Return a plan of the columns declared so far, as if each row were a person; None if they make none."""
    lacking, entries = set(faulty()), visit().entries
    ready = tuple(name for name in used(entries) if name not in lacking)
    try:
        more = tuple(map(counting_rows, entries.more))
        declared = entries.with_(chosen=ready, several_rows=False, more=more)
        plan = visit().once("plan-so-far", declared, lambda: plan_form.to_plan(declared))
        strategy_of(plan).check()
    except PlanError:
        return None
    return as_findable(plan)


def _refusal(plan: Plan) -> str:
    """Return why a complete plan cannot be measured at this ε or by this strategy; "" if it can."""
    try:
        strategy_of(plan).check()
    except PlanError as error:
        return all_faults(error)
    return ""


@ledger_faults_shown()
def _show_steps(plan: Plan | None, fault: str, refusal: str) -> None:
    """Fold each settled step into a line, show the controls of the open one, and only name the later ones."""
    _open_incomplete_steps()
    opened = visit().opened
    steps: list[tuple[str, Callable[[], None], Callable[[], str]]] = [
        (_("Table"), table_step.choose_table, table_step.summary),
        (_("What to publish"), columns_step.choose_columns, lambda: columns_step.summary(plan)),
        (_("What is publicly known"), domain_step.declare_columns, domain_step.summary),
        (_("Whom it protects"), unit_step.choose_unit, unit_step.summary),
    ]
    for number, (name, (title, body, summary)) in enumerate(zip(STEPS, steps, strict=True), start=1):
        if name == opened:
            with st.container(border=True):
                _show_heading(number, title)
                body()
        elif name in visit().settled:
            more = columns_step.all_tables() if name == "columns" else None
            _show_folded(f"{number} · {title}", summary(), name, more)
        else:
            st.caption(f"{number} · {title}")
    if opened:
        st.caption("5 · " + _("How private"))
        st.caption("6 · " + _("Publish"))
    elif plan is None:
        _say_what_is_missing(fault)
    else:
        _show_last_steps(plan, refusal)


def _show_last_steps(plan: Plan, refusal: str) -> None:
    """Show the choice of ε and, unless the plan is refused at it, the step to publish."""
    with st.container(border=True, key="how-private"):
        _show_heading(5, _("How private"))
        choose_epsilon(plan)
        if refusal:
            st.warning(refusal, icon=":material/report:")
            return
        advise(plan)
        with st.container(key="consequence-in-words"):  # shown on a phone, where the preview is out of sight
            st.markdown(in_words(as_findable(plan)))
    with st.container(border=True):
        _show_heading(6, _("Publish"))
        fit.warn(plan)
        rows_lost.warn(plan)
        publish_step(plan)


def _open_incomplete_steps() -> None:
    """Open a step again if a change in another one made it incomplete: a new column, or a published ID of persons.

    While no step is open, none is opened here: `_say_what_is_missing` then shows a button for the incomplete one.
    """
    entries = visit().entries
    if entries.id_column in used(entries) and entries.several_rows:
        visit().change(id_column=None)
        visit().settled.discard("unit")
    if visit().opened and faulty():
        visit().settled.discard("domain")


def _say_what_is_missing(fault: str) -> None:
    """Show why the entries are not a plan yet, and a button for the step to change."""
    missing, entries = faulty(), visit().entries
    if missing:
        columns = some_of(map(plain_name, missing))
        text = _("The plan is not complete: say what is publicly known about {columns}.", columns=columns)
        step, label = "domain", _("Fill it in")
    elif entries.several_rows is None or (entries.several_rows and entries.id_column is None):
        text, step, label = _("The plan is not complete: {fault}", fault=fault), "unit", _("Fill it in")
    else:
        text, step, label = _("The plan is not complete: {fault}", fault=fault), "columns", _("Change the tables")
    st.warning(text, icon=":material/report:")
    st.button(label, key=visit().key("complete"), on_click=visit().open_step, args=(step,), icon=":material/edit:")


def _show_heading(number: int, title: str) -> None:
    with st.container(key=f"step-{number}"):
        st.header(f"{number} · {title}", anchor=False)


def _show_folded(title: str, line: str, name: str, more: str | None = None) -> None:
    """Show a settled step in one line under its title, with `more` as its help, and a button to change it."""
    with st.container(key=f"folded-{name}"):
        text, change = st.columns([5, 2.2], vertical_alignment="center", gap="small")
        with text.container(gap=None):
            st.header(title, anchor=False)
            st.markdown(line, help=more)
        change.button(
            _(CHANGES[name]),
            key=f"change-{name}",
            on_click=visit().open_step,
            args=(name,),
            type="tertiary",
            width="stretch",
        )


require_entry()
main()
