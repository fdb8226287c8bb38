"""Terms about tables and the public knowledge about their columns."""

from __future__ import annotations

from dpengine.translation.catalogue import mark
from pages.parts.shared.glossary.term import Term

__all__ = ["TERMS"]

TERMS = {
    "table": Term(
        mark("Table and margin"),
        mark("contingency table, marginal, margin, cross table, crosstab, cross-tabulation, pivot, two-way, pairs"),
        mark("Counts of people for each combination of some columns; a margin is a table with fewer of the columns."),
        mark(
            "“age × region” with 5 groups of age and 7 regions has 35 cells. The counts of the 7 regions are one of "
            "its margins: each is the sum of 5 cells. Margins of a published table cost nothing more."
        ),
        ("cell", "total", "strategy", "consistency", "survey-weights"),
        ("publish", "accuracy"),
    ),
    "cell": Term(
        mark("Cell"),
        mark("combination, entry of a table, small cell, empty cell, zero, cell size"),
        mark("One combination of values in a table, with its count, such as women aged 30 to 44 in the North."),
        mark(
            "Every declared cell is published, even one with nobody in it, so that a missing cell tells nobody "
            "anything. 35 cells for 5,000 people are about 143 people in each, and 35,000 cells mostly noise."
        ),
        ("mostly-noise", "bin", "table", "domain"),
        ("publish", "accuracy"),
    ),
    "survey-weights": Term(
        mark("Survey weights"),
        mark("weighted, weighting, sampling weight, design weight, expansion factor, post-stratification, raking"),
        mark("A number for each respondent: how many people of the population they stand for."),
        mark(
            "Counts are of rows, without weights. Declare the weight as an amount, with bounds such as 0 to 5, and "
            "publish its sum: 3 respondents with the weights 0.5, 1.5 and 2 add up to 4. The sum of a cell, divided by "
            "the sum of its group, is a weighted percentage. Weights above the bound count as the bound."
        ),
        ("table", "total", "interval"),
        ("publish",),
    ),
    "bin": Term(
        mark("Bin"),
        mark("group, class, interval of values, edges, age band, age group, width, cut, recode"),
        mark("A range of numbers or dates that is counted as one, such as ages 18 to 29."),
        mark(
            "The edges 0, 18, 30, 65, 120 make 4 bins: 0 to under 18, 18 to under 30, 30 to under 65, and 65 to 120. "
            "Wide bins hold more people, so the same noise matters less."
        ),
        ("cell", "domain", "ranges"),
        ("publish",),
    ),
    "domain": Term(
        mark("Domain (what is publicly known)"),
        mark("domain, known values, public knowledge, categories, list of values, range of values, declared"),
        mark("The values and bins that a column may have, stated without looking at the data."),
        mark(
            "The regions of a country are public: you can list them without any table. A list taken from the rows "
            "would show that somebody in the only house of Smallville is in the data. So the list is typed, comes from "
            "a codebook or is a standard list."
        ),
        ("codebook", "other", "missing", "bin"),
        ("publish",),
    ),
    "other": Term(
        mark("(other)"),
        mark("other values, unlisted, remaining, residual category, unknown value"),
        mark("The cell in which all values are counted that you did not list."),
        mark(
            "You list North and South, and 12 rows say East: they count in (other), whatever they say. If nearly all "
            "rows fall into it, a format or spelling does not fit. The page warns you of that before anything is spent."
        ),
        ("missing", "domain", "cell"),
        ("publish",),
    ),
    "missing": Term(
        mark("(missing)"),
        mark("empty, blank, NA, null, no answer, missing value, not available"),
        mark("The cell in which rows are counted that have no value in a column."),
        mark(
            "An empty field, NA or a code such as −9 that you declare as missing counts here. The cell is published "
            "with noise like any other, so that nobody who left a question open can be recognised by that."
        ),
        ("other", "domain", "cell"),
        ("publish",),
    ),
    "total": Term(
        mark("Total"),
        mark("grand total, sum of all cells, number of people, number of rows, population size"),
        mark("The number of all people or rows that were counted, published with noise as well."),
        mark(
            "“19,577 rows in all (95 %: 18,718 to 20,436)”. If at most a few rows of each person count, the total is "
            "of these rows, and not of all rows in your file."
        ),
        ("rows-kept", "interval", "table"),
        ("publish", "accuracy"),
    ),
    "rows-kept": Term(
        mark("Kept rows (bound on rows)"),
        mark("rows per person, at most, contribution bound, bounding, truncation, left out, sampling of rows"),
        mark("If people have several rows, at most a stated number of each person's rows is counted."),
        mark(
            "At most 20, and a business with 35 inspections: 20 of them, drawn at random, count in all tables, 15 in "
            "none. A low bound leaves out more rows, a high one needs more noise: at 20 it is 20 times that of 1."
        ),
        ("unit", "total", "sensitivity"),
        ("publish",),
    ),
    "codebook": Term(
        mark("Codebook"),
        mark("data dictionary, list of codes, labels, metadata, variable list, value labels, template"),
        mark("A list of columns with their possible values and what they mean, made without looking at the rows."),
        mark(
            "“sex: 1 = male, 2 = female, 9 = missing”. You can download an empty one on Publish, fill it in with a "
            "colleague in Excel, and bring it back."
        ),
        ("domain", "plan", "missing"),
        ("publish",),
    ),
}
