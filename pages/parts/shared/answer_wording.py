"""Answers to single questions in sentences, for Markdown."""

from __future__ import annotations

from dpengine.exact import exact_text
from dpengine.results.answer import Answer
from dpengine.results.answer_wording import answer_interval, answer_value, number, root_words
from dpengine.spec.query import Variance
from pages.parts.shared.wording import plain

__all__ = ["answer_interval", "answer_sentence", "answer_value", "number"]


def answer_sentence(answer: Answer) -> str:
    """Return an answer as a sentence, for Markdown."""
    what, statistic = plain(answer.question.description), answer.question.statistic
    value, price = plain(answer_value(answer, statistic)), exact_text(answer.question.epsilon)
    between = plain(answer_interval(answer, statistic))
    if answer.question.by:
        return f"The {what}, in **{value}**; ε = {price}."
    if answer.low is None:
        return f"The {what}: **{value}**, with 95 % probability {between} of the best; ε = {price}."
    root = f", {plain(root_words(answer))}" if isinstance(statistic, Variance) else ""
    return f"The {what}: **{value}**, 95 % interval {between}{root}; ε = {price}."
