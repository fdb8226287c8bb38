"""How ε was divided among measured tables follows from the plan: a file that says otherwise is refused."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from dpengine.bundle.verify import verify
from dpengine.errors import ReleaseError
from dpengine.marginals import division
from dpengine.release import release
from dpengine.spec.plan import Plan
from tests.bundle.test_verify_shares import AGE, PLACE, SEX, WARD

PAY = {"name": "pay", "kind": "amount", "knots": [*range(0, 101, 10)]}
ROWS = pd.DataFrame({
    "who": [*range(150)] * 2, "sex": ["f", "m", "m"] * 100, "ward": ["w1", "w2"] * 150, "age": [5, 25, 65] * 100,
    "pay": [3, 99, 50] * 100, "place": ["n1", "n2", "s1"] * 100,
})  # fmt: skip
PLANS: dict[str, dict[str, Any]] = {
    "two tables": {"tables": [["sex", "ward"], ["ward", "age"]]},
    "of weights": {"tables": [{"columns": ["sex"], "weight": 9}, ["ward"], ["sex", "ward", "age"]]},
    "two tables of rows beside two of persons": {
        "unit": {"id": "who", "rows": 2},
        "tables": [["sex"], ["age"], *({"columns": names, "distinct": True} for names in (["ward"], ["sex", "age"]))],
    },
    "means": {"tables": [{"columns": ["sex"], "mean": ["pay"]}, ["ward", "age"]]},
    "means beside a model": {
        "tables": [{"columns": ["sex"], "mean": ["pay"]}, ["ward", "age"], ["sex", "ward"]],
        "strategy": "adaptive",
    },
    "means beside levels": {"tables": [{"columns": ["sex"], "mean": ["pay"]}, ["place@state"], ["place"]]},
    "levels apart": {"tables": [["place@state", "ward"], ["place", "sex"], ["age"]]},
    "chosen quantiles": {
        "tables": [{"columns": ["sex"], "quantiles": {"pay": ["0.5"]}}, ["ward"]],
        "rows_about": 10**9,
    },
}


def bundle_of(name: str) -> bytes:
    plan: dict[str, Any] = {"dataset": "demo", "epsilon": "2", "strategy": "direct"} | PLANS[name]
    used = str(plan["tables"])
    columns = [column for column in (SEX, WARD, AGE, PAY, PLACE) if f"'{column['name']}" in used]
    return release(ROWS, Plan(columns=columns, **plan)).bundle


@pytest.mark.parametrize("name", PLANS)
def test_another_division_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the file goes with it: scales, half-widths, intervals."""
    assert verify(bundle_of(name))
    with monkeypatch.context() as forged:
        root = division.root_of_cells
        forged.setattr(division, "root_of_cells", lambda cells: root(cells) ** 2)
        made = bundle_of(name)
    with pytest.raises(ReleaseError, match=r"the share of ε of .* is .* in every version"):
        verify(made)


def test_optimised_shares_are_those_with_the_choices_of_quantiles() -> None:
    tables = [["sex", "ward"], ["sex", "age"], {"columns": ["ward"], "quantiles": {"pay": ["0.5"]}}]
    fields: dict[str, Any] = {"dataset": "demo", "epsilon": "2", "strategy": "optimised", "rows_about": 10**9}
    manifest = verify(release(ROWS, Plan(columns=[SEX, WARD, AGE, PAY], tables=tables, **fields)).bundle)
    assert sum("purpose" in entry for entry in manifest["measurements"]) == 1
