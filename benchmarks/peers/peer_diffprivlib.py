"""diffprivlib: ``histogram`` and ``histogramdd`` over NumPy arrays, read by pyarrow from the columns needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import task


def start(asked: task.Task) -> Callable[[], Sequence[float]]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from diffprivlib.tools import histogram, histogramdd

    texts = [name for name in asked.columns if name in asked.texts and not asked.codes]
    edges = [
        np.array(asked.edges[name] if name in asked.edges and not asked.codes else range(size + 1), dtype=float)
        for name, size in zip(asked.columns, asked.sizes, strict=True)
    ]

    def read() -> list[np.ndarray]:
        table = pq.read_table(asked.path, columns=asked.columns, read_dictionary=texts)
        return [coded(name, table.column(name)) for name in asked.columns]

    def coded(name: str, column: pa.ChunkedArray) -> np.ndarray:
        if name not in texts:
            values = column.to_numpy()
            return values[~np.isnan(values)] if values.dtype.kind == "f" else values
        place = {text: code for code, text in enumerate(asked.texts[name])}
        found = [
            np.array([place[text] for text in chunk.dictionary.to_pylist()])[chunk.indices] for chunk in column.chunks
        ]
        return np.concatenate(found)

    held = read() if asked.codes else None

    def job() -> Sequence[float]:
        arrays = read() if held is None else held
        if len(arrays) == 1:
            return histogram(arrays[0], epsilon=1, bins=edges[0], range=(edges[0][0], edges[0][-1]))[0].tolist()
        ranges = [(own[0], own[-1]) for own in edges]
        return histogramdd(arrays, epsilon=1, bins=edges, range=ranges)[0].reshape(-1).tolist()

    return job


if __name__ == "__main__":
    task.answer(start)
