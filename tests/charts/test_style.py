"""Labels stay short and different, titles stay on the page, and every number can be read on every tone."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.charts import style
from dpengine.charts.heatmap import SCALE, TURN, WRITTEN, Grid, traces
from dpengine.charts.lines import MAX_TOGETHER
from dpengine.charts.style import DASHES, SERIES

LONG = "Hospital of the Holy Ghost, ward {} for children and their parents"


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    tones = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = [tone / 12.92 if tone <= 0.04045 else ((tone + 0.055) / 1.055) ** 2.4 for tone in tones]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def tone(scale: list[list[float | str]], part: float) -> str:
    """The colour that a browser mixes for a count of ``part`` of the largest."""
    places = [float(place) for place, _ in scale]
    stops = np.array([[int(str(colour)[k : k + 2], 16) for k in (1, 3, 5)] for _, colour in scale])
    return "#" + "".join(f"{round(float(np.interp(part, places, channel))):02x}" for channel in stops.T)


def grid(counts: list[list[int]]) -> Grid:
    array = np.array(counts)
    names = [[f"{axis}{k}" for k in range(size)] for axis, size in zip("rc", array.shape, strict=True)]
    return Grid(array, np.full(array.shape, "", dtype=object), "", array < 3, *names)


@given(st.lists(st.text(max_size=60), unique=True, max_size=12))
def test_shortened_labels_are_still_different(labels: list[str]) -> None:
    short = style.shorten(labels)
    assert len(set(short)) == len(labels)
    assert all(len(label) <= style.MAX_LABEL + 5 for label in short)


def test_labels_are_cut_in_the_middle_where_that_tells_them_apart() -> None:
    assert style.shorten(["Home", LONG.format(7)]) == ["Home", "Hospital of…eir parents"]
    wards = style.shorten([LONG.format(k) for k in range(12)])
    assert [str(k) in label for k, label in enumerate(wards)] == [True] * 12, "the number of the ward is kept"
    prefix = "x" * 30
    assert len(set(style.shorten([prefix, prefix + "x" * 10]))) == 2


def test_long_titles_are_wrapped_for_a_phone() -> None:
    import plotly.graph_objects as go

    figure = style.apply_style(go.Figure(), "People by " + ", ".join(["a name of many letters"] * 4), dark=False)
    lines = figure.layout.title.text.split("<br>")
    assert max(map(len, lines)) <= style.TITLE_LINE
    assert figure.layout.margin.t > 40 + 15 * len(lines) - 15


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_stand_out_on_every_tone(dark: bool) -> None:
    low, high = WRITTEN[dark]
    for part in np.linspace(0, 1, 2001):
        written = high if part >= TURN**2 else low
        assert contrast(tone(SCALE[dark], part), written) >= 4.5, part


@pytest.mark.parametrize("dark", [False, True])
def test_lines_stand_out_from_the_page_and_from_each_other(dark: bool) -> None:
    assert all(contrast(colour, "#12181a" if dark else "#ffffff") >= 4.5 for colour in SERIES[dark])
    assert len(set(SERIES[dark])) == len(set(DASHES[: len(SERIES[dark])])) == len(SERIES[dark]) == MAX_TOGETHER


@pytest.mark.parametrize("dark", [False, True])
def test_small_counts_are_seen_beside_large_ones(dark: bool) -> None:
    """One in a hundred of the largest is a tenth of the way along the scale, not a hundredth."""
    ground = tone(SCALE[dark], 0)
    assert abs(luminance(tone(SCALE[dark], 0.01)) - luminance(ground)) > 8 * abs(luminance(ground)) * 0.01
    middles = [luminance(tone(SCALE[dark], part)) for part in np.linspace(0, 1, 50)]
    assert middles == sorted(middles, reverse=not dark), "more is always darker, or always lighter"


@pytest.mark.parametrize("dark", [False, True])
def test_each_number_is_written_once_in_its_colour(dark: bool) -> None:
    cells, over = go.Figure(traces(grid([[1000, 400], [1, 0]]), top=1000, unit="rows", dark=dark, scale=True)).data
    assert cells.textfont.color == WRITTEN[dark][0]
    assert over.textfont.color == WRITTEN[dark][1]
    assert [text.strip() for text in np.ravel(cells.text)] == ["", "400", "1", "0"]
    assert [text.strip() for text in np.ravel(over.text)] == ["1,000", "", "", ""]
    widths = [max(map(len, np.ravel(trace.text))) for trace in (cells, over)]
    assert widths[0] == widths[1], "a browser gives both the same size"


def test_an_axis_writes_numbers_in_full_as_tables_do() -> None:
    figure = style.apply_style(go.Figure(go.Bar(x=["a"], y=[20_000])), "Rows", dark=False)
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert (axis.exponentformat, axis.separatethousands) == ("none", True), "20,000 rather than 20k"
