"""Every page has its address from the first visit of a server on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_server_leaves_its_pages_to_the_entry_before_anybody_has_come() -> None:
    asked = "import app; from streamlit.runtime.pages_manager import PagesManager as p; print(p.uses_pages_directory)"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False"], done.stderr
