"""Whatever is charged can be had: any plan that is not refused is released, saved, verified, and had again at no cost.

By default some small plans; with ``PRIVATE_RELEASE_PLANS=5000`` as many others, drawn anew each time.
"""

from __future__ import annotations

import io
import os

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import dpengine as dpe
from dpengine.results.views import synthetic
from dpengine.spec.plan import Plan
from tests.whole_plans import rows_for, whole_plans

MORE = int(os.environ.get("PRIVATE_RELEASE_PLANS", "0"))
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.mark.nightly
@settings(max_examples=MORE or 14, derandomize=not MORE, suppress_health_check=SLOW)
@given(whole_plans(), st.data(), st.sampled_from([7, 2**24]))
def test_every_charged_release_can_be_saved_verified_and_published_again(
    plan: Plan, data: st.DataObject, block: int
) -> None:
    rows, ledger = data.draw(rows_for(plan)), dpe.Ledger.in_memory()
    with pytest.MonkeyPatch.context() as patch, dpe.open_table(rows) as table:
        patch.setattr(synthetic, "MAX_BLOCK_VALUES", block)
        refused: tuple[str, list[dpe.Entry]] | None = None
        try:
            release = dpe.release(table, plan, ledger)
        except dpe.PlanError as refusal:
            event(f"refused: {str(refusal)[:40]}")
            refused = (str(refusal), ledger.history())
        if refused:
            assert "fault of the program" not in refused[0]
            assert refused[1] == [], "refused before it is charged"
            return
        assert dpe.verify(io.BytesIO(release.bundle))["release_id"] == release.release_id
        assert ledger.spent("any") == plan.epsilon
        again = dpe.release(table, plan, ledger)
        assert again.bundle == release.bundle
        assert ledger.spent("any") == plan.epsilon
