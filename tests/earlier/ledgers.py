"""Copies of the ledger that version 0.1.0 wrote."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import psycopg

FOLDER = Path(__file__).parent / "v0_1_0"


def in_a_file(folder: Path) -> str:
    """Copy the ledger into `folder`; return its address."""
    return f"sqlite:///{shutil.copy(FOLDER / 'ledger.sqlite', folder / 'old.db')}"


def on_a_server(server: str) -> str:
    """Restore its dump into a new database on a PostgreSQL server; return its address."""
    name = f"old_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    address = f"{server.rpartition('/')[0]}/{name}"
    with psycopg.connect(address) as connection:
        connection.execute((FOLDER / "ledger.postgresql.sql").read_bytes())
    return address
