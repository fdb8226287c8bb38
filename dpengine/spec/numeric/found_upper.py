"""Upper bounds of amounts that are found privately: the bounds among which one is found, and its share of ε.

A plan states an upper end that is surely high enough, and this is public. A release measures how many rows lie between
neighbouring candidates with a share of ε (`measure.search`), and the bound follows from these noisy counts alone
(`estimate.found_bound`). Candidates are a function of the declaration: 10, 15, 20, 30, 50, 70, 100, 150, … steps above
the lower bound, whatever its sign, and the stated end. So they lie on the grid; where the step is a power of ten and
the lower bound is 0, they are round numbers.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer

from dpengine.exact import exact_text
from dpengine.spec.declared import Declared
from dpengine.spec.numeric.found_bins import read_share
from dpengine.translation.catalogue import _

__all__ = ["DEFAULT_SHARE", "MIN_STEPS", "Upper", "candidate_steps", "read_upper"]

DEFAULT_SHARE = Fraction(1, 10)  # of ε, to find the bound (benchmarks/found_bound.py)
MIN_STEPS = 10  # from the lower bound to the lowest candidate
ROUND = (10, 15, 20, 30, 50, 70)  # and these times powers of ten
FOUND = "found"

Share = Annotated[Fraction, BeforeValidator(read_share), PlainSerializer(exact_text)]


class Upper(Declared):
    """An upper bound to find with a `share` of ε; `below` is the end that the plan states, once a bound is found.

    >>> Upper().share
    Fraction(1, 10)
    """

    share: Share = DEFAULT_SHARE
    below: Decimal | None = Field(default=None, description="the end that the plan states, once a bound is found")


def read_upper(upper: Any) -> Any:
    """Read the plan's entry `upper`: the word found, or a `share`. Raises ValueError."""
    if isinstance(upper, str):
        if upper.strip().casefold() != FOUND:
            raise ValueError(
                _("upper says that the upper bound is found: write 'upper: found'; a bound that you know is 'to'")
            )
        return {}
    if isinstance(upper, int | float):
        raise ValueError(_("upper is found, or its share of ε, such as {share: 1/10}; a bound that you know is 'to'"))
    return upper


def candidate_steps(steps: int) -> tuple[int, ...]:
    """Return the candidates of a range of `steps`, as steps above the lower bound, the whole range last.

    >>> candidate_steps(120)
    (10, 15, 20, 30, 50, 70, 100, 120)
    """
    powers = (10**k for k in range(len(str(steps))))
    return (*(each * power for power in powers for each in ROUND if each * power < steps), steps)
