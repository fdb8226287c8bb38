"""Divide the count of an unsplit box of several axes among its cells like the split boxes beside it.

The inside of such a box was not measured. But boxes in the same rows may be split, and then show how many people each
of these rows holds: a profile. So do boxes in the same columns. If boxes share a profile, such as ages heaped on tens
whatever the income, the cells of the box follow the product of both profiles, as if rows and columns were independent
within it. Sums of boxes do not change. This is a guess from noisy numbers, so it is post-processing (Dwork & Roth 2014,
Proposition 2.1).

A profile is the sum of the lines of cells that cross the rows, except those that cross them within one box. Let d_l be
the deviation of line l from an even one, and D = Σ d_l. If each line deviates in its own way, |D|² is Σ|d_l|² on
average, and larger if lines share a profile. So D is multiplied by 1 − Σ|d_l|²/|D|², or by 0 if that is negative: a
James–Stein estimate, for which the deviations of single lines, such as one cell of many people or noise, are variance.
"""

from __future__ import annotations

import numpy as np

from dpengine.array_types import Floats, Ints

__all__ = ["follow_profiles"]

# Set on benchmarks/range_columns.py and on the shapes of benchmarks/range_shapes.py but `mechanisms`, with 10⁴ to 10⁶
# people at ε = 0.1; judged on the latter and on benchmarks/range_families.py. Two last candidates were seen on these
# too, and the better one was kept: the other, with 1.0 for ALONE and 3.0 for FULL, gained less.
ALONE = 0.7  # of Σ|d|²: less than all of it, since lines that share only an empty half, or a heavy zero, share that
FULL = 4.0  # standard deviations: a box of more people was not split since it seemed even, and follows profiles less
ROUNDING = 1e-12  # of the sum of all squares: rounding errors of their running sums
LINES = 2**20  # rows × lines in one array


def follow_profiles(table: Floats, even: Floats, first: Ints, last: Ints, cells: Ints, deviations: Floats) -> Floats:
    """Return `table` times the profiles of each box of several axes, with the sums of its boxes.

    Boxes are from `first` to before `last`, one row per box, cover `even` once, which is even within them, and have
    counts of these standard `deviations`. `cells` are the flat places of all cells, in the order of the boxes.
    """
    widths = last - first
    sizes = widths.prod(axis=1)
    several = (widths > 1).sum(axis=1) > 1
    if not several.any() or sizes.size == 1:
        return table
    box = np.empty(table.size, dtype=np.int64)
    box[cells] = np.repeat(np.arange(sizes.size), sizes)
    starts = np.cumsum(sizes) - sizes
    counts = np.add.reduceat(even.ravel()[cells], starts)
    force = np.minimum(FULL * deviations / np.maximum(counts, FULL * deviations), 1.0)
    factors, step, rest = np.ones(table.size), table.size, cells
    for axis, size in enumerate(table.shape):
        step //= size
        place, rest = (rest, rest) if step == 1 else np.divmod(rest, step)
        wide = several & (widths[:, axis] > 1)
        if not wide.any():
            continue
        across = sizes / widths[:, axis]
        lines, own = (np.moveaxis(each.reshape(table.shape), axis, 0).reshape(size, -1)
                      for each in (even, (counts * across / sizes)[box]))  # fmt: skip
        of_line = np.moveaxis(box.reshape(table.shape), axis, 0).reshape(size, -1)
        offsets, change = _profiles(first[wide, axis], last[wide, axis], lines, of_line, own)
        inside = np.repeat(wide, sizes)
        at = np.repeat(offsets - first[wide, axis], sizes[wide]) + place[inside]
        factors[inside] *= 1 + np.repeat(force[wide], sizes[wide]) * change[at]
    before = table.ravel()[cells]
    after = before * factors
    sums, wanted = np.add.reduceat(after, starts), np.add.reduceat(before, starts)
    divided = np.empty_like(before)
    divided[cells] = after * np.repeat(np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0), sizes)
    return divided.reshape(table.shape)


def _profiles(first: Ints, last: Ints, lines: Floats, box: Ints, weighted: Floats) -> tuple[Ints, Floats]:
    """Return the place of each stretch of rows in an array, and the array: relative deviations of rows from even.

    Stretches are from `first` to before `last`. `lines` has one column a line, and `box` the box of each of its cells.
    In `weighted`, each cell is multiplied by the number of lines in its box: these are alike only by guess, so they are
    no evidence of a shared profile.
    """
    rows = len(lines)
    keys, which = np.unique(first * (rows + 1) + last, return_inverse=True)
    first, last = np.divmod(keys, rows + 1)
    long = last - first
    sums, roots, squares = map(_running, (lines, weighted, weighted**2))
    mass, own = np.empty((2, keys.size))
    chunk = max(1, LINES // lines.shape[1])
    for here in (slice(k, k + chunk) for k in range(0, keys.size, chunk)):
        a, b = first[here], last[here]
        split = box[a] != box[b - 1]
        mass[here] = ((sums[b] - sums[a]) * split).sum(axis=1)
        own[here] = ((squares[b] - squares[a] - (roots[b] - roots[a]) ** 2 / long[here, None]) * split).sum(axis=1)
    starts = np.cumsum(long) - long
    line = lines.sum(axis=1)[np.repeat(first - starts, long) + np.arange(long.sum())]
    off = line - np.repeat(np.add.reduceat(line, starts) / long, long)
    all_ = np.add.reduceat(off**2, starts)
    seen = all_ > ROUNDING * float(squares[-1].sum())
    shared = 1 - np.divide(ALONE * np.maximum(own, 0), all_, out=np.ones_like(own), where=seen)
    some = mass > 1e-9 * max(1.0, float(sums[-1].sum()))  # more than rounding leaves of sums
    scale = np.divide(np.maximum(shared, 0) * long, mass, out=np.zeros_like(mass), where=some)
    return starts[which], np.maximum(off * np.repeat(scale, long), -1.0)


def _running(lines: Floats) -> Floats:
    """Return sums from the first row on, with zeros before it."""
    sums = np.zeros((len(lines) + 1, lines.shape[1]))
    np.cumsum(lines, axis=0, out=sums[1:])
    return sums
