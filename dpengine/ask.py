"""Answer one private question about a table: draw once, charge the same budget as releases, and store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np
from scipy.optimize import isotonic_regression

from dpengine.accounting.drawing import check_reopens
from dpengine.accounting.entry import Charge, Kind, Outcome, Resemblance
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.sketch import Sketch
from dpengine.array_types import Ints
from dpengine.counting import count, single_query, table_sketch
from dpengine.counting.single_query import Selection
from dpengine.errors import BudgetError, PlanError
from dpengine.exact import exact_text
from dpengine.mechanisms.scalar_queries import add_noise, quantile_scores
from dpengine.mechanisms.variance import three_sums
from dpengine.noise.selection import permute_and_flip
from dpengine.results.answer import Answer, check_given, conclude, reopen
from dpengine.sources.open import Source, open_table
from dpengine.sources.table import Table
from dpengine.spec.domain import Column
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import exact_epsilon
from dpengine.spec.query import Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance

__all__ = ["ask", "ask_rows_kept", "history", "published", "resembling", "rising", "rows_kept_questions"]


def ask(
    table: Table | Source,
    question: Question,
    ledger: Ledger | None = None,
    *,
    other_people: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Answer:
    """Answer `question` about `table` once: count, draw, charge and store in one step, and only then return.

    The same question about the same data returns the stored answer and costs nothing, whatever dataset it names.
    Without a `ledger`, a fresh one in memory is used for this one call: for experiments, since nothing is remembered.
    `progress` is called with "adding noise" before noise is drawn. If it raises, nothing is spent; from there on
    only the end of the process can prevent the record.

    A table that resembles one that was charged for before shares its budget, whatever its name, unless the owner states
    that it is of `other_people`; the ledger records the statement.

    The answer is ε-differentially private for `question.unit` under adding or removing one person: each row is encoded
    by itself and at most `unit.rows` rows of a person count, so one person changes the measured numbers by at most
    `Question.sensitivity`.

    Raises `PlanError`, `TableError`, `BudgetError` or `LedgerError`; nothing is spent then.
    """
    check_given(question)
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return ask(opened, question, ledger, other_people=other_people, progress=progress)
    charged = ledger if ledger is not None else Ledger.in_memory()
    single_query.check(table, _columns(question), question.unit)
    fingerprint = charged.fingerprint(count.digest(table))

    def prepare() -> list[int] | Ints:
        blank = conclude(question, [0] * (question.groups * question.numbers))
        check_reopens(blank, blank.to_bytes(), reopen)
        truncation_key = charged.derive_key("truncation", fingerprint, question.key.encode())
        exact = _exact(table, question, Selection(question.where, question.unit, truncation_key, question.by))
        count.check_unchanged(table)
        return exact

    def draw(exact: list[int] | Ints) -> Outcome:
        drawn, cost = _draw(question, exact)
        answer = conclude(question, drawn)
        return Outcome(answer.answer_id, answer.created, cost, answer.to_bytes())

    summary = f"one question: {question.statistic.kind}"
    charge = Charge(
        Kind.ANSWER, question.dataset, fingerprint, question.key, question.epsilon, question.description, summary,
        _sketch(table, question), other_people,
    )  # fmt: skip
    return charged.charge_once(charge, prepare, draw, reopen, report=progress)


def rows_kept_questions(dataset: str, person: str, bounds: Sequence[int], epsilon: object) -> list[Question]:
    """Return the questions of `ask_rows_kept`, whose ε add up to `epsilon` exactly.

    A bound of k rows gets a share of ε in proportion to √k, which minimises the sum of the scales k/ε_k of the noise.
    Raises `PlanError` for an ε or bounds that cannot be read.

    >>> [str(each.epsilon) for each in rows_kept_questions("clinic", "patient", [1, 4], "0.3")]
    ['1/10', '1/5']
    """
    weights = [round(1000 * bound**0.5) for bound in bounds]
    try:
        total = exact_epsilon(epsilon)
    except ValueError as error:
        raise PlanError(str(error)) from None
    amounts = [total * weight / sum(weights) for weight in weights]
    return [
        Question(dataset=dataset, epsilon=part, unit={"id": person, "rows": bound}, statistic=Count())
        for bound, part in zip(bounds, amounts, strict=True)
    ]


def ask_rows_kept(
    table: Table | Source,
    questions: Sequence[Question],
    ledger: Ledger,
    *,
    other_people: bool = False,
    progress: Callable[[str], None] | None = None,
) -> dict[int, Answer]:
    """Estimate privately how many rows are kept under several bounds k on the rows of a person; return them by k.

    The number of rows kept under k is Σ min(rows of a person, k). Adding or removing one person changes it by at most
    k, so it is the question for a count with a unit of k rows: discrete Laplace noise of scale k/ε_k makes the answer
    ε_k-differentially private (`ask`). Each answer is charged and recorded before the next one is drawn, and the
    answers together cost Σ ε_k (basic composition: Dwork & Roth 2014, Theorem 3.16). They are made with independent
    noise, so a larger bound may get a smaller answer: see `rising`.

    Raises as `ask` does, and `BudgetError` before the first draw if the budget does not allow them all.
    """
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return ask_rows_kept(opened, questions, ledger, other_people=other_people, progress=progress)
    fingerprint = ledger.fingerprint(count.digest(table))
    due = [each for each in questions if ledger.find(fingerprint, each.key) is None]
    price = sum((each.epsilon for each in due), Fraction(0))
    for question in due[:1]:
        alike = [] if other_people else resembling(table, question, fingerprint, ledger)
        left = ledger.left(question.dataset, fingerprint, alike)
        if left is not None and price > left:
            raise BudgetError(f"these questions cost {exact_text(price)}, and {exact_text(left)} is left")
    return {
        question.unit.rows: ask(table, question, ledger, other_people=other_people, progress=progress)
        for question in questions
    }


def rising(answers: Mapping[int, Answer]) -> dict[int, int]:
    """Return the answers of `ask_rows_kept`, projected on numbers that are not negative and do not fall with the bound.

    A larger bound keeps no fewer rows. The numbers are weighted by the precision of their noise. This is
    post-processing, so it costs nothing.
    """
    bounds = sorted(answers)
    values = np.array([float(answers[bound].drawn[0]) for bound in bounds])
    precision = np.array([1 / float(answers[bound].question.scale) ** 2 for bound in bounds])
    nearest = isotonic_regression(values, weights=precision).x
    return {bound: max(0, round(float(value))) for bound, value in zip(bounds, nearest, strict=True)}


def published(digest: bytes, question: Question, ledger: Ledger) -> Answer | None:
    """Return the stored answer about data with this content digest; None if there is none."""
    payload = ledger.find(ledger.fingerprint(digest), question.key)
    return None if payload is None else reopen(payload)


def resembling(table: Table, question: Question, fingerprint: bytes, ledger: Ledger) -> list[Resemblance]:
    """Return the earlier charges with which an answer would share a budget, since the table resembles theirs."""
    return ledger.resembling(question.dataset, fingerprint, _sketch(table, question))


def history(ledger: Ledger, dataset: str) -> list[Answer]:
    """Return all answers that were charged to the pool of `dataset`, in order."""
    ids = [entry.release_id for entry in ledger.history(dataset) if entry.kind is Kind.ANSWER]
    return [reopen(payload) for release_id in ids if (payload := ledger.payload(release_id)) is not None]


def _sketch(table: Table, question: Question) -> Sketch:
    return table_sketch.of_values(table, [column.table_column for column in _columns(question)])


def _columns(question: Question) -> list[Column | Grid]:
    """Return the columns that the question reads, except the ID."""
    columns: list[Column | Grid] = [*question.by, *(condition.column for condition in question.where)]
    match question.statistic:
        case Proportion(of=conditions):
            columns += [condition.column for condition in conditions]
        case Sum(of=grid) | Mean(of=grid) | Variance(of=grid) | Quantile(of=grid):
            columns.append(grid)
        case Mode(of=column):
            columns.append(column)
    return columns


def _exact(table: Table, question: Question, selection: Selection) -> list[int] | Ints:
    """Return the private exact numbers that get noise, in units of the sensitivity, or the candidates' scores.

    The numbers of each group follow one another.
    """
    match question.statistic:
        case Count():
            return [rows for rows, _ in single_query.count_matching(table, selection)]
        case Proportion(of=conditions):
            return list(chain.from_iterable(single_query.count_matching(table, selection, conditions)))
        case Sum(of=grid) | Mean(of=grid) | Variance(of=grid) as statistic:
            groups = single_query.sums(table, selection, grid, squares=isinstance(statistic, Variance))
            return [part for each in groups for part in _parts(statistic, *each)]
        case Quantile(of=grid, level=level):
            return quantile_scores(single_query.histogram(table, selection, grid), level)
        case Mode(of=column):
            return single_query.histogram(table, selection, column)[: len(column.declared)]


def _parts(statistic: Sum | Mean | Variance, rows: int, places: int, squares: int) -> tuple[int, ...]:
    """Return the measured numbers of a statistic, from the number of rows and the sums of places and of squares."""
    grid = statistic.of
    match statistic:
        case Sum():
            return (rows * grid.units(grid.low) + places,)
        case Mean():
            return places, rows * grid.steps - places
        case Variance():
            return three_sums(rows, places, squares, grid.steps)


def _draw(question: Question, exact: list[int] | Ints) -> tuple[tuple[int, ...], Fraction]:
    """Return noisy numbers, or the index of the chosen candidate, and the exact ε that the mechanism spent.

    Randomness is added to the exact numbers here; everything after it is public.
    """
    if isinstance(exact, list):
        scale = question.scale
        return tuple(add_noise(exact, scale)), question.sensitivity / scale
    epsilon, monotone = question.epsilon, isinstance(question.statistic, Mode)
    return (permute_and_flip(exact, epsilon, question.sensitivity, monotone=monotone),), epsilon
