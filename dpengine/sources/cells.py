"""Write cells without a declared type (of a workbook, or Python objects) as texts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from contextlib import suppress
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

import numpy as np
import pyarrow as pa

from dpengine.sources.mixed import member

__all__ = ["MIXED", "cell_text", "object_array", "text_array"]

# Members of a mixed column of objects; what has none of these types is text. Dates are times at midnight.
_TYPES = (pa.bool_(), pa.int64(), pa.decimal128(38, 0), pa.float64(), pa.timestamp("us"))
MIXED = pa.struct([(member(k), kind) for k, kind in enumerate((*_TYPES, pa.large_string()))])
_MAX_DIGITS = 400  # before or after the point, as a 64-bit float may have; with more, the exponent stays
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def cell_text(value: object) -> str | None:
    """Return a cell as text: whole numbers without a point, dates in ISO 8601, booleans as True and False.

    None stands for an empty cell.

    >>> cell_text(3.0), cell_text(Decimal("1.50")), cell_text(dt.date(2024, 1, 5)), cell_text(True)
    ('3', '1.5', '2024-01-05', 'True')
    >>> cell_text(float("nan")) is None
    True
    """
    match value:
        case None:
            return None
        case str():
            text = value
        case float() | np.floating():
            number = float(value)
            if number != number:
                return None
            text = str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
        case _ if type(value).__name__ in ("NaTType", "NAType"):  # missing values of pandas
            return None
        case Decimal():
            if value.is_nan():
                return None
            text = f"{value.normalize(_EXACT):f}" if abs(value.adjusted()) < _MAX_DIGITS else str(value)
        case dt.datetime():
            text = value.date().isoformat() if value.time() == dt.time() and not value.tzinfo else value.isoformat(" ")
        case dt.date() | dt.time():
            text = value.isoformat()
        case bytes():
            text = value.decode("utf-8", "replace")
        case _:
            text = str(value)
    return text.encode("utf-8", "replace").decode()


def text_array(cells: Iterable[object]) -> pa.Array:
    """Return an Arrow array of cells as texts."""
    return pa.array([cell_text(cell) for cell in cells], pa.large_string())


def object_array(cells: Iterable[object], *, mixed: bool = False) -> pa.Array:
    """Return an Arrow array of Python objects: as texts, or as a `mixed` column if there are others, or in any case.

    A cell is read as in a column of its own type, so one object of another type changes nothing for the others.
    """
    cells = list(cells)
    typed = [_typed(cell) for cell in cells]
    if not mixed and all(place is None for place, _ in typed):
        return text_array(cells)
    members = [
        pa.array([value if place == k else None for place, value in typed], kind) for k, kind in enumerate(_TYPES)
    ]
    texts = text_array(cell if place is None else None for cell, (place, _) in zip(cells, typed, strict=True))
    return pa.StructArray.from_arrays([*members, texts], [member(k) for k in range(len(_TYPES) + 1)])


def _typed(cell: object) -> tuple[int | None, object]:
    """Return a cell's place in `_TYPES` and its value; None for the place of a text or a missing cell."""
    match cell:
        case bool() | np.bool_():
            return 0, bool(cell)
        case int() | np.integer():
            whole = int(cell)
            if -(2**63) <= whole < 2**63:
                return 1, whole
            return (2, Decimal(whole)) if abs(whole) < 10**38 else (None, cell)
        case Decimal() if cell.is_finite() and cell.adjusted() < 38 and cell == cell.to_integral_value():
            return _typed(int(cell))
        case Decimal() if cell.is_snan():
            return None, cell
        case float() | np.floating() | Decimal():
            number = float(str(cell))  # 0.7 in 32 bits is 0.7
            return (None, cell) if number != number else (3, number)
        case dt.datetime() if cell_text(cell) is not None:  # which is None for the missing time of pandas
            with suppress(OverflowError):  # of a time outside the calendar, which is no declared one as text either
                naive = cell if cell.tzinfo is None else cell.astimezone(dt.UTC).replace(tzinfo=None)
                return 4, _EPOCH + (naive - _EPOCH) // _MICROSECOND * _MICROSECOND
            return None, cell
        case dt.date() if not isinstance(cell, dt.datetime):
            return 4, dt.datetime.combine(cell, dt.time())
        case _:
            return None, cell
