"""The sketch of a counted table: histograms of people, whatever the units in which amounts are counted."""

from __future__ import annotations

import pandas as pd

from dpengine.counting.count import count
from dpengine.counting.table_sketch import of_table
from dpengine.measure.strategy import decide
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan

SEX = {"name": "sex", "kind": "yesno"}
PAY = {"name": "pay", "kind": "amount", "from": 0, "to": 100, "step": "0.5"}


def test_a_table_with_an_amount_has_the_histograms_of_one_without() -> None:
    """Or the same people would not be recognised, in whichever engine, and have a budget of their own."""
    histograms = []
    for table in ({"columns": ["sex"], "mean": ["pay"]}, ["sex"]):
        plan = Plan(dataset="demo", epsilon=1, columns=[SEX, PAY], tables=[table])
        with open_table(pd.DataFrame({"sex": ["yes", "no", "no"] * 50, "pay": [*range(150)]})) as opened:
            marginals = decide(plan).marginals
            counts = count(opened, plan, marginals, truncation_key=b"any")
            sketch = of_table(opened, plan, marginals, counts)
        histograms.append([each.counts.tolist() for each in sketch.histograms if each.kind.startswith("cells")])
    assert histograms[0] == histograms[1]
    assert [sum(each) for each in histograms[0]] == [150]
