"""Values that are to be found are written into one cell, and read back as they were."""

from __future__ import annotations

from typing import Any

import pytest

from dpengine import Category
from dpengine.spec import notation
from dpengine.spec.categories.universe_text import write_among
from dpengine.spec.domain import plan_entry

WRITTEN: dict[str, dict[str, Any]] = {
    "found among #####": {"pattern": "#####"},
    "found among @# #@@ or @@# #@@": {"pattern": ["@# #@@", "@@# #@@"]},
    "found among a-zäöü up to 12 letters, at most 500": {"letters": "a-zäöü", "longest": 12, "most": 500},
    "found among -5 to 99999, share 1/3, chance 1/100": {"from": -5, "to": 99999, "share": "1/3", "chance": "1/100"},
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_rule_for_found_values_is_read_and_written_back(text: str) -> None:
    among = WRITTEN[text]
    for kind in ("category", "number", "date", "yesno"):
        assert notation.read(text, kind) == {"kind": "category", "values": "found", "among": among}
    assert write_among(among) == text
    column = Category(name="x", **notation.read(text, "category"))
    again = notation.read(notation.write(plan_entry(column)), "category")
    assert Category(name="x", **again) == column


@pytest.mark.parametrize("text", ["found among #####, most 5", "found among 0 to 9, share 1/3, share 1/3"])
def test_an_unreadable_text_gets_a_message(text: str) -> None:
    with pytest.raises(ValueError, match="write which values are possible"):
        notation.read(text, "category")


def test_found_is_a_value_like_any_other_without_among() -> None:
    assert notation.read("found, lost", "category")["values"] == ["found", "lost"]
