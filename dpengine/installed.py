"""Locate the page and the sample tables in a checkout or in an installed package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from dpengine.errors import PrivateReleaseError

__all__ = ["DEMO", "copy_samples", "run_page"]

DEMO = "PRIVATE_RELEASE_DEMO"  # tells the page's server that it is a demonstration
SAMPLES = (
    "README.md", "census.codebook.yaml", "census.parquet", "census.plan.yaml",
    "rand.codebook.yaml", "rand.csv.gz", "rand.plan.yaml",
)  # fmt: skip


def page_folder() -> Path:
    """Return the folder that holds `app.py`, `pages` and `data`.

    The wheel installs them in `private_release_page` beside `dpengine`; in a checkout they are beside it.
    """
    beside = Path(__file__).parents[1]
    installed = beside / "private_release_page"
    return installed if installed.is_dir() else beside


def page_command(options: Sequence[str] = ()) -> list[str]:
    """Return the command that serves the page.

    Raises `PrivateReleaseError` if the packages of the page are not installed.
    """
    if find_spec("streamlit") is None:
        raise PrivateReleaseError("the page is not installed: run pip install '.[page]' in this program's folder")
    return [sys.executable, "-m", "streamlit", "run", str(page_folder() / "app.py"), *options]


def run_page(options: Sequence[str] = (), *, demo: bool = False) -> NoReturn:
    """Serve the page until it is stopped; if the system allows it, the server replaces this process.

    A `demo` accepts no files and stores nothing.

    The server runs in the current folder, so relative addresses of ledgers and an operator's
    `.streamlit/secrets.toml` are found there.
    """
    command = page_command(options)
    path = os.pathsep.join(filter(None, (str(page_folder()), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path} | ({DEMO: "1"} if demo else {})
    if os.name == "posix":
        os.execve(command[0], command, environment)  # signals reach the server itself
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)


def copy_samples(folder: Path) -> list[Path]:
    """Copy the sample tables, their codebooks and plans into `folder`, and return the new files.

    Raises `PrivateReleaseError` if one of them exists there already, or if the folder cannot be written.
    """
    source = page_folder() / "data"
    targets = [folder / name for name in SAMPLES]
    taken = [target.name for target in targets if target.exists()]
    if taken:
        raise PrivateReleaseError(f"{taken[0]} is already in that folder: choose an empty one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target in targets:
            shutil.copyfile(source / target.name, target)
    except OSError:
        raise PrivateReleaseError("that folder cannot be written: choose another one") from None
    return targets
