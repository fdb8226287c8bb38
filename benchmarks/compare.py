"""Count how often the intervals of changes between two releases hold the true change.

    python benchmarks/compare.py [--draws 3] [--epsilons 0.1,1,10]

The census sample of 1994 and that of 1995 are released apart and compared (`dpengine.compare`): the tables of its plan,
and all pairs of its columns, which a model estimates at small ε. Shown are the part of cells whose interval holds the
true change, the same for cells with fewer than 20 people in both years, the median half-width of a change, and that of
the two half-widths added up.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine import Ledger, Plan, compare, open_table, published, release
from dpengine.counting.count import count

DATA = Path(__file__).parent.parent / "data"
FEW = 20  # people in a cell
YEARS = (1994, 1995)


def of_plan(plans: list[Plan], years: list[pd.DataFrame], draws: int) -> str:
    """Return how well intervals do for one plan, which has another dataset for each year."""
    truth = []
    for rows, plan in zip(years, plans, strict=True):
        with open_table(rows) as table:
            exact = count(table, plan, plan.marginals, truncation_key=b"any")
        truth.append(dict(zip(plan.marginals, exact, strict=True)) | {(): np.array([len(rows)])})
    holds, few, widths, added = [], [], [], []
    for _ in range(draws):
        made = [release(rows, plan, ledger=Ledger.in_memory()) for rows, plan in zip(years, plans, strict=True)]
        read = [published(each.bundle) for each in made]
        for table, changes in compare(*read).items():
            counts = changes[changes["number"] == "count"]
            old, new = (each[table].ravel() for each in truth)
            holds.append(((counts["low"] <= new - old) & (new - old <= counts["high"])).to_numpy())
            few.append(np.maximum(old, new) < FEW)
            widths.append((counts["high"] - counts["low"]).to_numpy() / 2)
            added.append(sum((each.tables[table]["high"] - each.tables[table]["low"]).to_numpy() for each in read) / 2)
    held, small = np.concatenate(holds), np.concatenate(few)
    return (
        f"{held.mean():.1%} of {len(held)} hold, {held[small].mean():.1%} of {small.sum()} small ones; "
        f"median half-width {np.median(np.concatenate(widths)):.1f}, {np.median(np.concatenate(added)):.1f} if added up"
    )


def main() -> None:
    """Release, compare, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--epsilons", default="0.1,1,10")
    chosen = parser.parse_args()
    frame = pd.read_parquet(DATA / "census.parquet")
    years = [frame[frame["survey_year"] == year] for year in YEARS]
    own = Plan.load(DATA / "census.plan.yaml").to_dict()
    for name, tables in (("its plan", own["tables"]), ("all pairs", {"each": 2})):
        for epsilon in chosen.epsilons.split(","):
            changed: dict[str, Any] = own | {"epsilon": epsilon, "tables": tables}
            plans = [Plan.model_validate(changed | {"dataset": f"census-{year}"}) for year in YEARS]
            print(f"{name:<10}{epsilon:>5}  {of_plan(plans, years, chosen.draws)}", flush=True)


if __name__ == "__main__":
    main()
