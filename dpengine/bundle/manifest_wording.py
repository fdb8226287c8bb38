"""The sentences of a manifest, one set for each schema version.

`verify` compares them letter by letter. So a bundle of an earlier version is compared with the sentences of that
version: they are data here, and are never edited. A better sentence needs a new schema version. Those that a report
shows are marked for translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpengine.bundle.estimator import Estimator
from dpengine.translation.catalogue import mark

__all__ = ["ALL_ROWS", "COUNTED_APART", "KEPT_ROWS", "SCHEMA_VERSION", "WORDINGS", "Wording"]


@dataclass(frozen=True, slots=True)
class Wording:
    """The sentences of one schema version.

    `several_values` has a place `{id}` for the column that names a person; it stands in `not_protected` where a
    person is named by such a column, `several_rows` where a row is a person. `found`, `means`, `quantiles`,
    `associations` and `amounts` are added to `post_processing`, and `mean_intervals` and those of others to
    `intervals`, where a plan has these.
    """

    post_processing: Mapping[Estimator, tuple[str, ...]]
    intervals: Mapping[Estimator, str]
    not_protected: tuple[str, ...]
    several_rows: str
    several_values: str
    means: str = ""
    quantiles: str = ""
    associations: str = ""
    amounts: str = ""
    mean_intervals: str = ""
    quantile_intervals: str = ""
    association_intervals: str = ""
    found: str = ""


SCHEMA_VERSION = 8

# Since version 3: which rows are counted, without and with a bound on the rows of a person.
ALL_ROWS = "Counts, totals and their intervals are of rows."
KEPT_ROWS = (
    "Counts, totals and their intervals are of the rows that were kept: at most {rows} of each person in {id}, chosen "
    "at random. They do not say how many rows the table holds."
)

# Where people are counted beside rows, these lines stand in place of those that begin alike.
COUNTED_APART = (
    mark(
        "count: the estimates, made whole and non-negative so that tables agree on what they share if they count the "
        "same: rows, or people in one cell each. Any other table stands by itself."
    ),
    mark(
        "synthetic.csv: rows generated from the counts of those tables that count as the total does. Counted again, "
        "they give these tables exactly."
    ),
)

_VALUES_1 = (
    "values in synthetic.csv: numbers and dates are spread evenly over their bin or period, by a rule and not by chance"
    " (numbers with as many decimals as the edges have); (other) stands as such, missing values are empty"
)
_VALUES_2 = mark(
    "values in synthetic.csv: numbers and dates are spread evenly over their bin or period by a fixed rule, not at "
    "random. Numbers have as many decimals as the bin edges. (other) is written as such, and missing values are empty."
)

_WORDINGS: Mapping[int, Wording] = {
    1: Wording(
        post_processing={
            Estimator.LEAST_SQUARES: (
                "estimate: weighted least squares over all measured marginals; unbiased, so it may be negative or "
                "fractional",
                "count: the estimates made non-negative, whole, and such that all tables agree on what they share",
                "low and high: a 95 % interval for the true count, from the exact law of the noise in the estimate",
                "synthetic.csv: rows dealt from the counts; counted again, they give every published table",
                _VALUES_1,
            ),
            Estimator.MODEL: (
                "estimate: the expected count of a model fitted to all measurements; never negative, and not unbiased",
                "count: counted from the synthetic rows, so that all tables agree on what they share",
                "low and high: an interval for the true count, from noise for single columns, from the measured error "
                "of the model for larger tables",
                "synthetic.csv: whole rows whose pairs of columns come as near to the model's as rows can; counted, "
                "they give every published table",
                _VALUES_1,
            ),
            Estimator.BOXES: (
                "estimate: least squares over all boxes, made non-negative; a box that was not split shares evenly "
                "over its cells",
                "count: the estimates made whole, such that every box keeps its sum to within 1.5",
                "low and high: the least and greatest true count that the boxes allow, 95 times in 100",
                "synthetic.csv: rows dealt from the counts; counted again, they give every published table",
                _VALUES_1,
            ),
        },
        intervals={
            Estimator.LEAST_SQUARES: (
                "Each low to high holds the true count of its cell with a probability of 95 % at least, each for "
                "itself: among many cells, expect up to 1 in 20 outside."
            ),
            Estimator.MODEL: (
                "The total and each cell of a single column: low to high holds the true count with a probability of "
                "95 % at least, by the law of the noise. Cells of larger tables come from a model, and no law says how "
                "far a model is off: this was measured, privately, and their intervals are meant to hold 95 in 100 "
                "true counts of cells of their size."
            ),
            Estimator.BOXES: (
                "Each low to high holds the true count of its cell 95 times in 100 at least. A cell that was measured "
                "by itself is uncertain by noise alone; one that was measured in a box with others may hold anything "
                "from none to all of it."
            ),
        },
        not_protected=(
            "What the plan says: title, notes, rough size, columns, categories, bins, tables, ε. People wrote it, and "
            "it is public.",
            "That the release exists, when it was made, by whom, and with which software.",
            "What is true of groups. Learning that a group is large or small is what the tables are for, and it may "
            "let readers guess at someone in that group, whether or not that person is in the table.",
            "Groups of people who stand or fall together, such as a family: for k people, read k × ε in place of ε.",
            "{several}",
            "Other releases about the same people: their ε adds to this one.",
            "The rows before publication: whoever holds them sees them as they are.",
            "Time and resources used by the computation, to someone who watched it run.",
        ),
        several_rows="A person with more than one row: the guarantee is for each row, and weakens with every further "
        "one.",
        several_values="A person with more than one value in {id}: the guarantee is for each of them.",
    ),
    2: Wording(
        post_processing={
            Estimator.LEAST_SQUARES: (
                mark(
                    "estimate: weighted least squares over all measured marginals. It is unbiased, so it may be "
                    "negative or fractional."
                ),
                mark("count: the estimates, made whole and non-negative so that all tables agree on what they share."),
                mark(
                    "low and high: a 95 % interval for the true count, computed from the exact distribution of the "
                    "noise in the estimate."
                ),
                mark(
                    "synthetic.csv: rows generated from the counts. Counted again, they give every published table "
                    "exactly."
                ),
                _VALUES_2,
            ),
            Estimator.MODEL: (
                mark(
                    "estimate: the expected count under a model fitted to all measurements. It is never negative, and "
                    "it may be biased."
                ),
                mark("count: counted from the synthetic rows, so that all tables agree on what they share."),
                mark(
                    "low and high: an interval for the true count. For the total and single columns it follows from "
                    "the distribution of the noise, for larger tables from the measured error of the model."
                ),
                mark(
                    "synthetic.csv: rows whose pairs of columns come as close to the model as whole rows can. Counted "
                    "again, they give every published table exactly."
                ),
                _VALUES_2,
            ),
            Estimator.BOXES: (
                mark(
                    "estimate: least squares over all measured boxes of neighbouring cells, made non-negative. A box "
                    "that was not split further is spread evenly over its cells."
                ),
                mark("count: the estimates, made whole so that every box keeps its sum to within 1.5."),
                mark(
                    "low and high: the smallest and the largest true count that the measured boxes allow, with a "
                    "probability of at least 95 %."
                ),
                mark(
                    "synthetic.csv: rows generated from the counts. Counted again, they give every published table "
                    "exactly."
                ),
                _VALUES_2,
            ),
        },
        intervals={
            Estimator.LEAST_SQUARES: (
                "Each interval from low to high holds the true count of its cell with a probability of at least 95 %. "
                "This is said of each cell by itself: among many cells, expect up to 1 in 20 outside their intervals."
            ),
            Estimator.MODEL: (
                "For the total and each cell of a single column, low to high holds the true count with a probability "
                "of at least 95 %, computed from the distribution of the noise. Cells of larger tables come from a "
                "model, whose error cannot be computed in advance. Its error was measured privately, by size of cell, "
                "and these intervals are meant to hold the true count of 95 in 100 cells of similar size."
            ),
            Estimator.BOXES: (
                "Each interval from low to high holds the true count of its cell with a probability of at least 95 %. "
                "A cell that was measured by itself is uncertain only by noise. A cell that was measured in a box with "
                "others may hold anything from none to all of that box."
            ),
        },
        not_protected=(
            mark(
                "The plan: its title, notes, rough size, columns, categories, bins, tables and ε. People wrote it, and "
                "it is public."
            ),
            mark("That the release exists, when it was made, by whom, and with which software."),
            mark(
                "Facts about groups. The tables show which groups are large and which are small, and readers may use "
                "that to guess something about anyone in a group, whether or not that person is in the data."
            ),
            mark(
                "Several people together, such as a family. For k people, the guarantee holds with k × ε in place of ε."
            ),
            "{several}",
            mark("Other releases about the same people. Their ε adds to the ε of this release."),
            mark("The rows themselves. Whoever holds them sees them as they are."),
            mark("The time and the resources that the computation used, as seen by someone who watched it run."),
        ),
        several_rows=mark(
            "A person with more than one row. The guarantee is for each row: for a person with k rows, it holds with k "
            "× ε in place of ε."
        ),
        several_values=mark("A person with more than one value in {id}. The guarantee is for each of these values."),
    ),
}

# Version 3 states in an entry of its own which rows are counted; all sentences are those of version 2. Version 4 adds
# sentences on means, sums and quantiles, and the bounds and the step of an amount among the cells.
_AMOUNTS = replace(
    _WORDINGS[2],
    means=mark(
        "mean and sum: of the values that are known, each bounded as declared and moved to the nearest step. They are "
        "computed from noisy counts in which each row is shared between the two knots around its value, so that it "
        "weighs 1 in all. Means of small groups are drawn towards those of larger ones as far as they are noise. They "
        "are fitted to the counts, stay within the declared bounds, and all tables agree on what they share."
    ),
    quantiles=mark(
        "quantile: the value that the given part of the people, of those whose value is known, have at most; 0.5 is "
        "the median. Quantiles are computed from the same noisy counts as means, on straight lines between knots, and "
        "of small groups drawn towards all people as far as they are noise. They lie on the declared steps and rise "
        "with the part. Values in synthetic.csv do not have these quantiles."
    ),
    associations=mark(
        "covariance, correlation and slope: of the people whose two values are known, each bounded as declared and "
        "moved to the nearest step. The covariance is divided by the number of people; the slope of one amount on "
        "another is that of the line fitted by least squares. They are computed from noisy counts in which the weights "
        "of a row for two amounts are multiplied, and for squares shared in three, so that it weighs 1 in all. Values "
        "in synthetic.csv do not have them, and they are not fitted to other tables."
    ),
    amounts=mark(
        "amounts in synthetic.csv: whole steps within the declared bounds, spread evenly around the mean of their cell "
        "by a fixed rule, not at random. Added up, they give the published sums; where an amount was measured in "
        "several tables, only nearly, except for the total."
    ),
    mean_intervals=(
        "Each interval of a mean or a sum holds the true one, of bounded values, with a probability of at least 95 %, "
        "computed from the distribution of the noise and said of each cell by itself. Where a group is too small for "
        "its noise, the interval of its mean is the whole range."
    ),
    quantile_intervals=(
        "Each interval of a quantile holds the true one with a probability of at least 95 %, each by itself. It ends "
        "at knots, and where there is hardly any noise it still reaches over two pieces between knots. Where a group "
        "is too small for its noise, it is the whole range."
    ),
    association_intervals=(
        "Each interval of a covariance, correlation or slope is meant to hold the true one with a probability of 95 %, "
        "each by itself. Where a group is too small for its noise, it reaches over all values that are possible."
    ),
)
# Version 6 says that some quantiles are chosen; which ones, its measurements say.
_CHOICES = replace(
    _AMOUNTS,
    quantiles=mark(
        "quantile: the value that the given part of the people, of those whose value is known, have at most; 0.5 is "
        "the median. Where the measurements list a choice of quantiles of a table, each was chosen privately among "
        "steps where noisy counts say that it may lie: a step is the less likely, the more people lie between it and "
        "the true quantile. All others are computed from the same noisy counts as means, on straight lines between "
        "knots, and of small groups drawn towards all people as far as they are noise. Quantiles lie on the declared "
        "steps and rise with the part. Values in synthetic.csv do not have these quantiles."
    ),
    found=mark(
        "cells that were found: for each column whose cells the plan does not state, noisy counts over its declared "
        "range, or over all values that are possible, were measured first, with the part of ε that the plan says. "
        "found.json holds them, and the cells follow from them alone, by a fixed rule. Then the tables were measured "
        "in these cells."
    ),
)
# A table for ranges beside others stands since version 4; bundles of earlier versions that claim one are compared.
_TOGETHER = (
    mark(
        "estimate: of the table for ranges, least squares over all measured boxes of neighbouring cells, made "
        "non-negative, where a box that was not split further is spread evenly over its cells. Of the other tables, "
        "weighted least squares over their measured marginals, which is unbiased and may be negative or fractional."
    ),
    mark("count: the estimates, made whole and non-negative so that all tables agree on what they share."),
    mark(
        "low and high: for the table for ranges, the smallest and the largest true count that the measured boxes "
        "allow, with a probability of at least 95 %. For the other tables, a 95 % interval from the distribution of "
        "the noise."
    ),
    mark("synthetic.csv: rows generated from the counts. Counted again, they give every published table exactly."),
    _VALUES_2,
)


_PARTS = (
    mark(
        "estimate: tables were measured in parts. Of a table for ranges, least squares over all measured boxes of "
        "neighbouring cells, made non-negative. Of tables at several levels of a column, least squares over these "
        "levels, and of other tables over their measured marginals: both unbiased, maybe negative or fractional. Of "
        "tables that a model fits, its expected count. Estimates of two parts need not agree."
    ),
    mark("count: the estimates, made whole and non-negative so that all tables agree on what they share."),
    mark(
        "low and high: for a table for ranges, the smallest and the largest true count that the measured boxes allow, "
        "with a probability of at least 95 %. For tables that a model fits, an interval from its measured error. For "
        "all others, a 95 % interval from the distribution of the noise."
    ),
    mark("synthetic.csv: rows generated from the counts. Counted again, they give every published table exactly."),
    _VALUES_2,
)
_PARTS_INTERVALS = (
    "Each interval from low to high holds the true count of its cell with a probability of at least 95 %. Cells that "
    "were measured by themselves are uncertain only by noise. A cell that was measured in a box with others may hold "
    "anything from none to all of that box. Cells of tables that come from a model are meant to be held 95 times in "
    "100 among cells of similar size, by the error of the model, which was measured privately."
)


def _with_ranges_beside(wording: Wording) -> Wording:
    return replace(
        wording,
        post_processing={**wording.post_processing, Estimator.TOGETHER: _TOGETHER, Estimator.PARTS: _PARTS},
        intervals={
            **wording.intervals,
            Estimator.TOGETHER: wording.intervals[Estimator.BOXES],
            Estimator.PARTS: _PARTS_INTERVALS,
        },
    )


# Version 6 says how a box is divided: no longer always evenly.
_DIVIDED = {
    Estimator.BOXES: mark(
        "estimate: least squares over all measured boxes of neighbouring cells, made non-negative. A box that was not "
        "split further is divided among its cells as the boxes around it suggest, or else evenly."
    ),
    Estimator.TOGETHER: mark(
        "estimate: of the table for ranges, least squares over all measured boxes of neighbouring cells, made "
        "non-negative, where a box that was not split further is divided among its cells as the boxes around it "
        "suggest, or else evenly. Of the other tables, weighted least squares over their measured marginals, which is "
        "unbiased and may be negative or fractional."
    ),
}


# Version 8 says that a table for ranges of one column also follows what the tables beside it say of this column.
_ALSO_COLUMN = {
    Estimator.TOGETHER: mark(
        "estimate: of the table for ranges, least squares over all measured boxes of neighbouring cells and, if it has "
        "one column, over the sums of the other measured marginals for this column, made non-negative. A box that was "
        "not split further is divided among its cells as the boxes around it suggest, or else evenly. Of the other "
        "tables, weighted least squares over their measured marginals, which is unbiased and may be negative or "
        "fractional."
    ),
    Estimator.PARTS: mark(
        "estimate: tables were measured in parts. Of a table for ranges, least squares over all measured boxes of "
        "neighbouring cells and, if it has one column, over the sums of measured marginals of counts for this column, "
        "made non-negative. Of tables at several levels of a column, least squares over these levels, and of other "
        "tables over their measured marginals: both unbiased, maybe negative or fractional. Of tables that a model "
        "fits, its expected count. Estimates of two parts need not agree."
    ),
}


def _starting(wording: Wording, first: Mapping[Estimator, str]) -> Wording:
    """Return a wording whose first line on post-processing is another for some estimators."""
    lines = wording.post_processing
    return replace(wording, post_processing={**lines, **{k: (each, *lines[k][1:]) for k, each in first.items()}})


# Version 5 adds Parquet tables and the descriptions for portals (`bundle.portals`); version 6, choices of quantiles;
# version 7 names files of tables with all Latin letters (`promises.table_files`).
_VERSIONS = {**_WORDINGS, 3: _WORDINGS[2], 4: _AMOUNTS, 5: _AMOUNTS, 6: _CHOICES}
_BESIDE = {version: _with_ranges_beside(each) for version, each in _VERSIONS.items()}
_SINCE_6 = _starting(_BESIDE[6], _DIVIDED)
WORDINGS: Mapping[int, Wording] = {**_BESIDE, 6: _SINCE_6, 7: _SINCE_6, 8: _starting(_SINCE_6, _ALSO_COLUMN)}
