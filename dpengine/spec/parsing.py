"""Texts that a plan may hold: no control characters, and no halves of characters."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

__all__ = ["Line", "Text"]

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_BUT_LAYOUT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def _plain(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("this text holds a control character, such as a tab or a line break, or half a character")
    return text


def _laid_out(text: str) -> str:
    if _CONTROL_BUT_LAYOUT.search(text):
        raise ValueError("this text holds a control character or half a character; only line breaks and tabs may stand")
    return text


# Headers and cells of real tables hold line breaks and tabs; what names a budget, a file or a format does not.
Line = Annotated[str, AfterValidator(_plain)]
Text = Annotated[str, AfterValidator(_laid_out)]
