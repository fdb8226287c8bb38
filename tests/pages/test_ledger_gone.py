"""Where the ledger cannot be used, every page that needs it says why, and gives no address away."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpengine import Ledger
from tests.charges import charge
from tests.pages.visits import labelled, texts, visit, whole


def test_a_ledger_that_is_gone_is_reported_without_its_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret folder.db"
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", f"sqlite:///{path}")
    charge(Ledger(), "plan")
    path.unlink()
    page = visit()
    labelled(page.button, "Use this sample").click().run()
    for screen in ("pages/publish.py", "pages/ask.py", "pages/budget.py"):
        page.switch_page(screen).run()
        page.run()
        assert "is gone" in texts(whole(page))
        assert "secret folder" not in texts(page)
    assert not path.exists()
    page.switch_page("pages/publish.py").run()
    page.query_params["release"] = "id of plan"
    assert "is gone" in texts(whole(page.run()))
