"""Joint tables cover all tables, within their size."""

import math
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.counting.joint_tables import cover

NAMES = "abcdef"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.lists(st.sampled_from(NAMES), unique=True, max_size=4).map(tuple), min_size=1, max_size=12),
    st.lists(st.integers(1, 9), min_size=6, max_size=6),
    st.integers(1, 500),
)
def test_every_table_lies_in_a_joint_and_none_is_larger_than_it_must_be(tables, sizes, cells):
    sizes = dict(zip(NAMES, sizes, strict=True))
    joints = cover(tables, sizes, cells)
    for table in tables:
        assert any(set(table) <= set(joint) for joint in joints)
    for joint in joints:
        assert math.prod(sizes[name] for name in joint) <= cells or any(set(joint) == set(table) for table in tables)
        assert list(joint) == sorted(joint)
    assert len(joints) <= len({frozenset(table) for table in tables})


def test_all_pairs_of_eight_columns_need_few_joints():
    pairs = list(combinations("abcdefgh", 2))
    sizes = dict(zip("abcdefgh", (4, 52, 14, 12, 10, 22, 22, 22), strict=True))
    assert len(cover(pairs, sizes, 1 << 16)) <= 8
    assert len(cover(pairs, sizes, 1)) == 28


def test_the_grand_total_alone_is_a_table():
    assert cover([()], {"a": 3}, 9) == [()]
