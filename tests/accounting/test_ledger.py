"""The rules of the ledger: exact amounts, a budget for shared data, one charge a release, a tamper-evident chain."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy

from dpengine.accounting import hash_chain
from dpengine.accounting.drawing import check_reopens
from dpengine.accounting.entry import Charge, Entry, Kind, Outcome
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.schema import VERSION
from dpengine.errors import BudgetError, LedgerError, PlanError, PrivateReleaseError
from tests.charges import charge
from tests.conftest import empty_schema


@pytest.fixture(params=["memory", "postgres"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    """A fresh ledger, in memory and on a server: the rules about amounts are the same."""
    if request.param == "memory":
        return Ledger.in_memory()
    return Ledger(empty_schema(request.getfixturevalue("postgres")))


@pytest.fixture
def stored(stored_url: str) -> Ledger:
    return Ledger(stored_url)


# ---- money ----


def test_a_ledger_shows_where_it_is_and_whose() -> None:
    assert repr(Ledger.in_memory().for_owner("clinic")) == "<Ledger in memory, owner 'clinic'>"


def test_ten_tenths_are_one_exactly(ledger: Ledger) -> None:
    ledger.set_cap("clinic", 1)
    for number in range(10):
        charge(ledger, f"{number}", epsilon="0.1")
    assert ledger.spent("clinic") == 1
    assert ledger.left("clinic") == 0
    with pytest.raises(BudgetError):
        charge(ledger, "eleventh", epsilon="1/" + "9" * 60)


def test_however_small_amounts_are_they_add_up_exactly(ledger: Ledger) -> None:
    """Digits that were rounded off would be ε that is spent and never counted."""
    amounts = [Fraction(1, 3**40), Fraction(1, 10**60), 1 - Fraction(1, 7**30)]
    ledger.set_cap("clinic", sum(amounts))
    for number, epsilon in enumerate(amounts):
        charge(ledger, f"{number}", epsilon=epsilon)
    assert ledger.spent("clinic") == sum(amounts)
    assert ledger.left("clinic") == 0
    with pytest.raises(BudgetError):
        charge(ledger, "one more", epsilon=Fraction(1, 10**60))


@pytest.mark.parametrize(
    ("given", "kept"),
    [("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("2", 2), (2, 2), (Fraction(4, 6), Fraction(2, 3))],
)
def test_exact_numbers_are_kept_exactly(stored: Ledger, stored_url: str, given: Any, kept: Fraction) -> None:
    stored.set_cap("clinic", given)
    charge(stored, "plan", epsilon=given)
    again = Ledger(stored_url)
    assert again.cap("clinic") == kept
    assert again.spent("clinic") == kept
    assert again.history()[0].epsilon == kept


BAD_MONEY = [
    0.1, 1.0, float("nan"), float("inf"), True, False, None, Decimal("0.1"), np.float64(1), 1j, b"1",
    0, -1, Fraction(-1, 3), "0", "0/5", "1/0", "-1", "+1", "nan", "inf", "1e3", "1e999999999", "1_0", " 1",
    "1\n", "", "1/2/3", "1.5/2", "٣", "9" * 61, Fraction(1, 10**200), 10**5000,
]  # fmt: skip


@pytest.mark.by_day(20)
@pytest.mark.parametrize("value", BAD_MONEY, ids=lambda value: f"{type(value).__name__}-{str(value)[:12]!r}"
                         if not isinstance(value, int) or value < 10**9 else "int-long")  # fmt: skip
def test_an_epsilon_that_is_not_exact_and_positive_is_refused_with_a_hint(ledger: Ledger, value: Any) -> None:
    for spend in (
        lambda: ledger.set_cap("clinic", value),
        lambda: charge(ledger, "plan", epsilon=value),
        lambda: ledger.check("clinic", b"", value),
    ):
        with pytest.raises(BudgetError, match=r"must be|round it") as caught:
            spend()
        assert not isinstance(caught.value, LedgerError)
    assert ledger.datasets() == []


@pytest.mark.by_day(12)
@pytest.mark.parametrize("field", ["dataset", "plan_id", "release_id", "created", "title", "summary"])
@pytest.mark.parametrize("text", ["a\0b", "\ud800", None, 7])
def test_texts_that_a_database_may_not_keep_are_refused(ledger: Ledger, field: str, text: Any) -> None:
    with pytest.raises(BudgetError, match=f"The {field} must be a text"):
        charge(ledger, "plan", **{field: text})
    assert ledger.history() == []


def test_a_dataset_needs_a_name(ledger: Ledger) -> None:
    with pytest.raises(BudgetError):
        ledger.set_cap("", 1)


# ---- caps and pools ----


def test_unknown_names_have_spent_nothing_and_have_no_cap(ledger: Ledger) -> None:
    assert (ledger.spent("nobody"), ledger.cap("nobody"), ledger.left("nobody")) == (0, None, None)
    assert ledger.history("nobody") == ledger.datasets() == []


def test_a_refusal_says_what_was_asked_spent_and_left_and_the_ways_out(ledger: Ledger) -> None:
    ledger.set_cap("clinic", "1.5")
    charge(ledger, "first", epsilon=Fraction(4, 3))
    fingerprint = ledger.fingerprint(b"rows")
    ledger.check("clinic", fingerprint, Fraction(1, 6))
    for refuse in (
        lambda: ledger.check("clinic", fingerprint, Fraction(1, 4)),
        lambda: charge(ledger, "second", epsilon=Fraction(1, 4)),
    ):
        with pytest.raises(BudgetError) as caught:
            refuse()
        for part in ("'clinic'", "0.25", "4/3", "1.5", "1/6", "smaller ε", "owner", "larger cap"):
            assert part in str(caught.value)
        assert "shares data" not in str(caught.value)
    assert ledger.spent("clinic") == Fraction(4, 3)


def test_a_cap_below_what_is_spent_leaves_nothing_and_a_larger_one_gives_room(ledger: Ledger) -> None:
    charge(ledger, "first", epsilon=2)
    ledger.set_cap("clinic", 1)
    assert ledger.left("clinic") == 0
    ledger.set_cap("clinic", 3)
    assert ledger.left("clinic") == 1
    assert ledger.cap("clinic") == 3


def test_the_same_data_under_another_name_shares_the_budget(ledger: Ledger) -> None:
    ledger.set_cap("clinic", 2)
    charge(ledger, "first", dataset="clinic")
    charge(ledger, "second", dataset="hospital")
    for name in ("clinic", "hospital"):
        assert (ledger.spent(name), ledger.cap(name), ledger.left(name)) == (2, 2, 0)
        assert len(ledger.history(name)) == 2
    with pytest.raises(BudgetError, match=r"of dataset 'clinic' .*shares data.*'hospital'"):
        charge(ledger, "third", dataset="hospital")
    with pytest.raises(BudgetError, match=r"of dataset 'clinic' .*shares data.*'hospital', 'new name'"):
        charge(ledger, "third", dataset="new name")
    assert ledger.datasets() == ["clinic", "hospital"]


def test_pools_join_through_a_chain_of_names_and_data_and_the_smallest_cap_binds(ledger: Ledger) -> None:
    charge(ledger, "1", dataset="a", rows=b"x")
    charge(ledger, "2", dataset="b", rows=b"y")
    charge(ledger, "3", dataset="c", rows=b"z")
    assert ledger.spent("a") == ledger.spent("b") == 1
    charge(ledger, "4", dataset="a", rows=b"y")
    assert ledger.spent("a") == ledger.spent("b") == 3
    ledger.set_cap("a", 9)
    ledger.set_cap("c", 5)
    assert (ledger.cap("b"), ledger.cap("c")) == (9, 5)
    with pytest.raises(BudgetError):
        charge(ledger, "5", dataset="c", rows=b"x", epsilon="1.5")
    charge(ledger, "5", dataset="c", rows=b"x")
    assert ledger.cap("b") == 5
    assert ledger.spent("b") == 5


def test_new_data_under_an_old_name_shares_the_name_s_budget(ledger: Ledger) -> None:
    ledger.set_cap("clinic", 1)
    charge(ledger, "first", rows=b"old rows")
    with pytest.raises(BudgetError):
        charge(ledger, "second", rows=b"new rows")


# ---- one charge a release ----


def test_the_same_data_and_plan_cost_once_and_return_what_was_stored(ledger: Ledger) -> None:
    ledger.set_cap("clinic", 1)
    assert charge(ledger, "plan") == b"numbers of plan"
    for name in ("clinic", "another name"):
        assert charge(ledger, "plan", dataset=name, release_id="x", payload=b"drawn again") == b"numbers of plan"
    assert ledger.spent("clinic") == 1
    assert len(ledger.history()) == 1
    assert ledger.find(ledger.fingerprint(b"rows"), "plan") == b"numbers of plan"
    assert ledger.find(ledger.fingerprint(b"rows"), "other plan") is None
    assert ledger.find(ledger.fingerprint(b"other rows"), "plan") is None
    assert ledger.payload("id of plan") == b"numbers of plan"
    assert ledger.payload("x") is None


@pytest.mark.parametrize("cost", [Fraction(10**30 + 1, 10**30), Fraction(10**30 - 1, 10**30), Fraction(0)])
def test_a_draw_that_cost_more_or_less_than_its_price_is_not_recorded(ledger: Ledger, cost: Fraction) -> None:
    with pytest.raises(BudgetError, match="fault of the program"):
        charge(ledger, "plan", cost=cost)
    assert ledger.history() == []
    assert ledger.find(ledger.fingerprint(b"rows"), "plan") is None


@dataclass(frozen=True)
class Note:
    """A result that is its own stored text."""

    key: str

    @classmethod
    def reopen(cls, payload: bytes) -> Note:
        if payload == b"unreadable":
            raise LedgerError("no note")
        return cls(payload.decode())


def note(ledger: Ledger, payload: bytes = b"plan", **changes: Any) -> Note:
    """Charge a note once."""
    price = Charge(Kind.ANSWER, "clinic", ledger.fingerprint(b"rows"), "plan", Fraction(1), "", "")
    outcome = replace(Outcome("an id", "2026-01-01T00:00:00Z", Fraction(1), payload), **changes)
    return ledger.charge_once(
        price, lambda: check_reopens(Note("plan"), payload, Note.reopen), lambda _: outcome, Note.reopen
    )


def test_a_charge_is_drawn_once_and_always_shown_from_what_is_stored(ledger: Ledger) -> None:
    assert note(ledger) == note(ledger, b"never drawn") == Note("plan")
    assert ledger.spent("clinic") == 1


@pytest.mark.parametrize("payload", [b"unreadable", b"another plan", b"\xff"])
def test_a_result_that_could_not_be_reopened_is_refused_before_it_is_paid_for(ledger: Ledger, payload: bytes) -> None:
    with pytest.raises(PlanError, match="nothing was spent"):
        note(ledger, payload)
    assert ledger.history() == []


def test_nothing_is_drawn_when_the_cap_refuses(ledger: Ledger) -> None:
    ledger.set_cap("clinic", "1/2")
    price = Charge(Kind.ANSWER, "clinic", ledger.fingerprint(b"rows"), "plan", Fraction(1), "", "")
    with pytest.raises(BudgetError, match="does not allow"):
        ledger.charge_once(price, lambda: pytest.fail("prepared"), lambda _: pytest.fail("drawn"), Note.reopen)


def test_what_another_process_publishes_meanwhile_is_returned_though_it_has_spent_the_last_of_the_cap(
    ledger: Ledger,
) -> None:
    """Both ask for the same of the same data at once: the later one is not refused, and draws nothing."""
    ledger.set_cap("clinic", 1)
    price = Charge(Kind.ANSWER, "clinic", ledger.fingerprint(b"rows"), "plan", Fraction(1), "", "")
    later = ledger.charge_once(price, lambda: note(ledger), lambda _: pytest.fail("drawn"), Note.reopen)
    assert later == Note("plan")
    assert ledger.spent("clinic") == 1


def test_a_release_id_is_used_once(ledger: Ledger) -> None:
    charge(ledger, "plan")
    with pytest.raises(LedgerError, match="already in the ledger for another release"):
        charge(ledger, "other plan", release_id="id of plan")
    assert ledger.spent("clinic") == 1


def test_history_is_in_order_and_keeps_what_was_bought_but_no_fingerprint(stored: Ledger, stored_url: str) -> None:
    charge(stored, "late", created="2030-01-01T00:00:00Z", epsilon="1/3")
    charge(stored, "early, the clock was set back", dataset="school", rows=b"pupils")
    first, second = Ledger(stored_url).history()
    assert first == Entry(
        "id of late", "clinic", "2030-01-01T00:00:00Z", Fraction(1, 3), "About late", "age × region", Kind.RELEASE
    )
    assert second.dataset == "school"
    assert stored.history("school") == [second]
    names = [field.name for field in dataclasses.fields(Entry)]
    assert names == ["release_id", "dataset", "created", "epsilon", "title", "summary", "kind", "recognised"]


def test_fingerprints_and_keys_are_keyed_stable_and_apart(stored: Ledger, stored_url: str, ledger: Ledger) -> None:
    again = Ledger(stored_url)
    assert stored.fingerprint(b"rows") == again.fingerprint(b"rows")
    assert stored.derive_key("truncation", b"a", b"b") == again.derive_key("truncation", b"a", b"b")
    outputs = [
        stored.fingerprint(b"rows"), ledger.fingerprint(b"rows"), stored.fingerprint(b"rowz"),
        hashlib.sha256(b"rows").digest(), stored.derive_key("fingerprint", b"rows"),
        stored.derive_key("ab", b"c"), stored.derive_key("a", b"bc"), stored.derive_key("a", b"b", b"c"),
        stored.derive_key("a"), stored.derive_key("a", b""), ledger.derive_key("a"),
    ]  # fmt: skip
    assert len(set(outputs)) == len(outputs)
    assert {len(output) for output in outputs} == {32}


def test_a_fingerprint_is_an_hmac_under_the_key_in_the_ledger(stored: Ledger, stored_url: str) -> None:
    [(secret,)] = look(stored_url, "SELECT secret FROM ledger_meta")
    secret = bytes(secret)
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in (b"fingerprint", b"digest"))
    assert stored.fingerprint(b"digest") == hmac.digest(secret, framed, "sha256")


@pytest.mark.by_day(2)
def test_threads_that_share_a_ledger_are_granted_exactly_what_the_cap_allows(stored: Ledger, ledger: Ledger) -> None:
    for shared in (stored, ledger):
        shared.set_cap("clinic", 20)
        granted: list[str] = []

        def spend(worker: int, shared: Ledger = shared, granted: list[str] = granted) -> None:
            for number in range(6):
                try:
                    charge(shared, f"{worker}/{number}")
                    granted.append(f"{worker}/{number}")
                except LedgerError:
                    raise
                except BudgetError:
                    continue

        threads = [threading.Thread(target=spend, args=(worker,)) for worker in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(granted) == shared.spent("clinic") == 20


# ---- where it lives ----


def test_the_file_is_for_its_owner_alone_and_nothing_else_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    charge(Ledger(f"sqlite:///{path}"), "plan")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == [path.name]


def test_ledgers_in_memory_know_nothing_of_each_other() -> None:
    ledger = Ledger.in_memory()
    charge(ledger, "plan")
    assert Ledger.in_memory().history() == []
    assert Ledger("sqlite:///:memory:").history() == []
    assert ledger.spent("clinic") == 1


def test_without_an_address_the_environment_decides_then_the_user_s_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", f"sqlite:///{tmp_path}/named.db")
    charge(Ledger(), "plan")
    assert Ledger(f"sqlite:///{tmp_path}/named.db").spent("clinic") == 1
    monkeypatch.delenv("PRIVATE_RELEASE_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    charge(Ledger(), "plan")
    assert Ledger().spent("clinic") == 1
    assert [path.name for path in (tmp_path / "home").rglob("*") if path.is_file()] == ["ledger.db"]


# ---- the chain ----


def look(url: str, statement: str, value: object = None) -> list[Any]:
    """Change the ledger's database directly, with all rights; ``value`` is bound to ``:value``."""
    engine = sqlalchemy.create_engine(url)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SET session_replication_role = replica")  # no foreign key stands guard
            done = connection.execute(sqlalchemy.text(statement), {"value": value} if ":value" in statement else {})
            return list(done) if done.returns_rows else []
    finally:
        engine.dispose()


CHANGES = {
    "release_id": "x", "dataset": "x", "fingerprint": b"x", "plan_key": "x", "created": "x", "epsilon": "1/9",
    "title": "x", "summary": "x", "payload_sha256": b"x", "hash": b"x", "kind": "answer",
}  # fmt: skip
TAMPERING: dict[str, tuple[str, int]] = {
    **{name: (f"UPDATE ledger_charges SET {name} = :value WHERE number = 2", 2) for name in CHANGES},
    "kind removed": ("UPDATE ledger_charges SET kind = NULL WHERE number = 2", 2),
    "version 1 again": ("UPDATE ledger_meta SET version = 1", 1),
    "unreadable epsilon": ("UPDATE ledger_charges SET epsilon = 'much' WHERE number = 2", 2),
    "renumbered": ("UPDATE ledger_charges SET number = 9 WHERE number = 2", 2),
    "first deleted": ("DELETE FROM ledger_charges WHERE number = 1", 1),
    "second deleted": ("DELETE FROM ledger_charges WHERE number = 2", 2),
    "last deleted": ("DELETE FROM ledger_charges WHERE number = 3", 3),
    "all deleted": ("DELETE FROM ledger_charges", 1),
    "count lowered": ("UPDATE ledger_meta SET entries = 2", 4),
}


@pytest.mark.by_day(12)
@pytest.mark.parametrize("case", TAMPERING)
def test_a_tampered_entry_breaks_the_chain_and_stops_all_use(stored: Ledger, stored_url: str, case: str) -> None:
    for plan in ("first", "second", "third"):
        charge(stored, plan)
    stored.verify_chain()
    statement, entry = TAMPERING[case]
    look(stored_url, statement, CHANGES.get(case))
    with pytest.raises(LedgerError, match=f"Entry {entry} "):
        stored.verify_chain()
    uses: list[Callable[[], object]] = [
        lambda: charge(stored, "fourth"), lambda: stored.spent("clinic"),
        lambda: stored.payload("id of third"), lambda: stored.history(), lambda: stored.set_cap("clinic", 9),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(LedgerError):
            use()


def test_a_process_hashes_each_charge_once_and_still_sees_all_of_them_at_every_use(
    stored: Ledger, stored_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        charge(stored, f"{number}")
    stored.history()
    hashed, link = [], hash_chain._link
    monkeypatch.setattr(hash_chain, "_link", lambda *given: hashed.append(given) or link(*given))
    assert [stored.spent("clinic"), Ledger(stored_url).spent("clinic"), len(stored.history())] == [5, 5, 5]
    assert hashed == []
    charge(Ledger(stored_url), "sixth")
    assert stored.spent("clinic") == 6
    assert len(hashed) == 2, "once to seal it, once to check it"
    look(stored_url, "UPDATE ledger_charges SET epsilon = '1/9' WHERE number = 2")
    with pytest.raises(LedgerError, match="Entry 2 "):
        stored.spent("clinic")
    look(stored_url, "UPDATE ledger_charges SET epsilon = '1/1' WHERE number = 2")
    assert stored.spent("clinic") == 6


def test_few_ledgers_are_remembered() -> None:
    for _ in range(3 * hash_chain.MAX_REMEMBERED):
        charge(Ledger.in_memory(), "plan")
    assert len(hash_chain._checked) <= hash_chain.MAX_REMEMBERED


@pytest.mark.parametrize("change", ["UPDATE ledger_payloads SET payload = :value", "DELETE FROM ledger_payloads"])
def test_a_tampered_release_is_not_served_but_others_are(stored: Ledger, stored_url: str, change: str) -> None:
    for plan in ("first", "second"):
        charge(stored, plan)
    look(stored_url, f"{change} WHERE number = 2", b"\0")
    uses: list[Callable[[], object]] = [
        stored.verify_chain, lambda: stored.payload("id of second"), lambda: charge(stored, "second"),
        lambda: stored.find(stored.fingerprint(b"rows"), "second"),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(LedgerError, match="Entry 2 "):
            use()
    assert stored.payload("id of first") == b"numbers of first"
    assert charge(stored, "third") == b"numbers of third"


@pytest.mark.parametrize("change", [
    "UPDATE ledger_caps SET cap = '9/1'", "DELETE FROM ledger_caps", "UPDATE ledger_caps SET dataset = 'x'",
    "INSERT INTO ledger_caps (dataset, cap) VALUES ('x', '1/1')", "UPDATE ledger_meta SET secret = :value",
    "DELETE FROM ledger_meta", f"UPDATE ledger_meta SET version = {VERSION + 1}", "DROP TABLE ledger_payloads",
])  # fmt: skip
def test_caps_key_and_tables_changed_from_outside_are_refused(stored: Ledger, stored_url: str, change: str) -> None:
    stored.set_cap("clinic", 2)
    charge(stored, "first")
    look(stored_url, change, bytes(32))
    for again in (lambda: stored, lambda: Ledger(stored_url)):
        with pytest.raises(LedgerError):
            charge(again(), "second")


def test_a_refusal_and_a_broken_ledger_are_two_kinds_of_error() -> None:
    assert issubclass(BudgetError, PrivateReleaseError)
    assert issubclass(LedgerError, PrivateReleaseError)
    assert not issubclass(LedgerError, BudgetError)


def test_spellings_of_a_name_are_one_dataset(ledger: Ledger) -> None:
    ledger.set_cap("Clinic-A", 2)
    ledger.set_cap(" clinic-a ", 3)
    assert ledger.cap("CLINIC-A") == 3, "a new cap replaces the old one, however the name is spelled"
    charge(ledger, "one", dataset="clinic-a", rows=b"data 1", epsilon=Fraction(2))
    with pytest.raises(BudgetError, match="does not allow"):
        charge(ledger, "two", dataset="CLINIC-A ", rows=b"data 2", epsilon=Fraction(2))
    assert ledger.spent("Clinic-A") == ledger.spent("ｃlinic-a") == ledger.spent("ℂlinic-a") == 2
    assert ledger.spent("\ufeffclinic-a") == ledger.spent("clin\u200bic-a") == ledger.spent("clinic\u00ad-a") == 2
    charge(ledger, "three", dataset="ward 7", rows=b"data 3", epsilon=Fraction(1))
    assert ledger.spent("ward  7") == ledger.spent("Ward\u00a0\u20097") == 1, "blanks look alike, however many"
    assert ledger.spent("\u200b") == 0
    assert ledger.datasets() == ["clinic-a", "ward 7"]
    with pytest.raises(BudgetError, match="needs a name"):
        ledger.set_cap("  ", 1)


def test_a_view_of_a_ledger_reads_it_once_and_charges_against_its_present_state(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.set_cap("clinic", "2")
    charge(ledger, "plan")
    view, reads = ledger.snapshot(), []
    monkeypatch.setattr(hash_chain, "read", lambda *those, read=hash_chain.read: reads.append(those) or read(*those))
    data = ledger.fingerprint(b"rows")
    assert (view.spent("clinic"), view.left("clinic"), len(view.history())) == (1, 1, 1)
    assert view.find(data, "plan") == b"numbers of plan"
    assert view.find(data, "other") is None
    assert not view.approvals.needed("clinic", data)
    assert view.resembling("clinic", data, None) == []
    assert not reads
    charge(ledger, "other")
    assert (view.spent("clinic"), ledger.spent("clinic")) == (1, 2)
    with pytest.raises(BudgetError):
        charge(view, "a third one")
    assert view.spent("clinic") == 2, "after a write it is read again"
