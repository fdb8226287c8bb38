"""Faults to plant where results are shown: answers and their errors, pages, reports, and what is verified of files."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

ASK = "dpengine/ask.py"
ANSWER = "dpengine/results/answer.py"

OF_ASK = "tests/test_ask.py"
OF_ANSWER = "tests/results/test_answer.py"

FAULTS = [
    # Answers and their errors
    Fault(
        "estimates of the rows kept are averaged by the standard deviation of their noise",
        ASK,
        "1 / float(answers[bound].question.scale) ** 2",
        "1 / float(answers[bound].question.scale)",
        "tests/test_rows_kept.py::test_estimates_that_fall_are_averaged_by_the_precision_of_their_noise",
    ),
    Fault(
        "an answer may be that of a table which changed while it was counted",
        ASK,
        "        count.check_unchanged(table)\n        return exact",
        "        return exact",
        OF_ASK + "::test_a_file_that_changes_while_it_is_asked_about_costs_nothing",
    ),
    Fault(
        "the most common value may be one that was not declared",
        ASK,
        "[: len(column.declared)]",
        "",
        OF_ASK + "::test_the_most_common_value_is_one_that_was_declared",
    ),
    Fault(
        "a quantile is said to be twice as near as it is",
        ANSWER,
        "unit = question.epsilon / (2 * question.sensitivity)",
        "unit = question.epsilon / question.sensitivity",
        OF_ANSWER + "::test_a_chosen_value_is_within_its_reach_of_the_best_in_95_of_100_draws",
        quick=True,
    ),
    Fault(
        "the error of each group is that of all groups together",
        ANSWER,
        "rows = (question.rows_about or 0) / question.groups",
        "rows = question.rows_about or 0",
        OF_ANSWER + "::test_by_group_the_error_is_that_of_a_group_of_average_size",
    ),
    Fault(
        "a sum that cannot be above 0 may be",
        ANSWER,
        "                least, most = min(least, 0), min(most, 0)\n",
        "                pass\n",
        OF_ANSWER + "::test_the_interval_of_a_sum_that_cannot_be_above_0_ends_there",
    ),
    Fault(
        "an interval beyond the end of what a share can be has no width",
        "dpengine/mechanisms/scalar_queries.py",
        "return estimate, min(low, max(0.0, 1 - margin)), max(high, min(1.0, margin))",
        "return estimate, low, high",
        "tests/mechanisms/test_scalar_queries.py::test_an_interval_that_noise_pushed_beyond_the_end_keeps_a_width",
    ),
]
