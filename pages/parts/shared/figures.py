"""The looks that all figures of the pages share: transparent, one accent, never told apart by colour alone."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from dpengine.charts.figures import ACCENT, CONFIG, GREY

__all__ = ["draw", "is_dark", "tones"]


def is_dark() -> bool:
    """Whether the reader sees the page on a dark background."""
    return st.context.theme.type == "dark"


def tones() -> dict[str, str]:
    """Return colours by role, for the reader's background; they differ in lightness too."""
    dark = is_dark()
    shared = {"accent": ACCENT[dark], "grey": GREY[dark]}
    if dark:
        return shared | {"other": "#e0a458", "soft": "rgba(79,195,199,.18)", "ground": "#12181a"}
    return shared | {"other": "#a85a00", "soft": "rgba(11,110,117,.12)", "ground": "#ffffff"}


def draw(
    figure: go.Figure, alt: str, key: str, height: int = 360, *, private: bool = False, zoom: bool = False
) -> None:
    """Show a figure in the page's own fonts, with `alt` as its description for screen readers.

    A `private` figure has no button to save it. With `zoom`, dragging enlarges a stretch of the x axis.
    """
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        hoverlabel={"align": "left"},
    )
    figure.update_xaxes(automargin=True, fixedrange=not zoom, title_standoff=18)
    figure.update_yaxes(automargin=True, fixedrange=True, title_standoff=18)
    st.plotly_chart(figure, key=key, alt=alt, config=CONFIG | {"displayModeBar": False} if private else CONFIG)
