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
MEASUREMENTS = "dpengine/bundle/checks/measurement_check.py"

OF_MODEL_ERRORS = "tests/replicates/test_model_errors.py"
OF_REPLICATES = "tests/replicates/test_replicates.py::test_each_measurement_has_draws_and_a_scale_of_its_own"
OF_VERIFY = "tests/bundle/test_verify.py"
OF_FAULTS = OF_VERIFY + "::test_every_change_is_found_even_where_all_sha_256_sums_are_recomputed"
OF_MODEL = "tests/bundle/test_verify_models.py"
OF_MODELS = OF_MODEL + "::test_numbers_of_a_model_lie_within_their_intervals_as_wide_as_stated_and_have_one_total"
OF_RANGES = "tests/bundle/test_verify_ranges.py::test_every_change_is_found"
OF_AMOUNTS = "tests/bundle/test_verify_amounts.py::test_every_change_is_found"
OF_REPORT = (
    "tests/bundle/test_report.py::test_it_counts_the_cells_that_are_mostly_noise_and_says_where_missing_values_are"
)
OF_BUDGET = "tests/pages/test_budget_page.py"
FIGURES, OF_FIGURES = "dpengine/charts/figures.py", "tests/charts/test_figures.py"
OF_MEASURES = "tests/charts/test_measures.py"
OF_LOCAL = "tests/mechanisms/local/test_protocol.py"
OF_BOUNDARIES = "tests/counting/encoding/test_bin_boundaries.py"
OF_PUSHDOWN = "tests/counting/test_pushdown.py"
OF_TREES = "tests/test_found_bins.py::test_boxes_that_do_not_hold_each_step_once_are_refused"
OF_WIDTHS = "tests/bundle/test_verify_amounts.py::test_intervals_of_means_and_sums_are_as_wide_as_their_noise"


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
        "dpengine/results/interval_estimates.py",
        "high = np.maximum(np.round(middle + half_width, decimals), sums)",
        "high = np.maximum(np.round(middle + half_width / 2, decimals), sums)",
        "tests/results/test_interval_estimates.py",
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
        "replicates of all levels have the same noise",
        REPLICATES,
        "_noise(basis.release_id, k, float(each.scale), basis",
        "_noise(basis.release_id, 0, float(each.scale), basis",
        OF_REPLICATES,
    ),
    Fault(
        "replicates of all boxes have the noise of the first",
        REPLICATES,
        "float(boxes.scale(int(part)))",
        "float(boxes.scale(int(boxes.parts[0])))",
        OF_REPLICATES,
    ),
    Fault(
        "replicates of a model's columns do not add up to those of its total",
        REPLICATES,
        "errors + (total - errors.sum(axis=1))[:, None] / errors.shape[1]",
        "errors",
        "tests/replicates/test_replicates.py::test_replicates_agree_from_table_to_table_and_are_the_same_each_time",
    ),
    Fault(
        "cells of a model have errors of the root of the size that the audit says",
        REPLICATES,
        "(SPREAD * basis.mean_errors(_published(basis, table))) ** 2",
        "SPREAD * basis.mean_errors(_published(basis, table))",
        OF_MODEL_ERRORS + "::test_errors_of_cells_are_as_large_as_the_audit_says_given_the_sums_of_their_columns",
    ),
    Fault(
        "the independent part of a model's errors forgets a root",
        REPLICATES,
        "math.sqrt(1 - TREND) * _normal",
        "(1 - TREND) * _normal",
        OF_MODEL_ERRORS + "::test_errors_of_cells_are_as_large_as_the_audit_says_given_the_sums_of_their_columns",
    ),
    Fault(
        "cells of all tables of a model have the same errors",
        REPLICATES,
        '(table, "cells")',
        '"cells"',
        OF_MODEL_ERRORS + "::test_errors_of_different_tables_are_independent",
    ),
    Fault(
        "the trends of all columns of a table go the same way",
        REPLICATES,
        "_trend(basis, (table, axis), size)",
        "_trend(basis, table, size)",
        OF_MODEL_ERRORS + "::test_no_cell_is_off_to_one_side",
    ),
    Fault(
        "replicates have no noise",
        REPLICATES,
        "_uniforms(release_id, (stream, side), shape)",
        "_uniforms(release_id, stream, shape)",
        "tests/replicates/test_replicates.py::test_fresh_noise_has_the_moments_of_discrete_laplace_noise",
    ),
    Fault(
        "replicates of amounts have noise in rows, added to units",
        REPLICATES,
        "float(each.scale_in_units)",
        "float(each.scale)",
        "tests/estimate/test_amounts.py::test_replicates_have_the_noise_of_units_and_carry_means_and_sums",
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
        "if stated is not None and not _is_as_wide(",
        "if False and not _is_as_wide(",
        OF_MODELS,
    ),
    Fault(
        "intervals beside boxes may be as wide as one likes",
        "dpengine/bundle/verify.py",
        "stated=None if direct else {",
        "stated=None if estimator(plan) is not Estimator.MODEL else {",
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
        MEASUREMENTS,
        "if each.purpose is None and released.issuperset(each.columns)",
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
        "dpengine/bundle/found_file.py",
        "(np.diff(places) <= 0).any()",
        "(np.diff(places) < 0).any()",
        "tests/test_found_values.py::test_a_bundle_whose_search_was_changed_is_refused",
    ),
    # Pages
    Fault(
        "the page leaves the price of finding values out",
        "pages/parts/publish/release_step.py",
        "price=Fraction(0) if published else plan.epsilon",
        "price=Fraction(0) if published else plan.epsilon_for_tables",
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
        "pages/parts/shared/epsilon_ladder.py",
        "return epsilon // step * step",
        "return -(-epsilon // step) * step",
        OF_BUDGET + "::test_the_planner_says_what_each_release_may_cost",
    ),
    Fault(
        "the budget lists what other entries bought",
        "pages/parts/budget/history.py",
        "bought=[*map(_contents, entries)]",
        "bought=[*map(_contents, entries[::-1])]",
        OF_BUDGET + "::test_an_answer_is_shown_here_too",
    ),
    Fault(
        "what a wrong statement of other people means leaves out what they spent",
        "pages/parts/budget/same_people.py",
        "together = ledger.spent(dataset, alike=list(elsewhere.values()))",
        "together = ledger.spent(dataset)",
        OF_BUDGET + "::test_what_follows_if_a_statement_of_other_people_is_wrong_counts_all_that_was_spent",
    ),
    Fault(
        "a question under another name has a budget of its own on the page",
        "pages/ask.py",
        "ledger.left(question.dataset, data, alike)",
        "ledger.left(question.dataset)",
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
        "pages/parts/verify/contents.py",
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
        '({"merged_to": list(each.values.shape)} if each.merged else {})',
        "{}",
        OF_VERIFY + "::test_a_manifest_says_how_many_cells_were_left_by_merging",
    ),
    # What readers see, and what their programs check
    Fault(
        "quantiles that were chosen may fall",
        "dpengine/measure/quantile_choice.py",
        "np.sort(chosen, axis=1)",
        "chosen",
        "tests/measure/test_quantile_choice.py::test_choices_are_the_winners_of_the_stated_contests",
    ),
    Fault(
        "two coins that often say yes are priced by their yes alone",
        "dpengine/mechanisms/local/randomized_response.py",
        "max(self.hit / self.miss, (1 - self.miss) / (1 - self.hit))",
        "self.hit / self.miss",
        OF_LOCAL
        + "::test_no_report_is_more_than_e_to_the_epsilon_times_as_likely_under_another_answer_and_one_is_just_that",
    ),
    Fault(
        "the variance of pairs of answers is that of other people each time",
        "dpengine/mechanisms/local/randomized_response.py",
        "squares @ likely @ squares.T - likely) / people",
        "squares @ likely @ squares.T) / people",
        "tests/mechanisms/local/test_randomized_response.py"
        "::test_reports_that_are_nearly_always_true_leave_hardly_any_variance",
    ),
    Fault(
        "for two questions the curator has the noise of one coin",
        "dpengine/lessons/survey.py",
        "curator_counts(cells, 2 * coin.epsilon)",
        "curator_counts(cells, coin.epsilon)",
        "tests/lessons/test_survey.py::test_for_two_questions_the_curator_has_the_noise_of_both_coins",
    ),
    Fault(
        "a letter of another alphabet opens a second budget",
        "dpengine/accounting/entry.py",
        'dataset = unicodedata.normalize("NFKC", seen or dataset)',
        "dataset = seen or dataset",
        "tests/accounting/test_ledger.py::test_spellings_of_a_name_are_one_dataset",
    ),
    Fault(
        "a letter that nobody sees opens a second budget",
        "dpengine/accounting/entry.py",
        'unicodedata.category(letter) != "Cf"',
        "letter",
        "tests/accounting/test_ledger.py::test_spellings_of_a_name_are_one_dataset",
        quick=True,
    ),
    Fault(
        "a second blank opens a second budget",
        "dpengine/accounting/entry.py",
        '" ".join(unicodedata.normalize("NFKC", dataset.casefold()).split())',
        'unicodedata.normalize("NFKC", dataset.casefold()).strip()',
        "tests/accounting/test_ledger.py::test_spellings_of_a_name_are_one_dataset",
    ),
    Fault(
        "an interval may be too wide below",
        CROSS,
        "low = (wide_low <= numbers.low) & (numbers.low <= narrow_low)",
        "low = numbers.low <= narrow_low",
        OF_FAULTS,
    ),
    Fault(
        "private choices may be stated for one row of a person",
        "dpengine/bundle/checks/choice_check.py",
        "fits = entry.mechanism == mechanism and entry.sensitivity % (GRAIN * rows) == 0",
        "fits = entry.mechanism == mechanism and entry.sensitivity % GRAIN == 0",
        OF_MODEL + "::test_choices_and_audits_are_stated_for_all_rows_of_a_person",
    ),
    Fault(
        "the limits of the guarantee do not name the column of persons",
        "dpengine/bundle/promises.py",
        "_(wording.several_rows) if plan.unit.id is None else",
        "_(wording.several_rows) if plan.unit.rows > 0 else",
        OF_MODEL + "::test_choices_and_audits_are_stated_for_all_rows_of_a_person",
    ),
    Fault(
        "merged cells may be more than there are of a column",
        MEASUREMENTS,
        "all(0 < cells <= size for cells, size",
        "all(0 < cells for cells, size",
        OF_MODEL + "::test_no_more_cells_are_left_by_merging_than_there_are",
    ),
    Fault(
        "found bins may come from boxes that overlap",
        "dpengine/bundle/found_file.py",
        "        and (begins[1:] == ends[:-1])[~begin[1:]].all()\n",
        "",
        OF_TREES,
    ),
    Fault(
        "found bins may come from boxes that leave steps out",
        "dpengine/bundle/found_file.py",
        "[*first[root], *last[root]] != [0, steps]",
        "[*first[root]] != [0]",
        OF_TREES,
    ),
    Fault(
        "the interval of a mean may go beyond its bounds",
        "dpengine/bundle/checks/amount_check.py",
        'bounded = (lower, upper) if kind == "mean" else ()',
        "bounded = ()",
        OF_AMOUNTS,
    ),
    Fault(
        "the interval of a mean may be as wide as one likes",
        "dpengine/bundle/checks/width_check.py",
        "return not (narrow | (~moved & (at_least > expected + slack))).any()",
        "return not narrow.any()",
        OF_WIDTHS,
    ),
    Fault(
        "the interval of a sum may be as narrow as one likes",
        "dpengine/bundle/checks/width_check.py",
        "return not ((width < expected - slack) | (~moved & (width > expected + slack))).any()",
        "return not (~moved & (width > expected + slack)).any()",
        OF_WIDTHS,
    ),
    Fault(
        "plans that read numbers in another format are the same plan",
        "dpengine/spec/numeric/affixes.py",
        'form = {} if plain["format"] == "1234.5" else {"format": plain["format"]}',
        "form: dict[str, Any] = {}",
        "tests/spec/test_domain.py::test_numbers_in_another_format_are_counted_in_other_cells",
    ),
    Fault(
        "plans that leave out other texts beside numbers are the same plan",
        "dpengine/spec/numeric/affixes.py",
        'affixes = {"affixes": sorted(plain["affixes"])} if plain["affixes"] else {}',
        "affixes: dict[str, Any] = {}",
        "tests/spec/test_affixes.py::test_plans_that_read_numbers_otherwise_have_other_numbers",
    ),
    Fault(
        "a minus that is declared as a text beside numbers is left out, and changes their sign",
        "dpengine/spec/numeric/affixes.py",
        'return not (_BEGINS_WITH_NUMBER.match(affix) or affix in (*_MINUS, ")"))',
        "return not _BEGINS_WITH_NUMBER.match(affix)",
        "tests/spec/test_affixes.py::test_a_text_that_would_change_a_number_is_refused",
    ),
    Fault(
        "of two texts before a number, the shorter one is left out",
        "dpengine/counting/encoding/coding.py",
        "key=lambda each: -len(each))",
        "key=len)",
        "tests/counting/test_affixes.py::test_declared_texts_beside_numbers_are_left_out",
    ),
    Fault(
        "a text beside a number that nobody declared is left out in a database",
        "dpengine/counting/encoding/remote_sql.py",
        '[{f"bare_{tag}": without_affixes(text, column.affixes, dialect)}]',
        "[{f\"bare_{tag}\": f\"regexp_replace({text}, '[^0-9]*$', '')\"}]",
        "tests/counting/test_affixes.py::test_numbers_beside_declared_texts_fall_in_the_same_cells",
    ),
    Fault(
        "a plus and a minus before a number are a minus",
        "dpengine/counting/encoding/local_sql.py",
        'for letters in ("_", "e", "E", "+-"))',
        'for letters in "_eE")',
        "tests/counting/encoding/test_local_sql.py::test_a_text_in_a_number_column",
    ),
    Fault(
        "the legend names quantiles in reverse order",
        "dpengine/charts/spans.py",
        "cells.measure.part_names()[place] if cells.measure",
        "cells.measure.part_names()[-1 - place] if cells.measure",
        OF_MEASURES + "::test_each_group_has_its_number_its_interval_and_its_mark",
    ),
    Fault(
        "a typical interval is described by its whole width",
        "dpengine/charts/spans.py",
        "np.median(((cells.high - cells.low) / 2)[~cells.noisy])",
        "np.median((cells.high - cells.low)[~cells.noisy])",
        OF_MEASURES + "::test_descriptions_say_the_least_and_the_most_and_no_markup_comes_in",
    ),
    Fault(
        "the smallest cell is described as the largest",
        FIGURES,
        "np.unravel_index(int(counts.argmax()), counts.shape)",
        "np.unravel_index(int(counts.argmin()), counts.shape)",
        OF_FIGURES + "::test_alternative_text_says_what_is_seen",
    ),
    Fault(
        "the curve marks the error of another ε",
        "dpengine/charts/error_curve.py",
        "drawn[epsilons.index(here)], marker",
        "drawn[0], marker",
        OF_FIGURES + "::test_the_error_curve_marks_the_plan_and_needs_no_data",
    ),
    Fault(
        "synthetic rows that are off up and down are not off",
        "dpengine/results/fidelity.py",
        "errors = np.abs(counts - scale * result.counts(table).ravel())",
        "errors = counts - scale * result.counts(table).ravel()",
        "tests/results/test_fidelity.py::test_another_number_of_rows_is_off_by_rounding_alone",
    ),
    Fault(
        "the mean and the sum of an amount may disagree",
        "dpengine/bundle/checks/amount_check.py",
        "if (np.abs(difference) > _rounding(plan, name) * people + SLACK * np.abs(sums)).any():",
        "if (np.abs(difference) > np.abs(sums)).any():",
        OF_AMOUNTS,
    ),
    Fault(
        "the interval of a quantile begins at the knot that is reached",
        "dpengine/estimate/quantiles.py",
        "np.maximum(fits.argmax(axis=0) - 1, 0)",
        "np.maximum(fits.argmax(axis=0), 0)",
        "tests/estimate/test_quantiles.py::test_without_noise_an_interval_holds_the_quantile_of_any_three_people",
    ),
    Fault(
        "a whole number between two floats is the upper one",
        "dpengine/counting/encoding/bin_boundaries.py",
        "return first if first / 10**scale >= number else first + 1",
        "return first",
        OF_BOUNDARIES + "::test_a_whole_number_halfway_between_two_floats_is_the_even_one",
    ),
    Fault(
        "a value prevails over a missing marker that is the same number",
        "dpengine/counting/encoding/declared_texts.py",
        "return {}, by_number | {normalised(text, family): column.missing_code for text in column.missing_as}",
        "return {}, {normalised(text, family): column.missing_code for text in column.missing_as} | by_number",
        OF_BOUNDARIES + "::test_a_missing_marker_prevails_over_a_value_that_is_the_same_number",
    ),
    Fault(
        "moments before year 1 are in its first second",
        "dpengine/sources/dataframe.py",
        "_YEAR_0_ENDS, _YEAR_10000 = -62_135_596_801, 253_402_300_800",
        "_YEAR_0_ENDS, _YEAR_10000 = -62_135_596_800, 253_402_300_800",
        "tests/counting/encoding/test_local_sql.py::test_a_moment_outside_the_years_of_the_calendar_is_in_none_of_them",
    ),
    Fault(
        "the texts of bars are those of other cells",
        "dpengine/charts/bars.py",
        '"customdata": details[chosen]',
        '"customdata": details[: chosen.size]',
        OF_FIGURES + "::test_one_column_is_bars_with_whiskers_and_hatching",
    ),
    Fault(
        "the level of a quantile is English in every language",
        "dpengine/spec/query/statistic.py",
        "percent=exactly(percent)",
        "percent=f'{float(percent):g}'",
        "tests/spec/test_query.py::test_quantiles_are_named_with_the_marks_of_the_language",
    ),
    Fault(
        "in another engine, every hundredth year is a leap year",
        "dpengine/counting/encoding/remote_dates.py",
        '([2468][048]|0[48]|[13579][26])00)"',
        '([2468][048]|0[48]|[13579][26]|[0-9][0-9])00)"',
        OF_PUSHDOWN + "::test_texts_fall_in_the_same_cells",
    ),
    Fault(
        "in another engine, a minute has 61 seconds",
        "dpengine/counting/encoding/remote_dates.py",
        'ends = {"%H": 24, "%M": 60, "%S": 60}',
        'ends = {"%H": 24, "%M": 60, "%S": 61}',
        OF_PUSHDOWN + "::test_dates_by_a_format_fall_in_the_same_cells",
    ),
    Fault(
        "in another engine, 7.00 is another person than 7",
        "dpengine/counting/encoding/remote_sql.py",
        "text = f\"CASE WHEN {matches(text, '-?[0-9]+[.]0+', dialect)} THEN {whole} ELSE {text} END\"",
        "text = f\"CASE WHEN {matches(text, '-?[0-9]+[.]0', dialect)} THEN {whole} ELSE {text} END\"",
        OF_PUSHDOWN + "::test_a_number_is_the_same_person_however_it_is_written",
    ),
    Fault(
        "the table with the smallest error is shown as that with the largest",
        "pages/parts/accuracy/predictions.py",
        'widths = all_errors(plan)["half_width_95"][: len(plan.marginals)]',
        'widths = -all_errors(plan)["half_width_95"][: len(plan.marginals)]',
        "tests/pages/test_accuracy_page.py::test_the_largest_error_is_that_of_the_table_whose_counts_are_furthest_off",
    ),
    Fault(
        "the axis of what is spent ends before the cap",
        "pages/parts/budget/charts.py",
        "range=[0, 1.06 * max(full, cap or 0, 1e-9)]",
        "range=[0, 1.06 * max(full, 1e-9)]",
        OF_BUDGET + "::test_the_axis_of_what_is_spent_holds_the_cap_and_the_current_plan",
    ),
    Fault(
        "the sensitivity of a sum is said to be that of its upper bound",
        "pages/parts/ask/wording.py",
        "max(abs(grid.low), abs(grid.high)) * question.unit.rows",
        "abs(grid.high) * question.unit.rows",
        "tests/pages/test_ask_page.py::test_the_sensitivity_of_a_sum_is_that_of_its_larger_bound",
    ),
    Fault(
        "a sum of four cells is said to be off by four times as much",
        "dpengine/bundle/guide.py",
        '"four": people(2 * half_width)',
        '"four": people(4 * half_width)',
        "tests/bundle/test_write.py::test_a_sum_of_four_cells_is_off_by_twice_as_much_as_one",
    ),
    Fault(
        "estimates of a model are described as maybe negative",
        "dpengine/bundle/portals/content.py",
        "signed = estimator(plan) in (Estimator.LEAST_SQUARES, Estimator.TOGETHER)",
        "signed = estimator(plan) in (Estimator.LEAST_SQUARES, Estimator.MODEL)",
        "tests/bundle/portals/test_portals.py::test_only_estimates_that_may_be_negative_are_described_so",
    ),
    Fault(
        "69 is a year of this century in synthetic rows",
        "dpengine/synthesis/date_texts.py",
        '(1900 if int(fields["y"]) >= PIVOT else 2000)',
        '(1900 if int(fields["y"]) > PIVOT else 2000)',
        "tests/synthesis/test_date_texts.py::test_years_of_two_digits_are_those_from_1969_to_2068",
    ),
    Fault(
        "a sign-in lasts longer if the clock is set back",
        "pages/parts/access/person.py",
        "if not -MAX_AHEAD <= time.time() - since <= sign_in.lasts.total_seconds():",
        "if time.time() - since > sign_in.lasts.total_seconds():",
        "tests/pages/access/test_person.py::test_a_clock_that_is_set_back_prolongs_no_sign_in",
    ),
    Fault(
        "the preview of a table draws noise of rows for persons",
        "dpengine/results/preview.py",
        "allocate(plan, shared, plan.unit.rows / scale)",
        "allocate(plan, shared, 1 / scale)",
        "tests/results/test_preview.py::test_a_table_drawn_alone_has_the_errors_of_persons_with_several_rows",
    ),
    Fault(
        "an upload may be a piece larger than the limit",
        "pages/parts/server/upload_route.py",
        "        if left < 0:\n",
        "        if left < -PIECE:\n",
        "tests/pages/server/test_uploads.py"
        "::test_a_body_of_one_byte_more_than_the_limit_is_refused_whatever_size_it_stated",
    ),
    Fault(
        "another file of the same name has the columns of the one before it",
        "pages/parts/visit/project/recent.py",
        '"same-columns", (dataset, names, entries)',
        '"same-columns", (dataset, here.table_name, entries)',
        "tests/pages/publish/test_steps.py::test_a_file_of_next_year_is_offered_the_plan_and_the_budget_of_this_year",
    ),
    Fault(
        "a steward who publishes says what needs approval",
        "pages/parts/access/accounts.py",
        "        May.RULE: steward and not owner,\n",
        "        May.RULE: steward,\n",
        "tests/pages/access/test_roles.py::test_a_steward_who_also_publishes_does_not_say_what_needs_approval",
    ),
]
