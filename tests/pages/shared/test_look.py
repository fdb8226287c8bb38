"""The style sheet of all pages is cheap for a browser, which matches its rules again at each change of a page."""

from __future__ import annotations

import re
from pathlib import Path

LOOK = Path(__file__).parents[3] / "pages" / "parts" / "shared" / "look.css"
NOTE = re.compile(r"/\*.*?\*/", re.DOTALL)
LOOKING = re.compile(r"(?P<subject>[^\s>~+,]*):has\((?P<inside>(?:[^()]|\([^()]*\))*)\)")
FEW = re.compile(r"\.st-key-|\.stPrintGraphic|\[role=|\[data-testid=\"stTextInput")  # subjects that hold little
STEP_BY_STEP = re.compile(r"(> (:is\([^()]*\)|[^\s>]+) ?)+")


def test_no_rule_searches_below_each_element() -> None:
    """That is searched at each change: on a phone, it took Chromium 10 to 20 s for a page with charts."""
    looking = list(LOOKING.finditer(NOTE.sub("", LOOK.read_text(encoding="utf-8"))))
    assert looking
    for each in looking:
        assert each["subject"].startswith((".", "[")), f"any element: {each[0]}"
        far = not STEP_BY_STEP.fullmatch(each["inside"])
        assert not far or FEW.match(each["subject"]), f"all that is below: {each[0]}"
