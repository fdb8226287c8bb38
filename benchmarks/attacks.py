"""Time linear reconstruction of 500 people, by least squares and by linear programs, and count right guesses.

python benchmarks/attacks.py    # prints a table; status 1 if a limit is passed
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine.lessons.defences import RAW, engine, jittered, rounded, unbudgeted
from dpengine.lessons.reconstruction import METHODS, reconstruct

PEOPLE, QUESTIONS, LIMIT = 500, 1500, 10.0
DEFENCES = (RAW, rounded(10), jittered(5), unbudgeted(Fraction(1)), engine(Fraction(1)))


def main() -> int:
    print(f"{PEOPLE} people, {QUESTIONS} questions; the limit is {LIMIT:g} s\n")
    print(f"{'method':<38} {'defence':<34} {'right':>6} {'seconds':>8}")
    held = True
    for name, method in METHODS.items():
        for defence in DEFENCES:
            start = time.perf_counter()
            found = reconstruct(defence, PEOPLE, QUESTIONS, method=method)
            taken = time.perf_counter() - start
            held &= taken <= LIMIT
            late = "" if taken <= LIMIT else "  PASSED THE LIMIT"
            print(f"{name:<38} {defence.name:<34} {found.rate.share:>6.1%} {taken:>8.2f}{late}", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
