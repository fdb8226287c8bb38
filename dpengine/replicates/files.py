"""Replicates as files for readers, made from a finished release or from its bundle: the same bytes from both."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpengine import safe_csv
from dpengine.array_types import Columns, Floats
from dpengine.bundle import archive
from dpengine.bundle.archive import Piece, Source
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.bundle.promises import table_files
from dpengine.bundle.read import Manifest, read_manifest
from dpengine.errors import ReleaseError
from dpengine.estimate.model_intervals import mean_errors
from dpengine.export import Published, published
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_model import modelled
from dpengine.replicates.basis import Basis, basis_of, check_tallies
from dpengine.replicates.draw import DRAWS, replicate, replicate_amounts
from dpengine.replicates.guide import read_me
from dpengine.results.published_columns import NUMBERS, cell_codes, published_name
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["basis_from", "draw_replicates", "pack"]

COMPRESSION = 4
NAMES = [f"r{k}" for k in range(DRAWS + 1)]


def draw_replicates(source: Result | Source, tables: Sequence[Columns] | None = None) -> dict[Columns, pd.DataFrame]:
    """Return replicates of a release for intervals of your own sums, differences and regressions.

    `source` is a release, or its bundle: a path, bytes or an open file, which is verified first. `tables` are all
    published ones and the total, or those named. Each is a data frame with one row a cell: its labels, the estimate as
    `r0`, and `DRAWS` replicates as `r1`, `r2`, …. For each amount with a mean or a sum, `known_…_r0` and so on are the
    people whose amount is known, and `sum_…_r0` its sum: a mean is the one divided by the other, in each replicate. See
    `replicates.draw` for what they are; they cost no privacy.

    Raises `ReleaseError` for a bundle that is not whole, or whose boxes are not in it, and for too many cells.

    >>> import dpengine as dpe
    >>> plan = dpe.Plan(dataset="demo", epsilon="1", columns=[dpe.YesNo(name="smokes")], tables=[["smokes"]])
    >>> drawn = draw_replicates(dpe.preview(plan))["smokes",]
    >>> drawn.shape, list(drawn.columns[:3])
    ((4, 52), ['smokes', 'r0', 'r1'])
    """
    import pandas as pd

    basis = _basis(source)
    frames = {}
    for table, numbers in _drawn(basis, tables):
        labels = {
            published_name(name, (*NUMBERS, *numbers)): np.array(basis.plan.column(name).labels, dtype=object)[codes]
            for name, codes in zip(table, cell_codes(basis.plan, table), strict=True)
        }
        frames[table] = pd.DataFrame(labels | numbers)
    return frames


def basis_from(release: Published) -> Basis:
    """Return the input of the replicates of a verified bundle.

    Raises `ReleaseError` for a release whose boxes of cells were measured: these are not in its file.
    """
    plan = release.plan
    if plan.ranged and estimator(plan) is not Estimator.LEAST_SQUARES:
        raise ReleaseError(
            _(
                "replicates of a release for ranges can be made by its publisher alone: the measured boxes of "
                "cells are not in this file"
            )
        )
    check_tallies(plan)
    model = modelled(plan) if plan.in_parts else plan.finest if estimator(plan) is Estimator.MODEL else None
    if model is not None and plan.finest is not plan and not {*model.marginals} <= {*plan.marginals}:
        raise ReleaseError(
            _(
                "replicates of this release can be made by its publisher alone: a model was fitted at the finest "
                "levels of its columns, and some tables at these are not in this file"
            )
        )
    checked = read_manifest(json.dumps(release.manifest).encode())[1]
    allocations = tuple(
        Allocation(tuple(entry.columns), Fraction(entry.epsilon), entry.sensitivity, entry.units_per_row)
        for entry in checked.measurements
        if entry.purpose is None and entry.merged_to is None
    )
    errors = None if model is None or max(map(len, model.marginals)) < 2 else _mean_errors_of_model(checked)

    def estimate(table: Columns) -> Floats:
        columns = plan.by_columns[frozenset(table)]
        estimates = release.numbers(columns)["estimate"].reshape(plan.shape(columns))
        return Marginal(columns, estimates).project(table).values

    return Basis(plan, checked.release_id, allocations, estimate, release.numbers, errors)


def pack(source: Result | Source) -> bytes:
    """Return a zip file with the replicates of all tables of a release, and how to use them.

    `source` is as for `draw_replicates`. Equal releases give equal bytes.
    """
    basis = _basis(source)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as file:
        archive.add(file, "README.txt", [read_me(basis).encode()])
        names = table_files(basis.plan)
        for table, numbers in _drawn(basis):
            archive.add(file, names[table].removeprefix("tables/"), _lines(basis.plan, table, numbers))
    return buffer.getvalue()


def _basis(source: Result | Source) -> Basis:
    """Return the input of the replicates of a release, or of its bundle, which is verified first."""
    if isinstance(source, Result):
        return basis_of(source)
    bundle: Any = source.read() if hasattr(source, "read") else source
    return basis_from(published(bundle))


def _mean_errors_of_model(checked: Manifest) -> Callable[[Floats], Floats]:
    """Return the mean absolute error of a model's cells by their expected counts, as a manifest states it."""
    error = checked.model_error
    if error is None:
        raise ReleaseError(_("this release was made by an earlier version, which did not state its model's error"))
    return partial(mean_errors, factor=error.factor, power=error.power)


def _drawn(basis: Basis, tables: Sequence[Columns] | None = None) -> Iterator[tuple[Columns, dict[str, Floats]]]:
    """Yield all published tables, or those named, each with its replicates by the names of their columns."""
    of_amounts = replicate_amounts(basis)
    for table, drawn in replicate(basis, basis.plan.published if tables is None else tables):
        yield table, _by_column(drawn, of_amounts(table))


def _by_column(drawn: Floats, of_amounts: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the replicates of a table as flat columns, by name."""
    columns = dict(zip(NAMES, drawn.reshape(DRAWS + 1, -1), strict=True))
    for name, values in of_amounts.items():
        columns |= {f"{name}_{each}": part for each, part in zip(NAMES, values.reshape(DRAWS + 1, -1), strict=True)}
    return columns


def _lines(plan: Plan, table: Columns, numbers: Mapping[str, Floats]) -> Iterator[Piece]:
    """Yield the replicates of a table as CSV."""
    yield safe_csv.header_line([*(published_name(name, (*NUMBERS, *numbers)) for name in table), *numbers])
    codes = zip(table, cell_codes(plan, table), strict=True)
    labels = [safe_csv.label_column(plan.column(name).labels, at) for name, at in codes]
    yield safe_csv.write_rows([*labels, *map(safe_csv.number_column, numbers.values())])
