"""Peers for benchmarks/accuracy.py at pure ε, run by an interpreter of their own: AIM, MST and MWEM+PGM.

    python -m venv peers && peers/bin/pip install "opendp[mbi]==0.16.0" pandas
    peers/bin/python benchmarks/peer_mbi.py aim codes.npz tables.npz 1

AIM and MST are OpenDP's (``dp.mbi``, with ``loss_of(epsilon=…)``: no δ is spent); ``aim-2`` is AIM with a model of at
most 2 MB, where 80 are its default. MWEM+PGM is written here after McKenna, Sheldon & Miklau, "Graphical-model based
estimation and inference for differential privacy" (ICML 2019): every round an exponential mechanism chooses the pair
that the model explains worst, Laplace noise measures it, and the model is fitted anew by the same package, mbi; single
columns come first. It draws floating-point noise. ``codes.npz`` holds ``codes`` (one row a person), ``sizes`` and
``ways``; every pair (or triple) as the model expects it, before rows are made of it (rows would only add error), is
written to ``tables.npz`` as ``0,1``, with the seconds of the processor that fitting took.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

Project = Callable[[list[str]], np.ndarray]  # names of columns → their table, as a model expects it


def main() -> None:
    name, source, target, epsilon = sys.argv[1:]
    with np.load(source) as held:
        codes, sizes, ways = held["codes"], [int(size) for size in held["sizes"]], int(held["ways"])
    names = [f"c{k}" for k in range(len(sizes))]
    asked = [table for size in range(1, ways + 1) for table in combinations(range(len(sizes)), size)]
    started = time.process_time()
    project = mwem(codes, sizes, float(epsilon)) if name == "mwem" else opendp(name, codes, sizes, ways, float(epsilon))
    seconds = time.process_time() - started
    answers = {",".join(map(str, table)): np.asarray(project([names[k] for k in table])) for table in asked}
    np.savez(target, seconds=seconds, **answers)


def opendp(name: str, codes: np.ndarray, sizes: list[int], ways: int, epsilon: float) -> Project:
    """Return a function from names of columns to their expected counts, by OpenDP."""
    import opendp.extras.mbi._mst as mst
    import opendp.prelude as dp
    import polars as pl

    # 0.16.0 refuses its own eleven shares: rounded up, they exceed the whole. So they are a trillionth smaller here.
    mst.prior = lambda share: share * (1 - 1e-12)
    dp.enable_features("contrib")
    frame = pl.DataFrame({f"c{k}": codes[:, k].astype(np.int64) for k in range(len(sizes))}).lazy()
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
    )
    name, _, megabytes = name.partition("-")
    algorithm = dp.mbi.AIM(queries=ways, max_size=float(megabytes or 80)) if name == "aim" else dp.mbi.MST()
    keys = {f"c{k}": list(range(size)) for k, size in enumerate(sizes)}
    made = context.query().select(*keys).contingency_table(keys=keys, algorithm=algorithm).release()

    def project(columns: list[str]) -> np.ndarray:
        """Leave out the level for nulls that it adds to each column, and share its people among the others."""
        table = np.asarray(made.project(columns))
        known = table[tuple(slice(0, sizes[int(column[1:])]) for column in columns)]
        return known * (table.sum() / known.sum())

    return project


def mwem(codes: np.ndarray, sizes: list[int], epsilon: float, megabytes: float = 80.0) -> Project:
    """Return such a function by MWEM+PGM: half of ε for single columns, and half of each round's for its choice."""
    from mbi import Domain, LinearMeasurement, estimation
    from mbi.junction_tree import hypothetical_model_size

    chance = np.random.default_rng()
    names = [f"c{k}" for k in range(len(sizes))]
    domain = Domain(names, sizes)
    rounds = max(1, len(sizes) - 1)

    def counts(table: tuple[int, ...]) -> np.ndarray:
        shape = [sizes[k] for k in table]
        return np.bincount(np.ravel_multi_index(codes[:, list(table)].T, shape), minlength=int(np.prod(shape)))

    def measured(table: tuple[int, ...], share: float) -> LinearMeasurement:
        noisy = counts(table) + chance.laplace(0, 1 / share, int(np.prod([sizes[k] for k in table])))
        return LinearMeasurement(noisy, tuple(names[k] for k in table), stddev=2**0.5 / share)

    truth = {pair: counts(pair) for pair in combinations(range(len(sizes)), 2)}
    answers = [measured((k,), epsilon / 2 / len(sizes)) for k in range(len(sizes))]
    model = estimation.mirror_descent(domain, answers, iters=1000)
    for _ in range(rounds):
        share = epsilon / 2 / rounds / 2
        taken = [each.clique for each in answers]
        near = [
            pair
            for pair in truth
            if hypothetical_model_size(domain, [*taken, tuple(names[k] for k in pair)]) <= megabytes
        ]
        off = [
            np.abs(np.asarray(model.project([names[k] for k in pair]).datavector()) - truth[pair]).sum()
            - truth[pair].size
            for pair in near
        ]
        scores = share * np.array(off) / 2
        chosen = near[int(np.argmax(scores + chance.gumbel(size=len(near))))]
        answers.append(measured(chosen, share))
        model = estimation.mirror_descent(domain, answers, iters=1000)
    return lambda columns: np.asarray(model.project(columns).values)


if __name__ == "__main__":
    main()
