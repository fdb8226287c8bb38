"""This project, asked as the peers are: exact counts, or after a second argument ``release`` the whole release."""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import task

sys.path.insert(0, str(Path(__file__).parents[2]))  # the engine beside the benchmarks, wherever this is run


def start(asked: task.Task) -> Callable[[], Sequence[float]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import dpengine as dpe
    from dpengine.counting import count as counting

    source: Any = pq.read_table(asked.path, columns=asked.columns) if asked.codes else asked.path

    def declared(name: str, size: int) -> dict[str, object]:
        if asked.codes and pa.types.is_dictionary(source.schema.field(name).type):
            return {"name": name, "kind": "category", "values": [str(code) for code in range(size)]}
        if asked.codes:
            return {"name": name, "kind": "number", "edges": list(range(size + 1))}
        if name in asked.texts:
            return {"name": name, "kind": "category", "values": asked.texts[name]}
        return {"name": name, "kind": "number", "edges": asked.edges[name]}

    columns = [declared(name, size) for name, size in zip(asked.columns, asked.sizes, strict=True)]
    plan = dpe.Plan(dataset="peers", epsilon="1", columns=columns, tables=[asked.columns])
    inner = tuple(slice(size) for size in asked.sizes)  # without the cells of other and missing values

    def count() -> Sequence[float]:
        with dpe.open_table(source) as table:
            (counts,) = counting.count(table, plan, plan.marginals, truncation_key=b"")
        return counts[inner].reshape(-1).tolist()

    number = itertools.count()
    folder = tempfile.TemporaryDirectory()  # for as long as the job lives

    def release() -> Sequence[float]:
        ledger = dpe.Ledger(f"sqlite:///{folder.name}/{next(number)}.db")
        return dpe.release(source, plan, ledger).counts(plan.marginals[0])[inner].reshape(-1).tolist()

    return release if sys.argv[2:] == ["release"] else count


if __name__ == "__main__":
    task.answer(start)
