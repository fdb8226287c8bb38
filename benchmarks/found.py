"""Measure how many keys of an unlisted universe a release finds, of those with people and of those without.

    python benchmarks/found.py            # status 1 if a limit is passed
    python benchmarks/found.py --whole    # also one whole release of a million rows, and its memory

A million people have one key each, out of 10^5 possible post codes, numbered so that the r-th most common of 30,000 has
people in proportion to 1/(r + 20). ε = 1 for the whole release, with the usual share for finding; and each key
may be found that nobody has with a chance of 1/1000 in all. The same for texts of up to 12 letters, of which there are
10^17: the least number that is shown grows with the logarithm of how many there are.

Shown is how many of the keys with more than 80 people are found, averaged over runs; how many of those with a given
number of people should be, by the noise; and how many runs found a key that nobody has.
"""

from __future__ import annotations

import resource
import sys
import time
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine import Category, Plan, release, verify
from dpengine.array_types import Ints
from dpengine.noise.sparse import sparse_histogram
from dpengine.noise.threshold import chance_of_reaching, release_threshold
from dpengine.spec.categories.universe import Universe

PEOPLE, HELD, RUNS = 1_000_000, 30_000, 200
UNIVERSES = {
    "post codes": Universe(pattern="#####", most=10_000),
    "texts of up to 12 letters": Universe(letters="a-z", longest=12, most=10_000),
}
MANY, FOUND = 80, 0.99  # of the keys with more people than this, so many are found at least


def people() -> Ints:
    """Return the number of people of each held key, the same each time: a million in all."""
    weights = 1 / (np.arange(HELD) + 20)
    counts = np.floor(PEOPLE * weights / weights.sum()).astype(np.int64)
    counts[: PEOPLE - int(counts.sum())] += 1
    return counts


def places(universe: Universe) -> Ints:
    """Return where the held keys stand in their universe: spread evenly over it, in increasing order."""
    return np.array([universe.keys * k // HELD for k in range(HELD)], dtype=np.int64)


def of_the_noise() -> bool:
    """Draw the noisy histogram many times, and compare what is found with what has people."""
    counts, kept = people()[np.argsort(np.arange(HELD) * 7919 % HELD)], True
    for name, universe in UNIVERSES.items():
        held, scale = places(universe), 1 / universe.share
        least = release_threshold(universe.keys, scale, universe.chance)
        many, found, wrong, began = counts > MANY, [], 0, time.process_time()
        tracemalloc.start()
        for _run in range(RUNS):
            shown, _numbers = sparse_histogram(held, counts, universe.keys, scale, least)
            found.append(np.isin(held[many], shown).mean())
            wrong += not np.isin(shown, held).all()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        spent = (time.process_time() - began) / RUNS
        print(f"{name}: {universe.keys:.3g} keys, {HELD:,} of them held; shown from {least} on")
        print(f"  of {many.sum():,} keys with more than {MANY} people, found: {np.mean(found):.2%}")
        print(f"  runs with a key that nobody has: {wrong} of {RUNS}; stated: at most {float(universe.chance):.1%}")
        chances = ", ".join(f"{n}: {chance_of_reaching(n, scale, least):.1%}" for n in (20, 40, 60, 81, 100, 200))
        print(f"  found by the number of people: {chances}")
        print(f"  {spent * 1000:.0f} ms of the processor and {peak:.1f} MB at most for each")
        # Of a universe of 10^17 keys more noise has to be passed: only that of post codes has the limit.
        kept &= name != "post codes" or (float(np.mean(found)) >= FOUND and wrong <= 5)
    return kept


def of_a_release() -> bool:
    """Publish a million rows by post code and sex once, and read the bundle back."""
    universe, counts = UNIVERSES["post codes"], people()
    keys = np.array([universe.key(int(place)) for place in places(universe)])
    codes = np.repeat(np.arange(HELD), counts)
    frame = pd.DataFrame({"plz": keys[codes], "sex": np.where(codes % 2, "f", "m")})
    columns = [Category(name="plz", values="found", among=universe), Category(name="sex", values=["f", "m"])]
    plan = Plan(dataset="bench", epsilon=1, columns=columns, tables=[["plz", "sex"]])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.process_time()
    made = release(frame, plan)
    spent, after = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    values = {*made.plan.columns[0].labels} - {"(other)", "(missing)"}
    many = {*keys[counts > MANY]}
    verify(made.bundle)
    print(f"whole release: {len(values):,} values; of {len(many):,} with more than {MANY} people, found "
          f"{len(values & many) / len(many):.2%}; without people: {len(values - {*keys})}")  # fmt: skip
    print(f"  {spent:.1f} s of the processor; memory {before:.0f} MB before, {after:.0f} MB at most")
    return len(values & many) >= FOUND * len(many)


def main() -> int:
    """Print the figures; return 1 if a limit is passed."""
    kept = of_the_noise()
    if "--whole" in sys.argv[1:]:
        kept &= of_a_release()
    return 0 if kept else 1


if __name__ == "__main__":
    assert Fraction(1, 4) == UNIVERSES["post codes"].share
    sys.exit(main())
