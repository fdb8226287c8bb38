"""Codebooks as files of other programs: a sheet of Excel, or what a file of SPSS, Stata or SAS says of its columns.

They come from strangers like tables, and are read in a process of their own, too. Rows are never read.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from dpengine.errors import PlanError, TableError
from dpengine.isolation.scratch import ScratchFolder
from dpengine.sources.files import isolated
from dpengine.sources.open import STATISTICAL, columns_of
from dpengine.sources.table import Field
from dpengine.spec.codebook import Codebook, from_columns
from dpengine.spec.codebook_sheet import HEADER, KIND_WORDS, Told, from_rows, to_rows
from dpengine.spec.strict_yaml import MAX_BYTES

__all__ = ["ENDINGS", "read_codebook", "xlsx_bytes"]

ENDINGS = (".xlsx", *STATISTICAL)
_WIDTHS = (20, 12, 40, 8, 8, 18, 40, 24, 32)  # of the columns, in letters
_ROWS = 5_000  # for which a spreadsheet offers the kinds


def xlsx_bytes(columns: Iterable[Mapping[str, Any]], told: Told | None = None) -> bytes:
    """Write the sheet that `codebook_sheet.to_rows` makes as a workbook; all of its cells are texts.

    >>> sheet = xlsx_bytes([{"name": "=age", "kind": "number", "edges": ["0", "18"]}])
    >>> read_codebook(sheet, ".xlsx").columns[0].name
    '=age'
    """
    import xlsxwriter  # only those who write a sheet need it

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
        for number, row in enumerate(to_rows(columns, told)):
            for place, text in enumerate(row):
                sheet.write_string(number, place, text, bold if number == 0 else wrapped)
        for name, offered in (("kind", KIND_WORDS), ("other", ("yes", "no")), ("missing", ("yes", "no"))):
            place = HEADER.index(name)
            sheet.data_validation(1, place, _ROWS, place, {"validate": "list", "source": list(offered)})
        sheet.freeze_panes(1, 1)
    return file.getvalue()


def read_codebook(content: bytes, suffix: str) -> Codebook:
    """Return the codebook in a workbook (.xlsx), or in what a file of SPSS, Stata or SAS says of its columns.

    The latter lists values only for columns with words for codes. Raises `PlanError`.
    """
    folder = ScratchFolder()
    try:
        path = folder.path / f"codebook{suffix}"
        path.write_bytes(content)
        if suffix in STATISTICAL:
            return _of_columns(columns_of(path, suffix))
        return from_rows(isolated.read("codebook_rows", [path], folder.path, path=str(path), most=MAX_BYTES))
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
