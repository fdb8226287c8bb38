"""Maximum sizes of the files of a bundle, from its plan alone.

The limits are several times what is ever written, so an honest bundle never reaches them. They bound what is unpacked
from a bundle that may come from a stranger.
"""

from __future__ import annotations

import math

from dpengine.array_types import Columns
from dpengine.bundle.archive import MAX_BYTES
from dpengine.bundle.found_file import FILE, max_bytes
from dpengine.results.published_columns import NUMBERS, number_columns
from dpengine.spec import strict_yaml
from dpengine.spec.plan import Plan

__all__ = ["BASE_BYTES", "PROSE_BYTES", "file_bytes", "manifest_bytes", "manifest_values"]

BASE_BYTES, BASE_VALUES = 1_000_000, 200_000
PROSE_BYTES = 200_000_000  # limit for a text for people, which is read by the piece
LETTER_BYTES = 6  # a letter in JSON or UTF-8, quoted
ENTRY_BYTES = 2_000  # an entry of the manifest, without names of columns
ENTRY_VALUES = 20
LINE_BYTES = 200  # the numbers of a cell in a table
NUMBER_BYTES = 40  # each number of an amount


def manifest_bytes(plan: Plan) -> int:
    """Return the maximum size in bytes of the manifest of a bundle of `plan`."""
    labels = sum(LETTER_BYTES * len(label) + 20 for name in plan.released for label in plan.column(name).labels)
    names = sum(len(name) for table in plan.marginals for name in table) + sum(map(len, plan.released))
    texts = LETTER_BYTES * (labels // LETTER_BYTES + 20 * names + len(plan.title) + len(plan.dataset))
    return BASE_BYTES + texts + ENTRY_BYTES * _entries(plan)


def manifest_values(plan: Plan) -> int:
    """Return the maximum number of values, lists and objects in the manifest of a bundle of `plan`."""
    cells = sum(plan.column(name).size for name in plan.released)
    named = sum(map(len, plan.marginals))
    return BASE_VALUES + cells + 2 * named + ENTRY_VALUES * _entries(plan)


def file_bytes(plan: Plan, name: str, table: Columns | None) -> int:
    """Return the maximum size in bytes of a file of a bundle of `plan`; `table` is the one in the file, if any."""
    if name == "manifest.json":
        return manifest_bytes(plan)
    if name == "plan.yaml":
        return strict_yaml.MAX_BYTES
    if name == FILE:
        return max_bytes(plan)
    if name == "synthetic.csv":
        return MAX_BYTES
    if table is None:
        return PROSE_BYTES
    cells = plan.cells(table)
    more = number_columns(plan, table)[len(NUMBERS) :]
    line = LINE_BYTES + NUMBER_BYTES * len(more)
    texts = line * (cells + 1) + LETTER_BYTES * (sum(map(len, table)) + sum(map(len, more)))
    for column in map(plan.column, table):
        texts += cells // column.size * sum(LETTER_BYTES * len(label) + 5 for label in column.labels)
    return BASE_BYTES + texts


def _entries(plan: Plan) -> int:
    """Return the maximum number of entries for columns, tables, measurements and files together."""
    columns = len(plan.released)
    return 3 * len(plan.marginals) + 10 * columns + min(math.comb(columns, 2), 20_000)
