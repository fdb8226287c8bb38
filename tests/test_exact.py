"""Exact numbers are read and written without loss, and what is no such number is refused at once."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.exact import decimal, exact_number, exact_text, ratio_text, rational

FRACTIONS = st.fractions(max_denominator=10**30).filter(lambda number: abs(number) < 10**29)
UNREADABLE = [
    "",
    "nan",
    "inf",
    "1/0",
    "1/000",
    "0x1",
    "1_0",
    "١",
    "1 / 3",
    "1/-3",
    "one",
    "1" * 61,
    "1e100",
    "9" * 5000,
]


@given(FRACTIONS)
def test_what_is_written_reads_back_as_the_same_number(number: Fraction) -> None:
    assert rational(exact_text(number)) == number
    assert rational(ratio_text(number)) == number
    assert rational(number) == number


@given(st.decimals(-(10**12), 10**12, places=6))
def test_a_number_of_few_decimals_is_written_as_the_shortest_decimal(number: Decimal) -> None:
    text = exact_text(Fraction(number))
    assert Decimal(text) == number
    assert "/" not in text
    assert "." not in text or text[-1] != "0"


@given(FRACTIONS.filter(lambda number: number >= 0))
def test_strict_reading_agrees_with_reading_wherever_it_accepts(number: Fraction) -> None:
    for given_as in (number, exact_text(number), ratio_text(number), str(number)):
        assert rational(given_as, strict=True) == rational(given_as) == number


@pytest.mark.parametrize("number", [0.1, np.float64(0.1), " 0.1 ", "1e-1", "1/10", Decimal("0.1"), Fraction(1, 10)])
def test_one_tenth_is_one_tenth_however_it_is_given(number: Any) -> None:
    assert rational(number) == Fraction(1, 10)


def test_a_float_counts_by_its_first_twelve_digits() -> None:
    assert rational(0.1 + 0.2) == Fraction(3, 10)
    assert rational(1 / 3) == Fraction(333333333333, 10**12)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_private_floats_keep_every_difference(one: float, other: float) -> None:
    """Differences between floats are kept exactly: neither rounded nor replaced by those of their shortest texts."""
    assert exact_number(one) - exact_number(np.float64(other)) == Fraction(one) - Fraction(other)


@given(FRACTIONS)
def test_private_numbers_of_other_types_are_read_as_they_are(number: Fraction) -> None:
    assert exact_number(number) == exact_number(exact_text(number)) == number
    assert exact_number(int(number)) == int(number)


@pytest.mark.parametrize(
    "value", [True, np.bool_(1), None, float("nan"), np.float32("inf"), Decimal("1e9999"), *UNREADABLE]
)
def test_a_private_value_that_is_no_number_is_refused_and_not_quoted(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^the score must be a (finite )?number") as refused:
        exact_number(value, "the score")
    assert "9999" not in str(refused.value)


@pytest.mark.parametrize("value", [True, None, float("nan"), float("inf"), [1], *UNREADABLE])
def test_a_value_that_is_no_number_is_refused_and_quoted(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^ε must be a number: a decimal"):
        rational(value, "ε")


def test_a_number_too_long_to_write_out_is_refused_like_any_other() -> None:
    for value in (10**5000, "9" * 5000, "1/" + "9" * 5000):
        with pytest.raises(ValueError, match="must be a number: a decimal"):
            rational(value)


@pytest.mark.parametrize("value", [0.1, True, None, Decimal(1), b"1", np.int64(1)])
def test_strict_reading_refuses_every_type_that_may_have_been_rounded(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^the scale must be exact"):
        rational(value, "the scale", strict=True)


def test_a_decimal_comma_is_told_how_to_be_written() -> None:
    with pytest.raises(ValueError, match=r"^the scale must be written with a point, not a comma: 1\.25$"):
        rational("1,25", "the scale", strict=True)


@pytest.mark.parametrize("text", ["-1", "+1", "1e3", " 1", "1.", ".5", *UNREADABLE])
def test_strict_reading_takes_plain_digits_only(text: str) -> None:
    with pytest.raises(ValueError, match="must be exact"):
        rational(text, strict=True)


def test_strict_reading_bounds_the_digits_of_each_part() -> None:
    assert rational("1" * 40 + "/" + "3" * 40, strict=True, digits=40) == Fraction(1, 3)
    with pytest.raises(ValueError, match="at most 40 digits"):
        rational("0." + "1" * 41, strict=True, digits=40)


@given(st.decimals(-(10**12), 10**12, places=10))
def test_a_decimal_keeps_the_digits_that_were_typed(number: Decimal) -> None:
    assert decimal(f" {number:f} ").as_tuple() == Decimal(f"{number:f}").as_tuple()


@pytest.mark.parametrize("value", [True, None, [1], "1/2", "1_0", "nan", "-Infinity", "1e31", 10**31, "0." + "1" * 31])
def test_a_decimal_is_finite_and_bounded(value: Any) -> None:
    with pytest.raises(ValueError, match="this"):
        decimal(value)
