"""Measure errors of ranges: mean |error| over prefix sums (1-D) or random boxes (2-D), divided by the rows.

    python benchmarks/ranges.py [--draws 5] [--epsilon 0.1] [--rows 10000,1000000] [--peers DAWA,Hb]
        [--shapes set] [--peer-draws 5]

Beside each other in one run, at ε-differential privacy: the product (``ranges: true``, whole counts as published), and
the published family (benchmarks/peers/range_methods.py): every cell by itself, Hb, Privelet, GreedyH, AHP, DAWA and
MWEM; EFPA and PHP in one dimension; QuadTree and the two grids in two. The last lines compare each method with the best
of all, and the product with the best of the others.

The tables are simulated shapes of 4096 and of 128 × 128 cells (benchmarks/range_shapes.py): others publish figures on
none of them. With ``ADULT`` naming its file (or in ``../shared/data``), capital gains of Adult are one of them. The
parameters of the product were set on the shapes of ``set``; those of ``seen`` and ``held-out`` were looked at while
rules were chosen, and one of two last candidates was chosen by ``mechanisms``. ``columns`` are real columns
(benchmarks/range_columns.py). With ``--peer-draws`` the others, which take longer, are drawn less often.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.peers.range_methods import ONE_AXIS, TWO_AXES, Method, answers, noise
from benchmarks.range_shapes import GROUPS
from dpengine.estimate.consistency import round_boxes
from dpengine.marginals.box_tree import BoxTree
from dpengine.measure.box_measurement import measure_boxes

__all__ = ["mean_errors", "ours"]


def ours(counts: np.ndarray, epsilon: float) -> np.ndarray:
    axes = [(0, size) for size in counts.shape]
    boxes = measure_boxes(("a", "b")[: counts.ndim], axes, counts, Fraction(str(epsilon)), 1)
    return round_boxes(BoxTree(boxes)).tables[0].values


def mean_errors(
    shape: np.ndarray, rows: int, methods: Mapping[str, Method], epsilon: float, draws: Mapping[str, int]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return for each method 1000 × the mean error of a range ÷ rows, over its draws, and its mean processor time."""
    errors, seconds = (dict.fromkeys(methods, 0.0) for _ in range(2))
    for draw in range(max(draws.values())):
        counts = noise.multinomial(rows, shape.ravel()).reshape(shape.shape)
        for method, run in methods.items():
            if draw >= draws[method]:
                continue
            started = time.process_time()
            found = run(counts, epsilon)
            seconds[method] += (time.process_time() - started) / draws[method]
            errors[method] += 1000 * np.abs(answers(found) - answers(counts)).mean() / rows / draws[method]
    return errors, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--rows", default="10000,1000000")
    parser.add_argument("--peers", default=",".join({**ONE_AXIS, **TWO_AXES}))
    parser.add_argument("--peer-draws", type=int, help="of the other methods; as many as of this one")
    parser.add_argument("--shapes", choices=GROUPS, default="set")
    options = parser.parse_args()
    tables = zip(("4096 cells", "128 × 128 cells"), GROUPS[options.shapes], (ONE_AXIS, TWO_AXES), strict=True)
    for title, shapes, peers in ((title, build(), peers) for title, build, peers in tables):
        methods = {"this": ours, **{name: run for name, run in peers.items() if name in options.peers.split(",")}}
        for rows in map(int, options.rows.split(",")):
            print(f"\n{title}, {rows:,} rows, ε = {options.epsilon:g}: mean error of a range ÷ rows, × 1000")
            print(f"{'':14}" + "".join(f"{name:>13}" for name in methods))
            table, seconds = [], dict.fromkeys(methods, 0.0)
            for name, shape in shapes.items():
                draws = dict.fromkeys(methods, options.peer_draws or options.draws) | {"this": options.draws}
                errors, times = mean_errors(shape, rows, methods, options.epsilon, draws)
                seconds = {method: before + times[method] / len(shapes) for method, before in seconds.items()}
                print(f"{name:14}" + "".join(f"{error:13.3f}" for error in errors.values()), flush=True)
                table.append([*errors.values()])
            every = np.array(table)
            means = np.exp(np.log(every / every.min(axis=1, keepdims=True)).mean(axis=0))
            print(f"{'ratio to best':14}" + "".join(f"{mean:13.2f}" for mean in means), "(geometric mean)")
            print(f"{'seconds':14}" + "".join(f"{each:13.3f}" for each in seconds.values()), "(of a processor)")
            if len(methods) > 1:
                against = every[:, 0] / every[:, 1:].min(axis=1)
                print(f"this ÷ best other: {np.exp(np.log(against).mean()):.2f} in the geometric mean,", end=" ")
                print(", ".join(f"{name} {ratio:.2f}" for name, ratio in zip(shapes, against, strict=True)))


if __name__ == "__main__":
    main()
