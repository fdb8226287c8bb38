"""An export: the published tables in a SQLite database, each with a name such as "age × region".

The package's pyproject.toml declares it by the name that --as takes:

    [project.entry-points."private_release.exports"]
    sqlite = "to_sqlite:write"
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from dpengine.export import Published


def write(published: Published, path: Path) -> None:
    """Write a new database with a table `manifest` and one table for each that was published."""
    with path.open("xb"):  # what is there stays as it is
        pass
    facts = {"release_id": published.manifest["release_id"], **published.manifest["guarantee"]}
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE manifest (field TEXT, value TEXT)")
        database.executemany("INSERT INTO manifest VALUES (?, ?)", [(key, str(fact)) for key, fact in facts.items()])
        for table, frame in published.tables.items():
            frame.to_sql(" × ".join(table) or "total", database, index=False)
