"""SmartNoise SQL: `AVG` by group, which it computes from a noisy sum and a noisy count of each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mean_task


def start(asked: mean_task.MeanTask) -> Callable[[], Sequence[float]]:
    import pandas as pd
    import pyarrow.parquet as pq
    import snsql

    frame = pq.read_table(asked.path, columns=[asked.group, asked.amount]).to_pandas()
    frame[asked.amount] = pd.to_numeric(frame[asked.amount]).astype(float)
    amount = {"type": "float", "lower": asked.low, "upper": asked.high}
    table = {
        "row_privacy": True,
        "censor_dims": False,
        "rows": 1,
        asked.group: {"type": "string"},
        asked.amount: amount,
    }
    metadata = {"": {"data": {"people": table}}}
    query = f"SELECT {asked.group}, AVG({asked.amount}) AS m FROM data.people GROUP BY {asked.group}"

    def job() -> Sequence[float]:
        # Its ε is that of each of the two columns that an average takes.
        privacy = snsql.Privacy(epsilon=asked.epsilon / 2, delta=1e-9)
        reader = snsql.from_df(frame, privacy=privacy, metadata=metadata)
        _, *rows = reader.execute(query)
        found = {name: mean for name, mean in rows if mean is not None}
        return [float(found.get(name, "nan")) for name in asked.groups]

    return job


if __name__ == "__main__":
    mean_task.answer(start)
