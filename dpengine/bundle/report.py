"""What a reader gets to read: the report, one page that opens without any network, and the README."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dpengine.array_types import Columns
from dpengine.bundle.promises import table_files
from dpengine.charts import figures
from dpengine.charts.style import shortened
from dpengine.estimate.error_distribution import posterior
from dpengine.estimate.estimates import Boxed, Modelled
from dpengine.results.published_columns import header
from dpengine.results.result import Result
from dpengine.spec.domain import Category, Date
from dpengine.spec.wording import noun, people, percent, sure

__all__ = ["in_words", "read_me", "render"]

MAX_ROWS = 500
FIRST_ROWS = 25
MAX_CELLS_DRAWN = 4000
MAX_CELLS_DRAWN_IN_ALL = 20_000
MAX_TABLES = 40
PRIORS = (0.01, 0.1, 0.5, 0.9)
LOOSE = 3  # above this ε, one likelihood ratio may exceed 20, and "much the same" would be saying too much


def read_me(result: Result, manifest: Mapping[str, Any]) -> str:
    """How to use the files, in plain words; `manifest` describes `result`."""
    return _templates().get_template("README.txt.j2").render(_shared(result, manifest))


def render(result: Result, manifest: Mapping[str, Any]) -> str:
    """The report of ``result`` as one HTML page that needs nothing else; `manifest` describes `result`."""
    from plotly.offline import get_plotlyjs

    files = table_files(result.plan)
    tables, room = [], MAX_CELLS_DRAWN_IN_ALL
    for number, table in enumerate(result.plan.marginals[:MAX_TABLES], start=1):
        figure = _figure(result, table, min(room, MAX_CELLS_DRAWN))
        room -= figure["drawn"]
        tables.append(_table(result, table, files[table]) | figure | {"id": f"table-{number}"})
    page = _shared(result, manifest) | {
        "tables": tables,
        "more": [(" × ".join(table), files[table]) for table in result.plan.marginals[MAX_TABLES:]],
        "provenance": [_provenance(result, name) for name in result.plan.used],
        "palette": _script_json(json.dumps(_dark_colours())),
        "plotly": Markup(get_plotlyjs()),
    }
    return _templates().get_template("report.html.j2").render(page)


@cache
def _templates() -> Environment:
    folder = Path(__file__).parent / "templates"
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shared(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What both the page and the README say."""
    plan = result.plan
    first = plan.marginals[0]
    reach = result.half_width(first)
    return {
        "manifest": manifest,
        "title": plan.title or plan.dataset,
        "notes": plan.notes,
        "counted": noun(plan),
        "total": _texts(result.cells(()))[0],
        "loose": plan.epsilon > LOOSE,
        "modelled": in_words(result),
        "boxed": isinstance(result.answers, Boxed),
        "odds": [(percent(prior), sure(posterior(prior, plan.epsilon))) for prior in PRIORS],
        "example": {"name": " × ".join(first), "one": people(reach), "four": people(2 * reach)},
        "tables_published": len(plan.marginals),
        "day": result.created[:10],
        "measured": [_rounded(entry) for entry in manifest["measurements"]],
        "files": {
            entry["file"]: {
                "name": " × ".join(entry["columns"]) or "how many in all",
                "cells": f"{entry['cells']:,} cell{'s' if entry['cells'] > 1 else ''}",
                "within": people(entry["half_width_95"]),
            }
            for entry in manifest["tables"]
        },
    }


def in_words(result: Result) -> str:
    """How far cells of a model's tables are typically off; nothing where tables were measured themselves."""
    if not isinstance(result.answers, Modelled):
        return ""
    sizes = (10, 100, 1000)
    told = (
        f"{size:,} by about {people(off)}"
        for size, off in zip(sizes, result.answers.mean_errors(np.array(sizes, dtype=np.float64)), strict=True)
    )
    return f"a cell of {', of '.join(told)}"


def _rounded(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A measurement with its exact numbers rounded, beside them."""
    scale, epsilon = float(Fraction(entry["scale"])), float(Fraction(entry["epsilon"]))
    return {"purpose": "", **entry, "about": people(scale), "part": f"{epsilon:.4g}"}


def _texts(cells: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, str]]:
    """The numbers of each cell as texts; estimates with a decimal where any of them has one."""
    estimates = np.round(cells["estimate"], 1) + 0.0  # no −0
    digits = 0 if (estimates % 1 == 0).all() else 1
    numbers = zip(cells["count"], cells["low"], cells["high"], estimates, strict=True)
    return [
        {
            "count": f"{count:,}",
            "low": f"{low:,}",
            "high": f"{high:,}",
            "estimate": f"{estimate:,.{digits}f}".replace("-", "−"),
        }
        for count, low, high, estimate in numbers
    ]


def _table(result: Result, table: Columns, file: str) -> dict[str, Any]:
    """One table of the page: what it says of itself, and its rows or the first of them."""
    noisy = result.mostly_noise(table)
    names = header(table)
    whole = noisy.size <= MAX_ROWS
    rows = noisy.size if whole else FIRST_ROWS
    shown = {name: cells[:rows] for name, cells in result.cells(table).items()}
    return {
        "name": " × ".join(table),
        "file": file,
        "cells": noisy.size,
        "typical": people(result.answers.typical(table)),
        "within": people(result.half_width(table)),
        "noisy": int(noisy.sum()),
        "header": names,
        "rows": [
            {"labels": texts, "noisy": bool(mark), **numbers}
            for *texts, mark, numbers in zip(
                *(shown[name] for name in names[: len(table)]), noisy.ravel()[:rows], _texts(shown), strict=True
            )
        ],
        "whole": whole,
        "alt": figures.alt_text(result, table),
    }


def _figure(result: Result, table: Columns, room: int) -> dict[str, Any]:
    """The figure as JSON, or nothing where it has more cells than there is ``room`` for."""
    plan = result.plan
    fixed = {name: _fullest(result, table, name) for name in figures.needs_fixing(plan, table)}
    seen = tuple(name for name in table if name not in fixed)
    cells = plan.cells(seen)
    if cells > room:
        return {"figure": None, "drawn": 0}
    figure = figures.release_figure(result, table, fixed=fixed)
    across = plan.column(seen[min(1, len(seen) - 1)]).size
    across *= figures.facets_across(across, plan.column(seen[2]).size) if len(seen) > 2 else 1
    return {
        "figure": _script_json(figure.to_json()),
        "drawn": cells,
        "fixed": fixed,
        "wide": min(900, 140 + across * (22 if len(seen) == 1 or cells > 120 else 34)),
        "high": figure.layout.height or 380,
    }


def _dark_colours() -> dict[str, str]:
    """What each colour of a figure becomes on a dark page, so that a figure need not be there twice."""
    pairs = {tones[False]: tones[True] for tones in (figures.ACCENT, figures.GREY, figures.INK)}
    pairs |= dict(zip(figures.WRITTEN[False], figures.WRITTEN[True], strict=True))
    return pairs | {str(light[1]): str(dark[1]) for light, dark in zip(*figures.SCALE.values(), strict=True)}


def _fullest(result: Result, table: Columns, name: str) -> str:
    """The label of a column's fullest cell: what a figure shows that has room for one label only."""
    counts = result.counts(table).sum(axis=tuple(k for k, other in enumerate(table) if other != name))
    return result.plan.column(name).labels[int(counts.argmax())]


def _provenance(result: Result, name: str) -> dict[str, Any]:
    """How the cells of a column came to be, for the reader."""
    column = result.plan.column(name)
    source = {"typed": "typed by a person", "codebook": "from a codebook", "standard": "from a standard list"}
    source["confirmed"] = "seen in the data, confirmed as public by the owner"
    extent = f"{column.declared[0]} … {column.declared[-1]}" if not isinstance(column, Category) else ""
    if isinstance(column, Date):
        extent += f", by {column.by}"
    return {
        "name": name,
        "kind": column.kind,
        "extent": extent or ", ".join(shortened(column.declared[:6])) + (" …" if len(column.declared) > 6 else ""),
        "cells": column.size,
        "source": source[column.source],
        "unlisted": "counted as (other)" if column.other else "left out",
        "missing": "counted as (missing)" if column.missing else ("counted as (other)" if column.other else "left out"),
    }


def _script_json(text: str) -> Markup:
    """JSON that can stand in a script element: no text in it can end the element."""
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(safe)
