"""Real database servers for tests and benchmarks: started on this machine, for this run alone."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg

# What is thrown away need not survive a power cut; a plain collation compares as the tables' own would not.
_SETTINGS = (
    "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off", "listen_addresses=127.0.0.1",
)  # fmt: skip


@contextmanager
def spark(*, connect: bool = False) -> Iterator[Any]:
    """Spark on this machine alone, in two threads: a session in this process, or one that `connect` reaches by gRPC."""
    from pyspark.sql import SparkSession

    assert shutil.which("java"), "Java is not installed; on Debian and Ubuntu: apt-get install default-jre-headless"
    home = tempfile.mkdtemp(prefix="private-release-spark-")
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": home, "spark.driver.memory": "2g",
        "spark.local.dir": home, "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # of a run this short, compiling more is the half
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # settings of the server, which a client passes on in vain as well
        builder = SparkSession.builder.remote("local[2]") if connect else SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def postgres(folder: Path | None = None) -> Iterator[str]:
    """A PostgreSQL server on a free port of loopback; gives its address, as SQLAlchemy and Ibis write it.

    Its files are in a folder of their own in `folder`, by default among the system's temporary ones.
    """
    programs = _programs()
    home = Path(tempfile.mkdtemp(prefix="private-release-postgres-", dir=folder))
    # The server refuses to run as root, so there it runs as the account that its package made.
    account = "postgres" if os.geteuid() == 0 else None
    if account:
        shutil.chown(home, account)
    data, port = home / "data", _free_port()
    how = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
    make: list[str | Path] = [programs / "initdb", "-D", data, *how]
    done = subprocess.run(make, user=account, capture_output=True, text=True, cwd=home, check=False)
    assert done.returncode == 0, f"PostgreSQL cannot make a database: {done.stderr}"
    options = [part for setting in (*_SETTINGS, f"port={port}", f"unix_socket_directories={home}")
               for part in ("-c", setting)]  # fmt: skip
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *options], user=account, cwd=home, stdout=log, stderr=log
        )
    try:
        _await(f"host=127.0.0.1 port={port} user=postgres", server, home / "log")
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)  # SIGTERM would wait for clients to leave
        server.wait(30)
        shutil.rmtree(home)


@contextmanager
def clickhouse() -> Iterator[Any]:
    """ClickHouse in this process (`chdb`), as Ibis's own driver reaches it: over HTTP, on a free port of loopback."""
    import ibis
    from chdb.session import Session

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            options = parse_qs(urlsplit(self.path).query)
            sent = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
            statement = "\n".join([*options.get("query", []), sent])
            try:
                with lock:
                    answer = session.query(statement, options.get("default_format", ["TabSeparated"])[0]).bytes() or b""
                status = 200
            except RuntimeError as error:
                answer, status = str(error).encode(), 500
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_said: object) -> None:
            pass

    lock = threading.Lock()
    with (
        tempfile.TemporaryDirectory(prefix="private-release-clickhouse-") as home,
        Session(home) as session,
        ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield ibis.clickhouse.connect("127.0.0.1", server.server_port, user="default", password="")
        server.shutdown()


def _programs() -> Path:
    """The folder of the newest PostgreSQL; distributions keep the server's programs off the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    onpath = shutil.which("initdb")
    assert folders or onpath, "PostgreSQL is not installed; on Debian and Ubuntu: apt-get install postgresql"
    return folders[-1] if folders else Path(str(onpath)).resolve().parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            alive = server.poll() is None and time.monotonic() < deadline
            assert alive, f"PostgreSQL does not start: {log.read_text()}"
            time.sleep(0.05)
