"""The sentences of the reader's guide, marked for translation; `guide` chooses those that a release needs."""

from __future__ import annotations

from typing import NamedTuple

from dpengine.bundle.estimator import Estimator
from dpengine.translation.catalogue import _, mark

__all__ = [
    "ADDING", "AMOUNTS", "ASSOCIATIONS", "CHOSEN_QUANTILES", "COMPARING", "COUNT", "COUNT_APART", "DEVIATIONS",
    "FOUND_BINS", "FOUND_BOUND", "FOUND_VALUES", "IN_FILES", "LEVELS", "MOSTLY_NOISE", "NUMBERS", "QUANTILES",
    "REPLICATES", "SYNTHETIC", "SYNTHETIC_APART", "Entry",
]  # fmt: skip


class Entry(NamedTuple):
    """An entry of the guide: a name or heading, an explanation, and advice, which may be empty."""

    name: str
    text: str
    use: str = ""

    def translated(self, **values: str) -> Entry:
        """Return the entry in the current language, with `values` filled into its text."""
        return Entry(_(self.name), _(self.text).format(**values), _(self.use))


COUNT = Entry(
    mark("count"),
    mark(
        "A whole number, never negative. All tables agree: a sum of counts is the same in whichever table you add it "
        "up."
    ),
    mark("Use it for tables and charts."),
)
COUNT_APART = Entry(
    mark("count"),
    mark(
        "A whole number, never negative. Tables agree if they count the same: rows, or people in one cell each. A sum "
        "of rows is not one of people."
    ),
    mark("Use it for tables and charts."),
)
NUMBERS = {
    Estimator.LEAST_SQUARES: (
        Entry(
            mark("estimate"),
            mark("The measurement itself, right on average. It may be fractional or negative."),
            mark("Use it when you add up cells, compute averages, or fit a model."),
        ),
        Entry(
            mark("low to high"),
            mark(
                "The true number lies in this interval 95 times in 100. This is said of each cell by itself: among "
                "many cells, expect up to 1 in 20 outside. Where noise pulled the estimate far below 0, both ends are "
                "0: the true number is then likely small, but not certain to be 0."
            ),
            mark("Quote it with every number."),
        ),
    ),
    Estimator.MODEL: (
        Entry(
            mark("estimate"),
            mark(
                "The count that a model of all tables expects. It may be fractional and is never negative. It is drawn "
                "towards patterns that the tables share, so it is not right on average."
            ),
            mark("Use it where a whole number would mislead."),
        ),
        Entry(
            mark("low to high"),
            mark(
                "This interval is meant to hold the true number 95 times in 100. For the total and for single columns "
                "it follows from the noise.{model_errors}"
            ),
            mark("Quote it with every number."),
        ),
    ),
    Estimator.BOXES: (
        Entry(
            mark("estimate"),
            mark(
                "Computed from the measured boxes of neighbouring cells, and never negative. A box that was not split "
                "further is divided among its cells as the boxes around it suggest, or else evenly."
            ),
            mark("Trust sums over neighbouring cells more than single cells."),
        ),
        Entry(
            mark("low to high"),
            mark(
                "The true number lies in this interval 95 times in 100. A cell that was measured only together with "
                "its neighbours may hold anything from none to all of their sum."
            ),
            mark("Quote it with every number."),
        ),
    ),
}
NUMBERS[Estimator.TOGETHER] = (
    Entry(
        mark("estimate"),
        mark(
            "In the table for ranges, computed from the measured boxes of neighbouring cells, and never negative. In "
            "the other tables, the measurement itself: right on average, and maybe fractional or negative."
        ),
        mark("In the table for ranges, trust sums over neighbouring cells more than single cells."),
    ),
    NUMBERS[Estimator.BOXES][1],
)
NUMBERS[Estimator.PARTS] = (
    Entry(
        mark("estimate"),
        mark(
            "In a table for ranges, computed from the measured boxes of neighbouring cells, and never negative. In "
            "tables that a model fits, the count that it expects. In all others, among them tables at several levels, "
            "the measurement itself: right on average, and maybe fractional or negative."
        ),
        mark("In a table for ranges, trust sums over neighbouring cells more than single cells."),
    ),
    Entry(
        mark("low to high"),
        mark(
            "The true number lies in this interval 95 times in 100. In a table for ranges, a cell that was measured "
            "only together with its neighbours may hold anything from none to all of their sum.{model_errors}"
        ),
        mark("Quote it with every number."),
    ),
)
AMOUNTS = Entry(
    mark("mean, sum"),
    mark(
        "The mean or the sum of an amount over the people of a cell whose amount is known. Values beyond the declared "
        "bounds count as the bound. Means of small groups are drawn towards those of larger ones, as far as they are "
        "noise. The interval holds the true mean or sum 95 times in 100; where a group is too small for its noise, it "
        "is the whole range. A mean is marked as mostly noise where its interval holds more than half of the range, a "
        "sum where it reaches 0."
    ),
    mark("Quote the interval with every mean."),
)
QUANTILES = Entry(
    mark("quantile"),
    mark(
        "The value that a part of the people of a cell have at most, of those whose amount is known: half of them at "
        "the median, a quarter at the lower quartile. It is computed between the declared knots of the amount. "
        "Quantiles of small groups are drawn towards those of all people, as far as they are noise. The interval holds "
        "the true quantile at least 95 times in 100. It ends at knots, and where a group is too small for its noise, "
        "it is the whole range. The synthetic rows do not have these quantiles."
    ),
    mark("Quote the interval with every quantile."),
)
CHOSEN_QUANTILES = Entry(
    mark("quantile"),
    mark(
        "The value that a part of the people of a cell have at most, of those whose amount is known: half of them at "
        "the median, a quarter at the lower quartile. In the tables for which the list of what was measured says so, "
        "it was chosen privately among the values that it may have: the more people lie between a value and the true "
        "quantile, the less likely it was chosen. In other tables, and for all people together, it is computed between "
        "the declared knots of the amount. The interval holds the true quantile at least 95 times in 100. It ends at "
        "knots, and where a group is too small for its noise, it is the whole range. The synthetic rows do not have "
        "these quantiles."
    ),
    mark("Quote the interval with every quantile."),
)
DEVIATIONS = Entry(
    mark("standard deviation"),
    mark(
        "How far the amounts of the people of a cell lie from their mean, of those whose amount is known: the root of "
        "the mean square of the distances. Squares are divided by the number of people, not by one less. The interval "
        "holds the true number 95 times in 100; where a group is too small for its noise, it reaches over all values "
        "that are possible. Values in the synthetic rows have another one."
    ),
    mark("Quote the interval with every standard deviation."),
)
ASSOCIATIONS = Entry(
    mark("covariance, correlation, slope"),
    mark(
        "How two amounts go together, over the people of a cell whose two amounts are known. The slope of one on "
        "another says how much more of the first goes with 1 more of the other: it is that of the line fitted by least "
        "squares. The covariance is divided by the number of people. The interval holds the true number 95 times in "
        "100; where a group is too small for its noise, it reaches over all values that are possible. The synthetic "
        "rows do not have these numbers."
    ),
    mark("Quote the interval with every number, and do not read a slope as a cause."),
)
LEVELS = Entry(
    mark("Levels of a column"),
    mark(
        "A name such as {coarse} is the column {column} in larger groups. The groups add up: a count of {coarse} is "
        "the sum of the counts in its parts, in every table and in the synthetic rows. A large group is known about as "
        "exactly as a small one, so it is off by a smaller part of its count. Where most of the smallest groups are "
        "empty, counts are drawn towards 0 as far as noise alone explains them; estimates and intervals are not."
    ),
    mark("Use the table of the level that you need; do not add up parts yourself."),
)
MOSTLY_NOISE = Entry(
    mark("Mostly noise"),
    mark(
        "A cell is marked as mostly noise where its interval reaches 0 (and its ± is at least 0.5). Such a cell cannot "
        "be distinguished from an empty one."
    ),
    mark("A 0 does not mean that nobody is there, and a small number does not mean that somebody is."),
)
ADDING = {
    Estimator.LEAST_SQUARES: (
        Entry(
            mark("Adding cells"),
            mark(
                "Add up the estimates. Errors partly cancel: a sum of k cells of one table is off by about √k times as "
                "much as one cell. In {table}, one cell is within ±{one}, and a sum of four cells within about "
                "±{four}. If another table here already holds the sum, use that table."
            ),
        ),
        Entry(
            mark("Negative estimates"),
            mark(
                "They are not mistakes. Noise goes both ways, and around empty cells it goes below 0. Keep negative "
                "values when you add: cutting them off makes every sum too high."
            ),
        ),
    ),
    Estimator.MODEL: (),
    Estimator.BOXES: (
        Entry(
            mark("Adding cells"),
            mark(
                "Add up the counts over ranges of neighbouring cells, such as all ages up to 40: this table was "
                "measured for such sums. The sum over a long range is off by little more than the sum over a short one."
            ),
        ),
    ),
    Estimator.TOGETHER: (
        Entry(
            mark("Adding cells"),
            mark(
                "In the table for ranges, add up the counts of neighbouring cells, such as all ages up to 40: the sum "
                "over a long range is off by little more than the sum over a short one. In the other tables, add up "
                "the estimates, unless a table here already holds the sum."
            ),
        ),
    ),
}
ADDING[Estimator.PARTS] = (
    Entry(
        mark("Adding cells"),
        mark(
            "In a table for ranges, add up the counts of neighbouring cells. In the other tables, add up the "
            "estimates, unless a table here already holds the sum."
        ),
    ),
)
COMPARING = Entry(
    mark("Comparing cells"),
    mark(
        "The difference of two cells is off by about 1.4 times as much as one of them. Where the intervals of two "
        "cells overlap widely, do not say that one is larger than the other."
    ),
)
REPLICATES = Entry(
    mark("Your own sums, differences and regressions"),
    mark(
        "To say how far a number of your own may be off, compute it from replicates: the tables, drawn 50 times with "
        "fresh errors. This command makes them from this bundle, with a recipe of five lines: python -m dpengine "
        "replicates FILE -o replicates.zip."
    ),
    mark("They reveal nothing that the tables do not."),
)
SYNTHETIC_APART = Entry(
    mark("Synthetic rows"),
    mark(
        "Artificial rows that give exactly the counts of the tables that count as the total does, in the file "
        "synthetic.csv. No row is a real person, and the rows hold no knowledge beyond these tables. Numbers and dates "
        "are spread evenly within their bin or period by a fixed rule, so their exact position means nothing."
    ),
    mark("Use them where a program needs rows."),
)
SYNTHETIC = Entry(
    mark("Synthetic rows"),
    mark(
        "Artificial rows that give exactly the published counts, in the file synthetic.csv. No row is a real person, "
        "and the rows hold no knowledge beyond these tables. Numbers and dates are spread evenly within their bin or "
        "period by a fixed rule, so their exact position means nothing."
    ),
    mark("Use them where a program needs rows."),
)
FOUND_VALUES = Entry(
    mark("Values that were found"),
    mark(
        "Nobody listed the values of {column}. They are those whose noisy count was {least} or more, so each belongs "
        "to about that many {what} or more. All other values count as (other). With a chance of at most {chance}, one "
        "of the listed values is one that nobody has."
    ),
    mark("A value that is not listed may still occur."),
)
FOUND_BINS = Entry(
    mark("Bins that were found"),
    mark(
        "The bins of {column} were found from noisy counts, so that each holds about the same number of {what}. So "
        "bins are narrow where values are close to each other."
    ),
    mark("Look at the width of a bin before you compare its count with that of another."),
)
FOUND_BOUND = Entry(
    mark("Upper bounds that were found"),
    mark(
        "The upper bound of {column}, {high}, was found from noisy counts, for ε = {part}; the plan states that values "
        "reach {below} at most. Hardly anybody seems to be above the bound, and values above it count as the bound. So "
        "means and sums have less noise, and are a little too low if some values are far above."
    ),
    mark("Take care with a sum to which a few very large values would add much."),
)
IN_FILES = Entry(
    mark("Words in the files"),
    mark("The files are the same in every language, and their words are English: {words}."),
)
