"""A first visit waits for nothing: the server loaded all that it needs, and drew the screen once, as it started."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pages.parts.server import lifespan
from tests.pages.bare_tab import opened
from tests.serving import ROOT, served

# Loaded only by those who bring or take such a file, or whose operator offers databases.
NOT_NEEDED = ("ibis", "sqlglot", "psycopg", "pyspark", "pyreadstat", "python_calamine", "xlsxwriter", "matplotlib")
# The server, which notes after each run of the page how many modules were loaded by it, and which of the above are.
NOTING = f"""
import sys
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

run = ScriptRunner._run_script

def noted(self, data):
    before = set(sys.modules)
    run(self, data)
    names = sorted(set(sys.modules) - before)
    print("LOADED", len(names), *names[:9], "UNNEEDED", *sorted(set(sys.modules) & set({NOT_NEEDED!r})), flush=True)

ScriptRunner._run_script = noted
from streamlit.web import cli
cli.main(sys.argv[1:])
"""


@pytest.mark.nightly
@pytest.mark.xdist_group("first visit")
def test_a_first_visit_loads_nothing(tmp_path: Path) -> None:
    program = sys.executable, "-c", NOTING, "run", "app.py"
    with served(tmp_path, program=program, cwd=ROOT, PYTHONPATH=str(ROOT)) as app, opened(app) as tab:
        tab.run()
    runs = [line for line in (tmp_path / "log").read_text().splitlines() if line.startswith("LOADED")]
    nobodys, *visitors = runs
    assert visitors, runs
    assert all(line == "LOADED 0 UNNEEDED" for line in visitors), runs
    assert nobodys.endswith("UNNEEDED"), "the first screen was drawn once before, for nobody"


def test_garbage_is_looked_for_beside_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    async def watch() -> None:
        watching = asyncio.create_task(lifespan._watch())
        while not looked:
            await asyncio.sleep(0)
        watching.cancel()

    monkeypatch.setattr(lifespan, "EVERY", 0.0)
    monkeypatch.setattr(lifespan.gc, "collect", lambda: looked.append(1))
    monkeypatch.setattr(lifespan, "gone", lambda seen, server: [])
    monkeypatch.setattr(lifespan.runtime, "get_instance", lambda: None)
    with ThreadPoolExecutor(1) as thread:  # a browser's test may have a loop in this one
        thread.submit(lambda: asyncio.run(watch())).result(timeout=60)
