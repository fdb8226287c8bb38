"""Compare the descriptions for portals and the Parquet tables of a release file with the rest of it.

They are computed again from the plan, the manifest and the CSV tables, which were checked before, and compared byte by
byte. Another version of the writer may pack a Parquet table into other bytes. So a Parquet file that differs is read,
in a process of its own: it may come from a stranger, and its readers are large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpengine.bundle.archive import Archive
from dpengine.bundle.checks import sizes
from dpengine.bundle.portals import descriptions
from dpengine.bundle.promises import PORTALS, parquet_name, table_files
from dpengine.isolation.run import Limits, ProcessEnded, run
from dpengine.isolation.scratch import ScratchFolder
from dpengine.spec.plan import Plan

__all__ = ["wrong_portals"]

_LIMITS = Limits(memory=1 << 31, seconds=30, disk=0)


def wrong_portals(members: Archive, manifest: Mapping[str, Any], plan: Plan, *, isolated: bool) -> Iterator[str]:
    """Yield the faults of these files; with `isolated`, this process may itself read a stranger's file."""
    later = {*PORTALS, "manifest.json"}
    earlier = {name: sealed for name, sealed in manifest["files"].items() if name not in later}
    for name, text in descriptions.texts(plan, {**manifest, "files": earlier}).items():
        if members.read(name, sizes.PROSE_BYTES) != text:
            yield f"{name} does not follow from the manifest"
    from dpengine.bundle.portals import parquet  # loaded only where a bundle has such files

    facts, most = parquet.facts(manifest), sizes.manifest_bytes(plan)
    for table, file in table_files(plan, manifest["schema_version"]).items():
        name = parquet_name(file)
        expected = parquet.from_csv(
            plan, table, facts(table), members.pieces(file, sizes.file_bytes(plan, file, table))
        )
        member = members.read(name, sizes.file_bytes(plan, name, table) + most)
        if member != expected and not _same(member, expected, isolated=isolated):
            yield f"{name} is not the table of {file}"


def _same(file: bytes, expected: bytes, *, isolated: bool) -> bool:
    """Return whether two Parquet files hold the same table, whatever their bytes."""
    if isolated:
        from dpengine.bundle.portals import parquet

        return parquet.is_same_table(file, expected)
    folder = ScratchFolder()
    try:
        paths = {"actual": folder.path / "actual.parquet", "expected": folder.path / "expected.parquet"}
        paths["actual"].write_bytes(file)
        paths["expected"].write_bytes(expected)
        return bool(
            run("dpengine.bundle.checks.portal_check:same_files", {k: str(v) for k, v in paths.items()}, _LIMITS)
        )
    except ProcessEnded:
        return False
    finally:
        folder.discard()


def same_files(actual: str, expected: str) -> bool:
    """Return whether two Parquet files hold the same table."""
    return _same(Path(actual).read_bytes(), Path(expected).read_bytes(), isolated=True)
