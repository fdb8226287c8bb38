"""A private in-memory DuckDB for the rows of one table, started on first use, since starting takes a moment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpengine.isolation.scratch import ScratchFolder
from dpengine.sql import literal

__all__ = ["Engine", "connect"]

_REWRITES = ("top_n_window_elimination", "join_order", "build_side_probe_side", "common_subexpressions")


class Engine:
    """DuckDB with its own folder; `prepare`, which may be replaced, is called with the connection once it is open."""

    def __init__(self, prepare: Callable[[Any], object] = lambda connection: None) -> None:
        self._scratch = ScratchFolder()
        self.folder = self._scratch.path
        self.prepare = prepare
        self._connection: Any = None

    def connection(self) -> Any:
        """Return the connection; the first call opens it."""
        if self._connection is None:
            connection = connect(self.folder)
            try:
                self.prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def interrupt(self) -> None:
        """Cancel the running query, if there is one."""
        if self._connection is None:
            return
        import duckdb

        with suppress(duckdb.Error):  # the engine was discarded: nothing is running
            self._connection.interrupt()

    def discard(self) -> None:
        """Stop the engine and remove its folder."""
        if self._connection is not None:
            self._connection.close()
        self._scratch.discard()


def connect(folder: Path, *, threads: int | None = None) -> Any:
    """Start DuckDB with the settings for reading tables; it spills to `folder` what does not fit into memory.

    It uses `threads`, by default one for each processor.
    """
    import duckdb  # takes a while to load, and many files are counted without it

    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
            "temp_directory": str(folder / "spill"),
            **({} if threads is None else {"threads": threads}),
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    # A progress bar would be drawn on standard output, which programs read. In Jupyter, the setting is an error if the
    # package that draws bars is missing; then it is off.
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (True,):
        connection.execute("SET enable_progress_bar = false")
    # The buffer for rows streamed to Python: with the default of one megabyte, the engine mostly waits.
    connection.execute("SET streaming_buffer_size = '16MB'")
    # The first rewrite makes contribution bounding three times slower. The next two may load all rows into memory if a
    # stream of rows is joined with a short list of values. The last one computes a repeated expression in a CASE for
    # every row, although few rows need it.
    connection.execute(f"SET disabled_optimizers = {literal(','.join(_REWRITES))}")
    return connection
