"""A source: text files whose columns stand at fixed places, named by the first line.

The package's pyproject.toml declares it by the ending of such files:

    [project.entry-points."private_release.sources"]
    fixed = "fixed_width:read"
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pyarrow as pa


def read(path: Path) -> pa.Table:
    """Return the rows as an Arrow table of texts; an empty cell is missing."""
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    starts = [match.start() for match in re.finditer(r"\S+", header)]
    places = [slice(*ends) for ends in pairwise([*starts, None])]
    cells = [[line[place].strip() or None for line in lines] for place in places]
    return pa.table([pa.array(texts, pa.string()) for texts in cells], [header[place].strip() for place in places])
