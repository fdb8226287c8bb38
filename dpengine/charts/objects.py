"""Plotly's figures and traces, loaded where the first one is made: it takes long, and most reports need none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Bar, Figure, Scatter, Treemap

__all__ = ["Bar", "Figure", "Scatter", "Treemap"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import plotly.graph_objects

    return getattr(plotly.graph_objects, name)
