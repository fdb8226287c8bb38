"""PipelineDP with its local backend: a count of each public partition, over rows as Python objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import task


def start(asked: task.Task) -> Callable[[], Sequence[float]]:
    import bisect
    import itertools
    from collections.abc import Iterator

    import pipeline_dp
    import pyarrow.parquet as pq

    cells = list(itertools.product(*(range(size) for size in asked.sizes)))
    places = {name: {text: code for code, text in enumerate(texts)} for name, texts in asked.texts.items()}

    def code(name: str, value: object) -> int:
        """-1 for what is missing."""
        if name in places:
            return places[name].get(value, -1)
        return -1 if value is None else bisect.bisect_right(asked.edges[name], value) - 1

    def rows() -> Iterator[tuple[int, ...]]:
        table = pq.read_table(asked.path, columns=asked.columns)
        columns = [[code(name, value) for value in table.column(name).to_pylist()] for name in asked.columns]
        return zip(*columns, strict=True)

    def job() -> Sequence[float]:
        budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
        engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
        params = pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.COUNT],
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            contribution_bounds_already_enforced=True,
        )
        extractors = pipeline_dp.DataExtractors(partition_extractor=lambda row: row, value_extractor=lambda row: 0)
        released = engine.aggregate(rows(), params, extractors, public_partitions=cells)
        budget.compute_budgets()
        counts = {cell: metrics.count for cell, metrics in released}
        return [counts[cell] for cell in cells]

    return job


if __name__ == "__main__":
    task.answer(start)
