"""A chart: a dot with its interval for each cell of one column, hollow where the cell is mostly noise.

from dpengine.charts.figures import release_figure
release_figure(release, ("region",), form=dot_chart).show()
"""

from __future__ import annotations

import plotly.graph_objects as go

from dpengine.charts.cells import Cells
from dpengine.charts.style import ACCENT


def dot_chart(cells: Cells, dark: bool) -> go.Figure:
    """Draw published counts and their 95 % intervals; the caller adds title, fonts and colours of the page."""
    figure = go.Figure()
    figure.add_scatter(
        x=cells.value,
        y=cells.short[0],
        error_x={"array": cells.high - cells.value, "arrayminus": cells.value - cells.low, "symmetric": False},
        marker={"symbol": ["circle-open" if noisy else "circle" for noisy in cells.noisy], "size": 9},
        marker_color=ACCENT[dark],
        mode="markers",
        showlegend=False,
    )
    figure.update_yaxes(title=cells.headings[0], autorange="reversed")
    figure.update_xaxes(title=cells.noun)
    return figure
