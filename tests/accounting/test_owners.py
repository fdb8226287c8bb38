"""Each owner of a ledger sees only their own part: no value, error or price depends on what other owners did."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpengine.accounting import hash_chain
from dpengine.accounting.entry import Kind
from dpengine.accounting.ledger import Ledger
from dpengine.errors import BudgetError, LedgerError, PrivateReleaseError
from tests.accounting.test_ledger import look
from tests.charges import charge

DATASETS = ["clinic", " CLINIC", "wages", "school"]
ROWS = [b"rows", b"other rows", b"third"]
PLANS = ["plan", "question 1", "plan 2"]
IDS = [f"id of {plan}" for plan in PLANS]


def seen(ask: Callable[[], Any]) -> object:
    """What an owner learns from one attempt: the value, or the error with its words."""
    try:
        return ask()
    except PrivateReleaseError as error:
        return type(error), str(error)


def attempt(ledger: Ledger, guess: random.Random) -> tuple[str, object]:
    """Try one method with guesses about another owner's names, rows, plans and ids."""
    dataset, rows, plan, release_id = (guess.choice(given) for given in (DATASETS, ROWS, PLANS, IDS))
    digest, epsilon, plain = ledger.fingerprint(rows), Fraction(guess.randint(1, 6), 2), guess.random() < 0.5
    attempts: dict[str, Callable[[], Any]] = {
        "spent": lambda: ledger.spent(dataset, None if plain else digest),
        "cap": lambda: ledger.cap(dataset, None if plain else digest),
        "left": lambda: ledger.left(dataset, None if plain else digest),
        "datasets": ledger.datasets,
        "history": lambda: ledger.history(None if plain else dataset),
        "entry": lambda: ledger.entry(release_id),
        "payload": lambda: ledger.payload(release_id),
        "fingerprint": lambda: ledger.fingerprint(rows),
        "derive_key": lambda: ledger.derive_key("truncation", digest, plan.encode()),
        "find": lambda: ledger.find(digest, plan),
        "holds": lambda: ledger.holds(plan),
        "check": lambda: ledger.check(dataset, digest, epsilon),
        "set_cap": lambda: ledger.set_cap(dataset, epsilon + 3),
        "charge": lambda: charge(ledger, plan, dataset, rows, epsilon, release_id=release_id, payload=b"drawn"),
        "verify_chain": ledger.verify_chain,
    }
    name = guess.choice(sorted(attempts))
    return name, seen(attempts[name])


@pytest.mark.parametrize(
    "names", [("ann", "bea"), *(pytest.param(names, marks=pytest.mark.nightly) for names in (("", "bea"), ("ann", "")))]
)
def test_two_hundred_attempts_reveal_nothing_of_another_owner(tmp_path: Path, names: tuple[str, str]) -> None:
    """All answers, free ones and refusals included, are those of the same ledger without the other owner's entries."""
    ann, bea = names
    alone, shared = (f"sqlite:///{tmp_path / name}.db" for name in ("alone", "shared"))
    charge(Ledger(alone, bea), "own plan", "own", b"own rows")
    shutil.copy(tmp_path / "alone.db", tmp_path / "shared.db")
    hers = Ledger(shared, ann)
    hers.set_cap("clinic", 2)
    charge(hers, "plan", "clinic", b"rows")
    charge(hers, "question 1", "wages", b"rows", kind=Kind.ANSWER)
    history = hers.history()

    views, guesses = [Ledger(alone, bea), Ledger(shared, bea)], [random.Random(5), random.Random(5)]
    outcomes = [[attempt(view, guess) for _ in range(200)] for view, guess in zip(views, guesses, strict=True)]
    assert outcomes[0] == outcomes[1]
    assert len({name for name, _ in outcomes[0]}) == 15
    assert {type(answer) for name, answer in outcomes[0] if name == "charge"} == {bytes, tuple}, "granted and refused"
    assert hers.history() == history
    assert (hers.spent("clinic"), hers.cap("clinic"), hers.payload("id of plan")) == (2, 2, b"numbers of plan")
    hers.verify_chain()


def test_the_attempts_would_notice_owners_that_are_not_separated(tmp_path: Path) -> None:
    alone, shared = (f"sqlite:///{tmp_path / name}.db" for name in ("alone", "shared"))
    Ledger(alone)
    shutil.copy(tmp_path / "alone.db", tmp_path / "shared.db")
    charge(Ledger(shared), "plan", "clinic", b"rows")
    guesses = [random.Random(5), random.Random(5)]
    views = [Ledger(alone), Ledger(shared)]
    outcomes = [[attempt(view, guess) for _ in range(40)] for view, guess in zip(views, guesses, strict=True)]
    assert outcomes[0] != outcomes[1]


def test_a_view_of_an_owner_is_that_owner_s_ledger(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    charge(ledger.for_owner("ann"), "plan")
    assert (ledger.owner, ledger.for_owner("ann").owner) == ("", "ann")
    assert ledger.history() == []
    assert Ledger(stored_url, "ann").history() == ledger.for_owner("ann").history() != []
    assert ledger.for_owner("ann").fingerprint(b"rows") == Ledger(stored_url, "ann").fingerprint(b"rows")
    assert ledger.for_owner("ann").for_owner("").fingerprint(b"rows") == ledger.fingerprint(b"rows")
    assert ledger.snapshot().for_owner("ann").history() == ledger.for_owner("ann").history()
    prints = {ledger.for_owner(name).fingerprint(b"rows") for name in ("", "ann", "bea", "Ann")}
    keys = {ledger.for_owner(name).derive_key("truncation", b"rows") for name in ("", "ann", "bea", "Ann")}
    assert len(prints) == len(keys) == 4


def test_every_owner_pays_for_the_same_rows_within_their_own_cap(stored_url: str) -> None:
    for name in ("ann", "bea"):
        owner = Ledger(stored_url, name)
        owner.set_cap("clinic", 1)
        assert charge(owner, "plan", payload=name.encode()) == name.encode()
        with pytest.raises(BudgetError, match=r"spent 1 of 1, left 0"):
            charge(owner, "plan 2")
    Ledger(stored_url, "ann").set_cap("CLINIC", 3)
    assert [Ledger(stored_url, name).left("clinic") for name in ("ann", "bea", "")] == [2, 0, None]
    Ledger(stored_url).verify_chain()


@pytest.mark.parametrize("change", [
    "UPDATE ledger_charges SET owner = 'bea' WHERE number = 1",
    "UPDATE ledger_charges SET owner = NULL WHERE number = 1",
    "UPDATE ledger_charges SET owner = NULL, recognised = NULL, sketch_sha256 = NULL WHERE number = 1",
    "UPDATE ledger_caps SET owner = 'bea'",
])  # fmt: skip
def test_an_entry_that_is_moved_to_another_owner_breaks_the_ledger(stored_url: str, change: str) -> None:
    ann = Ledger(stored_url, "ann")
    ann.set_cap("clinic", 4)
    charge(ann, "plan")
    look(stored_url, change)
    for name in ("ann", "bea", ""):
        with pytest.raises(LedgerError, match=r"Entry 1 |A cap in the ledger"):
            Ledger(stored_url, name).history()


@pytest.mark.parametrize("name", ["a\0b", "\ud800", 5])
def test_an_owner_that_a_database_may_not_keep_is_refused(name: Any) -> None:
    with pytest.raises(BudgetError, match="owner must be a text"):
        Ledger.in_memory().for_owner(name)


def test_a_named_key_is_made_once_and_is_the_same_for_all_owners(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    assert ledger.named_key("signing") is None
    assert ledger.keep_key("signing", lambda: b"first") == b"first"
    assert ledger.for_owner("ann").keep_key("signing", lambda: b"second") == b"first"
    assert Ledger(stored_url, "bea").named_key("signing") == b"first"
    assert ledger.keep_key("other", lambda: b"third") == b"third"


def test_a_named_key_that_another_process_has_made_meanwhile_is_kept(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(ledger_url)
    ledger.keep_key("signing", lambda: b"first")
    monkeypatch.setattr(Ledger, "named_key", lambda *_: None)  # as it was when this process looked
    assert ledger.keep_key("signing", lambda: b"second") == b"first"


@pytest.mark.parametrize("change", ["value = :value", "name = 'other'", "seal = :value"])
def test_a_changed_named_key_is_refused_even_if_it_was_never_seen(
    stored_url: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(stored_url)
    ledger.keep_key("signing", lambda: b"first")
    look(stored_url, f"UPDATE ledger_keys SET {change}", b"forged")
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(tmp_path / "another account"))
    with pytest.raises(LedgerError, match="A key in the ledger was changed"):
        [ledger.named_key(name) for name in ("signing", "other")]


def test_no_caps_of_owners_have_the_seal_of_other_caps() -> None:
    """Names are free texts, so one may look like a cap: lists of parts that join alike must not be sealed alike."""
    local = {("", "1/1"): Fraction(2), ("", "2/1"): Fraction(3), ("", "3/1"): Fraction(4)}
    of_owners = {("1/1", "2/1"): Fraction(2), ("3/1", "3/1"): Fraction(4)}
    assert hash_chain._seal(b"secret", local) != hash_chain._seal(b"secret", of_owners)
