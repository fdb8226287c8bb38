"""Bound from below how much of its ε adaptive measuring uses, by many releases of two neighbouring tables.

    python benchmarks/audit.py [--runs 100000] [--epsilons 1,2]

One table has nobody, the other one person; the evidence is the likelihood ratio of all noisy marginals. The lower bound
on ε (Clopper–Pearson, 99.9 %) must not exceed ε; the nearer it comes, the less of ε is wasted.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine.audit.bounds import least_epsilon
from tests.neighbours import hits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--epsilons", default="1,2")
    chosen = parser.parse_args()
    for epsilon in chosen.epsilons.split(","):
        there, absent = hits(epsilon, chosen.runs)
        bound = least_epsilon(there, chosen.runs, absent, chosen.runs, 1e-3)
        print(
            f"ε = {epsilon}: {there:,} against {absent:,} of {chosen.runs:,}; shown {math.log(there / absent):.3f}, "
            f"at least {bound:.3f}, which is {bound / float(epsilon):.0%} of it",
            flush=True,
        )


if __name__ == "__main__":
    main()
