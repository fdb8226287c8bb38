"""Any sequence of caps, charges, repeats, crashes and reopenings leaves the ledger's books right."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from dpengine.accounting import ledger_access
from dpengine.accounting.ledger import Ledger
from dpengine.errors import BudgetError
from tests.accounting.test_ledger_faults import AFTER
from tests.accounting.test_ledger_faults import POINTS as ALL_POINTS
from tests.charges import charge
from tests.conftest import empty_schema

pytestmark = pytest.mark.nightly


class Crash(BaseException):
    """Sudden death inside `record`, as far as one process can simulate it."""


AMOUNTS = st.builds(Fraction, st.integers(1, 6), st.integers(1, 4))
NAMES, ROWS = st.sampled_from(["a", "b", "c", "d"]), st.sampled_from([b"w", b"x", b"y", b"z"])


POINTS = st.sampled_from(ALL_POINTS)


class LedgerMachine(RuleBasedStateMachine):
    """Caps, charges, repeats, crashes and reopenings, against a plain list of what was granted."""

    released = Bundle("released")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.url = self.fresh_url()
        self.ledger = Ledger(self.url)
        self.caps: dict[str, Fraction] = {}
        self.granted: list[tuple[str, bytes, Fraction]] = []
        self.plans = 0

    def fresh_url(self) -> str:
        return f"sqlite:///{self.folder.name}/ledger.db"

    def teardown(self) -> None:
        self.folder.cleanup()

    def pool(self, name: str, rows: bytes | None) -> tuple[set[object], Fraction]:
        """Merge overlapping groups pairwise, by another algorithm than the ledger's."""
        groups: list[tuple[set[object], Fraction]] = []
        for new in [*(({n, r}, e) for n, r, e in self.granted), ({name, rows} - {None}, Fraction(0))]:
            members, total = set(new[0]), new[1]
            apart = [group for group in groups if not group[0] & members]
            for group in groups:
                if group[0] & members:
                    total += group[1]
            members |= {member for group in groups if group[0] & members for member in group[0]}
            groups = [*apart, (members, total)]
        return groups[-1]

    def allowed(self, name: str, rows: bytes, epsilon: Fraction) -> bool:
        members, total = self.pool(name, rows)
        return all(total + epsilon <= cap for other, cap in self.caps.items() if other in members)

    @rule(name=NAMES, cap=AMOUNTS)
    def set_cap(self, name: str, cap: Fraction) -> None:
        spent = self.pool(name, None)[1]
        self.ledger.set_cap(name, cap + spent)
        self.caps[name] = cap + spent

    @rule(target=released, name=NAMES, rows=ROWS, epsilon=AMOUNTS)
    def release(self, name: str, rows: bytes, epsilon: Fraction) -> tuple[str, bytes] | None:
        self.plans += 1
        plan = f"plan {self.plans}"
        if not self.allowed(name, rows, epsilon):
            with pytest.raises(BudgetError):
                charge(self.ledger, plan, name, rows, epsilon)
            return None
        charge(self.ledger, plan, name, rows, epsilon)
        self.granted.append((name, rows, epsilon))
        return plan, rows

    @rule(done=released, name=NAMES, epsilon=AMOUNTS)
    def repeat(self, done: tuple[str, bytes] | None, name: str, epsilon: Fraction) -> None:
        if done is not None:
            plan, rows = done
            assert charge(self.ledger, plan, name, rows, epsilon, payload=b"again") == f"numbers of {plan}".encode()

    @rule(name=NAMES, rows=ROWS, epsilon=AMOUNTS, point=POINTS)
    def crash(self, name: str, rows: bytes, epsilon: Fraction, point: str) -> None:
        def die(reached: str) -> None:
            if reached == point:
                raise Crash

        self.plans += 1
        granted = self.allowed(name, rows, epsilon)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ledger_access, "crash_point", die)
            with pytest.raises((Crash, BudgetError)):
                charge(self.ledger, f"plan {self.plans}", name, rows, epsilon)
        if granted and point in AFTER:
            self.granted.append((name, rows, epsilon))
        self.ledger = Ledger(self.url)

    @precondition(lambda self: self.granted)
    @rule()
    def reopen(self) -> None:
        self.ledger = Ledger(self.url)
        self.ledger.verify_chain()

    @invariant()
    def books_agree_and_no_cap_is_passed(self) -> None:
        history = self.ledger.history()
        assert [(entry.dataset, entry.epsilon) for entry in history] == [(n, e) for n, _, e in self.granted]
        assert len({entry.release_id for entry in history}) == len(history)
        for name in self.ledger.datasets():
            spent, cap = self.ledger.spent(name), self.ledger.cap(name)
            assert spent == self.pool(name, None)[1]
            assert cap is None or spent <= cap


class PostgresMachine(LedgerMachine):
    """The same on a server."""

    server = ""

    def fresh_url(self) -> str:
        return empty_schema(self.server)


@pytest.fixture(scope="module", autouse=True)
def _server(postgres: str) -> Iterator[None]:
    PostgresMachine.server = postgres
    yield
    PostgresMachine.server = ""


LedgerMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
TestLedgerMachine = LedgerMachine.TestCase
PostgresMachine.TestCase.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
TestPostgresMachine = PostgresMachine.TestCase
