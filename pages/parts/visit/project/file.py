"""A project file: a finished or unfinished plan as readable text, to keep or to give to a colleague.

It is a plan file with one more part, `project`, for what a plan does not say: which steps are settled, how the tables
were chosen, what is still open. It holds decisions and names of columns; nothing in it is made from rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpengine import Plan, PlanError
from dpengine.spec import strict_yaml
from dpengine.spec.declared import About, Language, Nouns
from dpengine.spec.domain import FOR_READERS
from dpengine.spec.plan import Strategy, exact_epsilon
from dpengine.spec.published_table import PublishedTable
from dpengine.spec.summed_levels import CoarserLevels
from dpengine.translation.catalogue import ENGLISH, _, languages, mark, number
from pages.parts.visit.plan.entries import LAYOUTS, Draft, Entries, shareable
from pages.parts.visit.plan.plan_form import from_plan
from pages.parts.visit.project.history import History
from pages.parts.visit.state import STEPS

__all__ = ["KEPT", "ColumnEntry", "ColumnInFile", "faults_of", "read", "write"]

HEAD = """\
# A project of Private Release: what was decided so far. No data, no counts, nothing made from the rows.
# Open it on Publish, on this computer or a colleague's, before or after the table is there.
"""
KEPT = 100  # decisions of the history that are kept
MAX_ROWS, MAX_ABOUT = 1_000_000, 10**12  # as in a plan


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ColumnEntry(BaseModel):
    """The form that a column's entry must have for the page to show it."""

    name: str
    kind: Literal["number", "category", "yesno", "date", "time", "amount"]
    source: Literal["typed", "codebook", "standard", "confirmed"] = "typed"
    other: bool = True
    missing: bool = True
    missing_as: list[str] = []
    edges: list[str] = []
    values: list[str] | Literal["found"] = []
    among: dict[str, int | str | list[str]] | None = None
    bins: int | dict[str, int | str] | None = None
    first: str = Field("", alias="from")
    last: str = Field("", alias="to")
    by: Literal["day", "week", "month", "quarter", "year", "hour", "weekday"] = "month"
    of: str = ""
    zone: str = ""
    step: str = ""
    knots: list[str] = []
    upper: Literal["found"] | dict[str, str] | None = None
    levels: list[str] | dict[str, str | list[str] | dict[str, str | int]] = []
    above: dict[str, list[str]] = {}
    format: str | None = None
    affixes: list[str] = []
    suggested: bool = False
    written: str = ""


class ColumnInFile(ColumnEntry):
    """A column in a project file: its entry, its texts for readers, and what is still open."""

    model_config = ConfigDict(extra="forbid")

    open: list[Literal["format"]] = []  # fields that wait for an answer, for which no text stands
    label: str = ""
    description: str = ""
    whole: bool | None = None
    words: dict[str, str] = {}
    shapes: dict[str, str] = {}


class _Unit(_Part):
    several_rows: bool
    id: str | None = None
    rows: int = Field(1, ge=1)


class _Project(_Part):
    version: Literal["1"]
    table: str = ""
    sample: str = ""
    frequency: str = ""
    answers: dict[str, list[str]] = {}
    settled: list[Literal["table", "columns", "domain", "unit"]] = []
    columns_that_matter: list[str] = Field(min_length=1)
    published_as: Literal["together", "pairs", "single", "own"] = "together"
    own_tables: list[list[str]] = []
    asked_for_more: list[PublishedTable] = []
    of_amounts: list[Literal["mean", "sum", "median", "quartiles", "standard_deviation"]] = ["mean"]
    each_by_itself: bool = True
    ranges: bool = False
    decided: list[str] = []


class _File(_Part):
    project: _Project
    title: str = ""
    notes: str = ""
    language: Language = ENGLISH
    about: About = About()
    nouns: Nouns = Nouns()
    dataset: str = ""
    epsilon: str = "1"
    unit: _Unit | None = None
    rows_about: int | None = Field(None, ge=1)
    columns: list[ColumnInFile] = []
    strategy: Strategy = "auto"
    coarser_levels: CoarserLevels | None = None


def write(draft: Draft, history: History | None = None) -> str:
    """Return the text of a project file.

    >>> age = {"name": "age", "kind": "number", "edges": ["0", "18"]}
    >>> draft = Draft("visits.csv", "", ("table",), Entries(chosen=("age",), declared={"age": age}))
    >>> read(write(draft)) == draft
    True
    """
    entries = shareable(draft.entries)
    content = {
        "project": _project_part(draft, entries, history),
        "title": entries.title,
        "notes": entries.notes,
        "language": "" if entries.language == ENGLISH else entries.language,
        "about": entries.about,
        "nouns": entries.nouns,
        "dataset": entries.dataset,
        "epsilon": entries.epsilon,
        "unit": _unit_part(entries),
        "rows_about": entries.rows_about,
        "columns": [_written(column, entries.texts.get(name, {})) for name, column in entries.declared.items()],
        "strategy": entries.strategy,
        "coarser_levels": entries.coarser_levels,
    }
    return HEAD + strict_yaml.dump({key: value for key, value in content.items() if value not in ("", {}, [], None)})


def _project_part(draft: Draft, entries: Entries, history: History | None) -> dict[str, Any]:
    """Return what a plan does not say, without what is blank."""
    decided = [] if history is None else [f"{each.at} {each.words}".strip() for each in history.past][-KEPT:]
    project = {
        "version": "1",
        "table": draft.table,
        "sample": draft.sample,
        "frequency": draft.frequency,
        "answers": dict(draft.answers),
        "settled": [step for step in STEPS if step in draft.settled],
        "columns_that_matter": list(entries.chosen),
        "published_as": entries.layout,
        "own_tables": [list(table) for table in entries.own],
        "asked_for_more": [table.model_dump(mode="json", exclude_defaults=True) for table in entries.more],
        "of_amounts": list(entries.of_amounts),
        "each_by_itself": entries.margins,
        "ranges": entries.ranges,
        "decided": decided,
    }
    return {key: value for key, value in project.items() if value not in ("", [], {})}


def _unit_part(entries: Entries) -> dict[str, Any]:
    """Return what is entered about rows of persons; {} while nothing is."""
    if entries.several_rows is None:
        return {}
    unit = {"several_rows": entries.several_rows, "id": entries.id_column, "rows": entries.rows}
    return {key: value for key, value in unit.items() if value is not None}


def read(text: str, owner: str = "") -> Draft:
    """Return the draft in a project file, or in a plan file, for `owner`. Raises `PlanError` if it is neither."""
    content = strict_yaml.mapping(text, mark("a project or a plan"))
    if "project" not in content:
        plan = Plan.loads(text)
        return Draft(plan.title or plan.dataset, "", STEPS, from_plan(plan), owner)
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        where = sorted({".".join(map(str, fault["loc"][:3])) for fault in error.errors()})
        raise PlanError(_("this project file cannot be read: see {places}", places=", ".join(where[:5]))) from None
    names = [column.name for column in file.columns]
    if len(set(names)) < len(names):
        raise PlanError(_("this project file declares a column twice"))
    entries = _entries(file)
    if lacking := [name for name in entries.chosen if name not in entries.declared]:
        raise PlanError(_("this project file declares no column {column!r}, which it publishes", column=lacking[0]))
    if faults := faults_of(entries):
        raise PlanError(faults)
    project = file.project
    return Draft(
        project.table, project.sample, tuple(project.settled), entries, owner, project.frequency, project.answers
    )


def faults_of(entries: Entries) -> list[str]:
    """Return what is wrong with entries from elsewhere, that no page could have made.

    >>> faults_of(Entries(rows=0, chosen=("age", "age")))
    ['rows per person are 1 to 1,000,000', 'a column is named twice in one table']
    """
    faults = []
    try:
        exact_epsilon(entries.epsilon or "1")  # the entries are not complete yet
    except ValueError as error:
        faults.append(str(error))
    if entries.language != ENGLISH and entries.language not in languages():
        faults.append(_("reports are written in {listed}", listed=", ".join(languages())))
    if not 1 <= entries.rows <= MAX_ROWS:
        faults.append(_("rows per person are 1 to {most}", most=number(MAX_ROWS)))
    if entries.rows_about is not None and not 1 <= entries.rows_about <= MAX_ABOUT:
        faults.append(_("the rough number of rows is 1 to {most}", most=number(MAX_ABOUT)))
    if any(len(set(names)) < len(names) for names in (entries.chosen, *entries.own)):
        faults.append(_("a column is named twice in one table"))
    return faults


def _entries(file: _File) -> Entries:
    project, unit = file.project, file.unit
    assert project.published_as in LAYOUTS
    entries = Entries(
        title=file.title,
        dataset=file.dataset,
        chosen=tuple(project.columns_that_matter),
        layout=project.published_as,
        own=tuple(map(tuple, project.own_tables)),
        more=tuple(project.asked_for_more),
        of_amounts=tuple(project.of_amounts),
        margins=project.each_by_itself,
        ranges=project.ranges,
        declared={column.name: _declared(column) for column in file.columns},
        rows_about=file.rows_about,
        epsilon=file.epsilon,
        strategy=file.strategy,
        coarser_levels=file.coarser_levels,
        notes=file.notes,
        language=file.language,
        about={key: said for key, said in file.about.model_dump().items() if said},
        nouns={key: noun for key, noun in file.nouns.model_dump().items() if noun},
        texts={column.name: texts for column in file.columns if (texts := _texts(column))},
    )
    return entries if unit is None else replace(
        entries, several_rows=unit.several_rows, id_column=unit.id, rows=unit.rows
    )  # fmt: skip


def _written(column: Mapping[str, Any], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a column for the file, in which None, for what waits for an answer, cannot be written."""
    fields = {key: value for key, value in column.items() if value is not None}
    opened = {"open": ["format"]} if column.get("format", "") is None else {}
    return fields | opened | {key: value for key, value in texts.items() if value not in ("", {}, None)}


def _declared(column: ColumnInFile) -> dict[str, Any]:
    not_declared = {*FOR_READERS, "open"}
    fields = column.model_dump(by_alias=True, exclude_unset=True, exclude=not_declared)
    return fields | ({"format": None} if "format" in column.open else {})


def _texts(column: ColumnInFile) -> dict[str, Any]:
    return column.model_dump(exclude_unset=True, include={*FOR_READERS})
