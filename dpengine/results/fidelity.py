"""Compare tables counted from the synthetic rows with the published ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpengine.results.result import Result
from dpengine.spec.wording import name_of
from dpengine.synthesis import cell_values

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]


def compare(result: Result, rows: int | None = None) -> pd.DataFrame:
    """Compare each published table with the one counted from synthetic rows.

    If persons are counted beside rows, only the tables of the plan's first tally are compared, as the rows have it.
    Rows are written out with their values, read back into cells, and counted. Returns one row a table, the total last:
    `table`, `cells`, `mean_off` and `most_off` (distances of a cell's count from the published one, scaled to `rows` if
    that is another number), and `exact` (the fraction of cells that are not off). Raises `ReleaseError` as
    `Result.rows` does.
    """
    import pandas as pd

    plan = result.plan.of_rows
    counted = {table: np.zeros(plan.cells(table), dtype=np.int64) for table in plan.published}
    for block in result.value_blocks(rows):
        read = {
            name: cell_values.cells(plan.column(name), cell_values.texts(plan.column(name), values, codes))
            for name, (values, codes) in block.items()
        }
        for table, counts in counted.items():
            cells = np.zeros(len(read[plan.counted[0]]), dtype=np.int64)
            for name in table:
                cells = cells * plan.column(name).size + read[name]
            counts += np.bincount(cells, minlength=counts.size)
    count, published = int(counted[()].sum()), int(result.counts(()))
    scale = count / published if published else 1.0
    compared = []
    for table, counts in counted.items():
        errors = np.abs(counts - scale * result.counts(table).ravel())
        errors[errors < 1e-9 * max(count, 1)] = 0.0  # rounding errors of a whole multiple
        compared.append((name_of(table), errors.size, errors.mean(), errors.max(), float((errors == 0).mean())))
    return pd.DataFrame(compared, columns=["table", "cells", "mean_off", "most_off", "exact"])
