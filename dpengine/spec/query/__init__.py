"""Single questions about a table, entirely public: the statistic, its rows, the privacy unit and the price."""

from dpengine.spec.query.condition import Condition
from dpengine.spec.query.question import Question
from dpengine.spec.query.statistic import (
    MAX_CANDIDATES,
    Count,
    Mean,
    Mode,
    Proportion,
    Quantile,
    Statistic,
    Sum,
    Variance,
    quantile_name,
)

__all__ = [
    "MAX_CANDIDATES", "Condition", "Count", "Mean", "Mode", "Proportion", "Quantile", "Question", "Statistic", "Sum",
    "Variance", "quantile_name",
]  # fmt: skip
