"""Replicates as files for readers, made from a finished release or from its bundle: the same bytes from both."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpengine import safe_csv
from dpengine.array_types import Columns, Floats, Ints
from dpengine.bundle import archive
from dpengine.bundle.archive import Piece, Source
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.bundle.promises import table_files
from dpengine.bundle.read import read_manifest
from dpengine.errors import ReleaseError
from dpengine.estimate.model_intervals import mean_errors
from dpengine.export import Published, published
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_model import modelled
from dpengine.replicates.basis import Basis, basis_of, check_tallies
from dpengine.replicates.draw import DRAWS, replicate, replicate_amounts
from dpengine.results.published_columns import NUMBERS, published_name
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["basis_from", "draw_replicates", "pack", "read_me"]

COMPRESSION = 4
NAMES = [f"r{k}" for k in range(DRAWS + 1)]

RECIPE = """\
import pandas as pd
table = pd.read_csv({file}, dtype={{{column}: str}})
mine = lambda n: n[table[{column}] == {label}].sum()   # your own number, from a column n of counts
value, *draws = (mine(table[f"r{{k}}"]) for k in range({count}))
print(value, "±", 2.1 * (sum((draw - value) ** 2 for draw in draws) / len(draws)) ** 0.5)
"""

README = """\
Replicates of release {release_id}

Each table of the release, drawn {draws} times with fresh errors: as the release could have come out, had the noise
fallen otherwise. With them you can say how far a number of your own may be off: a sum of cells, the difference of two
groups, a mean, a regression.

In each file, the first columns name the cell, as in the tables of the release. r0 is the estimate{centre}, and r1 to
r{draws} are the replicates. They may be negative or fractional. Keep them so: cutting them off makes sums too high.

HOW TO USE THEM
Compute your number from r0, then from each replicate. Its distance from the first says how far off it may be:

{recipe}
The interval is meant to hold the true number 95 times in 100. For counts, sums and differences, round the ± up to a
whole number. {coverage}
For a regression, let mine return its coefficient, with n as weights. Compute it by the normal equations, since many
programs refuse negative weights:

{regression}
{means}Compute all parts of your number from the same replicate, and never mix replicates: they agree across tables.

WHAT THEY ARE NOT
They are made from the published release alone, by a fixed rule that everyone can repeat. So they reveal nothing
further about anyone, and averaging them gives the estimate back, not the truth. They are no further releases, and no
people stand behind their differences. They say how far noise may put a number off. That the people in the data are
themselves a sample of others is not in them.
"""
REGRESSION = """\
mine = lambda n: np.linalg.solve((X.T * n.to_numpy()) @ X, (X.T * n.to_numpy()) @ y)[1]
"""
MEANS = """\
In tables with means or sums of {name}, known_{name}_r0 and on are the people whose {name} is known, and sum_{name}_r0
and on is its sum. Divide sums by people for the mean of cells that you add up. For one cell alone, take the interval
that is published: of a few people, the replicates of a mean may be anything.

table = pd.read_csv({file})
mean = lambda k: table[f"sum_{name}_r{{k}}"].sum() / table[f"known_{name}_r{{k}}"].sum()
value, *draws = map(mean, range({count}))
print(value, "±", 2.1 * (sum((draw - value) ** 2 for draw in draws) / len(draws)) ** 0.5)

"""
COVERAGE = {
    Estimator.LEAST_SQUARES: "The errors follow the exact distribution of the noise.",
    Estimator.MODEL: (
        "Totals and single columns follow the noise. Cells of larger tables come from a model. Its\nerror was measured "
        "privately, and what is drawn is modelled on that: in trials, intervals held 87 to 100 in 100 true\nnumbers."
    ),
    Estimator.BOXES: (
        "Boxes of cells that were measured together follow the noise. How a box is divided among\nits cells is "
        "unknown, and drawn by chance."
    ),
    Estimator.TOGETHER: (
        "The errors follow the noise. In the table for ranges, how a box of cells is divided among them\nis unknown, "
        "and drawn by chance."
    ),
    Estimator.PARTS: (
        "Tables at several levels, and tables that were measured themselves, follow the noise. In a\ntable for ranges, "
        "how a box of cells is divided among them is unknown, and drawn by chance. Cells of tables that a\nmodel fits "
        "are drawn by its error, which was measured privately."
    ),
}
CENTRE = {
    Estimator.LEAST_SQUARES: "",
    Estimator.MODEL: "",
    Estimator.BOXES: " before negative numbers were removed",
    Estimator.TOGETHER: " before negative numbers were removed",
    Estimator.PARTS: ", in tables for ranges before negative numbers were removed",
}


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
    frames, of_amounts = {}, replicate_amounts(basis)
    for table, drawn in replicate(basis, _published(basis.plan) if tables is None else tables):
        numbers = _by_column(drawn, of_amounts(table))
        labels = {
            published_name(name, (*NUMBERS, *numbers)): np.array(basis.plan.column(name).labels, dtype=object)[codes]
            for name, codes in zip(table, _codes(basis.plan, table), strict=True)
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
    errors = None
    if model is not None and max(map(len, model.marginals)) > 1:
        if checked.model_error is None:
            raise ReleaseError(_("this release was made by an earlier version, which did not state its model's error"))
        errors = partial(mean_errors, factor=checked.model_error.factor, power=checked.model_error.power)
    by_columns = {frozenset(table): table for table in (*plan.marginals, ())}

    def estimate(table: Columns) -> Floats:
        columns = by_columns[frozenset(table)]
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
        names, of_amounts = table_files(basis.plan), replicate_amounts(basis)
        for table, drawn in replicate(basis, _published(basis.plan)):
            numbers = _by_column(drawn, of_amounts(table))
            archive.add(file, names[table].removeprefix("tables/"), _lines(basis.plan, table, numbers))
    return buffer.getvalue()


def read_me(basis: Basis) -> str:
    """Return the guide to a release's replicates, with a recipe for its first table."""
    plan, kind = basis.plan, estimator(basis.plan)
    table = plan.marginals[0]
    column = plan.column(table[0])
    recipe = RECIPE.format(
        file=_quoted(table_files(plan)[table].removeprefix("tables/")),
        column=_quoted(published_name(column.name)),
        label=_quoted(safe_csv.guard(column.labels[0])),
        count=DRAWS + 1,
    )
    return README.format(
        release_id=basis.release_id, draws=DRAWS, recipe=recipe, centre=CENTRE[kind], coverage=COVERAGE[kind],
        regression=REGRESSION, means=_of_means(plan),
    )  # fmt: skip


def _basis(source: Result | Source) -> Basis:
    """Return the input of the replicates of a release, or of its bundle, which is verified first."""
    if isinstance(source, Result):
        return basis_of(source)
    bundle: Any = source.read() if hasattr(source, "read") else source
    return basis_from(published(bundle))


def _of_means(plan: Plan) -> str:
    """Return the recipe for replicates of means, for the first table that has some; otherwise nothing."""
    for table in plan.marginals:
        for name in (*plan.means(table), *plan.sums(table)):
            file = _quoted(table_files(plan)[table].removeprefix("tables/"))
            return MEANS.format(name=name, file=file, count=DRAWS + 1)
    return ""


def _published(plan: Plan) -> list[Columns]:
    return list(table_files(plan))


def _codes(plan: Plan, table: Columns) -> Sequence[Ints]:
    """Return the code of every cell of a table, for each of its columns."""
    return np.unravel_index(np.arange(plan.cells(table)), plan.shape(table)) if table else ()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _by_column(drawn: Floats, of_amounts: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the replicates of a table as flat columns, by name."""
    columns = dict(zip(NAMES, drawn.reshape(DRAWS + 1, -1), strict=True))
    for name, values in of_amounts.items():
        columns |= {f"{name}_{each}": part for each, part in zip(NAMES, values.reshape(DRAWS + 1, -1), strict=True)}
    return columns


def _lines(plan: Plan, table: Columns, numbers: Mapping[str, Floats]) -> Iterator[Piece]:
    """Yield the replicates of a table as CSV."""
    yield safe_csv.header_line([*(published_name(name, (*NUMBERS, *numbers)) for name in table), *numbers])
    codes = zip(table, _codes(plan, table), strict=True)
    labels = [safe_csv.label_column(plan.column(name).labels, at) for name, at in codes]
    yield safe_csv.write_rows([*labels, *map(safe_csv.number_column, numbers.values())])
