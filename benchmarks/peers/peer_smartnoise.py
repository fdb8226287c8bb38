"""SmartNoise SQL over a pandas frame, which it counts in SQLite; the frame is binned by pandas before.

It publishes the groups that the data have, without a threshold on those of few rows: what ε = 1 alone allows
only where every declared group is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import task


def start(asked: task.Task) -> Callable[[], Sequence[float]]:
    import itertools

    import pandas as pd
    import pyarrow.parquet as pq
    import snsql

    columns = {name: {"type": "string" if name in asked.texts else "int"} for name in asked.columns}
    table = {"row_privacy": True, "censor_dims": False, "rows": 1, **columns}
    metadata = {"": {"data": {"people": table}}}
    named = ", ".join(asked.columns)
    query = f"SELECT {named}, COUNT(*) AS n FROM data.people GROUP BY {named}"
    own = [
        asked.texts[name] if name in asked.texts else range(size)
        for name, size in zip(asked.columns, asked.sizes, strict=True)
    ]

    def job() -> Sequence[float]:
        frame = pq.read_table(asked.path, columns=asked.columns).to_pandas()
        for name in asked.columns:
            if name in asked.edges:
                frame[name] = pd.cut(frame[name], asked.edges[name], right=False, labels=False)
        privacy = snsql.Privacy(epsilon=1.0, delta=1e-9)
        reader = snsql.from_df(frame.dropna(), privacy=privacy, metadata=metadata)
        _, *rows = reader.execute(query)
        counts = {tuple(cell): count for *cell, count in rows}
        return [counts.get(cell, 0) for cell in itertools.product(*own)]

    return job


if __name__ == "__main__":
    task.answer(start)
