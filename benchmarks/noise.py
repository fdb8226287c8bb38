"""Time exact noise relative to NumPy's Laplace generator, which is not private, and to OpenDP.

    pip install -r benchmarks/requirements.txt     # OpenDP; an environment of its own is best
    python benchmarks/noise.py                     # prints a table; status 1 if a limit is passed

Each limit is on a ratio of medians from runs that take turns, so that other work on the machine slows
both alike. NumPy's float Laplace is not private (Mironov 2012): it serves as a measure of speed alone.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from timeit import timeit

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine.noise.laplace import discrete_laplace

MILLION = 10**6
UNSAFE = [(1, MILLION, 25, 0.5), (10, MILLION, 25, 0.5), (1000, MILLION, 25, 0.9), (10, 10 * MILLION, 9, 0.9)]
OPENDP_SCALES, OPENDP_DRAWS, OPENDP_RUNS, OPENDP_LIMIT = (1, 10, 1000), 100_000, 3, 1 / 300


def in_turns(ours: Callable[[], object], theirs: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median seconds of each, after one unmeasured run of both."""
    ours(), theirs()
    both = [(timeit(ours, number=1), timeit(theirs, number=1)) for _ in range(runs)]
    first, second = (statistics.median(times) for times in zip(*both, strict=True))
    return first, second


def report(peer: str, scale: int, draws: int, ours: float, theirs: float, limit: float) -> bool:
    """Print a line, nanoseconds a draw; true if the limit holds. Times are of equally many draws."""
    held = ours <= limit * theirs
    nanoseconds = f"{ours / draws * 1e9:9.2f} {theirs / draws * 1e9:10.2f}"
    ratio = f"{ours / theirs:8.4f} {limit:8.4f}  {'ok' if held else 'PASSED THE LIMIT'}"
    print(f"{peer:<24} {scale:>6} {draws:>11,} {nanoseconds} {ratio}  ({theirs / ours:,.1f}x as fast)", flush=True)
    return held


def against_numpy() -> list[bool]:
    unsafe = np.random.default_rng()
    held = []
    for scale, draws, runs, limit in UNSAFE:
        ours, theirs = in_turns(
            lambda scale=scale, draws=draws: discrete_laplace(scale, draws),
            lambda scale=scale, draws=draws: unsafe.laplace(0.0, scale, draws),
            runs,
        )
        held.append(report("numpy laplace (unsafe)", scale, draws, ours, theirs, limit))
    return held


def against_opendp() -> list[bool]:
    try:
        import opendp.prelude as dp
    except ImportError:
        print("\n*** OpenDP IS NOT INSTALLED: NOT COMPARED. See benchmarks/requirements.txt. ***", file=sys.stderr)
        return []
    dp.enable_features("contrib")
    zeros = [0] * OPENDP_DRAWS
    held = []
    for scale in OPENDP_SCALES:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        measurement = dp.m.make_laplace(*space, scale=float(scale))
        ours, theirs = in_turns(
            lambda scale=scale: discrete_laplace(scale, OPENDP_DRAWS),
            lambda measurement=measurement: measurement(zeros),
            OPENDP_RUNS,
        )
        held.append(report("opendp make_laplace", scale, OPENDP_DRAWS, ours, theirs, OPENDP_LIMIT))
    return held


def main() -> int:
    print(f"{'peer':<24} {'scale':>6} {'draws':>11} {'ours ns':>9} {'peer ns':>10} {'ratio':>8} {'limit':>8}")
    return 0 if all([*against_numpy(), *against_opendp()]) else 1


if __name__ == "__main__":
    sys.exit(main())
