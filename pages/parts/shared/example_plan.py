"""A small plan that keeps the first screen alive before the owner has one."""

from __future__ import annotations

from dpengine import Plan

__all__ = ["example"]

_EXAMPLE = """
title: An example
dataset: example
epsilon: "1"
rows_about: 3000
columns:
  - {name: age, kind: number, edges: [0, 18, 30, 45, 65, 120], whole: true, missing: false}
  - {name: region, kind: category, values: [North, East, South, West], missing: false}
tables:
  - [age, region]
"""


def example() -> Plan:
    """Return the example: people by age and region."""
    return Plan.loads(_EXAMPLE)
