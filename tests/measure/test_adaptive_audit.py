"""The whole adaptive way, audited on neighbouring tables: it shows nearly all of the ε that it costs, and no more."""

from __future__ import annotations

from functools import cache

import pytest

from dpengine.lessons.audit import least_epsilon
from tests.audit import hits

RUNS = {"1": 3000, "2": 4000}
ALPHA = 1e-9

counted = cache(hits)
pytestmark = pytest.mark.xdist_group("audit")  # one process, so that what is counted serves the control too


@pytest.mark.parametrize(("epsilon", "shown"), [("1", 0.3), ("2", 1.2)])
def test_it_shows_no_more_than_epsilon_and_not_much_less(epsilon: str, shown: float) -> None:
    """A false alarm has probability 1e-9 of the first kind and, by a normal law of the counts, of the second.

    The evidence speaks e^(0.86 ε) to e^(0.97 ε) times as often for the person where it should; ``shown`` lies six
    standard errors below what a bound of 99 % confidence makes of that in so few runs (benchmarks/audit.py takes more).
    """
    runs = RUNS[epsilon]
    there, absent = counted(epsilon, runs)
    assert least_epsilon(there, runs, absent, runs, ALPHA) <= float(epsilon)
    assert least_epsilon(there, runs, absent, runs, 0.01) >= shown


def test_what_costs_2_is_not_sold_as_1() -> None:
    """The control: the same audit refuses it, but for a probability below 1e-9."""
    runs = RUNS["2"]
    there, absent = counted("2", runs)
    assert least_epsilon(there, runs, absent, runs, ALPHA) > 1
