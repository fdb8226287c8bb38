"""Record a release on one table and replay it on a neighbour, with every private output forced to be the same.

What a release shows may depend on the rows through noise and private choices alone. So with the outputs of all of
them forced, the neighbour must give the same draws in the same order, and the same stored bytes. And what the outputs
cost is then exact: Σ |x − x′| / scale over all noise, and the log-ratio of their probabilities for choices.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from dpengine import Ledger, Plan, open_table, release
from dpengine.array_types import Ints
from dpengine.noise import laplace, selection
from dpengine.release import reopen

__all__ = ["Draw", "Tape", "cost", "recorded", "replayed"]


@dataclass(frozen=True)
class Draw:
    """One private output: what went in, the public parameters, and what came out."""

    kind: str
    exact: npt.NDArray[Any]
    parameters: tuple[object, ...]
    output: Any


@dataclass
class Tape:
    """All draws of one release, the stages it named, and what it stored."""

    draws: list[Draw] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    stored: bytes = b""


def recorded(frame: pd.DataFrame, plan: Plan) -> Tape:
    """Publish `plan` of `frame` and write every draw down."""
    tape = Tape()

    def noise(exact: Ints, scale: Fraction) -> Ints:
        output = laplace.discrete_laplace(scale, exact.shape) + exact
        tape.draws.append(Draw("noise", np.array(exact), (Fraction(scale), exact.shape), output))
        return np.array(output)

    def choice(scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int:
        output = _PERMUTE_AND_FLIP(scores, epsilon, sensitivity, monotone=monotone)
        tape.draws.append(Draw("choice", np.array(scores), (epsilon, sensitivity, monotone, scores.shape), output))
        return output

    with _standing_in(noise, choice):
        _publish(frame, plan, tape)
    return tape


def replayed(frame: pd.DataFrame, plan: Plan, first: Tape) -> Tape:
    """Publish `plan` of a neighbouring `frame`, with the outputs of `first`.

    Raises AssertionError if the draws differ in kind, parameters or number.
    """
    tape, forced = Tape(), iter(first.draws)

    def given(kind: str, exact: Ints, parameters: tuple[object, ...]) -> Any:
        draw = next(forced, None)
        assert draw is not None, "control flow differs: one more draw"
        assert (draw.kind, draw.parameters) == (kind, parameters), "control flow differs: another draw"
        tape.draws.append(Draw(kind, np.array(exact), parameters, draw.output))
        return draw.output

    def noise(exact: Ints, scale: Fraction) -> Ints:
        return np.array(given("noise", exact, (Fraction(scale), exact.shape)))

    def choice(scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int:
        return int(given("choice", scores, (epsilon, sensitivity, monotone, scores.shape)))

    with _standing_in(noise, choice):
        _publish(frame, plan, tape)
    assert next(forced, None) is None, "control flow differs: one draw less"
    return tape


def cost(here: Tape, there: Tape) -> float:
    """Return the log of the greatest ratio by which the outputs are more likely on one table than on the other."""
    exact, chosen = Fraction(0), 0.0
    for one, other in zip(here.draws, there.draws, strict=True):
        if one.kind == "noise":
            scale = one.parameters[0]
            assert isinstance(scale, Fraction)
            exact += int(np.abs(one.exact - other.exact).sum()) / scale
        else:
            chosen += abs(math.log(_chance(one) / _chance(other)))
    return float(exact) + chosen


def _chance(choice: Draw) -> float:
    """Return how likely the output of a private choice was."""
    epsilon, sensitivity, monotone, _ = choice.parameters
    assert isinstance(epsilon, Fraction)
    assert isinstance(sensitivity, int)
    chances = selection.permute_and_flip_probabilities(choice.exact, epsilon, sensitivity, monotone=bool(monotone))
    return float(chances[choice.output])


_PERMUTE_AND_FLIP = selection.permute_and_flip
_PERTURB = laplace.perturb


@contextmanager
def _standing_in(noise: Callable[..., Any], choice: Callable[..., Any]) -> Iterator[None]:
    """Put `noise` and `choice` in place of the mechanisms, wherever a module of the engine names them."""
    for name in ("measure.measure", "measure.adaptive", "measure.hierarchical", "measure.pair_selection"):
        importlib.import_module(f"dpengine.{name}")
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("dpengine.") and module not in (laplace, selection):
                if getattr(module, "perturb", None) is _PERTURB:
                    patch.setattr(module, "perturb", noise)
                if getattr(module, "permute_and_flip", None) is _PERMUTE_AND_FLIP:
                    patch.setattr(module, "permute_and_flip", choice)
        # Which rows of a person count is decided by a key that is the same, or as good as the same, for neighbours.
        patch.setattr(Ledger, "derive_key", lambda *_: b"k" * 32)
        yield


def _publish(frame: pd.DataFrame, plan: Plan, tape: Tape) -> None:
    ledger = Ledger.in_memory()
    with open_table(frame) as table:
        finished = release(table, plan, ledger, progress=tape.stages.append)
    stored = ledger.payload(finished.release_id)
    assert stored is not None
    (entry,) = ledger.history(plan.dataset)
    nameless = replace(reopen(stored), release_id="", created="")  # these two are drawn and looked up anew each time
    tape.stored = (
        nameless.to_bytes() + repr((entry.dataset, entry.epsilon, entry.title, entry.summary, entry.kind)).encode()
    )
