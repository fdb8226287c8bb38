"""Run a custom mechanism on tables of counts: it states its price, and its result is recorded before it is shown.

The mechanism gets exact counts, so it must be trusted code. Whatever it does, the engine guarantees this: its stated
price is compared with the plan's ε before a row is read; noise that it draws is exact, and its costs are added up; the
ledger refuses a result that did not cost exactly the price; and the returned bytes are those that the ledger has
stored, so that nothing is drawn twice.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil
from typing import Any, Protocol

import numpy as np

from dpengine.accounting.drawing import check_reopens
from dpengine.accounting.entry import Charge, Kind, Outcome, reopening
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.sketch import Sketch
from dpengine.array_types import Columns, Ints
from dpengine.counting import count, table_sketch
from dpengine.errors import PlanError
from dpengine.exact import exact_text, rational
from dpengine.noise.laplace import perturb
from dpengine.noise.selection import permute_and_flip
from dpengine.release import digest_for
from dpengine.sources.open import Source, open_table
from dpengine.sources.table import Table
from dpengine.spec.plan import Plan
from dpengine.version import VERSION

__all__ = ["Mechanism", "MechanismResult", "Noise", "run_mechanism"]


class Noise:
    """Exact noise for one run of a mechanism, which must spend `epsilon`.

    `spent` is the sum of ε over all that was drawn (basic composition).
    """

    def __init__(self, epsilon: Fraction, rows_per_person: int = 1) -> None:
        self.epsilon = epsilon
        self._rows = rows_per_person
        self.spent = Fraction(0)

    def laplace(self, values: Ints, epsilon: Fraction | int | str, sensitivity: int = 1) -> Ints:
        """Return whole numbers with discrete Laplace noise that costs `epsilon`.

        `sensitivity` is the most by which one row changes them in L1; for the counts of one table it is 1. Persons with
        several rows are accounted for here. Raises ValueError if an argument is not above 0, and TypeError for a float:
        noise is whole, so the digits after the point of a number would be published as they are.
        """
        scale = self._rows * _above_zero(sensitivity) / self._spend(epsilon)
        return perturb(_whole(values), scale)

    def choose(self, scores: Ints, epsilon: Fraction | int | str, sensitivity: int = 1) -> int:
        """Return the index of one of the whole `scores`, the highest most likely, by permute-and-flip.

        `sensitivity` is the most by which one row changes any of them. Raises as `laplace` does.
        """
        moved = ceil(self._rows * _above_zero(sensitivity))
        return permute_and_flip(np.asarray(scores), self._spend(epsilon), moved)

    def _spend(self, epsilon: Fraction | int | str) -> Fraction:
        exact = _above_zero(rational(epsilon, strict=True))
        self.spent += exact
        return exact


class Mechanism(Protocol):
    """The interface of a custom mechanism."""

    name: str
    """Its name and version: under another name, the same plan is drawn and paid again."""

    def charge(self, plan: Plan) -> Fraction:
        """Return the ε that `draw` spends, a function of the plan alone; it must be the plan's own ε."""

    def draw(self, counts: Mapping[Columns, Ints], noise: Noise) -> Any:
        """Return what may be published, from the exact counts of each table of the plan.

        It consists of lists, dictionaries and Python's own numbers and texts, which JSON holds; arrays are no such.

        The arrays have one axis for each column of the table, in declared order, and cannot be written to.
        """


@dataclass(frozen=True, slots=True)
class MechanismResult:
    """The result of a mechanism, as stored in the ledger."""

    mechanism: str
    value: Any
    plan_key: str
    dataset: str
    epsilon: str
    release_id: str
    created: str
    software: str

    @property
    def key(self) -> str:
        """The identity of the question."""
        return _identity(self.mechanism, self.plan_key)

    def to_bytes(self) -> bytes:
        """Return the bytes that the ledger keeps."""
        return json.dumps({"kind": Kind.MECHANISM, **asdict(self)}, ensure_ascii=False, allow_nan=False).encode()


def run_mechanism(
    mechanism: Mechanism, table: Table | Source, plan: Plan, ledger: Ledger | None = None, *, other_people: bool = False
) -> MechanismResult:
    """Run a mechanism on the counts of a plan's tables once, charge the plan's ε, store the result, and return it.

    The same mechanism, by its name, and plan on the same data again return the stored result and cost nothing. Without
    a `ledger`, a fresh one in memory serves for this one call. `other_people` is as for `release`.

    The result is ε-differentially private for `plan.unit` under adding or removing one person if `draw` uses the counts
    only through `noise`, states true sensitivities, and everything else it does is a function of what it drew: each
    draw is then ε_i-private, and the ledger checks that the ε_i add up to the plan's ε exactly.

    Raises `PlanError`, `TableError`, `BudgetError` or `LedgerError`; nothing is spent then.
    """
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return run_mechanism(mechanism, opened, plan, ledger, other_people=other_people)
    charged = ledger if ledger is not None else Ledger.in_memory()
    _check(mechanism, plan)
    count.check(table, plan)
    plan_id = _identity(mechanism.name, plan.key)
    fingerprint = charged.fingerprint(digest_for(table, plan_id, charged))

    def concluded(value: Any) -> MechanismResult:
        created = datetime.now(UTC).isoformat(timespec="seconds")
        price = exact_text(plan.epsilon)
        return MechanismResult(mechanism.name, value, plan.key, plan.dataset, price, uuid.uuid4().hex, created, VERSION)

    def prepare() -> list[Ints]:
        blank = concluded(None)
        check_reopens(blank, blank.to_bytes(), reopen)
        key = charged.derive_key("truncation", fingerprint, plan_id.encode())
        exact = count.count(table, plan, plan.marginals, truncation_key=key)
        count.check_unchanged(table)
        return exact

    def draw(exact: list[Ints]) -> Outcome:
        noise = Noise(plan.epsilon, plan.unit.rows)
        for counts in exact:
            counts.setflags(write=False)
        release = concluded(mechanism.draw(dict(zip(plan.marginals, exact, strict=True)), noise))
        return Outcome(release.release_id, release.created, noise.spent, release.to_bytes())

    def sketch(exact: list[Ints]) -> Sketch:
        return table_sketch.of_table(table, plan, plan.marginals, exact)

    charge = Charge(
        Kind.MECHANISM, plan.dataset, fingerprint, plan_id, plan.epsilon, plan.title, f"mechanism {mechanism.name}",
        other_people=other_people,
    )  # fmt: skip
    return charged.charge_once(charge, prepare, draw, reopen, sketch)


def reopen(payload: bytes) -> MechanismResult:
    """Return what `MechanismResult.to_bytes` wrote; raise `LedgerError` if the payload is something else."""
    with reopening(payload, Kind.MECHANISM, "this entry of the ledger is not the result of a mechanism") as fields:
        return MechanismResult(**fields)


def _check(mechanism: Mechanism, plan: Plan) -> None:
    if not all(hasattr(mechanism, each) for each in ("name", "charge", "draw")):
        raise PlanError("a mechanism is an object with a name and the methods charge(plan) and draw(counts, noise)")
    if not mechanism.name.strip():
        raise PlanError("the mechanism needs a name")
    if plan.amounts(()) or plan.has_distinct:
        raise PlanError("a mechanism gets counts of rows: leave means, sums, quantiles and distinct persons out")
    if plan.found_columns:
        raise PlanError("a mechanism gets counts in stated cells: state the edges of bins that a release would find")
    stated = mechanism.charge(plan)
    if not isinstance(stated, int | Fraction) or stated != plan.epsilon:
        raise PlanError("the mechanism does not state the plan's ε as its exact price; nothing was read or spent")


def _identity(name: str, plan_key: str) -> str:
    return json.dumps({"kind": Kind.MECHANISM, "name": name, "plan": plan_key}, ensure_ascii=False)


def _whole(values: Ints) -> Ints:
    """Return whole numbers as an array of 64 bits, or of Python's integers if they do not fit."""
    array = np.asarray(values)
    if array.size and array.dtype != np.bool_ and not np.issubdtype(array.dtype, np.integer):
        if array.dtype != object or any(type(each) is not int for each in array.ravel().tolist()):
            raise TypeError("noise is added to whole numbers: round these before, or state them in smaller units")
        return array
    return array.astype(object if array.dtype == np.uint64 else np.int64)


def _above_zero(number: Fraction | int) -> Fraction:
    if number <= 0:
        raise ValueError("give an ε and a sensitivity above 0")
    return Fraction(number)
