"""The kinds of files that can be opened, and the ways to read them that a caller may state."""

from __future__ import annotations

from dataclasses import dataclass

from dpengine.errors import TableError
from dpengine.sources.databases import duckdb_file
from dpengine.translation.catalogue import _, mark

__all__ = ["ARROW", "EXCEL", "STATISTICAL", "TEXT", "ReadOptions"]

TEXT, EXCEL = (".csv", ".tsv", ".tab", ".txt"), (".xlsx", ".xls", ".ods")
ARROW = (".arrow", ".feather", ".ipc")
STATISTICAL = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
_ROWS_ABOVE = (*TEXT, *EXCEL), mark("only text files and workbooks have rows above their names, or none with names")
_ROWS_BELOW = (*TEXT, *EXCEL), mark("only text files and workbooks have rows below their table, such as a total")
# The files that each way to read is for: for any other source it would be ignored, and another table read than meant.
_FOR = {
    "encoding": ((*TEXT, *STATISTICAL), mark("only text files, and those of SPSS, Stata and SAS, have an encoding")),
    "delimiter": (TEXT, mark("only text files have a delimiter")),
    "sheet": (EXCEL, mark("only workbooks have sheets")),
    "table": (duckdb_file.ENDINGS, mark("only databases hold tables by name")),
    "skip_rows": _ROWS_ABOVE,
    "no_names": _ROWS_ABOVE,
    "number_names": ((*TEXT, *EXCEL), mark("only text files and workbooks have columns of the same name")),
    "skip_last": _ROWS_BELOW,
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a file, as the parameters of `open_table`."""

    encoding: str | None
    delimiter: str | None
    sheet: str | None
    table: str | None
    name: str | None
    in_full: bool
    skip_rows: int
    names_given: bool
    skip_last: int
    number_names: bool = False

    def check_for(self, suffix: str) -> None:
        """Raise `TableError` for what is given and is not for files with this ending, or no number of rows.

        The ending "" stands for a source that is no file.
        """
        given = {name: getattr(self, name, None) for name in _FOR} | {"no_names": not self.names_given}
        faults = dict.fromkeys(_(text) for name, (kinds, text) in _FOR.items() if given[name] and suffix not in kinds)
        if faults:
            raise TableError(_("{what}: leave this out", what=each) for each in faults)
        if not isinstance(self.skip_rows, int) or self.skip_rows < 0:
            raise TableError(_("the number of rows above the names is 0 or more"))
        if not isinstance(self.skip_last, int) or self.skip_last < 0:
            raise TableError(_("the number of rows below the table is 0 or more"))
