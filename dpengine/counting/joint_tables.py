"""Few joint tables whose margins are all the tables that are asked for: each costs one look at every row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from dpengine.array_types import Columns

__all__ = ["covering"]


def covering(tables: Sequence[Columns], sizes: Mapping[str, int], cells: int) -> list[Columns]:
    """Joints such that each of ``tables`` lies in one, none of more than ``cells`` cells unless it is a table itself.

    Greedy: a joint begins with a largest table that lies in none yet, and takes in the column that brings
    most further tables in, while there is room. Columns are in the order of ``sizes``.
    """
    bit = {name: 1 << k for k, name in enumerate(sizes)}
    size = {bit[name]: number for name, number in sizes.items()}
    left = list(dict.fromkeys(sum({bit[name] for name in table}) for table in sorted(tables, key=len, reverse=True)))
    joints = []
    while left:
        joint = left[0]
        room = cells // math.prod(number for one, number in size.items() if one & joint)
        while True:
            # A table that lacks one column is brought in by it.
            lacking = Counter(rest for table in left if (rest := table & ~joint) and rest & (rest - 1) == 0)
            fitting = [one for one in lacking if size[one] <= room]
            if not fitting:
                break
            best = max(fitting, key=lambda one: (lacking[one], -size[one], -one))
            joint |= best
            room //= size[best]
        joints.append(tuple(name for name in sizes if bit[name] & joint))
        left = [table for table in left if table & ~joint]
    return joints
