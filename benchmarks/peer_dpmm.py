"""A peer for benchmarks/accuracy.py, run by an interpreter of its own: MST, AIM or PrivBayes as dpmm implements them.

    python -m venv peers && peers/bin/pip install dpmm==0.1.9
    peers/bin/python benchmarks/peer_dpmm.py mst codes.npz rows.npz 1

It needs versions of NumPy and pandas that the project does not. ``codes.npz`` holds ``codes`` (one row a person) and
``sizes``; as many synthetic rows are written to ``rows.npz``, with the seconds they took. MST and AIM spend
δ = 10⁻⁹ beside ε; PrivBayes spends none.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd


def main() -> None:
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from dpmm.models.priv_bayes import PrivBayesGM

    models = {"mst": MSTGM, "aim": AIMGM, "privbayes": PrivBayesGM}
    name, source, target, epsilon = sys.argv[1:]
    with np.load(source) as held:
        codes, sizes = held["codes"], held["sizes"]
    frame = pd.DataFrame({f"c{k}": codes[:, k].astype(np.int64) for k in range(codes.shape[1])})
    domain = {column: int(size) for column, size in zip(frame.columns, sizes, strict=True)}
    delta = {} if name == "privbayes" else {"delta": 1e-9}
    started = time.process_time()
    model = models[name](epsilon=float(epsilon), domain=domain, **delta)
    model.fit(frame)
    rows = model.generate(n_records=len(frame))
    seconds = time.process_time() - started
    np.savez(target, codes=rows[frame.columns].to_numpy(dtype=np.int64), seconds=seconds)


if __name__ == "__main__":
    main()
