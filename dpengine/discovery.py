"""Find plugins of other installed packages by the entry points that they declare."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from dpengine.errors import PrivateReleaseError

__all__ = ["EXPORTS", "SOURCES", "find", "names"]

SOURCES = "private_release.sources"  # the ending of a file, such as "fixed" → a function from its path to a table
EXPORTS = "private_release.exports"  # a name for the command line → a function of a published release


def names(group: str) -> list[str]:
    """Return the names that installed packages declare in a group of entry points, sorted.

    >>> names("private_release.nothing")
    []
    """
    return sorted(entry_points(group=group).names)


def find(group: str, name: str) -> Any | None:
    """Return the plugin that an installed package declares under this name; None if there is none.

    Raises `PrivateReleaseError` if several packages do: the choice must not depend on the order of installation.
    """
    plugins = {each.value: each for each in entry_points(group=group, name=name)}
    if len(plugins) > 1:
        raise PrivateReleaseError(f"several installed packages offer {name!r} ({group}); keep one of them")
    return next(iter(plugins.values())).load() if plugins else None
