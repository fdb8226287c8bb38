"""Weighted least squares over any set of noisy marginals, in closed form.

A table splits into one component for each subset A of its columns: its sums over the other columns, minus
their mean along every column of A. Components of different A never mix. So the best linear unbiased estimate
of each is an average over the marginals that contain A, weighted by precision. No matrix is ever built.

With y_S a marginal measured with independent cell variance v_S, n_B the number of cells over columns B:

    w_S,A = 1 / (v_S · n_{S∖A})        weight of S for component A, for every S ⊇ A
    Ĉ_A   = Σ_S w_S,A C_A(y_S) / Σ_S w_S,A
    x̂_T   = Σ_{A ⊆ T} Ĉ_A / n_{T∖A}

Source: the residual basis of Xiao, He, Zhang & Kifer, "An Optimal and Scalable Matrix Mechanism for
Noisy Marginals" (NeurIPS 2023); equal to the dense Gauss–Markov solution, which the tests solve too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Floats
from dpengine.marginals.marginal import Marginal

__all__ = ["LeastSquares", "NoiseTerm", "subsets"]

MAX_KEPT = 2  # columns of a component that is kept: a wide table has too many larger ones


@dataclass(frozen=True, slots=True)
class NoiseTerm:
    """`times` independent draws from noise as that of measurement number `measured`, each weighted by `weight`.

    They may be from several measurements that are alike.
    """

    measured: int
    weight: float
    times: int


@dataclass(frozen=True)
class LeastSquares:
    """Estimator from marginals `measured` with cell `variances`; `sizes` gives the number of cells of each column.

    It estimates the tables that lie within a measured marginal.
    """

    sizes: Mapping[str, int]
    measured: tuple[Columns, ...]
    variances: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.measured) != len(self.variances) or not all(v > 0 for v in self.variances):
            raise ValueError("every measured marginal needs a variance above 0")

    def _cells(self, columns: frozenset[str]) -> int:
        return math.prod(self.sizes[name] for name in columns)

    def _weight(self, measured: int, component: frozenset[str]) -> float:
        columns = self._sets[measured]
        return 1 / (self.variances[measured] * self._cells(columns - component)) if component <= columns else 0.0

    @cached_property
    def _sets(self) -> tuple[frozenset[str], ...]:
        return tuple(map(frozenset, self.measured))

    @cached_property
    def _holding(self) -> dict[str, list[int]]:
        """By column, the measurements that have it."""
        holding: dict[str, list[int]] = {}
        for s, columns in enumerate(self.measured):
            for name in columns:
                holding.setdefault(name, []).append(s)
        return holding

    @cached_property
    def _alike(self) -> list[list[int]]:
        """Measurements of the same variance and number of cells: the same for tables that share no column with them."""
        alike: dict[tuple[float, int], list[int]] = {}
        for s, variance in enumerate(self.variances):
            alike.setdefault((variance, self._cells(self._sets[s])), []).append(s)
        return list(alike.values())

    @cached_property
    def _known(self) -> dict[frozenset[str], tuple[float, dict[int, float]]]:
        """What `_component` has found so far: tables share many components, and all of them the empty one."""
        return {}

    def _component(self, component: frozenset[str]) -> tuple[float, dict[int, float]]:
        """Return the precision of the estimate of a component, and the weight of each measurement in it; they add to 1.

        Without a measurement that contains it, the precision is 0.
        """
        known = self._known.get(component)
        if known is None:
            weights = {s: w for s in range(len(self.measured)) if (w := self._weight(s, component)) > 0}
            total = math.fsum(weights.values())
            known = total, {s: w / total for s, w in weights.items()}
            if len(component) <= MAX_KEPT:
                self._known[component] = known
        return known

    def _weights(self, table: Columns) -> dict[frozenset[str], dict[int, float]]:
        """Return the weight of each measurement in the estimate of each component of `table`."""
        weights_of = {}
        for component in subsets(table):
            precision, weights_of[component] = self._component(component)
            if precision == 0:
                raise ValueError(f"table {' × '.join(table)} does not lie within a measured marginal")
        return weights_of

    def variance(self, table: Columns) -> float:
        """Return the variance of the estimate of `table`: the same for every cell."""
        total = 0.0
        for component in subsets(table):
            precision, _ = self._component(component)
            contrast = math.prod((self.sizes[name] - 1) / self.sizes[name] for name in component)
            total += contrast / precision / self._cells(frozenset(table) - component) ** 2
        return total

    def covariance(self, table: Columns, along: Columns) -> Floats:
        """Return the covariance of the estimates of the cells along some columns of `table`, the others fixed.

        It has an axis for each of `along`, and then these again. Each component has an error of its own, with the
        covariance I − J/n along a column that it has, where J is all ones, and J along one that it has not.
        """
        sizes = [self.sizes[name] for name in along]
        total = np.zeros((*sizes, *sizes))
        for component in subsets(table):
            precision, _ = self._component(component)
            scale = 1 / precision / self._cells(frozenset(table) - component) ** 2
            scale *= math.prod((self.sizes[name] - 1) / self.sizes[name] for name in component - {*along})
            part = np.array(scale)
            for name, size in zip(along, sizes, strict=True):
                part = np.multiply.outer(part, np.eye(size) - 1 / size if name in component else np.ones((size, size)))
            total += part.transpose([*range(0, 2 * len(along), 2), *range(1, 2 * len(along), 2)])
        return total

    def estimate(
        self, table: Columns, values: Sequence[npt.NDArray[np.int64] | Floats], totals: Sequence[float] | None = None
    ) -> Floats:
        """Return the unbiased least-squares estimate of `table`, one axis a column, from the measured `values`.

        `totals` are the sums of the `values`, if they are at hand: many estimates share them. Raises ValueError for a
        table that lies within no measured marginal.
        """
        if len(self.measured) == 1:  # the sum; also exact where the components would be too many to list
            return Marginal(self.measured[0], values[0].astype(np.float64)).project(table).values
        weights_of = self._weights(table)
        result = np.zeros(tuple(self.sizes[name] for name in table))
        in_all, cells = weights_of[frozenset()], self._cells(frozenset(table))
        for s, columns in enumerate(self.measured):
            if self._sets[s].isdisjoint(table):  # as most of many tables: it tells the total alone
                total = float(values[s].astype(np.float64).sum()) if totals is None else totals[s]
                result += in_all.get(s, 0.0) / cells * total
                continue
            shared = tuple(name for name in table if name in columns)
            seen = Marginal(columns, values[s].astype(np.float64)).project(shared).values
            for component in subsets(shared):
                weight = weights_of[component].get(s, 0.0) / self._cells(frozenset(table) - component)
                part = seen
                for axis, name in enumerate(shared):
                    if name in component:
                        part = part - part.mean(axis=axis, keepdims=True)
                    else:
                        part = part.sum(axis=axis, keepdims=True)
                spread = [self.sizes[name] if name in component else 1 for name in table]
                result += weight * part.reshape(spread)
        return result

    def noise(
        self, table: Columns, along: str | None = None, coefficients: Sequence[float] = (1.0,)
    ) -> list[NoiseTerm]:
        """Return the noise in one cell of the estimate of `table`, as a weighted sum of independent draws.

        With a column `along` of the table, it is the noise in Σ_k coefficient_k · estimate over the cells k of that
        column, the others fixed. By symmetry, the weight of a measured cell depends only on its cell in that column and
        on the set of other shared columns in which it differs from the estimated cell.
        """
        sums = math.fsum(coefficients)
        if len(self.measured) == 1:
            outside = self._cells(frozenset(self.measured[0]) - frozenset(table))
            return [NoiseTerm(0, each, outside) for each in coefficients if each]
        weights_of = self._weights(table)
        in_all, cells = weights_of[frozenset()], self._cells(frozenset(table))
        touching = {s for name in table for s in self._holding.get(name, ())}
        terms = []
        for alike in self._alike:
            apart = [s for s in alike if s not in touching]
            if apart and abs(weight := sums * in_all.get(apart[0], 0.0) / cells) > 1e-15:
                terms.append(NoiseTerm(apart[0], weight, self._cells(self._sets[apart[0]]) * len(apart)))
        for s in touching:
            columns = self.measured[s]
            shared = tuple(sorted((name for name in table if name in columns), key=lambda name: name == along))
            outside = self._cells(frozenset(columns) - frozenset(shared))
            # weights[d] is the weight of cells that differ along the axes where d is 1. It starts as the contribution
            # of each component, and is summed over components one axis at a time: 2^k·k steps, not 4^k.
            weights = np.zeros((2,) * len(shared))
            for component in subsets(shared):
                weight = weights_of[component].get(s, 0.0) / self._cells(frozenset(table) - component)
                weights[tuple(int(name in component) for name in shared)] = weight
            others = shared[:-1] if along in shared else shared
            for axis, name in enumerate(others):
                mean, contrast = np.split(weights, 2, axis=axis)
                weights = np.concatenate([mean + (1 - 1 / self.sizes[name]) * contrast,
                                          mean - contrast / self.sizes[name]], axis=axis)  # fmt: skip
            if (
                along in shared
            ):  # the last axis: its mean is in all cells alike, its contrast in each by its coefficient
                mean, contrast = np.split(weights, 2, axis=-1)
                weights = mean * sums + contrast * (np.array(coefficients) - sums / len(coefficients))
            else:
                weights = weights[..., None] * sums
            for *differing, cell in np.ndindex(weights.shape):
                places = zip(others, differing, strict=True)
                times = outside * math.prod(self.sizes[name] - 1 for name, differs in places if differs)
                weight = float(weights[(*differing, cell)])
                if times and abs(weight) > 1e-15:
                    terms.append(NoiseTerm(s, weight, times))
        return sorted(terms, key=lambda term: term.measured)


def subsets(columns: Columns) -> Iterator[frozenset[str]]:
    """Yield all subsets of the columns, the empty one first.

    >>> [sorted(each) for each in subsets(("a", "b"))]
    [[], ['a'], ['b'], ['a', 'b']]
    """
    for size in range(len(columns) + 1):
        for subset in combinations(columns, size):
            yield frozenset(subset)
