"""A private in-memory engine for the rows of one table, started only when it is needed, since that takes a moment."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from dpengine.sql import literal

__all__ = ["Engine"]

_REWRITES = ("top_n_window_elimination", "join_order", "build_side_probe_side", "common_subexpressions")


class Engine:
    """An engine with a folder of its own; `prepare` is called with its connection as soon as there is one."""

    def __init__(self, prepare: Callable[[Any], object] = lambda connection: None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="private-release-"))
        self._prepare = prepare
        self._connection: Any = None

    def connection(self) -> Any:
        """Return the connection, and start the engine for it where it is the first."""
        if self._connection is None:
            connection = _started(self.folder)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def interrupt(self) -> None:
        """Cancel the running query. Raises `duckdb.Error` where the engine was discarded."""
        if self._connection is not None:
            self._connection.interrupt()

    def discard(self) -> None:
        """Stop the engine and remove its folder."""
        if self._connection is not None:
            self._connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _started(folder: Path) -> Any:
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
            "temp_directory": str(folder / "spill"),
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    # For rows on their way to Python: with the default of one megabyte the engine waits most of the time.
    connection.execute("SET streaming_buffer_size = '16MB'")
    # The first rewrite makes contribution bounding three times slower. The next two could turn a stream of rows that
    # probes a small list of values into a table of rows in memory. The last one computes for every row what a CASE
    # needs for few, if it is written there twice.
    connection.execute(f"SET disabled_optimizers = {literal(','.join(_REWRITES))}")
    return connection
