"""All that the session of a visitor holds, in one typed value; sessions share none of it.

It belongs to one person and one account: another person, or another group, begins with nothing. The open table is
private: it is kept only here, never in a cache. The only thing that sessions share is the ledger's database, and each
account sees its own part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import streamlit as st

from dpengine import BudgetError, Ledger, Plan, PrivateReleaseError
from dpengine.accounting.approval.request import Actor
from dpengine.release import Release
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _
from pages.parts.access.accounts import LOCAL_ACCOUNT, Account, May, accounts_of
from pages.parts.access.person import LOCAL, Person, person
from pages.parts.server import jobs, session_resources
from pages.parts.server.jobs import Job
from pages.parts.server.tab_route import Question
from pages.parts.server.uploads import Place
from pages.parts.shared import demo
from pages.parts.visit.plan.entries import Draft, Entries
from pages.parts.visit.project.history import History

__all__ = ["STEPS", "VISIT", "VisitState", "change_account", "require_entry", "visit"]

T = TypeVar("T")

STEPS = ("table", "columns", "domain", "unit")  # of the Publish page, in order, before the choice of ε
# The name of this state in the session. All other names belong to widgets, or are KEY of `shared/language`.
VISIT = "visit"


@dataclass(eq=False, repr=False)
class VisitState:
    """All that a visitor has brought, entered and published, and the results that the pages keep for them."""

    person: Person = LOCAL
    account: Account = LOCAL_ACCOUNT  # it decides which datasets, budgets and releases can be used

    table: Table | None = None
    table_name: str = ""
    # The container whose heading gets the focus, and whether to scroll there.
    focus: tuple[str, bool] = ("", False)
    sample: str = ""  # the key of the sample that is open; "" for any other table
    source: Place | None = None  # the place of the table's file, if it came as a file
    uploaded_id: str = ""  # of the last file that came by Streamlit's own uploader
    read_as: dict[str, Any] = field(default_factory=dict)  # the options of `open_table` with which it was read

    entries: Entries = field(default_factory=Entries)
    settled: set[str] = field(default_factory=set)  # the steps that are filled in
    step: str = "table"  # the step to show, once there is a table
    plan: Plan | None = None  # the entries as a plan, where they make a whole one

    publishing: Job[Release] | None = None
    unpublished: PrivateReleaseError | str | None = None  # why the last attempt gave none, until a change
    release: Release | None = None  # just published, or opened again

    waiting: Draft | None = None  # a plan that waits for its table
    waits_for_first_time: bool = False  # it was just opened or copied, and not restored after a reload
    earlier: Draft | None = None  # the plan for the table before this one
    earlier_columns: frozenset[str] = frozenset()  # all columns of that table
    earlier_history: History = field(default_factory=History)
    history: History = field(default_factory=History)  # the decisions of the current plan, for undo and redo
    continued: str = ""  # the name of the table before, whose plan goes on with the open one, until this was read
    made_before: bool = False  # the plan was made for an earlier table than the open one, which may have new categories
    describe: Callable[[], str] | None = None  # returns the last decision in words, if the entries do not tell
    wanted_sample: str = ""
    tab_answered: bool = False  # whether the tab has sent what it keeps, which may then be overwritten
    tour: int | None = None  # the current step of the tour

    readings: dict[str, tuple[object, Job[Any]]] = field(default_factory=dict)  # see `background_read`
    _results: dict[str, list[tuple[object, Any]]] = field(default_factory=dict)
    _generation: int = 0
    _renewals: dict[str, int] = field(default_factory=dict)
    _place: Place | None = None

    @cached_property
    def ledger(self) -> Ledger:
        """The account's part of the ledger at PRIVATE_RELEASE_LEDGER, else of the one in this system account's folder.

        In a demonstration it is this visitor's own, in memory.
        """
        return Ledger(demo.ledger_address(), owner=self.account.owner)

    @property
    def ledger_to_charge(self) -> Ledger:
        """The same ledger, to spend a budget. Raises `BudgetError` if the role does not let the visitor publish."""
        self.account.require(May.PUBLISH)
        return self.ledger

    def set_cap(self, dataset: str, cap: Fraction | str) -> None:
        """Set the total ε that a dataset may ever spend. Raises `BudgetError` if the role does not allow it."""
        self.account.require(May.CAP)
        self.ledger.set_cap(dataset, cap)

    def send_for_approval(self, plan: Plan, note: str, *, other_people: bool) -> None:
        """Ask another person of the account to approve a plan. Raises `BudgetError` if the role does not allow it."""
        self.account.require(May.PUBLISH)
        self.ledger.approvals.send(plan, self.actor, note, other_people=other_people)

    def decide(self, request_id: str, note: str, *, approve: bool) -> None:
        """Approve or decline a plan of somebody else. Raises `BudgetError` if the role does not allow it."""
        self.account.require(May.APPROVE)
        desk = self.ledger.approvals
        (desk.approve if approve else desk.decline)(request_id, self.actor, note)

    def withdraw(self, request_id: str) -> None:
        """Take back a request that the visitor made or may decide on. Raises `BudgetError` for others."""
        desk = self.ledger.approvals
        if not self.actor.is_same(desk.request(request_id).asked_by):
            self.account.require(May.APPROVE)
        desk.withdraw(request_id, self.actor)

    def set_rule(self, dataset: str, *, needed: bool) -> None:
        """Set whether a dataset needs approval, or with "" all do. Raises `BudgetError` if the role forbids it."""
        self.account.require(May.RULE)
        self.ledger.approvals.set_rule(dataset, needed=needed)

    @property
    def actor(self) -> Actor:
        """The visitor, as named in requests for approval."""
        return Actor(self.person.identity, self.person.name)

    @cached_property
    def tab_question(self) -> Question:
        """The question to the visitor's tab about a plan that it keeps."""
        return Question(session_resources.running_session())

    def key(self, name: str) -> str:
        """Return a widget's key that is new for each table, so that nothing typed for one appears for another."""
        return f"{name}-{self._generation}"

    def fresh_key(self, name: str) -> str:
        """Return a widget's key that `renew` changes, so that a box takes its new content or a popover closes."""
        return self.key(f"{name}-{self.renewals(name)}")

    def renew(self, name: str) -> None:
        """Change the key that `fresh_key` gives for `name`, as for another run of an attack with this name."""
        self._renewals[name] = self.renewals(name) + 1

    def renewals(self, name: str) -> int:
        """Return how often `renew` was called for `name`."""
        return self._renewals.get(name, 0)

    def while_shown(self, take: Callable[..., None]) -> Callable[..., None]:
        """Return `take` for a widget that is drawn now, to be called only until other entries are shown instead.

        A browser that has not drawn the new page yet may still send the value of a widget of the old one, and Streamlit
        takes that for a change.
        """
        shown = self._generation

        def take_if_shown(*given: Any) -> None:
            if self._generation == shown:
                take(*given)

        return take_if_shown

    def change(self, **changes: Any) -> None:
        """Change some of the entries."""
        self.unpublished = None
        self.entries = self.entries.with_(**changes)

    def refresh(self, entries: Entries, describe: Callable[[], str] | None = None) -> None:
        """Use other entries for the open table, and show them in every widget.

        `describe` returns the decision in words, in the page's language; the history is kept in English.
        """
        self._generation += 1
        self.entries = entries
        self.describe = describe

    def draft(self) -> Draft:
        """Return the current plan with the name of its table, and with how this was read."""
        return Draft(
            self.table_name, self.sample, tuple(sorted(self.settled)), self.entries, self.account.owner,
            self.read_as.get("frequency", ""), self.read_as.get("answers", {}),
        )  # fmt: skip

    def note(self) -> None:
        """Note in the history what was decided since the last call; to be called once the steps of a plan are drawn."""
        if self.table is None:
            return
        offset = st.context.timezone_offset or 0  # minutes by which the visitor's clock is behind UTC
        at = f"{datetime.now(UTC) - timedelta(minutes=offset):%H:%M}"
        self.history = self.history.noted(self.entries, self.settled, at=at, describe=self.describe)
        self.describe = None

    def undo(self) -> None:
        """Undo the last decision."""
        self.note()
        self._go_to(self.history.back())

    def redo(self) -> None:
        """Redo the decision that was undone last."""
        self.note()
        self._go_to(self.history.forth())

    def _go_to(self, history: History) -> None:
        if history is self.history:
            return
        self.history, self.unpublished = history, None
        self.refresh(history.now.entries)
        if self.settled != history.now.settled:
            self.settled = set(history.now.settled)
            self.settle()

    def begin(self, entries: Entries) -> None:
        """Start afresh for a new table: forget the one before, its file, and all that was typed for it."""
        st.query_params.clear()  # comes first, since another click may interrupt here
        own_is_kept = self.earlier is not None and not self.earlier.sample
        if self.table is not None and self.entries.chosen and not (self.sample and own_is_kept):
            self.note()
            self.earlier = self.draft()
            self.earlier_columns = frozenset(field.name for field in self.table.columns)
            self.earlier_history = self.history
        self.history, self.continued, self.made_before = History(), "", False
        self.close_table()
        self.release = self.unpublished = None
        self.forget("preview")
        self.refresh(entries)
        self.settled = set()

    def close_table(self) -> None:
        """Close the open table, and remove its file."""
        self.drop_readings()
        if self.table is not None:
            jobs.close(self.table)
        for old in (self.source, self._place):
            if old is not None:
                old.close()
        self.table, self.table_name, self.sample, self.read_as = None, "", "", {}
        self.source = self._place = None

    def begin_with(self, table: Table, source: Place, entries: Entries) -> None:
        """Start afresh with a table that was read from `source`, whose file is kept as long as the table."""
        source.seal()
        if self._place is source:
            self._place = None
        if self.source is source:
            self.source = None
        self.begin(entries)
        self.keep_table(table, source.name)
        self.source = source

    def keep_table(self, table: Table, name: str, *, sample: str = "") -> None:
        """Keep an open table for the session under its `name`; `sample` is its key if it is a sample.

        Raises `BudgetError` if the role does not let the visitor see rows.
        """
        self.account.require(May.PUBLISH)
        session_resources.keep(table)
        self.table, self.table_name, self.sample = table, name, sample
        self.settle("table")

    @property
    def place(self) -> Place:
        """The place where a file may arrive. Raises `BudgetError` if the role does not let the visitor publish."""
        self.account.require(May.PUBLISH)
        if self._place is None or self._place.closed:
            self._place = Place(session_resources.running_session())
            session_resources.keep(self._place)
        return self._place

    def settle(self, *steps: str) -> None:
        """Mark these steps as settled, which folds them, and open the next one that is not."""
        self.settled |= set(steps)
        self.step = next((name for name in STEPS if name not in self.settled), "")

    def open_step(self, step: str) -> None:
        """Show the controls of a step."""
        self.step = step

    @property
    def opened(self) -> str:
        """The step whose controls are shown; "" once all are settled."""
        return "table" if self.table is None else self.step

    def close(self) -> None:
        """Forget all that a visitor of a demonstration did, including their ledger, once they have left."""
        self.close_table()
        self.__dict__ = vars(VisitState(self.person, self.account))

    def drop_readings(self) -> None:
        """Stop and forget all readings of the table."""
        for _question, job in self.readings.values():
            job.stop()
        self.readings.clear()

    def once(self, name: str, question: object, work: Callable[[], T], *, afresh: bool = False, most: int = 1) -> T:
        """Return the result of `work`, also if that is None; it runs only once while `question` stays the same.

        For each `name`, the results of the last `most` questions are kept. With `afresh`, `work` runs again.
        """
        for earlier, known in () if afresh else self._results.get(name, ()):
            if earlier == question:
                found: T = known
                return found
        result = work()
        self.keep(name, question, result, most)
        return result

    def keep(self, name: str, question: object, result: object, most: int = 1) -> None:
        """Keep the result for a question under `name`, and of earlier ones only the last `most` - 1."""
        others = [each for each in self._results.get(name, ()) if each[0] != question]
        self._results[name] = [(question, result), *others][:most]

    def recall(self, name: str, question: object) -> Any:
        """Return the result kept under `name` for a question, or None if there is none."""
        return next((result for earlier, result in self._results.get(name, ()) if earlier == question), None)

    def forget(self, name: str) -> None:
        """Forget the results kept under `name`."""
        self._results.pop(name, None)


def visit() -> VisitState:
    """Return the state of the visitor whose page is being drawn; if nobody is signed in, the run ends here."""
    who, state = person(), st.session_state.get(VISIT)
    if who is not None and isinstance(state, VisitState) and state.person == who:
        return state
    accounts = [] if who is None else accounts_of(who)
    if who is None or not accounts:
        st.stop()
    return _begin(who, accounts[0])


def change_account(account: Account) -> None:
    """Change to another of the person's accounts, with nothing from the one before."""
    here = visit()
    if account not in accounts_of(here.person):
        raise BudgetError(_("You are not in this group."))
    st.query_params.clear()
    _begin(here.person, account)


def _begin(who: Person, account: Account) -> VisitState:
    before = st.session_state.get(VISIT)
    if isinstance(before, VisitState):
        before.close_table()
        st.session_state.clear()  # also what was typed
    fresh = st.session_state[VISIT] = VisitState(who, account)
    if demo.is_demo():
        session_resources.keep(fresh)
    return fresh


def require_entry() -> None:
    """Send a visitor who opened a page directly to `app.py` first.

    Until some session has run `app.py`, a server runs the files of `pages` by themselves.
    """
    if VISIT not in st.session_state:
        st.switch_page("app.py")
