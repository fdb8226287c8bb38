"""The two files that a reader of a release opens first: the report, an HTML page that works offline, and the README."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from dpengine.accounting.composition import posterior
from dpengine.bundle import guide
from dpengine.bundle.guide_entries import MOSTLY_NOISE
from dpengine.bundle.promises import promises_for_readers, purpose_in_words, table_files
from dpengine.bundle.report_tables import count_texts, measure_texts, script_json, table_values
from dpengine.charts import heatmap, levels, style
from dpengine.charts.style import join_names, shorten
from dpengine.marginals.measurement import QUANTILES, SEARCH
from dpengine.measure.strategy import resolved
from dpengine.results.result import Result
from dpengine.spec.counted_wording import counted_noun, counting_in_words, rows_counted
from dpengine.spec.domain import Amount, Category, Date, Number, Time, zones_of
from dpengine.spec.plan import Plan
from dpengine.spec.wording import KINDS, capitalised, certainty, heading_of, people, percent, shown_labels
from dpengine.translation.catalogue import _, day, language, localised, mark, number, plural, speaking
from dpengine.version import VERSION

__all__ = ["about", "promise", "provenance", "read_me", "render", "templates"]

MAX_TABLES = 60
MAX_UNFOLDED = 12  # tables that stand open below each other; of more, all but the first are folded
MAX_WORDS = 200  # values of a column that are explained; all are in plan.yaml
PRIORS = (0.01, 0.1, 0.5, 0.9)
LARGE_EPSILON = 3  # above it a likelihood ratio may exceed 20, and "much the same" would say too much
SOURCES = {
    "typed": mark("typed by a person"),
    "codebook": mark("from a codebook"),
    "standard": mark("a standard list, or a usual range"),
    "found": mark("found privately, with a part of ε"),
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
PERIODS = {
    "day": mark("by day"),
    "week": mark("by week"),
    "month": mark("by month"),
    "quarter": mark("by quarter"),
    "year": mark("by year"),
}
LINE = 98  # letters in a line of the README
_SCRIPT = "<!-- plotly -->"  # where the script of Plotly stands in the page, once


def read_me(result: Result, manifest: Mapping[str, Any]) -> str:
    """Return the README of `result`, which `manifest` describes, as plain text."""
    with speaking(result.plan.language):
        return templates().get_template("README.txt.j2").render(_shared(result, manifest))


def render(result: Result, manifest: Mapping[str, Any]) -> list[bytes]:
    """Return the report of `result`, which `manifest` describes, as one HTML page that loads nothing else.

    It is UTF-8 in three parts. The one in the middle is the script that draws the figures, by far the longest, as it is
    stored: so it is neither decoded nor copied.
    """
    with speaking(result.plan.language):
        return page_with_plotly("report.html.j2", _page(result, manifest))


def page_with_plotly(template: str, values: Mapping[str, Any]) -> list[bytes]:
    """Return a page with figures, in parts as `render` does; the template holds the script and its dark colours."""
    shared = {"palette": script_json(json.dumps(_dark_colours())), "plotly": Markup(_SCRIPT)}
    before, _script, after = templates().get_template(template).render({**values, **shared}).rpartition(_SCRIPT)
    return [before.encode(), _script_of_plotly(), after.encode()]


def _page(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the report."""
    files = table_files(result.plan)
    declared = [provenance(result.plan, name) for name in result.plan.released]
    return _shared(result, manifest) | {
        "tables": table_values(result, result.plan.marginals[:MAX_TABLES], files),
        "folded": len(result.plan.marginals) > MAX_UNFOLDED,
        "more": [(heading_of(result.plan, table), files[table]) for table in result.plan.marginals[MAX_TABLES:]],
        "provenance": declared,
        "dictionary": [column for column in declared if column["description"] or column["words"]],
    }


def _script_of_plotly() -> bytes:
    """Return the script that draws the figures on a page, without loading the rest of its package."""
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.submodule_search_locations
    return (Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_bytes()


@cache
def templates() -> Environment:
    folder = Path(__file__).parent / "templates"
    environment = Environment(
        loader=FileSystemLoader(folder),
        bytecode_cache=_Compiled(str(folder / "__pycache__"), f"{VERSION}-{version('jinja2')}-%s.jinja"),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "_": _, "plural": plural, "number": number, "localised": localised, "language": language,
        "code": Markup("<code>{}</code>").format,
    }  # fmt: skip
    environment.filters |= {"fold": _fold, "item": _item, "capitalise_first": capitalised}
    return environment


class _Compiled(FileSystemBytecodeCache):
    """A cache of compiled templates: files beside these if their folder is writable, as Python caches modules."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep one template."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)


def _fold(text: str, first: str = "", later: str = "") -> str:
    """Break `text` into lines of the README; `first` and `later` are the indents of its lines."""
    return textwrap.fill(
        text, LINE, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def _item(text: str, label: str, width: int) -> str:
    """Set `text` beside a `label` in a column of `width` letters; without a width, the label is a bullet."""
    if not width:
        return _fold(text, f"{label} ", "  ")
    return _fold(text, f"  {label:<{width}}", " " * (width + 2))


def _shared(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values used by both templates."""
    return about(result.plan) | promise(result.plan) | _numbers(result) | _how_made(result, manifest)


def about(plan: Plan) -> dict[str, Any]:
    """Return the plan's statements about its tables and columns."""
    worded = [column.heading for column in map(plan.column, plan.released) if column.shown != column.labels]
    return {
        "title": plan.title or plan.dataset,
        "notes": plan.notes,
        "about": {_(ABOUT[field]): text for field, text in plan.about.model_dump().items() if text},
        "tables_published": len(plan.marginals),
        "apart": len(plan.tallies) > 1,
        "has_bins": any(isinstance(plan.column(name), Number) for name in plan.released),
        "in_words": join_names(worded) if worded else "",
        "clocks": _clocks(plan),
        "found": join_names([plan.column(name).heading for name in plan.found_columns]) if plan.found_columns else "",
        "counted": counted_noun(plan),
        "rows_counted": rows_counted(plan),
    }


def _clocks(plan: Plan) -> dict[str, str]:
    """Return the zones by whose clocks times count, each with the names of its columns."""
    times = [column for column in map(plan.column, plan.released) if isinstance(column, Date | Time) and column.zone]
    return {zone: join_names([column.heading for column in times if column.zone == zone]) for zone in zones_of(times)}


def promise(plan: Plan) -> dict[str, Any]:
    """Return the guarantee, and what it means for what a reader can believe."""
    return {
        "promised": promises_for_readers(plan),
        "large_epsilon": plan.epsilon > LARGE_EPSILON,
        # Changing a person's answer is removing one person and adding one: likelihoods differ by at most e^2ε.
        "odds": [
            (percent(prior), *(certainty(posterior(prior, times * plan.epsilon)) for times in (1, 2)))
            for prior in PRIORS
        ],
    }


def _numbers(result: Result) -> dict[str, Any]:
    """Return the total, the amounts of all people together, and how to read the numbers of tables."""
    return {
        "total": count_texts(result.cells(()))[0],
        "amounts": [(heading, *span[0]) for heading, span in measure_texts(result, (), None).items()],
        "number_columns": guide.column_entries(result),
        "reading": guide.reading_entries(result),
        "mostly_noise": MOSTLY_NOISE.translated(),
        "synthetic": guide.synthetic_entry(result.plan).translated(),
    }


def _how_made(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return when and by which measurements the release was made, and the files of its tables."""
    plan, made_on = result.plan, day(result.created[:10])
    return {
        "manifest": manifest,
        "strategy": resolved(plan, result.measured).why,
        "day": made_on,
        "moment": _("{day}T{time}+00:00", day=made_on, time=result.created[11:19]),
        "measured": [_rounded(plan, entry) for entry in manifest["measurements"]],
        "files": {
            entry["file"]: {
                "name": _named(plan, entry["columns"]) or _("the number of {what} in all", what=counted_noun(plan)),
                "cells": plural("{n} cell", "{n} cells", entry["cells"]),
                "within": people(entry["half_width_95"]),
            }
            for entry in manifest["tables"]
        },
    }


def _named(plan: Plan, columns: Sequence[str]) -> str:
    """Name a table for the list of files, and say how it counts people if a person may have several rows."""
    how = counting_in_words(plan, tuple(columns))
    return " × ".join(columns) + (f" ({how})" if how else "")


def _rounded(plan: Plan, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a measurement as shown to readers, with its scale and share of ε also rounded."""
    mechanism, scale, epsilon = entry["mechanism"], Fraction(entry["scale"]), Fraction(entry["epsilon"])
    return {
        "what": _purpose(entry) or _measured(plan, entry) or _("total"),
        "mechanism": _(mechanism),
        "cells": number(entry["cells"]),
        "scale": localised(entry["scale"]),
        "about": people(float(scale)),
        "epsilon": localised(entry["epsilon"]),
        "part": localised(f"{float(epsilon):.4g}"),
        "sensitivity": entry["sensitivity"],
    }


def _measured(plan: Plan, entry: Mapping[str, Any]) -> str:
    """Name a measured table, and its unit of counting unless that is a row."""
    named = " × ".join(entry["columns"])
    counted = plan.nouns.people or _("people")
    return _("{people} by {columns}", people=counted, columns=named) if "cells_per_person" in entry else named


def _purpose(entry: Mapping[str, Any]) -> str:
    """Return the purpose of a measurement that is no table, which manifests state in English."""
    purpose = entry.get("purpose", "")
    if purpose in (QUANTILES, SEARCH):
        return f"{' × '.join(entry['columns'])}: {_(purpose)}"
    return purpose_in_words(purpose)


def _dark_colours() -> dict[str, str]:
    """Map the colours of a light page to those of a dark one, so that each figure is stored only once."""
    pairs = {tones[False]: tones[True] for tones in (style.ACCENT, style.GREY, style.INK)}
    pairs |= {levels.GROUP[False]: levels.GROUP[True]}
    pairs |= dict(zip(style.SERIES[False], style.SERIES[True], strict=True))
    pairs |= dict(zip(heatmap.WRITTEN[False], heatmap.WRITTEN[True], strict=True))
    return pairs | {str(light[1]): str(dark[1]) for light, dark in zip(*heatmap.SCALE.values(), strict=True)}


def provenance(plan: Plan, name: str) -> dict[str, Any]:
    """Describe the cells of a column and where they come from."""
    column = plan.column(name)
    words = shown_labels(column)[: column.declared_size]
    extent = f"{words[0]} … {words[-1]}" if not isinstance(column, Category) else ""
    if isinstance(column, Amount) and column.upper is not None and column.upper.below is not None:
        extent += ", " + _("found below {high}", high=localised(f"{column.upper.below:f}"))
    if isinstance(column, Date):
        extent += f", {_(PERIODS[column.by])}"
    if isinstance(column, Time) and column.of is not None:
        extent += ", " + _("from the column {name}", name=column.of)
    if isinstance(column, Date | Time) and column.zone is not None:
        extent += ", " + _("by the clock of {zone}", zone=column.zone)
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
        "cells": None if isinstance(column, Amount) else column.size,  # an amount is no column of a table
        "source": _(SOURCES[column.origin]),
        "unlisted": other,
        "missing": _("counted as (missing)") if column.missing else other,
    }
