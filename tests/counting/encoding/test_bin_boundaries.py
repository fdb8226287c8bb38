"""Bin boundaries: each typed value has the code of its text."""

import math
import struct
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.counting.encoding.bin_boundaries import boundaries_of, family_of
from dpengine.counting.encoding.declared_texts import codes_by_text
from dpengine.spec.domain import Category, Number, YesNo
from tests.conftest import examples

EDGES = ["-1", "0", "0.1", "0.7", "18", "100.5"]
NUMBER = Number(name="x", edges=EDGES, missing_as=["17", "-9", "inf", "0.7"])
quick = settings(max_examples=examples(25, 100), deadline=None, derandomize=True)


def cell_of(number):
    """Return the cell of a 64-bit number, looked up as a person would."""
    edges = [float(edge) for edge in EDGES]
    if number in (17.0, -9.0, math.inf, 0.7):
        return NUMBER.missing_code
    if number == edges[-1]:
        return len(edges) - 2
    return next((k for k in range(len(edges) - 1) if edges[k] <= number < edges[k + 1]), NUMBER.other_code)


@quick
@given(st.floats(allow_nan=False) | st.sampled_from([float(e) for e in EDGES]).flatmap(
    lambda e: st.sampled_from([e, math.nextafter(e, -9), math.nextafter(e, 999)])))  # fmt: skip
def test_a_number_in_64_bits(number):
    assert boundaries_of(NUMBER, "DOUBLE", 100).code(number) == cell_of(number)


@quick
@given(st.floats(width=32, allow_nan=False) | st.sampled_from(EDGES).map(lambda e: float(np.float32(e))))
def test_a_number_in_32_bits_reads_as_its_shortest_text(number):
    assert boundaries_of(NUMBER, "FLOAT", 100).code(number) == cell_of(float(str(np.float32(number))))


@quick
@given(st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 120))
def test_a_whole_number(number):
    for type_name in ("BIGINT", "HUGEINT"):
        assert boundaries_of(NUMBER, type_name, 100).code(number) == cell_of(float(number))


@quick
@given(st.integers(-(10**9), 10**9) | st.integers(-1200, 12000))
def test_a_decimal(number):
    boundaries = boundaries_of(NUMBER, "DECIMAL(10,2)", 100)
    assert boundaries.code(Decimal(number).scaleb(-2)) == cell_of(number / 100)


@quick
@given(st.integers(50, 62), st.integers(-5, 5), st.integers(0, 3))
def test_numbers_that_64_bits_must_round_fall_where_they_are_rounded_to(power, near, scale):
    edge = 2.0**power
    column = Number(name="x", edges=["0", str(int(edge)), str(2**63)])
    number = (2**power + near) * 10**scale + near
    expected = 1 if Fraction(number / 10**scale) >= edge else 0
    assert boundaries_of(column, f"DECIMAL(38,{scale})", 100).code(Decimal(number).scaleb(-scale)) == expected


def test_boundaries_stay_within_the_values_of_the_type():
    wide = Number(name="x", edges=["-1e30", "0", "1e30"])
    for type_name, low, high in (("UTINYINT", 0, 255), ("SMALLINT", -32768, 32767), ("DECIMAL(3,1)", -99.9, 99.9)):
        boundaries = boundaries_of(wide, type_name, 100)
        assert all(low < bound <= high for bound in boundaries.bounds)
        assert boundaries.code(high) == 1


@pytest.mark.by_day(1)
@pytest.mark.parametrize("type_name", ["DOUBLE", "FLOAT"])
@quick
@given(number=st.floats(width=32, allow_nan=False))
def test_a_category_is_a_number_s_own_text(type_name, number):
    with duckdb.connect() as connection:
        [(text,)] = connection.execute(f"SELECT (?::{type_name})::VARCHAR", [number]).fetchall()
    boundaries = boundaries_of(Category(name="x", values=[text, "something else"]), type_name, 100)
    bits = struct.unpack("f", struct.pack("f", number))[0]
    if number != 0:
        assert boundaries.code(bits) == 0


def test_words_for_yes_and_no_have_their_codes():
    boundaries = boundaries_of(YesNo(name="x"), "DOUBLE", 100)
    assert [boundaries.code(value) for value in (1.0, 0.0, -0.0, 2.0, math.inf)] == [0, 1, 1, 2, 2]
    assert [boundaries_of(YesNo(name="x"), "BOOLEAN", 100).code(value) for value in (True, False)] == [0, 1]


def test_texts_and_columns_of_many_cells_have_no_boundaries():
    assert boundaries_of(NUMBER, "VARCHAR", 100) is None
    assert boundaries_of(NUMBER, "DOUBLE", 3) is None
    assert family_of("INTEGER[]") is None


def test_a_whole_number_halfway_between_two_floats_is_the_even_one() -> None:
    """As a 64-bit number, 2^53 + 1 is 2^53, and 2^53 + 3 is 2^53 + 4."""
    edges = [0, 2**53 + 2, 2**53 + 4, 2**54]
    boundaries = boundaries_of(Number(name="x", edges=edges), "BIGINT", 100)
    assert boundaries is not None
    assert [boundaries.code(2**53 + more) for more in range(5)] == [0, 0, 1, 2, 2]


def test_a_missing_marker_prevails_over_a_value_that_is_the_same_number() -> None:
    column = Category(name="x", values=["5", "6"], missing_as=["5.0"])
    for family in ("integer", "float", "decimal"):
        assert codes_by_text(column, family)[1] == {"5": column.missing_code, "6": 1}
