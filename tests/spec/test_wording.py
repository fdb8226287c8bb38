"""Stated bounds hold: they are rounded outwards, and by little."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from dpengine.accounting.composition import posterior
from dpengine.spec.wording import certainty, factor, percent_at_least, percent_at_most

EPSILONS = ["0.01", "0.02", "0.1", "0.37", "0.5", "1", "1.5", "2", "3", "4", "5", "6.5"]


def _exact(epsilon: str) -> Decimal:
    with localcontext() as context:
        context.prec = 40
        return Decimal(epsilon).exp()


def _number(text: str) -> Decimal:
    return Decimal(text.removesuffix(" %"))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_nobody_becomes_more_certain_than_stated(epsilon: str) -> None:
    odds = _exact(epsilon)
    most, least = 100 * odds / (1 + odds), 100 / (1 + odds)
    written = certainty(posterior(0.5, Fraction(epsilon))).removeprefix("at most ").removesuffix(" sure")
    assert written == percent_at_most(posterior(0.5, Fraction(epsilon)))
    assert most <= _number(written) < most + Decimal("0.1")
    assert least - Decimal("0.1") < _number(percent_at_least(posterior(0.5, -Fraction(epsilon)))) <= least


@pytest.mark.parametrize("epsilon", [*EPSILONS, "7", "10", "13"])
def test_odds_grow_by_no_more_than_stated(epsilon: str) -> None:
    written = Decimal(factor(Fraction(epsilon)).replace(",", ""))
    assert _exact(epsilon) <= written < _exact(epsilon) * Decimal("1.01")


@pytest.mark.parametrize(
    ("epsilon", "written"), [(0, "1"), ("13.1", "1,000,000"), (700, "10^305"), (10**6, "10^434295")]
)
def test_factors_of_any_size_have_words(epsilon: int | str, written: str) -> None:
    assert factor(Fraction(epsilon)) == written


def test_a_share_that_is_exact_is_written_as_it_is() -> None:
    assert [percent_at_most(part / 1000) for part in (0, 290, 570, 1000)] == ["0 %", "29 %", "57 %", "100 %"]
    assert [percent_at_least(part / 1000) for part in (0, 290, 570, 1000)] == ["0 %", "29 %", "57 %", "100 %"]
