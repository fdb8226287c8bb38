"""Time surveys by local mechanisms: a million people randomise their answers, and the shares are estimated.

    pip install -r benchmarks/requirements.txt     # multi-freq-ldpy; an environment of its own is best
    python benchmarks/local.py                     # prints a table; status 1 if a limit is passed

multi-freq-ldpy works person by person, with coins of NumPy's generator and floating-point bias; it is asked with
fewer people, and its time is scaled up to a million.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from timeit import timeit

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine.lessons.survey import made_up_counts
from dpengine.mechanisms.local.frequency_oracles import HadamardResponse, LocalHashing, UnaryEncoding
from dpengine.mechanisms.local.protocol import PureProtocol
from dpengine.mechanisms.local.randomized_response import KaryResponse, RandomizedResponse
from dpengine.mechanisms.local.sketches import CountMeanSketch, HadamardSketch

PEOPLE, PEERS_PEOPLE, ANSWERS, EPSILON, RUNS = 10**6, 20_000, 100, Fraction(1), 5
Survey = Callable[[np.ndarray], np.ndarray]
LIMITS = {
    "randomized response": 1.0,
    "k-ary response": 1.0,
    "unary encoding": 1.0,
    "local hashing": 5.0,
    "Hadamard response": 1.0,
    "count-mean sketch": 1.0,
    "Hadamard sketch": 1.0,
}


def protocols() -> dict[str, PureProtocol]:
    made = (
        RandomizedResponse.of(EPSILON),
        *(
            kind.of(ANSWERS, EPSILON)
            for kind in (KaryResponse, UnaryEncoding, LocalHashing, HadamardResponse, CountMeanSketch, HadamardSketch)
        ),
    )
    return dict(zip(LIMITS, made, strict=True))


def peers() -> dict[str, Survey]:
    """The same by multi-freq-ldpy, where it has it: reports of ``values`` one by one, and shares."""
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
    except ImportError:
        print("*** multi-freq-ldpy IS NOT INSTALLED: NOT COMPARED. See benchmarks/requirements.txt. ***\n")
        return {}
    epsilon = float(EPSILON)
    return {
        "k-ary response": lambda values: GRR_Aggregator_MI(
            [GRR_Client(each, ANSWERS, epsilon) for each in values], ANSWERS, epsilon
        ),
        "unary encoding": lambda values: UE_Aggregator_MI(
            [UE_Client(each, ANSWERS, epsilon) for each in values], epsilon
        ),
        "local hashing": lambda values: LH_Aggregator_MI(
            [LH_Client(each, ANSWERS, epsilon) for each in values], ANSWERS, epsilon
        ),
    }


def main() -> int:
    values = np.repeat(np.arange(ANSWERS), made_up_counts(ANSWERS, PEOPLE))
    few = values[:: PEOPLE // PEERS_PEOPLE]
    theirs = peers()
    for survey in theirs.values():
        survey(few[:100])  # compiled on the way
    print(f"{PEOPLE:,} people, {ANSWERS} answers, ε = {EPSILON}; seconds, medians of {RUNS} runs\n")
    print(f"{'mechanism':<22} {'randomise':>10} {'estimate':>10} {'limit':>6} {'peer':>8}  typical error, people")
    held = True
    for name, protocol in protocols().items():
        asked = values % 2 if isinstance(protocol, RandomizedResponse) else values
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            reports = protocol.randomise(asked)
            middle = time.perf_counter()
            estimate = protocol.estimate(reports)
            times.append((middle - start, time.perf_counter() - middle))
        first, second = (statistics.median(column) for column in zip(*times, strict=True))
        held &= first + second <= LIMITS[name]
        scaled = timeit(lambda name=name: theirs[name](few), number=1) * PEOPLE / few.size if name in theirs else None
        peer = "" if scaled is None else f"{scaled:.1f}"
        late = "" if first + second <= LIMITS[name] else "  PASSED THE LIMIT"
        error = PEOPLE * float(np.sqrt(estimate.variances.mean()))
        print(f"{name:<22} {first:>10.3f} {second:>10.3f} {LIMITS[name]:>6g} {peer:>8}  {error:,.0f}{late}", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
