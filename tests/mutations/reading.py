"""Faults to plant where rows are made from what a file says, and where readers compare releases."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

FREQUENCIES = "dpengine/sources/frequencies.py"
ANSWERS = "dpengine/sources/several_answers.py"
COMPARE = "dpengine/compare.py"
COMPARABLE = "dpengine/comparable.py"
PERCENTAGES = "dpengine/percentages.py"

OF_FREQUENCIES = "tests/sources/test_frequencies.py"
OF_ANSWERS = "tests/sources/test_several_answers.py"
OF_COMPARE = "tests/test_compare.py"
OF_PERCENTAGES = "tests/test_percentages.py"

FAULTS = [
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
        "pages/parts/visit/saved_draft.py",
        'here.read_as.get("frequency", "")',
        '""',
        "tests/pages/visit/test_saved_draft.py::"
        "test_its_table_is_read_as_before_so_that_rows_of_a_summary_count_people",
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
        "dpengine/counting/multiple_answers.py",
        "if holds_texts(field.type)]",
        'if field.type == "VARCHAR"]',
        "tests/counting/test_multiple_answers.py::test_files_are_looked_at_as_well",
    ),
    # Percentages of published tables
    Fault(
        "a group of a percentage is taken to be without noise",
        PERCENTAGES,
        "        square = group**2 - of_group[beyond] ** 2\n",
        "        square = group**2\n",
        OF_PERCENTAGES + "::test_intervals_of_directly_measured_tables_hold_at_least_95_in_100",
    ),
    Fault(
        "a cell shares all of the noise of its group",
        PERCENTAGES,
        "    shared = [side**2 / size * alike for side in apart]\n",
        "    shared = [side**2 * alike for side in apart]\n",
        OF_PERCENTAGES + "::test_intervals_of_directly_measured_tables_hold_at_least_95_in_100",
    ),
    Fault(
        "a group that was not published is as noisy as if it was measured by its cells alone",
        PERCENTAGES,
        "    if alike and published is None:",
        "    if False:",
        OF_PERCENTAGES + "::test_intervals_hold_where_a_group_is_less_noisy_than_its_cells",
    ),
    Fault(
        "the sides of an interval are exchanged",
        PERCENTAGES,
        "for side, beyond, sign in ((0, 1, -1), (1, 0, 1)):",
        "for side, beyond, sign in ((1, 0, -1), (0, 1, 1)):",
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
        "    if (plan.tallies[plan.tally_of(own)].cells or 1) > 1:",
        "    if False:",
        OF_PERCENTAGES + "::test_what_has_no_percentages_is_refused",
    ),
    # Changes from one release to the next
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
        "[own.index(name) for name in table]",
        "[*range(len(own))]",
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
]  # fmt: skip
