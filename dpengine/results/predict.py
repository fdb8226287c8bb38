"""How wrong a release will be, for every strategy: by calculation where there is a law, else by trying it out.

What an adaptive release gets wrong depends on what it will choose, which no law says beforehand. So it is tried
on the made-up table (`results.mock_table`), which knows nothing of the owner's: real tables may do better or worse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns
from dpengine.errors import PlanError
from dpengine.estimate import error_distribution
from dpengine.estimate.estimates import derive_estimates
from dpengine.measure.measure import measure
from dpengine.measure.strategy import ADAPTIVE, settled
from dpengine.results.mock_table import made_up
from dpengine.spec.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["predict"]

# One trial is off by a tenth or so in the mean over tables, and by more in one table; large plans take their time.
MIN_TRIALS, MAX_TRIALS = 4, 16
CELLS_TRIED = 800_000


def predict(plan: Plan, epsilons: Iterable[object] | None = None) -> pd.DataFrame:
    """What a release of ``plan`` will get wrong; no data is needed and nothing is spent.

    One row a published table, then ``total``: table, cells, mean_abs_error and half_width_95 of
    ``estimate`` in each cell, total_half_width_95 of the grand total. With ``epsilons``, the same for
    each of them, led by a column epsilon. Exact from the law of the noise, and the mean of some trials on a made-up
    table under the strategy *adaptive*; ``frame.attrs["simulated"]`` says which. Raises `PlanError` for an
    unusable ε.
    """
    import pandas as pd

    if epsilons is None:
        return _at(plan)
    frames = []
    for value in epsilons:
        at = plan.at(value)
        frame = _at(at)
        frame.insert(0, "epsilon", float(at.epsilon))
        frames.append(frame)
    if not frames:
        raise PlanError("give at least one ε")
    whole = pd.concat(frames, ignore_index=True)
    whole.attrs["simulated"] = any(frame.attrs["simulated"] for frame in frames)
    return whole


def _at(plan: Plan) -> pd.DataFrame:
    plan = settled(plan)
    frame = _tried(plan) if plan.strategy == ADAPTIVE else error_distribution.predict(plan)
    frame.attrs["simulated"] = plan.strategy == ADAPTIVE
    return frame


def _tried(plan: Plan) -> pd.DataFrame:
    import pandas as pd

    tables = (*plan.marginals, ())
    truth = {table: made_up(plan, table) for table in tables}
    cells = sum(counts.size for counts in truth.values())
    off: dict[Columns, list[npt.NDArray[np.float64]]] = {table: [] for table in tables}
    totals = []
    for _ in range(min(max(MIN_TRIALS, CELLS_TRIED // cells), MAX_TRIALS)):
        believed = derive_estimates(plan, measure(plan, lambda wanted: [made_up(plan, table) for table in wanted]))
        totals.append(believed.half_width(()))
        for table in tables:
            off[table].append(np.abs(truth[table] - believed.estimate(table)))
    total = float(np.mean(totals))
    rows = [
        (" × ".join(table) or "total", plan.cells(table), float(np.mean(each)), float(np.quantile(each, 0.95)), total)
        for table, each in off.items()
    ]
    return pd.DataFrame(rows, columns=list(error_distribution.PREDICTED))
