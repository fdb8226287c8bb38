"""Tumult Analytics on Spark with two threads: a count of each declared key, with geometric noise.

Spark bins the rows by an expression of its own before: Tumult's binning, in Python, takes longer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import task


def start(asked: task.Task) -> Callable[[], Sequence[float]]:
    import itertools

    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import Column, SparkSession, functions
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    own = {
        name: asked.texts[name] if name in asked.texts else list(range(size))
        for name, size in zip(asked.columns, asked.sizes, strict=True)
    }

    def binned(name: str, edges: list[float]) -> Column:
        """Null for what is missing or beyond the edges."""
        value = functions.col(name)
        bins = functions.when(value < edges[0], None)
        for code, edge in enumerate(edges[1:]):
            bins = bins.when(value < edge, code)
        return bins.cast("bigint")

    def job() -> Sequence[float]:
        rows = spark.read.parquet(asked.path).select(*asked.columns)
        rows = rows.withColumns({name: binned(name, edges) for name, edges in asked.edges.items()})
        budget = PureDPBudget(1)
        session = Session.from_dataframe(budget, "people", rows, protected_change=AddOneRow())
        query = QueryBuilder("people").groupby(KeySet.from_dict(own)).count()
        counts = {tuple(cell): count for *cell, count in session.evaluate(query, budget).collect()}
        return [counts[cell] for cell in itertools.product(*own.values())]

    return job


if __name__ == "__main__":
    task.answer(start)
