"""A mechanism: name the k largest cells of a table and count them, and publish nothing of the other cells.

from dpengine.mechanism import run_mechanism
found = run_mechanism(LargestCells(3), "visits.csv", plan, ledger)  # recorded, and only then returned
print(found.value)
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dpengine import Plan, PlanError
from dpengine.mechanism import Noise


class LargestCells:
    """Choose k cells one after the other with half of ε, then count them with the other half.

    ε-differentially private: in each of k choices at ε/2k, a row moves every score by at most 1; it moves the counts of
    the chosen cells by at most 1 in all, which cost ε/2. The parts add up to ε (basic composition).
    """

    def __init__(self, k: int) -> None:
        self.k = k
        self.name = f"largest {k} cells, version 1"

    def charge(self, plan: Plan) -> Fraction:
        """Return what `draw` spends: k choices and one vector of counts."""
        if len(plan.marginals) != 1 or plan.cells(plan.marginals[0]) < self.k:
            raise PlanError(f"give one table of at least {self.k} cells")
        return self.k * (plan.epsilon / (2 * self.k)) + plan.epsilon / 2

    def draw(self, counts: Mapping[tuple[str, ...], Any], noise: Noise) -> list[dict[str, int]]:
        """Return the place of each chosen cell, in declared order, and its noisy count."""
        (cells,) = (table.ravel() for table in counts.values())
        left, chosen = np.arange(cells.size), []
        for _ in range(self.k):
            place = noise.choose(cells[left], noise.epsilon / (2 * self.k))
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        counted = noise.laplace(cells[chosen], noise.epsilon / 2)
        return [{"cell": place, "count": int(count)} for place, count in zip(chosen, counted, strict=True)]
