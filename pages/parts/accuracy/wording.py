"""How exact a table is, in sentences of the Accuracy page."""

from __future__ import annotations

from dpengine.spec.plan import Plan
from dpengine.spec.wording import noun, portion
from dpengine.translation.catalogue import _, number

__all__ = ["as_a_sample"]

ROUGH_SHARE = 0.4  # smallest sample that is named; below it real data may give another (benchmarks/sample_share.py)
ALMOST_ALL = 0.995  # largest sample that is named: a larger one would be rounded to 100 %


def as_a_sample(plan: Plan, like: float | None, rows: int) -> str:
    """Say that counts are as far off as those of a random sample of the share `like`; None if any sample is better."""
    size = _("on a made-up table of about {rows} {unit}", rows=number(rows), unit=noun(plan))
    if like is None:
        return _("Counts from any random sample would be less far off, {size}.", size=size)
    if like > ALMOST_ALL:
        return _("As exact as counts from a random sample of almost everybody would be, {size}.", size=size)
    text = _("As far off as counts from a random {share} sample would be, {size}.", share=portion(like), size=size)
    if like < ROUGH_SHARE:
        text += _(" A rough guide here: cells are so small that it depends much on your own table.")
    return text
