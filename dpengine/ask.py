"""From a question to its answer: told beforehand how wrong it will be, charged, drawn once, and kept.

Questions and releases draw on one budget. What was asked before of the same data, at the same price, is answered from
the ledger and costs nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from dpengine.accounting.ledger import Ledger
from dpengine.array_types import Ints
from dpengine.counting import count
from dpengine.counting.count import Asked
from dpengine.errors import LedgerError, PlanError
from dpengine.estimate.error_distribution import sum_error
from dpengine.mechanisms.scalar_queries import noisy, quantile_scores, ratio, ratio_half_width, reach
from dpengine.noise.selection import permute_and_flip
from dpengine.sources.open import Source, Table, open_table
from dpengine.spec.domain import Column
from dpengine.spec.numeric_grid import Grid
from dpengine.spec.query import Count, Mean, Mode, Proportion, Quantile, Question, Sum
from dpengine.version import VERSION

__all__ = ["Answer", "Expected", "ask", "expect", "history", "is_answer", "published", "reopen"]


KIND = "answer"
_HEAD = f'{{"kind": "{KIND}"'.encode()
_SUMMARY = "one question: "  # how the budget's history tells questions from releases


@dataclass(frozen=True, slots=True)
class Expected:
    """How far off an answer will be, said before anything is spent.

    ``half_width`` is ± in units of the answer, reached in 95 of 100 draws at most; None where it depends on the number
    of rows and the question does not say how many there are about. ``mean_abs`` is the mean absolute error, at worst.
    For a chosen value ``reach`` says instead how many ranks (quantile) or rows (most common value) it is away from
    the best, in 95 of 100 draws at most.
    """

    half_width: float | None = None
    mean_abs: float | None = None
    reach: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A paid answer, as it may be shown to anyone.

    ``value`` is a number, or for the most common value a label; ``low`` and ``high`` are its 95 % interval. For a
    chosen value ``reach`` stands instead, as in `Expected`. ``drawn`` are the noisy whole numbers, or the place
    of the chosen candidate: all that the mechanism gave, from which the rest follows.
    """

    question: Question
    value: Decimal | str
    low: Decimal | None
    high: Decimal | None
    reach: int | None
    drawn: tuple[int, ...]
    answer_id: str
    created: str
    software: str

    def to_bytes(self) -> bytes:
        """The answer as the ledger keeps it."""
        told = {name: getattr(self, name) for name in Answer.__slots__} | {"question": self.question.to_dict()}
        return json.dumps({"kind": KIND, **told}, default=str, ensure_ascii=False).encode()


def expect(question: Question) -> Expected:
    """How far off the answer will be: a function of the question alone, exact from the law of the noise.

    What clamping to the bounds and rounding to the grid change is not in it: that depends on the rows. For averages and
    shares it is the most that it can be, at the ends of the range.
    """
    match question.statistic:
        case Count():
            law = sum_error(1, question.scale)
            return Expected(law.half_width(), law.mean_abs)
        case Sum(of=grid):
            law = sum_error(1, question.scale)
            return Expected(law.half_width() * float(grid.step), law.mean_abs * float(grid.step))
        case Proportion() | Mean() as statistic:
            if question.rows_about is None:
                return Expected()
            width = float(statistic.of.high - statistic.of.low) if isinstance(statistic, Mean) else 1.0
            total = question.rows_about * (statistic.of.steps if isinstance(statistic, Mean) else 1)
            half = ratio_half_width(0.0, float(question.scale)) / total
            return Expected(min(half, 1.0) * width, min(sum_error(1, question.scale).mean_abs / total, 1.0) * width)
        case Quantile() | Mode():
            return Expected(reach=_reach(question))


def ask(table: Table | Source, question: Question, ledger: Ledger | None = None) -> Answer:
    """Answer ``question`` about ``table`` once: count, draw, charge and store in one step, and only then return.

    The same question of the same data gives the stored answer back and costs nothing, whatever it is called. Without a
    ``ledger`` a fresh one in memory serves for this one call: for experiments, since nothing is remembered.

    The answer is ε-differentially private for ``question.unit`` under adding or removing one person: each row is coded
    by itself, at most ``unit.rows`` rows of a person count, and so Δ of `Question.sensitivity` bounds what a
    person moves. Raises `PlanError`, `TableError` or `BudgetError`; then nothing has been spent.
    """
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return ask(opened, question, ledger)
    book = ledger if ledger is not None else Ledger.in_memory()
    count.check_asked(table, _columns(question), question.unit)
    fingerprint = book.fingerprint(count.digest(table))
    if (stored := book.find(fingerprint, question.key)) is not None:
        return reopen(stored)
    book.check(question.dataset, fingerprint, question.epsilon)
    key = book.derive_key("truncation", fingerprint, question.key.encode())
    exact = _exact(table, question, Asked(question.where, question.unit, key))
    answer = _read(question, _draw(question, exact))
    written = answer.to_bytes()
    if reopen(written).question.key != question.key:
        raise PlanError("this question is another one when read back from what is written of it; nothing was spent")
    table.check_unchanged()
    payload = book.record(
        dataset=question.dataset,
        fingerprint=fingerprint,
        plan_key=question.key,
        epsilon=question.epsilon,
        release_id=answer.answer_id,
        created=answer.created,
        title=question.description,
        summary=_SUMMARY + question.statistic.kind,
        payload=written,
    )
    return reopen(payload)


def published(digest: bytes, question: Question, ledger: Ledger) -> Answer | None:
    """What was answered before on data of this content digest; None if nothing was."""
    stored = ledger.find(ledger.fingerprint(digest), question.key)
    return None if stored is None else reopen(stored)


def history(ledger: Ledger, dataset: str) -> list[Answer]:
    """All answers on the account of ``dataset``, in order."""
    ids = [entry.release_id for entry in ledger.history(dataset) if entry.summary.startswith(_SUMMARY)]
    return [reopen(payload) for name in ids if (payload := ledger.payload(name)) is not None]


def is_answer(payload: bytes) -> bool:
    """Whether an entry of the ledger is the answer to a question."""
    return payload.startswith(_HEAD)


def reopen(payload: bytes) -> Answer:
    """A stored answer. Raises `LedgerError` where it is none."""
    try:
        held: dict[str, Any] = json.loads(payload)
        if held.pop("kind") != KIND:
            raise ValueError("another kind of entry")
        question = Question(**held.pop("question"))
        numbers = {name: None if held[name] is None else Decimal(held[name]) for name in ("low", "high")}
        value = held["value"] if isinstance(question.statistic, Mode) else Decimal(held["value"])
        return Answer(**held | numbers | {"question": question, "value": value, "drawn": tuple(held["drawn"])})
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, PlanError) as error:
        raise LedgerError("this entry of the ledger is not the answer to a question") from error


def _columns(question: Question) -> list[Column | Grid]:
    """What is read of the table, the ID apart."""
    columns: list[Column | Grid] = [condition.column for condition in question.where]
    match question.statistic:
        case Proportion(of=conditions):
            columns += [condition.column for condition in conditions]
        case Sum(of=grid) | Mean(of=grid) | Quantile(of=grid):
            columns.append(grid)
        case Mode(of=column):
            columns.append(column)
    return columns


def _exact(table: Table, question: Question, asked: Asked) -> list[int] | Ints:
    """What the noise is added to, in the units of the sensitivity; or the score of each candidate. Private."""
    match question.statistic:
        case Count():
            return [count.matching(table, asked)[0]]
        case Proportion(of=conditions):
            return list(count.matching(table, asked, conditions))
        case Sum(of=grid):
            rows, places = count.sums(table, asked, grid)
            return [rows * grid.units(grid.low) + places]
        case Mean(of=grid):
            rows, places = count.sums(table, asked, grid)
            return [places, rows * grid.steps - places]
        case Quantile(of=grid, level=level):
            return quantile_scores(count.histogram(table, asked, grid), level)
        case Mode(of=column):
            return count.histogram(table, asked, column)[: len(column.declared)]


def _draw(question: Question, exact: list[int] | Ints) -> tuple[int, ...]:
    """Where chance meets the exact numbers; after this line all is public."""
    if isinstance(exact, list):
        return tuple(noisy(exact, question.scale))
    monotone = isinstance(question.statistic, Mode)
    return (permute_and_flip(exact, question.epsilon, question.sensitivity, monotone=monotone),)


def _read(question: Question, drawn: Sequence[int]) -> Answer:
    """What was drawn, in units of the question, with its interval: post-processing, free of charge."""
    value: Decimal | str
    low = high = None
    match question.statistic:
        case Count() | Sum() as statistic:
            of = statistic.of.value if isinstance(statistic, Sum) else Decimal
            half = int(sum_error(1, question.scale).half_width())
            least, most = drawn[0] - half, drawn[0] + half
            if isinstance(statistic, Count) or statistic.of.low >= 0:  # then the true one is not negative
                least, most = max(least, 0), max(most, 0)
            elif statistic.of.high <= 0:
                least, most = min(least, 0), min(most, 0)
            value, low, high = of(drawn[0]), of(least), of(most)
        case Proportion() | Mean() as statistic:
            start, width = (0.0, 1.0)
            if isinstance(statistic, Mean):
                start, width = float(statistic.of.low), float(statistic.of.high - statistic.of.low)
            parts = ratio(drawn[0], drawn[1], question.scale)
            value, low, high = (Decimal(f"{start + width * part:.12g}") for part in parts)
        case Quantile(of=grid):
            value = grid.value(grid.units(grid.low) + drawn[0])
        case Mode(of=column):
            value = column.declared[drawn[0]]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Answer(question, value, low, high, _reach(question), tuple(drawn), uuid.uuid4().hex, now, VERSION)


def _reach(question: Question) -> int | None:
    match question.statistic:
        case Quantile(of=grid, level=level):
            unit = question.epsilon / (2 * question.sensitivity)
            return -(-reach(grid.steps + 1, unit) // level.denominator)
        case Mode(of=column):
            return reach(len(column.declared), question.epsilon / question.sensitivity)
        case _:
            return None
