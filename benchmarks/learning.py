"""Time private choice and private online learning, and diffprivlib where it does the same.

    pip install -r benchmarks/requirements.txt     # peers; an environment of its own is best
    python benchmarks/learning.py                  # prints a table; status 1 if a limit is passed

Ours draw with exact probabilities; diffprivlib's draw with floats. Medians of several runs.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine.mechanisms.online_learning import advanced_rate, free_rate, on_grid, weighted_majority, zcdp_rate
from dpengine.noise.selection import (
    exponential_mechanism,
    permute_and_flip,
    permute_and_flip_probabilities,
)

CANDIDATES, ROUNDS, EXPERTS = 10**6, 10**5, 100
CHOICE_LIMIT, LEARNING_LIMIT, LAW_LIMIT, PEER_LIMIT = 1.0, 5.0, 1.0, 1.0
PEER_CANDIDATES = 10**5
RUNS = 5
EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


def median(job: Callable[[], object], runs: int = RUNS) -> float:
    job()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def report(what: str, seconds: float, limit: float, unit: str = "s") -> bool:
    held = seconds <= limit
    print(f"{what:<74} {seconds:>8.3f} {limit:>6.2f} {unit}  {'ok' if held else 'PASSED THE LIMIT'}", flush=True)
    return held


def choices() -> list[bool]:
    """Scores that are spread, all equal, and of one that leads alone: what a draw costs depends on them."""
    one = np.zeros(CANDIDATES, dtype=np.int64)
    one[-1] = 1000
    shapes = {
        "spread": np.arange(CANDIDATES) % 1000,
        "equal": np.zeros(CANDIDATES, dtype=np.int64),
        "one leads": one,
    }
    held = []
    for shape, scores in shapes.items():
        for draw in (permute_and_flip, exponential_mechanism):
            seconds = median(lambda draw=draw, scores=scores: draw(scores, EPSILON))
            held.append(report(f"{draw.__name__}, {CANDIDATES:,} candidates, {shape}", seconds, CHOICE_LIMIT))
    few = np.arange(5000)
    seconds = median(lambda: permute_and_flip_probabilities(few, EPSILON))
    return [*held, report("probabilities of permute-and-flip, 5,000 candidates", seconds, LAW_LIMIT)]


def learners() -> list[bool]:
    """Losses of experts who differ a little, and the hardest for this way of drawing: one that is always right."""
    near = np.add.outer(np.zeros(ROUNDS), np.linspace(0.3, 0.7, EXPERTS))
    near[::2] = 1 - near[::2] * 0.9
    far = np.ones((ROUNDS, EXPERTS))
    far[:, 0] = 0
    rates = {
        "η by advanced composition": advanced_rate(EPSILON, DELTA, ROUNDS),
        "η by zCDP": zcdp_rate(EPSILON, DELTA, ROUNDS),
        "η without privacy": free_rate(ROUNDS, EXPERTS),
    }
    held = []
    for shape, losses in (("near", on_grid(near)), ("one right", on_grid(far))):
        for name, eta in rates.items():
            seconds = median(lambda losses=losses, eta=eta: weighted_majority(losses, eta), 3)
            held.append(report(f"learning, T = {ROUNDS:,}, k = {EXPERTS}, {shape}, {name}", seconds, LEARNING_LIMIT))
    return held


def against_diffprivlib() -> list[bool]:
    try:
        from diffprivlib.mechanisms import Exponential, PermuteAndFlip
    except ImportError:
        print("\n*** DIFFPRIVLIB IS NOT INSTALLED: NOT COMPARED. See benchmarks/requirements.txt. ***", file=sys.stderr)
        return []
    scores = np.arange(PEER_CANDIDATES) % 1000
    listed = [float(score) for score in scores]
    held = []
    for ours, theirs in ((permute_and_flip, PermuteAndFlip), (exponential_mechanism, Exponential)):
        mine = median(lambda ours=ours: ours(scores, EPSILON))
        other = median(lambda theirs=theirs: theirs(epsilon=1.0, sensitivity=1.0, utility=listed).randomise())
        what = f"{ours.__name__}, {PEER_CANDIDATES:,} candidates: times of diffprivlib's"
        held.append(report(what, mine / other, PEER_LIMIT, "×"))
        print(f"    ours {mine * 1000:.1f} ms, diffprivlib {other * 1000:.0f} ms: {other / mine:,.0f} times as fast")
    return held


def main() -> int:
    print(f"{'what':<74} {'median':>8} {'limit':>6}")
    return 0 if all([*choices(), *learners(), *against_diffprivlib()]) else 1


if __name__ == "__main__":
    sys.exit(main())
