"""What the preview says about the error of a typical cell."""

from __future__ import annotations

import pytest

from pages.parts.publish.outlook.preview import _typical_error


@pytest.mark.parametrize(
    ("error", "words"), [(0.03, "off by **less than 0.1** people"), (0.1, "off by about **0.1** people")]
)
def test_an_error_too_small_to_write_is_no_about(error: float, words: str) -> None:
    assert words in _typical_error(error, epsilon="1", table="age", unit="people")
