"""How wrong a release will be, for every strategy: by calculation where there is a law, else by trying it out.

What an adaptive release gets wrong depends on what it will choose, which no law says beforehand. So it is tried
on the made-up table (:mod:`dpengine.standin`), which knows nothing of the owner's: real tables may do better or worse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from dpengine import accuracy
from dpengine.answers import answers
from dpengine.errors import PlanError
from dpengine.measure import measure
from dpengine.plan import Plan
from dpengine.standin import made_up
from dpengine.strategy import ADAPTIVE, settled

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["predict"]


def predict(plan: Plan, epsilons: Iterable[object] | None = None) -> pd.DataFrame:
    """What a release of ``plan`` will get wrong; no data is needed and nothing is spent.

    One row a published table, then ``total``: table, cells, mean_abs_error and half_width_95 of
    ``estimate`` in each cell, total_half_width_95 of the grand total. With ``epsilons``, the same for
    each of them, led by a column epsilon. Exact from the law of the noise, and one trial on a made-up table under
    the strategy *adaptive*; ``frame.attrs["simulated"]`` says which. Raises :class:`PlanError` for an unusable ε.
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
    frame = _tried(plan) if plan.strategy == ADAPTIVE else accuracy.predict(plan)
    frame.attrs["simulated"] = plan.strategy == ADAPTIVE
    return frame


def _tried(plan: Plan) -> pd.DataFrame:
    import pandas as pd

    believed = answers(plan, measure(plan, lambda tables: [made_up(plan, table) for table in tables]))
    total = believed.half_width(())
    rows: list[tuple[str, int, float, float, float]] = []
    for table in (*plan.marginals, ()):
        wrong = np.abs(made_up(plan, table) - believed.estimate(table))
        name = " × ".join(table) or "total"
        rows.append((name, plan.cells(table), float(wrong.mean()), float(np.quantile(wrong, 0.95)), total))
    return pd.DataFrame(rows, columns=list(accuracy.PREDICTED))
