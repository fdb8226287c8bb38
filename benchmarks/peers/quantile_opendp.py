"""OpenDP: `dp.quantile` of a Polars column by groups that are declared; its candidates are the points of the grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mean_task

MAX_ROWS = 1_000_000  # rows of a group, which it must be told


def start(asked: mean_task.MeanTask) -> Callable[[], Sequence[float]]:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    keys = pl.DataFrame({asked.group: asked.groups})
    steps = round((asked.high - asked.low) / asked.step)
    candidates = [float(asked.low + k * asked.step) for k in range(steps + 1)]

    def job() -> Sequence[float]:
        context = dp.Context.compositor(
            data=pl.scan_parquet(asked.path).select(asked.group, asked.amount),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=asked.epsilon),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=[asked.group], max_length=MAX_ROWS)],
        )
        amount = pl.col(asked.amount).cast(float).fill_nan(asked.low).fill_null(asked.low)
        quantiles = [amount.dp.quantile(part, candidates).alias(str(part)) for part in asked.parts]
        released = context.query().group_by(asked.group).agg(quantiles).with_keys(keys).release().collect()
        found = {name: values for name, *values in released.rows()}
        return [value for name in asked.groups for value in found[name]]

    return job


if __name__ == "__main__":
    mean_task.answer(start)
