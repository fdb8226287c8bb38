"""The answer to a single question in a sentence, for Markdown."""

from __future__ import annotations

from dpengine.results.answer import Answer
from dpengine.results.answer_wording import answer_interval, answer_value, root_words
from dpengine.spec.query import Variance
from dpengine.translation.catalogue import _
from pages.parts.shared.wording import exactly, plain

__all__ = ["answer_sentence"]


def answer_sentence(answer: Answer) -> str:
    """Return an answer as a sentence, for Markdown."""
    what, statistic = plain(answer.question.in_words), answer.question.statistic
    value, price = plain(answer_value(answer, statistic)), exactly(answer.question.epsilon)
    between = plain(answer_interval(answer, statistic))
    if answer.question.by:
        return _("The {what}, in **{value}**; ε = {price}.", what=what, value=value, price=price)
    if answer.low is None:
        return _(
            "The {what}: **{value}**, with 95 % probability {between} of the best; ε = {price}.",
            what=what,
            value=value,
            between=between,
            price=price,
        )
    if isinstance(statistic, Variance):
        between += f", {plain(root_words(answer))}"
    return _(
        "The {what}: **{value}**, 95 % interval {between}; ε = {price}.",
        what=what,
        value=value,
        between=between,
        price=price,
    )
