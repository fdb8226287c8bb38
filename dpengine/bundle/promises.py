"""The promises of a plan: every entry of a manifest that follows from the plan alone.

Nothing here depends on a measurement. So `verify` can compute the same entries from the `plan.yaml` in a bundle.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from dpengine.array_types import Columns
from dpengine.bundle.estimator import estimator
from dpengine.bundle.manifest_wording import ALL_ROWS, COUNTED_APART, KEPT_ROWS, SCHEMA_VERSION, WORDINGS, Wording
from dpengine.exact import exact_text
from dpengine.spec.counted_wording import persons_counted, unit_in_words
from dpengine.spec.domain import Amount
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import ENGLISH, _, mark, speaking

__all__ = [
    "PORTALS", "file_names", "parquet_name", "promises", "promises_for_readers", "purpose_in_words",
    "readable_slug", "slug", "table_files",
]  # fmt: skip

# Latin letters that Unicode does not divide into a plain one and an accent.
_LATIN = str.maketrans({
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "ŋ": "n",
    "ŧ": "t", "ə": "e",
})  # fmt: skip

PORTALS = ("datapackage.json", "croissant.json", "dcat.jsonld")  # descriptions for portals, since version 5

DEFINITION = mark("pure ε-differential privacy")
NEIGHBOURS = mark("add or remove one person (all their rows)")
TRUST_MODEL = mark("central: the data owner holds the rows and is trusted with them; readers see only this release")

# These stand in every version: no release of an earlier one has standard deviations, or finds an upper bound.
FOUND_BOUND = mark(
    "upper bound that was found: for each amount whose plan says so, noisy counts of rows up to each of some "
    "candidates for its upper bound were measured first, with the part of ε that the plan says. The candidates follow "
    "from the declared range. found.json holds these counts, and the bound follows from them and the plan alone, by a "
    "fixed rule: few rows are above it. It takes the place of the declared upper end: values above it count as the "
    "bound, in means, in sums and in all else."
)
DEVIATIONS = mark(
    "standard deviation: of the people whose value is known, each bounded as declared and moved to the nearest step; "
    "squares are divided by the number of people. It is computed from noisy counts in which a row is shared in three, "
    "so that it weighs 1 in all. Values in synthetic.csv do not have it, and it is not fitted to other tables."
)
DEVIATION_INTERVALS = (
    "Each interval of a standard deviation is meant to hold the true one with a probability of 95 %, each by itself. "
    "Where a group is too small for its noise, it reaches over all values that are possible."
)


@speaking(ENGLISH)  # what is signed and compared is the same in every language
def promises(plan: Plan, schema_version: int = SCHEMA_VERSION) -> dict[str, Any]:
    """Return the manifest entries of `schema_version` that follow from `plan`, whose strategy is resolved."""
    return promises_for_readers(plan, schema_version)


def promises_for_readers(plan: Plan, schema_version: int = SCHEMA_VERSION) -> dict[str, Any]:
    """Return `promises` with the sentences of a report in the current language."""
    wording = WORDINGS[schema_version]
    counted = {} if schema_version < 3 else {"counted": _counted(plan)}
    bounds = schema_version >= 4
    return {
        "title": plan.title,
        "dataset": plan.dataset,
        "guarantee": _guarantee(plan),
        "coverage": _coverage(plan),
        **counted,
        "not_protected": _not_protected(plan, wording),
        "domain": {name: _cells(plan, name) | (_bounds(plan, name) if bounds else {}) for name in plan.released},
        "post_processing": [_(line) for line in (*_count_sentences(plan, wording), *_amount_sentences(plan, wording))],
        "intervals": " ".join([wording.intervals[estimator(plan)], *_interval_sentences(plan, wording)]),
    }


def purpose_in_words(purpose: str) -> str:
    """Return what a measurement that is no table was for, which manifests state in English, in the current language.

    >>> purpose_in_words("up to 3 pairs")
    'up to 3 pairs'
    """
    if pairs := re.fullmatch("up to ([0-9]+) pairs", purpose):
        return _("up to {picks} pairs", picks=pairs[1])
    return _(purpose)


def table_files(plan: Plan, schema_version: int = SCHEMA_VERSION) -> dict[Columns, str]:
    """Map each published table, and then the total, to its file. Names have a number and plain letters."""
    named = slug if schema_version < 7 else readable_slug
    digits = max(2, len(str(len(plan.marginals))))
    files: dict[Columns, str] = {}
    for number, table in enumerate(plan.marginals, start=1):
        name = "-x-".join(filter(None, map(named, table)))[:80].strip("-")
        files[table] = f"tables/{number:0{digits}}{'-' if name else ''}{name}.csv"
    return files | {(): "tables/total.csv"}


def parquet_name(file: str) -> str:
    """Return the name of the Parquet file of a table, given that of its CSV file."""
    return f"{file.removesuffix('.csv')}.parquet"


def file_names(plan: Plan, schema_version: int = SCHEMA_VERSION) -> list[str]:
    """Return the names of all files of a bundle of `plan`, in order."""
    tables, portals = list(table_files(plan, schema_version).values()), list[str]()
    if schema_version >= 5:
        tables, portals = [each for file in tables for each in (file, parquet_name(file))], list(PORTALS)
    texts = ["report.html", "registry.yaml"]
    searches = ["found.json"] if plan.found_columns else []
    return ["README.txt", "plan.yaml", *searches, *tables, "synthetic.csv", *texts, *portals, "manifest.json"]


def slug(name: str) -> str:
    """Return the plain small letters and digits of a name, the rest as hyphens.

    Letters without a plain form, such as ß and ø, are dropped. This must stay so: `verify` finds by it the files of
    bundles of earlier versions, and the names of bundles for portals.

    >>> slug("Größe (cm)")
    'groe-cm'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", plain).strip("-")


def readable_slug(name: str) -> str:
    """Return a name as `slug` does, with every Latin letter; those of other scripts are dropped.

    >>> readable_slug("Größe (cm)"), readable_slug("Ærø, Łódź"), readable_slug("年齢 2024")
    ('grosse-cm', 'aero-lodz', '2024')
    """
    return slug(name.lower().translate(_LATIN))


def _guarantee(plan: Plan) -> dict[str, Any]:
    unit: dict[str, Any] = {"rows": plan.unit.rows}
    if plan.unit.id is not None:
        unit["id"] = plan.unit.id
    return {
        "definition": _(DEFINITION),
        "epsilon": exact_text(plan.epsilon),
        "delta": "0",
        "unit": unit | {"text": unit_in_words(plan)},
        "neighbours": _(NEIGHBOURS),
        "trust_model": _(TRUST_MODEL),
    }


def _coverage(plan: Plan) -> str:
    """Return a sentence on which rows are counted; it holds for every table."""
    left_out = [
        _("rows whose {column} is not a declared cell", column=column.name)
        if column.missing
        else _("rows whose {column} is missing or not a declared cell", column=column.name)
        for column in map(plan.column, plan.used)
        if not column.other and not isinstance(column, Amount)
    ]
    left_out += [
        _("rows whose {column} is missing or no number", column=name)
        for name in plan.amounts(())
        if not plan.column(name).missing
    ]
    if plan.unit.id is not None:
        left_out.append(_("rows without {id}", id=plan.unit.id))
        left_out.append(_("rows of a person beyond {rows}", rows=plan.unit.rows))
    if not left_out:
        return _("All rows are counted.")
    return _("Left out of every table and of the total: {rows}.", rows="; ".join(left_out))


def _counted(plan: Plan) -> dict[str, Any]:
    """Say which rows all counts and intervals refer to: all that have a cell, or those kept under the bound."""
    if plan.unit.id is None:
        return {"what": "rows", "text": ALL_ROWS}
    if plan.has_distinct:
        of_rows = any(tally.cells is None for tally in plan.tallies)
        what = "people" if not of_rows else "kept rows and people"
        return {"what": what, "rows_per_person": plan.unit.rows, "text": persons_counted(plan)}
    rows = "1 row" if plan.unit.rows == 1 else f"{plan.unit.rows} rows"
    text = KEPT_ROWS.format(rows=rows, id=plan.unit.id)
    return {"what": "kept rows", "rows_per_person": plan.unit.rows, "text": text}


def _not_protected(plan: Plan, wording: Wording) -> list[str]:
    several = _(wording.several_rows) if plan.unit.id is None else _(wording.several_values).format(id=plan.unit.id)
    return [_(sentence).format(several=several) for sentence in wording.not_protected]


def _cells(plan: Plan, name: str) -> dict[str, Any]:
    """Describe a column's cells in published order, and where that knowledge comes from."""
    column = plan.column(name)
    declared = plan.resolution.column_of(name)
    coarse = {} if declared == name else {"level_of": declared}
    return coarse | {
        "kind": column.kind,
        "source": column.origin,
        "cells": column.size,
        "labels": list(column.labels),
        "other": column.other,
        "missing": column.missing,
    }


def _bounds(plan: Plan, name: str) -> dict[str, str]:
    """Return the bounds and the step of an amount, and whether it has squares; nothing for other columns.

    Its cells are its knots. With squares, they are three, with the weights (1 − t)², 2t(1 − t) and t² for a value at
    the part t of its range (`spec.numeric.amount_squares`).
    """
    column = plan.column(name)
    if not isinstance(column, Amount):
        return {}
    bounds = {key: f"{value:f}" for key, value in (("from", column.low), ("to", column.high), ("step", column.step))}
    if column.upper is not None and column.upper.below is not None:
        bounds["found_below"] = f"{column.upper.below:f}"  # the end that the plan states
    return bounds | ({"squares": "yes"} if column.degree > 1 else {})


def _count_sentences(plan: Plan, wording: Wording) -> tuple[str, ...]:
    """Say how counts are made and, if people are counted beside rows, which of them agree."""
    lines = wording.post_processing[estimator(plan)]
    if len(plan.tallies) == 1:
        return lines
    apart = {line.split(":")[0]: line for line in COUNTED_APART}
    return tuple(apart.get(line.split(":")[0], line) for line in lines)


def _has_means(plan: Plan) -> bool:
    return bool(plan.means(()) or plan.sums(()))


def _has_quantiles(plan: Plan) -> bool:
    return any(plan.quantiles((), name) for name in plan.amounts(()))


def _has_deviations(plan: Plan) -> bool:
    return any(not each.of_two for each in plan.associations(()))


def _has_pairs(plan: Plan) -> bool:
    return any(each.of_two for each in plan.associations(()))


def _amount_sentences(plan: Plan, wording: Wording) -> list[str]:
    """Say how means, quantiles, slopes and amounts of synthetic rows are made; earlier versions do not say it."""
    bounds = [name for name in plan.found_columns if isinstance(plan.column(name), Amount)]
    sentences = [(len(plan.found_columns) > len(bounds), wording.found), (bool(bounds), FOUND_BOUND),
            (_has_means(plan), wording.means), (_has_deviations(plan), DEVIATIONS),
            (_has_quantiles(plan), wording.quantiles),
            (_has_pairs(plan), wording.associations), (bool(plan.amounts(())), wording.amounts)]  # fmt: skip
    return _applying(sentences)


def _interval_sentences(plan: Plan, wording: Wording) -> list[str]:
    sentences = [
        (_has_means(plan), wording.mean_intervals),
        (_has_deviations(plan), DEVIATION_INTERVALS),
        (_has_quantiles(plan), wording.quantile_intervals),
        (_has_pairs(plan), wording.association_intervals),
    ]
    return _applying(sentences)


def _applying(sentences: Iterable[tuple[bool, str]]) -> list[str]:
    """Return the sentences that apply, of those that the manifest's version has: others are blank."""
    return [sentence for applies, sentence in sentences if applies and sentence]
