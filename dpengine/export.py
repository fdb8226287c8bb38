"""Export a release in a custom format by a function that gets only what was published.

An export is made from a verified bundle, never from a table or a ledger, so it cannot reach a row.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpengine import discovery, safe_csv
from dpengine.array_types import Columns
from dpengine.bundle.archive import opened
from dpengine.bundle.found_file import plan_in
from dpengine.bundle.promises import table_files
from dpengine.bundle.verify import verify
from dpengine.bundle.workbook import workbook
from dpengine.errors import ReleaseError
from dpengine.results.published_columns import header, number_type
from dpengine.results.views.published import PublishedTables, no_table
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import mark, speaking

__all__ = ["OWN", "Export", "Published", "export", "of_verified", "published"]


@dataclass(frozen=True, repr=False)
class Published(PublishedTables):
    """The content of a verified bundle: its manifest, its plan, its tables, and any of its files.

    Its tables are available as in a `Release`: as data frames, in Arrow, and all of them as one stream.
    """

    what: ClassVar[str] = mark("Release")
    manifest: Mapping[str, Any]
    plan: Plan
    content: bytes

    def file(self, name: str) -> bytes:
        """Return the content of a file of the bundle, such as ``synthetic.csv``. Raises KeyError if there is none."""
        return self._archive.read(name)

    def of_tally(self, tally: int) -> Published:
        """Return the content restricted to the tables of one of the plan's tallies: all of it, if there is only one."""
        return _PublishedTally.of(self, tally) if self.plan.has_distinct else self

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        """The open bundle: its list of files is as long as that of its tables, so it is read once."""
        return zipfile.ZipFile(io.BytesIO(self.content))

    @cached_property
    def _files(self) -> dict[Columns, str]:
        return table_files(self.plan, self.manifest["schema_version"])

    def numbers(self, table: Columns) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of numbers of a published table by name, as its file holds them."""
        if table not in self._files:
            raise no_table(table, self._files)
        names = header(self.plan, table)
        blocks = list(safe_csv.read_blocks([self.file(self._files[table])], names))
        types = {name: pa.from_numpy_dtype(number_type(name)) for name in names[len(table) :]}
        return {
            name: np.concatenate([safe_csv.read_numbers(block[index], type_) for block in blocks])
            for index, (name, type_) in enumerate(types.items(), start=len(table))
        }

    def half_width(self, table: Columns) -> float:
        """Return the 95 % half-width of a cell of `table`, the widest if they differ."""
        widths = {(*each["columns"],): each["half_width_95"] for each in self.manifest["tables"]}
        if table not in widths:
            raise no_table(table, widths)
        return float(widths[table])


@dataclass(frozen=True, repr=False)
class _PublishedTally(Published):
    """The tables of one tally of a bundle, whose plan and measurements are those of this tally alone."""

    whole: Published

    @classmethod
    def of(cls, whole: Published, tally: int) -> Published:
        which = whole.plan.tallies[tally]
        measured = [each for each in whole.manifest["measurements"] if each.get("cells_per_person") == which.cells]
        return cls({**whole.manifest, "measurements": measured}, which.plan, whole.content, whole)

    def numbers(self, table: Columns) -> dict[str, npt.NDArray[Any]]:
        return self.whole.numbers(table)


Export: TypeAlias = Callable[[Published, Path], object]


def _write_workbook(published: Published, path: Path) -> None:
    with speaking(published.plan.language):
        path.write_bytes(workbook(published, published.manifest["release_id"]))


OWN: Mapping[str, Export] = {"xlsx": _write_workbook}  # the forms that need no other package


def published(bundle: str | Path | bytes, key: str | None = None) -> Published:
    """Verify a bundle and return its content, for its readers.

    With an expected `key`, the bundle must be signed by it: see `verify`. Raises `ReleaseError` unless it is whole and
    consistent.
    """
    if not isinstance(bundle, str | Path | bytes):
        raise ReleaseError("a release file is given as its path or its bytes")
    try:
        content = bundle if isinstance(bundle, bytes) else Path(bundle).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: no path may hold NUL
        problem = getattr(error, "strerror", None) or "this is no name of a file"
        raise ReleaseError(f"the bundle cannot be read ({problem})") from None
    return of_verified(verify(content, key), content)


def of_verified(manifest: Mapping[str, Any], content: bytes) -> Published:
    """Return the content of a bundle that was verified before, with the manifest that this gave."""
    with opened(content) as members:
        return Published(manifest, plan_in(members), content)


def export(bundle: str | Path | bytes, form: str | Export, output: str | Path) -> None:
    """Write a verified bundle to `output` in a custom format.

    `form` is ``xlsx``, for a workbook with a sheet for each table; a function of a `Published` and a path; or the name
    under which an installed package declares one (entry points of the group ``private_release.exports``).

    Raises `ReleaseError` if the bundle is not whole, or if no package offers that form.
    """
    write = (OWN.get(form) or discovery.find(discovery.EXPORTS, form)) if isinstance(form, str) else form
    if write is None:
        known = ", ".join((*OWN, *discovery.names(discovery.EXPORTS)))
        raise ReleaseError(f"no installed package offers the form {form!r}; there is: {known}")
    write(published(bundle), Path(output))
