"""Count how often the intervals of percentages hold the true percentage, and how wide they are.

    python benchmarks/percentages.py [--draws 3] [--epsilons 0.1,1,10]
    python benchmarks/percentages.py --arrays bank/yrbss.npz bank/alcohol.npz     # tables of benchmarks/bank.py

All pairs of columns are published, measured directly and by *auto*. Of each pair, percentages are taken of everybody,
and within the groups of either column. By default, the tables are the census sample and the RAND experiment, as their
plans declare them. Shown are how often intervals hold, their median half-width, the median of what 95 % of the errors
are within (both of groups of which something is known), and how much of the cells lies in groups that noise hides.
"""

from __future__ import annotations

import argparse
import sys
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from benchmarks.accuracy import counts, plan_of
from dpengine import Plan, open_table
from dpengine.array_types import Columns, Floats, Ints
from dpengine.counting.count import count
from dpengine.measure.strategy import decide
from dpengine.percentages import HIDDEN, percentages_of
from dpengine.results.result import conclude

DATA = Path(__file__).parent.parent / "data"
SAMPLES = {"census": "census.parquet", "rand": "rand.csv.gz"}


def parts(counts_of: Ints, table: Columns, within: Columns) -> Floats:
    """Return the true percentages of a table, NaN in empty groups."""
    whole = counts_of.sum(axis=tuple(k for k, name in enumerate(table) if name not in within), keepdims=True)
    return np.divide(100.0 * counts_of, whole, out=np.full(counts_of.shape, np.nan), where=whole > 0).ravel()


def of_sample(name: str) -> tuple[Plan, dict[Columns, Ints]]:
    """Return a plan of all pairs of the columns of a sample, and the true counts of its tables."""
    plan = Plan.load(DATA / f"{name}.plan.yaml")
    plan = Plan.model_validate(plan.to_dict() | {"tables": {"each": 2}, "unit": {}})
    with open_table(DATA / SAMPLES[name]) as table:
        tables = [*plan.marginals, *((column.name,) for column in plan.columns)]
        exact = count(table, plan, [*tables, ()], truncation_key=b"any")
    return plan, dict(zip([*tables, ()], exact, strict=True))


def ordered(exact: dict[Columns, Ints], table: Columns) -> Ints:
    """Return the counts of a table, whatever the order of its columns."""
    known = next(each for each in exact if {*each} == {*table})
    return exact[known].transpose([known.index(name) for name in table])


def compare(plan: Plan, exact: dict[Columns, Ints], draws: int) -> str:
    """Return how well the intervals of one plan do."""
    lines = []
    for what, groups in (("of everybody", [()]), ("within groups", [(0,), (1,)])):
        held, widths, errors, hidden = [], [], [], []
        for _ in range(draws):
            way = decide(plan)
            result = conclude(way.plan, way.measure(lambda tables: [ordered(exact, each) for each in tables]))
            for table in (each for each in plan.marginals if len(each) == 2):
                for group in groups:
                    within = tuple(table[place] for place in group)
                    truth, frame = parts(exact[table], table, within), percentages_of(result, table, within=within)
                    known = ~np.isnan(truth)
                    low, high, here = (frame[name].to_numpy()[known] for name in ("low", "high", "percent"))
                    clear = high - low < HIDDEN
                    held.append((low - 1e-9 <= truth[known]) & (truth[known] <= high + 1e-9))
                    hidden.append(~clear)
                    if clear.any():
                        widths.append(np.median(high[clear] - low[clear]) / 2)
                        errors.append(np.nanquantile(np.abs(here - truth[known])[clear], 0.95))
        lines.append(
            f"{what}: {np.concatenate(held).mean():.1%} hold, ±{np.median(widths):.2f}, needed "
            f"±{np.median(errors):.2f}, hidden {np.concatenate(hidden).mean():.0%}"
        )
    return "; ".join(lines)


def main() -> None:
    """Publish, take percentages, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--arrays", nargs="*", type=Path, default=[])
    chosen = parser.parse_args()
    tables = {} if chosen.arrays else {name: of_sample(name) for name in SAMPLES}
    for path in chosen.arrays:
        with np.load(path) as read:
            codes, sizes = read["codes"], {f"c{k}": int(size) for k, size in enumerate(read["sizes"])}
        plan = plan_of(sizes, "1", 2, len(codes))
        exact = cache(lambda table, codes=codes, sizes=sizes: counts(codes, sizes, table))
        tables[path.stem] = plan, {table: exact(table) for table in plan.marginals} | {(): np.array(len(codes))}
    for name, (plan, exact_counts) in tables.items():
        for epsilon in chosen.epsilons.split(","):
            for strategy in ("direct", "auto"):
                of = plan.model_copy(update={"strategy": strategy}).at(epsilon)
                print(f"{name}, ε = {epsilon}, {strategy}: {compare(of, exact_counts, chosen.draws)}", flush=True)


if __name__ == "__main__":
    main()
