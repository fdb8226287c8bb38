"""Measure the error of releases of many tables: mean over tables of the L1 distance to the truth, divided by rows.

    python benchmarks/accuracy.py [--draws 5] [--ways 2] [--epsilons 0.1,1,10] [--tables adult,census,...]

Beside each other in one run, at pure ε: the product (its expected counts and its whole counts, from synthetic rows),
single columns with independence, and every table measured once and projected. Adult is read from
``../shared/data/adult.csv`` or from what ``ADULT`` names (48,842 people, 14 columns, as distributed with private-pgm);
the other tables come with the product or are simulated: ``independent``, ``classes`` (six latent classes) and
``few_classes`` (five, in fewer columns). A path to an array that ``benchmarks/bank.py save`` wrote names one of the
bank, such as ``bank/bfi.npz``.
With ``--peers`` stand beside them, one draw each: ``mst,aim,privbayes`` of dpmm, of which MST and AIM spend δ = 10⁻⁹
besides (``PEERS_PYTHON`` names an interpreter that has it: benchmarks/peer_dpmm.py), and at the same pure ε
``pure-aim,pure-mst`` of OpenDP and ``pure-mwem``, MWEM+PGM (``MBI_PYTHON``: benchmarks/peer_mbi.py). Seconds are of the
processor, on all cores together: of the whole release, and in brackets without its rows, since peers stop at their
model. A peer that takes more than ``--patience`` of them is stopped, and said to be.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from dpengine.marginals.fitting import project
from dpengine.noise.laplace import discrete_laplace
from dpengine.results import result
from dpengine.synthesis import generate_rows

ROOT = Path(__file__).parent.parent
Coded = tuple[np.ndarray, dict[str, int]]  # codes, one row a person; cells of each column


def adult() -> Coded:
    path = Path(os.environ.get("ADULT", ROOT.parent / "shared" / "data" / "adult.csv"))
    sizes: dict[str, int] = json.loads((path.parent / "adult-domain.json").read_text())
    return pd.read_csv(path)[list(sizes)].to_numpy(), sizes


def census() -> Coded:
    frame = pd.read_parquet(ROOT / "data" / "census.parquet")
    gains = np.digitize(frame.pop("capital_gains"), np.linspace(1, 100_000, 50))
    return _coded(frame.assign(capital_gains=gains))


def rand() -> Coded:
    """Return the RAND sample with one row a person: the first year of each."""
    frame = pd.read_csv(ROOT / "data" / "rand.csv.gz").drop_duplicates("person_id").drop(columns=["person_id", "year"])
    frame["family_income"] = np.digitize(frame["family_income"], np.arange(500, 30_000, 500))
    frame["medical_spending"] = np.digitize(frame["medical_spending"], np.r_[0.01, np.geomspace(5, 20_000, 60)])
    return _coded(frame.fillna(-1))


def _coded(frame: pd.DataFrame) -> Coded:
    codes = {name: pd.Categorical(column).codes.astype(np.int64) for name, column in frame.items()}
    return np.stack(list(codes.values()), axis=1), {str(name): int(code.max()) + 1 for name, code in codes.items()}


def independent() -> Coded:
    chance = np.random.default_rng(5)
    sizes = [2, 3, 5, 8, 13, 20, 30, 50, 10, 10]
    columns = [chance.choice(size, 20_000, p=chance.dirichlet(np.ones(size))) for size in sizes]
    return np.stack(columns, axis=1), {f"c{k}": size for k, size in enumerate(sizes)}


def classes() -> Coded:
    return _of_classes(6, 6, 1.0, [2, 3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 60])


def few_classes() -> Coded:
    return _of_classes(8, 5, 2.0, [3, 4, 5, 6, 7, 8, 4, 5])


def _of_classes(seed: int, kinds: int, even: float, sizes: list[int]) -> Coded:
    """Simulate 30,000 rows of some kinds of people, of more `even` sizes; within a kind, columns are independent."""
    chance = np.random.default_rng(seed)
    kind = chance.choice(kinds, 30_000, p=chance.dirichlet(np.full(kinds, even)))
    columns = []
    for size in sizes:
        below = np.stack([chance.dirichlet(np.full(size, 0.5)) for _ in range(kinds)]).cumsum(axis=1)[kind]
        columns.append((chance.random(30_000)[:, None] > below).sum(axis=1).clip(0, size - 1))
    return np.stack(columns, axis=1), {f"c{k}": size for k, size in enumerate(sizes)}


SOURCES: dict[str, Callable[[], Coded]] = {
    source.__name__: source for source in (adult, census, rand, independent, classes, few_classes)
}


def of_bank(path: Path) -> Coded:
    with np.load(path) as held:
        return held["codes"], {f"c{k}": int(size) for k, size in enumerate(held["sizes"])}


def categories(sizes: dict[str, int]) -> list[dict[str, Any]]:
    """Return columns with so many cells each, declared as their codes."""
    return [
        {"name": name, "kind": "category", "values": [str(k) for k in range(size)], "other": False, "missing": False}
        for name, size in sizes.items()
    ]


def plan_of(sizes: dict[str, int], epsilon: str, ways: int, rows: int, strategy: str = "auto") -> dpe.Plan:
    tables = {"each": ways} if ways > 2 else [*([name] for name in sizes), *combinations(sizes, 2)]
    about = round(rows, -3)
    return dpe.Plan(
        dataset="benchmark",
        epsilon=epsilon,
        rows_about=about,
        columns=categories(sizes),
        tables=tables,
        strategy=strategy,
    )


def counts(codes: np.ndarray, sizes: dict[str, int], table: tuple[str, ...]) -> np.ndarray:
    names = list(sizes)
    shape = tuple(sizes[name] for name in table)
    cells = np.ravel_multi_index(tuple(codes[:, names.index(name)] for name in table), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def independence(codes: np.ndarray, sizes: dict[str, int], epsilon: str, tables: list[tuple[str, ...]]) -> float:
    """Return the mean error if only single columns are measured, and larger tables follow from independence.

    ε is divided in proportion to the square roots of the columns' cells.
    """
    from fractions import Fraction

    roots = {name: round(1000 * size**0.5) for name, size in sizes.items()}
    single = {}
    for name in sizes:
        share = Fraction(epsilon) * roots[name] / sum(roots.values())
        single[name] = project((counts(codes, sizes, (name,)) + discrete_laplace(1 / share, sizes[name])), len(codes))
    errors = []
    for table in tables:
        product = np.array(float(len(codes)))
        for name in table:
            product = np.multiply.outer(product, single[name] / len(codes))
        errors.append(np.abs(product - counts(codes, sizes, table)).sum() / len(codes))
    return statistics.mean(errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--tables", default=",".join(SOURCES))
    parser.add_argument("--peers", default="")
    parser.add_argument("--patience", type=int, default=1800)
    chosen = parser.parse_args()
    print(
        f"{'table':<12}{'ε':>6}  {'expected':>17}  {'counts':>17}  {'independence':>13}  {'all, direct':>12}  seconds"
    )
    for source in chosen.tables.split(","):
        codes, sizes = SOURCES[source]() if source in SOURCES else of_bank(Path(source))
        frame = pd.DataFrame(codes.astype(str), columns=list(sizes))
        with dpe.open_table(frame) as table:
            for epsilon in chosen.epsilons.split(","):
                one_line(source, epsilon, codes, sizes, table, chosen.draws, chosen.ways)
                for peer in filter(None, chosen.peers.split(",")):
                    print(
                        f"{'':<12}{epsilon:>6}  {run_peer(peer, epsilon, codes, sizes, chosen.ways, chosen.patience)}",
                        flush=True,
                    )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


def one_line(
    source: str, epsilon: str, codes: np.ndarray, sizes: dict[str, int], table: object, draws: int, ways: int
) -> None:
    plan = plan_of(sizes, epsilon, ways, len(codes))
    truth = {each: counts(codes, sizes, each) for each in plan.marginals} if ways < 3 else {}
    expected, whole, seconds, of_rows = [], [], [], []

    def realise(*fitted: Any) -> Any:
        start = time.process_time()
        rows = generate_rows.realise(*fitted)
        of_rows[-1] += time.process_time() - start
        return rows

    for _ in range(draws):
        of_rows.append(0.0)
        start = time.process_time()
        with mock.patch.object(result, "realise", realise):
            finished = dpe.release(table, plan)
        seconds.append(time.process_time() - start)
        off = np.zeros(2)
        for each in plan.marginals:
            exact = truth[each] if truth else counts(codes, sizes, each)
            off += np.abs(finished.estimates.estimate(each) - exact).sum(), np.abs(finished.counts(each) - exact).sum()
        off /= len(plan.marginals) * len(codes)
        expected.append(off[0])
        whole.append(off[1])
    direct = float("nan")
    if ways < 3:
        simple = dpe.release(table, plan_of(sizes, epsilon, ways, len(codes), "direct"))
        direct = statistics.mean(np.abs(simple.counts(t) - truth[t]).sum() / len(codes) for t in plan.marginals)
    alone = independence(codes, sizes, epsilon, list(plan.marginals))
    shown = (f"{statistics.mean(x):.4f} ± {statistics.pstdev(x):.4f}" for x in (expected, whole))
    print(
        f"{Path(source).stem:<12}{epsilon:>6}  {'  '.join(f'{each:>17}' for each in shown)}  "
        f"{alone:>13.4f}  {direct:>12.4f}  {statistics.median(seconds):.2f} "
        f"({statistics.median(np.subtract(seconds, of_rows)):.2f})",
        flush=True,
    )


def run_peer(peer: str, epsilon: str, codes: np.ndarray, sizes: dict[str, int], ways: int, patience: int) -> str:
    """Return the error of a peer's tables, counted from its rows or expected by its model, and how long it took."""
    tables = plan_of(sizes, epsilon, ways, len(codes)).marginals
    names = list(sizes)
    pure, name = peer.startswith("pure-"), peer.removeprefix("pure-")
    python, script = ("MBI_PYTHON", "peer_mbi.py") if pure else ("PEERS_PYTHON", "peer_dpmm.py")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "codes.npz", Path(folder) / "answer.npz"
        np.savez(source, codes=codes, sizes=np.array(list(sizes.values())), ways=ways)
        command = [os.environ[python], Path(__file__).parent / script, name, source, target, epsilon]
        try:
            subprocess.run(
                command,
                check=True,
                capture_output=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (patience, patience)),
            )
        except subprocess.CalledProcessError as failed:
            if failed.returncode < 0:
                return f"{peer}, stopped after {patience} s"
            return f"{peer}, failed: {failed.stderr.decode().strip().splitlines()[-1]}"
        with np.load(target) as made:
            answer = dict(made)

    def of(table: tuple[str, ...]) -> np.ndarray:
        return (
            answer[",".join(str(names.index(each)) for each in table)]
            if pure
            else counts(answer["codes"], sizes, table)
        )

    off = [np.abs(of(table) - counts(codes, sizes, table)).sum() / len(codes) for table in tables]
    return f"{peer}, {'expected' if pure else 'counts'} {statistics.mean(off):.4f}, {float(answer['seconds']):.1f} s"


if __name__ == "__main__":
    main()
