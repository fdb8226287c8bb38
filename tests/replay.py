"""Record a publication of one table and replay it on another, with every private output forced to be the same.

What is shown may depend on the rows through noise and private choices alone. So with the outputs of all of them forced,
*any* other table must give the same draws in the same order, the same stages, warnings, log lines, texts on the
terminal, errors and ledger entries, and the same stored bytes. And on a neighbour what the outputs cost is exact:
`price` adds |x − x′| / scale over all noise, and the ε of each choice.
"""

from __future__ import annotations

import importlib
import io
import logging
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from dpengine import Ledger, Plan, PrivateReleaseError, Question, ask, choose, open_table, release
from dpengine.accounting.entry import Kind
from dpengine.array_types import Ints
from dpengine.choose import Candidates, draw_once
from dpengine.noise import laplace, selection, sparse
from dpengine.release import reopen
from dpengine.results import answer

__all__ = [
    "Draw",
    "Tape",
    "check_only_outputs_decide",
    "cost",
    "plain",
    "price",
    "prices",
    "recorded",
    "recorded_work",
    "replayed",
    "replayed_work",
]

Data: TypeAlias = "pd.DataFrame | Candidates"  # a table, or the scores of a choice
Request: TypeAlias = "Plan | Question | None"  # nothing more is asked of candidates


@dataclass(frozen=True)
class Draw:
    """One private output: what went in, the public parameters, and what came out."""

    kind: str
    exact: npt.NDArray[Any]
    parameters: tuple[object, ...]
    output: Any


@dataclass
class Tape:
    """All draws of one publication, and all that it shows: what it said, how it ended, and what it stored.

    `messages` holds, in order, each stage, warning and log line, and the text on the terminal. `late_stages` holds the
    stages that were named after the first draw, when nothing was paid for.
    """

    draws: list[Draw] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    late_stages: list[str] = field(default_factory=list)
    error: str = ""
    entries: list[str] = field(default_factory=list)
    stored: bytes = b""
    difference: str = ""  # of the draws, where they are replayed

    @property
    def shown(self) -> tuple[object, ...]:
        """All that must be equal for neighbours."""
        return self.messages, self.late_stages, self.error, self.entries, self.stored

    def stage(self, name: str) -> None:
        """Write a stage down."""
        (self.late_stages if self.draws else self.messages).append(f"stage: {name}")


def recorded(data: Data, request: Request = None) -> Tape:
    """Publish, and write every draw down."""
    return recorded_work(lambda tape: _publish(data, request, tape))


def replayed(data: Data, request: Request, first: Tape) -> Tape:
    """Publish from other `data`, with the outputs of `first`.

    Raises AssertionError if the draws differ in kind, parameters or number.
    """
    return replayed_work(lambda tape: _publish(data, request, tape), first)


def recorded_work(work: Callable[[Tape], object], *, without_noise: bool = False) -> Tape:
    """Run `work` and write every draw down; `without_noise`, each is the likeliest one: exact numbers, the best score.

    Such a tape is as good as any other, since the likeliest outputs are possible ones, and it is the same every time.
    """
    tape = Tape()

    def noise(exact: Ints, scale: Fraction) -> Ints:
        output = np.array(exact) if without_noise else _PERTURB(exact, scale)
        tape.draws.append(Draw("noise", np.array(exact), (Fraction(scale), exact.shape), output))
        return np.array(output)

    def keys(places: Ints, counts: Ints, universe: int, scale: Fraction, least: int) -> tuple[Ints, Ints]:
        noisy = places[counts >= least], counts[counts >= least]
        output = noisy if without_noise else _SPARSE(places, counts, universe, scale, least)
        tape.draws.append(Draw("keys", np.array([places, counts]), (Fraction(scale), universe, least), output))
        return output

    def choice(draw: selection.Draw) -> Callable[..., int]:
        def chosen(scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int:
            best = int(scores.argmax())
            output = best if without_noise else draw(scores, epsilon, sensitivity, monotone=monotone)
            known = (draw, epsilon, sensitivity, monotone, scores.shape)
            tape.draws.append(Draw("choice", np.array(scores), known, output))
            return output

        return chosen

    with _standing_in(noise, keys, choice):
        work(tape)
    return tape


def replayed_work(work: Callable[[Tape], object], first: Tape) -> Tape:
    """Run `work` with the outputs of `first`; raise AssertionError as `replayed` does."""
    tape, forced = Tape(), iter(first.draws)

    def given(kind: str, exact: Ints, parameters: tuple[object, ...]) -> Any:
        draw = next(forced, None)
        if draw is None or (draw.kind, draw.parameters) != (kind, parameters):
            tape.difference = "control flow differs: " + ("one more draw" if draw is None else "another draw")
            raise AssertionError(tape.difference)
        tape.draws.append(Draw(kind, np.array(exact), parameters, draw.output))
        return draw.output

    def noise(exact: Ints, scale: Fraction) -> Ints:
        return np.array(given("noise", exact, (Fraction(scale), exact.shape)))

    def keys(places: Ints, counts: Ints, universe: int, scale: Fraction, least: int) -> tuple[Ints, Ints]:
        shown: tuple[Ints, Ints] = given("keys", np.array([places, counts]), (Fraction(scale), universe, least))
        return shown

    def choice(draw: selection.Draw) -> Callable[..., int]:
        def chosen(scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int:
            return int(given("choice", scores, (draw, epsilon, sensitivity, monotone, scores.shape)))

        return chosen

    with _standing_in(noise, keys, choice):
        work(tape)
    assert not tape.difference, tape.difference  # the release itself only says that it failed
    assert tape.error or next(forced, None) is None, "control flow differs: one draw less"
    return tape


def price(here: Tape, there: Tape) -> Fraction:
    """Return the ε that the draws cost if the two tapes are of neighbours, exactly: the sum of `prices`."""
    return sum(prices(here, there), Fraction(0))


def prices(here: Tape, there: Tape) -> list[Fraction]:
    """Return what each draw costs if the two tapes are of neighbours: |x − x′|₁ / scale for noise, for a choice its ε.

    Keys of a universe that have no rows in one of the two tables have the count 0 there.

    Raises AssertionError if scores move further than a choice was told: by more than its sensitivity, or, if it was
    told that all move alike, in different directions. A shift that all scores have in common is no move.
    """
    each = []
    for one, other in zip(here.draws, there.draws, strict=True):
        if one.kind == "keys":
            each.append(_moved_keys(one, other) / _fraction(one.parameters[0]))
            continue
        moved = [int(a) - int(b) for a, b in zip(one.exact.ravel(), other.exact.ravel(), strict=True)]
        if one.kind == "noise":
            each.append(sum(map(abs, moved)) / _fraction(one.parameters[0]))
            continue
        _, epsilon, sensitivity, monotone, _ = one.parameters
        bound = _fraction(sensitivity) * (1 if monotone else 2)
        assert max(moved) - min(moved) <= bound, "scores move by more than the choice was told"
        each.append(_fraction(epsilon))
    return each


def cost(here: Tape, there: Tape) -> float:
    """Return the log of the greatest ratio by which the outputs are more likely on one table than on the other."""
    exact, chosen = Fraction(0), 0.0
    for one, other in zip(here.draws, there.draws, strict=True):
        if one.kind == "keys":
            exact += _moved_keys(one, other) / _fraction(one.parameters[0])
        elif one.kind == "noise":
            exact += int(np.abs(one.exact - other.exact).sum()) / _fraction(one.parameters[0])
        else:
            chosen += abs(math.log(_chance(one) / _chance(other)))
    return float(exact) + chosen


def plain(value: Any) -> Any:
    """Return a value, arrays and dataclasses in it included, as what `==` compares."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tolist()
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def _moved_keys(one: Draw, other: Draw) -> int:
    """Return how far the counts of all keys of a universe lie apart, in L1."""
    counts = [dict(zip(*draw.exact.tolist(), strict=True)) for draw in (one, other)]
    return sum(abs(counts[0].get(place, 0) - counts[1].get(place, 0)) for place in {*counts[0], *counts[1]})


def _fraction(value: object) -> Fraction:
    assert isinstance(value, Fraction | int)
    return Fraction(value)


def _chance(choice: Draw) -> float:
    """Return how likely the output of a private choice was."""
    draw, epsilon, sensitivity, monotone, _ = choice.parameters
    law: Any = _LAWS[draw]  # type: ignore[index]
    return float(law(choice.exact, epsilon, sensitivity, monotone=monotone)[choice.output])


_LAWS: dict[selection.Draw, Callable[..., Any]] = {
    selection.permute_and_flip: selection.permute_and_flip_probabilities,
    selection.exponential_mechanism: selection.exponential_probabilities,
}
_PERTURB, _SPARSE = laplace.perturb, sparse.sparse_histogram
_DRAWING = ["measure.measure", "measure.adaptive", "measure.box_measurement", "measure.pair_selection",
            "measure.search", "mechanisms.scalar_queries", "ask", "choose"]  # fmt: skip


@contextmanager
def _standing_in(
    noise: Callable[..., Any], keys: Callable[..., Any], choice: Callable[[selection.Draw], Callable[..., Any]]
) -> Iterator[None]:
    """Put `noise`, `keys` and `choice` in place of the mechanisms, wherever a module of the engine names them."""
    for name in _DRAWING:
        importlib.import_module(f"dpengine.{name}")
    stand_ins = {_PERTURB: noise, _SPARSE: keys} | {draw: choice(draw) for draw in _LAWS}
    with pytest.MonkeyPatch.context() as patch:
        for module_name, module in list(sys.modules.items()):
            if not module_name.startswith("dpengine.") or module in (laplace, selection, sparse):
                continue
            for name, known in [each for each in vars(module).items() if not each[0].startswith("__")]:
                if callable(known) and any(known is mechanism for mechanism in stand_ins):
                    patch.setattr(module, name, stand_ins[known])
                elif isinstance(known, dict):  # mechanisms by name, as a choice has them
                    for key, value in known.items():
                        if any(value is mechanism for mechanism in stand_ins):
                            patch.setitem(known, key, stand_ins[value])
        # Which rows of a person count is decided by a key that is the same, or as good as the same, for neighbours.
        patch.setattr(Ledger, "derive_key", lambda *_: b"k" * 32)
        yield


def _publish(data: Data, request: Request, tape: Tape) -> None:
    """Publish in a fresh ledger; keep what it stores, without ids and times, which are new each time."""
    ledger = Ledger.in_memory()
    with _overheard(tape):
        try:
            _publish_in(ledger, data, request, tape)
        except PrivateReleaseError as error:
            tape.error = f"{type(error).__name__}: {error}"
    for entry in ledger.history():
        stored = ledger.payload(entry.release_id)
        assert stored is not None
        tape.stored += _nameless(entry.kind, stored)
        tape.entries.append(repr(replace(entry, release_id="", created="")))


def _publish_in(ledger: Ledger, data: Data, request: Request, tape: Tape) -> None:
    if isinstance(data, Candidates):
        draw_once(data, "toy", ledger, "Which?")
        return
    with open_table(data) as table:
        if isinstance(request, Question):
            ask(table, request, ledger)
        else:
            assert request is not None
            release(table, request, ledger, progress=tape.stage)


def check_only_outputs_decide(rows: pd.DataFrame, more: pd.DataFrame, others: pd.DataFrame, plan: Plan) -> None:
    """Assert that tables with the same noisy outputs have the same release, which costs at most ε between neighbours.

    Neighbours are `rows` without the first person, or the first row, and with `more` of one person; `others` are none.
    """
    first = recorded(rows, plan)
    assert not first.error
    fewer = rows[rows["who"] > 0] if plan.unit.id else rows.iloc[1:]
    for neighbour in (fewer, pd.concat([rows, more])):
        there = replayed(neighbour, plan, first)
        assert there.shown == first.shown
        assert price(first, there) <= 1
    assert replayed(others, plan, first).shown == first.shown, "nothing else of the rows decides"


def _nameless(kind: Kind, stored: bytes) -> bytes:
    if kind is Kind.CHOICE:
        return replace(choose.reopen(stored), release_id="", created="").to_bytes()
    if kind is Kind.ANSWER:
        return replace(answer.reopen(stored), answer_id="", created="").to_bytes()
    return replace(reopen(stored), release_id="", created="").to_bytes()


class _Listener(logging.Handler):
    """Writes log lines of any level down."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.NOTSET)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith("py4j."):
            return  # what another test left to Spark is thrown away whenever garbage is looked for
        self._messages.append(f"log: {record.name}: {record.levelname}: {record.getMessage()}")


@contextmanager
def _overheard(tape: Tape) -> Iterator[None]:
    """Record all messages: warnings, log lines, and printed text."""
    root, listener, printed = logging.getLogger(), _Listener(tape.messages), io.StringIO()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.NOTSET)
    try:
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(printed), redirect_stderr(printed):
            warnings.simplefilter("always")
            yield
    finally:
        root.setLevel(level)
        root.removeHandler(listener)
    tape.messages += [f"warning: {each.category.__name__}: {each.message}" for each in caught]
    tape.messages.append(f"printed: {printed.getvalue()}")
