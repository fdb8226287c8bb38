"""Drawn noise is recorded, or nothing about it is revealed."""

from __future__ import annotations

import signal
import threading
import traceback
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from dpengine import BudgetError, Ledger, LedgerError, PlanError
from dpengine.accounting.drawing import check_reopens, outcome_of, signals_deferred
from dpengine.accounting.entry import Charge, Kind, Outcome


@dataclass(frozen=True)
class Text:
    """A result that is its own key."""

    key: str


def read(payload: bytes) -> Text:
    return Text(payload.decode())


def test_a_signal_is_delivered_after_the_context_and_its_handler_is_put_back() -> None:
    before, reached = signal.getsignal(signal.SIGINT), list[bool]()

    def work() -> None:
        with signals_deferred():
            signal.raise_signal(signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == [True]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_noise_is_drawn_waits_until_the_charge_is_recorded() -> None:
    ledger, price = Ledger.in_memory(), Charge(Kind.ANSWER, "clinic", b"rows", "plan", Fraction(1), "title", "summary")

    def draw(exact: None) -> Outcome:
        signal.raise_signal(signal.SIGINT)
        return Outcome("a" * 32, "2026-11-24T12:00:00+00:00", Fraction(1), b"plan")

    with pytest.raises(KeyboardInterrupt):
        ledger.charge_once(price, lambda: None, draw, read)
    assert ledger.spent("clinic") == 1
    assert ledger.payload("a" * 32) == b"plan"


def test_signals_belong_to_the_main_thread_alone() -> None:
    handlers: list[object] = []

    def work() -> None:
        with signals_deferred():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


@pytest.mark.parametrize("fault", [MemoryError("array of 123 rows"), LedgerError("123 rows"), AssertionError(123)])
def test_every_fault_while_drawing_gives_the_same_message(fault: Exception) -> None:
    def failing(exact: None) -> Outcome:
        raise fault

    with pytest.raises(LedgerError, match="The program failed after noise had been drawn") as caught:
        outcome_of(failing, None)
    assert "123" not in str(caught.value)
    assert "123" not in "".join(traceback.format_exception(caught.value)), "nor in a log, as what was handled meanwhile"


def test_a_payload_that_does_not_reopen_is_refused() -> None:
    check_reopens(Text("a plan"), b"a plan", read)
    with pytest.raises(PlanError, match="cannot be read back"):
        check_reopens(Text("a plan"), b"\xff", read)
    with pytest.raises(PlanError, match="as another one"):
        check_reopens(Text("a plan"), b"another plan", read)


@pytest.mark.parametrize("field", [{"title": "half a character \ud800"}, {"summary": "NUL \0"}, {"dataset": " "}])
def test_a_charge_that_could_not_be_recorded_is_refused_before_the_data_is_read(field: dict[str, str]) -> None:
    price = Charge(Kind.ANSWER, "clinic", b"rows", "plan", Fraction(1), "a title", "a summary")
    with pytest.raises(BudgetError):
        Ledger.in_memory().charge_once(
            replace(price, **field),  # type: ignore[arg-type]
            lambda: pytest.fail("prepared"),
            lambda _: pytest.fail("drawn"),
            read,
        )
