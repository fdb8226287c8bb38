"""Looking codes up in a table gives what a search in the cuts gives, for every number there is."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.counting.encode_numpy import lookup

MISSING = 99
quick = settings(max_examples=300, deadline=None, derandomize=True)
REALS = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 0.1, 1e-310, 5e-324, 1e308, -1e308, 1e16])
WHOLES = st.integers(-(2**63), 2**63 - 1) | st.integers(-1000, 1000)


def codes_for(cuts):
    return np.arange(len(cuts) + 1, dtype=np.int32) * 7 % 11


@quick
@given(st.lists(REALS, max_size=40), st.lists(REALS | st.just(math.nan), max_size=20))
def test_real_numbers(cuts, values):
    cuts = np.unique(np.array(cuts, dtype=np.float64))
    near = [math.nextafter(cut, side) for cut in cuts for side in (-math.inf, math.inf)]
    values = np.array([*values, *cuts, *near], dtype=np.float64)
    expected = codes_for(cuts)[np.searchsorted(cuts, values, side="right")]
    expected[np.isnan(values)] = MISSING
    assert np.array_equal(lookup(cuts, codes_for(cuts), MISSING)(values), expected)


@quick
@given(st.lists(WHOLES, max_size=40), st.lists(WHOLES, max_size=20))
def test_whole_numbers(cuts, values):
    cuts = np.unique(np.array(cuts, dtype=np.int64))
    near = [int(cut) + side for cut in cuts for side in (-1, 1) if -(2**63) <= int(cut) + side < 2**63]
    values = np.array([*values, *cuts.tolist(), *near], dtype=np.int64)
    expected = codes_for(cuts)[np.searchsorted(cuts, values, side="right")]
    assert np.array_equal(lookup(cuts, codes_for(cuts), MISSING)(values), expected)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_narrow_whole_numbers(kind):
    values = np.array([np.iinfo(kind).min, 0, 1, 17, 100, np.iinfo(kind).max], dtype=kind)
    cuts = np.array([1, 17, 101])
    expected = np.searchsorted(cuts, values.astype(np.int64), side="right")
    assert np.array_equal(lookup(cuts, np.arange(4, dtype=np.int32), MISSING)(values), expected)


@pytest.mark.parametrize(
    "cuts",
    [
        np.arange(0, 1e5),
        np.geomspace(1e-9, 1e9, 5000),
        np.array([0.0, 1e-300, 1.0]),
        np.array([-math.inf, 0.0, math.inf]),
    ],
)
def test_many_cuts_crowded_cuts_and_cuts_without_end(cuts):
    values = np.concatenate([cuts, np.nextafter(cuts, -1), np.nextafter(cuts, 1), [-math.inf, math.inf, -1.0, 0.0]])
    expected = np.searchsorted(cuts, values, side="right").astype(np.int32)
    assert np.array_equal(lookup(cuts, np.arange(len(cuts) + 1, dtype=np.int32), MISSING)(values), expected)


def test_more_values_than_are_worked_on_at_once():
    values = np.linspace(-1, 11, 100_001)
    cuts = np.array([0.0, 2.5, 10.0])
    expected = np.searchsorted(cuts, values, side="right")
    assert np.array_equal(lookup(cuts, np.arange(4, dtype=np.int32), MISSING)(values), expected)
