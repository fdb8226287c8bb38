"""Read and write codebook files: our own, Excel sheets, SPSS, Stata and SAS files, and exchange formats.

Like tables, they may come from strangers, so those that need large readers are read in a separate process. Rows are
never read.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

from dpengine.errors import PlanError, TableError
from dpengine.isolation.scratch import ScratchFolder
from dpengine.sources.files import isolated
from dpengine.sources.files.text import as_utf8
from dpengine.sources.open import columns_of
from dpengine.sources.read_options import STATISTICAL
from dpengine.sources.table import Field
from dpengine.spec import codebook, codebook_sheet
from dpengine.spec.categories import level_sheet
from dpengine.spec.codebook import Codebook, from_columns
from dpengine.spec.codebook_sheet import HEADER, KIND_WORDS, TextsForReaders, from_rows, to_rows
from dpengine.spec.domain import Column
from dpengine.spec.exchange import csvw_eo, formats
from dpengine.spec.exchange.draft import ReadCodebook
from dpengine.spec.strict_yaml import MAX_BYTES
from dpengine.translation.catalogue import _

__all__ = ["ENDINGS", "csvw_bytes", "load_codebook", "open_codebook", "read_codebook", "xlsx_bytes"]

ENDINGS = (".csv", ".yaml", ".yml", ".xlsx", *STATISTICAL, *formats.ENDINGS)
MAX_FILE = 50 * 10**6  # bytes of a file of another program
_WIDTHS = (20, 12, 40, 8, 8, 18, 40, 24, 32, 18)  # of the columns, in letters
_FOR_CSVW = ("label", "description")
_OF_GRID = ("written", "suggested", "levels", "above", "parents")  # of the page, and levels, which CSVW-EO lacks
_ROWS = 5_000  # rows for which a spreadsheet offers the kinds


def xlsx_bytes(columns: Iterable[Mapping[str, Any]], for_readers: TextsForReaders | None = None) -> bytes:
    """Write the sheet that `codebook_sheet.to_rows` makes as a workbook; all of its cells are texts.

    >>> sheet = xlsx_bytes([{"name": "=age", "kind": "number", "edges": ["0", "18"]}])
    >>> read_codebook(sheet, ".xlsx").columns[0].name
    '=age'
    """
    import xlsxwriter  # only needed to write a sheet

    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})  # the same sheet has the same bytes
        sheet = book.add_worksheet("codebook")
        bold, wrapped = (
            book.add_format({"bold": True}),
            book.add_format({"text_wrap": True, "valign": "top", "num_format": "@"}),
        )
        for place, width in enumerate(_WIDTHS):
            sheet.set_column(place, place, width, wrapped)
        for number, row in enumerate(to_rows(columns, for_readers)):
            for place, text in enumerate(row):
                sheet.write_string(number, place, text, bold if number == 0 else wrapped)
        for name, offered in (("kind", KIND_WORDS), ("other", ("yes", "no")), ("missing", ("yes", "no"))):
            place = HEADER.index(name)
            sheet.data_validation(1, place, _ROWS, place, {"validate": "list", "source": list(offered)})
        sheet.freeze_panes(1, 1)
    return file.getvalue()


def csvw_bytes(columns: Iterable[Mapping[str, Any]], for_readers: TextsForReaders | None = None) -> bytes:
    """Write public knowledge about columns, given as in a plan, as CSVW-EO; unfinished columns are left out.

    >>> b"keyValues" in csvw_bytes([{"name": "sex", "kind": "category", "values": ["f", "m"]}])
    True
    """
    finished: list[Column] = []
    for column in columns:
        texts = {key: text for key, text in (for_readers or {}).get(column["name"], {}).items() if key in _FOR_CSVW}
        entry = {key: value for key, value in column.items() if key not in _OF_GRID and value not in ("", None)}
        try:
            finished += from_columns([entry | texts], {}).columns
        except PlanError:
            continue
    return csvw_eo.write(finished)


def load_codebook(path: Path) -> ReadCodebook:
    """Read a codebook file of any format that is known. Raises `PlanError`."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
    except OSError as error:
        raise PlanError(_("codebook {name} cannot be read ({error})", name=path.name, error=error.strerror)) from None
    try:
        return open_codebook(content, path.name)
    except PlanError as error:
        raise PlanError([f"{path.name}: {fault}" for fault in error.faults]) from None


def open_codebook(
    content: bytes, name: str, *, names: Iterable[str] = (), geojson: Mapping[str, str] | None = None
) -> ReadCodebook:
    """Return the codebook in a file called `name`, in any known format, and its refused parts.

    `names` are the columns of a table; a sheet of levels is about one of them. `geojson` holds the texts of files
    that a YAML codebook may name as shapes. Raises `PlanError`.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in ENDINGS:
        raise PlanError(_("no codebook is known with the ending {suffix}; known are {listed}",
                          suffix=suffix or "''", listed=", ".join(ENDINGS)))  # fmt: skip
    most = MAX_FILE if suffix == ".xlsx" or suffix in STATISTICAL else MAX_BYTES
    if len(content) > most:
        raise PlanError(_("{file} is too long: at most {most} MB are read", file=name, most=most // 10**6))
    if suffix in formats.ENDINGS:
        return formats.read(content, suffix)
    if suffix == ".xlsx" or suffix in STATISTICAL:
        return ReadCodebook(read_codebook(content, suffix, names), doubtful=suffix in STATISTICAL)
    text = _text_of(content)
    if suffix != ".csv":
        return ReadCodebook(codebook.loads(text, geojson))
    if codebook_sheet.HEADER[0] in [cell.casefold() for cell in next(iter(level_sheet.rows_of(text)), [])]:
        return ReadCodebook(codebook_sheet.from_csv(text))
    return ReadCodebook(from_columns([level_sheet.from_csv(text, names)], {}))


def _text_of(content: bytes) -> str:
    """Decode a codebook line by line, as text tables are, so that its values match theirs.

    >>> _text_of("Köln\\n".encode("utf-8-sig") + "Genève".encode("cp1252")) == "Köln\\nGenève"
    True
    """
    return b"".join(map(as_utf8, content.splitlines(keepends=True))).decode("utf-8-sig")


def read_codebook(content: bytes, suffix: str, names: Iterable[str] = ()) -> Codebook:
    """Return the codebook in a workbook (.xlsx), or in the column descriptions of an SPSS, Stata or SAS file.

    The latter lists values only for columns with words for codes. A workbook may also list the values of one of the
    columns `names`, and their levels. Raises `PlanError`.
    """
    folder = ScratchFolder()
    try:
        path = folder.path / f"codebook{suffix}"
        path.write_bytes(content)
        if suffix in STATISTICAL:
            return _of_columns(columns_of(path, suffix))
        rows: list[list[str]] = isolated.read("codebook_rows", [path], folder.path, path=str(path), most=MAX_BYTES)
        header, known = {cell.strip().casefold() for cell in rows[0]} if rows else set(), [*names]
        if HEADER[0] not in header and header & {name.strip().casefold() for name in known}:
            return from_columns([level_sheet.from_rows(rows, known)], {})
        return from_rows(rows)
    except TableError as error:
        raise PlanError(error.faults) from None
    finally:
        folder.discard()


def _of_columns(fields: Iterable[Field]) -> Codebook:
    fields = list(fields)
    columns = [
        {
            "name": field.name, "kind": "category", "values": [code for code, _ in field.words],
            "words": {code: word for code, word in field.words if word},
        }
        for field in fields if field.words
    ]  # fmt: skip
    return from_columns(columns, {field.name: field.label for field in fields if field.label})
