"""Terms about how numbers are made private, and how exact they are."""

from __future__ import annotations

from dpengine.translation.catalogue import mark
from pages.parts.shared.glossary.term import Term

__all__ = ["TERMS"]

TERMS = {
    "noise": Term(
        mark("Noise"),
        mark("random, randomness, perturbation, chance, random error, distortion"),
        mark("A random whole number that is added to a true count, so that no single person can be seen in it."),
        mark(
            "A true count of 128 is published as 131, or as 127. Small noise is likely, large noise is rare. Noise is "
            "as often above as below, so sums of many noisy counts stay right on average."
        ),
        ("laplace", "epsilon", "mostly-noise", "interval", "randomised-response"),
        ("publish", "accuracy", "attacks"),
    ),
    "laplace": Term(
        mark("Laplace mechanism"),
        mark("discrete Laplace, geometric mechanism, scale, distribution, two-sided geometric, mechanism"),
        mark("The way to add noise whose size follows from ε: each step further away is rarer by the same factor."),
        mark(
            "At ε = 1 the noise of a count is 0 in 46 of 100 draws, and within ±3 in more than 95. At ε = 0.1 it is "
            "within ±30. Here noise consists of whole numbers with exactly this distribution."
        ),
        ("noise", "sensitivity", "epsilon"),
        ("definition", "accuracy"),
    ),
    "interval": Term(
        mark("Interval"),
        mark("confidence interval, 95 %, low, high, error bar, whisker, uncertainty, margin of error"),
        mark("The range around a published number that contains the true one 95 times in 100."),
        mark(
            "A count of 128 with the interval 98 to 158: the true count lies in it unless you met one of the 5 draws "
            "in 100 that are further off. Intervals speak of the noise alone, and not of how the data was collected."
        ),
        ("half-width", "mostly-noise", "estimate"),
        ("accuracy", "publish"),
    ),
    "half-width": Term(
        mark("Half-width (±)"),
        mark("plus minus, half width, 95 in 100 within, tolerance, off by, error, precision"),
        mark("How far off a published number may be: in 95 of 100 draws it is no further from the truth."),
        mark(
            "±30 beside a count of 128 means 98 to 158. The typical error is smaller: about 10 in this case. Doubling "
            "ε roughly halves both."
        ),
        ("interval", "epsilon"),
        ("accuracy",),
    ),
    "mostly-noise": Term(
        mark("Mostly noise"),
        mark("unreliable, hatched, noisy, too small, empty cell, says nothing, quality flag"),
        mark("A mark on a published count whose interval reaches 0: the cell might as well be empty."),
        mark(
            "A count of 12 with ±30 is mostly noise, a count of 128 with ±30 is not. Wider bins, fewer columns or a "
            "larger ε give fewer such cells. Sums over many of them can still be good."
        ),
        ("half-width", "noise", "bin", "cell", "suppression"),
        ("publish", "accuracy"),
    ),
    "suppression": Term(
        mark("Small counts, and hiding them"),
        mark("suppression, suppress, hide small numbers, rare, minimum cell size, threshold, fewer than 5, blank"),
        mark("Small numbers need not be hidden here: noise protects each person in a small cell as in a large one."),
        mark(
            "A published 2 may stand for 0 or for 5 people, so it says little about whether a certain patient is in "
            "the table. If a rule asks you to hide numbers below 5, hide *published* ones in what you print: that "
            "costs nothing. Hiding cells by their true counts would tell readers that these are small."
        ),
        ("mostly-noise", "noise", "cell", "other"),
        ("publish", "risk"),
    ),
    "estimate": Term(
        mark("Estimate and count"),
        mark("unbiased, negative number, decimal, best estimate, published count, which number to use"),
        mark("Two forms of each published number: the estimate is right on average, the count fits all other tables."),
        mark(
            "An empty cell may have the estimate −3.2 and the count 0. Use the count for a table to read: it is whole, "
            "never below 0, and adds up. Use the estimate if you add up cells yourself, since its errors cancel out."
        ),
        ("consistency", "interval", "total"),
        ("publish", "accuracy"),
    ),
    "consistency": Term(
        mark("Consistency"),
        mark("adds up, agree, agreement, coherent, least squares, rounding"),
        mark("All published tables agree: whatever can be added up in two ways gives the same number."),
        mark(
            "The ages of the North add up to 1,204, and the table of regions also says 1,204 for the North. Noise "
            "alone would give two numbers. The agreement is computed from noisy numbers only, so it costs no privacy "
            "and makes each a little more exact."
        ),
        ("estimate", "post-processing", "table"),
        ("publish", "verify"),
    ),
    "post-processing": Term(
        mark("Post-processing"),
        mark("afterwards, derived, computing with results, downstream, percentages, charts"),
        mark("Whatever is computed from private numbers alone is as private as they are."),
        mark(
            "Percentages, charts, models and synthetic rows made from a release at ε = 1 stay at ε = 1. Readers may do "
            "with the numbers what they like."
        ),
        ("differential-privacy", "synthetic-rows", "consistency"),
        ("verify",),
    ),
    "strategy": Term(
        mark("Strategy"),
        mark("direct, optimised, optimized, adaptive, auto, automatic, how it is measured, share of epsilon, workload"),
        mark("Which tables get noise of their own, and which share of ε each of them gets."),
        mark(
            "Direct: each table by itself. Optimised: ε is divided so that the predicted error is smallest. Adaptive: "
            "the tables that matter most are chosen privately, and a model fills in the rest. With 10 tables and ε = "
            "1, an even division would leave 0.1 for each; a good strategy does better."
        ),
        ("table", "consistency", "ranges", "epsilon"),
        ("accuracy", "publish"),
    ),
    "ranges": Term(
        mark("Sums over ranges"),
        mark("range query, cumulative, up to an age, hierarchical, histogram, from to, age limit"),
        mark("An option for numbers and dates: sums over long ranges become more exact, single cells less so."),
        mark(
            "“All ages up to 40” adds up 40 single years. With noise in each year, the errors add up to about 6 times "
            "that of one year. With this option whole blocks of years are measured too, and one block stands for many "
            "of these years."
        ),
        ("strategy", "bin", "half-width"),
        ("publish",),
    ),
    "replicates": Term(
        mark("Replicates"),
        mark("replicate weights, bootstrap, resampling, 50 draws, own sums, regression, standard error"),
        mark("50 more versions of a release, as it could have come out: readers see from them how sure a result is."),
        mark(
            "Compute your own sum, ratio or regression in each of the 50 versions. How much the results differ gives "
            "an interval for yours. They are made from the release alone, reveal nothing new and cost nothing."
        ),
        ("interval", "synthetic-rows", "post-processing"),
        ("publish",),
    ),
    "synthetic-rows": Term(
        mark("Synthetic rows"),
        mark("synthetic data, microdata, artificial, made-up people, fake data, individual records"),
        mark("Made-up rows that add up to exactly the published tables; none of them is a person of your table."),
        mark(
            "If the release says 1,204 people in the North, 1,204 synthetic rows say North. Software that wants rows "
            "can read them. Trust only what the published tables say: how columns that stand in no table together "
            "belong to each other is a guess."
        ),
        ("post-processing", "consistency", "replicates"),
        ("publish",),
    ),
    "mean": Term(
        mark("Mean and sum of an amount"),
        mark("average, arithmetic mean, income, total amount, bounds, clamp, numeric column"),
        mark("Averages and sums of a number such as income, made private within bounds that you state."),
        mark(
            "Income is declared from 0 to 200,000: an income of 900,000 counts as 200,000, so that one rich person "
            "cannot be seen in the average. Tight bounds mean less noise, but cut off more. The ± does not include "
            "what is cut off."
        ),
        ("sensitivity", "domain", "noise", "found-bound"),
        ("ask",),
    ),
    "found-bound": Term(
        mark("Found upper bound"),
        mark("upper bound found, unknown maximum, highest value, clamping, clipping, winsorising, top coding"),
        mark(
            "An upper bound of an amount that a release finds privately, since nobody knows how large the values are."
        ),
        mark(
            "You state that wages are surely not above 1,000,000. For a tenth of ε, a release finds that hardly anyone "
            "earns more than 10,000, and publishes this bound. Averages then have a hundredth of the noise. A wage of "
            "50,000 counts as 10,000, so totals are too low where a few very large values make up much of them."
        ),
        ("mean", "domain", "noise"),
        ("publish",),
    ),
    "exponential": Term(
        mark("Exponential mechanism"),
        mark("permute-and-flip, private selection, choice, best option, most common value, median, quantile"),
        mark("A private choice from a list: good options are likely to win, and none is impossible."),
        mark(
            "At ε = 1, an option that is 10 votes behind the best is about 148 times less likely to win, and one that "
            "is 1 vote behind only 1.6 times. Here a variant called permute-and-flip is used: it errs less often and "
            "promises the same."
        ),
        ("noise", "sensitivity", "regret"),
        ("choose", "ask"),
    ),
    "randomised-response": Term(
        mark("Randomised response"),
        mark("randomized response, coin, local differential privacy, survey, plausible deniability, trust nobody"),
        mark("Each person lets a coin decide whether to answer truly or at random, so that no answer gives them away."),
        mark(
            "With a fair coin, a true “yes” is reported as “yes” in 3 of 4 cases; that is ε = 1.1. Nobody has to be "
            "trusted, but among 10,000 people the share is only known within about ±2 percentage points, where a "
            "trusted curator is off by far less."
        ),
        ("differential-privacy", "noise", "epsilon"),
        ("survey",),
    ),
    "regret": Term(
        mark("Regret"),
        mark("online learning, experts, advice, loss, follow the leader"),
        mark("How much worse you did, day by day, than with the one adviser who turns out best in the end."),
        mark(
            "The best adviser is wrong on 100 of 365 days, and you are wrong on 120: your regret is 20. Choosing "
            "privately costs some regret, since your choices may not give away what happened on a single day."
        ),
        ("exponential", "composition"),
        ("learn",),
    ),
}
