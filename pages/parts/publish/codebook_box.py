"""Codebooks for the columns at hand: download one to fill in with others, or bring one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine import PlanError, shapes
from dpengine.sources import codebook_file
from dpengine.sources.codebook_file import open_codebook
from dpengine.spec import codebook_sheet, strict_yaml
from dpengine.spec.domain import FOR_READERS, Column
from dpengine.spec.exchange import formats
from dpengine.spec.exchange.draft import ReadCodebook
from dpengine.translation.catalogue import _, plural, some_of
from pages.parts.shared.demo import file_box
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.plan.column_entry import entry_without_words, listed
from pages.parts.visit.plan.entries import Entries, shareable
from pages.parts.visit.plan.tables import used
from pages.parts.visit.state import visit

__all__ = ["bring_levels", "show"]

T = TypeVar("T")
Faults = dict[str, str]  # what is wrong with files that were refused, by their names
MAX_REFUSED = 3  # more are only counted
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SHEETS = (
    ("Excel", "codebook.xlsx", XLSX, codebook_file.xlsx_bytes),
    ("CSV", "codebook.csv", "text/csv", codebook_sheet.csv_bytes),
    ("CSVW-EO", "codebook.csvw-eo.json", "application/ld+json", codebook_file.csvw_bytes),
)


def show() -> None:
    """Offer the columns as a sheet to fill in, and a box for a codebook that declares some of them."""
    with st.popover(_("Codebook"), icon=":material/menu_book:", key=visit().key("codebook-box"), on_change="rerun"):
        entries = shareable(visit().entries)
        columns = [entries.declared[name] for name in used(entries)]
        st.caption(
            _(
                "These columns as a sheet, to fill in with a colleague. It has their names and what is entered here, "
                "and nothing of the rows; a list that the data file suggests is in it once you have confirmed it."
            )
        )
        for place, (label, name, mime, write) in zip(st.columns(len(SHEETS)), SHEETS, strict=True):
            offer_file(
                label,
                partial(write, columns, entries.texts),
                name,
                mime,
                icon=":material/download:",
                key=visit().key(name),
                place=place,
                width="stretch",
            )
        files = file_box(
            _("Bring a codebook: that sheet, filled in, or a file in another format"),
            type=[*(ending[1:] for ending in codebook_file.ENDINGS), "geojson"],
            accept_multiple_files=True,
            key=visit().key("codebook"),
            max_upload_size=codebook_file.MAX_FILE // 10**6,
            help=_(
                "A YAML file with columns as in a plan, a file of SPSS, Stata or SAS, CSVW-EO, a Data Package or Table "
                "Schema, or DDI; a CSV or Excel file that lists the values of one column, such as a public list of "
                "municipalities, with their levels if it has any; and shapes for maps, as GeoJSON. "
                "Of a file of SPSS, Stata or SAS only names, labels and words for codes are read, never a row. Numbers "
                "that others measured from rows, such as how often a value occurs, are not read from any file. A "
                "column whose values are regions is drawn as a map if a GeoJSON file has shapes with these names. Only "
                "outlines are kept. A file with levels has a column for each level, such as county,state, and a line "
                "for each value: then the same column can be published by county and by state."
            ),
        )
        _read_files(files)


def bring_levels(categories: Sequence[str]) -> None:
    """Take a CSV file with a column for each level of one of the `categories`."""
    file = file_box(
        _("{columns}: a CSV file with a column for each level, such as county,state",
          columns=plain(some_of(categories))),
        type=["csv"],
        key=visit().key("levels-file"),
        help=_("A line for each value, and what it lies in: Kern,CA. The names of its columns name the levels."),
    )  # fmt: skip
    _read_files([file] if file is not None else [])


def _read_files(files: Sequence[UploadedFile]) -> None:
    """Take codebooks with the shapes that come with them, or shapes alone; say what is wrong with each other file."""
    outlines = [file for file in files if _is_outline(file)]
    geojson, refused = _read_each(outlines, _outline_text)
    names = visit().entries.declared
    books, faults = _read_each(
        [file for file in files if file not in outlines],
        lambda file: open_codebook(file.getvalue(), file.name, names=names, geojson=geojson),
    )
    refused |= faults
    if books:
        _fill_in_columns([*books.values()], refused)
    elif geojson and not refused:
        _fill_in_shapes(*next(iter(geojson.items())))
    for file, fault in refused.items():
        st.warning(f"**{plain(file)}**: {fault}", icon=":material/report:")


def _read_each(files: Sequence[UploadedFile], read: Callable[[UploadedFile], T]) -> tuple[dict[str, T], Faults]:
    """Return what `read` makes of each file, and the faults of those that it refuses, both by the name of the file."""
    found: dict[str, T] = {}
    refused: Faults = {}
    for file in files:
        try:
            found[file.name] = read(file)
        except PlanError as error:
            refused[file.name] = all_faults(error)
    return found, refused


def _fill_in_columns(found_books: Sequence[ReadCodebook], faults: Faults) -> None:
    """Fill in the columns that codebooks declare; what a doubtful one declares waits for a person to confirm it.

    The box is then emptied, so a message names the files that were refused, with their `faults`.
    """
    books, ours = [each.codebook for each in found_books], visit().entries.declared.keys()
    columns = [column for book in books for column in book.columns]
    known = {column.name: column for column in columns if column.name in ours}
    about = {name: text for book in books for name, text in book.about.items() if text and name in ours}
    if not known and not about:
        names = some_of((plain(column.name) for column in columns), 5)
        text = _("This codebook declares {names}: none of your columns.", names=names)
        st.warning(text if names else _("This codebook declares no column."), icon=":material/report:")
        return
    filled = _filled_in(visit().entries, known, about, doubtful=any(each.doubtful for each in found_books))
    visit().refresh(filled, lambda: plural("codebook for {n} column", "codebook for {n} columns", len(known)))
    text = plural("The codebook filled in {n} column.", "The codebook filled in {n} columns.", len(known))
    st.toast(text, icon=":material/menu_book:")
    _tell_refused([sentence for each in found_books for sentence in each.refused])
    for file, fault in faults.items():
        _tell_not_read(f"{plain(file)}: {fault}")
    st.rerun()


def _filled_in(entries: Entries, columns: Mapping[str, Column], about: Mapping[str, str], *, doubtful: bool) -> Entries:
    """Return the entries with `columns` as codebooks declare and name them, and with descriptions from `about`."""
    declared, texts = dict(entries.declared), dict(entries.texts)
    for name, column in columns.items():
        filled = _with_levels(entry_without_words(column), declared[name])
        declared[name] = filled | ({"suggested": True} if doubtful else {})
        texts[name] = texts.get(name, {}) | column.model_dump(include={*FOR_READERS}, exclude_defaults=True)
    for name, text in about.items():
        texts[name] = texts.get(name, {}) | {"description": text}
    return entries.with_(declared=declared, texts=texts)


def _tell_refused(refused: Sequence[str]) -> None:
    """Say which parts of the codebooks were not read, and why."""
    for sentence in refused[:MAX_REFUSED]:
        _tell_not_read(plain(sentence))
    if (rest := len(refused) - MAX_REFUSED) > 0:
        st.toast(plural("And {n} thing more.", "And {n} things more.", rest), icon=":material/block:")


def _tell_not_read(what: str) -> None:
    st.toast(_("Not read: {what}", what=what), icon=":material/block:", duration="long")


def _is_outline(file: UploadedFile) -> bool:
    """Return whether a file has shapes for maps; GeoJSON may have the same file ending as a codebook."""
    suffix = PurePath(file.name).suffix.lower()
    if suffix != ".json":
        return suffix == ".geojson"
    return file.size > strict_yaml.MAX_BYTES or not formats.is_described(formats.parsed(file.getvalue()))


def _with_levels(entry: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return what a codebook declares; a sheet cannot declare levels, so the column keeps those that it had."""
    if entry["kind"] != before["kind"] or "levels" in entry or not before.get("levels"):
        return entry
    if entry["kind"] != "category":
        return entry | {"levels": before["levels"]}
    if {*listed(entry)} != {*listed(before)}:
        return entry
    return entry | {key: before[key] for key in ("levels", "above") if key in before}


def _fill_in_shapes(file: str, text: str) -> None:
    """Use the shapes of a file for the column whose values they match best."""
    entries, best, why = visit().entries, ("", dict[str, str]()), _("no column has values that are listed")
    for name in used(entries):
        values = listed(entries.declared[name])
        words = {str(word): str(value) for value, word in entries.texts.get(name, {}).get("words", {}).items()}
        try:
            outlines = shapes.from_geojson(text, values, words) if values else {}
        except ValueError as error:
            why = str(error)
            continue
        best = max(best, (name, outlines), key=lambda one: len(one[1]))
    name, outlines = best
    if not outlines:
        st.warning(f"{plain(file)}: {why}.", icon=":material/report:")
        return
    visit().refresh(entries.with_(texts=entries.texts | {name: entries.texts.get(name, {}) | {"shapes": outlines}}))
    column = plain(name)
    text = plural(
        "{column} has a map with {n} shape.", "{column} has a map with {n} shapes.", len(outlines), column=column
    )
    st.toast(text, icon=":material/map:")
    st.rerun()


def _outline_text(file: UploadedFile) -> str:
    if file.size > shapes.MAX_BYTES:
        most = shapes.MAX_BYTES // 10**6
        raise PlanError(_("{file} is too long: at most {most} MB are read", file=file.name, most=most))
    return file.getvalue().decode("utf-8-sig", "replace")
