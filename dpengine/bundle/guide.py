"""The reader's guide to a release: the same sentences for the report and for the README.

It is written for people who use the numbers and know nothing about differential privacy.
"""

from __future__ import annotations

import numpy as np

from dpengine.bundle.estimator import estimator
from dpengine.bundle.guide_entries import (
    ADDING,
    AMOUNTS,
    ASSOCIATIONS,
    CHOSEN_QUANTILES,
    COMPARING,
    COUNT,
    COUNT_APART,
    DEVIATIONS,
    FOUND_BINS,
    FOUND_BOUND,
    FOUND_VALUES,
    IN_FILES,
    LEVELS,
    MOSTLY_NOISE,
    NUMBERS,
    QUANTILES,
    REPLICATES,
    SYNTHETIC,
    SYNTHETIC_APART,
    Entry,
)
from dpengine.estimate.estimates import ModelledEstimates
from dpengine.estimate.model_intervals import mean_errors
from dpengine.exact import exactly
from dpengine.marginals.measurement import FoundKeys
from dpengine.results.result import Result
from dpengine.results.views.published import PublishedTables
from dpengine.spec.counted_wording import counted_noun
from dpengine.spec.domain import Amount, Category
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, people, words_in_files
from dpengine.translation.catalogue import _, localised, number

__all__ = ["column_entries", "entries_of_tables", "model_errors", "reading_entries", "synthetic_entry"]

SIZES = (10, 100, 1000)


def column_entries(result: Result) -> list[Entry]:
    """Return what the number columns of a published table mean; each is named as in the files, in English."""
    entries = _of_numbers(result.plan, CHOSEN_QUANTILES if result.measured.quantiles else QUANTILES)
    errors = model_errors(result)
    if errors:
        errors = " " + _(
            "For larger tables it follows from the error of the model, which was measured privately: {errors}.",
            errors=errors,
        )
    return [entry.translated(model_errors=errors)._replace(name=entry.name) for entry in entries]


def entries_of_tables(published: PublishedTables) -> list[Entry]:
    """Return what the numbers of published tables mean, and how to add them up, from these alone."""
    plan = published.plan
    # How chosen quantiles are explained is right for all: it names the list that says which ones are.
    entries = (*_of_numbers(plan, CHOSEN_QUANTILES), MOSTLY_NOISE, *ADDING[estimator(plan)])
    first = plan.marginals[0]
    example = _example(heading_of(plan, first), published.half_width(first))
    return [entry.translated(model_errors="", **example) for entry in entries]


def _of_numbers(plan: Plan, quantiles: Entry) -> list[Entry]:
    entries = [COUNT if len(plan.tallies) == 1 else COUNT_APART, *NUMBERS[estimator(plan)]]
    entries += [AMOUNTS] if plan.means(()) or plan.sums(()) else []
    entries += [quantiles] if any(plan.quantiles((), name) for name in plan.amounts(())) else []
    of_two = {each.of_two for each in plan.associations(())}
    return [*entries, *([DEVIATIONS] if False in of_two else []), *([ASSOCIATIONS] if True in of_two else [])]


def _example(table: str, half_width: float) -> dict[str, str]:
    return {"table": table, "one": people(half_width), "four": people(2 * half_width)}


def reading_entries(result: Result) -> list[Entry]:
    """Return how to add up and compare the numbers, what synthetic rows are for, and what words in the files mean."""
    first = result.plan.marginals[0]
    example = _example(heading_of(result.plan, first), result.half_width(first))
    rows_only = result.measured.boxes is None and not result.plan.has_distinct
    others = (COMPARING, *((REPLICATES,) if rows_only else ()), synthetic_entry(result.plan))
    entries = [entry.translated(**example) for entry in (*ADDING[estimator(result.plan)], *others)]
    words = [f"{english} = {here}" for english, here in words_in_files(result.plan).items()]
    in_files = [IN_FILES.translated(words=", ".join(words))] if words else []
    return [*_levels(result.plan), *_found_cells(result), *entries, *in_files]


def synthetic_entry(plan: Plan) -> Entry:
    """Return what the synthetic rows are for."""
    return SYNTHETIC if len(plan.tallies) == 1 else SYNTHETIC_APART


def _levels(plan: Plan) -> list[Entry]:
    """Return what the names of levels mean, if a table has them."""
    pairs = zip(plan.released, plan.resolution.declared_columns(plan.released), strict=True)
    return [LEVELS.translated(coarse=name, column=column) for name, column in pairs if name != column][:1]


def _found_cells(result: Result) -> list[Entry]:
    """Return how the cells of columns were found, if a release found some."""
    entries, what = [], counted_noun(result.plan)
    for search in result.measured.searches:
        column = result.plan.column(search.columns[0])
        if isinstance(search, FoundKeys):
            assert isinstance(column, Category)
            assert column.among is not None
            chance = f"{number(100 * float(column.among.chance), '.3g')} %"
            least = number(search.least)
            entries.append(FOUND_VALUES.translated(column=column.heading, what=what, least=least, chance=chance))
        elif isinstance(column, Amount):
            entries.append(_found_bound(column, result.plan))
        else:
            entries.append(FOUND_BINS.translated(column=column.heading, what=what))
    return entries


def _found_bound(column: Amount, plan: Plan) -> Entry:
    """Return at what price the upper bound of an amount was found, and what it means."""
    assert column.upper is not None, "an amount whose upper bound is found"
    below = column.high if column.upper.below is None else column.upper.below
    return FOUND_BOUND.translated(
        column=column.heading,
        high=localised(f"{column.high:,f}"),
        below=localised(f"{below:,f}"),
        part=exactly(plan.epsilon * column.share),
    )


def model_errors(result: Result) -> str:
    """Return the typical errors of cells in a model's tables, in words.

    Empty without a model, and if all tables are single columns, which are measured directly.
    """
    if not isinstance(result.estimates, ModelledEstimates) or result.model_error is None:
        return ""
    errors = mean_errors(np.array(SIZES, dtype=np.float64), *result.model_error)
    ten, hundred, thousand = map(people, errors)
    return _(
        "a cell of 10 by about {ten}, of 100 by about {hundred}, of 1,000 by about {thousand}",
        ten=ten,
        hundred=hundred,
        thousand=thousand,
    )
