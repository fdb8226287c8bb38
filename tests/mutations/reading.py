"""Faults to plant where rows are made from what a file says, in what is public, and where readers compare releases."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

FREQUENCIES = "dpengine/sources/frequencies.py"
ANSWERS = "dpengine/sources/several_answers.py"
COMPARE = "dpengine/compare.py"
COMPARABLE = "dpengine/comparable.py"
COMBINE = "dpengine/combine.py"
NOISY_NUMBER = "dpengine/noisy_number.py"
PERCENTAGES = "dpengine/percentages.py"
RUN = "dpengine/isolation/run.py"
FORKER = "dpengine/isolation/forker.py"
UNIVERSE = "dpengine/spec/categories/universe.py"
SKETCH = "dpengine/accounting/sketch.py"

OF_FREQUENCIES = "tests/sources/test_frequencies.py"
OF_ANSWERS = "tests/sources/test_several_answers.py"
OF_RUN = "tests/isolation/test_run.py"
OF_UNIVERSE = "tests/spec/test_universe.py::test_an_invalid_universe_is_refused_in_words"
OF_SKETCH = "tests/accounting/test_sketch.py"
OF_COMPARE = "tests/test_compare.py"
OF_COMBINE = "tests/test_combine.py"
OF_COMBINED_INTERVALS = OF_COMBINE + "::test_intervals_hold_at_least_93_in_100_and_are_not_much_too_wide"
OF_PERCENTAGES = "tests/test_percentages.py"

LOCAL_DATES = "dpengine/counting/encoding/local_dates.py"
REMOTE_DATES = "dpengine/counting/encoding/remote_dates.py"
OF_TIMES = "tests/counting/encoding/test_times.py"

FAULTS = [
    Fault(
        "the description of a Parquet file's columns may have any length",
        "dpengine/sources/files/parquet.py",
        "if size > footer > _MAX_FOOTER << 20:",
        "if footer < 0:",
        "tests/sources/files/test_parquet.py"
        "::test_a_file_that_describes_its_columns_at_great_length_is_refused_before_that_is_read",
    ),
    Fault(
        "values of a column win over its codebook without a word",
        "dpengine/spec/categories/category.py",
        'not in ("codebook", "standard"):',
        'not in ("codebook", "standard", "typed"):',
        "tests/spec/test_plan.py::test_values_are_listed_or_come_from_a_codebook_and_not_both",
    ),
    # Hours and weekdays
    Fault(
        "hours are one too late",
        LOCAL_DATES,
        'return f"hour({value})"',
        'return f"(hour({value}) + 1) % 24"',
        OF_TIMES + "::test_texts",
        quick=True,
    ),
    Fault(
        "the week begins on Sunday",
        LOCAL_DATES,
        "isodow({value}) - 1",
        "dayofweek({value})",
        OF_TIMES + "::test_texts",
    ),
    Fault(
        "a time of day with a single digit is not read",
        "dpengine/counting/encoding/coding.py",
        'CLOCK = "([01]?[0-9]',
        'CLOCK = "([01][0-9]',
        OF_TIMES + "::test_texts",
    ),
    Fault(
        "24:00 is no time of a day",
        "dpengine/counting/encoding/coding.py",
        '|24:00(:00([.]0+)?)?"',
        '"',
        OF_TIMES + "::test_texts",
    ),
    Fault(
        "times with a zone count by the clock of the machine",
        "dpengine/sources/engine.py",
        """SET TimeZone = 'UTC'""",
        """SET TimeZone = 'Pacific/Kiritimati'""",
        OF_TIMES + "::test_texts",
    ),
    Fault(
        "the clock of a zone is behind where it is ahead",
        "dpengine/counting/encoding/clock.py",
        "moved = dialect.add_seconds.format(x=utc, n=ahead)",
        'moved = dialect.add_seconds.format(x=utc, n=f"-({ahead})")',
        "tests/counting/encoding/test_zones.py::test_texts",
    ),
    Fault(
        "a zone has no summer time",
        "dpengine/spec/zones.py",
        "        ahead.append(after)",
        "        ahead.append(ahead[0])",
        "tests/spec/test_zones.py::test_offsets_are_those_of_the_zone_file",
    ),
    Fault(
        "the zone data of the machine decide",
        "dpengine/spec/zones.py",
        "return ZoneInfo.from_file(file, key=zone)",
        "return ZoneInfo(zone)",
        "tests/spec/test_zones.py::test_the_zone_data_of_the_machine_changes_nothing",
    ),
    Fault(
        "a nanosecond before midnight is of the next day",
        LOCAL_DATES,
        'isinstance(column, Time) and type_name == "TIMESTAMP_NS"',
        "False",
        OF_TIMES + "::test_a_typed_value",
    ),
    Fault(
        "the hour of another engine ignores the zone",
        REMOTE_DATES,
        "{hour} * 60 + {minute} + {_to_utc(offset, dialect)} + 144000",
        "{hour} * 60 + {minute} + 144000",
        OF_TIMES + "::test_texts",
    ),
    Fault(
        "in another engine the week begins on Tuesday",
        REMOTE_DATES,
        'a=f"({value} - 1)", b=7)',
        'a=f"({value} - 2)", b=7)',
        OF_TIMES + "::test_texts",
    ),
    Fault(
        "two columns of a plan that read one column of the table are read alike",
        "dpengine/counting/encoding/local_sql.py",
        'tag = f"{index}_{column.by}"',
        "tag = str(index)",
        OF_TIMES + "::test_a_number_and_the_hour_of_one_column_do_not_mix",
    ),
    # Tables that are summed up already
    Fault(
        "a row of a summary stands for one person too few for each thousand",
        FREQUENCIES,
        "unnest(range(least(times, {_AT_ONCE})))",
        "unnest(range(least(times, {_AT_ONCE} - 1)))",
        OF_FREQUENCIES + "::test_each_row_counts_as_often_as_it_says",
    ),
    Fault(
        "rows of a summary whose count is no number stand for nobody",
        FREQUENCIES,
        "SELECT count(*) = count({times}), coalesce",
        "SELECT true, coalesce",
        OF_FREQUENCIES + "::test_other_cells_are_refused",
    ),
    Fault(
        "after a reload, the rows of a summary count as persons",
        "pages/parts/visit/state.py",
        'self.read_as.get("frequency", "")',
        '""',
        "tests/pages/visit/test_saved_draft.py::"
        "test_its_table_is_read_as_before_so_that_rows_of_a_summary_count_people",
    ),
    # Processes that read the files of strangers
    Fault(
        "a process that died gives an empty answer",
        RUN,
        "    if not reply:\n        raise ProcessEnded\n",
        "    if not reply:\n        return None\n",
        OF_RUN + "::test_the_end_of_a_process_ends_one_call_only",
    ),
    Fault(
        "a process that reads a file answers in English",
        RUN,
        '"language": language(),',
        '"language": "en",',
        OF_RUN + "::test_it_answers_in_the_language_of_its_caller",
    ),
    Fault(
        "a crash leaves a dump of the rows in memory",
        FORKER,
        "(resource.RLIMIT_CORE, 0),",
        "(resource.RLIMIT_CORE, disk),",
        OF_RUN + "::test_a_crash_leaves_no_dump_of_the_memory_which_may_hold_rows",
    ),
    Fault(
        "a process that reads a file may open any number of files",
        FORKER,
        "(resource.RLIMIT_NOFILE, files),",
        "(resource.RLIMIT_NOFILE, 1 << 20),",
        OF_RUN + "::test_a_limit_ends_the_call_that_passes_it_and_no_other",
    ),
    Fault(
        "folders of processes that live are removed",
        "dpengine/isolation/scratch.py",
        "as lock:\n                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "as lock:\n                    lock.read()",
        "tests/isolation/test_scratch.py",
    ),
    # What is public
    Fault(
        "two patterns of keys may overlap",
        UNIVERSE,
        "if len(one) == len(other) and all(",
        "if one == other and all(",
        OF_UNIVERSE,
    ),
    Fault(
        "a value that nobody has may be found with any chance",
        UNIVERSE,
        "<= Fraction(1, 10) or",
        "<= 1 or",
        OF_UNIVERSE,
    ),
    Fault(
        "found values need not be possible",
        UNIVERSE,
        "if any(self.place(value) is None for value in self.found) and self.found",
        "if any(value is None for value in self.found) and self.found",
        OF_UNIVERSE,
    ),
    Fault(
        "letters that join to others are told apart",
        UNIVERSE,
        'if any(not unicodedata.is_normalized("NFC", a + b) for a, b in product(alphabet, repeat=2)):',
        'if any(not unicodedata.is_normalized("NFC", a) for a in alphabet):',
        OF_UNIVERSE,
    ),
    Fault(
        "other and missing values belong to the last group",
        "dpengine/spec/categories/tree.py",
        "*range(len(coarse), len(coarse) + extra)]",
        "*[len(coarse) - 1] * extra]",
        "tests/spec/test_levels.py::test_levels_are_columns_with_groups_and_are_kept",
    ),
    Fault(
        "a value may lie in two groups",
        "dpengine/spec/categories/tree.py",
        "if parent_of.setdefault(child, parent) != parent:",
        "if parent_of.setdefault(child, parent) is None:",
        "tests/spec/test_codebook.py::test_levels_that_are_no_tree_are_refused_with_the_line_or_value",
    ),
    Fault(
        "the groups of a level are no part of the identity of a plan",
        "dpengine/spec/categories/resolution.py",
        '"groups": list(groups)})',
        '"groups": []})',
        "tests/spec/test_levels.py::test_levels_that_are_not_used_change_nothing_and_used_ones_do",
    ),
    Fault(
        "cells that are found may cost all of ε",
        "dpengine/spec/plan_checks.py",
        "Fraction(0))) > MAX_SHARE:",
        "Fraction(0))) > 1:",
        "tests/test_found_bins.py::test_shares_leave_half_of_epsilon_to_the_tables",
    ),
    Fault(
        "sums of the units of an amount may pass 64 bits",
        "dpengine/spec/plan_checks.py",
        "if plan.amount(amount).grain * (plan.rows_about or 1) > 2**62:",
        "if plan.amount(amount).grain * (plan.rows_about or 1) > 2**72:",
        "tests/measure/test_amounts.py::test_steps_too_fine_to_be_taken_together_are_refused",
    ),
    Fault(
        "weeks begin on Sundays",
        "dpengine/spec/date_column.py",
        "return (day.toordinal() - 1) // 7",
        "return day.toordinal() // 7",
        "tests/spec/test_domain.py::test_periods_cover_the_span_once",
    ),
    Fault(
        "weeks are counted by the quarter in which they may not lie",
        "dpengine/spec/date_column.py",
        "if coarse not in WITHIN.get(fine, ()):",
        "if coarse not in WITHIN.get(fine, PERIODS):",
        "tests/spec/test_levels.py::test_periods_and_bins_that_do_not_nest_are_refused",
    ),
    Fault(
        "of a key that occurs twice in a plan, the last one counts",
        "dpengine/spec/strict_yaml.py",
        'raise _fault(_("the key {value!r} occurs twice", value=value), event)',
        "pass",
        "tests/spec/test_plan.py::test_each_fault_says_what_is_wrong",
    ),
    # Audits, and what recognises a table
    Fault(
        "an audit chooses its event on the runs that count it",
        "dpengine/audit/bounds.py",
        "key=lambda event: _count(first, event, alpha)",
        "key=lambda event: _count(second, event, alpha)",
        "tests/audit/test_bounds.py::test_an_event_is_chosen_on_other_runs_than_those_that_count_it",
        quick=True,
    ),
    Fault(
        "an exact check holds a little above ε",
        "dpengine/audit/exact_checks.py",
        "<= float(self.claimed) * (1 + SLACK) + SLACK",
        "<= float(self.claimed) * 1.02",
        "tests/audit/test_publications.py::test_an_exact_check_holds_up_to_what_floats_round",
        quick=True,
    ),
    Fault(
        "a near copy of whole rows must agree in columns too",
        SKETCH,
        "if shared is not None and (each.kind != VALUES or each.used):",
        "if shared is not None and each.used:",
        OF_SKETCH + "::test_whole_rows_are_enough_and_one_column_is_only_if_it_is_read",
        quick=True,
    ),
    Fault(
        "many columns are compared at the level of one",
        SKETCH,
        "level = FALSE_ALARM / max(1, pairs)",
        "level = FALSE_ALARM",
        OF_SKETCH + "::test_the_level_is_shared_by_all_comparisons",
    ),
    Fault(
        "columns of running numbers are compared too",
        SKETCH,
        "if each.kind != VALUES or not _too_even(each.counts)))",
        "))",
        OF_SKETCH + "::test_a_running_number_is_not_taken_for_people_of_another_table",
    ),
    Fault(
        "a charge may be nothing",
        "dpengine/accounting/amount.py",
        "    if number <= 0:",
        "    if number < 0:",
        "tests/accounting/test_ledger.py::test_an_epsilon_that_is_not_exact_and_positive_is_refused_with_a_hint",
    ),
    Fault(
        "a marginal has the axes of its joint table",
        "dpengine/counting/joint_tables.py",
        "summed.transpose([kept_names.index(name) for name in marginal])",
        "summed.reshape([summed.shape[pending.index(name)] for name in marginal])",
        "tests/counting/test_count.py",
    ),
    Fault(
        "the declared order of columns decides which rows of a person count",
        "dpengine/counting/joint_tables.py",
        "for name in sorted(plan.used)]",
        "for name in plan.used]",
        "tests/counting/test_contribution_bounding.py::"
        "test_the_declared_order_of_columns_does_not_decide_which_rows_are_kept",
        quick=True,
    ),
    Fault(
        "half a number in a column of several types is read as a whole one",
        "dpengine/sources/mixed.py",
        "{cell} = trunc({cell}) AND",
        "{cell} >= trunc({cell}) AND",
        "tests/sources/test_one_hostile_row.py::test_questions_and_digests_take_cells_by_their_own_types",
    ),
    # What follows from noisy numbers
    Fault(
        "found bins take no account of their width",
        "dpengine/estimate/found_cells.py",
        "+ of_width * max(1, int(people.sum()))",
        "+ 0 * max(1, int(people.sum()))",
        "tests/estimate/test_found_cells.py::test_no_other_cuts_make_the_heaviest_bin_lighter",
    ),
    Fault(
        "the cells of a column follow from a search for another one",
        "dpengine/estimate/found_cells.py",
        "    if tuple(each.columns[0] for each in searches) != plan.found_columns:",
        "    if len(searches) != len(plan.found_columns):",
        "tests/estimate/test_found_cells.py::test_a_search_for_another_column_is_refused",
    ),
    Fault(
        "replicates of any size are drawn",
        "dpengine/replicates/draw.py",
        "    if cells > MAX_CELLS:",
        "    if cells > 100 * MAX_CELLS:",
        "tests/replicates/test_replicates.py::test_too_many_cells_are_refused",
    ),
    Fault(
        "the first replicate is not the release itself",
        "dpengine/replicates/draw.py",
        "np.concatenate([estimate[None], estimate + errors(table)])",
        "np.concatenate([estimate[None] + errors(table)[:1], estimate + errors(table)])",
        "tests/replicates/test_replicates.py::test_anyone_makes_the_same_file_from_the_bundle",
    ),
    # Several answers in a cell
    Fault(
        "a part of an answer counts as one",
        ANSWERS,
        'return f"(^{_BLANK}|{_APART})',
        'return f"',
        OF_ANSWERS + "::test_an_answer_is_given_if_it_stands_alone_or_between_others",
    ),
    Fault(
        "whoever skipped a question has given no answer to it, instead of a missing one",
        ANSWERS,
        "CASE WHEN NOT ({blank}) THEN {given} END",
        "coalesce({given}, false)",
        OF_ANSWERS + "::test_an_answer_is_given_if_it_stands_alone_or_between_others",
    ),
    Fault(
        "an answer with a semicolon becomes two",
        ANSWERS,
        """if re.search('^"|;', each) else each""",
        "if not each else each",
        OF_ANSWERS + "::test_a_line_that_is_written_is_read_as_it_was_meant",
    ),
    Fault(
        "several answers in a cell of a workbook are not noticed",
        "dpengine/counting/sample_rows.py",
        "if holds_texts(field.type)]",
        'if field.type == "VARCHAR"]',
        "tests/counting/test_multiple_answers.py::test_files_are_looked_at_as_well",
    ),
    # Percentages of published tables
    Fault(
        "a group of a percentage is taken to be without noise",
        PERCENTAGES,
        "        square = group**2 - of_group[opposite] ** 2\n",
        "        square = group**2\n",
        OF_PERCENTAGES + "::test_intervals_of_directly_measured_tables_hold_at_least_95_in_100",
    ),
    Fault(
        "a cell shares all of the noise of its group",
        PERCENTAGES,
        "    covariance = [side**2 / size * same_noise for side in group_noise]\n",
        "    covariance = [side**2 * same_noise for side in group_noise]\n",
        OF_PERCENTAGES + "::test_intervals_of_directly_measured_tables_hold_at_least_95_in_100",
    ),
    Fault(
        "a group that was not published is as noisy as if it was measured by its cells alone",
        PERCENTAGES,
        "    if same_noise and published is None:",
        "    if False:",
        OF_PERCENTAGES + "::test_intervals_hold_where_a_group_is_less_noisy_than_its_cells",
    ),
    Fault(
        "the sides of an interval are exchanged",
        PERCENTAGES,
        "for side, opposite, sign in ((0, 1, -1), (1, 0, 1)):",
        "for side, opposite, sign in ((1, 0, -1), (0, 1, 1)):",
        OF_PERCENTAGES + "::test_each_limit_takes_the_sides_that_point_away_from_it",
    ),
    Fault(
        "groups are taken in the order in which their own table was published",
        PERCENTAGES,
        "    return [end.transpose(order).reshape(-1, 1) for end in ends]\n",
        "    return [end.reshape(-1, 1) for end in ends]\n",
        OF_PERCENTAGES + "::test_a_group_may_be_published_in_another_order_and_be_modelled",
    ),
    Fault(
        "cells without a value are parts of the whole that they are left out of",
        PERCENTAGES,
        "transpose(axes).reshape(-1, size)[:, kept]",
        "transpose(axes).reshape(-1, size)[:, kept | True]",
        OF_PERCENTAGES + "::test_missing_answers_are_left_out_on_request",
    ),
    Fault(
        "cells of persons who may be in several cells are parts of a whole",
        PERCENTAGES,
        "    if (plan.tally_of(own).cells or 1) > 1:",
        "    if False:",
        OF_PERCENTAGES + "::test_what_has_no_percentages_is_refused",
    ),
    Fault(
        "percentages of groups that noise hides decide with how many digits the others are shown",
        PERCENTAGES,
        "width[width < HIDDEN].median()",
        "width.median()",
        OF_PERCENTAGES + "::test_small_percentages_are_shown_with_digits_that_tell_them_apart",
    ),
    Fault(
        "what a file rounds decides whether a group is hidden",
        PERCENTAGES,
        "group > of_group[opposite] * (1 + ROUNDING)",
        "group > of_group[opposite]",
        OF_PERCENTAGES + "::test_a_group_as_large_as_its_noise_is_hidden_whatever_is_rounded",
    ),
    Fault(
        "a chart of percentages shows what noise explains as if it were known",
        "dpengine/charts/percentages.py",
        "            (low <= 0) & (high > 0),\n",
        "            (low < 0) & (high > 0),\n",
        "tests/charts/test_percentages.py::test_what_noise_explains_is_hatched_and_hidden_groups_do_not_stretch_the_axis",
    ),
    # Cells added up
    Fault(
        "the interval of a sum of cells is that of 68 in 100",
        NOISY_NUMBER,
        "HALF_WIDTH = 2.1",
        "HALF_WIDTH = 1.0",
        OF_COMBINED_INTERVALS,
    ),
    Fault(
        "errors of a cell and of its group are taken to have nothing in common",
        NOISY_NUMBER,
        "    covariances = [np.full((1, 1), covariance)] * 2",
        "    covariances = [np.full((1, 1), -covariance)] * 2",
        OF_COMBINED_INTERVALS,
    ),
    Fault(
        "errors of two numbers are taken to cancel each other in their difference",
        NOISY_NUMBER,
        "one**2 + two**2 - 2 * rho * one * two",
        "one**2 + two**2 - 2 * one * two",
        OF_COMBINED_INTERVALS,
    ),
    Fault(
        "a single cell has an interval of its own beside the published one",
        COMBINE,
        "return cells.published(kind, selections[0]) or cells.rounded(",
        "return cells.rounded(",
        OF_COMBINE + "::test_a_single_cell_has_the_interval_that_was_published",
    ),
    Fault(
        "a percentage is of the people in the group, or else in the cells",
        COMBINE,
        "joined[name] = [label for label in where[name] if label in of[name]]",
        "joined[name] = [*where[name]]",
        OF_COMBINE + "::test_without_noise_to_speak_of_numbers_are_exact",
    ),
    Fault(
        "a share is compared with that of other people in the same group, who are none of it",
        COMBINE,
        "cells.number(kind, selections[2], _group_of_cells(selections[1], selections[2]))",
        "cells.number(kind, selections[2], selections[1])",
        OF_COMBINE + "::test_without_noise_to_speak_of_numbers_are_exact",
    ),
    Fault(
        "rows are added up where another table of the same columns counts persons",
        COMBINE,
        "    if len(tallies) > 1:",
        "    if False:",
        OF_COMBINE + "::test_persons_in_one_cell_each_are_added_up_apart_from_their_rows",
    ),
    Fault(
        "cells that share people are added up",
        COMBINE,
        "    if (plan.tallies[tally].cells or 1) > 1:",
        "    if False:",
        OF_COMBINE + "::test_cells_that_share_people_are_not_added_up",
    ),
    Fault(
        "the interval of a ratio leaves out the noise of the number that is compared with",
        NOISY_NUMBER,
        "side = group.above if cell.low >= 0 else group.below",
        "side = 0.0",
        OF_COMBINE + "::test_a_ratio_has_the_interval_of_fieller_on_either_side_of_0",
    ),
    Fault(
        "errors of two numbers are taken to be independent in their ratio",
        NOISY_NUMBER,
        "covariance = rho * cell.below * side",
        "covariance = 0.0 * cell.below * side",
        OF_COMBINE + "::test_a_ratio_has_the_interval_of_fieller_on_either_side_of_0",
    ),
    Fault(
        "a difference is given in percent of what may be 0",
        NOISY_NUMBER,
        "if not (other.low > 0 and other.value > 0):",
        "if not other.value > 0:",
        OF_COMBINE + "::test_nothing_is_said_in_percent_of_what_may_be_0",
    ),
    Fault(
        "errors of two releases are taken to go together",
        COMBINE,
        "numbers[1], numbers[0], 0.0, relative=relative",
        "numbers[1], numbers[0], 1.0, relative=relative",
        OF_COMBINE + "::test_the_change_of_a_single_cell_is_that_which_compare_gives",
    ),
    Fault(
        "a number is compared with that of a group which is another one in the earlier release",
        COMBINE,
        "            if label in left_out:",
        "            if False:",
        OF_COMBINE + "::test_changes_are_of_what_stands_for_the_same_in_both_releases",
    ),
    Fault(
        "a mean of amounts below 0 has an interval that ends at 0",
        COMBINE,
        '0 if kind in ("count", "percent") else -math.inf',
        '0 if kind != "sum" else -math.inf',
        OF_COMBINE + "::test_a_mean_below_0_has_an_interval_below_0_and_no_other_is_in_percent_of_it",
    ),
    # Changes from one release to the next
    Fault(
        "a chart of changes shows those within the noise as if they were known",
        "dpengine/charts/changes.py",
        'noisy = ~first["beyond_noise"].to_numpy(bool)',
        'noisy = first["beyond_noise"].to_numpy(bool) & False',
        "tests/charts/test_changes.py::test_each_dot_is_a_change_in_the_given_order_and_hollow_within_the_noise",
    ),
    Fault(
        "an interval that says nothing hides all others in a chart of changes",
        "dpengine/charts/changes.py",
        "chosen = np.ones_like(self.noisy) if self.noisy.all() else ~self.noisy",
        "chosen = np.ones_like(self.noisy)",
        "tests/charts/test_changes.py::test_each_dot_is_a_change_in_the_given_order_and_hollow_within_the_noise",
    ),
    Fault(
        "a page of changes lists them in the order of the table",
        "dpengine/changes_page.py",
        'ordered = largest_first(of_one.drop(columns="number"))',
        'ordered = of_one.drop(columns="number")',
        OF_COMPARE + "::test_a_page_of_the_changes_begins_with_the_largest",
    ),
    Fault(
        "a change is as uncertain as the later number alone",
        COMPARE,
        "np.hypot(np.maximum(new - new_low, 0), np.maximum(old_high - old, 0))",
        "np.maximum(new - new_low, 0)",
        OF_COMPARE + "::test_the_interval_of_a_change_follows_from_both_intervals",
    ),
    Fault(
        "the ends of the earlier interval are taken for each other",
        COMPARE,
        "np.hypot(np.maximum(new_high - new, 0), np.maximum(old - old_low, 0))",
        "np.hypot(np.maximum(new_high - new, 0), np.maximum(old_high - old, 0))",
        OF_COMPARE + "::test_the_interval_of_a_change_follows_from_both_intervals",
    ),
    Fault(
        "changes of what is other are compared where other values are declared",
        COMPARABLE,
        "elif label in old and label in new and old[label] != new[label]:",
        "elif False:",
        OF_COMPARE + "::test_only_cells_of_both_are_compared_in_the_order_of_the_later_one",
    ),
    Fault(
        "groups of the same name are compared, whatever values they are of",
        COMPARABLE,
        "if declared.name != name and isinstance(declared, Category):",
        "if declared is None:",
        OF_COMPARE + "::test_groups_of_other_values_are_not_compared",
    ),
    Fault(
        "means between different bounds are compared",
        COMPARABLE,
        "if _statistics(first, table).get(name) == amounts]",
        "if name in _statistics(first, table)]",
        OF_COMPARE + "::test_numbers_between_other_bounds_are_not_compared",
    ),
    Fault(
        "persons are compared with persons of whom more rows are counted",
        COMPARABLE,
        '"at most {n} rows of a person", plan.unit.rows)',
        '"at most {n} rows of a person", 2)',
        OF_COMPARE + "::test_people_with_more_rows_are_not_compared",
    ),
    Fault(
        "what only the earlier release has is not said to be left out",
        COMPARABLE,
        "        if label not in after:\n            yield label, _only_earlier()\n",
        "        pass\n",
        OF_COMPARE + "::test_what_is_left_out_is_listed_with_its_reason",
    ),
    Fault(
        "tables whose columns stand in another order are not compared",
        COMPARE,
        "if frozenset(table) in earlier and",
        "if table in first.tables and",
        OF_COMPARE + "::test_a_table_is_the_same_whatever_the_order_of_its_columns",
    ),
    Fault(
        "labels of a table whose columns stand in another order are mixed up",
        COMPARE,
        "[published_table.index(name) for name in table]",
        "[*range(len(published_table))]",
        OF_COMPARE + "::test_a_table_is_the_same_whatever_the_order_of_its_columns",
    ),
    Fault(
        "a name of a sheet is cut by letters, so one with emojis breaks the workbook",
        "dpengine/bundle/workbook.py",
        '.encode("utf-16-le")[: 2 * _MAX_NAME]',
        '[:_MAX_NAME].encode("utf-16-le")',
        "tests/bundle/test_workbook.py::test_names_of_sheets_are_as_long_as_spreadsheet_programs_count_them",
    ),
    Fault(
        "one line in another encoding garbles all of a codebook",
        "dpengine/sources/codebook_file.py",
        'b"".join(map(as_utf8, content.splitlines(keepends=True))).decode("utf-8-sig")',
        'content.decode("cp1252", "replace")',
        "dpengine/sources/codebook_file.py",
    ),
    Fault(
        "a label that looks like a formula becomes one in a workbook",
        "dpengine/bundle/workbook.py",
        '"strings_to_formulas": False',
        '"strings_to_formulas": True',
        "tests/bundle/test_workbook.py::test_each_table_has_a_sheet_with_all_of_its_numbers",
    ),
    Fault(
        "a change of counts that may each be off by one is said to be exact",
        COMPARE,
        ">= NEARLY_EXACT",
        ">= float('inf')",
        OF_COMPARE + "::test_a_change_is_within_one_where_each_count_may_be_off_by_one",
    ),
    Fault(
        "in another engine, all rows of a person count in a table of distinct persons beside one of rows",
        "dpengine/counting/count.py",
        " and len(tallies_used) == 1 and not stepped",
        " and not stepped",
        "tests/counting/test_distinct.py"
        "::test_rows_and_persons_of_a_table_in_another_engine_count_by_their_own_rules",
    ),
    Fault(
        "a day that means missing counts as a day, where texts of days are looked up",
        "dpengine/counting/encoding/numpy_lookup.py",
        "{day: column.missing_code if day in markers else code for day, code in days.items()}",
        "days",
        "tests/counting/encoding/test_missing_markers.py::test_it_is_missing_however_it_is_written",
    ),
    Fault(
        "an infinite amount counts as the largest one",
        "dpengine/counting/encoding/numpy_lookup.py",
        "    codes[~np.isfinite(values)] = grid.missing_code\n",
        "    codes[np.isnan(values)] = grid.missing_code\n",
        "tests/counting/encoding/test_missing_markers.py::test_it_is_missing_however_it_is_written",
    ),
    Fault(
        "a value that is null counts as whatever stands in its place in memory",
        "dpengine/counting/encoding/numpy_lookup.py",
        "    if null is not None:\n        codes[null] = missing\n",
        "",
        "tests/counting/encoding/test_missing_markers.py::test_it_is_missing_however_it_is_written",
    ),
]  # fmt: skip
