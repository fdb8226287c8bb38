"""Docstrings for the documentation site: examples become blocks of code, and lists of parameters definitions.

Markdown takes `>>>` for three quotations within each other, and an underlined `Parameters` for a heading of the page.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?m)^>>> .*\n(?:.*\S.*\n?)*")
UNDERLINED = re.compile(r"(?m)^(Parameters)\n-+\n")
PARAMETER = re.compile(r"(?m)^(\w[\w, ]*)\n    (?=\S)")


class Docstrings(griffe.Extension):
    """Write each docstring as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Return a docstring with its examples between fences, and its parameters as a list of definitions."""
    if UNDERLINED.search(text):
        text = UNDERLINED.sub(r"**\1**\n", PARAMETER.sub(r"\n`\1`\n:   ", text))
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text + "\n").rstrip()
