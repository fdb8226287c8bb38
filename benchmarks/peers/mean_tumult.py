"""Tumult Analytics: `average` by a key set, with pure ε, which it spends on a count and on a sum around the middle."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import mean_task


def start(asked: mean_task.MeanTask) -> Callable[[], Sequence[float]]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.read.parquet(asked.path).select(asked.group, asked.amount)
    rows = rows.withColumn(asked.amount, rows[asked.amount].cast("double")).cache()
    keys = KeySet.from_dict({asked.group: asked.groups})

    def job() -> Sequence[float]:
        budget = PureDPBudget(asked.epsilon)
        session = Session.from_dataframe(budget, "people", rows, protected_change=AddOneRow())
        query = QueryBuilder("people").groupby(keys).average(asked.amount, asked.low, asked.high, name="mean")
        found = {row[asked.group]: row["mean"] for row in session.evaluate(query, budget).collect()}
        return [found[name] for name in asked.groups]

    return job


if __name__ == "__main__":
    mean_task.answer(start)
