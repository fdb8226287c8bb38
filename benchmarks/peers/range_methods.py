"""Published methods for ranges of a table at ε-differential privacy, each written here after its paper.

All take a table of counts, of one or two axes, and ε, and return estimates of its cells. Neighbours differ by one
person in one cell. Noise is of floating point, as in their authors' programs. Where a paper leaves a parameter open, it
is that of its authors or of Hay et al. (SIGMOD 2016). Methods that follow a workload are given that of
benchmarks/ranges.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

__all__ = ["ONE_AXIS", "TWO_AXES", "Method", "answers", "noise"]

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int64]
Method = Callable[[Floats, float], Floats]

noise = np.random.default_rng()
SIDE, BOXES = 128, 2000
ROWS, COLUMNS = (np.sort(np.random.default_rng(seed).integers(0, SIDE + 1, (BOXES, 2)), axis=1) for seed in (1, 2))


def answers(values: Floats) -> Floats:
    """Return the prefix sums of a table of one axis, or the sums of 2000 random boxes of one of 128 × 128."""
    if values.ndim == 1:
        return np.cumsum(values)
    sums = np.zeros((SIDE + 1, SIDE + 1))
    sums[1:, 1:] = values.cumsum(0).cumsum(1)
    (a, b), (c, d) = ROWS.T, COLUMNS.T
    return sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c]


def _mask(query: int, shape: tuple[int, ...]) -> tuple[slice, ...]:
    return (slice(query + 1),) if len(shape) == 1 else (slice(*ROWS[query]), slice(*COLUMNS[query]))


def identity(counts: Floats, epsilon: float) -> Floats:
    """Return every cell with noise of its own."""
    return counts + noise.laplace(0, 1 / epsilon, counts.shape)


# Trees and wavelets


def hb(counts: Floats, epsilon: float) -> Floats:
    """A full tree of fan-out 16 (4 × 4 in two dimensions), ε split evenly (Qardaji, Yang & Li, PVLDB 2013)."""
    per_axis = 16 if counts.ndim == 1 else 4
    levels = round(np.log(max(counts.shape)) / np.log(per_axis))
    return full_tree(counts, per_axis, [epsilon / levels] * levels)


def quad_tree(counts: Floats, epsilon: float) -> Floats:
    """Quarters down to cells, ε growing by ∛2 a level (Cormode, Procopiuc, Srivastava, Shen & Yu, ICDE 2012)."""
    levels = int(np.ceil(np.log2(max(counts.shape)))) + 1
    parts = 2.0 ** (-np.arange(levels) / 3)
    return full_tree(counts, 2, epsilon * parts / parts.sum())


def full_tree(counts: Floats, per_axis: int, epsilons: Sequence[float] | Floats) -> Floats:
    """Return least squares over a full tree with this ε on each of its levels, cells first (Hay et al., PVLDB 2010)."""
    size = per_axis ** int(np.ceil(np.log(max(counts.shape)) / np.log(per_axis) - 1e-9))
    level, fan = np.pad(counts, [(0, size - n) for n in counts.shape]).astype(float), per_axis**counts.ndim
    best: list[Floats] = []
    variance = 0.0
    for epsilon in epsilons:
        noisy, own = level + noise.laplace(0, 1 / epsilon, level.shape), 2 / epsilon**2
        weight = fan * variance / (own + fan * variance) if best else 1.0  # of the noisy count, against its children
        best.append(weight * noisy + (1 - weight) * _merged(best[-1], per_axis) if best else noisy)
        variance = weight * own
        level = _merged(level, per_axis)
    found = best[-1]
    for below in reversed(best[:-1]):
        found = below + np.kron((found - _merged(below, per_axis)) / fan, np.ones((per_axis,) * counts.ndim))
    return found[tuple(slice(n) for n in counts.shape)]


def _merged(values: Floats, by: int) -> Floats:
    for axis in range(values.ndim):
        values = np.add.reduceat(values, np.arange(0, values.shape[axis], by), axis=axis)
    return values


def privelet(counts: Floats, epsilon: float) -> Floats:
    """Haar coefficients along each axis, noise by the cells that each is about (Xiao, Wang & Gehrke, TKDE 2011)."""
    values = np.pad(counts.astype(float), [(0, _power(n) - n) for n in counts.shape])
    scale = np.ones(values.shape)
    for axis, size in enumerate(values.shape):
        values = _along(values, axis, _haar)
        weights = np.r_[size, size / 2.0 ** np.floor(np.log2(np.arange(1, size)))]
        scale *= (1 + np.log2(size)) / np.expand_dims(weights, [k for k in range(values.ndim) if k != axis])
    values = values + noise.laplace(0, 1, values.shape) * scale / epsilon
    for axis in range(values.ndim):
        values = _along(values, axis, _cells_of_haar)
    return values[tuple(slice(n) for n in counts.shape)]


def _power(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _along(values: Floats, axis: int, change: Callable[[Floats], Floats]) -> Floats:
    return np.moveaxis(change(np.moveaxis(values, axis, 0)), 0, axis)


def _haar(values: Floats) -> Floats:
    """Return the mean, then half the differences between means of halves, the widest first, along the first axis."""
    found = []
    while len(values) > 1:
        found.insert(0, (values[::2] - values[1::2]) / 2)
        values = (values[::2] + values[1::2]) / 2
    return np.concatenate([values, *found])


def _cells_of_haar(values: Floats) -> Floats:
    cells = values[:1]
    while len(cells) < len(values):
        halves = values[len(cells) : 2 * len(cells)]
        cells = np.stack([cells + halves, cells - halves], axis=1).reshape(-1, *values.shape[1:])
    return cells


# Grids


def ugrid(counts: Floats, epsilon: float) -> Floats:
    """One grid of about √(rows·ε/10) a side (Qardaji, Yang & Li, ICDE 2013)."""
    return _grid(counts, epsilon, max(1, int(np.sqrt(counts.sum() * epsilon / 10))))


def agrid(counts: Floats, epsilon: float) -> Floats:
    """Two grids, half of ε each; the noisy counts of the first say how fine the second is (the same, ICDE 2013)."""
    coarse = max(10, int(np.ceil(np.sqrt(counts.sum() * epsilon / 10) / 4)))
    rows, columns = (np.unique(np.linspace(0, n, min(coarse, n) + 1).astype(int)) for n in counts.shape)
    found = np.zeros(counts.shape)
    for (top, bottom), (left, right) in product(pairwise(rows), pairwise(columns)):
        block = counts[top:bottom, left:right]
        noisy = block.sum() + noise.laplace(0, 2 / epsilon)
        fine = max(1, int(np.ceil(np.sqrt(max(noisy, 0) * (epsilon / 2) / 5))))
        inner = _grid(block, epsilon / 2, fine)
        pieces = min(fine, block.shape[0]) * min(fine, block.shape[1])
        total = (pieces * noisy + inner.sum()) / (pieces + 1)
        found[top:bottom, left:right] = inner + (total - inner.sum()) / block.size
    return found


def _grid(counts: Floats, epsilon: float, wanted: int) -> Floats:
    rows, columns = (np.unique(np.linspace(0, n, min(wanted, n) + 1).astype(int)) for n in counts.shape)
    sums = np.add.reduceat(np.add.reduceat(counts, rows[:-1], axis=0), columns[:-1], axis=1)
    noisy = sums + noise.laplace(0, 1 / epsilon, sums.shape)
    share = noisy / np.outer(np.diff(rows), np.diff(columns))
    return np.repeat(np.repeat(share, np.diff(rows), axis=0), np.diff(columns), axis=1)


# Models of the data


def mwem(counts: Floats, epsilon: float, rounds: int = 10) -> Floats:
    """Ranges chosen where the model is worst, and multiplicative weights (Hardt, Ligett & McSherry, NIPS 2012).

    It is given the number of rows, as by its authors.
    """
    rows, half = counts.sum(), epsilon / (2 * rounds)
    model, asked = np.full(counts.shape, rows / counts.size), []
    for _ in range(rounds):
        gaps = np.abs(answers(counts) - answers(model))
        mask = _mask(_chosen(gaps, half), counts.shape)
        asked.append((mask, float(counts[mask].sum()) + noise.laplace(0, 1 / half)))
        for _ in range(20):
            for where, noisy in asked:
                off = noisy - model[where].sum()
                model[where] *= np.exp(np.clip(off / (2 * rows), -5, 5))
                model *= rows / model.sum()
    return model


def _chosen(scores: Floats, epsilon: float, sensitivity: float = 1) -> int:
    """Return the place that the exponential mechanism chooses (McSherry & Talwar, FOCS 2007)."""
    return int(np.argmax(epsilon / (2 * sensitivity) * scores + noise.gumbel(size=scores.size)))


def efpa(counts: Floats, epsilon: float) -> Floats:
    """The lowest frequencies, how many chosen privately, half of ε each (Ács, Castelluccia & Chen, ICDM 2012)."""
    spectrum = np.fft.rfft(counts, norm="ortho")
    numbers = np.full(spectrum.size, 2)  # real ones in each frequency
    numbers[0] = 1
    if counts.size % 2 == 0:
        numbers[-1] = 1
    power, kept = numbers * np.abs(spectrum) ** 2, np.cumsum(numbers)
    lost = np.sqrt(np.maximum(power.sum() - np.cumsum(power), 0))
    last = _chosen(-lost - np.sqrt(2) * kept * 2 / epsilon, epsilon / 2)
    scale = np.sqrt(kept[last]) * 2 / epsilon / np.sqrt(numbers)
    spectrum = spectrum + noise.laplace(0, scale) + 1j * noise.laplace(0, scale) * (numbers == 2)
    spectrum[last + 1 :] = 0
    return np.fft.irfft(spectrum, counts.size, norm="ortho")


# Partitions


def php(counts: Floats, epsilon: float, most: int = 2000) -> Floats:
    """Stretches cut in two, where and whether chosen privately, half of ε for counts (Ács et al., ICDM 2012)."""
    depth, scale = int(np.log2(counts.size)), 2 / epsilon
    parts = [(0, counts.size, 1)]
    ready: set[tuple[int, int, int]] = set()
    history, costs = [list(parts)], [_spread(counts) + scale]
    while len(parts) < min(counts.size, most) and (open_ := [part for part in parts if part not in ready]):
        part = open_[0]
        start, end, level = part
        whole = _spread(counts[start:end])
        left, right = _prefix_spreads(counts[start:end]), _prefix_spreads(counts[start:end][::-1])[::-1]
        cuts = left[:-1] + right[1:] - whole + scale
        pick = _chosen(-np.r_[0, cuts], epsilon / 4 / depth, 2)
        if pick == 0:
            ready.add(part)
        else:
            new = [(start, start + pick, level + 1), (start + pick, end, level + 1)]
            ready.update(each for each in new if each[1] - each[0] == 1 or each[2] == depth)
            parts = [each for each in parts if each != part] + new
        history.append(list(parts))
        costs.append(costs[-1] + (cuts[pick - 1] if pick else 0))
    found = np.empty(counts.size)
    for start, end, _level in history[_chosen(-np.array(costs), epsilon / 4, 2)]:
        found[start:end] = max(0, (counts[start:end].sum() + noise.laplace(0, scale)) / (end - start))
    return found


def _spread(values: Floats) -> float:
    return float(np.abs(values - values.mean()).sum())


def _prefix_spreads(values: Floats, block: int = 512) -> Floats:
    """Return Σ |x − mean| over the first k values, for each k from one on."""
    means, found = np.cumsum(values) / np.arange(1, values.size + 1), np.empty(values.size)
    for start in range(0, values.size, block):
        ends = np.arange(start, min(start + block, values.size))
        over = np.maximum(values[None, : ends[-1] + 1] - means[ends, None], 0)
        found[ends] = 2 * np.where(np.arange(ends[-1] + 1) <= ends[:, None], over, 0).sum(axis=1)
    return found


def ahp(counts: Floats, epsilon: float, ratio: float = 0.85, eta: float = 0.35) -> Floats:
    """Cells of like noisy counts, small ones taken for 0, measured together (Zhang et al., SDM 2014)."""
    first, second, flat = epsilon * ratio, epsilon * (1 - ratio), counts.ravel()
    noisy = flat + noise.laplace(0, 1 / first, flat.size)
    noisy[noisy <= eta * np.log(flat.size) / first] = 0
    order = np.argsort(noisy)
    cuts = _clusters(noisy[order], second)
    sums = np.add.reduceat(flat[order], cuts) + noise.laplace(0, 1 / second, len(cuts))
    sizes = np.diff([*cuts, flat.size])
    found = np.empty(flat.size)
    found[order] = np.repeat(sums / sizes, sizes)
    return found.reshape(counts.shape)


def _clusters(rising: Floats, epsilon: float) -> list[int]:
    """Return where clusters of values in rising order start, each grown while that costs less than another one."""
    sums, squares = np.r_[0, np.cumsum(rising)], np.r_[0, np.cumsum(rising**2)]

    def cost(start: int, end: int) -> float:
        size = end - start
        return squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / size + 2 / (size * epsilon**2)

    cuts, size = [0], rising.size
    for place in range(1, size):
        others = np.arange(1, min(size - place, 4096) + 1)
        mean = (sums[place + others] - sums[place]) / others
        alone = ((rising[place] - mean) ** 2 + 2 / (others * epsilon) ** 2).min()
        if cost(cuts[-1], place + 1) >= cost(cuts[-1], place) + alone:
            cuts.append(place)
    return cuts


def dawa(counts: Floats, epsilon: float, ratio: float = 0.25) -> Floats:
    """Even stretches found privately, then GreedyH over them (Li, Hay, Miklau & Wang, PVLDB 2014).

    Two axes follow a Hilbert curve.
    """
    order = _order(counts.shape)
    line = counts.ravel()[order].astype(float)
    cuts = l1_partition(line, ratio * epsilon, (1 - ratio) * epsilon)
    sizes = np.diff([*cuts, line.size])
    asked = np.add.reduceat(_workload(counts.shape)[:, order], cuts, axis=1) / sizes
    sums = _on_halves(np.add.reduceat(line, cuts), *halves(asked), (1 - ratio) * epsilon)
    found = np.empty(line.size)
    found[order] = np.repeat(sums / sizes, sizes)
    return found.reshape(counts.shape)


def l1_partition(line: Floats, first: float, second: float) -> list[int]:
    """Return where stretches start, of lengths 2^k, of least Σ |x − mean| + 1/ε₂ each, with noise for ε₁."""
    size = line.size
    lengths = [2**k for k in range(int(np.log2(size)) + 1)]
    costs = []
    for length in lengths:
        cost = np.zeros(size - length + 1)
        if length > 1:
            windows = np.lib.stride_tricks.sliding_window_view(line, length)
            for start in range(0, cost.size, block := max(1, 2**22 // length)):
                some = windows[start : start + block]
                cost[start : start + block] = 2 * np.maximum(some - some.mean(axis=1, keepdims=True), 0).sum(axis=1)
            cost += noise.laplace(0, (2 - 1 / length - 1 / size) / first, cost.size)
        costs.append(np.maximum(cost, 0) + 1 / second)
    best, came = np.zeros(size + 1), np.zeros(size + 1, dtype=np.int64)
    for end in range(1, size + 1):
        each = [best[end - length] + cost[end - length] for length, cost in zip(lengths, costs, strict=True)
                if length <= end]  # fmt: skip
        pick = int(np.argmin(each))
        best[end], came[end] = each[pick], end - lengths[pick]
    cuts, end = [], size
    while end > 0:
        end = int(came[end])
        cuts.insert(0, end)
    return cuts


def greedy_h(counts: Floats, epsilon: float) -> Floats:
    """A binary tree whose parts of ε are chosen greedily for the workload (the same, PVLDB 2014).

    Two axes follow a Hilbert curve.
    """
    order = _order(counts.shape)
    found = np.empty(counts.size)
    found[order] = _on_halves(counts.ravel()[order].astype(float), *_halves_of_cells(counts.shape), epsilon)
    return found.reshape(counts.shape)


@lru_cache
def _halves_of_cells(shape: tuple[int, ...]) -> tuple[Ints, Floats]:
    return halves(_workload(shape)[:, _order(shape)])


def halves(asked: Floats) -> tuple[Ints, Floats]:
    """Return the ends of each node of a binary tree, parents first, and the part of ε that it is given.

    `asked` has one row a query and one column a cell. From the cells upwards, each node takes the part that makes the
    error of the queries least within it.
    """
    ends: list[tuple[int, int]] = []
    parts: list[float] = []
    grid = np.arange(91) / 100  # more than that would leave next to nothing for the cells below

    def within(start: int, end: int) -> tuple[float, Floats, Floats, int]:
        """Return the error at ε = 1, the sums of the inverse, their answers, and where the parts of this node are."""
        place = len(ends)
        ends.append((start, end))
        parts.append(1.0)
        if end - start == 1:
            one = asked[:, start]
            return float(one @ one), np.ones(1), one, place
        middle = (start + end) // 2
        left, right = within(start, middle), within(middle, end)
        error, sums, told = left[0] + right[0], np.r_[left[1], right[1]], left[2] + right[2]
        total, cross = sums.sum(), float(told @ told)
        down = (1 - grid) ** 2
        errors = (error - cross * grid**2 / (down + total * grid**2)) / down
        part = float(grid[pick := int(np.argmin(errors))])
        for each in range(place + 1, len(ends)):
            parts[each] *= 1 - part
        parts[place] = part
        shrunk = (1 - part**2 * total / (down[pick] + total * part**2)) / down[pick]
        return float(errors[pick]), sums * shrunk, told * shrunk, place

    within(0, asked.shape[1])
    return np.array(ends, dtype=np.int64), np.array(parts)


def _on_halves(line: Floats, ends: Ints, parts: Floats, epsilon: float) -> Floats:
    """Return least squares over a binary tree of noisy sums."""
    running = np.r_[0, np.cumsum(line)]
    asked = parts > 0
    scale = np.where(asked, 1 / (np.where(asked, parts, 1) * epsilon), 0)
    value = running[ends[:, 1]] - running[ends[:, 0]] + noise.laplace(0, scale)
    variance = np.where(asked, 2 * scale**2, np.inf)
    # A node comes before its left half, and all of that before its right half.
    widths = ends[:, 1] - ends[:, 0]
    left = np.arange(len(ends)) + 1
    right = left + 2 * (widths // 2) - 1
    by_width = [np.flatnonzero(widths == width) for width in np.unique(widths[widths > 1])]
    for nodes in by_width:
        first, second = left[nodes], right[nodes]
        spread = variance[first] + variance[second]
        weight = spread / (variance[nodes] + spread)
        value[nodes] = weight * value[nodes] + (1 - weight) * (value[first] + value[second])
        variance[nodes] = (1 - weight) * spread
    for nodes in reversed(by_width):
        first, second = left[nodes], right[nodes]
        gap = (value[nodes] - value[first] - value[second]) / (variance[first] + variance[second])
        value[first] += variance[first] * gap
        value[second] += variance[second] * gap
    cells = widths == 1
    found = np.empty(line.size)
    found[ends[cells, 0]] = value[cells]
    return found


@lru_cache
def _order(shape: tuple[int, ...]) -> Ints:
    """Return the cells in order: that of a Hilbert curve over two axes of 2^k cells."""
    if len(shape) == 1:
        return np.arange(shape[0])
    if shape[0] != shape[1] or _power(shape[0]) != shape[0]:
        raise ValueError("a curve over two axes needs 2^k cells on each")
    x, y, size = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), 1
    while size < shape[0]:
        x, y = np.r_[y, x, x + size, 2 * size - 1 - y], np.r_[x, y + size, y + size, size - 1 - x]
        size *= 2
    return x * shape[1] + y


@lru_cache
def _workload(shape: tuple[int, ...]) -> Floats:
    """Return the queries of the workload, one row each, over all cells: 1 where a cell is within."""
    found = np.zeros((shape[0] if len(shape) == 1 else BOXES, *shape), dtype=np.float32)
    for query, cells in enumerate(found):
        cells[_mask(query, shape)] = 1
    return found.reshape(len(found), -1)


_BOTH: dict[str, Method] = {
    "single cells": identity, "Hb": hb, "Privelet": privelet, "GreedyH": greedy_h,
    "AHP": ahp, "DAWA": dawa, "MWEM": mwem,
}  # fmt: skip
ONE_AXIS: dict[str, Method] = {**_BOTH, "EFPA": efpa, "PHP": php}
TWO_AXES: dict[str, Method] = {**_BOTH, "QuadTree": quad_tree, "UGrid": ugrid, "AGrid": agrid}
