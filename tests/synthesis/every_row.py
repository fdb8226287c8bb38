"""Synthetic rows one by one, each as often as its weight."""

from __future__ import annotations

from dpengine.array_types import Ints
from dpengine.synthesis.generate_rows import WholeCounts
from dpengine.synthesis.resample import expand, unique_rows


def every_row(model: WholeCounts) -> dict[str, Ints]:
    rows, weights = unique_rows(model)
    places = expand(weights)
    return {name: codes[places] for name, codes in rows.items()}
