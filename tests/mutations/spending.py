"""Faults to plant in what is spent: how it adds up, who allows it, what counts as the same, and which rows count."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

AMOUNT = "dpengine/accounting/amount.py"
BOUNDING = "dpengine/counting/contribution_bounding.py"
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
    Fault(
        "an owner sees the charges of all",
        CHAIN,
        'tuple(row for row in rows if (row.owner or "") == owner)',
        "tuple(rows)",
        "tests/accounting/test_owners.py::test_two_hundred_attempts_reveal_nothing_of_another_owner",
    ),
    Fault(
        "an owner needs approval where another one does",
        CHAIN,
        "frozenset(dataset for whose, dataset in rules if whose == owner)",
        "frozenset(dataset for whose, dataset in rules)",
        "tests/accounting/approval/test_desk.py::test_an_owner_sees_and_decides_on_their_own_requests_alone",
    ),
    Fault(
        "an owner decides on the requests of all",
        CHAIN,
        "tuple(row for row in requests if row.owner == owner)",
        "tuple(requests)",
        "tests/accounting/approval/test_desk.py::test_an_owner_sees_and_decides_on_their_own_requests_alone",
    ),
    Fault(
        "what a near copy of a near copy has spent is not counted",
        CHAIN,
        "{row.number for row in linked}.union(*(copies.get(row.number, ()) for row in linked))",
        "{row.number for row in linked}",
        "tests/test_near_copies.py::test_a_near_copy_under_a_fresh_name_shares_the_budget",
    ),
    Fault(
        "each release is stated to be of other people",
        RELEASE,
        "other_people=other_people, plan_sha256=sent,",
        "other_people=True, plan_sha256=sent,",
        "tests/test_near_copies.py::test_a_near_copy_under_a_fresh_name_shares_the_budget",
    ),
    Fault(
        "the cost of a release is taken at its word",
        RELEASE,
        "Outcome(release_id, created, measured.cost, payload)",
        "Outcome(release_id, created, plan.epsilon, payload)",
        "tests/test_release.py::test_spending_one_share_too_many_is_caught_before_anything_is_recorded",
    ),
    Fault(
        "of what a mechanism of others spends the largest part counts",
        "dpengine/mechanism.py",
        "self.spent += exact",
        "self.spent = max(self.spent, exact)",
        "tests/test_plugins.py::test_a_mechanism_is_recorded_before_it_is_shown_and_drawn_once",
    ),
    Fault(
        "a sensitivity that is a fraction is rounded down for whole scores",
        "dpengine/choose.py",
        "scale = candidates.sensitivity.denominator",
        "scale = 1",
        "tests/test_choose.py::test_scaling_scores_and_sensitivity_changes_nothing",
    ),
    Fault(
        "a sensitivity that is a float is the number that it is written as",
        "dpengine/choose.py",
        "step = max(step, Fraction(str(sensitivity)))",
        "step = Fraction(str(sensitivity))",
        "tests/test_choose.py::test_a_sensitivity_as_a_float_covers_both_what_it_is_and_what_it_is_written_as",
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
    Fault(
        "all mechanisms of others are one",
        "dpengine/mechanism.py",
        '"name": name, "plan": plan_key}',
        '"plan": plan_key}',
        "tests/test_plugins.py::test_a_mechanism_is_recorded_before_it_is_shown_and_drawn_once",
    ),
    Fault(
        "a choice of another sensitivity is the same choice",
        "dpengine/choose.py",
        '            "sensitivity": str(choice.sensitivity),\n',
        "",
        "tests/test_choose.py::test_another_choice_is_another_charge",
    ),
    Fault(
        "a choice by another mechanism is the same choice",
        "dpengine/choose.py",
        '            "mechanism": choice.mechanism,\n',
        "",
        "tests/test_choose.py::test_another_choice_is_another_charge",
    ),
    Fault(
        "bins between as many other edges are the same plan",
        DOMAIN,
        'plain["edges"] = [f"{edge:f}" for edge in column.edges]',
        'plain["edges"] = len(column.edges)',
        OF_KEY,
    ),
    Fault(
        "an amount in other steps is the same plan",
        DOMAIN,
        '"step": f"{column.step.normalize():f}",',
        '"step": "",',
        "tests/spec/test_amount.py::test_whatever_changes_what_is_counted_changes_the_identity",
    ),
    Fault(
        "values that are found among others are the same plan",
        DOMAIN,
        'plain["among"] = column.among.model_dump(mode="json", exclude={"found"})',
        "pass",
        "tests/test_found_values.py::test_another_universe_share_chance_or_bound_is_another_release",
    ),
    Fault(
        "levels of more weight are the same plan",
        "dpengine/measure/level_strategies.py",
        "*soft, *self.plan.weights_payload)",
        "*soft)",
        "tests/measure/test_weights.py::test_a_level_of_more_weight_is_known_better",
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
    Fault(
        "rows of a person in the same cells are kept or left together",
        BOUNDING,
        'dialect.to_text("copy"), "person"]',
        '"person"]',
        "tests/counting/test_contribution_bounding.py::test_the_rows_of_a_person_with_the_smallest_hashes_are_kept",
    ),
    Fault(
        "the same places are kept of all persons",
        BOUNDING,
        'dialect.to_text("copy"), "person"]',
        'dialect.to_text("copy")]',
        "tests/counting/test_contribution_bounding.py::test_the_rows_of_a_person_with_the_smallest_hashes_are_kept",
    ),
    Fault(
        "equal rows of all people are numbered together",
        BOUNDING,
        "(PARTITION BY {group}, {codes} ORDER BY k0)",
        "(PARTITION BY {codes} ORDER BY k0)",
        "tests/counting/test_contribution_bounding.py::test_the_rows_of_a_person_with_the_smallest_hashes_are_kept",
    ),
    Fault(
        "persons in the same cell count as one",
        BOUNDING,
        "(PARTITION BY person, {cell} ORDER BY place)",
        "(PARTITION BY {cell} ORDER BY place)",
        "tests/counting/test_distinct.py::test_a_person_counts_in_the_first_different_cells_of_the_kept_rows",
    ),
    Fault(
        "a person counts in the first cells in declared order",
        BOUNDING,
        'turn = "row_number() OVER (PARTITION BY person ORDER BY place) AS turn"',
        'turn = "row_number() OVER (PARTITION BY person ORDER BY k0) AS turn"',
        "tests/counting/test_distinct.py::test_a_person_counts_in_the_first_different_cells_of_the_kept_rows",
    ),
    Fault(
        "rows of persons are counted while they are recognised, all of them",
        "dpengine/counting/count.py",
        "one_pass = plan.unit.id is None and not any(",
        "one_pass = not any(",
        "tests/test_release.py::test_ids_are_kept_to_their_rows_and_nothing_more_is_counted",
    ),
    Fault(
        "all rows of a person count where bins are found",
        "dpengine/counting/search_counts.py",
        "epsilon=plan.epsilon, unit=plan.unit, columns",
        "epsilon=plan.epsilon, columns",
        "tests/counting/test_search_counts.py",
    ),
    Fault(
        "a person keeps a row too many where values are found",
        "dpengine/counting/scan.py",
        "None if person is None else Kept(unit.rows)",
        "None if person is None else Kept(unit.rows + 1)",
        "tests/counting/test_universe_keys.py::test_a_person_counts_with_at_most_k_rows_whatever_the_other_rows",
    ),
    Fault(
        "a person keeps a row too many where values are found in another engine",
        "dpengine/counting/pushdown.py",
        "None if person is None else Kept(unit.rows)",
        "None if person is None else Kept(unit.rows + 1)",
        "tests/counting/test_universe_keys.py::test_an_engine_keeps_the_same_rows_of_a_person",
    ),
    Fault(
        "rows with a blank ID are those of one person",
        "dpengine/counting/encoding/local_sql.py",
        "return f\"nullif({text}, '')\"\n\n\ndef key_text",
        "return text\n\n\ndef key_text",
        "tests/counting/test_count.py::test_each_person_keeps_at_most_k_rows_and_rows_without_an_id_count_nowhere",
    ),
    Fault(
        "rows with a blank ID are those of one person in another engine",
        "dpengine/counting/encoding/remote_sql.py",
        "            return f\"nullif({text}, '')\"\n        case _:\n            return dialect.to_text(utc",
        "            return text\n        case _:\n            return dialect.to_text(utc",
        "tests/counting/test_pushdown.py::test_the_same_rows_of_each_person_are_kept",
    ),
]
