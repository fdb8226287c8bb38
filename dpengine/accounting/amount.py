"""Amounts of ε as exact rationals, and texts that every database keeps as they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from dpengine.accounting.entry import Resemblance
from dpengine.errors import BudgetError
from dpengine.exact import ExactLike, exactly, rational
from dpengine.translation.catalogue import _, mark, number

__all__ = ["check_texts", "over_cap", "read_amount", "total"]

_MAX_BITS = 400  # keeps arithmetic and storage small
_FIELDS = {"dataset": mark("dataset"), "identity": mark("identity"), "name": mark("name"), "note": mark("note")}


def read_amount(value: ExactLike, what: str) -> Fraction:
    """Return the positive rational that an int, a Fraction or an exact text stands for; raise `BudgetError`.

    >>> read_amount("0.1", "ε")
    Fraction(1, 10)
    """
    try:
        number = rational(value, what, strict=True)
    except (TypeError, ValueError) as error:
        raise BudgetError(f"{error}.") from None
    if number <= 0:
        raise BudgetError(_("{what} must be more than 0.", what=_(what)))
    if max(number.numerator, number.denominator).bit_length() > _MAX_BITS:
        raise BudgetError(_("{what} has too many digits; round it to sixty or fewer.", what=_(what)))
    return number


def total(charges: Sequence[sa.Row[Any]]) -> Fraction:
    """Return the sum of the ε of charges."""
    return sum((Fraction(row.epsilon) for row in charges), Fraction(0))


def check_texts(**texts: object) -> None:
    """Raise `BudgetError` unless all fields are texts that every database can store, and a `dataset` is not blank."""
    for name, text in texts.items():
        # Databases differ on NUL and lone surrogates; a ledger must not.
        if not isinstance(text, str) or "\0" in text or text != text.encode("utf-8", "ignore").decode():
            field = _(_FIELDS.get(name, name))
            raise BudgetError(_("The {field} must be a text without NUL or half characters.", field=field))
    if not str(texts.get("dataset", "named")).strip():
        raise BudgetError(_("The dataset needs a name: it says whose budget is spent."))


def over_cap(
    dataset: str, epsilon: Fraction, spent: Fraction, cap: Fraction, others: str, alike: Collection[Resemblance]
) -> BudgetError:
    """Return the error that says why the cap of a dataset forbids a charge.

    `others` names the datasets that share its budget, and `alike` the earlier charges that the new data resembles.
    """
    requested, before, most, left = (exactly(each) for each in (epsilon, spent, cap, max(cap - spent, Fraction(0))))
    sentences = [
        _(
            "The budget of dataset {dataset!r} does not allow this: asked ε = {asked}, "
            "spent {spent} of {cap}, left {left}.",
            dataset=dataset,
            asked=requested,
            spent=before,
            cap=most,
            left=left,
        )
    ]
    if others:
        sentences.append(_("It shares data, and so its budget, with {others}.", others=others))
    if alike:
        looks = ", ".join(
            _("{dataset!r} (about {share} % alike)", dataset=each.dataset, share=number(100 * each.overlap, ".0f"))
            for each in alike
        )
        sentences.append(
            _(
                "The table looks like that of {looks}; if they are of other people, state that for the record.",
                looks=looks,
            )
        )
    sentences.append(
        _(
            "Ask for a smaller ε, or let the owner of the data decide on a larger cap; "
            "results that were published before are returned again at no cost."
        )
    )
    return BudgetError(" ".join(sentences))
