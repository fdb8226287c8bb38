"""Several visitors at once: what one does takes nothing from another."""

from __future__ import annotations

from tests.serving import Served
from tests.tab import Tab


def test_a_file_stays_until_it_is_fetched_whatever_others_do(app: Served) -> None:
    with Tab(app.address) as tab:
        tab.visit("accuracy")
        place = tab.ask_for_file("Predictions as CSV")
        for _ in range(3):
            with Tab(app.address) as other:
                other.wait_for("drop zone", other.zone)
        assert tab.fetch(place).count(b"\n") > 10
