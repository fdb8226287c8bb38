"""Kill a process that charges a ledger: at every named point and at random times, in a file and on a server.

Nothing may be shown that was not charged, nothing charged twice, and every charge must be had again by its plan. Run
with `python benchmarks/lost_nothing.py --kills 200`; the tests do the same with a few kills.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
from pathlib import Path

from dpengine.accounting.ledger import Ledger
from tests import engines
from tests.accounting.ledger_jobs import job_die, job_kill, job_spend
from tests.accounting.test_ledger_faults import AFTER, POINTS, ids
from tests.charges import charge
from tests.conftest import empty_schema


def killed_at(url: str, point: str) -> str:
    """Kill a process at a named point, and say what was left of its charge."""
    Ledger(url)
    assert job_die(url, "plan", point) == [], "shown before the charge was told to be over"
    ledger = Ledger(url)
    spent = ledger.spent("clinic")
    assert spent == (point in AFTER)
    had = charge(ledger, "plan", payload=b"drawn again")
    assert had == (b"numbers of plan" if spent else b"drawn again")
    assert ledger.spent("clinic") == 1
    ledger.verify_chain()
    return "charged, and had again at no cost" if spent else "nothing charged, nothing shown"


def killed_at_random(url: str, kills: int) -> str:
    """Kill processes at random times, and count what they showed and what was charged."""
    Ledger(url)
    shown = dict(text.split("=") for text in job_kill(url, kills))
    ledger = Ledger(url)
    ledger.verify_chain()
    charged = ids(ledger)
    assert len(charged) == len(set(charged)) == ledger.spent("clinic")
    for plan, payload in shown.items():
        assert ledger.payload(f"id of {plan}") == payload.encode(), "shown and not charged, or another result"
    for release_id in charged:
        again = charge(ledger, release_id.removeprefix("id of "), payload=b"drawn again")
        assert again == ledger.payload(release_id) != b"drawn again"
    assert ids(ledger) == charged
    return (
        f"{kills} kills: {len(charged)} charged, {len(shown)} shown, 0 shown without a charge, 0 charged twice, "
        f"{len(charged) - len(shown)} charged and not shown, each had again"
    )


def raced(url: str, rounds: int) -> str:
    """Let four processes race for the last unit of a cap, again and again."""
    ledger = Ledger(url)
    for number in range(rounds):
        ledger.set_cap("clinic", number + 1)
        won = job_spend(url, 4, 1, f"round {number} ")
        assert sorted(won) == [0, 0, 0, 1], won
    assert ledger.spent("clinic") == rounds
    return f"{rounds} races of four processes for the last unit: one won each time"


def main() -> None:
    """Print a line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--races", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, engines.postgres() as server:
        os.environ["PRIVATE_RELEASE_STATE"] = f"{folder}/state"
        for kind in ("SQLite", "PostgreSQL"):
            for point in POINTS:
                left = killed_at(fresh(kind, folder, server), point)
                print(f"{kind}, killed {point.replace('_', ' ')}: {left}", flush=True)
            print(f"{kind}, {killed_at_random(fresh(kind, folder, server), options.kills)}", flush=True)
            print(f"{kind}, {raced(fresh(kind, folder, server), options.races)}", flush=True)


def fresh(kind: str, folder: str, server: str) -> str:
    """Return the address of a ledger that is not there yet."""
    if kind == "PostgreSQL":
        return empty_schema(server)
    return f"sqlite:///{Path(folder) / secrets.token_hex(8)}.db"


if __name__ == "__main__":
    main()
