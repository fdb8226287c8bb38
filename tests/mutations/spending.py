"""Faults to plant in what is spent: how it adds up, who allows it, what counts as the same, and which rows count."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

AMOUNT = "dpengine/accounting/amount.py"
CHAIN = "dpengine/accounting/hash_chain.py"
RELEASE = "dpengine/release.py"

OF_LEDGER = "tests/accounting/test_ledger.py"
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
    # Which rows count
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
