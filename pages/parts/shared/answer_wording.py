"""Answers to single questions in numbers and sentences."""

from __future__ import annotations

from decimal import Decimal

from dpengine.exact import exact_text
from dpengine.results.answer import Answer
from dpengine.spec.query import Mode, Proportion
from pages.parts.shared.wording import percent, plain, plural

__all__ = ["answer_interval", "answer_sentence", "answer_value", "number"]


def number(value: float | Decimal, error: float) -> str:
    """Return a number with the digits that an error of this size leaves meaningful.

    >>> number(1234567.891, 120.0), number(38.7523587, 0.006), number(0.5, 3.0)
    ('1,234,568', '38.7524', '0.5')
    """
    digits = 0
    while digits < 8 and error * 10**digits < 10:
        digits += 1
    text = f"{float(value):,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def answer_value(answer: Answer) -> str:
    """Return the value of an answer."""
    if isinstance(answer.value, str):
        return answer.value
    if isinstance(answer.question.statistic, Proportion):
        return percent(float(answer.value))
    return number(answer.value, _half(answer))


def answer_interval(answer: Answer) -> str:
    """Return the interval of the true value; for a chosen value, how near it is to the best."""
    if answer.low is None or answer.high is None:
        return _nearness(answer)
    if isinstance(answer.question.statistic, Proportion):
        half = 100 * _half(answer)
        return f"{number(100 * answer.low, half)} % to {number(100 * answer.high, half)} %"
    return f"{number(answer.low, _half(answer))} to {number(answer.high, _half(answer))}"


def _nearness(answer: Answer) -> str:
    steps = answer.reach or 0
    return f"within {plural(steps, 'row' if isinstance(answer.question.statistic, Mode) else 'rank')}"


def _half(answer: Answer) -> float:
    if answer.low is None or answer.high is None:
        return 1.0 if isinstance(answer.value, str) else max(float(abs(answer.value)) / 1e6, 1e-6)
    return max(float(answer.high - answer.low) / 2, 1e-9)


def answer_sentence(answer: Answer) -> str:
    """Return an answer as a sentence, for Markdown."""
    what = plain(answer.question.description)
    value, price = plain(answer_value(answer)), exact_text(answer.question.epsilon)
    if answer.low is None:
        return f"The {what}: **{value}**, with 95 % probability {_nearness(answer)} of the best; ε = {price}."
    return f"The {what}: **{value}**, 95 % interval {plain(answer_interval(answer))}; ε = {price}."
