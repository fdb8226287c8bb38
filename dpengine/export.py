"""Write a release in a form of one's own: a function that gets what was published, and nothing else.

An export is made from a bundle that was verified, never from a table or a ledger, so it has no way to a row.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpengine import discovery
from dpengine.array_types import Columns
from dpengine.bundle.promises import table_files
from dpengine.bundle.verify import verify
from dpengine.errors import ReleaseError
from dpengine.spec.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Export", "Published", "export", "published"]


@dataclass(frozen=True)
class Published:
    """What a verified bundle publishes: its manifest, its plan, its tables, and any of its files."""

    manifest: Mapping[str, Any]
    plan: Plan
    content: bytes

    @cached_property
    def tables(self) -> dict[Columns, pd.DataFrame]:
        """Each published table by its columns: its labels as declared, then the numbers as `release` gives them."""
        return {table: self._table(table, file) for table, file in table_files(self.plan).items()}

    def file(self, name: str) -> bytes:
        """Return the content of a file of the bundle, such as ``synthetic.csv``."""
        with zipfile.ZipFile(io.BytesIO(self.content)) as bundle:
            return bundle.read(name)

    def _table(self, table: Columns, file: str) -> pd.DataFrame:
        import pandas as pd

        frame = pd.read_csv(io.BytesIO(self.file(file)))
        codes = np.unravel_index(np.arange(self.plan.cells(table)), self.plan.shape(table)) if table else ()
        for place, (name, code) in enumerate(zip(table, codes, strict=True)):  # a file marks what looks like a formula
            frame.isetitem(place, np.array(self.plan.column(name).labels, dtype=object)[code])
        return frame


Export: TypeAlias = Callable[[Published, Path], object]


def published(bundle: str | Path | bytes) -> Published:
    """Return what a bundle publishes. Raises `ReleaseError` unless it is whole and consistent."""
    try:
        content = bundle if isinstance(bundle, bytes) else Path(bundle).read_bytes()
    except OSError as error:
        raise ReleaseError(f"the bundle cannot be read ({error.strerror})") from None
    manifest = verify(content)
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        plan = Plan.loads(file.read("plan.yaml").decode())
    return Published(manifest, plan, content)


def export(bundle: str | Path | bytes, form: str | Export, output: str | Path) -> None:
    """Write a verified bundle to `output` in a form of one's own.

    `form` is a function of a `Published` and a path, or the name under which an installed package offers one
    (entry points of the group ``private_release.exports``).

    Raises `ReleaseError` if the bundle is not whole, or if no package offers that form.
    """
    write = discovery.find(discovery.EXPORTS, form) if isinstance(form, str) else form
    if write is None:
        known = ", ".join(discovery.names(discovery.EXPORTS)) or "none is installed"
        raise ReleaseError(f"no installed package offers the form {form!r}; there is: {known}")
    write(published(bundle), Path(output))
