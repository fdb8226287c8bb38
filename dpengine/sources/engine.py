"""A private engine for the rows of one table, in memory; started only when it is needed, which takes a moment."""

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
    """An engine and a folder of its own; ``prepare`` is done to the connection as soon as there is one."""

    def __init__(self, prepare: Callable[[Any], object] = lambda connection: None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="private-release-"))
        self._prepare = prepare
        self._connection: Any = None

    def connection(self) -> Any:
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
        """Break off what it is at. Raises `duckdb.Error` where it is discarded."""
        if self._connection is not None:
            self._connection.interrupt()

    def discard(self) -> None:
        """Stop it and remove the folder."""
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
    # Of rows on their way to us: with the usual megabyte the engine waits most of the time.
    connection.execute("SET streaming_buffer_size = '16MB'")
    # The first rewrite makes bounding rows a person three times slower; the next two could turn
    # a stream of rows probing a small list of values into a table of rows held in memory; the last one
    # works out for every row what a CASE needs for few, if it is written there twice.
    connection.execute(f"SET disabled_optimizers = {literal(','.join(_REWRITES))}")
    return connection
