"""Wide tables: which pairs of columns to measure, and how finely, chosen privately while measuring.

Part of ε measures the total and every single column; a model that takes columns as independent follows. Then, in
one to three phases, part of ε chooses the pairs that the model gets most wrong, by exact permute-and-flip, part
measures them, and the model learns (`marginals.pairwise`). How ε is shared follows from ``public error``, the
expected error of the single columns had they all of ε: a function of ε, sizes and the noisy total alone.

This is the one module beside `measure.measure` where exact counts are seen, and it returns only what has noise.
What it decides (phases, shares, merged bins, candidates) depends on public structure and on what it measured
before. So the whole is ε-differentially private by adaptive composition (Dwork & Roth 2014, Theorem 3.16 and
section 3.5.1): the shares are whole millionths of ε that add up to ε. Adding or removing one person changes at most
Δ = ``sensitivity`` rows, so for every

* marginal, merged or not, Δ in L1: discrete Laplace noise of scale Δ/share;
* score Σ (|X − M| − t) over cells fixed by the model M, at most Δ in each: merging cells changes nothing in that.
  Permute-and-flip is given the whole sum of its picks' shares, used or not;
* whole table, where one holds all columns, Δ like any other marginal;
* sum of |X − M| over n tables, whole or parted by M, n·Δ in all: noise of scale n·Δ/share.

Counts and models are compared in whole 256ths, so that a score is a whole number and its sensitivity exact.

Source: the select, measure, generate scheme of McKenna, Miklau & Sheldon ("AIM", PVLDB 2022), at pure ε; scores, shares
and resolutions are this project's own, and were set on two tables and tried on others (benchmarks/accuracy.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.measurement import (
    AUDIT_EDGES,
    DISCRETE_LAPLACE,
    PARTS,
    PERMUTE_AND_FLIP,
    Allocation,
    Audit,
    Choice,
    Measurement,
    Measurements,
)
from dpengine.marginals.pairwise import Pairwise, fit, merge
from dpengine.noise.laplace import discrete_laplace
from dpengine.noise.moments import mean_absolute
from dpengine.noise.selection import permute_and_flip

__all__ = ["measure_adaptively"]

Pair = tuple[str, str]
Marginal = tuple[Columns, Ints, tuple[Ints, ...]]  # columns, exact counts, merged bins


GRAIN = 256  # counts and models are compared in these parts of one
RESOLUTIONS = (32, 16, 8, 4)  # a merged bin holds at least this part of all rows
THRESHOLD = 0.7  # of the noise scale: what a cell must be wrong by to be worth measuring
TOTAL_SHARE = 0.01
AUDIT_SHARE = 0.01
SINGLE_ODDS = (0.011, 0.8)  # the public error at which single columns get half of ε, and how steeply their odds rise
TREE_PICKS = (1.43, 0.42)  # pairs picked in the first phase: a public error e wants (first/e)^second, and so on
LATER_PICKS = (6.6, 0.37)
SELECTION_ODDS = 12.0
STAGES = {1: (1.0,), 2: (0.5, 0.5), 3: (0.2, 0.3, 0.5)}
FOR_MARGINS = ((4.0, 0.2), (15.0, 0.5), (math.inf, 0.65))  # part of ε, up to a noise in the whole table, in rows a row
BY_CHANCE = 1.15  # times what chance makes of independent columns: less, and there is nothing to learn from pairs
ALL_AT_ONCE = (4.0, 3.0, 1.2)  # by phase: so much worse than noise must the model be for measuring all that is left


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A pair at a resolution: its exact counts beside what the model says of them."""

    pair: Pair
    merged: tuple[Ints, ...]
    counts: Ints
    model: Floats

    def wrong(self) -> Ints:
        """How far the model is off in each cell, in 256ths."""
        return np.abs(GRAIN * self.counts - np.rint(GRAIN * self.model).astype(np.int64))

    def score(self, scale: float) -> int:
        """What measuring with noise of ``scale`` would mend, in 256ths of a row, of cells that it would not bury."""
        threshold = round(GRAIN * THRESHOLD * scale)
        seen = self.model >= THRESHOLD * scale
        return int((self.wrong()[seen] - threshold).sum())


class _Work:
    """A measuring under way: what is left of ε, what was measured, and what was chosen."""

    def __init__(self, epsilon: Fraction, sensitivity: int) -> None:
        self.epsilon = epsilon
        self.sensitivity = sensitivity
        self.left = PARTS
        self.measurements: list[Measurement] = []
        self.choices: list[Choice] = []

    def take(self, parts: float) -> Fraction:
        """About so many parts of ε, of which each can be taken once: at least one, at most what is left."""
        whole = min(max(1, int(parts)), self.left)
        if whole == 0:
            raise ArithmeticError("all of ε has been taken")
        self.left -= whole
        return self.epsilon * whole / PARTS

    def noise(self, parts: float) -> float:
        """Scale of the noise in a marginal that is given so many parts."""
        return self.sensitivity * PARTS / (float(self.epsilon) * max(parts, 1.0))

    def measure(self, columns: Columns, exact: Ints, parts: float, merged: tuple[Ints, ...] = ()) -> None:
        allocation = Allocation(columns, self.take(parts), self.sensitivity)
        values: Ints = np.asarray(exact + discrete_laplace(allocation.scale, exact.shape))
        self.measurements.append(Measurement(allocation, values, merged))

    def measure_all(self, marginals: Sequence[Marginal], weights: Floats, parts: int) -> None:
        """Share ``parts`` by the weights, to the last one; with few different shares: each takes time to set up."""
        coarse = 2 ** (np.round(2 * np.log2(weights)) / 2)
        shares = np.maximum(1, parts * coarse / coarse.sum()).astype(np.int64)
        shares[0] += max(0, parts - int(shares.sum()))
        for (columns, exact, merged), share in zip(marginals, shares, strict=True):
            self.measure(columns, exact, float(share), merged)

    def model(self, sizes: Mapping[str, int]) -> Pairwise:
        return fit(sizes, self.measurements)


def measure_adaptively(
    sizes: Mapping[str, int],
    pairs: Sequence[Pair],
    counts: Mapping[Columns, Ints],
    epsilon: Fraction,
    sensitivity: int,
    audited: Sequence[Columns] = (),
    whole: Columns = (),
    tell: Callable[[str], None] = lambda stage: None,
) -> Measurements:
    """Measure single columns and the best of ``pairs``, for ε = ``epsilon`` in all.

    ``counts`` holds the exact counts of every column and of every pair (names in the order of ``sizes``), one
    axis a column, and of every table of ``audited``: how wrong the model is of these is measured at the end, for
    readers to know. ``whole`` is a table that holds all columns: if there is one, what is left of ε measures it at the
    end. One person has at most ``sensitivity`` rows. ``tell`` is called with the name of each stage.
    """
    work = _Work(epsilon, sensitivity)
    for_audit = work.take(AUDIT_SHARE * PARTS) if audited else None
    per_row = float(epsilon) / sensitivity
    singles: list[Marginal] = [((name,), counts[name,], ()) for name in sizes]
    roots = np.sqrt([float(size) for size in sizes.values()])

    tell("measuring single columns")
    work.measure((), np.asarray(singles[0][1].sum()), PARTS * TOTAL_SHARE * max(1.0, per_row / 0.1) ** -0.3)
    total = max(1.0, float(work.measurements[0].values))
    for_whole = 0
    if whole:
        noise = counts[whole].size * mean_absolute(sensitivity / epsilon) / total
        for_whole = int(work.left * (1 - next(part for most, part in FOR_MARGINS if noise <= most)))
        work.left -= for_whole
        per_row *= 1 - for_whole / PARTS
    error = float(roots.sum() ** 2) / (len(sizes) * per_row * total)  # the public error
    odds = (error / SINGLE_ODDS[0]) ** SINGLE_ODDS[1]
    part = min(max(odds / (1 + odds), 0.1), 0.97) if pairs else 1.0
    for_singles = int((PARTS - for_whole) * part)
    worthwhile = work.left - for_singles >= PARTS // 100
    work.measure_all(singles, roots, for_singles if worthwhile else work.left)

    if worthwhile:
        resolutions = _resolutions(work.model(sizes), sizes)
        tree_is_all = len(pairs) < len(sizes)
        stages = STAGES[1 if error > 0.02 or tree_is_all else 2 if error > 0.003 else 3]
        for_pairs = work.left
        for phase, stage in enumerate(stages):
            tell(f"choosing and measuring pairs, {phase + 1} of {len(stages)}")
            budget = int(for_pairs * stage) if phase + 1 < len(stages) else work.left
            if not _pair_phase(work, sizes, pairs, counts, resolutions, phase, stage, budget, len(stages), error):
                break
    if work.left:
        work.measure_all(singles, roots, work.left)
    if for_whole:
        tell("measuring the whole table")
        work.left = for_whole
        work.measure(whole, counts[whole], for_whole)
    audit = None
    if for_audit is not None:
        tell("measuring how wrong the tables are")
        audit = _audit(work.model(sizes), audited, counts, for_audit, sensitivity)
    return Measurements(tuple(work.measurements), tuple(work.choices), audit)


def _audit(
    model: Pairwise, tables: Sequence[Columns], counts: Mapping[Columns, Ints], share: Fraction, rows: int
) -> Audit:
    """Sums of |X − M| over the cells of all tables, by size of M: a row changes one cell of each table by one."""
    sizes = len(AUDIT_EDGES) + 1
    sums, cells, held = np.zeros(sizes, dtype=np.int64), np.zeros(sizes, dtype=np.int64), np.zeros(sizes)
    for table in tables:
        expected = model.table(table)
        size = np.digitize(expected, AUDIT_EDGES).ravel()
        off = np.abs(GRAIN * counts[table] - np.rint(GRAIN * expected).astype(np.int64)).ravel()
        cells += np.bincount(size, minlength=sizes)
        held += np.bincount(size, expected.ravel(), minlength=sizes)
        for k in range(sizes):
            sums[k] += off[size == k].sum()
    sensitivity = GRAIN * len(tables) * rows
    sums += discrete_laplace(sensitivity / share, sums.shape)
    return Audit(tuple(tables), share, sensitivity, GRAIN, sums, cells, held)


def _pair_phase(
    work: _Work,
    sizes: Mapping[str, int],
    pairs: Sequence[Pair],
    counts: Mapping[Columns, Ints],
    resolutions: Sequence[Mapping[str, Ints]],
    phase: int,
    stage: float,
    budget: int,
    phases: int,
    error: float,
) -> bool:
    """Choose pairs privately and measure them, for ``budget`` parts; or measure all that is left, for all that is.

    Says whether to go on: not where nothing is left, nor where columns look independent.
    """
    before = work.left
    done = {each.allocation.columns for each in work.measurements if not each.merged}
    live = [pair for pair in pairs if pair not in done]
    if not live:
        return False
    model = work.model(sizes)
    if phases > 1:
        whole = [_Candidate(pair, (), counts[pair], model.pair(*pair)) for pair in live]
        by_chance = sum(_by_chance(one.model) for one in whole) / len(live)
        clear = PARTS * work.noise(PARTS) / (0.1 * by_chance) if phase == 0 else 0.0
        wrong = _how_wrong(work, whole, max(budget // 100, min(int(clear), budget // 25)))
        scale = work.noise(work.left / len(live))
        noise = sum(float(np.minimum(one.model, scale).sum()) for one in whole) / len(live)
        unrelated = phase == 0 and wrong < BY_CHANCE * by_chance
        if wrong > (1.0 if unrelated else ALL_AT_ONCE[phase]) * noise:
            _measure_pairs(work, whole, work.left)
            return False
        if unrelated:
            return False
    budget -= before - work.left
    candidates = _candidates(live, counts, model, resolutions)
    if phase == 0:
        few = len(live) < len(sizes)  # then all may be picked
        most, wanted = len(live) if few else 0.8 * (len(sizes) - 1), TREE_PICKS[0] * error ** -TREE_PICKS[1]
    else:
        most, wanted = 0.48 * len(pairs), LATER_PICKS[0] * stage * error ** -LATER_PICKS[1]
    picks = max(1, min(len(live), round(min(wanted, most))))
    share = _selection_share(work, candidates, live, picks, budget)
    parts = max(1, int(budget * share))
    picked = _choose(work, candidates, picks, parts, work.noise((budget - parts) / picks), tree=phase == 0)
    if picked:
        _measure_pairs(work, picked, budget - parts)
    return work.left > 0


def _by_chance(expected: Floats) -> float:
    """Σ|X − M| where each X is a Poisson count of mean M: what independent columns differ by from independence.

    E|X − M| is about √(2M/π), and at most 2M.
    """
    return float(np.minimum(np.sqrt(2 / math.pi * expected), 2 * expected).sum())


def _how_wrong(work: _Work, candidates: Sequence[_Candidate], parts: int) -> float:
    """The mean over pairs of Σ|X − M|, with noise."""
    share = work.take(parts)
    grains = sum(int(candidate.wrong().sum()) for candidate in candidates)
    sensitivity = GRAIN * len(candidates) * work.sensitivity
    noise = discrete_laplace(sensitivity / share, 1)[0]
    work.choices.append(Choice("how wrong the model is on average", DISCRETE_LAPLACE, share, sensitivity))
    return (grains + int(noise)) / (GRAIN * len(candidates))


def _candidates(
    live: Sequence[Pair], counts: Mapping[Columns, Ints], model: Pairwise, resolutions: Sequence[Mapping[str, Ints]]
) -> list[_Candidate]:
    """Every live pair, at full resolution and at each coarser one that differs from a finer."""
    found = []
    for pair in live:
        table, exact = model.pair(*pair), counts[pair]
        shapes = {exact.shape}
        found.append(_Candidate(pair, (), exact, table))
        for bins in resolutions:
            merged = (bins[pair[0]], bins[pair[1]])
            shape = (int(merged[0][-1]) + 1, int(merged[1][-1]) + 1)
            if shape not in shapes:
                shapes.add(shape)
                found.append(_Candidate(pair, merged, merge(exact, merged), merge(table, merged)))
    return found


def _resolutions(model: Pairwise, sizes: Mapping[str, int]) -> list[dict[str, Ints]]:
    """Merged bins of every column, neighbours together until they hold a part of all rows; finest first."""
    return [{name: _bins(model.one[name], model.total / part) for name in sizes} for part in RESOLUTIONS]


def _bins(counts: Floats, enough: float) -> Ints:
    """The merged bin of every cell: a bin is full at ``enough``, and a cell that is so by itself stands alone."""
    labels, label, held = [], -1, math.inf
    for count in counts:
        if held >= enough or count >= enough:
            label, held = label + 1, 0.0
        labels.append(label)
        held = math.inf if count >= enough else held + count
    return np.array(labels)


def _multiples(candidates: Sequence[_Candidate]) -> Floats:
    """What the shares to come will multiply the common noise scale by: larger tables get more of ε."""
    roots = np.sqrt([float(candidate.counts.size) for candidate in candidates])
    middle = np.exp(np.log(roots).mean())
    multiples: Floats = np.clip(middle / roots, 0.4, 2.5)
    return multiples


def _selection_share(
    work: _Work, candidates: Sequence[_Candidate], live: Sequence[Pair], picks: int, budget: int
) -> float:
    """Part of the budget that choosing takes: the more, the fewer cells of a typical pair will be seen above noise."""
    scale = work.noise(budget / picks)
    seen = dict.fromkeys(live, 0)
    for candidate, multiple in zip(candidates, _multiples(candidates), strict=True):
        cells = int(np.count_nonzero(candidate.model >= scale * multiple))
        seen[candidate.pair] = max(seen[candidate.pair], cells)
    odds = SELECTION_ODDS / max(float(np.median(list(seen.values()))), 1.0)
    return min(max(odds / (1 + odds), 0.08), 0.3)


def _choose(
    work: _Work, candidates: Sequence[_Candidate], picks: int, parts: int, scale: float, *, tree: bool
) -> list[_Candidate]:
    """Up to ``picks`` candidates of different pairs, by permute-and-flip; with ``tree``, closing no ring.

    Beside them stands the choice of none, with score 0, so that nothing is measured for want of better.
    """
    each = work.take(parts) / picks
    work.choices.append(Choice(f"up to {picks} pairs", PERMUTE_AND_FLIP, each * picks, GRAIN * work.sensitivity))
    multiples = _multiples(candidates)
    scores = np.array([candidate.score(scale * m) for candidate, m in zip(candidates, multiples, strict=True)] + [0])
    joined = {name: name for candidate in candidates for name in candidate.pair}
    live = np.ones(len(scores), dtype=bool)
    picked: list[_Candidate] = []
    for _ in range(picks):
        places = np.flatnonzero(live)
        place = places[permute_and_flip(scores[places], each, GRAIN * work.sensitivity)]
        if place == len(candidates):
            continue
        chosen = candidates[place]
        picked.append(chosen)
        if tree:
            a, b = (joined[name] for name in chosen.pair)
            joined = {name: a if root == b else root for name, root in joined.items()}
        for k, candidate in enumerate(candidates):
            if candidate.pair == chosen.pair or (tree and joined[candidate.pair[0]] == joined[candidate.pair[1]]):
                live[k] = False
    return picked


def _measure_pairs(work: _Work, picked: Sequence[_Candidate], parts: int) -> None:
    """Measure the pairs, with shares as the square root of the cells that will be seen above the noise."""
    scale = work.noise(parts / len(picked))
    weights = np.ones(len(picked))
    for _ in range(3):
        weights = np.sqrt([max(1.0, float(np.minimum(1.0, one.model / scale).sum())) for one in picked])
        scale = float(np.mean([work.noise(parts * weight / weights.sum()) for weight in weights]))
    work.measure_all([(one.pair, one.counts, one.merged) for one in picked], weights, parts)
