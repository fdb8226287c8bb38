"""Examples in docstrings for the documentation site: what a person would type stands in a block of code.

Markdown takes `>>>` for three quotations within each other.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?m)^>>> .*\n(?:.*\S.*\n?)*")


class Examples(griffe.Extension):
    """Put each example between fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring with its examples as blocks of code.

    >>> print(fenced("Add.\\n\\n>>> 1 + 1\\n2"))
    Add.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text + "\n").rstrip()
