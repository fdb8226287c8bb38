"""The README of a release's replicates: how to use them, and what they are not."""

from __future__ import annotations

import json

from dpengine import safe_csv
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.bundle.promises import table_files
from dpengine.replicates.basis import Basis
from dpengine.replicates.draw import DRAWS
from dpengine.results.published_columns import published_name
from dpengine.spec.plan import Plan

__all__ = ["read_me"]

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


def _of_means(plan: Plan) -> str:
    """Return the recipe for replicates of means, for the first table that has some; otherwise nothing."""
    for table in plan.marginals:
        for name in (*plan.means(table), *plan.sums(table)):
            file = _quoted(table_files(plan)[table].removeprefix("tables/"))
            return MEANS.format(name=name, file=file, count=DRAWS + 1)
    return ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
