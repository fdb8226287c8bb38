"""Weighted least squares over any set of noisy marginals, in closed form.

A table splits into one component for each subset A of its columns: its sums over the other columns, minus their mean
along every column of A. Components of different A never mix. So the best linear unbiased estimate of each is an average
over the marginals that contain A, weighted by precision. No matrix is ever built.

With y_S a marginal measured with independent cell variance v_S, n_B the number of cells over columns B:

    w_S,A = 1 / (v_S · n_{S∖A})        weight of S for component A, for every S ⊇ A
    Ĉ_A   = Σ_S w_S,A C_A(y_S) / Σ_S w_S,A
    x̂_T   = Σ_{A ⊆ T} Ĉ_A / n_{T∖A}

Source: the residual basis of Xiao, He, Zhang & Kifer, "An Optimal and Scalable Matrix Mechanism for
Noisy Marginals" (NeurIPS 2023); equal to the dense Gauss–Markov solution, which the tests solve too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.marginal import Marginal

__all__ = ["LeastSquares", "NoiseTerm", "subsets"]

MAX_KEPT = 2  # columns of a component that is cached: a wide table has too many larger ones
MAX_KEPT_CELLS = 2**16


@dataclass(frozen=True, slots=True)
class NoiseTerm:
    """`times` independent draws of the noise of measurement number `measured`, each weighted by `weight`.

    They may come from several measurements with equal noise.
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
        """The measurements that have each column."""
        holding: dict[str, list[int]] = {}
        for s, columns in enumerate(self.measured):
            for name in columns:
                holding.setdefault(name, []).append(s)
        return holding

    @cached_property
    def _alike(self) -> list[list[int]]:
        """Groups of measurements of equal variance and size: interchangeable for a table without their columns."""
        alike: dict[tuple[float, int], list[int]] = {}
        for s, variance in enumerate(self.variances):
            alike.setdefault((variance, self._cells(self._sets[s])), []).append(s)
        return list(alike.values())

    @cached_property
    def _kinds(self) -> dict[int, int]:
        """The index of each measurement's group in `_alike`."""
        return {s: kind for kind, alike in enumerate(self._alike) for s in alike}

    @cached_property
    def _known(self) -> dict[frozenset[str], tuple[float, dict[int, float]]]:
        """Cache of `_component`: tables share many components, and all share the empty one."""
        return {}

    def _component(self, component: frozenset[str]) -> tuple[float, dict[int, float]]:
        """Return the precision of the estimate of a component, and the weight of each measurement in it; they add to 1.

        Without a measurement that contains it, the precision is 0.
        """
        known = self._known.get(component)
        if known is None:
            few = min((self._holding.get(name, []) for name in component), key=len, default=range(len(self.measured)))
            weights = {s: w for s in few if (w := self._weight(s, component)) > 0}
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
        return self.variance_beyond(-1, table)

    def variance_of_sums(self, table: Columns, groups: Sequence[Ints]) -> float:
        """Return the mean variance of a sum of cells of the estimate of `table`.

        The cells along each column are divided into `groups` of these sizes, and a sum is over one group of each.
        """
        total = 0.0
        for component in subsets(table):
            precision, _ = self._component(component)
            each = 1 / precision / self._cells(frozenset(table) - component) ** 2
            for name, sizes in zip(table, groups, strict=True):
                squares = np.square(sizes.astype(np.float64))
                each *= float((sizes - squares / self.sizes[name] if name in component else squares).mean())
            total += each
        return total

    def variance_beyond(self, size: int, table: Columns) -> float:
        """Return the variance of a cell of what is left of `table` without its sums over up to `size` columns."""
        total = 0.0
        for component in subsets(table):
            if len(component) > size:
                total += self.component_variance(component) / self._cells(frozenset(table) - component) ** 2
        return total

    def component_variance(self, component: frozenset[str]) -> float:
        """Return the variance of a cell of a component: of the part of a table that its sums do not determine."""
        precision, _ = self._component(component)
        return math.prod((self.sizes[name] - 1) / self.sizes[name] for name in component) / precision

    def covariance(self, table: Columns, along: Columns) -> Floats:
        """Return the covariance of the estimates of the cells along some columns of `table`, the others fixed.

        It has an axis for each of `along`, twice. Each component has an independent error, with the covariance I − J/n
        along a column that it has, where J is all ones, and J along one that it lacks.
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

    def estimator(self, values: Sequence[npt.NDArray[np.int64] | Floats]) -> Callable[[Columns], Floats]:
        """Return the unbiased least-squares estimate from the measured `values` as a function of the table.

        The estimate has one axis per column. Parts common to several tables are computed once. Raises ValueError for a
        table that lies within no measured marginal.
        """
        if len(self.measured) == 1:  # the sum; also exact if there are too many components to list
            return lambda table: Marginal(self.measured[0], values[0].astype(np.float64)).project(table).values
        cache: dict[frozenset[str], Floats] = {}

        def of_component(component: frozenset[str], weights: Mapping[int, float]) -> Floats:
            if component in cache:
                return cache[component]
            columns = tuple(sorted(component))
            total = np.zeros([self.sizes[name] for name in columns])
            for s, weight in weights.items():
                total += weight * Marginal(self.measured[s], values[s].astype(np.float64)).project(columns).values
            for axis in range(total.ndim):
                total = total - total.mean(axis=axis, keepdims=True)
            if len(component) <= MAX_KEPT and total.size <= MAX_KEPT_CELLS:
                cache[component] = total
            return total

        def estimate(table: Columns) -> Floats:
            result = np.zeros(tuple(self.sizes[name] for name in table))
            for component, weights in self._weights(table).items():
                part = of_component(component, weights) / self._cells(frozenset(table) - component)
                columns = sorted(component)
                part = part.transpose([columns.index(name) for name in table if name in component])
                result += part.reshape([self.sizes[name] if name in component else 1 for name in table])
            return result

        return estimate

    def estimate(self, table: Columns, values: Sequence[npt.NDArray[np.int64] | Floats]) -> Floats:
        """Return the estimate of one table; `estimator` serves many."""
        return self.estimator(values)(table)

    def noise(
        self,
        table: Columns,
        along: str | None = None,
        coefficients: Sequence[float] = (1.0,),
        groups: Sequence[int] = (),
    ) -> tuple[NoiseTerm, ...]:
        """Return the noise in one cell of the estimate of `table`, as a weighted sum of independent draws.

        With a column `along` of the table, it is the noise in Σ_k coefficient_k · estimate over the cells k of that
        column, the others fixed. With `groups`, it is the noise in a sum over this number of cells along each column,
        such as a cell of a coarser level. By symmetry, the weight of a measured cell depends only on its cell in the
        column `along` and on the set of other shared columns in which it lies outside the group of the estimated cell.
        """
        groups = tuple(groups) or (1,) * len(table)
        if len(self.measured) == 1:
            outside = self._cells(frozenset(self.measured[0]) - frozenset(table)) * math.prod(groups)
            return tuple(NoiseTerm(0, each, outside) for each in coefficients if each)
        touching = {s for name in table for s in self._holding.get(name, ())}
        # Measurements of one kind that share the same columns are alike, too.
        sharing: dict[tuple[int, Columns], list[int]] = {}
        for s in sorted(touching):
            shared = tuple(name for name in table if name in self._sets[s])
            sharing.setdefault((self._kinds[s], shared), []).append(s)
        # By symmetry, tables of the same sizes that share alike with as many of each kind have the same noise.
        alike = frozenset((kind, tuple(map(table.index, shared)), len(of)) for (kind, shared), of in sharing.items())
        axis = table.index(along) if along in table else None
        known = (tuple(self.sizes[name] for name in table), alike, axis, tuple(coefficients), groups)
        if known not in self._noise:
            in_group = dict(zip(table, groups, strict=True))
            self._noise[known] = self._terms(table, along, coefficients, in_group, sharing)
        return self._noise[known]

    @cached_property
    def _noise(self) -> dict[Hashable, tuple[NoiseTerm, ...]]:
        """Cache of `noise`."""
        return {}

    def _terms(
        self,
        table: Columns,
        along: str | None,
        coefficients: Sequence[float],
        in_group: Mapping[str, int],
        sharing: Mapping[tuple[int, Columns], Sequence[int]],
    ) -> tuple[NoiseTerm, ...]:
        """Return the noise of a table that shares columns with measurements: `sharing` has those of each kind."""
        sums, added = math.fsum(coefficients), math.prod(in_group.values())
        weights_of = self._weights(table)
        in_all, cells = weights_of[frozenset()], self._cells(frozenset(table))
        touching = {s for of in sharing.values() for s in of}
        touched = Counter(self._kinds[s] for s in touching)
        terms = []
        for kind, alike in enumerate(self._alike):
            if apart := len(alike) - touched[kind]:
                first = next(s for s in alike if s not in touching)
                if abs(weight := sums * added * in_all.get(first, 0.0) / cells) > 1e-15:
                    terms.append(NoiseTerm(first, weight, self._cells(self._sets[first]) * apart))
        for (_, shared), (s, *more) in sharing.items():
            others = tuple(name for name in shared if name != along)
            shared = (*others, along) if along in shared else others
            outside = (1 + len(more)) * self._cells(self._sets[s] - frozenset(shared))
            # weights[d] is the weight of cells that differ along the axes where d is 1. It starts as the contribution
            # of each component, and is summed over components one axis at a time: 2^k·k steps, not 4^k.
            weights, others_added = np.zeros((2,) * len(shared)), added // math.prod(map(in_group.__getitem__, shared))
            for component in subsets(shared):
                weight = others_added * weights_of[component].get(s, 0.0) / self._cells(frozenset(table) - component)
                weights[tuple(int(name in component) for name in shared)] = weight
            for axis, name in enumerate(others):
                mean, contrast = np.moveaxis(weights, axis, 0)
                group, part = in_group[name], in_group[name] / self.sizes[name]
                weights = np.stack([group * mean + (1 - part) * contrast, group * mean - part * contrast], axis=axis)
            if along in shared:  # the last axis: its mean is in all cells alike, its contrast by its coefficient
                mean, contrast = weights[..., :1], weights[..., 1:]
                weights = mean * sums + contrast * (np.array(coefficients) - sums / len(coefficients))
            else:
                weights = weights[..., None] * sums
            for *differing, cell in np.ndindex(weights.shape):
                places = zip(others, differing, strict=True)
                times = outside * math.prod(
                    self.sizes[name] - in_group[name] if differs else in_group[name] for name, differs in places
                )
                weight = float(weights[(*differing, cell)])
                if times and abs(weight) > 1e-15:
                    terms.append(NoiseTerm(s, weight, times))
        return tuple(sorted(terms, key=lambda term: term.measured))


def subsets(columns: Columns) -> Iterator[frozenset[str]]:
    """Yield all subsets of the columns, the empty one first.

    >>> [sorted(each) for each in subsets(("a", "b"))]
    [[], ['a'], ['b'], ['a', 'b']]
    """
    for size in range(len(columns) + 1):
        for subset in combinations(columns, size):
            yield frozenset(subset)
