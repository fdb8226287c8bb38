"""The warning that a column is mostly *(other)*: from published numbers, and not because of noise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpengine import Plan
from dpengine.results.mostly_other import mostly_other

PLAN = Plan(dataset="d", epsilon=1, columns=[{"name": "sex", "kind": "category", "values": ["f", "m"]}],
            tables=[["sex"]])  # fmt: skip


@pytest.mark.parametrize(("low", "total", "told"), [(40, 90, False), (50, 100, False), (51, 100, True)])
def test_only_what_noise_does_not_explain_is_told(low: int, total: int, told: bool) -> None:
    """Of 100 rows at most, 51 at least are in *(other)*; its interval reaches up to 70, which tells nothing."""
    other = {"low": np.array([0, 0, low, 0]), "high": np.array([20, 20, 70, 9])}
    published: Any = SimpleNamespace(
        plan=PLAN, cells=lambda table: other if table else {"low": np.array(total - 20), "high": np.array(total)}
    )
    assert mostly_other(published) == (["sex"] if told else [])
