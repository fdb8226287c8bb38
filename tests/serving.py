"""The app served for a while, for the tests of the browser and for benchmarks of the page."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PATIENCE = 120.0  # seconds that a start may take on a busy machine


@dataclass(frozen=True, slots=True)
class Served:
    """A running app: where it answers, its process, and the folder that its files are made in."""

    address: str
    process: subprocess.Popen[bytes]
    files: Path

    def uploads(self) -> list[Path]:
        """Uploaded files on the server. A folder that is deleted meanwhile has none; `Path.rglob` would raise."""
        return [Path(path) for path in glob.glob(f"{self.files}/**/table.*", recursive=True)]

    def processor(self) -> float:
        """Seconds of processor time so far (Linux)."""
        spent = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory in MB (Linux)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


@contextmanager
def served(
    folder: Path,
    secrets: str = "",
    *,
    program: Sequence[str] = (sys.executable, "-m", "streamlit", "run", "app.py"),
    cwd: Path = ROOT,
    **environment: str,
) -> Iterator[Served]:
    """Serve the app with a ledger of its own, all its files in `folder`; end it gently, so that it can clear away.

    `secrets` is what an operator would write to `.streamlit/secrets.toml`. `program` is run in `cwd`.

    Raises RuntimeError, with what the server said, where it does not come up.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (files := folder / "files").mkdir(exist_ok=True)
    settings = {
        "PRIVATE_RELEASE_LEDGER": f"sqlite:///{folder / 'ledger.db'}",
        "PRIVATE_RELEASE_STATE": str(folder / "state"),
        "TMPDIR": str(files),
    }
    command = [*program, "--server.port", str(port), "--server.headless", "true"]
    if secrets:
        (folder / "secrets.toml").write_text(secrets)
        command += ["--secrets.files", str(folder / "secrets.toml")]
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=cwd, env=os.environ | settings | environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        try:
            if not _comes_up(port, process):
                raise RuntimeError(f"the app did not start:\n{log.read_text()}")
            yield Served(f"http://localhost:{port}", process, files)
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def chromium() -> str:
    """Return the path of Chromium. Raises RuntimeError if there is none."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("PRIVATE_RELEASE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not path:
        raise RuntimeError("no Chromium: install it, or name it in PRIVATE_RELEASE_CHROMIUM")
    return path


def _comes_up(port: int, process: subprocess.Popen[bytes]) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy knows this machine's localhost
    patient_until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < patient_until:
        try:
            with direct.open(f"http://localhost:{port}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return True
        except OSError:
            time.sleep(0.1)
    return False
