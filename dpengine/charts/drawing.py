"""Figures as plain values, since Plotly would check and copy them repeatedly while a figure is built.

A report holds figures only as JSON: plain values need no Plotly there, and take a tenth of the time. On a page they
become Plotly figures, which Plotly checks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Drawing"]


class Drawing(NamedTuple):
    """The traces and the layout of a figure, with the full names of plotly.js: a title is ``{"text": …}``."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]

    def figure(self) -> Figure:
        """Return the figure."""
        from plotly.graph_objects import Figure  # only here: it takes long to load, and no report needs it

        return Figure(self.data, self.layout)  # all at once: one by one takes several times as long

    def to_json(self) -> str:
        """Return the JSON of the figure; NaN, which JSON does not have, becomes null.

        >>> Drawing([{"type": "bar", "y": np.array([2, 3])}], {"height": 380}).to_json()
        '{"data":[{"type":"bar","y":[2,3]}],"layout":{"height":380}}'
        """
        try:
            return json.dumps(self._asdict(), default=_plain, separators=(",", ":"), allow_nan=False)
        except ValueError:
            return str(self.figure().to_json())


def _plain(value: Any) -> Any:
    """Return an array as lists, and a number of NumPy as one of Python."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a figure cannot hold a {type(value).__name__}")
