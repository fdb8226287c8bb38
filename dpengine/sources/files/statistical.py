"""Read files of SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt): rows, and descriptions of columns.

Each column is read by the type and the format that the file declares for it, so no row changes how another is read.
Values that the file declares missing are missing. These programs store whole numbers as floats, but export them without
a point: so each number is whole or not independently of others (`mixed`), as in a text file. Dates, and times with a
date, become dates and timestamps; times without a date stay numbers (of seconds, or of milliseconds in Stata), which
can be put into bins.

A file's descriptions of its columns (labels, words for codes) were written by its maker. They are offered to the owner,
who has to confirm them: some programs make such a list of codes from the rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyreadstat

from dpengine.array_types import Floats
from dpengine.errors import TableError
from dpengine.sources.cells import cell_text
from dpengine.sources.files.arrow_file import write_copy
from dpengine.sources.files.text import is_suspicious
from dpengine.sources.mixed import member
from dpengine.sources.relation import check_names
from dpengine.spec.domain import MISSING, OTHER
from dpengine.translation.catalogue import _, mark

__all__ = ["PROGRAMS", "copy_rows", "described"]

PROGRAMS = {
    ".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".dta": "Stata", ".sas7bdat": "SAS", ".xpt": "SAS",
}  # fmt: skip
_READERS = {
    ".sav": pyreadstat.read_sav, ".zsav": pyreadstat.read_sav, ".por": pyreadstat.read_por,
    ".dta": pyreadstat.read_dta, ".sas7bdat": pyreadstat.read_sas7bdat, ".xpt": pyreadstat.read_xport,
}  # fmt: skip
_MIN_CELLS, _MAX_CELLS = 1 << 22, 1 << 25  # of the rows that are read at once
_HONEST = 10  # times the allowed compression of archives: columns of a single code compress better than texts
_MAX_WORDS, _MAX_LETTERS = 10_000, 1_000  # of one column, and of one text about it
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")

_DAY = 86_400  # seconds
_FROM_1582, _FROM_1960 = -141_428, -3_653  # days from 1970-01-01 to the epoch of SPSS, and of the others
_SPSS_DAYS, _SPSS_TIMES = r"[AEJS]?DATE|QYR|MOYR|WKYR", r"DATETIME|YMDHMS"
_SAS_DAYS = (
    r"(DATE|MMDDYY|DDMMYY|YYMMDD)[BCDNPS]?|(MMYY|YYMM)[CDNPS]?|MONYY|YYMON|YYQR?[CDNPS]?|WEEKDAT[EX]|WORDDAT[EX]|"
    r"JULIAN|(IS|E|B)8601DA"
)
_SAS_TIMES = r"DATETIME|DATEAMPM|MDYAMPM|DT(DATE|MONYY|WKDATX|YEAR|YYQC)|(IS|E|B)8601D[NTXZ]"
_STATA_MONTHS = {"m": 1, "q": 3, "h": 6}
_FLOATS = {"float": pa.float32(), "double": pa.float64()}

_EXACT = 2**53  # below it, all integers are exact floats
_FAR, _BEYOND = 10**8, 10**15  # days beyond every calendar, and the value stored for them in any unit
_UNCODED = mark("texts of the file are not in the encoding that it states; state the right one, such as WINDOWS-1252")
_DAMAGED = mark("this is not a whole {program} file; write it again, or export it as CSV")

Days: TypeAlias = Callable[[Floats], Floats]  # a function from stored numbers to days from 1970 on


@dataclass(frozen=True, slots=True)
class _Column:
    """How one column is read, and its description in the file."""

    name: str
    type: pa.DataType
    days: Days | None  # of a date or time
    label: str
    words: list[tuple[str, str]]
    coded: bool  # whether the words cover all of its values, as far as the file says


def copy_rows(path: Path, suffix: str, copy: Path, encoding: str | None) -> dict[str, Any]:
    """Write the rows to `copy`, in columns ``c0``, ``c1``, …; return what `described` returns. Raises `TableError`."""
    columns, used = _columns(path, suffix, encoding)
    schema = pa.schema([(f"c{i}", column.type) for i, column in enumerate(columns)])
    write_copy(copy, schema, _batches(path, suffix, encoding, columns, schema))
    return _as_json(columns, used)


def described(path: Path, suffix: str, encoding: str | None) -> dict[str, Any]:
    """Return names, labels and words for codes of the columns, and the encoding of texts. Raises `TableError`."""
    return _as_json(*_columns(path, suffix, encoding))


def _as_json(columns: Sequence[_Column], encoding: str) -> dict[str, Any]:
    parts = ("name", "label", "words", "coded")
    return {"columns": [{part: getattr(each, part) for part in parts} for each in columns], "encoding": encoding}


def _columns(path: Path, suffix: str, encoding: str | None) -> tuple[list[_Column], str]:
    keeps_marks = {} if suffix in (".por", ".xpt") else {"user_missing": True}
    facts = _read(path, suffix, encoding, metadataonly=True, **keeps_marks)[1]
    names = [name or "" for name in facts.column_names]
    check_names(names)
    columns = []
    for name, label in zip(names, facts.column_labels, strict=True):
        stored = facts.readstat_variable_types[name]
        moments = _moments(suffix, facts.original_variable_types[name] or "") if stored != "string" else None
        kind, days = moments or (_type(stored), None)
        labels = facts.variable_value_labels.get(name, {}) if days is None else {}
        words = _words(labels, stored, facts.missing_ranges.get(name, []))
        coded = bool(words) and facts.variable_measure.get(name) != "scale"
        columns.append(_Column(name, kind, days, _plain(label or ""), words, coded))
    return columns, facts.file_encoding or "UTF-8"


def _type(stored: str) -> pa.DataType:
    if stored in _FLOATS:
        return pa.struct([(member(0), pa.int64()), (member(1), _FLOATS[stored])])
    return pa.large_string() if stored == "string" else pa.int64()


def _words(labels: Mapping[Any, str], stored: str, missing: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return codes, as cells are written, with their words; none if there is only one code.

    Codes for missing values are left out: their cells are read as missing. A word that several codes share is replaced
    by "".

    >>> _words({1.0: "yes", 2.0: "no", 3.0: "n/a", 4.0: "n/a", 9.0: "refused"}, "double", [{"lo": 9.0, "hi": 9.0}])
    [('1', 'yes'), ('2', 'no'), ('3', ''), ('4', '')]
    """
    wanted = str if stored == "string" else (int, float)
    words = {}
    for code, word in labels.items():
        if isinstance(code, wanted) and not any(each["lo"] <= code <= each["hi"] for each in missing):
            text = cell_text(code) or ""
            if text.strip() and text not in (OTHER, MISSING) and not _CONTROL.search(text):
                words[text] = _plain(word)
    times = Counter([OTHER, MISSING, *words.values(), *(code for code, word in words.items() if code != word)])
    clear = [(code, word if times[word] == 1 else "") for code, word in words.items()]
    return clear if 1 < len(clear) <= _MAX_WORDS else []


def _plain(text: str) -> str:
    return " ".join(_CONTROL.sub(" ", text).split())[:_MAX_LETTERS]


def _moments(suffix: str, form: str) -> tuple[pa.DataType, Days] | None:
    """Return the type of a column of dates or times with this format, and its conversion to days; None for others.

    >>> [str(_moments(*column)[0]) for column in ((".sav", "DATE11"), (".dta", "%tc"), (".xpt", "MMDDYY10."))]
    ['date32[day]', 'timestamp[us]', 'date32[day]']
    >>> _moments(".dta", "%tm")[1](np.array([0.0, 13.0])).tolist(), _moments(".sav", "TIME8")
    ([-3653.0, -3256.0], None)
    """
    if PROGRAMS[suffix] == "Stata":
        unit = re.match(r"%-?t?([a-zA-Z])", form)
        return _stata_moments(unit[1]) if unit and (form.startswith(("%t", "%-t")) or unit[1] == "d") else None
    name, spss = re.sub(r"[0-9.]*$", "", form.upper()), PROGRAMS[suffix] == "SPSS"
    if re.fullmatch(_SPSS_TIMES if spss else _SAS_TIMES, name):
        return pa.timestamp("us"), lambda seconds: seconds / _DAY + (_FROM_1582 if spss else _FROM_1960)
    if re.fullmatch(_SPSS_DAYS if spss else _SAS_DAYS, name):
        return pa.date32(), (lambda n: n / _DAY + _FROM_1582) if spss else (lambda n: n + _FROM_1960)
    return None


def _stata_moments(unit: str) -> tuple[pa.DataType, Days] | None:
    if unit in "cC":
        return pa.timestamp("us"), lambda milliseconds: milliseconds / (1000 * _DAY) + _FROM_1960
    if unit == "d":
        return pa.date32(), lambda days: days + _FROM_1960
    if unit in _STATA_MONTHS:
        return pa.date32(), lambda parts: _days_of_months(-120 + parts * _STATA_MONTHS[unit])
    if unit == "w":  # each year has 52 weeks, and the last one is longer
        return pa.date32(), lambda weeks: _days_of_months(-120 + weeks // 52 * 12) + weeks % 52 * 7
    return None


def _days_of_months(months: Floats) -> Floats:
    """Return the days from 1970 on of the first days of months, which are counted from January 1970."""
    near = np.floor(np.clip(months, -_FAR, _FAR)).astype("datetime64[M]")
    return near.astype("datetime64[D]").astype(np.float64)


def _batches(
    path: Path, suffix: str, encoding: str | None, columns: Sequence[_Column], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    size, start, written = path.stat().st_size, 0, 0
    step = max(1, min(max(_MIN_CELLS, size), _MAX_CELLS) // len(columns))
    while True:
        columns_read = _read(path, suffix, encoding, row_limit=step, row_offset=start)[0]
        if columns_read.keys() != {column.name for column in columns}:
            raise TableError(_("the file does not say twice the same of its columns; write it again"))
        batch = pa.record_batch([_array(column, columns_read.pop(column.name)) for column in columns], schema=schema)
        written += batch.nbytes
        if is_suspicious(_HONEST * size, written):
            raise TableError(
                _("the file unpacks to far more than its size; export it as CSV or Parquet if it is sound")
            )
        yield batch
        if batch.num_rows < step:
            return
        start += step


def _array(column: _Column, cells: list[Any]) -> pa.Array:
    if pa.types.is_integer(column.type) or pa.types.is_large_string(column.type):
        return pa.array(cells, column.type)
    stored = np.array(cells, dtype=np.float64)
    missing = np.isnan(stored)
    if column.days is None:
        whole = (np.floor(stored) == stored) & (abs(stored) < _EXACT)
        numbers = (
            pa.array(np.where(whole, stored, 0).astype(np.int64), mask=~whole),
            pa.array(stored, mask=missing | whole),
        )
        parts = [part.cast(each.type) for part, each in zip(numbers, column.type, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(column.type))
    near = np.clip(column.days(np.clip(np.where(missing, 0, stored), -_BEYOND, _BEYOND)), -_FAR, _FAR)
    if column.type == pa.date32():
        return pa.array(np.floor(near).astype(np.int32), pa.int32(), mask=missing).cast(column.type)
    milliseconds = np.round(near * (_DAY * 1000)).astype(np.int64)
    return pa.array(milliseconds * 1000, column.type, mask=missing)


def _read(path: Path, suffix: str, encoding: str | None, **how: Any) -> tuple[dict[str, list[Any]], Any]:
    if suffix != ".por" and encoding:
        how["encoding"] = encoding
    try:
        result: tuple[dict[str, list[Any]], Any] = _READERS[suffix](
            str(path), output_format="dict", disable_datetime_conversion=True, **how
        )
    except UnicodeError:
        raise TableError(_(_UNCODED)) from None
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        about_texts = re.search("convert|charset|encoding", str(error))
        raise TableError(_(_UNCODED) if about_texts else _(_DAMAGED, program=PROGRAMS[suffix])) from None
    except (ValueError, OverflowError, LookupError, TypeError):
        raise TableError(_(_DAMAGED, program=PROGRAMS[suffix])) from None
    return result
