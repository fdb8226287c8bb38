"""A small plan for the example on the first screen, before the owner has a plan."""

from __future__ import annotations

from dpengine import Plan
from dpengine.translation.catalogue import _

__all__ = ["example_plan"]


def example_plan() -> Plan:
    """Return the example: people by age and region, in the language of the page."""
    age, region = _("age"), _("region")
    return Plan(
        title=_("An example"),
        dataset="example",
        epsilon=1,
        rows_about=3000,
        columns=[
            {"name": age, "kind": "number", "edges": [0, 18, 30, 45, 65, 120], "whole": True, "missing": False},
            {"name": region, "kind": "category", "values": [_("North"), _("East"), _("South"), _("West")],
             "missing": False},
        ],
        tables=[[age, region]],
    )  # fmt: skip
