"""For tests of the pages."""

from __future__ import annotations

import pytest

from pages.parts.visit import background_read


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page waits for what it reads, so that a busy machine shows it as a quiet one does."""
    monkeypatch.setattr(background_read, "QUICK", 60.0)
