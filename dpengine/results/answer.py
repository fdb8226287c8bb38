"""The answer to one question: its expected error, its value and interval once drawn, and its bytes in the ledger."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from dpengine.accounting.entry import Kind, reopening
from dpengine.errors import PlanError
from dpengine.estimate.error_distribution import sum_error
from dpengine.exact import exact_text
from dpengine.mechanisms.scalar_queries import ratio_half_width, ratio_interval, selection_error
from dpengine.mechanisms.variance import MEAN_CONFIDENCE, VARIANCE_CONFIDENCE, variance_interval
from dpengine.spec.query import Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance
from dpengine.translation.catalogue import _
from dpengine.version import VERSION

__all__ = ["Answer", "Expected", "Group", "conclude", "expect", "reopen"]


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected error of an answer, as far as it follows from the question alone.

    `half_width` is the half-width of the 95 % interval, in units of the answer; None if it depends on the number of
    rows and the question does not say roughly how many there are. `mean_abs` is the mean absolute error, or an upper
    bound. A chosen value has `reach` instead: with probability 95 % it misses the best one by at most that many ranks
    (quantile) or rows (most common value).
    """

    half_width: float | None = None
    mean_abs: float | None = None
    reach: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The answer for one group, with its 95 % interval."""

    labels: tuple[str, ...]
    value: Decimal
    low: Decimal
    high: Decimal


@dataclass(frozen=True, slots=True)
class Answer:
    """A paid answer, as it may be shown to anyone.

    `value` is a number, or for the most common value a label; `low` and `high` are its 95 % interval. A chosen value
    has `reach` instead, as in `Expected`. `drawn` holds the result of the mechanism: noisy whole numbers, or the index
    of the chosen candidate. Everything else follows from it. An answer by group has no value of its own, but `groups`.
    """

    question: Question
    value: Decimal | str | None
    low: Decimal | None
    high: Decimal | None
    reach: int | None
    drawn: tuple[int, ...]
    answer_id: str
    created: str
    software: str

    def __repr__(self) -> str:
        interval = "" if self.low is None else f" [{self.low}, {self.high}]"
        value = f"{len(self.groups)} groups" if self.question.by else f"{self.value}{interval}"
        return f"<{self.question.in_words}: {value}, ε = {exact_text(self.question.epsilon)}>"

    @property
    def key(self) -> str:
        """Identity of the question, at its price."""
        return self.question.key

    @property
    def groups(self) -> list[Group]:
        """The answer for each group, in the order of the declared cells; nothing if it is not by group."""
        if not self.question.by:
            return []
        width = self.question.numbers
        parts = [self.drawn[start : start + width] for start in range(0, len(self.drawn), width)]
        return [
            Group(labels, *_estimate(self.question, part))
            for labels, part in zip(self.question.group_labels, parts, strict=True)
        ]

    def to_bytes(self) -> bytes:
        """Return the answer as the ledger keeps it."""
        payload = {name: getattr(self, name) for name in Answer.__slots__} | {"question": self.question.to_dict()}
        return json.dumps({"kind": Kind.ANSWER, **payload}, default=str, ensure_ascii=False).encode()


def check_given(question: object) -> None:
    """Refuse anything else in place of a question. Raises `PlanError`."""
    if not isinstance(question, Question):
        raise PlanError(_("a question is given as a Question, made of a statistic, a dataset and ε"))


def expect(question: Question) -> Expected:
    """Return the expected error of the answer, computed exactly from the noise's distribution and the question alone.

    The error of clamping to the bounds and rounding to the grid depends on the rows and is not included. For averages
    and shares the result is an upper bound, reached at the ends of the range; it is nearly one for variances. By group,
    it is the error of each group; for averages, shares and variances, that of a group of average size.

    >>> expect(Question(dataset="clinic-2026", epsilon="1", statistic=Count())).half_width
    3.0
    """
    check_given(question)
    noise = sum_error(1, question.scale)
    rows = (question.rows_about or 0) / question.groups
    match question.statistic:
        case Count():
            return Expected(noise.half_width(), noise.mean_abs)
        case Sum(of=grid):
            return Expected(noise.half_width() * float(grid.step), noise.mean_abs * float(grid.step))
        case Proportion() | Mean() as statistic:
            if question.rows_about is None:
                return Expected()
            width = float(statistic.of.high - statistic.of.low) if isinstance(statistic, Mean) else 1.0
            total = rows * (statistic.of.steps if isinstance(statistic, Mean) else 1)
            half = ratio_half_width(0.0, float(question.scale)) / total
            return Expected(min(half, 1.0) * width, min(noise.mean_abs / total, 1.0) * width)
        case Variance(of=grid):
            if question.rows_about is None:
                return Expected()
            area, total = float(grid.high - grid.low) ** 2, rows * grid.steps**2
            half = (noise.half_width(VARIANCE_CONFIDENCE) / total) + (noise.half_width(MEAN_CONFIDENCE) / total) ** 2
            return Expected(min(half, 0.25) * area, min(noise.mean_abs / total, 0.25) * area)
        case _:
            return Expected(reach=_reach(question))


def conclude(question: Question, drawn: Sequence[int]) -> Answer:
    """Return what was drawn in units of the question, with its interval: post-processing, free of charge."""
    value: Decimal | str | None = None
    low = high = None
    match question.statistic:
        case Quantile(of=grid):
            value = grid.value(grid.units(grid.low) + drawn[0])
        case Mode(of=column):
            value = column.declared[drawn[0]]
        case _ if not question.by:
            value, low, high = _estimate(question, drawn)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Answer(question, value, low, high, _reach(question), tuple(drawn), uuid.uuid4().hex, now, VERSION)


def _estimate(question: Question, drawn: Sequence[int]) -> tuple[Decimal, Decimal, Decimal]:
    """Return the value and the 95 % interval of one group, from its noisy numbers."""
    match question.statistic:
        case Count() | Sum() as statistic:
            in_units = statistic.of.value if isinstance(statistic, Sum) else Decimal
            half = int(sum_error(1, question.scale).half_width())
            least, most = drawn[0] - half, drawn[0] + half
            if isinstance(statistic, Count) or statistic.of.low >= 0:  # then the true one is not negative
                least, most = max(least, 0), max(most, 0)
            elif statistic.of.high <= 0:
                least, most = min(least, 0), min(most, 0)
            return in_units(drawn[0]), in_units(least), in_units(most)
        case Variance(of=grid):
            start, width = 0.0, float(grid.high - grid.low) ** 2
            fractions = variance_interval(drawn, question.scale)
        case Mean(of=grid):
            start, width = float(grid.low), float(grid.high - grid.low)
            fractions = ratio_interval(drawn[0], drawn[1], question.scale)
        case _:
            start, width = 0.0, 1.0
            fractions = ratio_interval(drawn[0], drawn[1], question.scale)
    value, low, high = (Decimal(f"{start + width * part:.12g}") for part in fractions)
    return value, low, high


def reopen(payload: bytes) -> Answer:
    """Read what `Answer.to_bytes` wrote. Raises `LedgerError` if the payload is not an answer."""
    with reopening(payload, Kind.ANSWER, "this entry of the ledger is not the answer to a question") as fields:
        question = Question(**fields.pop("question"))
        numbers = {name: None if fields[name] is None else Decimal(fields[name]) for name in ("low", "high")}
        value = fields["value"]
        if value is not None and not isinstance(question.statistic, Mode):
            value = Decimal(value)
        if len(fields["drawn"]) != question.groups * question.numbers or (value is None) != bool(question.by):
            raise ValueError("the answer to another question")
        return Answer(**fields | numbers | {"question": question, "value": value, "drawn": tuple(fields["drawn"])})


def _reach(question: Question) -> int | None:
    match question.statistic:
        case Quantile(of=grid, level=level):
            unit = question.epsilon / (2 * question.sensitivity)
            return -(-selection_error(grid.steps + 1, unit) // level.denominator)
        case Mode(of=column):
            return selection_error(len(column.declared), question.epsilon / question.sensitivity)
        case _:
            return None
