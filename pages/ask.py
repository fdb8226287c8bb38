"""Ask page: one private question at a time, from the same budget as releases."""

from __future__ import annotations

import streamlit as st

from dpengine import BudgetError, LedgerError, Plan, PlanError, TableError, owner
from dpengine.accounting.composition import posterior
from dpengine.accounting.entry import Entry, Kind, Resemblance
from dpengine.ask import ask, published, resembling
from dpengine.errors import Fault
from dpengine.exact import exactly
from dpengine.results.answer import Answer, expect, reopen
from dpengine.sources.table import Table
from dpengine.spec.query import Mean, Quantile, Question, Sum, Variance
from dpengine.spec.wording import certainty
from dpengine.translation.catalogue import _, day, mark
from pages.parts.ask import form
from pages.parts.ask.history import show_history
from pages.parts.ask.wording import error_words, sensitivity_words
from pages.parts.release.ledger_entry import show_answer
from pages.parts.server.jobs import Progress
from pages.parts.shared.bill import show_bill, warn_of_ledger
from pages.parts.shared.code.show import show_code
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.fault_text import all_faults, ledger_faults_shown, sentence
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.tables import used
from pages.parts.visit.project import recent
from pages.parts.visit.project.as_code import table_values
from pages.parts.visit.recognition import digest_of_table
from pages.parts.visit.roles import publishes
from pages.parts.visit.same_people import other_people
from pages.parts.visit.samples import show_samples
from pages.parts.visit.state import require_entry, visit

PUBLISH, BUDGET = "pages/publish.py", "pages/budget.py"

CURIOUS = mark(r"""
**Noise.** Counts, sums, and the two numbers behind a share or an average get discrete Laplace noise of scale
$\Delta/\varepsilon$: whole numbers, drawn exactly (Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and
Sundararajan 2009). Numbers are first cut off at the bounds and rounded to steps, so sums are whole numbers of steps
and one person changes them by at most $\Delta$.

**Averages and shares** are $A/(A+B)$: $A$ adds up how far values lie above the lower bound, $B$ how far below the
upper one. A row adds the same to $A+B$ whatever its value, so both sums get all of $\varepsilon$. This has half the
variance of dividing a noisy sum by a noisy count at $\varepsilon/2$ each. The interval holds all shares $\theta$ for
which $(1-\theta)A-\theta B$ is no larger than its noise is in 95 of 100 draws (Fieller 1954).

**The variance** comes from three sums, in which a value at the place $t$ of its range has the weights $(1-t)^2$,
$2t(1-t)$ and $t^2$. These add up to 1, so the three sums together get all of $\varepsilon$.

**By group**, a row is in one group only, so the numbers of all groups together get all of $\varepsilon$ as well.

**Quantiles and the most common value** are chosen by permute-and-flip (McKenna and Sheldon 2020), exactly: the
probability of a candidate falls exponentially with its distance from the best.

**Neighbouring tables** differ in one person, added or removed.
""")


def main() -> None:
    """Draw the page: a table, one question about it, its price, and the answer."""
    st.title(_("Ask"), anchor=False)
    st.markdown(
        _(
            "One private question at a time, paid from the same budget as releases. You see how wrong the answer will "
            "be *before* you spend anything. Answers are stored, so the same question never costs twice."
        )
    )
    wanted = st.query_params.get("answer")
    if wanted is not None:
        _show_linked(wanted)
    if not publishes():
        return
    table = visit().table
    if table is None:
        _bring()
        return
    try:
        plan = plan_form.to_plan(visit().entries)
    except PlanError as error:
        names = used(visit().entries)
        st.info(all_faults(error, names), icon=":material/edit_note:")
        st.page_link(PUBLISH, label=_("Finish steps 2–4 on Publish first"), icon=":material/edit_note:")
        return
    try:
        owner.check_asked(table, (), plan.unit)
    except TableError as error:
        background_read.show_refusal(error)
        st.page_link(PUBLISH, label=_("Go on with the table on Publish"), icon=":material/publish:")
    else:
        _ask(plan, table)
    show_history(plan.dataset)
    with st.expander(_("For the curious"), icon=":material/school:"):
        st.markdown(_(CURIOUS))


@st.fragment
@ledger_faults_shown()
def _ask(plan: Plan, table: Table) -> None:
    """Show the question on the left and its price and error on the right; a change redraws only these two."""
    left, right = st.columns([5, 6], gap="large")
    with left, st.container(border=True):
        try:
            question: Question | None = form.build(plan, table.columns)
            faults: tuple[Fault, ...] = ()
        except PlanError as error:
            question, faults = None, error.faults
    with right, st.container(key="consequence"):
        if question is None:
            with st.container(border=True):
                st.markdown(_("**Not yet a question**"))
                st.markdown("\n".join(f"- {plain(sentence(fault))}" for fault in dict.fromkeys(faults)))
        else:
            _consequence(question, table)


def _bring() -> None:
    """Ask for a table, or offer the samples."""
    with st.container(border=True):
        st.markdown(_("Bring a table on Publish and enter what is publicly known about it, or try a sample."))
        st.page_link(PUBLISH, label=_("Bring a table on Publish"), icon=":material/upload_file:")
        show_samples("ask")


@ledger_faults_shown()
def _show_linked(wanted: str) -> None:
    """Show the answer that the address names; the Budget page links to answers in this way."""
    entry, payload = visit().ledger.entry(wanted), visit().ledger.payload(wanted)
    if entry is None or payload is None or entry.kind is not Kind.ANSWER:
        st.warning(_("There is no answer of that name in this ledger."), icon=":material/search_off:")
        return
    show_answer(reopen(payload), "linked")


def _consequence(question: Question, table: Table) -> None:
    """Show what a question measures and how wrong its answer will be; then the answer, or what it costs."""
    _show_expected(question)
    digest = digest_of_table()
    if digest is None:
        return
    ledger, data = visit().ledger, visit().ledger.fingerprint(digest)
    before = published(digest, question, ledger)
    if before is not None:
        st.markdown(_("**Answered: seeing it again costs 0.** The same question on the same data has one answer."))
        show_answer(before)
        return
    resemblances = resembling(table, question, data, ledger)
    if ledger.approvals.needed(question.dataset, data, resemblances):
        st.warning(
            _(
                "The budget of {dataset} is spent only with a second person's approval, which is for plans of tables. "
                "No single question is answered. Publish a plan that answers it.",
                dataset=plain(question.dataset),
            ),
            icon=":material/how_to_reg:",
        )
        return
    _say_what_is_there(recent.with_answer_to(question, data, ledger))
    _offer(question, table, data, resemblances)


def _say_what_is_there(entry: Entry | None) -> None:
    """Say that a release already holds the answer, before it is paid for a second time."""
    if entry is None:
        return
    text = _(
        "**Your release of {day} already holds this number**, at ε = {paid}. To look at it there costs nothing.",
        day=day(entry.created[:10]),
        paid=exactly(entry.epsilon),
    )
    st.info(text, icon=":material/inventory_2:")
    st.page_link(PUBLISH, label=_("Open that release"), query_params={"release": entry.release_id})


def _show_expected(question: Question) -> None:
    """Show the question in words, its sensitivity, its expected error, and what the answer tells of a person."""
    belief = certainty(posterior(0.5, question.epsilon))
    bounded = isinstance(question.statistic, Sum | Mean | Variance | Quantile)
    with st.container(border=True):
        st.markdown(_("#### The {question}", question=plain(question.in_words)))
        st.markdown(sensitivity_words(question))
        st.markdown(error_words(question, expect(question)))
        text = _(
            "Someone who is 50 % sure that a person is in the table can become {belief} by this answer, whatever else "
            "they know.",
            belief=belief,
        )
        if bounded:
            text += _(
                " Cutting values at your bounds and rounding to steps also changes the answer; the error above does "
                "not include that."
            )
        st.caption(text)


def _offer(question: Question, table: Table, data: bytes, resemblances: list[Resemblance]) -> None:
    """Show the bill, and the button to pay it unless the ledger refuses."""
    ledger, others = visit().ledger, other_people(data, resemblances)
    alike = [] if others else resemblances
    spent, left = ledger.spent(question.dataset, data, alike), ledger.left(question.dataset, data, alike)
    show_bill(spent, _("This question"), question.epsilon, left)
    warn_of_ledger(ledger)
    try:
        ledger.check(question.dataset, data, question.epsilon, alike)
    except (BudgetError, LedgerError) as refused:
        _refused(refused)
        return
    place = st.container()
    show_code(
        "ask",
        lambda: {"question": question.to_dict(), "file": "question.yaml", "other_people": others} | table_values(),
        {"question.yaml": question.dumps},
    )
    with place:
        _pay(question, table, other_people=others)


def _pay(question: Question, table: Table, *, other_people: bool) -> None:
    """Show the button to ask; once it is pressed, show the progress of reading, and then the page with the answer."""
    paid, label = f"answer-{question.key}", _("Ask, for ε = {epsilon}", epsilon=exactly(question.epsilon))
    if background_read.job_for(paid) is None and not st.button(
        label, type="primary", icon=":material/contact_support:", key=visit().key("ask-pay"), width="stretch"
    ):
        return
    charged = visit().ledger_to_charge

    def work(progress: Progress) -> Answer:
        return ask(table, question, charged, other_people=other_people, progress=progress)

    answer: Answer | None = background_read.read(paid, work, table)
    if answer is None:
        st.caption(_("Nothing is spent before noise is drawn."))
        return
    st.query_params.clear()
    st.rerun()


def _refused(error: BudgetError | LedgerError) -> None:
    """Show why the ledger refuses."""
    background_read.show_refusal(error)
    st.caption(_("Nothing was drawn or spent."))
    st.page_link(BUDGET, label=_("See the budget"), icon=":material/account_balance_wallet:")


require_entry()
main()
