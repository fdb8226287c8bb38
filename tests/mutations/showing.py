"""Faults to plant where results are shown: answers and their errors, pages, reports, and what is verified of files."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

ASK = "dpengine/ask.py"
ANSWER = "dpengine/results/answer.py"

OF_ASK = "tests/test_ask.py"
OF_ANSWER = "tests/results/test_answer.py"
REPLICATES = "dpengine/replicates/draw.py"
CROSS = "dpengine/bundle/checks/cross_check.py"
PRICES = "dpengine/bundle/checks/price_check.py"

OF_REPLICATES = "tests/replicates/test_replicates.py::test_each_measurement_has_draws_and_a_scale_of_its_own"
OF_VERIFY = "tests/bundle/test_verify.py"
OF_FAULTS = OF_VERIFY + "::test_every_change_is_found_even_where_all_sha_256_sums_are_recomputed"
OF_MODELS = OF_VERIFY + "::test_numbers_of_a_model_lie_within_their_intervals_as_wide_as_stated_and_have_one_total"
OF_RANGES = "tests/bundle/test_verify_ranges.py::test_every_change_is_found"
OF_AMOUNTS = "tests/bundle/test_verify_amounts.py::test_every_change_is_found"
OF_REPORT = (
    "tests/bundle/test_report.py::test_it_counts_the_cells_that_are_mostly_noise_and_says_where_missing_values_are"
)
OF_BUDGET = "tests/pages/test_budget_page.py"

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
    Fault(
        "the interval of a sum is half as wide above",
        "dpengine/results/spans.py",
        "high = np.maximum(np.round(middle + half_width, decimals), sums)",
        "high = np.maximum(np.round(middle + half_width / 2, decimals), sums)",
        "tests/results/test_spans.py",
    ),
    Fault(
        "noise alone makes a column mostly other",
        "dpengine/results/mostly_other.py",
        '["low"]',
        '["high"]',
        "tests/results/test_mostly_other.py",
    ),
    Fault(
        "a time with a zone is on its own day, among Python objects",
        "dpengine/sources/cells.py",
        "cell.astimezone(dt.UTC).replace(tzinfo=None)",
        "cell.replace(tzinfo=None)",
        "tests/counting/encoding/test_local_sql.py::test_a_time_with_a_zone_is_on_its_day_in_utc_among_objects_too",
    ),
    # Replicates
    Fault(
        "replicates of all tables have the same noise",
        REPLICATES,
        "_noise(basis.release_id, k, float(each.scale_in_units)",
        "_noise(basis.release_id, 0, float(each.scale_in_units)",
        OF_REPLICATES,
    ),
    Fault(
        "replicates of all boxes have the noise of the first",
        REPLICATES,
        "float(boxes.scale(int(part)))",
        "float(boxes.scale(int(boxes.parts[0])))",
        OF_REPLICATES,
    ),
    # Files: what is made of a plan, and what is verified
    Fault(
        "a plan may be written as another one",
        "dpengine/bundle/dry_run.py",
        "    if again != plan.key:",
        "    if False:",
        "tests/bundle/test_dry_run.py::test_a_plan_whose_file_says_another_one_is_refused",
    ),
    Fault(
        "an interval may end before its half-width does",
        CROSS,
        "high = (narrow_high <= numbers.high) & (numbers.high <= wide_high)",
        "high = numbers.high <= wide_high",
        OF_FAULTS,
    ),
    Fault(
        "an interval may go below 0",
        CROSS,
        "if (numbers.low < 0).any():",
        "if False:",
        OF_MODELS,
    ),
    Fault(
        "intervals of a model may be as wide as one likes",
        CROSS,
        "if table in self._stated and not",
        "if False and not",
        OF_MODELS,
    ),
    Fault(
        "intervals beside boxes may be as wide as one likes",
        "dpengine/bundle/verify.py",
        "stated=None if direct else stated",
        "stated=stated if modelled else None",
        OF_RANGES,
    ),
    Fault(
        "a half-width may be off by a tenth",
        PRICES,
        "rel_tol=0.02",
        "rel_tol=0.5",
        OF_FAULTS,
    ),
    Fault(
        "a measurement of a column that is not there ends the program",
        PRICES,
        "if each.purpose is None and known.issuperset(each.columns)",
        "if each.purpose is None",
        OF_RANGES,
    ),
    Fault(
        "the amounts of more people are known than there are",
        "dpengine/bundle/checks/amount_check.py",
        "(known >= 0) & (known <= count) & (known == np.rint(known))",
        "(known >= 0) & (known == np.rint(known))",
        OF_AMOUNTS,
    ),
    Fault(
        "a value may be found twice",
        "dpengine/bundle/checks/searches.py",
        "(np.diff(places) <= 0).any()",
        "(np.diff(places) < 0).any()",
        "tests/test_found_values.py::test_a_bundle_whose_search_was_changed_is_refused",
    ),
    # Pages
    Fault(
        "the page leaves the price of finding values out",
        "pages/parts/publish/release_step.py",
        "price=Fraction(0) if published else plan.epsilon",
        "price=Fraction(0) if published else plan.for_tables",
        "tests/pages/publish/test_found_values.py::test_the_page_shows_it_and_publishes_the_plan_as_it_is_stated",
    ),
    Fault(
        "an answer of a person is said to be as safe as their being there",
        "pages/parts/publish/epsilon_step.py",
        "for times in (1, 2))\n    st.markdown",
        "for times in (1, 1))\n    st.markdown",
        "tests/pages/publish/test_publish_page.py::test_a_sample_settles_every_step",
    ),
    Fault(
        "what each of many releases may cost is rounded up",
        "pages/parts/budget/planner.py",
        "return epsilon // step * step",
        "return -(-epsilon // step) * step",
        OF_BUDGET + "::test_the_planner_says_what_each_release_may_cost",
    ),
    Fault(
        "the budget lists what other entries bought",
        "pages/parts/budget/history.py",
        "bought=[*map(_contents, history)]",
        "bought=[*map(_contents, history[::-1])]",
        OF_BUDGET + "::test_an_answer_is_shown_here_too",
    ),
    Fault(
        "what a wrong statement of other people means leaves out what they spent",
        "pages/budget.py",
        "together = book.spent(dataset, alike=list(elsewhere.values()))",
        "together = book.spent(dataset)",
        OF_BUDGET + "::test_what_follows_if_a_statement_of_other_people_is_wrong_counts_all_that_was_spent",
    ),
    Fault(
        "a question under another name has a budget of its own on the page",
        "pages/ask.py",
        "book.left(question.dataset, data, alike)",
        "book.left(question.dataset)",
        "tests/pages/test_ask_page.py::test_under_another_name_the_same_people_have_what_is_left_to_them",
    ),
    Fault(
        "a chart draws the typical error as the half-width",
        "pages/parts/accuracy/charts.py",
        '(_("95 in 100 counts are within"), "half_width_95",',
        '(_("95 in 100 counts are within"), "mean_abs_error",',
        "tests/pages/test_accuracy_page.py::test_each_line_of_the_chart_is_the_error_that_its_name_says",
    ),
    Fault(
        "a viewer takes back requests of others",
        "pages/parts/visit/state.py",
        "            self.account.require(May.APPROVE)\n        desk.withdraw",
        "            pass\n        desk.withdraw",
        "tests/pages/test_approval_page.py::test_a_viewer_takes_back_no_request_of_others",
    ),
    Fault(
        "a measurement is listed with its scale as its part of ε",
        "pages/verify.py",
        'if key != "columns"} | words | exact',
        'if key != "columns"} | words | dict(zip(exact, [*exact.values()][::-1], strict=True))',
        "tests/pages/test_verify_page.py::test_tables_measurements_and_files_are_listed",
    ),
    Fault(
        "a report counts the cells that are not noise as noise",
        "dpengine/bundle/report_tables.py",
        '"noisy": int(noisy.sum())',
        '"noisy": int((~noisy).sum())',
        OF_REPORT,
    ),
    Fault(
        "a report says that missing values are counted where they are left out",
        "dpengine/bundle/report.py",
        '_("counted as (missing)") if column.missing else other',
        '_("counted as (missing)")',
        OF_REPORT,
    ),
    Fault(
        "rows without an amount are said to be left out where they are counted",
        "dpengine/bundle/promises.py",
        "if not plan.column(name).missing",
        "if plan.column(name).missing",
        "tests/bundle/test_verify_amounts.py::test_it_is_said_where_rows_without_an_amount_are_left_out",
    ),
    Fault(
        "a manifest says of merged cells that each was measured",
        "dpengine/bundle/manifest.py",
        '({"merged_to": list(one.values.shape)} if one.merged else {})',
        "{}",
        OF_VERIFY + "::test_a_manifest_says_how_many_cells_were_left_by_merging",
    ),
]
