"""What a reader gets to read: the report, one page that opens without any network, and the README."""

from __future__ import annotations

from typing import Any

from dpengine.result import Result

__all__ = ["read_me", "render"]


def render(result: Result, told: dict[str, Any]) -> str:
    """The report of ``result`` as a self-contained HTML page; ``told`` is its manifest."""
    return f"<!doctype html><html lang='en'><title>Report</title><p>Release {result.release_id}</p></html>\n"


def read_me(result: Result, told: dict[str, Any]) -> str:
    """How to use the files, in plain words."""
    return f"Release {result.release_id}\n"
