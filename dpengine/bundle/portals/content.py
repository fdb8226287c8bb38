"""The common content of all descriptions for portals: the release as a whole, its files, and their columns.

All of it follows from the plan and the manifest: nothing here takes a measured number. `verify` computes the
descriptions again and compares them byte by byte. So their sentences are in English, belong to the schema version of
the manifest, and are not edited: a better one needs a new schema version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dpengine.array_types import Columns
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.bundle.promises import parquet_name, slug, table_files
from dpengine.results.published_columns import measures, number_columns, number_type, published_name
from dpengine.spec.domain import Amount, Column, Date, Number, YesNo
from dpengine.spec.plan import Plan
from dpengine.synthesis.cell_values import other_text

__all__ = ["Field", "FileContent", "ReleaseContent", "content_of", "fields_of", "licence_address"]

MAX_LISTED = 200  # values of a column that are listed; all stand in plan.yaml and manifest.json
MAX_KEYWORDS = 20
Kind = Literal["string", "integer", "number", "boolean", "date", "datetime"]
SYNTHETIC = "synthetic.csv"
# Addresses of common licences by their names, in small letters and digits.
_CC = "https://creativecommons.org"
_LICENCES = {"cc0": f"{_CC}/publicdomain/zero/1.0/", "cc0-1-0": f"{_CC}/publicdomain/zero/1.0/"} | {
    f"cc-{terms}-{version}-0": f"{_CC}/licenses/{terms}/{version}.0/"
    for terms in ("by", "by-sa", "by-nc", "by-nd", "by-nc-sa", "by-nc-nd")
    for version in (2, 3, 4)
}
_DAYS = re.compile(r"(?=.*%Y)(?=.*%[mb])(?=.*%d)([^%]|%[YmbdHMS])*")
_ADDRESS = re.compile(r"https?://[^\s<>\"]+[^\s<>\".,;)]")


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a file: its name, title, meaning, and possible values."""

    name: str
    title: str
    kind: Kind
    text: str = ""
    labels: tuple[str, ...] = ()  # all values, if they are few
    missing: tuple[str, ...] = ()  # texts that mean a missing value
    form: str = ""  # of dates, as strptime reads them
    unit: str = ""
    least: int | None = None
    interval_of: str = ""  # the column whose 95 % interval ends here
    end: str = ""  # which end: low or high


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file of the bundle; `table` holds a table's columns, and is None for the synthetic rows."""

    name: str
    path: str
    title: str
    text: str
    table: Columns | None
    fields: tuple[Field, ...]
    parquet: str = ""

    @property
    def key(self) -> list[str]:
        """Names of the columns that identify a row."""
        return [field.name for field in self.fields[: len(self.table or ())]]


@dataclass(frozen=True, slots=True)
class ReleaseContent:
    """The release as a whole: facts from its plan and its manifest, and its files."""

    identifier: str
    title: str
    text: str
    day: str
    time: str
    keywords: tuple[str, ...]
    citation: str
    files: tuple[FileContent, ...]
    sealed: Mapping[str, Mapping[str, Any]]  # by path: SHA-256 and bytes


def content_of(plan: Plan, manifest: Mapping[str, Any]) -> ReleaseContent:
    """Return the description of the release of `plan`; `manifest` lists the files before the descriptions."""
    title, day = plan.title or plan.dataset, manifest["created"][:10]
    by = f"{plan.about.publisher}: " if plan.about.publisher else ""
    identifier = f"urn:uuid:{manifest['release_id']}"
    headings = dict.fromkeys(plan.column(name).heading for name in plan.released)
    return ReleaseContent(
        identifier=identifier,
        title=title,
        text=_text(plan, manifest),
        day=day,
        time=manifest["created"],
        keywords=("differential privacy", "statistics", *list(headings)[:MAX_KEYWORDS]),
        citation=plan.about.cite_as or f"{by}{title}. Differentially private release of {day}, {identifier}.",
        files=tuple(_files(plan, manifest["schema_version"])),
        sealed=manifest["files"],
    )


def licence_address(licence: str) -> str:
    """Return the address of a licence that a person named; "" if it does not follow from the name.

    >>> licence_address("CC BY 4.0"), licence_address("Ours, see https://example.org/terms."), licence_address("Ours")
    ('https://creativecommons.org/licenses/by/4.0/', 'https://example.org/terms', '')
    """
    match = _ADDRESS.search(licence)
    return match[0] if match else _LICENCES.get(slug(licence), "")


def fields_of(plan: Plan, table: Columns) -> tuple[Field, ...]:
    """Return the columns of a published table, or of the total of no columns."""
    numbers = number_columns(plan, table)
    labels = [_label(plan.column(name), published_name(name, numbers)) for name in table]
    return (*labels, *(_number(plan, table, name) for name in numbers))


def _text(plan: Plan, manifest: Mapping[str, Any]) -> str:
    tables = [" × ".join(plan.column(name).heading for name in table) for table in plan.marginals]
    more = f" and {len(tables) - 10} more" if len(tables) > 10 else ""
    promise = manifest["guarantee"]
    sentences = [
        plan.notes,
        f"Counts by {'; '.join(tables[:10])}{more}, with synthetic rows.",
        "Random noise was added to protect the people in the data, so the numbers are close to the truth and not equal "
        "to it, and each comes with a 95 % interval.",
        f"Guarantee: {promise['definition']}, ε = {promise['epsilon']}, δ = {promise['delta']}, for the whole release.",
        f"Protected: {promise['unit']['text']}.",
        manifest["coverage"],
        manifest["counted"]["text"],
        manifest["intervals"],
    ]
    return " ".join(filter(None, sentences))


def _files(plan: Plan, schema_version: int) -> Iterator[FileContent]:
    """Yield the published tables, the total, and the synthetic rows."""
    for table, path in table_files(plan, schema_version).items():
        by = " × ".join(plan.column(name).heading for name in table)
        yield FileContent(
            name=path.removeprefix("tables/").removesuffix(".csv"),
            path=path,
            title=by or "Total",
            text=f"{_unit(plan, table).capitalize()} by {by}, one line for each of {plan.cells(table):,} cells"
            if table
            else f"{_unit(plan, table).capitalize()} in all",
            table=table,
            fields=fields_of(plan, table),
            parquet=parquet_name(path),
        )
    yield FileContent(
        name="synthetic",
        path=SYNTHETIC,
        title="Synthetic rows",
        text="Artificial rows that agree with the tables; no row is a real person",
        table=None,
        fields=tuple(_value(plan.column(name), name) for name in plan.of_rows.released),
    )


def _unit(plan: Plan, table: Columns) -> str:
    """Return what a table counts."""
    if plan.tally_of(table).cells is not None:
        return plan.nouns.people or "people"
    rows = plan.nouns.rows or (plan.nouns.people if plan.unit.id is None else "") or "rows"
    return rows if plan.unit.id is None else f"kept {rows}"


def _label(column: Column, name: str) -> Field:
    """Describe a column of cell labels in a table, which are always texts."""
    listed = column.labels if column.size <= MAX_LISTED else ()
    return Field(name, column.heading, "string", column.description, labels=listed)


def _number(plan: Plan, table: Columns, name: str) -> Field:
    """Describe a column of numbers of a table."""
    unit, whole = _unit(plan, table), number_type(name).kind == "i"
    kind: Kind = "integer" if whole else "number"
    if name == "count":
        return Field(name, "Count", kind, "Whole and never negative", unit=unit, least=0)
    if name == "estimate":
        signed = estimator(plan) in (Estimator.LEAST_SQUARES, Estimator.TOGETHER)
        text = "The count before it was made whole and non-negative" if signed else "The count before it was made whole"
        return Field(name, "Estimate", kind, text, unit=unit)
    if name in ("low", "high"):
        return _end(name, "count", kind, unit)
    if name.startswith("known_") and whole:
        amount = plan.column(name.removeprefix("known_")).heading
        return Field(name, f"Known: {amount}", kind, f"Estimated number whose {amount} is known", unit=unit, least=0)
    titles = _titles(plan, table)
    if name in titles:
        return Field(name, titles[name], kind)
    return _end(name, name.rpartition("_")[0], kind)


def _end(name: str, of: str, kind: Kind, unit: str = "") -> Field:
    end = "high" if name.endswith("high") else "low"
    title = f"{'Lower' if end == 'low' else 'Upper'} end of the 95 % interval of {of}"
    return Field(name, title, kind, unit=unit, least=0 if of == "count" else None, interval_of=of, end=end)


def _titles(plan: Plan, table: Columns) -> dict[str, str]:
    """Return the titles of the columns of amounts and of their pairs, by name."""
    titles: dict[str, str] = {}
    for one in measures(plan, table):
        heading = plan.column(one.amount).heading
        words = [f"Quantile {part:f}" for part in one.parts] or [one.kind.capitalize().replace("_", " ")]
        titles |= {name: f"{word} of {heading}" for name, word in zip(one.names, words, strict=True)}
    for pair in (each for each in plan.associations(table) if each.of_two):
        of, on = plan.column(pair.of).heading, plan.column(pair.on).heading
        titles[pair.column] = f"{pair.kind.capitalize()} of {of} {'on' if pair.kind == 'slope' else 'and'} {on}"
    return titles


def _value(column: Column, name: str) -> Field:
    """Describe a column of the synthetic rows; texts without a value of its type are listed as missing."""
    empty = ("",) if column.missing else ()
    other = other_text(column) if column.other else ""
    missing = (*empty, *filter(None, [other]))
    match column:
        case Amount():
            return Field(name, column.heading, "number", column.description, missing=empty)
        case Number():
            kind: Kind = "integer" if column.whole else "number"
            return Field(name, column.heading, kind, column.description, missing=missing)
        case Date(format=str(form)) if not _DAYS.fullmatch(form):  # not every program reads such dates
            return Field(name, column.heading, "string", column.description, missing=empty)
        case Date(format=form):
            kind = "datetime" if form and "%H" in form else "date"
            return Field(name, column.heading, kind, column.description, missing=missing, form=form or "")
        case YesNo():
            return Field(name, column.heading, "boolean", column.description, missing=missing)
        case _:
            values: Sequence[str] = (*column.declared, *filter(None, [other]))
            listed = tuple(values) if len(values) <= MAX_LISTED else ()
            return Field(name, column.heading, "string", column.description, labels=listed, missing=empty)
