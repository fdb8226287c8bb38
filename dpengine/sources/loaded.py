"""The result of opening a source: its relation `rows` in an engine, and facts about it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import pyarrow as pa

from dpengine.sources.dataframe import from_pandas, kinds_of_objects
from dpengine.sources.engine import Engine
from dpengine.sources.relation import from_arrow, known_types, plain_arrow
from dpengine.sources.table import TextFile, plain_errors

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["Loaded", "in_memory", "is_ibis", "object_labels", "of_rows", "read_by_engine"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Facts about the relation `rows` and its source."""

    names: list[str]
    typed: bool = True  # whether its types were declared
    files: tuple[Path, ...] = ()  # still read when rows are counted
    rows: int | None = None
    frame: pa.Table | None = None  # the rows, if they are in memory
    read_how: tuple[str, Mapping[str, str]] = ("", {})  # how texts were read
    labels: tuple[dict[str, Any], ...] = ()  # those of the columns in the file itself
    text: TextFile | None = None  # the file with the rows, if it is a text table
    parquet: Path | None = None  # if it is a single Parquet file
    types: Sequence[str] | None = None  # if they are known without the relation, which is then made when needed


def of_rows(engine: Engine, names: list[str], frame: pa.Table, **more: Any) -> Loaded:
    """Return a table whose rows are in memory, or in a copy that is mapped into memory; the engine need not start."""
    engine.prepare = lambda connection: from_arrow(connection, frame)
    return Loaded(names, rows=frame.num_rows, frame=frame, types=known_types(frame.schema), **more)


def read_by_engine(loaded: Loaded, **changes: Any) -> Loaded:
    """Return a table that only the engine can read, since its `rows` are made from those of the source."""
    return replace(loaded, frame=None, text=None, parquet=None, types=None, **changes)


def is_ibis(source: object) -> TypeGuard[ir.Table]:
    """Whether a source is an Ibis table."""
    # Ibis loads slowly, like pandas; a caller who passes its table has loaded it.
    return isinstance(source, getattr(sys.modules.get("ibis.expr.types"), "Table", ()))


def object_labels(source: object) -> tuple[dict[str, Any], ...]:
    """Return labels of columns with cells of a pandas frame that are read as Python writes them, if there are some."""
    frames: Any = getattr(sys.modules.get("pandas"), "DataFrame", ())
    kinds = kinds_of_objects(source) if isinstance(source, frames) else []
    return tuple({"label": "", "words": (), "coded": False, "objects": kind} for kind in kinds) if any(kinds) else ()


def in_memory(source: object) -> tuple[list[str], pa.Table] | None:
    """Return the names of the columns and the rows of a source in memory; None for other sources."""
    # pandas loads slowly. A caller who passes a frame has loaded it; another thread may be loading it just now.
    frames = getattr(sys.modules.get("pandas"), "DataFrame", ())
    with plain_errors():
        if isinstance(source, frames):
            source = from_pandas(source)
        elif hasattr(source, "__arrow_c_stream__") and not (isinstance(source, pa.Table) or is_ibis(source)):
            try:
                stream = pa.RecordBatchReader.from_stream(source)  # from polars, DuckDB and others
            except pa.ArrowInvalid:  # one column is no table
                return None
            source = stream.read_all()
        return plain_arrow(source) if isinstance(source, pa.Table) else None
