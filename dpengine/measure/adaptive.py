"""Measure wide tables: choose privately, while measuring, which pairs of columns to measure, and at which resolution.

Part of ε measures the total and, if single columns will be noisy, how strongly columns depend on each other. If they
depend too weakly, all the rest measures single columns. Otherwise part measures every single column, and a model that
takes columns as independent follows. Then, in one to three phases, part of ε chooses the pairs that the model predicts
worst, by exact permute-and-flip, part measures them, and the model is fitted again (`marginals.pairwise`). Or nearly
all ε measures all pairs at once, where the strongest gain much beside the noise of all (`how_many_pairs`). The division
of ε follows from the *public error*: the expected error of the single columns if they had all of ε. It is a function of
ε, sizes, the noisy total and the number of rows that the plan states, and of nothing else. Where the private answer is
that pairs gain much, that error matters less, and columns get less of ε.

Exact counts come in; only noisy numbers and private choices go out. All decisions (phases, parts of ε, merged bins,
candidates) depend on public structure and on what was measured before. So the whole is ε-differentially private by
adaptive composition (Dwork & Roth 2014, Theorem 3.16 and section 3.5.1): the parts are whole millionths of ε that add
up to ε. Adding or removing one person changes at most Δ = `sensitivity` rows, so for every

* marginal, merged or not, Δ in L1: discrete Laplace noise of scale Δ/part;
* score Σ (|X − M| − t) over cells fixed by the model M, and Σ (X − M − u)⁺ over the others, at most Δ, whether cells
  are merged or not, and multiplied by a weight of at most 1 for less important tables. Permute-and-flip is charged for
  all its picks, used or not;
* table of all columns, if there is one, Δ like any other marginal;
* sum of the strengths of dependence above noise of k pairs, 4·k·Δ (`pair_selection.dependence`);
* sum of |X − M| over n tables, of all cells or of cells by size of M, n·Δ in all: noise of scale n·Δ/part. Where
  permute-and-flip chooses among models by such a sum, it is their score.

Counts and models are compared in whole 256ths, so that a score is a whole number and its sensitivity exact.

Source: the select, measure, generate scheme of McKenna, Miklau & Sheldon ("AIM", PVLDB 2022), at pure ε; scores, parts
and resolutions are this project's own, and were set on two tables and tested on others (benchmarks/accuracy.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.marginals.measurement import (
    PARTS,
    Measurements,
)
from dpengine.measure.how_many_pairs import (
    MOSTLY_EMPTY,
    STRONG,
    WRONG_THROUGHOUT,
    all_pairs_gain,
    first_picks,
    later_picks,
    noise_of_all_pairs,
)  # fmt: skip
from dpengine.measure.model_error import measure_audit, part_for_audit, part_for_classes, with_classes
from dpengine.measure.pair_selection import (
    MOVED,
    Candidate,
    choose_pairs,
    full_resolution,
    list_candidates,
    measure_dependence,
    measure_model_error,
    merged_bins,
    selection_part,
)
from dpengine.measure.workload import Run, Workload
from dpengine.noise.moments import mean_absolute

__all__ = ["measure_adaptively"]

TOTAL_PART = 0.01  # of ε, for the total
WHERE_STATED = 0.2  # factor on `TOTAL_PART` if the owner states a rough number of rows
COLUMN_ODDS = (0.011, 0.8)  # the public error at which single columns get half of ε, and the slope of their log odds
MIN_FOR_PAIRS = PARTS // 100  # of ε; with less, pairs are not measured
BESIDE_ALL = 0.03  # of ε, for single columns if all pairs are measured: sums of pairs are estimates of columns too
USUAL_GAIN = (0.3, 12)  # of a pair picked first, as a fraction of the rows, in tables of up to so many columns
PHASES = {1: (1.0,), 2: (0.5, 0.5), 3: (0.2, 0.3, 0.5)}  # parts of the pairs' ε
LARGE_ERROR = 0.02  # public error above which one phase is enough
SMALL_ERROR = 0.003  # public error below which ε is enough for three phases
NEEDED = {1: 0.7, 2: 0.5}  # by number of phases, times the loss of single columns: what the first pairs have to gain
FINE_ENOUGH = 0.2  # noise of the private answer, relative to the gain of these pairs, at which it is precise enough
MIN_FOR_ANSWER = PARTS // 500  # of ε, for this answer
# Times the noise of all pairs: the noise of the answer whether columns depend on each other throughout; its parts of ε.
FINE_ENOUGH_THROUGHOUT, MAX_FOR_THROUGHOUT = 0.1, PARTS // 40
MAX_ANSWER_NOISE = 0.5  # of the rows: with more, the answer is not asked, since few pairs depend as strongly
SURE = 0.75  # margin in multiples of that answer's noise: worthless pairs seldom pass
CLEAR_OF_NOISE = 1.5  # times the noise scale of a measured pair: smaller gains of a cell are not counted
ONE_PHASE = 5.0  # multiple of the first phase's loss by half of ε: if a second phase gains less, one is enough
# Beside a table of all columns: (noise in that table, per row; part of ε for columns and pairs up to this noise).
FOR_MARGINS = ((4.0, 0.2), (15.0, 0.5), (math.inf, 0.65))
BY_CHANCE = 1.15  # columns count as independent if the model is off by less than this multiple of chance
ALL_AT_ONCE = (3.0, 3.0, 1.2)  # by phase: the multiple of noise by which the model must be off to measure all pairs
FIRST_AT_ONCE = (1.2, 7.0)  # a, b: the same in the first phase if noise is small, max(a, b·noise per row)
EMPTY_AT_ONCE = 1.5  # the same in the first phase, at most, if most cells are empty
NEARLY_DECIDED = 1.6  # of the rows: where pairs picked first gain more, of 2 at most, there is a second phase


@dataclass(frozen=True, slots=True)
class _Phase:
    """One round of choosing pairs and measuring them, for `budget` parts of ε: the fraction `part` of the pairs' ε."""

    number: int
    phases: int
    part: float
    budget: int
    error: float  # the public error, relative to the gain
    gain: float  # of a pair picked first, in rows; infinite if unknown


def measure_adaptively(
    workload: Workload, counts: Mapping[Columns, Ints], epsilon: Fraction, sensitivity: int
) -> Measurements:
    """Measure single columns and the best of the workload's pairs, for exactly `epsilon` in all.

    `counts` holds the exact counts of the workload's marginals, one axis a column. One person has at most `sensitivity`
    rows.
    """
    run = Run(workload, counts, epsilon, sensitivity)
    total = _measure_total(run)
    for_audit = part_for_audit(run, total) if workload.audited else None
    for_whole = _reserve_for_whole(run, total)
    error = _public_error(run, total, for_whole)
    for_columns = int((PARTS - for_whole) * _part_for_columns(run, error))
    gain = _gain_of_pairs(run, error, total, for_columns)
    for_classes = None
    if gain > 0:
        gained = gain / total
        relative = error * _smaller_by_gain(run, gained)
        all_gain = all_pairs_gain(run, _asked_about(run, error), gain, total)
        if all_gain:
            run.measure_columns(int((PARTS - for_whole) * BESIDE_ALL))
            all_gain = gain >= STRONG * total or _depend_throughout(run)
        if not all_gain:
            parts = int((PARTS - for_whole) * _part_for_columns(run, relative))
            run.measure_columns(min(parts, run.left - MIN_FOR_PAIRS))
        for_classes = part_for_classes(run, total)
        if all_gain:
            _measure_pairs(run, _all_pairs(run), run.left)
        else:
            _measure_pairs_in_phases(run, _phases(run, error, gained), relative, gain)
    if run.left:
        run.measure_columns(run.left)
    if for_whole:
        run.left = for_whole
        run.measure(workload.whole, counts[workload.whole], for_whole)
    if for_audit is None:
        return Measurements(tuple(run.measured), tuple(run.choices))
    model = run.model(nearby=True)
    if for_classes is not None:
        model = with_classes(run, model, for_classes)
    audit = measure_audit(run, model, for_audit)
    measured = tuple(run.measured)
    return Measurements(
        measured, tuple(run.choices), audit, by_classes=model.classes is not None, fit=(measured, model)
    )


def _measure_total(run: Run) -> float:
    """Measure the number of rows; return it, at least 1.

    It only decides how ε is divided; single columns give a better total. So if the owner states a rough number of rows,
    it is measured more coarsely, and the stated number is returned, clipped to the noisy one ± twice the noise scale.
    """
    first, stated = next(iter(run.workload.sizes)), run.workload.rows_about
    parts = PARTS * TOTAL_PART * max(1.0, float(run.epsilon) / run.sensitivity / 0.1) ** -0.3
    measured = run.measure((), np.asarray(run.counts[first,].sum()), parts * (WHERE_STATED if stated else 1.0))
    total = float(measured.values)
    if stated:
        reach = 2 * float(measured.allocation.scale)
        total = min(max(stated, total - reach), total + reach)
    return max(1.0, total)


def _reserve_for_whole(run: Run, total: float) -> int:
    """Reserve parts of ε for the table of all columns, if there is one: fewer if it would have more noise."""
    whole = run.workload.whole
    if not whole:
        return 0
    noise = run.counts[whole].size * mean_absolute(run.sensitivity / run.epsilon) / total
    parts = int(run.left * (1 - next(part for most, part in FOR_MARGINS if noise <= most)))
    run.left -= parts
    return parts


def _public_error(run: Run, total: float, for_whole: int) -> float:
    """Return the expected error of the single columns, as a fraction of the rows, with all unreserved ε."""
    per_row = float(run.epsilon) / run.sensitivity
    if for_whole:
        per_row *= 1 - for_whole / PARTS
    return float(run.roots.sum() ** 2) / (len(run.workload.sizes) * per_row * total)


def _part_for_columns(run: Run, error: float) -> float:
    """Return the part of ε for single columns, which grows with their own error."""
    if not run.workload.pairs:
        return 1.0
    odds: float = (error / COLUMN_ODDS[0]) ** COLUMN_ODDS[1]
    return min(max(odds / (1 + odds), 0.1), 0.97)


def _gain_of_pairs(run: Run, error: float, total: float, for_columns: int) -> float:
    """Return the gain of a pair picked first, in rows; 0 if all remaining ε should measure single columns.

    The strongest pairs, as many as would be picked first, have to gain more above their noise, summed over all tables,
    than columns lose by getting only `for_columns`, plus a margin for the noise of this answer. If later phases follow,
    half as many pairs as columns are asked about at least: in a wide table, these gain most. The answer is coarser if
    they have to gain much. It is not asked if the public error is tiny, if no dependence could be enough, or if the
    noise of the answer would exceed most dependence.
    """
    for_pairs = run.left - for_columns
    if for_pairs < MIN_FOR_PAIRS:
        return 0.0
    if run.workload.whole or error <= SMALL_ERROR:
        return math.inf
    sizes, pairs = run.workload.sizes, run.workload.pairs
    phases, picks = _phases(run, error), _asked_about(run, error)
    loss = error * (run.left / for_columns - 1)
    needed = NEEDED[phases] * loss * (len(sizes) + len(pairs)) / picks * total
    most = PARTS * min(max(2.6 * len(sizes) / float(run.roots.sum()) ** 2, 0.013), 0.026)
    parts = min(max(MOVED * run.noise(1) / (FINE_ENOUGH * needed), MIN_FOR_ANSWER), most)
    noise = MOVED * run.noise(parts)
    needed += SURE * noise
    if noise > MAX_ANSWER_NOISE * total or for_pairs - parts < MIN_FOR_PAIRS:
        return 0.0
    if needed >= 2 * total:  # dependence is a distance of two distributions
        return 0.0
    gain = measure_dependence(run, parts, picks, round(CLEAR_OF_NOISE * run.noise(for_pairs / picks)))
    return gain if gain > needed else 0.0


def _asked_about(run: Run, error: float) -> int:
    """Return how many of the strongest pairs are asked about."""
    picks = first_picks(run, error, len(run.workload.pairs))
    return max(picks, len(run.workload.sizes) // 2) if _phases(run, error) > 1 else picks


def _smaller_by_gain(run: Run, gain: float) -> float:
    """Return the factor, at most 1, on the public error: below 1, pairs gain more than usual, and get more of ε.

    `gain` is that of a pair picked first, as a fraction of the rows. In a wide table these pairs are a small part of
    all, and columns are in every table.
    """
    usual, columns = USUAL_GAIN
    if math.isinf(gain):
        return 1.0
    return min(1.0, usual / (gain * min(1.0, columns / len(run.workload.sizes))))


def _depend_throughout(run: Run) -> bool:
    """Return whether columns depend on each other in all pairs, not only in the strongest, beside their noise.

    The more cells, the more noise, and the coarser the private answer may be.
    """
    noise = noise_of_all_pairs(run)
    parts = min(max(PARTS * run.noise(PARTS) / (FINE_ENOUGH_THROUGHOUT * noise), MIN_FOR_ANSWER), MAX_FOR_THROUGHOUT)
    return measure_model_error(run, _all_pairs(run), int(parts)) > WRONG_THROUGHOUT * noise


def _all_pairs(run: Run) -> list[Candidate]:
    model = run.model()
    return [full_resolution(run, pair, model) for pair in run.workload.pairs]


def _measure_pairs_in_phases(run: Run, phases: int, error: float, gain: float) -> None:
    """Choose and measure pairs with all that is left of ε, in one phase or, for small errors, two or three.

    `gain` is the gain of a pair picked first, in rows, and `error` the public error, relative to it.
    """
    resolutions = merged_bins(run.model())
    parts = PHASES[phases]
    for_pairs = run.left
    for number, part in enumerate(parts):
        budget = int(for_pairs * part) if number + 1 < len(parts) else run.left
        if not _pair_phase(run, _Phase(number, len(parts), part, budget, error, gain), resolutions):
            break


def _phases(run: Run, error: float, gain: float = 0.0) -> int:
    """Return the maximum number of phases for measuring pairs: one if only a tree is requested.

    `gain` is that of a pair picked first, as a fraction of the rows, once it is known. Where columns nearly decide each
    other, a tree in merged bins leaves most of the error.
    """
    nearly_decided = NEARLY_DECIDED < gain < math.inf
    if len(run.workload.pairs) < len(run.workload.sizes) or (error > LARGE_ERROR and not nearly_decided):
        return 1
    return 2 if error > SMALL_ERROR else 3


def _pair_phase(run: Run, phase: _Phase, resolutions: Sequence[Mapping[str, Ints]]) -> bool:
    """Choose pairs privately and measure them, for the phase's budget. Return whether to go on.

    Measuring ends if no pair is left, if all pairs left are measured at once, or if columns look independent.
    """
    before = run.left
    done = {each.allocation.columns for each in run.measured if not each.merged}
    live = [pair for pair in run.workload.pairs if pair not in done]
    if not live:
        return False
    model = run.model()
    if phase.phases > 1:
        pairs = [full_resolution(run, pair, model) for pair in live]
        wrong = _how_wrong_to_decide(run, phase, pairs)
        if _all_or_nothing(run, phase, pairs, wrong):
            return False
        if phase.number == 0 and _is_enough(run, phase, pairs, wrong):
            phase = replace(phase, phases=1, part=1.0, budget=before)
    budget = phase.budget - (before - run.left)
    candidates = list_candidates(run, live, model, resolutions)
    first = phase.number == 0
    picks = first_picks(run, phase.error, len(live)) if first else later_picks(run, pairs, wrong, budget)[0]
    parts = max(1, int(budget * selection_part(run, candidates, picks, budget)))
    picked = choose_pairs(run, candidates, picks, parts, run.noise((budget - parts) / picks), tree=first)
    if picked:
        _measure_pairs(run, picked, budget - parts)
    return run.left > 0


def _how_wrong_to_decide(run: Run, phase: _Phase, pairs: Sequence[Candidate]) -> float:
    """Measure the model's error, with more of the phase's budget if it is hard to distinguish from chance."""
    clear = PARTS * run.noise(PARTS) / (0.1 * _by_chance(pairs))
    return measure_model_error(run, pairs, max(phase.budget // 100, min(int(clear), phase.budget // 25)))


def _all_or_nothing(run: Run, phase: _Phase, pairs: Sequence[Candidate], wrong: float) -> bool:
    """Return whether the model's error, `wrong`, in rows, ends the phases.

    Measure all pairs at once if it is much larger than their noise; none if columns look independent, unless a private
    answer says that some pairs gain.
    """
    independent = phase.number == 0 and math.isinf(phase.gain) and wrong < BY_CHANCE * _by_chance(pairs)
    noise, total = _seen_noise(run, pairs, run.left / len(pairs)), run.model().total
    if wrong > (1.0 if independent else _all_at_once(phase.number, noise / total, phase.gain / total)) * noise:
        _measure_pairs(run, pairs, run.left)
        return True
    return independent


def _all_at_once(phase: int, noise: float, gain: float) -> float:
    """Return the multiple of noise by which the model must be off to measure all pairs.

    In the first phase it is smaller if `noise`, as a fraction of the rows, is small: weak pairs are worth it too. It is
    also smaller if the `gain` of a pair picked first shows that columns nearly decide each other: most cells are empty
    then, and most of the noise is removed from these.
    """
    if phase:
        return ALL_AT_ONCE[phase]
    most = EMPTY_AT_ONCE if MOSTLY_EMPTY < gain < math.inf else ALL_AT_ONCE[0]
    return min(most, max(FIRST_AT_ONCE[0], FIRST_AT_ONCE[1] * noise))


def _is_enough(run: Run, phase: _Phase, pairs: Sequence[Candidate], wrong: float) -> bool:
    """Return whether a second phase would gain too little for the noise that half of the budget adds to the first.

    The first picks remove their gain from the error; a second phase can gain from the rest.
    """
    if math.isinf(phase.gain) or phase.phases != 2:
        return False
    picks = first_picks(run, phase.error, len(pairs))
    rest = (len(pairs) * wrong - picks * phase.gain) / max(1, len(pairs) - picks)
    gain = later_picks(run, pairs, rest, phase.budget)[1]
    noise = [_seen_noise(run, pairs, budget / picks) for budget in (phase.budget, 2 * phase.budget)]
    return gain < ONE_PHASE * picks * (noise[0] - noise[1])


def _seen_noise(run: Run, pairs: Sequence[Candidate], parts: float) -> float:
    """Return the mean over pairs of Σ min(M, noise), in rows, if each was measured with `parts` of ε."""
    scale = run.noise(parts)
    return sum(float(np.minimum(one.model, scale).sum()) for one in pairs) / len(pairs)


def _by_chance(pairs: Sequence[Candidate]) -> float:
    """Return the mean over pairs of the expected Σ|X − M| of Poisson counts X with means M.

    Independent columns look this dependent. E|X − M| is about √(2M/π), and at most 2M.
    """
    cells = (one.model for one in pairs)
    return sum(float(np.minimum(np.sqrt(2 / math.pi * m), 2 * m).sum()) for m in cells) / len(pairs)


def _measure_pairs(run: Run, picked: Sequence[Candidate], parts: int) -> None:
    """Measure the pairs, with parts of ε in proportion to the root of the weighted cells that will exceed the noise."""
    importance = [float(run.workload.weight(one.pair)) for one in picked]
    scale = run.noise(parts / len(picked))
    weights = np.ones(len(picked))
    for _ in range(3):
        seen = [max(1.0, float(np.minimum(1.0, one.model / scale).sum())) for one in picked]
        weights = np.sqrt([weight * cells for weight, cells in zip(importance, seen, strict=True)])
        scale = float(np.mean([run.noise(parts * weight / weights.sum()) for weight in weights]))
    run.measure_all([(one.pair, one.counts, one.merged) for one in picked], weights, parts)
