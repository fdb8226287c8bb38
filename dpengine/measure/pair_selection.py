"""Choose privately the pairs of columns that the model predicts worst."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.marginals.graphs import Components
from dpengine.marginals.measurement import DISCRETE_LAPLACE, GRAIN, PERMUTE_AND_FLIP, Choice
from dpengine.marginals.noisy_pair import merge
from dpengine.marginals.pairwise import Pair, Pairwise
from dpengine.measure.workload import Run
from dpengine.noise.laplace import perturb
from dpengine.noise.selection import permute_and_flip
from dpengine.translation.catalogue import mark

__all__ = [
    "MOVED", "Candidate", "choose_pairs", "full_resolution", "list_candidates", "measure_dependence",
    "measure_model_error", "merged_bins", "selection_part",
]  # fmt: skip

RESOLUTIONS = (32, 16, 8, 4)  # a merged bin holds at least one of this many rows
MOVED = 4  # rows: one row more or less changes `dependence` by less, with its margins
THRESHOLD = 0.7  # of the noise scale: the error from which a cell is worth measuring
UNEXPECTED = 2.0  # noise scales: the excess from which a cell of smaller expected count is
SELECTION_ODDS = 12.0  # of choosing to measuring, in the budget, if one cell is seen above noise


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair at some resolution: its exact counts and the model's expected ones."""

    pair: Pair
    merged: tuple[Ints, ...]
    counts: Ints
    model: Floats

    def wrong(self) -> Ints:
        """Return the absolute error of the model in each cell, in 256ths of a row."""
        return np.abs(GRAIN * self.counts - np.rint(GRAIN * self.model).astype(np.int64))

    def score(self, scale: float) -> int:
        """Return Σ (|x − m| − t) over cells with m ≥ t and Σ (x − m − u)⁺ over the others, in 256ths of a row.

        Here t is `THRESHOLD`·`scale` and u is `UNEXPECTED`·`scale`. One row more or less changes x in one cell, and so
        the score by at most `GRAIN`.
        """
        threshold, unexpected = round(GRAIN * THRESHOLD * scale), round(GRAIN * UNEXPECTED * scale)
        seen = self.model >= THRESHOLD * scale
        wrong = self.wrong()
        excess = np.where(self.counts > self.model, wrong - unexpected, 0)[~seen]
        return int((wrong[seen] - threshold).sum() + np.maximum(excess, 0).sum())


def dependence(counts: Ints, above: int = 0) -> int:
    """Return 2·Σ (x − a·b/n − t)⁺ over the cells of a pair, in 256ths of a row, rounded down, for t = `above`, in rows.

    The pair is in the last two axes of `counts`. Others divide rows into groups: the result is the sum over these, each
    rounded down.

    a and b are the pair's exact margins. Without t this is Σ |x − a·b/n|, since excess and deficit are equal in sum.
    The excess is in fewer cells, so more of it is above t. One row more changes it by less than `MOVED`: x − a·b/n
    gains n/(n + 1) in the row's own cell and as much in all others together, since a·b/n is scaled down, and loses n/(n
    + 1) over the cells of each of the row's two margins. So Σ (x − a·b/n − t)⁺ gains or loses less than 2. A row is in
    one group.

    >>> dependence(np.array([[5, 0], [0, 5]])) / GRAIN, dependence(np.array([[5, 0], [0, 5]]), above=1) / GRAIN
    (10.0, 6.0)
    >>> dependence(np.array([[[5, 0], [0, 5]], [[2, 2], [2, 2]]])) / GRAIN
    10.0
    """
    exact = counts if counts.sum() < 2**26 else counts.astype(object)  # up to 2·256·n² is added up
    total = exact.sum(axis=(-2, -1), keepdims=True)
    independent = exact.sum(axis=-1, keepdims=True) * exact.sum(axis=-2, keepdims=True)
    difference = total * (exact - np.minimum(above, total)) - independent
    excess = np.maximum(difference, 0).sum(axis=(-2, -1))
    return int(np.sum(2 * GRAIN * excess // np.maximum(total[..., 0, 0], 1)))


def measure_dependence(run: Run, parts: float, most: int, above: int) -> float:
    """Measure the mean `dependence` in excess of `above` of the strongest pairs without a ring, at most `most` of them.

    The result is in rows. The number of pairs k follows from the workload and `most`, not from the counts. Taking the
    strongest first finds the set of k pairs without a ring whose sum is greatest (Kruskal 1956). One row changes each
    pair by at most `MOVED` rows, so it changes each such set, and the greatest sum, by at most k times that.
    """
    strengths = {pair: dependence(run.counts[pair], above) for pair in run.workload.pairs}
    joined = Components(name for pair in strengths for name in pair)
    edges = [strengths[pair] for pair in sorted(strengths, key=lambda pair: -strengths[pair]) if joined.add(*pair)]
    strongest = edges[:most]
    epsilon = run.take(parts)
    sensitivity = MOVED * GRAIN * len(strongest) * run.sensitivity
    noisy = perturb(np.array(sum(strongest)), sensitivity / epsilon)
    run.choices.append(
        Choice(mark("how strongly columns depend on each other"), DISCRETE_LAPLACE, epsilon, sensitivity)
    )
    return int(noisy) / (GRAIN * len(strongest))


def measure_model_error(run: Run, candidates: Sequence[Candidate], parts: int) -> float:
    """Measure the mean over candidates of Σ|X − M|, in rows: how far off the model is from the counts."""
    epsilon = run.take(parts)
    grains = sum(int(candidate.wrong().sum()) for candidate in candidates)
    sensitivity = GRAIN * len(candidates) * run.sensitivity
    noisy = perturb(np.array(grains), sensitivity / epsilon)
    run.choices.append(Choice(mark("how wrong the model is on average"), DISCRETE_LAPLACE, epsilon, sensitivity))
    return int(noisy) / (GRAIN * len(candidates))


def weighted(score: int, weight: Fraction) -> int:
    """Return `score`·`weight`, rounded down, for a weight of 1 at most.

    Scores that differ by at most a whole number Δ do so after weighting: ⌊a·w⌋ − ⌊b·w⌋ ≤ ⌈(a − b)·w⌉ ≤ Δ.

    >>> weighted(-7, Fraction(1, 2)), weighted(7, Fraction(1))
    (-4, 7)
    """
    return score * weight.numerator // weight.denominator


def full_resolution(run: Run, pair: Pair, model: Pairwise) -> Candidate:
    """Return a pair at full resolution."""
    return Candidate(pair, (), run.counts[pair], model.pair(*pair))


def list_candidates(
    run: Run, live: Sequence[Pair], model: Pairwise, resolutions: Sequence[Mapping[str, Ints]]
) -> list[Candidate]:
    """Return each of the `live` pairs at full resolution, and at coarser ones of different shapes."""
    candidates = []
    for pair in live:
        full = full_resolution(run, pair, model)
        shapes = {full.counts.shape}
        candidates.append(full)
        for bins in resolutions:
            merged = (bins[pair[0]], bins[pair[1]])
            shape = (int(merged[0][-1]) + 1, int(merged[1][-1]) + 1)
            if shape not in shapes:
                shapes.add(shape)
                candidates.append(Candidate(pair, merged, merge(full.counts, merged), merge(full.model, merged)))
    return candidates


def merged_bins(model: Pairwise) -> list[dict[str, Ints]]:
    """Return the merged bins of every column for each of `RESOLUTIONS`, finest first."""
    return [{name: _bins(counts, model.total / part) for name, counts in model.one_way.items()} for part in RESOLUTIONS]


def _bins(counts: Floats, min_count: float) -> Ints:
    """Greedily merge neighbouring cells until a bin holds `min_count`; return the bin of every cell.

    A cell that holds this much is a bin by itself.
    """
    labels, label, in_bin = [], -1, math.inf
    for count in counts:
        if in_bin >= min_count or count >= min_count:
            label, in_bin = label + 1, 0.0
        labels.append(label)
        in_bin = math.inf if count >= min_count else in_bin + count
    return np.array(labels)


def _multiples(run: Run, candidates: Sequence[Candidate]) -> Floats:
    """Return the noise scale of each candidate as a multiple of the common one.

    Larger and more important tables get more of ε.
    """
    roots = np.sqrt([float(candidate.counts.size * run.workload.weight(candidate.pair)) for candidate in candidates])
    middle = np.exp(np.log(roots).mean())
    multiples: Floats = np.clip(middle / roots, 0.4, 2.5)
    return multiples


def selection_part(run: Run, candidates: Sequence[Candidate], picks: int, budget: int) -> float:
    """Return the part of the budget for choosing: more if fewer cells of a typical pair will exceed the noise."""
    scale = run.noise(budget / picks)
    seen = dict.fromkeys((candidate.pair for candidate in candidates), 0)
    for candidate, multiple in zip(candidates, _multiples(run, candidates), strict=True):
        cells = int(np.count_nonzero(candidate.model >= scale * multiple))
        seen[candidate.pair] = max(seen[candidate.pair], cells)
    odds = SELECTION_ODDS / max(float(np.median(list(seen.values()))), 1.0)
    return min(max(odds / (1 + odds), 0.08), 0.3)


def choose_pairs(
    run: Run, candidates: Sequence[Candidate], picks: int, parts: int, scale: float, *, tree: bool
) -> list[Candidate]:
    """Choose up to `picks` candidates of different pairs by permute-and-flip; with `tree`, closing no ring.

    A null candidate of score 0 lets the mechanism decline. `scale` is the common noise scale of measurements to come.
    """
    per_pick = run.take(parts) / picks
    what = mark("up to {picks} pairs").format(picks=picks)  # kept and signed, so it is English
    run.choices.append(Choice(what, PERMUTE_AND_FLIP, per_pick * picks, GRAIN * run.sensitivity))
    multiples = _multiples(run, candidates)
    scores = np.array([
        *(weighted(candidate.score(scale * m), run.workload.weight(candidate.pair))
          for candidate, m in zip(candidates, multiples, strict=True)),
        0,
    ])  # fmt: skip
    joined = Components(name for candidate in candidates for name in candidate.pair)
    live = np.ones(len(scores), dtype=bool)
    picked: list[Candidate] = []
    for _ in range(picks):
        places = np.flatnonzero(live)
        place = places[permute_and_flip(scores[places], per_pick, GRAIN * run.sensitivity)]
        if place == len(candidates):
            continue
        chosen = candidates[place]
        picked.append(chosen)
        if tree:
            joined.add(*chosen.pair)
        for k, candidate in enumerate(candidates):
            if candidate.pair == chosen.pair or (tree and joined.connected(*candidate.pair)):
                live[k] = False
    return picked
