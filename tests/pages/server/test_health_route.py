"""The health check fails if the ledger does not answer, and creates none."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dpengine import Ledger
from dpengine.accounting import witness
from pages.parts.server import health_route
from tests.charges import charge


def status() -> int:
    """Ask in a thread of its own: a browser of other tests may have a loop of events running in this one."""
    request: Any = None
    with ThreadPoolExecutor() as thread:
        return thread.submit(lambda: asyncio.run(health_route.answer(request))).result().status_code


def test_it_is_not_well_when_the_ledger_is_gone_and_none_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "ledger.db"
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", f"sqlite:///{path}")
    assert status() == 503
    assert "The ledger does not answer: " in caplog.text
    assert not path.exists(), "never there, and not begun"
    charge(Ledger(), "plan")
    assert status() == 200
    path.unlink()
    assert status() == 503
    witness._noted.clear()
    assert status() == 503
    assert not path.exists()
