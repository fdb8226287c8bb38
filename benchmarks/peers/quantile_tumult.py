"""Tumult Analytics: `quantile` by a key set, with pure ε divided evenly over the quantiles that are asked for."""

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
        session = Session.from_dataframe(PureDPBudget(asked.epsilon), "people", rows, protected_change=AddOneRow())
        found: dict[tuple[str, float], float] = {}
        for left in range(len(asked.parts), 0, -1):
            part = asked.parts[-left]
            groups = QueryBuilder("people").groupby(keys)
            query = groups.quantile(asked.amount, part, asked.low, asked.high, name="quantile")
            budget = PureDPBudget(asked.epsilon / len(asked.parts)) if left > 1 else session.remaining_privacy_budget
            found |= {(row[asked.group], part): row["quantile"] for row in session.evaluate(query, budget).collect()}
        return [found[name, part] for name in asked.groups for part in asked.parts]

    return job


if __name__ == "__main__":
    mean_task.answer(start)
