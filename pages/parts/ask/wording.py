"""Sentences on how much one person can change an answer, and on how wrong it will be."""

from __future__ import annotations

from dpengine.results.answer import Expected
from dpengine.results.answer_wording import number
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query import Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance, quantile_name
from dpengine.translation.catalogue import _, localised, plural

__all__ = ["error_words", "sensitivity_words"]


def sensitivity_words(question: Question) -> str:
    """Say by how much one person can change what is measured: the sensitivity Δ."""
    k = question.unit.rows
    whose = (
        _("One person")
        if k == 1
        else plural("One person, with at most {n} row,", "One person, with at most {n} rows,", k)
    )
    text = _change(question, whose)
    if question.by:
        text += _(" That holds for all groups together, since each row is in one group only.")
    return text


def _change(question: Question, whose: str) -> str:
    """Say by how much one person, called `whose`, changes what is measured for each kind of question."""
    k = localised(f"{question.unit.rows}")
    match question.statistic:
        case Count():
            return _("{whose} changes it by at most {most}: that is its sensitivity Δ.", whose=whose, most=k)
        case Proportion():
            return _(
                "Two numbers are measured: the rows that meet the condition, and the rows that do not. {whose} changes "
                "both together by at most {most}: Δ = {most}.",
                whose=whose,
                most=k,
            )
        case Sum(of=grid):
            most = localised(f"{max(abs(grid.low), abs(grid.high)) * question.unit.rows:,f}")
            return _(
                "{whose} changes it by at most {most}: that is its sensitivity Δ, from the bounds.",
                whose=whose,
                most=most,
            )
        case Mean(of=grid):
            return _(
                "Two sums are measured: how far values lie above {low}, and how far below {high}. {whose} changes both "
                "together by at most {most}: Δ = {most}.",
                whose=whose,
                **_ends(grid),
                most=localised(f"{(grid.high - grid.low) * question.unit.rows:,f}"),
            )
        case Variance(of=grid):
            return _(
                "Three sums are measured, to which a value adds by its place between {low} and {high}: together always "
                "1. {whose} changes them together by at most {most}: Δ = {most}.",
                whose=whose,
                **_ends(grid),
                most=k,
            )
        case Quantile(level=level):
            return _(
                "Each possible value gets a score: how many ranks it is away from the right one. {whose} changes a "
                "score by at most {most}: Δ = {most}.",
                whose=whose,
                most=localised(f"{float(question.unit.rows * max(level, 1 - level)):g}"),
            )
        case Mode():
            return _(
                "Each value's score is its number of rows. {whose} changes a score by at most {most}: Δ = {most}.",
                whose=whose,
                most=k,
            )


def _ends(grid: Grid) -> dict[str, str]:
    return {"low": localised(f"{grid.low:,f}"), "high": localised(f"{grid.high:,f}")}


def error_words(question: Question, expected: Expected) -> str:
    """Say how wrong the answer will be, before it is paid for."""
    match question.statistic:
        case Quantile(level=level):
            return _(
                "95 times in 100, the answer is within **{ranks}** of the true {quantile}: at most that many rows lie "
                "between them.",
                ranks=plural("{n} rank", "{n} ranks", expected.reach or 0),
                quantile=quantile_name(level),
            )
        case Mode():
            return _(
                "95 times in 100, the answer is the most common value, or within **{rows}** of it.",
                rows=plural("{n} row", "{n} rows", expected.reach or 0),
            )
    if expected.half_width is None or expected.mean_abs is None:
        return _("The error depends on the number of rows: enter roughly how many there are.")
    return _numeric_error(question, expected.mean_abs, expected.half_width)


def _numeric_error(question: Question, typical: float, wide: float) -> str:
    """Say how far off a number will typically be, and how far at most 95 times in 100."""
    off = {"typical": typical, "wide": wide}
    if isinstance(question.statistic, Proportion):
        errors = {name: _("**{part} %** points", part=number(100 * part, 100 * part)) for name, part in off.items()}
    else:
        errors = {name: f"**{number(part, part)}**" for name, part in off.items()}
    if not isinstance(question.statistic, Proportion | Mean | Variance):
        if question.by:
            return _(
                "The answer of each group will typically be off by about {typical}, and 95 times in 100 by at most "
                "{wide}.",
                **errors,
            )
        return _(
            "The answer will typically be off by about {typical}, and 95 times in 100 by at most {wide}.", **errors
        )
    rows = plural("{n} such row", "{n} such rows", question.rows_about or 0)
    if question.by:
        rows = _("{rows} in {groups} groups of one size", rows=rows, groups=localised(f"{question.groups:,}"))
    return _(
        "With about {rows}, the answer will typically be off by at most about {typical}, and 95 times in 100 by at "
        "most {wide}.",
        rows=rows,
        **errors,
    )
