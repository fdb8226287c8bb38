"""SQL of the clock of a zone: one list of instants, so that all engines agree, whatever zone data they have."""

from __future__ import annotations

import datetime as dt

from dpengine.counting.encoding.bin_boundaries import Boundaries, Scalar
from dpengine.counting.encoding.coding import boundary_tree, scalar
from dpengine.sources.databases.dialects import Dialect
from dpengine.sources.mixed import ZONED
from dpengine.spec.domain import Column, Date, Time
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.zones import Offsets, offsets

__all__ = ["has_clock", "local_seconds", "local_time"]

_EPOCH = dt.datetime(1970, 1, 1)


def has_clock(column: Column | Grid, type_name: str) -> bool:
    """Return whether values of a type are instants that count by the clock of the column's zone."""
    return isinstance(column, Date | Time) and column.zone is not None and type_name == ZONED


def local_time(column: Date | Time, utc: str, dialect: Dialect) -> str:
    """Write the local time of an instant, given as a timestamp in UTC; null where the clock is not known."""
    clock = _offsets_of(column)
    changes = tuple(_timestamp(each) for each in clock.changes)
    ahead = boundary_tree(Boundaries(changes, clock.ahead, 0), utc, "TIMESTAMP", dialect)
    first, end = (scalar(_timestamp(each), "TIMESTAMP", dialect) for each in (clock.first, clock.end))
    moved = dialect.add_seconds.format(x=utc, n=ahead)
    return f"CASE WHEN {utc} >= {first} AND {utc} < {end} THEN {moved} END"


def local_seconds(column: Date | Time, utc: str, dialect: Dialect) -> str:
    """Write the local time of an instant; both are seconds since 1970. Null where the clock is not known."""
    clock = _offsets_of(column)
    ahead = boundary_tree(Boundaries(clock.changes, clock.ahead, 0), utc, "BIGINT", dialect)
    return f"CASE WHEN {utc} >= {clock.first} AND {utc} < {clock.end} THEN {utc} + {ahead} END"


def _offsets_of(column: Date | Time) -> Offsets:
    """Return the offsets that the cells of a column depend on."""
    assert column.zone is not None
    return offsets(column.zone, column.first, column.last) if isinstance(column, Date) else offsets(column.zone)


def _timestamp(instant: int) -> Scalar:
    return _EPOCH + dt.timedelta(seconds=instant)
