"""Faults to plant in what is spent: how it adds up, who allows it, what counts as the same, and which rows count."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

AMOUNT = "dpengine/accounting/amount.py"
CHAIN = "dpengine/accounting/hash_chain.py"
DOMAIN = "dpengine/spec/domain.py"
PLAN = "dpengine/spec/plan.py"
QUESTION = "dpengine/spec/query/question.py"
RELEASE = "dpengine/release.py"

OF_LEDGER = "tests/accounting/test_ledger.py"
OF_KEY = "tests/spec/test_plan.py::test_the_key_changes_with_what_is_measured_and_with_nothing_else"
OF_PARTS = "tests/measure/test_parts.py::test_other_tables_of_the_same_columns_and_sizes_are_another_release"
OF_QUESTION = "tests/spec/test_query.py::test_the_key_holds_what_is_asked_and_no_more"
OF_RECORDS = "tests/accounting/approval/test_records.py"
OF_KEYS = "tests/test_rows_chosen.py::test_rows_are_chosen_by_the_same_secret_where_cells_are_found_and_in_these_cells"

FAULTS = [
    # How amounts add up
    Fault(
        "what was spent is rounded to a millionth",
        AMOUNT,
        "sum((Fraction(row.epsilon) for row in charges), Fraction(0))",
        "sum((Fraction(row.epsilon).limit_denominator(10**6) for row in charges), Fraction(0))",
        OF_LEDGER + "::test_however_small_amounts_are_they_add_up_exactly",
    ),
    Fault(
        "a float decides whether the cap allows a charge",
        CHAIN,
        "if cap is None or spent + epsilon <= cap:",
        "if cap is None or float(spent + epsilon) <= float(cap):",
        OF_LEDGER + "::test_ten_tenths_are_one_exactly",
    ),
    Fault(
        "of the caps of names that share data the largest binds",
        CHAIN,
        "return min((cap for name, cap",
        "return max((cap for name, cap",
        OF_LEDGER + "::test_pools_join_through_a_chain_of_names_and_data_and_the_smallest_cap_binds",
    ),
    # What counts as the same
    Fault(
        "the result of other data is returned for the same plan",
        CHAIN,
        "(row.fingerprint, row.plan_key) == wanted)",
        "row.plan_key == plan_id)",
        OF_LEDGER + "::test_the_same_data_and_plan_cost_once_and_return_what_was_stored",
    ),
    Fault(
        "an approval is looked for by the plan as it is decided",
        RELEASE,
        "sent, plan, plan_id = plan_digest(plan), strategy.plan, strategy.plan_id",
        "sent, plan, plan_id = plan_digest(strategy.plan), strategy.plan, strategy.plan_id",
        OF_RECORDS + "::test_an_approval_is_of_the_plan_as_it_was_sent_not_as_it_is_decided",
    ),
    Fault(
        "whether squares of an amount are measured is no part of the identity of a plan",
        DOMAIN,
        'plain |= {"squares": True} if column.degree > 1 else {}',
        "pass",
        "tests/spec/test_amount.py::test_amounts_whose_squares_are_measured_are_part_of_the_identity",
    ),
    Fault(
        "where the values of a column are sought with another step is the same plan",
        DOMAIN,
        "for each in (column.low, column.high, column.step) if each is not None",
        "for each in (column.low, column.high) if each is not None",
        "tests/test_found_bins.py::test_another_share_or_range_is_another_release",
    ),
    Fault(
        "another word for a value is charged anew",
        DOMAIN,
        '"levels", *FOR_READERS}',
        '"levels"}',
        OF_KEY,
    ),
    Fault(
        "a table for ranges is the same plan for a mechanism of others",
        PLAN,
        "return self.identity(strategy, ranges, *distinct",
        "return self.identity(strategy, *distinct",
        OF_KEY,
    ),
    Fault(
        "a plan that names another strategy is the same plan for a mechanism of others",
        PLAN,
        "return self.identity(strategy, ranges,",
        "return self.identity(ranges,",
        OF_KEY,
    ),
    Fault(
        "quantiles of another table beside the same one are the same plan",
        "dpengine/measure/direct_strategy.py",
        '("quantiles", each.columns, each.amount, list',
        '("quantiles", each.amount, list',
        "tests/measure/test_quantile_choice.py::test_parts_of_epsilon_add_up_and_choices_are_made_only_where_they_help",
    ),
    Fault(
        "two rows of a person and two cells of a person are the same plan",
        "dpengine/measure/tally_strategy.py",
        "cells = (tally.cells for tally in self.plan.tallies)",
        "cells = (None for tally in self.plan.tallies)",
        "tests/spec/test_tallies.py::test_rows_and_cells_of_a_person_are_not_the_same_though_as_many_count",
    ),
    Fault(
        "tables at other levels beside a table for ranges are the same plan",
        "dpengine/measure/parts.py",
        "identity(*ranges, *levels, *each, of_model,",
        "identity(*ranges, *each, of_model,",
        OF_PARTS,
    ),
    Fault(
        "other tables of a model beside a table for ranges are the same plan",
        "dpengine/measure/parts.py",
        "*each, of_model, *self.plan.weights_payload)",
        "*each, *self.plan.weights_payload)",
        OF_PARTS,
    ),
    Fault(
        "the most common of other values is the same question",
        QUESTION,
        "Condition(column=column, labels=column.declared).payload",
        "column.name",
        OF_QUESTION,
    ),
    Fault(
        "a sum in other steps is the same question",
        QUESTION,
        "(grid.units(grid.low), grid.units(grid.high), Fraction(grid.step))",
        "(grid.units(grid.low), grid.units(grid.high))",
        OF_QUESTION,
    ),
    Fault(
        "a sum in which other texts are missing values is the same question",
        QUESTION,
        "grid.missing_code, sorted(grid.missing_as)]",
        "grid.missing_code]",
        OF_QUESTION,
    ),
    Fault(
        "a question about as many other cells is the same question",
        "dpengine/spec/query/condition.py",
        '"codes": self.codes}',
        '"codes": len(self.codes)}',
        OF_QUESTION,
    ),
    Fault(
        "a question for other rows of a person is the same question",
        QUESTION,
        '            "unit": self.unit.model_dump(),\n',
        "",
        OF_QUESTION,
    ),
    Fault(
        "another quantile is the same question",
        QUESTION,
        'exclude={"of"}),',
        'exclude={"of", "level"}),',
        OF_QUESTION,
    ),
    # Which rows count
    Fault(
        "which rows of a person count is the same for all questions about a table",
        "dpengine/ask.py",
        'book.derive_key("truncation", fingerprint, question.key.encode())',
        'book.derive_key("truncation", fingerprint)',
        "tests/test_rows_chosen.py::test_each_ledger_plan_question_and_mechanism_chooses_rows_anew",
    ),
    Fault(
        "which rows of a person count where cells are sought can be foreseen",
        RELEASE,
        "steps = count_steps(table, plan, truncation_key=key)",
        'steps = count_steps(table, plan, truncation_key=b"")',
        OF_KEYS,
    ),
    Fault(
        "which rows of a person count in found cells can be foreseen",
        RELEASE,
        "truncation_key=key, tallies=final.tallies)",
        'truncation_key=b"", tallies=final.tallies)',
        OF_KEYS,
    ),
]
