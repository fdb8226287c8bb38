"""Fixtures of the tests of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import app_test, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner, require_widgets_deltas

from dpengine.accounting.ledger import Ledger
from pages.parts.visit import background_read


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """A ledger of this test's own, which the page uses."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", url)
    return Ledger(url)


@pytest.fixture(scope="session", autouse=True)
def components() -> Iterator[None]:
    """Search no installed packages for components: none has any, and reading what they say of themselves takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: [])
        yield


@pytest.fixture(scope="session", autouse=True)
def runs() -> Iterator[None]:
    """Compile each script once, and sleep until a run has ended: Streamlit looks for that a thousand times a second."""
    compiled = ScriptCache()

    def await_end(runner: LocalScriptRunner, timeout: float = 3) -> None:
        if runner._script_thread is not None:
            runner._script_thread.join(timeout)
        require_widgets_deltas(runner, timeout=1)  # which raises if it has not ended

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", await_end)
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: compiled)
        yield


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pages wait for their readings, so that a test sees the same on a busy machine."""
    monkeypatch.setattr(background_read, "QUICK", 60.0)
