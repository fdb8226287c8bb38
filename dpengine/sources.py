"""Where the rows are: opens a file or a frame as one relation that counting can query.

Opening reads the header or schema, and makes sure that a text file is well-formed; what the rows
hold is looked at by :mod:`dpengine.counting` alone. Messages name columns, which are public, and
line numbers, never cells or paths.

To admit another kind of source, add a function that leaves a relation ``rows`` with columns
``c0``, ``c1``, … in the connection and returns the names, and let :func:`_load` choose it.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import threading
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from python_calamine import CalamineError

from dpengine.errors import TableError
from dpengine.frames import fitted, from_pandas
from dpengine.textfile import MAX_LINE, header, plain_text
from dpengine.workbook import read_sheet

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Field", "Hint", "Source", "Table", "open_table"]

Source: TypeAlias = "str | Path | pd.DataFrame | pa.Table"
Stamp = tuple[int, int, int]
Hint = Literal["number", "category", "yesno", "date"]
TEXT, EXCEL, PARQUET = (".csv", ".tsv", ".tab", ".txt"), (".xlsx", ".xls", ".ods"), (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")

_NUMBERS = r"(TINY|SMALL|BIG|HUGE|U|UTINY|USMALL|UBIG|UHUGE)?INT(EGER)?|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BIGNUM"
_NAMES_OF: tuple[tuple[Hint, str], ...] = (
    ("yesno", r"(is|has|was|did)[_ ].+"),
    (
        "number",
        r"(.*[_ ])?(age|income|salary|wage|years?|count|n|num|number|amount|score|hours?|minutes?|days|weight|height|"
        r"bmi|price|cost|total|rate|percent|pct|size|length|value|visits|distance|balance|gain|loss|lat|lon)"
        r"([_ ](of|in|per|kg|cm|usd|eur|h|min)([_ ].*)?)?|(n|num)[_ ].+|num[A-Z0-9].*",
    ),
    ("date", r"(.*[_ ])?(date|day|time|timestamp|datetime|dob|birthday|month|week)([_ ].*)?|.+_(at|on)"),
)


@dataclass(frozen=True, slots=True)
class Field:
    """A column as its header or schema shows it; ``type`` is the declared type in DuckDB's words."""

    name: str
    kind_hint: Hint
    type: str


class Table:
    """Rows behind a private in-memory connection; a context manager that leaves no file behind.

    Column i of ``columns`` is ``c{i}`` of the relation ``rows``.
    """

    columns: tuple[Field, ...]

    def __init__(
        self, connection: Any, folder: Path, columns: tuple[Field, ...], seen: tuple[Path, Stamp] | None = None
    ) -> None:
        self.columns = columns
        self._seen = seen
        self._connection = connection
        self._lock = threading.RLock()
        self._finish = weakref.finalize(self, _discard, connection, folder)

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the rows, and remove what was copied to disk. Closing twice is fine."""
        with self._lock:
            self._finish()

    def check_unchanged(self) -> None:
        """Raise :class:`TableError` where the file that rows are read from is not as it was when opened.

        Told by its size, its time of change and its place on the disk, so to be asked after reading.
        """
        if self._seen is not None and _stamp(self._seen[0]) != self._seen[1]:
            raise TableError("the file has changed since it was opened; open it again, once it is complete")

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """The connection, for one user at a time; what goes wrong inside is told as :class:`TableError`."""
        with self._lock, _plainly():
            if not self._finish.alive:
                raise TableError("the table is closed; open it again")
            yield self._connection


def open_table(
    source: Source,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    name: str | None = None,
) -> Table:
    """Open a table: a path (CSV, TSV, also gzipped; Parquet, Excel, ODS, Arrow, Feather), a DataFrame or Arrow table.

    Parameters
    ----------
    encoding, delimiter
        Of text files; by default UTF-8 (odd lines as Windows-1252), and the delimiter seen in the header line.
    sheet
        Of a workbook; by default the first visible one.
    name
        Stands for the file's name where that has no telling ending (an upload).

    Raises :class:`TableError` where the source cannot be read, saying how to mend it.
    """
    folder = Path(tempfile.mkdtemp(prefix="private-release-"))
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
            "temp_directory": str(folder / "spill"),
        },
    )
    try:
        with _plainly():
            connection.execute("SET TimeZone = 'UTC'")
            # The first rewrite makes bounding rows a person three times slower; the others could turn
            # a stream of rows probing a small list of values into a table of rows held in memory.
            connection.execute("SET disabled_optimizers = 'top_n_window_elimination,join_order,build_side_probe_side'")
            before = _stamp(Path(source)) if isinstance(source, str | Path) else None
            names, typed, lasting = _load(connection, folder, source, encoding, delimiter, sheet, name)
            columns = _fields(connection, names, typed)
    except (EOFError, OSError, zlib.error):
        _discard(connection, folder)
        raise TableError("the file cannot be read: it is not whole, or may not be read by this user") from None
    except BaseException:
        _discard(connection, folder)
        raise
    return Table(connection, folder, columns, (lasting, before) if lasting and before else None)


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _discard(connection: Any, folder: Path) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _plainly() -> Iterator[None]:
    """Tell the readers' errors in our own words: theirs quote rows and paths."""
    try:
        yield
    except zipfile.BadZipFile:
        raise TableError("this is not a whole workbook; save it again as .xlsx, or export it as CSV") from None
    except CalamineError:
        raise TableError("the workbook cannot be read; save it again without a password, or export CSV") from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise TableError("there is not enough memory for this table; use Parquet, or fewer columns") from None
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
        raise  # a mistake of ours in writing SQL, and not the table's
    except duckdb.Error as error:
        raise TableError(_fault(str(error))) from None
    except pa.ArrowException:
        raise TableError("the file is damaged or not of the kind its name says; write it again") from None


def _fault(message: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if not line:
        return "the table cannot be read: it is damaged, or has changed since it was opened; write it again"
    where = f"line {int(line[1]):,} of the file"
    if "unterminated quote" in message:
        return f'{where} opens a quote that is not closed properly; write " inside of a cell as ""'
    if "Maximum line size" in message:
        return f"{where} is longer than {MAX_LINE >> 20} MB; is a quote left open, or is this no text table?"
    return (
        f"{where} does not have as many cells as the header has names; "
        "put cells that hold the delimiter in quotes, or export the table again"
    )


def _load(
    connection: Any,
    folder: Path,
    source: object,
    encoding: str | None,
    delimiter: str | None,
    sheet: str | None,
    name: str | None,
) -> tuple[list[str], bool, Path | None]:
    """Leave the relation ``rows`` in the connection.

    Returns its names, whether its types were declared, and the file that rows are yet to be read from.
    """
    # pandas takes long to load; whoever passes a frame has loaded it, another thread may be at it just now.
    frames = getattr(sys.modules.get("pandas"), "DataFrame", ())
    if isinstance(source, frames):
        return _arrow(connection, from_pandas(source)), True, None
    if isinstance(source, pa.Table):
        return _arrow(connection, source), True, None
    if not isinstance(source, str | Path):
        raise TableError("a table is given as a path, a pandas DataFrame or a pyarrow Table")
    path = Path(source)
    if not path.is_file():
        raise TableError(f"there is no file {path.name!r}")
    label = (name or path.name).lower()
    packed = label.endswith(".gz")
    suffix = Path(label.removesuffix(".gz")).suffix
    if packed and suffix not in TEXT:
        raise TableError(f"only text tables may be gzipped ({', '.join(TEXT)}); unpack this one first")
    if suffix in TEXT:
        names, copied = _text(connection, folder, path, packed, encoding, delimiter)
        return names, False, None if copied else path
    if suffix in EXCEL:
        names, rows = read_sheet(_linked(path, folder, suffix), sheet)
        _check_names(names)
        connection.register("rows", rows)
        return names, False, None
    if suffix in PARQUET:
        return _parquet(connection, _linked(path, folder, suffix)), True, path
    if suffix in ARROW:
        return _arrow(connection, _arrow_file(path)), True, path
    raise TableError(f"files named {suffix or 'without an ending'} are not known here; use CSV, Parquet or .xlsx")


def _linked(path: Path, folder: Path, suffix: str) -> Path:
    """A harmless name for the file: readers take * and [ in a path for patterns and could open another file."""
    link = folder / f"source{suffix}"
    try:
        link.symlink_to(path.resolve())
    except OSError:
        shutil.copyfile(path, link)
    return link


def _text(
    connection: Any, folder: Path, path: Path, packed: bool, encoding: str | None, delimiter: str | None
) -> tuple[list[str], bool]:
    plain = plain_text(path, folder, packed=packed, encoding=encoding)
    copied = plain != path
    names, delimiter = header(plain, delimiter)
    _check_names(names)
    plain = _linked(plain, folder, ".txt")
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    connection.execute(
        f"CREATE VIEW rows AS SELECT * FROM read_csv({literal(str(plain))}, columns = {{{columns}}}, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', new_line = '\\n', header = true, "
        f"auto_detect = false, strict_mode = true, hive_partitioning = false, "
        f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})"
    )
    connection.execute("SELECT count(*) FROM rows").fetchall()  # faults in the file show now, not after the plan
    return names, copied


def _parquet(connection: Any, path: Path) -> list[str]:
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(0, path.stat().st_size - 4))
        end = file.read(4)
    if start != b"PAR1":
        raise TableError("this is not a Parquet file (or it is encrypted); give the file its right ending")
    if end != b"PAR1":
        raise TableError("the Parquet file is cut off; copy or write it again")
    schema = pq.read_schema(path)
    names = list(schema.names)
    _check_names(names)
    # Statistics in Parquet leave NaN out; without can_have_nan they would be trusted and NaN miscounted.
    connection.execute(
        f"CREATE VIEW raw({', '.join(f'c{i}' for i in range(len(names)))}) AS SELECT * FROM "
        f"read_parquet({literal(str(path))}, can_have_nan = true, hive_partitioning = false)"
    )
    coarse = [i for i, field in enumerate(schema) if pa.types.is_timestamp(field.type) and field.type.unit == "ms"]
    try:
        for i in coarse:
            connection.execute(f"SELECT bit_xor(hash(c{i})) FROM raw").fetchall()
    except duckdb.ConversionException:  # a time that the reader has no number for: Arrow reads it
        connection.execute("DROP VIEW raw")
        with pq.ParquetFile(path) as file:  # read_table would load pandas
            return _arrow(connection, file.read())
    _within_calendar(connection)
    return names


def _within_calendar(connection: Any) -> None:
    """Make ``rows`` of ``raw``: times before year 1 or after 9999 become infinite, for some of them stop the engine.

    A time in billionths with a zone is one in millionths, since the engine can do little else with it.
    """
    cells = []
    for name, kind, *_ in connection.execute("DESCRIBE raw").fetchall():
        if kind in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
            within = f"{name} BETWEEN '0001-01-01'::{kind} AND '9999-12-31 23:59:59.999999'::{kind}"
            cells.append(f"CASE WHEN {within} OR {name} IS NULL THEN {name} ELSE 'infinity'::{kind} END AS {name}")
        elif kind == "TIMESTAMPTZ_NS":
            cells.append(f"{name}::TIMESTAMPTZ AS {name}")
        else:
            cells.append(name)
    connection.execute(f"CREATE VIEW rows AS SELECT {', '.join(cells)} FROM raw")


def _arrow_file(path: Path) -> pa.Table:
    memory = pa.memory_map(str(path))
    with suppress(pa.ArrowInvalid):
        return pa.ipc.open_file(memory).read_all()
    memory.seek(0)
    return pa.ipc.open_stream(memory).read_all()


def _arrow(connection: Any, table: pa.Table) -> list[str]:
    names = list(table.column_names)
    _check_names(names)
    connection.register("raw", fitted(table.rename_columns([f"c{i}" for i in range(len(names))])))
    _within_calendar(connection)
    return names


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise TableError("the table has no columns")
    blank = [i for i, name in enumerate(names, 1) if not name.strip()]
    faults = [f"column {i} has no name in the header; name it or remove it" for i in blank]
    repeated = [(name, times) for name, times in Counter(names).items() if times > 1 and name.strip()]
    faults += [f"{times} columns are named {name!r}; rename all but one" for name, times in repeated]
    if faults:
        raise TableError(faults)


def _fields(connection: Any, names: Sequence[str], typed: bool) -> tuple[Field, ...]:
    types = [str(row[1]) for row in connection.execute("DESCRIBE rows").fetchall()]
    return tuple(
        Field(name, hint_of_type(kind) if typed else hint_of_name(name), kind)
        for name, kind in zip(names, types, strict=True)
    )


def hint_of_type(kind: str) -> Hint:
    """The likely kind of a column whose type is declared."""
    if kind == "BOOLEAN":
        return "yesno"
    if kind.startswith(("DATE", "TIMESTAMP")):
        return "date"
    return "number" if re.fullmatch(_NUMBERS, kind) else "category"


def hint_of_name(name: str) -> Hint:
    """The likely kind of a column of which nothing is public but the name.

    >>> hint_of_name("visit_date"), hint_of_name("has_car"), hint_of_name("num_visits"), hint_of_name("region")
    ('date', 'yesno', 'number', 'category')
    """
    plain = name.strip().replace("-", "_")
    return next((hint for hint, pattern in _NAMES_OF if re.fullmatch(pattern, plain, re.IGNORECASE)), "category")


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
