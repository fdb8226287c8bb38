"""What the tests of the browser wait for comes to an end."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.actions import DRAWN, FRAMELESS


@pytest.mark.nightly
def test_a_browser_that_draws_no_frame_is_not_waited_for_without_end(chromium: Browser) -> None:
    """On a busy machine, a browser may draw no frame for minutes after the theme of a page is changed."""
    page = chromium.new_page()
    page.evaluate("window.requestAnimationFrame = () => 0")
    late = f"new Promise(late => setTimeout(late, {2 * FRAMELESS}, 'late'))"
    assert page.evaluate(f"() => Promise.race([({DRAWN})().then(() => 'drawn'), {late}])") == "drawn"
    page.close()
