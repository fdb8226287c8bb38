"""Fixtures of the tests of the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of this test's own."""
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"
