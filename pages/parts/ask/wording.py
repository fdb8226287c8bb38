"""What a question costs a person, and how wrong its answer will be, in sentences."""

from __future__ import annotations

from dpengine.results.answer import Expected
from dpengine.spec.query import Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance, quantile_name
from pages.parts.shared.answer_wording import number
from pages.parts.shared.wording import plural

__all__ = ["error_words", "sensitivity_words"]


def sensitivity_words(question: Question) -> str:
    """Say by how much one person can change what is measured: the sensitivity Δ."""
    k = question.unit.rows
    whose = "One person" if k == 1 else f"One person, with at most {plural(k, 'row')},"
    if question.by:
        return f"{_change(question, whose)} That holds for all groups together, since each row is in one group only."
    return _change(question, whose)


def _change(question: Question, whose: str) -> str:
    k = question.unit.rows
    match question.statistic:
        case Count():
            return f"{whose} changes it by at most {k}: that is its sensitivity Δ."
        case Proportion():
            return (
                f"Two numbers are measured: the rows that meet the condition, and the rows that do not. {whose} "
                f"changes both together by at most {k}: Δ = {k}."
            )
        case Sum(of=grid):
            most = max(abs(grid.low), abs(grid.high)) * k
            return f"{whose} changes it by at most {most:,f}: that is its sensitivity Δ, from the bounds."
        case Mean(of=grid):
            width = (grid.high - grid.low) * k
            return (
                f"Two sums are measured: how far values lie above {grid.low:,f}, and how far below {grid.high:,f}. "
                f"{whose} changes both together by at most {width:,f}: Δ = {width:,f}."
            )
        case Variance(of=grid):
            return (
                f"Three sums are measured, to which a value adds by its place between {grid.low:,f} and "
                f"{grid.high:,f}: together always 1. {whose} changes them together by at most {k}: Δ = {k}."
            )
        case Quantile(level=level):
            ranks = k * max(level, 1 - level)
            return (
                f"Each possible value gets a score: how many ranks it is away from the right one. {whose} changes a "
                f"score by at most {float(ranks):g}: Δ = {float(ranks):g}."
            )
        case Mode():
            return f"Each value's score is its number of rows. {whose} changes a score by at most {k}: Δ = {k}."


def error_words(question: Question, expected: Expected) -> str:
    """Say how wrong the answer will be, before it is paid for."""
    match question.statistic:
        case Quantile(level=level):
            return (
                f"95 times in 100, the answer is within **{plural(expected.reach or 0, 'rank')}** of the true "
                f"{quantile_name(level)}: at most that many rows lie between them."
            )
        case Mode():
            return (
                "95 times in 100, the answer is the most common value, or within "
                f"**{plural(expected.reach or 0, 'row')}** of it."
            )
    if expected.half_width is None or expected.mean_abs is None:
        return "The error depends on the number of rows: enter roughly how many there are."
    if isinstance(question.statistic, Proportion):
        wide, typical = (f"{number(100 * part, 100 * part)} %" for part in (expected.half_width, expected.mean_abs))
        points = " points"
    else:
        wide, typical = (number(part, part) for part in (expected.half_width, expected.mean_abs))
        points = ""
    most, answer = "", "The answer of each group" if question.by else "The answer"
    if isinstance(question.statistic, Proportion | Mean | Variance):
        each = f" in {question.groups:,} groups of one size" if question.by else ""
        most, answer = "at most ", f"With about {plural(question.rows_about or 0, 'such row')}{each}, the answer"
    return (
        f"{answer} will typically be off by {most}about **{typical}**{points}, and 95 times in 100 by at most "
        f"**{wide}**{points}."
    )
