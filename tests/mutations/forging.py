"""Faults to plant in what a bundle says of how it was made, and in what `verify` compares it with."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

VERIFY = "dpengine/bundle/verify.py"
RESULT = "dpengine/results/result.py"

CLOCKS = "tests/test_times.py::test_the_version_of_the_clocks_is_stated_where_a_plan_has_a_zone_and_only_there"

FAULTS = [
    Fault(
        "a release does not record which package said when clocks are set",
        RESULT,
        '{"tzdata": version("tzdata")} if',
        "{} if",
        CLOCKS,
    ),
    Fault(
        "the version of the clocks is in every bundle",
        RESULT,
        "if zones_of(map(plan.column, plan.released)) else {}",
        "if True else {}",
        CLOCKS,
    ),
    Fault(
        "verify takes a zone without a version of the clocks",
        VERIFY,
        "return stated is not None and re.fullmatch",
        "return stated is None or re.fullmatch",
        CLOCKS,
    ),
]
