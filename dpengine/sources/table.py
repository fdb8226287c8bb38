"""An open table: the names and types of its columns, and access to its rows for counting.

Messages name columns, which are public, and line numbers; never cells or paths.
"""

from __future__ import annotations

import errno
import re
import threading
import weakref
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from dpengine.array_types import Ints
from dpengine.errors import Fault, TableError
from dpengine.sources.engine import Engine
from dpengine.sources.files.text import MAX_LINE
from dpengine.sources.mixed import member_types
from dpengine.translation.catalogue import _, mark, number

__all__ = [
    "Field",
    "Hint",
    "LocalTable",
    "Seen",
    "Table",
    "TextFile",
    "fields",
    "hint_of_name",
    "plain_errors",
    "stamp",
]

Stamp = tuple[int, int, int, int]  # of a file: size, times of change of content and of anything, inode
Hint = Literal["number", "category", "yesno", "date"]
Seen = tuple[tuple[Path, Stamp | None], ...]

MAX_SHOWN = 10  # columns that a table names when it is printed
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNREADABLE = mark("the file cannot be read: it is not whole, or may not be read by this user")
_NUMBERS = r"(TINY|SMALL|BIG|HUGE|U|UTINY|USMALL|UBIG|UHUGE)?INT(EGER)?|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BIGNUM"
_KINDS_BY_NAME: tuple[tuple[Hint, str], ...] = (
    ("yesno", r"(is|has|was|did)[_ ].+"),
    (
        "number",
        r"(.*[_ ])?(age|income|salary|salaries|wages?|pay|earnings?|rent|fees?|expenses?|spending|years?|count|n|num|"
        r"number|amount|score|hours?|minutes?|days|weight|height|bmi|prices?|costs?|total|rate|percent|pct|size|length|"
        r"value|visits|distance|balance|gain|loss|lat|lon|alter|"
        r"\w*(einkommen|gehalt|lohn|verdienst|entgelt|umsatz|miete|kosten|betrag)|geb(ü|ue)hr|preis|\w*tage|anzahl|"
        r"jahr|geburtsjahr|k(ö|oe)rpergr(ö|oe)(ß|ss)e|k(ö|oe)rpergewicht)"
        r"([_ ](of|in|per|kg|cm|usd|eur|h|min)([_ ].*)?)?|(n|num)[_ ].+|num[A-Z0-9].*",
    ),
    (
        "date",
        r"(.*[_ ])?(date|day|time|timestamp|datetime|dob|birthday|month|week|\w*datum|geburtstag)([_ ].*)?|.+_(at|on)|"
        r"admitted|discharged|admission|discharge|beginn|ende|aufnahme|entlassung|eintritt|austritt",
    ),
)


@dataclass(frozen=True, slots=True)
class Field:
    """A column as described by its header or schema; `type` is the DuckDB type.

    Files of statistics programs also have a `label` for readers, and lists of codes with their `words`. Their maker may
    have produced such a list from the rows, so it counts only once a person has confirmed it. `objects` names the type
    of cells of a pandas frame that are read as Python writes them, such as ``period``, or ``enum`` and its own name.
    """

    name: str
    kind_hint: Hint
    type: str
    label: str = ""
    words: tuple[tuple[str, str], ...] = ()
    objects: str = ""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A plain text table, as `text.to_plain_utf8` makes it; `quote` is what cells may stand in.

    With `plain_lines`, no line after the header has a quote or is blank. With `whole_cells`, quotes are only around
    whole cells, and each line end ends a row.
    """

    path: Path
    delimiter: str
    quote: str
    plain_lines: bool
    whole_cells: bool


class Table(ABC):
    """Rows that can be counted, wherever they are; a context manager that leaves nothing behind.

    `counting` stores its digests of the content in `digest` and `digest_of_texts`, and in `histograms` the sketch for
    recognising near copies: hashed values of each column, in the order of the names, and whole rows.
    """

    columns: tuple[Field, ...]
    index: tuple[str, ...] = ()  # the names of a data frame's index, which is not read
    read_how: tuple[str, Mapping[str, str]] = ("", {})  # a text of the catalogue, and the values for its placeholders
    digest: bytes | None = None
    digest_of_texts: bytes | None = None
    histograms: Ints | None = None

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns[:MAX_SHOWN])
        return f"<{type(self).__name__}: {names}{', …' if len(self.columns) > MAX_SHOWN else ''}>"

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    @property
    def places(self) -> dict[str, int]:
        """The place of each column among `columns`, by its name."""
        return {column.name: place for place, column in enumerate(self.columns)}

    @property
    def reading(self) -> str:
        """Description of how the cells of a text file were separated; the caller may state it instead."""
        text, places = self.read_how
        return _(text, **{place: _(value) for place, value in places.items()}) if text else ""

    @abstractmethod
    def close(self) -> None:
        """Forget the rows, and remove what was copied. Closing twice is fine."""

    def interrupt(self) -> None:  # noqa: B027
        """Cancel another thread's running query (it raises `TableError`), if the engine can."""


class LocalTable(Table):
    """Rows behind a private engine: column i of `columns` is ``c{i}`` of the relation `rows`.

    `rows` is their number, exact or estimated, if known without reading them; only progress uses it. `frame` holds the
    rows if they are in memory, with the same columns. `text` is the text file, and `parquet` the Parquet file with the
    rows if there is a single one. `seen` lists the files that are read, with their stamps from before opening.
    `interrupts` counts the calls of `interrupt`.
    """

    def __init__(
        self,
        engine: Engine,
        columns: tuple[Field, ...],
        seen: Seen = (),
        rows: int | None = None,
        frame: pa.Table | None = None,
        text: TextFile | None = None,
        parquet: Path | None = None,
    ) -> None:
        self.columns = columns
        self.text, self.parquet = text, parquet
        self.interrupts = 0
        self.rows = rows
        self.frame = frame
        self._seen = seen
        self._engine = engine
        self._lock = threading.RLock()
        self._finish = weakref.finalize(self, engine.discard)

    def close(self) -> None:
        with self._lock:
            self.frame = None
            self._finish()

    def interrupt(self) -> None:
        self.interrupts += 1
        self._engine.interrupt()

    def check_not_interrupted(self, before: int) -> None:
        """Raise `TableError` if there were more calls of `interrupt` than the number `before`."""
        if self.interrupts != before:
            raise TableError(_("the reading was stopped, and nothing was counted; ask again to start over"))

    def check_unchanged(self) -> None:
        """Raise `TableError` if the stamp of a file has changed since it was opened."""
        if any(stamp(path) != before for path, before in self._seen):
            raise TableError(_("the file has changed since it was opened; open it again, once it is complete"))

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """Yield the connection, to one user at a time; errors inside are raised as `TableError`."""
        with self._lock, plain_errors():
            if not self._finish.alive:
                raise TableError(_("the table is closed; open it again"))
            yield self._engine.connection()


def stamp(path: Path) -> Stamp | None:
    """Return the stamp of a file, which changes with the file; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino  # the first time may be put back


@contextmanager
def plain_errors() -> Iterator[None]:
    """Replace the readers' errors, which quote rows and paths, by a `TableError`."""
    try:
        yield
    except (_duckdb().OutOfMemoryException, MemoryError):
        raise TableError(_("there is not enough memory for this table; use Parquet, or fewer columns")) from None
    except (_duckdb().ParserException, _duckdb().BinderException, _duckdb().CatalogException):
        raise  # an error in our SQL, not in the table
    except pa.ArrowException:
        raise TableError(_("the file is damaged or not of the kind its name says; write it again")) from None
    except OSError as error:
        # While rows stream, PyArrow wraps DuckDB's errors, with rows and paths, in one of these.
        if error.errno in _NO_ROOM:
            raise TableError(
                _("there is no room on the disk for the rows; make room, or unpack the file first")
            ) from None
        raise TableError(_fault(str(error)) if error.errno is None else _(_UNREADABLE)) from None
    except (_duckdb().Error, UnicodeError, NotImplementedError) as error:
        raise TableError(_fault(str(error))) from None
    except (EOFError, zlib.error):
        raise TableError(_(_UNREADABLE)) from None


def _duckdb() -> Any:
    """Return DuckDB, which is loaded on an error, or by what needs it: many files are counted without it."""
    import duckdb

    return duckdb


def _fault(message: str) -> str | Fault:
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if not line:
        return _("the table cannot be read: it is damaged, or has changed since it was opened; write it again")
    where = number(int(line[1]))
    if "unterminated quote" in message:
        return _(
            "line {line} of the file opens a quote that is not closed properly; write a quote inside of a cell twice",
            line=where,
        )
    if "Maximum line size" in message:
        return _(
            "line {line} of the file is longer than {most} MB; is a quote left open, or is this no text table?",
            line=where,
            most=MAX_LINE >> 20,
        )
    text = _(
        "line {line} of the file does not have as many cells as the header has names; "
        "put cells that hold the delimiter in quotes, or export the table again",
        line=where,
    )
    return Fault(("header",), text) if int(line[1]) == 2 else text  # a title may stand in place of the names


def fields(names: Sequence[str], types: Sequence[str], typed: bool) -> tuple[Field, ...]:
    """Return the columns of `rows`; unless types were declared (`typed`), only names hint at the kinds of texts."""
    return tuple(
        Field(name, hint_of_type(kind) if typed or kind == "BOOLEAN" else hint_of_name(name), kind)
        for name, kind in zip(names, types, strict=True)
    )


def hint_of_type(kind: str) -> Hint:
    """Return the likely kind of a column whose type is declared."""
    if hints := {hint_of_type(each) for each in member_types(kind)}:
        return hints.pop() if len(hints) == 1 else "category"
    if kind == "BOOLEAN":
        return "yesno"
    if kind.startswith(("DATE", "TIMESTAMP")):
        return "date"
    return "number" if re.fullmatch(_NUMBERS, kind) else "category"


def hint_of_name(name: str) -> Hint:
    """Return the likely kind of a column by its name alone, the only thing that is public about a text column.

    >>> hint_of_name("visit_date"), hint_of_name("has_car"), hint_of_name("num_visits"), hint_of_name("region")
    ('date', 'yesno', 'number', 'category')
    >>> hint_of_name("Bruttomonatsverdienst"), hint_of_name("Lohngruppe")
    ('number', 'category')
    """
    plain = re.sub(r"\s*[(\[][^()\[\]]*[)\]]$", "", name.strip()).replace("-", "_")  # without its unit: Einkommen (€)
    return next((hint for hint, pattern in _KINDS_BY_NAME if re.fullmatch(pattern, plain, re.IGNORECASE)), "category")
