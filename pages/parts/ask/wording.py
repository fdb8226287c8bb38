"""Questions and answers in sentences and numbers, for the pages."""

from __future__ import annotations

from decimal import Decimal

from dpengine.exact import exact_text
from dpengine.results.answer import Answer, Expected
from dpengine.spec.query import Count, Mean, Mode, Proportion, Quantile, Question, Sum, quantile_name
from pages.parts.shared.wording import percent, plain, plural

__all__ = ["error_words", "interval", "number", "sensitivity_words", "shown", "told"]


def number(value: float | Decimal, error: float) -> str:
    """A number with the digits that an error of this size leaves it.

    >>> number(1234567.891, 120.0), number(38.7523587, 0.006), number(0.5, 3.0)
    ('1,234,568', '38.7524', '0.5')
    """
    digits = 0
    while digits < 8 and error * 10**digits < 10:
        digits += 1
    text = f"{float(value):,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def sensitivity_words(question: Question) -> str:
    """Δ, in units that a person knows, and why."""
    k = question.unit.rows
    whose = "One person" if k == 1 else f"One person, with at most {plural(k, 'row')},"
    match question.statistic:
        case Count():
            return f"{whose} changes it by at most {k}: that is its sensitivity Δ."
        case Proportion():
            return (
                f"It is measured as two numbers, of the rows that do and of those that do not. {whose} changes both "
                f"together by at most {k}: Δ = {k}."
            )
        case Sum(of=grid):
            most = max(abs(grid.low), abs(grid.high)) * k
            return f"{whose} changes it by at most {most:,f}: that is its sensitivity Δ, from the bounds."
        case Mean(of=grid):
            width = (grid.high - grid.low) * k
            return (
                f"It is measured as two sums, of what values lie above {grid.low:,f} and below {grid.high:,f}. {whose} "
                f"changes both together by at most {width:,f}: Δ = {width:,f}."
            )
        case Quantile(level=level):
            ranks = k * max(level, 1 - level)
            return (
                f"Each of the values in question has a score: how many ranks it is away. {whose} changes a score by at "
                f"most {float(ranks):g}: Δ = {float(ranks):g}."
            )
        case Mode():
            return f"Each value's score is its number of rows. {whose} changes a score by at most {k}: Δ = {k}."


def error_words(question: Question, expected: Expected) -> str:
    """How far off the answer will be, before it is paid for."""
    match question.statistic:
        case Quantile(level=level):
            return (
                f"In 95 of 100 draws the answer is within **{plural(expected.reach or 0, 'rank')}** of a true "
                f"{quantile_name(level)}: so many rows lie between them."
            )
        case Mode():
            return (
                f"In 95 of 100 draws no other value has more than **{plural(expected.reach or 0, 'row')}** more than "
                "the one that is answered."
            )
    if expected.half_width is None or expected.mean_abs is None:
        return "How far off it will be depends on the number of rows: say roughly how many there are."
    if isinstance(question.statistic, Proportion):
        wide, typical = (f"{number(100 * part, 100 * part)} %" for part in (expected.half_width, expected.mean_abs))
        points = " points"
    else:
        wide, typical = (number(part, part) for part in (expected.half_width, expected.mean_abs))
        points = ""
    most, answer = "", "The answer"
    if isinstance(question.statistic, Proportion | Mean):
        most, answer = "at most ", f"With about {plural(question.rows_about or 0, 'such row')}, the answer"
    return (
        f"{answer} will typically be off by {most}about **{typical}**{points}, in 95 of 100 draws by **{wide}** at "
        "most."
    )


def shown(answer: Answer) -> str:
    """The value of an answer."""
    if isinstance(answer.value, str):
        return answer.value
    if isinstance(answer.question.statistic, Proportion):
        return percent(float(answer.value))
    return number(answer.value, _half(answer))


def interval(answer: Answer) -> str:
    """Between what the true value lies; for a chosen value how near it is."""
    if answer.low is None or answer.high is None:
        return within(answer)
    if isinstance(answer.question.statistic, Proportion):
        half = 100 * _half(answer)
        return f"{number(100 * answer.low, half)} % to {number(100 * answer.high, half)} %"
    return f"{number(answer.low, _half(answer))} to {number(answer.high, _half(answer))}"


def within(answer: Answer) -> str:
    """How near a chosen value is to the best."""
    steps = answer.reach or 0
    return f"within {plural(steps, 'row' if isinstance(answer.question.statistic, Mode) else 'rank')}"


def _half(answer: Answer) -> float:
    if answer.low is None or answer.high is None:
        return 1.0 if isinstance(answer.value, str) else max(float(abs(answer.value)) / 1e6, 1e-6)
    return max(float(answer.high - answer.low) / 2, 1e-9)


def told(answer: Answer) -> str:
    """An answer in a sentence, for Markdown."""
    what = plain(answer.question.description)
    value, price = plain(shown(answer)), exact_text(answer.question.epsilon)
    if answer.low is None:
        return f"The {what}: **{value}**, with 95 % probability {within(answer)} of the best; ε = {price}."
    return f"The {what}: **{value}**, 95 % interval {plain(interval(answer))}; ε = {price}."
