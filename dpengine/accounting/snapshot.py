"""The charges, caps, rules and requests of one owner at one moment, and what follows from them together."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from dpengine.accounting import schema
from dpengine.accounting.amount import over_cap, total
from dpengine.accounting.entry import Entry, Resemblance, same_name
from dpengine.translation.catalogue import some_of

__all__ = ["Snapshot"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A consistent, chain-verified snapshot of the charges, caps, rules and requests of one owner.

    `entries` is the number of charges of all owners and `head` the hash of the last one: a write needs them to continue
    the chain.
    """

    owner: str
    charges: tuple[sa.Row[Any], ...]
    caps: dict[str, Fraction]
    rules: frozenset[str]
    requests: tuple[sa.Row[Any], ...]
    entries: int
    head: bytes
    version: int

    def pool(
        self, dataset: str, fingerprint: bytes | None = None, alike: Collection[Resemblance] = ()
    ) -> tuple[set[str], list[sa.Row[Any]]]:
        """Return all names and charges that are linked, directly or through others, to this name or this data.

        Charges are linked by a name, by the same data, and by data that was recognised as a near copy. `alike` are
        charges that this data resembles.
        """
        spellings, prints = {same_name(dataset)}, {fingerprint}
        numbers = {row.number for row in map(self.named, (each.release_id for each in alike)) if row is not None}
        copies = {row.number: _shared(row) for row in self.charges if row.recognised}
        linked: list[sa.Row[Any]] = []
        while True:
            charges = [
                row for row in self.charges
                if same_name(row.dataset) in spellings or row.fingerprint in prints or row.number in numbers
                or numbers & copies.get(row.number, set())
            ]  # fmt: skip
            if len(charges) == len(linked):
                return {dataset, *(row.dataset for row in linked)}, linked
            linked = charges
            spellings |= {same_name(row.dataset) for row in linked}
            prints |= {row.fingerprint for row in linked}
            numbers |= {row.number for row in linked}.union(*(copies.get(row.number, ()) for row in linked))

    def entry(self, charge: sa.Row[Any]) -> Entry:
        """Return a charge as an entry of the history."""
        return Entry(
            charge.release_id, charge.dataset, charge.created, Fraction(charge.epsilon), charge.title, charge.summary,
            schema.kind_of(charge), tuple(self.recognised(charge)),
        )  # fmt: skip

    def recognised(self, charge: sa.Row[Any]) -> list[Resemblance]:
        """Return the earlier charges that this one resembled when it was made."""
        named = {row.number: row for row in self.charges}
        return [
            Resemblance(named[entry].release_id, named[entry].dataset, overlap, other)
            for entry, overlap, other in _recognised(charge)
        ]

    def cap(self, names: set[str]) -> Fraction | None:
        """Return the smallest cap set on any of these names; None if there is none."""
        alike = {same_name(name) for name in names}
        return min((cap for name, cap in self.caps.items() if same_name(name) in alike), default=None)

    def refuse_over_cap(
        self, dataset: str, fingerprint: bytes, epsilon: Fraction, alike: Collection[Resemblance]
    ) -> None:
        """Raise `BudgetError` if a charge of ε would pass the cap that binds, by the name for which it was set."""
        names, charges = self.pool(dataset, fingerprint, alike)
        cap, spent = self.cap(names), total(charges)
        if cap is None or spent + epsilon <= cap:
            return
        binding = {same_name(name) for name, each in self.caps.items() if each == cap}
        named = next((name for name in (dataset, *sorted(names)) if same_name(name) in binding), dataset)
        others = some_of(repr(name) for name in sorted(names) if same_name(name) != same_name(named))
        raise over_cap(named, epsilon, spent, cap, others, alike)

    def published(self, fingerprint: bytes, plan_id: str) -> sa.Row[Any] | None:
        """Return the charge for this plan on this data; None if there is none."""
        terms = (fingerprint, plan_id)
        return next((row for row in self.charges if (row.fingerprint, row.plan_key) == terms), None)

    def named(self, release_id: str) -> sa.Row[Any] | None:
        """Return the charge with this id; None if there is none."""
        return next((row for row in self.charges if row.release_id == release_id), None)


def _recognised(charge: sa.Row[Any]) -> list[tuple[int, float, bool]]:
    """Return number, overlap, and whether other people were stated, of each charge that this one resembled."""
    resemblances = json.loads(charge.recognised) if charge.recognised else []
    return [(int(each["number"]), float(each["overlap"]), bool(each["other_people"])) for each in resemblances]


def _shared(charge: sa.Row[Any]) -> set[int]:
    return {entry for entry, _overlap, other_people in _recognised(charge) if not other_people}
