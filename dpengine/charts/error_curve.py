"""The predicted error of a plan at each ε as a figure, as numbers, and in words. It needs no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpengine.array_types import Floats
from dpengine.charts.drawing import Drawing
from dpengine.charts.style import ACCENT, DASHES, GREY, INK, SYMBOLS, short_name, styled
from dpengine.results.interval_estimates import decimals_of
from dpengine.results.predict import half_width_curves, measure_curves
from dpengine.results.published_columns import Measure, measures
from dpengine.spec.counted_wording import noun
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, name_of
from dpengine.translation.catalogue import _, localised, number

__all__ = ["curve_drawing", "error_curve_alt", "error_curve_numbers"]

MAX_CURVES = 4
CURVE = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


def error_curve_numbers(
    plan: Plan,
    measure: Measure | None = None,
    *,
    epsilons: Sequence[float] = CURVE,
    earlier: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, list[float]]:
    """Return the numbers of `curve_drawing`: half-widths at each ε, for a cell of each table and for the total.

    For a `measure`, they are those of groups of typical size, in its unit; for quantiles, of the middle one. `earlier`
    is a result for the plan at another ε: then only the plan's own ε is computed.
    """
    if measure is not None:
        tables = [table for table in plan.marginals if measure in measures(plan, table)]
        name = _drawn_part(measure, measure.names)
        return measure_curves(plan, [*tables[:MAX_CURVES], ()], name, epsilons, earlier)
    return half_width_curves(plan, plan.marginals[:MAX_CURVES], epsilons, earlier)


def _drawn_part(measure: Measure, parts: Sequence[str]) -> str:
    """Return the index of the name or heading of a measure whose curve is drawn."""
    return parts[len(measure.names) // 2]


def curve_drawing(
    plan: Plan,
    *,
    numbers: Mapping[str, list[float]] | None = None,
    measure: Measure | None = None,
    dark: bool = False,
) -> Drawing:
    """Draw 95 % half-widths against ε, for counts or a `measure`, with the plan's own ε marked. Needs no data.

    `numbers` are the plan's `error_curve_numbers`, if they have been computed already.
    """
    here = float(plan.epsilon)
    curves = dict(numbers or error_curve_numbers(plan, measure))
    headings = {name_of(table): heading_of(plan, table) for table in plan.marginals}
    least, digits = (0.5, ",.0f") if measure is None else (1e-9, ",.3~r")
    epsilons = curves.pop("ε")
    traces: list[dict[str, Any]] = []
    for k, (name, half_widths) in enumerate(curves.items()):
        colour = GREY[dark] if name == "total" else ACCENT[dark]
        label = _("total") if name == "total" else _("a cell of {table}", table=short_name(headings[name]))
        drawn = np.maximum(half_widths, least)  # a logarithmic axis has no place for 0
        dash, symbol = DASHES[k % len(DASHES)], SYMBOLS[k % len(SYMBOLS)]
        traces.append(_curve(epsilons, half_widths, drawn, label, digits, {"color": colour, "dash": dash, "width": 2}))
        marker = {"color": colour, "size": 11, "symbol": symbol, "line": {"color": INK[dark], "width": 1}}
        traces.append(_point(here, drawn[epsilons.index(here)], marker))
    if measure is None:
        what = " / ".join(dict.fromkeys(noun(plan, table) for table in plan.marginals))
        title, up = _("Error of the published counts at each ε"), _("{what}, ± (95 in 100 counts)", what=what)
    else:
        what = _drawn_part(measure, measure.headings(plan))
        title = _("Error of {what} at each ε, in a group of typical size", what=what)
        up = _("± (95 in 100)")
    axes = {
        "xaxis": {"type": "log", "title": {"text": _("ε: more private ← → more exact")}, "tickvals": list(CURVE)},
        "yaxis": {"type": "log", "title": {"text": up}, "dtick": 1, "tickformat": ",~g"},
    }
    return styled(Drawing(traces, axes), title, dark)


def _curve(
    epsilons: Sequence[float],
    half_widths: Sequence[float],
    drawn: Floats,
    label: str,
    digits: str,
    line: dict[str, Any],
) -> dict[str, Any]:
    """Return the line of a table's half-widths; texts give them as they are, and not as `drawn`."""
    at = _("ε = {epsilon}: within ±{half_width}", epsilon="%{x:g}", half_width=f"%{{customdata:{digits}}}")
    return {
        "type": "scatter",
        "x": epsilons,
        "y": drawn,
        "customdata": half_widths,
        "name": label,
        "mode": "lines",
        "line": line,
        "hovertemplate": f"{label}<br>{at}<extra></extra>",
    }


def _point(x: float, y: float, marker: dict[str, Any]) -> dict[str, Any]:
    """Return the mark of the plan's own ε on a line."""
    return {
        "type": "scatter",
        "x": [x],
        "y": [y],
        "mode": "markers",
        "marker": marker,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def error_curve_alt(plan: Plan, numbers: Mapping[str, list[float]], measure: Measure | None = None) -> str:
    """Say what `curve_drawing` shows, for readers who do not see it: the errors at the plan's own ε and at both ends.

    >>> column = {"name": "region", "kind": "category", "values": ["North", "South"]}
    >>> plan = Plan(dataset="clinic", epsilon=1, columns=[column], tables=[["region"]])
    >>> print(error_curve_alt(plan, error_curve_numbers(plan, epsilons=[0.1])))
    95 in 100 counts are within, at ε = 1: region ±3, total ±5; at ε = 0.1: region ±30, total ±57.
    """
    epsilons = numbers["ε"]
    named = [name for name in numbers if name != "ε"]
    headings = {name_of(table): heading_of(plan, table) for table in plan.published}
    shown = dict.fromkeys(epsilons.index(epsilon) for epsilon in (float(plan.epsilon), epsilons[0], epsilons[-1]))
    at = []
    for k in shown:
        widths = {name: numbers[name][k] for name in named}
        digits = {name: 0 if measure is None else decimals_of(width) for name, width in widths.items()}
        words = (f"{headings[name]} ±{number(width, f',.{digits[name]}f')}" for name, width in widths.items())
        at.append(
            _("at ε = {epsilon}: {half_widths}", epsilon=localised(f"{epsilons[k]:g}"), half_widths=", ".join(words))
        )
    if measure is None:
        return _("95 in 100 counts are within, {half_widths}.", half_widths="; ".join(at))
    what = _drawn_part(measure, measure.headings(plan))
    return _("{what}: 95 in 100 are within, {half_widths}.", what=what, half_widths="; ".join(at))
