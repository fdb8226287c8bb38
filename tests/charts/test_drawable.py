"""A chart of a release file is the chart of the release, and is drawn only of numbers that the file holds."""

from __future__ import annotations

import json

import pytest

from dpengine import Plan
from dpengine.bundle.write import pack
from dpengine.charts.drawable import TablesOfFile
from dpengine.charts.drawing import Drawing
from dpengine.charts.figures import alt_text, columns_to_fix, release_drawing
from dpengine.export import published
from dpengine.results.preview import preview
from dpengine.results.published_columns import measures
from tests.plans import CLINIC, PAIRS, PAY

LEVELS = """
dataset: counties
epsilon: "1"
columns:
  - {name: county, kind: category, values: {CA: [Kern, Napa], TX: [Hays, Polk]}, levels: [state, county]}
  - {name: sex, kind: yesno}
tables: [[county], ["county@state"], [county, sex], ["county@state", sex]]
"""
PERSONS = """
dataset: visits
epsilon: "1"
unit: {id: patient, rows: 3}
columns:
  - {name: sex, kind: yesno}
  - {name: region, kind: category, values: [North, South]}
tables:
  - [sex, region]
  - {columns: [region], distinct: true}
"""


@pytest.mark.by_day(2)
@pytest.mark.parametrize("text", [CLINIC, PAY, PAIRS, LEVELS, PERSONS])
def test_a_chart_of_the_file_is_the_chart_of_the_release(text: str) -> None:
    plan = Plan.loads(text)
    made = preview(plan)
    of_file = TablesOfFile(published(pack(made)))
    for table in plan.marginals:
        for measure in (None, *measures(plan, table)):
            assert of_file.offers(table, measure)
            fixed = {name: plan.column(name).labels[0] for name in columns_to_fix(plan, table, measure)}
            drawn = [release_drawing(each, table, fixed=fixed, measure=measure) for each in (made, of_file)]
            assert isinstance(drawn[0], Drawing)
            texts = [json.dumps(each._asdict(), default=str) for each in drawn if isinstance(each, Drawing)]
            assert texts[0] == texts[1], (table, measure)
            assert alt_text(made, table, measure) == alt_text(of_file, table, measure)


def test_columns_may_be_asked_for_in_any_order() -> None:
    made = preview(Plan.loads(CLINIC))
    of_file = TablesOfFile(published(pack(made)))
    assert (of_file.counts(("region", "age")) == made.counts(("age", "region")).T).all()
    assert (of_file.mostly_noise(("region", "age")) == made.mostly_noise(("age", "region")).T).all()


def test_numbers_that_are_not_in_the_file_are_not_offered() -> None:
    plan = Plan.loads(PERSONS)
    of_file = TablesOfFile(published(pack(preview(plan))))
    assert of_file.offers(("region",))
    assert not of_file.offers(("sex",))
    rows = of_file.of_tally(plan.tally_index(("sex", "region")))
    assert rows.offers(("region", "sex"))
    assert not rows.offers(("region",)), "it counts persons, not rows"
    pay = TablesOfFile(published(pack(preview(Plan.loads(PAY)))))
    (mean, *_others) = measures(pay.plan, ("state", "sex"))
    assert pay.offers(("state", "sex"), mean)
    assert not pay.offers(("sex",), mean)
