"""Compare errors at four levels of 11,000 leaves with fixed splits of ε and top-down methods, for a million people.

    python benchmarks/levels.py

Everything is at ε = 1, the root mean square error of a count at each level.

1. Estimates by least squares, in closed form: those of the engine against the best of many fixed splits, and what a
   county total would cost that is off by half as much as the sum of its leaves.
2. Published counts, simulated, where leaves are full and where most are empty: fixed splits with least squares and
   non-negative counts, and a top-down release of the kind of the census's (Abowd et al. 2022, "The 2020 Census
   Disclosure Avoidance System TopDown Algorithm", sections 5 and 6): each level is measured on its own, and from the
   coarsest level down the children of a node become the nearest non-negative counts that add up to it, then whole ones.
   Noise is discrete Laplace there too, not Gaussian, so that the guarantee is the same.
3. Predicted against measured errors of estimates.
4. Time and memory of a whole release of a million rows with its bundle.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine import Plan, release
from dpengine.array_types import Floats, Ints
from dpengine.bundle.write import pack
from dpengine.estimate.level_errors import LevelErrors
from dpengine.estimate.levels import LevelEstimates
from dpengine.marginals.level_tree import project_groups
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.plan_levels import level_groups, measured_at, tree_of
from dpengine.measure.levels import allocate_levels
from dpengine.noise.laplace import perturb

PEOPLE = 1_000_000
SPLITS = 1_000  # in closed form
SIMULATED = 250  # splits of which a few draws are simulated, and of the best many
FEW, MANY, BEST = 2, 40, 6
LEVELS = ("region", "state", "county", "block")
SHAPES = ("full leaves", "1 leaf in 20 has people", "half of the leaves in 1 county in 10", "long tail")
Parts = Sequence[float]


def plan_of(seed: int = 0) -> Plan:
    """Return a plan over an uneven tree of about 11,000 leaves, published at all of its four levels."""
    random = np.random.default_rng(seed)
    values = {
        f"r{r}": {
            f"s{r}.{s}": {
                f"c{r}.{s}.{c}": [f"b{r}.{s}.{c}.{b}" for b in range(int(random.integers(1, 20)))]
                for c in range(int(random.integers(5, 35)))
            }
            for s in range(int(random.integers(3, 8)))
        }
        for r in range(10)
    }
    column = {"name": "block", "kind": "category", "values": values, "levels": list(LEVELS)}
    tables = [[f"block@{level}"] for level in LEVELS[:-1]] + [["block"]]
    return Plan(dataset="levels", epsilon="1", columns=[column], tables=tables, rows_about=PEOPLE)


def errors(plan: Plan, parts: Parts) -> Floats:
    """Return the error of an estimate at each level, with these parts of ε; 0 measures nothing."""
    measured = measured_at(plan)[1:]
    given = {columns: 2 / part**2 for columns, part in zip(measured, parts, strict=True) if part > 0}
    return np.sqrt([float(each.mean()) for each in tree_of(plan, given).node_variances[1:]])


def in_closed_form(plan: Plan, ours: Parts, random: np.random.Generator) -> pd.DataFrame:
    """Return the errors of estimates at each level by way of dividing ε."""
    splits = [[*random.dirichlet(np.ones(len(LEVELS)))] for _ in range(SPLITS)]
    found = np.array([errors(plan, parts) for parts in splits])
    best = found[(found**4).sum(axis=1).argmin()]
    leaves = errors(plan, (0, 0, 0, 1))
    # Splits that know counties well enough; of these, the one whose other levels are least far from the best split.
    narrow = [[*random.dirichlet((2, 2, 10, 3))] for _ in range(SPLITS)]
    rows = np.array([errors(plan, parts) for parts in narrow])
    enough = rows[:, 2] <= leaves[2] / 2
    worst = np.where(enough, (rows / best)[:, [0, 1, 3]].max(axis=1), np.inf)
    place = int(worst.argmin())
    shares = ", ".join(f"{part:.2f}" for part in narrow[place])
    table = {
        "here": errors(plan, ours),
        "best fixed split": best,
        "here / best fixed split": errors(plan, ours) / best,
        "equal parts": errors(plan, np.full(len(LEVELS), 0.25).tolist()),
        "sums of leaves": leaves,
        "sums of the leaves as measured here": leaves / ours[-1],
        f"half of that error for counties ({shares})": rows[place],
        "the same / best fixed split": rows[place] / best,
    }
    return pd.DataFrame(table, index=list(LEVELS)).round(2).T


def leaves_of(shape: str, size: int, group: Ints, random: np.random.Generator) -> Ints:
    """Return how many people each leaf has."""
    weights = 1 / (1 + np.arange(size)) ** 0.7
    if shape != "full leaves":
        weights = random.lognormal(0, 1.5, size)
    if shape == "1 leaf in 20 has people":
        weights *= random.random(size) < 0.05
    if shape == "half of the leaves in 1 county in 10":
        weights *= (random.random(group.max() + 1) < 0.1)[group] & (random.random(size) < 0.5)
    if shape == "long tail":
        weights = 1.0 / (1 + random.permutation(size)) ** 2
    counts: Ints = random.multinomial(PEOPLE, weights / weights.sum())
    return counts


Published = Callable[[list[Ints], Parts], list[Floats]]


def least_squares(plan: Plan) -> Published:
    """Return least squares over all levels, then non-negative counts from the coarsest level down."""
    groups = level_groups(plan)

    def publish(noisy: list[Ints], parts: Parts) -> list[Floats]:
        given = {columns: 2 / part**2 for columns, part in zip(measured_at(plan)[1:], parts, strict=True)}
        nodes = tree_of(plan, given).estimate([None, *(each.astype(np.float64) for each in noisy)])
        return _downwards(nodes, groups)

    return publish


def top_down(plan: Plan) -> Published:
    """Return a top-down release: each level is fitted to its own noisy counts and to the level above, then rounded."""
    groups = level_groups(plan)

    def publish(noisy: list[Ints], parts: Parts) -> list[Floats]:
        above, found = np.array([max(0, int(noisy[0].sum()))]), []
        for level, group in zip(noisy, groups, strict=True):
            fitted = project_groups(level.astype(np.float64), above.astype(np.float64), group)
            above = _rounded(fitted, above, group)
            found.append(above.astype(np.float64))
        return found

    return publish


def _rounded(values: Floats, totals: Ints, group: Ints) -> Ints:
    """Return whole numbers near to `values` with these totals of groups: the largest remainders are rounded up."""
    down = np.floor(values + 1e-9).astype(np.int64)
    left = totals - np.bincount(group, down, totals.size).astype(np.int64)
    order = np.lexsort((down - values, group))
    rank = np.empty(values.size, dtype=np.int64)
    starts = np.searchsorted(group, np.arange(totals.size))
    rank[order] = np.arange(values.size) - starts[group]
    whole: Ints = down + (rank < left[group])
    return whole


def _downwards(nodes: list[Floats], groups: Sequence[Ints]) -> list[Floats]:
    above, found = np.maximum(nodes[0], 0.0), []
    for level, group in zip(nodes[1:], groups, strict=True):
        above = project_groups(level, above, group)
        found.append(above)
    return found


def here(plan: Plan) -> Published:
    """Return what this engine publishes."""
    columns = measured_at(plan)[1:]

    def publish(noisy: list[Ints], parts: Parts) -> list[Floats]:
        found = tuple(
            Measurement(Allocation(name, Fraction(part), 1), counts)
            for name, counts, part in zip(columns, noisy, parts, strict=True)
        )
        leaves = LevelEstimates(plan, found).fitted.table(columns[-1])
        coarser = [plan.resolution.coarsen(leaves, columns[-1], name) for name in columns[:-1]]
        return [each.astype(np.float64) for each in (*coarser, leaves)]

    return publish


def simulated(publish: Published, exact: list[Ints], parts: Parts, draws: int) -> Floats:
    """Return the error of published counts at each level."""
    squares = []
    for _ in range(draws):
        noisy = [perturb(counts, 1 / Fraction(part)) for counts, part in zip(exact, parts, strict=True)]
        found = publish(noisy, parts)
        squares.append([float(((a - b) ** 2).mean()) for a, b in zip(found, exact, strict=True)])
    return np.sqrt(np.mean(squares, axis=0))


Measure = Callable[[Floats], float]


def each_level_alike(found: Floats) -> float:
    """Return the geometric mean: an error that is 10 % less counts alike at every level."""
    return float(np.exp(np.log(found).mean()))


def far_off_levels_most(found: Floats) -> float:
    """Return the fourth root of the mean fourth power, by which ε is divided here: levels that are far off weigh most.

    Where leaves are mostly empty, that is to say the coarsest ones.
    """
    return float((found**4).mean() ** 0.25)


def best_of_many(
    publish: Published, exact: list[Ints], measures: Sequence[Measure], splits: list[Parts]
) -> list[Floats]:
    """Return the errors of the fixed split that is best by each of the measures."""
    first = [(parts, simulated(publish, exact, parts, FEW)) for parts in splits]
    found = []
    for measure in measures:
        ranked = sorted(first, key=lambda each: measure(each[1]))
        found.append(min((simulated(publish, exact, parts, MANY) for parts, _ in ranked[:BEST]), key=measure))
    return found


def published_counts(plan: Plan, ours: Parts, shape: str, random: np.random.Generator) -> pd.DataFrame:
    """Return the errors of published counts where leaves are full or empty as `shape` says."""
    groups = level_groups(plan)
    exact = [leaves_of(shape, groups[-1].size, groups[-1], random)]
    for group in groups[:0:-1]:
        exact.insert(0, np.bincount(group, exact[0]).astype(np.int64))
    equal = (0.25,) * len(LEVELS)
    drawn = (np.maximum(random.dirichlet(np.ones(len(LEVELS))), 0.01) for _ in range(SIMULATED))
    splits: list[Parts] = [np.round(parts / parts.sum(), 6).tolist() for parts in drawn]
    measures = (each_level_alike, far_off_levels_most)
    fitted = best_of_many(least_squares(plan), exact, measures, splits)
    rows = {
        "here": simulated(here(plan), exact, ours, MANY),
        "the same split, least squares": simulated(least_squares(plan), exact, ours, MANY),
        "best fixed split by the geometric mean": fitted[0],
        "best fixed split by the fourth power": fitted[1],
        "top-down, equal parts": simulated(top_down(plan), exact, equal, MANY),
        "top-down, best fixed split": best_of_many(top_down(plan), exact, measures[:1], splits)[0],
    }
    found = pd.DataFrame(rows, index=list(LEVELS)).T
    errors_of = [np.array(row, dtype=np.float64) for row in found.itertuples(index=False)]
    found["geometric mean"], found["fourth power"] = ([measure(row) for row in errors_of] for measure in measures)
    return found.round(2)


def predictions(plan: Plan, exact: list[Ints]) -> pd.DataFrame:
    """Return predicted and measured mean absolute errors of estimates."""
    allocations, columns = allocate_levels(plan, plan.epsilon), measured_at(plan)[1:]
    found: dict[str, list[float]] = {name: [] for name in LEVELS}
    counts = dict(zip(columns, exact, strict=True))
    for _ in range(MANY):
        noisy = tuple(Measurement(each, perturb(counts[each.columns], each.scale)) for each in allocations)
        estimates = LevelEstimates(plan, noisy)
        for level, name in zip(LEVELS, columns, strict=True):
            found[level].append(float(np.abs(estimates.estimate(name) - counts[name]).mean()))
    of = LevelErrors(plan, allocations)
    predicted = [of.error(name).mean_abs for name in columns]
    rows = {"predicted": predicted, "measured": [float(np.mean(found[level])) for level in LEVELS]}
    return pd.DataFrame(rows, index=list(LEVELS)).round(2).T


def main() -> None:
    """Print the errors, the time and the memory."""
    plan, random = plan_of(), np.random.default_rng(1)
    found = {each.columns: float(each.epsilon) for each in allocate_levels(plan, plan.epsilon)}
    ours = [found.get(columns, 0.0) for columns in measured_at(plan)[1:]]
    sys.stdout.write(f"Parts of ε here: {ours}\n\nEstimates\n{in_closed_form(plan, ours, random).to_string()}\n")
    for shape in SHAPES:
        sys.stdout.write(f"\nPublished counts, {shape}\n")
        sys.stdout.write(published_counts(plan, ours, shape, random).to_string() + "\n")
    leaves = np.array(plan.column("block").declared, dtype=object)
    likely = 1 / (1 + np.arange(leaves.size)) ** 0.7
    drawn = random.choice(leaves.size, PEOPLE, p=likely / likely.sum())
    exact = [np.bincount(drawn, minlength=plan.column("block").size).astype(np.int64)]
    for group in level_groups(plan)[:0:-1]:
        exact.insert(0, np.bincount(group, exact[0]).astype(np.int64))
    sys.stdout.write(f"\nMean absolute error of an estimate\n{predictions(plan, exact).to_string()}\n")
    start = time.perf_counter()
    pack(release(pd.DataFrame({"block": leaves[drawn]}), plan))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sys.stdout.write(f"\nrelease and bundle: {time.perf_counter() - start:.1f} s, {memory:.2f} GB at most\n")


if __name__ == "__main__":
    main()
