"""A number is quoted with its interval, or said to be too uncertain for that; a publisher's own citation is kept."""

from __future__ import annotations

import numpy as np

from dpengine import Plan
from dpengine.bundle.quotation import citation, quotation
from dpengine.results.preview import preview
from dpengine.results.published_columns import measures
from dpengine.translation.catalogue import speaking
from tests.plans import PAY

MANIFEST = {"created": "2026-11-27T02:00:00+00:00", "release_id": "5e1"}


def test_an_uncertain_number_is_not_quoted_as_if_it_were_known() -> None:
    made = preview(Plan.loads(PAY))
    mean = measures(made.plan, ("state", "sex"))[0]
    for measure, noisy, words in (
        (None, made.mostly_noise(("state", "sex")), "too few to tell from none"),
        (mean, made.interval_estimates(("state", "sex"), mean)[0].noisy, "too uncertain to quote"),
    ):
        quoted = [quotation(made, ("state", "sex"), (int(k), int(j)), measure) for k, j in np.ndindex(noisy.shape)]
        assert [words in each for each in quoted] == noisy.ravel().tolist()
        assert all("95 % interval" in each for each in quoted)


def test_each_quantile_is_quoted_by_its_name() -> None:
    made = preview(Plan.loads(PAY))
    quantiles = next(each for each in measures(made.plan, ("state", "sex")) if each.parts)
    assert quotation(made, ("state", "sex"), (0, 0), quantiles, 1).startswith("Median of pay, state: CA, sex: f: ")


def test_a_source_is_cited_as_its_publisher_wishes() -> None:
    plan = Plan.loads(PAY)
    assert citation(plan, MANIFEST).startswith("pay. Published with differential privacy (ε = 1) on 2026-11-27")
    about = {"publisher": "Example City", "cite_as": "Example City (2026): Pay."}
    assert citation(Plan.model_validate(plan.to_dict() | {"about": about}), MANIFEST) == about["cite_as"]
    with speaking("de"):
        named = Plan.model_validate(plan.to_dict() | {"about": {"publisher": "Musterstadt"}, "epsilon": "1/2"})
        assert citation(named, MANIFEST).startswith("Musterstadt: pay. Mit Differential Privacy (ε = 0,5)")
