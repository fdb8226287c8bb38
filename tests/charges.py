"""Made-up charges, for tests of the ledger and of what reads it."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from dpengine.accounting.entry import Charge, Kind, Outcome
from dpengine.accounting.ledger import Ledger
from dpengine.exact import rational

__all__ = ["charge"]

_OF_THE_CHARGE = {field.name for field in fields(Charge)}


def charge(
    ledger: Ledger,
    plan: str,
    dataset: str = "clinic",
    rows: bytes = b"rows",
    epsilon: Any = Fraction(1),
    **changes: Any,
) -> bytes:
    """Record a release that was never drawn; `changes` replace single fields of its charge or outcome."""
    price = Charge(Kind.RELEASE, dataset, ledger.fingerprint(rows), plan, epsilon, f"About {plan}", "age × region")
    outcome = Outcome(f"id of {plan}", "2026-01-01T00:00:00Z", _cost(epsilon), f"numbers of {plan}".encode())
    of_the_charge = {name: value for name, value in changes.items() if name in _OF_THE_CHARGE}
    of_the_outcome = {name: value for name, value in changes.items() if name not in _OF_THE_CHARGE}
    return ledger.record(replace(price, **of_the_charge), replace(outcome, **of_the_outcome))


def _cost(epsilon: Any) -> Fraction:
    try:
        return rational(epsilon, strict=True)
    except (TypeError, ValueError):
        return Fraction(0)  # the price is refused first
