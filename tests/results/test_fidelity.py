"""The comparison says that rows give the published tables exactly, and how far off another number of them is."""

from __future__ import annotations

import numpy as np
import pytest

from dpengine import Plan, ReleaseError, preview
from dpengine.results.fidelity import compare
from dpengine.results.result import Result
from tests.plans import CLINIC


def test_the_rows_of_a_release_are_exact(result: Result) -> None:
    frame = compare(result)
    assert list(frame["table"]) == ["age × region", "region × visit", "total"]
    assert list(frame["cells"]) == [42, 36, 1]
    assert (frame[["mean_off", "most_off"]] == 0).all(axis=None)
    assert (frame["exact"] == 1).all()


@pytest.mark.parametrize("strategy", ["direct", "optimised", "adaptive"])
def test_another_number_of_rows_is_off_by_rounding_alone(strategy: str) -> None:
    """The bound that is stated: a scaled count is off by no more than itself, and by less than its part to be drawn."""
    result = preview(Plan.loads(f"{CLINIC}  - [region]\nstrategy: {strategy}\n"))
    published = int(result.counts(()))
    for rows in (10, published // 3, published + 1, 2 * published):
        frame = compare(result, rows).set_index("table")
        part = rows / published % 1
        for table in result.plan.marginals:
            most = float(result.counts(table).max()) * max(part, 1 - part)
            assert frame.loc[" × ".join(table), "most_off"] <= most
        assert frame.loc["total", "most_off"] == 0
        assert frame["mean_off"].max() < 1
        counts = np.bincount(result.rows(rows)["region"], minlength=6)
        wanted = rows / published * result.counts(("age", "region")).sum(axis=0)
        assert frame.loc["region", "mean_off"] == pytest.approx(np.abs(counts - wanted).mean())
    assert (compare(result, 2 * published)["most_off"] == 0).all()


def test_an_odd_number_is_refused(result: Result) -> None:
    with pytest.raises(ReleaseError):
        compare(result, -1)
