"""Answers to single questions, and their expected errors, in numbers and short texts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

from dpengine.exact import exact_text
from dpengine.results.answer import Answer, Expected, Group
from dpengine.spec.query import Mean, Mode, Proportion, Question, Statistic, Variance, quantile_name
from dpengine.spec.query.statistic import Quantile
from dpengine.spec.wording import percent
from dpengine.translation.catalogue import _, localised, plural

__all__ = ["answer_interval", "answer_value", "describe", "describe_expected", "group_rows", "number", "root_words"]


def number(value: float | Decimal, error: float) -> str:
    """Write a number with the digits that are meaningful for an error of this size.

    >>> number(1234567.891, 120.0), number(38.7523587, 0.006), number(0.5, 3.0)
    ('1,234,568', '38.7524', '0.5')
    """
    digits = 0
    while digits < 8 and error * 10**digits < 10:
        digits += 1
    text = f"{float(value):,.{digits}f}"
    return localised(text.rstrip("0").rstrip(".") if "." in text else text)


def answer_value(answer: Answer | Group, statistic: Statistic) -> str:
    """Return the value of an answer, or of one of its groups."""
    if answer.value is None:
        assert isinstance(answer, Answer)
        return plural("{n} group", "{n} groups", answer.question.groups)
    if isinstance(answer.value, str):
        return answer.value
    if isinstance(statistic, Proportion):
        return percent(float(answer.value))
    return number(answer.value, _half(answer))


def answer_interval(answer: Answer | Group, statistic: Statistic) -> str:
    """Return the interval of the true value; for a chosen value, its distance from the best; "" for many groups."""
    if answer.low is None or answer.high is None:
        if isinstance(answer, Group) or answer.value is None:
            return ""
        return _("within {steps}", steps=_steps(answer.reach or 0, answer.question.statistic))
    half, unit, factor = _half(answer), "", 1
    if isinstance(statistic, Proportion):
        half, unit, factor = 100 * half, " %", 100
    low, high = (f"{number(factor * end, half)}{unit}" for end in (answer.low, answer.high))
    return _("{low} to {high}", low=low, high=high)


def root_words(answer: Answer | Group) -> str:
    """Return the standard deviation that a variance gives, with its interval."""
    assert isinstance(answer.value, Decimal)
    assert answer.low is not None
    assert answer.high is not None
    value, low, high = (math.sqrt(max(0.0, float(part))) for part in (answer.value, answer.low, answer.high))
    half = max((high - low) / 2, 1e-9)
    return _(
        "standard deviation {value} (95 %: {low} to {high})",
        value=number(value, half),
        low=number(low, half),
        high=number(high, half),
    )


def group_rows(answer: Answer) -> list[dict[str, str | float]]:
    """Return the groups of an answer as rows of a table: their labels, the value and its interval."""
    rows: list[dict[str, str | float]] = []
    for group in answer.groups:
        names = (column.name for column in answer.question.by)
        numbers = {name: float(getattr(group, name)) for name in ("value", "low", "high")}
        rows.append(dict(zip(names, group.labels, strict=True)) | numbers)
    return rows


def describe(answer: Answer) -> Iterator[str]:
    """Yield an answer as lines, the groups each on a line of its own.

    >>> from dpengine.results.answer import conclude
    >>> from dpengine.spec.query import Count
    >>> list(describe(conclude(Question(dataset="clinic", epsilon="1", statistic=Count()), [812])))
    ['number of rows: 812, 95 % interval 809 to 815; ε = 1']
    """
    question, price = answer.question, f"ε = {exact_text(answer.question.epsilon)}"
    if question.by:
        yield f"{question.description}, with 95 % intervals; {price}"
        for group in answer.groups:
            names = zip(question.by, group.labels, strict=True)
            yield f"  {', '.join(f'{column.name}={label}' for column, label in names)}: {_line(group, question)}"
    elif answer.low is None:
        yield f"{question.description}: {_line(answer, question)} of the best with probability 95 %; {price}"
    else:
        yield f"{question.description}: {_line(answer, question)}; {price}"


def describe_expected(question: Question, expected: Expected) -> str:
    """Describe the expected error of an answer.

    >>> from dpengine.results.answer import expect
    >>> from dpengine.spec.query import Count
    >>> asked = Question(dataset="clinic", epsilon="1", statistic=Count())
    >>> describe_expected(asked, expect(asked))
    'off by about 0.85, 95 times in 100 by at most 3'
    """
    if expected.reach is not None:
        best = quantile_name(question.statistic.level) if isinstance(question.statistic, Quantile) else "best"
        return f"95 times in 100 within {_steps(expected.reach, question.statistic)} of the {best}"
    if expected.half_width is None or expected.mean_abs is None:
        return "the error depends on the number of rows: state rows_about"
    given = most = ""
    if isinstance(question.statistic, Proportion | Mean | Variance):
        counted = "meet the condition" if question.where else "are counted"
        given, most = f"if about {question.rows_about:,} rows {counted}: ", "at most "
    each = "each group of average size " if given and question.by else "each group " if question.by else ""
    scale, unit = (100, " percentage points") if isinstance(question.statistic, Proportion) else (1, "")
    typical, wide = (number(scale * error, scale * error) for error in (expected.mean_abs, expected.half_width))
    return f"{given}{each}off by {most}about {typical}{unit}, 95 times in 100 by at most {wide}{unit}"


def _line(answer: Answer | Group, question: Question) -> str:
    words, between = answer_value(answer, question.statistic), answer_interval(answer, question.statistic)
    if answer.low is None:
        return f"{words}, {between}"
    words += f" ({between})" if isinstance(answer, Group) else f", 95 % interval {between}"
    return f"{words}; {root_words(answer)}" if isinstance(question.statistic, Variance) else words


def _steps(count: int, statistic: Statistic) -> str:
    if isinstance(statistic, Mode):
        return plural("{n} row", "{n} rows", count)
    return plural("{n} rank", "{n} ranks", count)


def _half(answer: Answer | Group) -> float:
    if answer.low is None or answer.high is None:
        return max(float(abs(answer.value)) / 1e6, 1e-6) if isinstance(answer.value, Decimal) else 1.0
    return max(float(answer.high - answer.low) / 2, 1e-9)
