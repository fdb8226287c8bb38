"""Combine a tree of boxes with another noisy measurement of the same cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpengine.array_types import Floats
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.measurement import PARTS, Boxes, Measurement
from dpengine.marginals.sums import column_counts

__all__ = ["with_known_cells", "with_known_column"]


def with_known_column(boxes: Boxes, measured: Sequence[Measurement]) -> Boxes:
    """Return boxes of one column, combined with measured tables that have it; other boxes unchanged."""
    name, *others = boxes.columns
    about = [one for one in measured if name in one.allocation.columns]
    if others or not about:
        return boxes
    counts, precision = column_counts(name, boxes.shape[0], about)
    return with_known_cells(boxes, counts, 2 / precision)


def with_known_cells(boxes: Boxes, counts: Floats, variance: float) -> Boxes:
    """Return boxes that also hold noisy `counts` of all cells, each of this `variance`, from other noise.

    An unsplit box gets its cells as children if these are known at least as well as the box, and otherwise their sum,
    as one child. So least squares along the tree (`marginals.box_tree`) weighs them by precision; their parts of ε are
    set so that they give their noise. The result says more than was measured in boxes, and has no price.
    """
    tree, scale = BoxTree(boxes), math.sqrt(variance / 2)
    leaves = tree.leaves[np.argsort(tree.starts[tree.leaves])]
    own = np.array([float(boxes.scale(int(part))) for part in boxes.parts[leaves]])
    leaf_of_cell = np.repeat(np.arange(leaves.size), tree.cells[leaves])
    split = own >= scale
    # The cells of split boxes, in the order of the tree, then the others whole.
    cells, whole = tree.order[split[leaf_of_cell]], leaves[~split]
    first = np.stack(np.unravel_index(cells, boxes.shape), axis=1)
    sums = np.bincount(leaf_of_cell, counts.ravel()[tree.order], leaves.size)[~split]
    scales = np.concatenate([np.full(cells.size, scale), scale * np.sqrt(tree.cells[whole])])
    parts = np.rint(boxes.sensitivity * PARTS / (float(boxes.epsilon) * scales))
    return replace(
        boxes,
        parents=np.concatenate([boxes.parents, leaves[leaf_of_cell[split[leaf_of_cell]]], whole]),
        first=np.concatenate([boxes.first, first, boxes.first[whole]]),
        last=np.concatenate([boxes.last, first + 1, boxes.last[whole]]),
        parts=np.concatenate([boxes.parts, np.maximum(1, parts).astype(np.int64)]),
        values=np.concatenate([boxes.values, np.rint(np.concatenate([counts.ravel()[cells], sums])).astype(np.int64)]),
    )
