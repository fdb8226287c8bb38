"""The two files that a reader of a release opens first: the report, an HTML page that works offline, and the README."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dpengine.accounting.composition import posterior
from dpengine.array_types import Columns
from dpengine.bundle import guide
from dpengine.bundle.promises import promises_for_readers, table_files
from dpengine.charts import figures, heatmap, style
from dpengine.charts.style import join_names, shorten
from dpengine.measure.strategy import resolved
from dpengine.results.published_columns import NUMBERS, number_columns, published_name, quantile_kind
from dpengine.results.result import Result
from dpengine.spec.domain import Category, Column, Date
from dpengine.spec.plan import Plan
from dpengine.spec.wording import counted_noun, heading_of, people, percent, rows_counted, shown_labels, sure
from dpengine.translation.catalogue import _, language, localised, mark, number, plural, speaking

__all__ = ["read_me", "render"]

MAX_ROWS = 500
FIRST_ROWS = 25
MAX_CELLS_DRAWN = 4000
MAX_CELLS_DRAWN_IN_ALL = 20_000
MAX_ROWS_IN_ALL = 12_000
MAX_TABLES = 60
MAX_UNFOLDED = 12  # tables that stand open below each other; of more, all but the first are folded
MAX_WORDS = 200  # values of a column that are explained; all are in plan.yaml
PRIORS = (0.01, 0.1, 0.5, 0.9)
LARGE_EPSILON = 3  # above it a likelihood ratio may exceed 20, and "much the same" would say too much
SOURCES = {
    "typed": mark("typed by a person"),
    "codebook": mark("from a codebook"),
    "standard": mark("from a standard list"),
    "confirmed": mark("seen in the data, confirmed as public by the owner"),
}
ABOUT = {
    "publisher": mark("Publisher"),
    "contact": mark("Contact"),
    "source": mark("Source of the data"),
    "period": mark("Period"),
    "licence": mark("Licence"),
    "cite_as": mark("Cite as"),
}
KINDS = {
    "number": mark("number"),
    "category": mark("category"),
    "yesno": mark("yesno"),
    "date": mark("date"),
    "amount": mark("amount"),
}
PERIODS = {
    "day": mark("by day"),
    "week": mark("by week"),
    "month": mark("by month"),
    "quarter": mark("by quarter"),
    "year": mark("by year"),
}
LINE = 98  # letters in a line of the README


def read_me(result: Result, manifest: Mapping[str, Any]) -> str:
    """Return the README of `result`, which `manifest` describes, as plain text."""
    with speaking(result.plan.language):
        return _templates().get_template("README.txt.j2").render(_shared(result, manifest))


def render(result: Result, manifest: Mapping[str, Any]) -> str:
    """Return the report of `result`, which `manifest` describes, as one HTML page that loads nothing else."""
    with speaking(result.plan.language):
        return _templates().get_template("report.html.j2").render(_page(result, manifest))


def _page(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the report."""
    from plotly.offline import get_plotlyjs

    files = table_files(result.plan)
    tables, room, rows = [], MAX_CELLS_DRAWN_IN_ALL, MAX_ROWS_IN_ALL
    for place, table in enumerate(result.plan.marginals[:MAX_TABLES], start=1):
        figure = _figure(result, table, min(room, MAX_CELLS_DRAWN))
        room -= figure["drawn"]
        described = _table(result, table, files[table], min(rows, MAX_ROWS))
        rows -= len(described["rows"])
        tables.append(described | figure | {"id": f"table-{place}"})
    declared = [_provenance(result, name) for name in result.plan.released]
    return _shared(result, manifest) | {
        "tables": tables,
        "folded": len(result.plan.marginals) > MAX_UNFOLDED,
        "more": [(heading_of(result.plan, table), files[table]) for table in result.plan.marginals[MAX_TABLES:]],
        "provenance": declared,
        "dictionary": [column for column in declared if column["description"] or column["words"]],
        "palette": _script_json(json.dumps(_dark_colours())),
        "plotly": Markup(get_plotlyjs()),
    }


@cache
def _templates() -> Environment:
    folder = Path(__file__).parent / "templates"
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "_": _, "plural": plural, "number": number, "localised": localised, "language": language, "code": _code,
    }  # fmt: skip
    environment.filters |= {"fold": _fold, "item": _item, "capitalise_first": _capitalise_first}
    return environment


def _fold(text: str, first: str = "", later: str = "") -> str:
    """Break `text` into lines of the README; `first` and `later` are the indents of its lines."""
    return textwrap.fill(
        text, LINE, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def _code(text: str) -> Markup:
    return Markup("<code>{}</code>").format(text)


def _capitalise_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _item(text: str, label: str, width: int) -> str:
    """Set `text` beside a `label`, whose column has `width` letters; with no width the label is a bullet."""
    if not width:
        return _fold(text, f"{label} ", "  ")
    return _fold(text, f"  {label:<{width}}", " " * (width + 2))


def _shared(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that both templates use."""
    plan = result.plan
    worded = [column.heading for column in map(plan.column, plan.released) if column.shown != column.labels]
    return {
        "manifest": manifest,
        "promised": promises_for_readers(plan),
        "strategy": resolved(plan).why,
        "title": plan.title or plan.dataset,
        "notes": plan.notes,
        "about": {_(ABOUT[field]): text for field, text in plan.about.model_dump().items() if text},
        "in_words": join_names(worded) if worded else "",
        "counted": counted_noun(plan),
        "rows_counted": rows_counted(plan),
        "total": _texts(result.cells(()))[0],
        "amounts": [(heading, *_spans(result.cells(()), name)[0]) for name, heading in _of_amounts(plan, ()).items()],
        "large_epsilon": plan.epsilon > LARGE_EPSILON,
        # Another answer of a person is one person less and one more: the likelihoods of both differ by e^2ε at most.
        "odds": [
            (percent(prior), *(sure(posterior(prior, times * plan.epsilon)) for times in (1, 2))) for prior in PRIORS
        ],
        "number_columns": guide.number_columns(result),
        "reading": guide.reading(result),
        "mostly_noise": guide.MOSTLY_NOISE.translated(),
        "synthetic": guide.SYNTHETIC.translated(),
        "tables_published": len(plan.marginals),
        "day": result.created[:10],
        "measured": [_rounded(entry) for entry in manifest["measurements"]],
        "files": {
            entry["file"]: {
                "name": " × ".join(entry["columns"]) or _("the number of {what} in all", what=counted_noun(plan)),
                "cells": plural("{n} cell", "{n} cells", entry["cells"]),
                "within": people(entry["half_width_95"]),
            }
            for entry in manifest["tables"]
        },
    }


def _rounded(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a measurement as readers see it: what was measured and how, its scale and part of ε also rounded."""
    mechanism, scale, epsilon = entry["mechanism"], Fraction(entry["scale"]), Fraction(entry["epsilon"])
    return {
        "what": _purpose(entry.get("purpose", "")) or " × ".join(entry["columns"]) or _("total"),
        "mechanism": _(mechanism),
        "cells": number(entry["cells"]),
        "scale": localised(entry["scale"]),
        "about": people(float(scale)),
        "epsilon": localised(entry["epsilon"]),
        "part": localised(f"{float(epsilon):.4g}"),
        "sensitivity": entry["sensitivity"],
    }


def _purpose(purpose: str) -> str:
    """Return what was measured, if it is no table; manifests say it in English."""
    if pairs := re.fullmatch("up to ([0-9]+) pairs", purpose):
        return _("up to {picks} pairs", picks=pairs[1])
    return _(purpose)


def _texts(cells: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, str]]:
    """Write the numbers of each cell; estimates have a decimal if any of them needs one."""
    estimates = np.round(cells["estimate"], 1) + 0.0  # no −0
    digits = 0 if (estimates % 1 == 0).all() else 1
    numbers = zip(cells["count"], cells["low"], cells["high"], estimates, strict=True)
    return [
        {
            "count": number(count),
            "low": number(low),
            "high": number(high),
            "estimate": number(estimate, f",.{digits}f").replace("-", "−"),
        }
        for count, low, high, estimate in numbers
    ]


def _table(result: Result, table: Columns, file: str, room: int) -> dict[str, Any]:
    """Return the values of one table of the page: its facts, and its rows or, without `room` for them, the first."""
    noisy = result.mostly_noise(table)
    columns = [result.plan.column(name) for name in table]
    names = [published_name(name, number_columns(result.plan, table)) for name in table]
    of_amounts = [f"{heading} (95 %)" for heading in _of_amounts(result.plan, table).values()]
    whole = noisy.size <= max(room, FIRST_ROWS)
    rows = noisy.size if whole else FIRST_ROWS
    shown = {name: cells[:rows] for name, cells in result.cells(table).items()}
    return {
        "name": heading_of(result.plan, table),
        "file": file,
        "cells": noisy.size,
        "typical": people(result.estimates.mean_abs_error(table)),
        "within": people(result.half_width(table)),
        "noisy": int(noisy.sum()),
        "header": [*(column.heading for column in columns), *map(_, NUMBERS), *of_amounts],
        "number_columns": len(NUMBERS) + len(of_amounts),
        "rows": [
            {"labels": texts, "noisy": bool(mark), "amounts": amounts, **numbers}
            for *texts, mark, numbers, amounts in zip(
                *(_in_words(column, shown[name]) for column, name in zip(columns, names, strict=True)),
                noisy.ravel()[:rows],
                _texts(shown),
                _amount_texts(result.plan, table, shown),
                strict=True,
            )
        ],
        "whole": whole,
        "alt": figures.alt_text(result, table),
    }


def _of_amounts(plan: Plan, table: Columns) -> dict[str, str]:
    """Map the columns of numbers for means, sums and quantiles of a table to their headings."""
    found: dict[str, str] = {}
    for name in plan.amounts(table):
        heading = plan.column(name).heading
        found |= {f"mean_{name}": _("mean {column}", column=heading)} if name in plan.means(table) else {}
        found |= {f"sum_{name}": _("sum of {column}", column=heading)} if name in plan.sums(table) else {}
        found |= {f"{quantile_kind(part)}_{name}": _of_part(part, heading) for part in plan.quantiles(table, name)}
    return found


def _of_part(part: Decimal, heading: str) -> str:
    """Name a quantile.

    >>> _of_part(Decimal("0.5"), "income"), _of_part(Decimal("0.25"), "income")
    ('median of income', 'quantile 0.25 of income')
    """
    if part == Decimal("0.5"):
        return _("median of {name}", name=heading)
    return _("quantile {part} of {name}", part=localised(f"{part:f}"), name=heading)


def _spans(cells: Mapping[str, npt.NDArray[Any]], name: str) -> list[tuple[str, str, str]]:
    """Write the numbers of a column with their intervals, to the digits that matter: two of a typical width."""
    numbers = [np.atleast_1d(cells[f"{name}{end}"]) for end in ("", "_low", "_high")]
    width = float(np.median(numbers[2] - numbers[1]))
    digits = min(6, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 2

    def written(value: float) -> str:
        return number(value, f",.{digits}f").replace("-", "−")

    return [(written(middle), written(low), written(high)) for middle, low, high in zip(*numbers, strict=True)]


def _amount_texts(plan: Plan, table: Columns, cells: Mapping[str, npt.NDArray[Any]]) -> list[list[str]]:
    """Write the means and sums of each cell with their intervals."""
    spans = [_spans(cells, name) for name in _of_amounts(plan, table)]
    texts = [
        [_("{middle} ({low} to {high})", middle=middle, low=low, high=high) for middle, low, high in span]
        for span in spans
    ]
    return [list(row) for row in zip(*texts, strict=True)] if texts else [[] for cell in cells["count"]]


def _in_words(column: Column, labels: Iterable[str]) -> list[str]:
    """Return what readers see for each of the labels of a column."""
    words = dict(zip(column.labels, shown_labels(column), strict=True))
    return [words[label] for label in labels]


def _figure(result: Result, table: Columns, room: int) -> dict[str, Any]:
    """Return the figure of a table as JSON, or None if it has more cells than there is `room` for."""
    plan = result.plan
    fixed = dict.fromkeys(figures.columns_to_fix(plan, table), figures.ALL)
    drawn = tuple(name for name in table if name not in fixed)
    cells = plan.cells(drawn)
    if cells > room:
        return {"figure": None, "drawn": 0}
    figure = figures.release_figure(result, table, fixed=fixed)
    return {
        "figure": _script_json(figure.to_json()),
        "drawn": cells,
        "fixed": [plan.column(name).heading for name in fixed],
        "wide": min(900, _width(plan, drawn)),
        "high": figure.layout.height or 380,
    }


def _width(plan: Plan, drawn: Columns) -> int:
    """Return the width in pixels below which a chart is moved sideways instead of shrunk."""
    form = figures.forms(plan, drawn)[0]
    if form not in ("bars", "heatmap", "facets"):
        return 0
    across = plan.column(drawn[min(1, len(drawn) - 1)]).size
    if form == "bars":
        return 140 + across * 22 if plan.column(drawn[0]).kind != "category" else 0  # bars of categories may lie
    if form == "facets":
        return 140 + 34 * across * figures.facets_across(across, plan.column(drawn[2]).size + 1)
    return 140 + across * (22 if plan.cells(drawn) > 120 else 34)


def _dark_colours() -> dict[str, str]:
    """Map the colours of a light page to those of a dark one, so that each figure is stored only once."""
    pairs = {tones[False]: tones[True] for tones in (style.ACCENT, style.GREY, style.INK)}
    pairs |= dict(zip(style.SERIES[False], style.SERIES[True], strict=True))
    pairs |= dict(zip(heatmap.WRITTEN[False], heatmap.WRITTEN[True], strict=True))
    return pairs | {str(light[1]): str(dark[1]) for light, dark in zip(*heatmap.SCALE.values(), strict=True)}


def _provenance(result: Result, name: str) -> dict[str, Any]:
    """Describe the cells of a column and where they come from."""
    column = result.plan.column(name)
    words = shown_labels(column)[: column.declared_size]
    extent = f"{words[0]} … {words[-1]}" if not isinstance(column, Category) else ""
    if isinstance(column, Date):
        extent += f", {_(PERIODS[column.by])}"
    other = _("counted as (other)") if column.other else _("left out")
    coded = column.words if isinstance(column, Category) else {}
    return {
        "name": name,
        "label": column.label,
        "description": column.description,
        "words": list(coded.items())[:MAX_WORDS],
        "more_words": max(0, len(coded) - MAX_WORDS),
        "kind": _(KINDS[column.kind]),
        "extent": extent or ", ".join(shorten(words[:6])) + (" …" if len(words) > 6 else ""),
        "cells": column.size,
        "source": _(SOURCES[column.source]),
        "unlisted": other,
        "missing": _("counted as (missing)") if column.missing else other,
    }


def _script_json(text: str) -> Markup:
    """Escape JSON for a script element, so that no text in it can end the element."""
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(safe)
