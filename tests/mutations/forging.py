"""Faults to plant in what a bundle says of how it was made, and in what `verify` compares it with."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

VERIFY = "dpengine/bundle/verify.py"
RESULT = "dpengine/results/result.py"
DIVISION = "dpengine/bundle/checks/division_check.py"
CHOICES = "dpengine/bundle/checks/choice_check.py"
MODELS = "dpengine/bundle/checks/model_check.py"
PRICES = "dpengine/bundle/checks/price_check.py"

CHARGE = "pages/parts/verify/charge.py"
OF_LEDGER = "dpengine/cli/verify.py"
LEFT_OUT = "dpengine/results/mostly_other.py"
MECHANISM = "dpengine/mechanism.py"

CHOSEN = "tests/test_rows_chosen.py::test_each_ledger_plan_question_and_mechanism_chooses_rows_anew"
CLOCKS = "tests/test_times.py::test_the_version_of_the_clocks_is_stated_where_a_plan_has_a_zone_and_only_there"

OTHER_SHARES = "tests/bundle/test_verify_shares.py::test_other_shares_are_refused"
OF_RANGES = "tests/bundle/test_verify_ranges.py::test_every_change_is_found"
FITS = "tests/bundle/test_verify_models.py::test_each_fact_of_a_choice_and_of_an_audit_fits_its_purpose"
OF_MODELS = (
    "tests/bundle/test_verify_models.py::"
    "test_numbers_of_a_model_lie_within_their_intervals_as_wide_as_stated_and_have_one_total"
)

ON_THE_PAGE = "tests/pages/test_verify_page.py::test_a_release_says_which_charge_of_the_visitors_ledger_paid_for_it"
BY_COMMAND = "tests/test_cli_verify.py"
BUDGETS = "tests/test_cli_ledger.py::test_names_of_the_same_data_are_listed_as_one_budget"
ROWS_LEFT_OUT = (
    "tests/results/test_mostly_other.py::test_columns_may_leave_out_rows_if_surely_fewer_than_half_are_counted"
)

FAULTS = [
    # How ε was divided
    Fault(
        "verify takes any shares of a search",
        DIVISION,
        "if not _is_optimal(plan, [each.columns for each in marginals], spent):",
        "if False:",
        OTHER_SHARES,
        quick=True,
    ),
    Fault(
        "verify takes shares of a search that are far from the best",
        DIVISION,
        "OF_A_SEARCH = 0.05",
        "OF_A_SEARCH = 2.0",
        OTHER_SHARES,
    ),
    Fault(
        "verify takes any interval of a level that is a sum",
        "dpengine/bundle/checks/expected_widths.py",
        "half_widths |= {t: sums.half_widths(t) for t in plan.marginals if plan.resolution.finest_columns(t) != t}",
        "half_widths |= {t: 1e9 + sums.half_widths(t) for t in plan.marginals if len(t) > 9}",
        "tests/bundle/test_summed_levels.py::test_a_narrower_interval_of_a_sum_is_found",
    ),
    Fault(
        "verify takes a model's interval of a sum that is as narrow as that of one cell",
        "dpengine/bundle/checks/model_check.py",
        "        scales, own = self._of_noise(table)\n",
        "        scales, own = [0.0 for _ in table], None\n",
        "tests/bundle/test_summed_levels.py::test_the_least_interval_of_a_models_sum_has_the_noise_of_all_its_cells",
    ),
    Fault(
        "verify takes sums of levels in files of versions that had none",
        "dpengine/bundle/verify.py",
        "8: plan.coarser_levels is not None,",
        "8: False,",
        "tests/bundle/test_summed_levels.py::test_earlier_versions_have_no_such_plan",
    ),
    Fault(
        "verify takes any shares of crossed levels",
        DIVISION,
        "yield from _wrong_levels(plan, marginals)",
        "yield from ()",
        OTHER_SHARES,
    ),
    Fault(
        "verify takes shares of levels that no version gives, between those that it takes",
        DIVISION,
        "any(part.denominator > 1 for part in parts) or ",
        "",
        "tests/bundle/test_verify_shares.py::test_shares_of_levels_are_whole_thousandths",
    ),
    Fault(
        "verify takes any shares of levels within a part",
        DIVISION,
        "yield from _wrong_levels(part, in_part)",
        "yield from ()",
        OTHER_SHARES,
    ),
    Fault(
        "a thousandth of ε that is better elsewhere is not noticed",
        "dpengine/marginals/level_division.py",
        "all(level_loss(tree, added, each) >= least",
        "all(level_loss(tree, added, each) >= 0.5 * least",
        OTHER_SHARES,
    ),
    Fault(
        "verify takes any shares of tables of rows and of persons",
        DIVISION,
        "if len(plan.tallies) < 2:",
        "if True:",
        OTHER_SHARES,
    ),
    Fault(
        "verify takes shares of a search that are too large for small tables",
        DIVISION,
        "np.abs(slope / (-2 * variance) - 1) <= OF_A_SEARCH",
        "slope / (-2 * variance) - 1 <= OF_A_SEARCH",
        "tests/bundle/test_verify_shares.py::test_a_small_share_that_is_twice_as_large_is_no_result_of_a_search",
    ),
    Fault(
        "verify takes any shares of tables that are measured beside boxes",
        DIVISION,
        "stated_shares += [each.epsilon for each in marginals if each.columns in direct]",
        "stated_shares += shares[len(stated_shares) :][: len(direct)]",
        "tests/bundle/test_verify_shares.py::test_shares_of_tables_that_are_measured_beside_boxes_follow_from_the_plan",
    ),
    Fault(
        "verify takes shares of tables of rows and of persons that are only about right",
        DIVISION,
        "ROUNDED = 0.002",
        "ROUNDED = 0.05",
        "tests/bundle/test_verify_shares.py::test_shares_of_rows_and_of_persons_are_taken_up_to_rounding_alone",
    ),
    Fault(
        "verify takes any shares of parts",
        DIVISION,
        'if epsilon != share:\n            yield f"manifest.json: the share of ε of {name}',
        'if False:\n            yield f"manifest.json: the share of ε of {name}',
        OTHER_SHARES,
    ),
    Fault(
        "verify does not look at the shares of parts",
        PRICES,
        "faults += wrong_parts(",
        "wrong_parts(",
        OTHER_SHARES,
    ),
    # Boxes, and the error of a model
    Fault(
        "verify takes fewer boxes than there are strata",
        CHOICES,
        "size_fits = least <= entry.cells <= most",
        "size_fits = 0 < entry.cells <= most",
        OF_RANGES,
    ),
    Fault(
        "verify takes more boxes than a tree has",
        CHOICES,
        "size_fits = least <= entry.cells <= most",
        "size_fits = least <= entry.cells <= 2 * most",
        OF_RANGES,
    ),
    Fault(
        "verify takes an error of a model below the noise of its audit",
        MODELS,
        "if factor < NEARLY * min_factor(",
        "if factor < 0 * min_factor(",
        "tests/bundle/test_verify_models.py::"
        "test_an_error_below_the_noise_of_its_audit_is_refused_with_all_that_follows_from_it",
    ),
    Fault(
        "verify takes intervals of a model that are wider than its error",
        MODELS,
        "if widest is not None and (least > widest",
        "if False and (least > widest",
        OF_MODELS,
    ),
    Fault(
        "verify takes intervals of a model that leave its error out",
        MODELS,
        "(NEARLY * believed[0], believed[1])",
        "(0.0, believed[1])",
        "tests/bundle/test_verify_models.py::test_intervals_that_leave_out_the_stated_error_of_a_model_are_refused",
    ),
    Fault(
        "verify takes a private choice that was merged",
        CHOICES,
        "if entry.merged_to is not None or entry.cells_per_person is not None:",
        "if False:",
        FITS,
    ),
    Fault(
        "verify takes an audit of some columns",
        CHOICES,
        "entry.cells in AUDIT_EDGES and not entry.columns",
        "entry.cells in AUDIT_EDGES",
        FITS,
    ),
    Fault(
        "verify takes an audit of any sensitivity",
        CHOICES,
        "(GRAIN * rows) == 0 and entry.mechanism == DISCRETE_LAPLACE\n        size_fits = entry.cells in",
        "1 == 0 and entry.mechanism == DISCRETE_LAPLACE\n        size_fits = entry.cells in",
        FITS,
    ),
    Fault(
        "verify takes a choice among pairs of any sensitivity",
        CHOICES,
        "fits &= not is_score or entry.sensitivity == GRAIN * rows",
        "fits &= True",
        FITS,
    ),
    Fault(
        "verify takes a private choice of some columns",
        CHOICES,
        "size_fits = entry.cells == 0 and not entry.columns",
        "size_fits = entry.cells == 0",
        FITS,
    ),
    Fault(
        "verify takes an error of a model that was not audited",
        CHOICES,
        "bool(audits) != (checked.model_error is not None)",
        "bool(audits) > (checked.model_error is not None)",
        FITS,
    ),
    Fault(
        "the noise of an audit is that of one of its sums",
        CHOICES,
        " / GRAIN * math.sqrt(audit.cells)",
        " / GRAIN",
        "tests/bundle/test_verify_models.py::test_the_noise_of_an_audit_is_that_of_all_its_sums",
    ),
    Fault(
        "verify takes intervals of a model that are a quarter wider than its error",
        MODELS,
        "most / NEARLY",
        "most / 0.8",
        "tests/bundle/test_verify_models.py::test_intervals_that_leave_out_the_stated_error_of_a_model_are_refused",
    ),
    Fault(
        "verify takes a table whose cells were merged for one that was measured as it is",
        MODELS,
        "if tuple(shape) == plan.shape(each.columns)",
        "if True",
        "tests/bundle/test_verify_models.py::"
        "test_the_noise_of_a_table_bounds_its_intervals_only_if_no_cells_were_merged",
    ),
    Fault(
        "verify believes less of a model's error where a person has several rows",
        MODELS,
        "float(plan.epsilon_for_tables) / plan.unit.rows",
        "float(plan.epsilon_for_tables)",
        "tests/bundle/test_verify_models.py::test_how_much_of_an_error_is_believed_follows_from_the_epsilon_of_a_row",
    ),
    # The clocks of zones
    Fault(
        "a release does not record which package said when clocks are set",
        RESULT,
        '{"tzdata": version("tzdata")} if',
        "{} if",
        CLOCKS,
    ),
    Fault(
        "the version of the clocks is in every bundle",
        RESULT,
        "if zones_of(map(plan.column, plan.released)) else {}",
        "if True else {}",
        CLOCKS,
    ),
    Fault(
        "verify takes a zone without a version of the clocks",
        VERIFY,
        "return stated is not None and re.fullmatch",
        "return stated is None or re.fullmatch",
        CLOCKS,
    ),
    Fault(
        "verify looks for a zone in the first column alone",
        VERIFY,
        "zones_of(map(plan.column, plan.released))",
        "zones_of(map(plan.column, plan.released[:1]))",
        CLOCKS,
    ),
    # Who counts, by which key, and mechanisms of others
    Fault(
        "which rows of a person count is the same for all data",
        "dpengine/release.py",
        'ledger.derive_key("truncation", fingerprint, plan_id.encode())',
        'b"any"',
        CHOSEN,
        quick=True,
    ),
    Fault(
        "which rows of a person count does not depend on the plan",
        "dpengine/release.py",
        'ledger.derive_key("truncation", fingerprint, plan_id.encode())',
        'ledger.derive_key("truncation", fingerprint)',
        CHOSEN,
    ),
    Fault(
        "which rows of a person count in a mechanism is the same for all data",
        MECHANISM,
        'charged.derive_key("truncation", fingerprint, plan_id.encode())',
        'b"any"',
        CHOSEN,
    ),
    Fault(
        "a mechanism of others takes each row for a person",
        MECHANISM,
        "Noise(plan.epsilon, plan.unit.rows)",
        "Noise(plan.epsilon)",
        "tests/test_rows_chosen.py::test_the_noise_of_a_mechanism_covers_all_rows_of_a_person",
        quick=True,
    ),
    Fault(
        "a mechanism of others may spend a float",
        MECHANISM,
        "rational(epsilon, strict=True)",
        "rational(epsilon)",
        "tests/test_rows_chosen.py::test_a_mechanism_that_spends_a_float_shows_nothing",
    ),
    Fault(
        "a release id may be used for two releases",
        "dpengine/accounting/ledger.py",
        "if snapshot.named(outcome.release_id) is not None:",
        "if False:",
        "tests/accounting/test_ledger.py::test_a_release_id_is_used_once",
    ),
    Fault(
        "a release that the budget refuses is counted first",
        "dpengine/accounting/ledger.py",
        "                _refuse(snapshot, charge, [])\n",
        "",
        "tests/accounting/test_ledger.py::test_nothing_is_drawn_when_the_cap_refuses",
    ),
    Fault(
        "a refused charge keeps its approval",
        "dpengine/accounting/ledger.py",
        "                self.approvals.lapse(charge)\n                raise",
        "                raise",
        "tests/accounting/approval/test_records.py::test_an_approval_lapses_with_the_charge_that_the_budget_refuses",
    ),
    Fault(
        "which rows of a person count in an answer is the same for all data",
        "dpengine/ask.py",
        'charged.derive_key("truncation", fingerprint, question.key.encode())',
        'b"any"',
        "tests/test_ask.py",
    ),
    Fault(
        "a mechanism of others may write to the exact counts",
        MECHANISM,
        "            counts.setflags(write=False)\n",
        "            pass\n",
        "tests/test_plugins.py::test_a_mechanism_that_does_not_keep_its_price_shows_nothing",
    ),
    Fault(
        "noise is drawn before the budget of near copies is looked at",
        "dpengine/accounting/ledger.py",
        "                _refuse(snapshot, charge, alike)\n                if report",
        "                if report",
        "tests/test_near_copies.py::test_no_noise_is_drawn_for_a_near_copy_that_the_budget_refuses",
    ),
    Fault(
        "who is stated to be other people shares a budget all the same",
        "dpengine/accounting/ledger.py",
        "[] if charge.other_people else alike",
        "alike",
        "tests/test_near_copies.py::test_the_owners_statement_is_recorded_and_gives_a_budget_of_its_own",
    ),
    Fault(
        "questions about bounds ignore what was spent on near copies",
        "dpengine/ask.py",
        "alike = [] if other_people else resembling(table, question, fingerprint, ledger)",
        "alike = []",
        "tests/test_near_copies.py::test_questions_about_bounds_are_all_or_none_for_a_near_copy",
    ),
    Fault(
        "sums of more than 64 bits become floats",
        "dpengine/mechanisms/scalar_queries.py",
        "np.array(values, dtype=object), scale",
        "np.array(values), scale",
        "tests/mechanisms/test_scalar_queries.py::test_noise_is_added_to_numbers_of_any_size_exactly",
    ),
    # How near estimates are to the truth
    Fault(
        "a bad guess is followed blindly",
        "dpengine/marginals/shrinkage.py",
        "    if noise_alone >= likelihood:\n",
        "    if True:\n",
        "tests/marginals/test_shrinkage.py::test_a_good_guess_helps_and_a_bad_one_hurts_little",
    ),
    Fault(
        "tables of mostly empty cells are shrunk like full ones",
        "dpengine/marginals/shrinkage.py",
        "        if likely > likelihood + SURER:\n",
        "        if False:\n",
        "tests/marginals/test_sparse_prior.py::"
        "test_a_table_in_which_one_column_decides_another_is_far_nearer_to_the_truth",
    ),
    Fault(
        "a single column is not smoothed",
        "dpengine/estimate/consistency.py",
        "        return smooth(estimate, scale, total)",
        "        return project(estimate, round(total))",
        "tests/estimate/test_consistency.py::"
        "test_counts_of_one_column_are_smoothed_unless_noise_is_little_or_cells_are_very_many",
    ),
    # Which charge paid for a release, and what was charged
    Fault(
        "the page takes a release that another key signed for one that the ledger charged",
        CHARGE,
        "if signer != own:",
        "if signer is None:",
        ON_THE_PAGE,
    ),
    Fault(
        "the page says that a dataset has spent what one release cost",
        CHARGE,
        "exactly(ledger.spent(entry.dataset))",
        "exactly(entry.epsilon)",
        ON_THE_PAGE,
    ),
    Fault(
        "the command takes a bundle that another key signed for one that the ledger charged",
        OF_LEDGER,
        "if key is None or signer != fingerprint(key.public_key()):",
        "if key is None or signer is None:",
        BY_COMMAND,
    ),
    Fault(
        "the command does not compare a bundle's price with the charge",
        OF_LEDGER,
        'if entry.epsilon != rational(manifest["guarantee"]["epsilon"]):',
        "if False:",
        BY_COMMAND,
    ),
    Fault(
        "the command says that a dataset has spent what one release cost",
        OF_LEDGER,
        '"spent": exact_text(ledger.spent(entry.dataset))',
        '"spent": exact_text(entry.epsilon)',
        BY_COMMAND,
    ),
    Fault(
        "a key that was compared with none is that of the ledger",
        OF_LEDGER,
        '"the key of the ledger" if charge is not None else None',
        '"the key of the ledger"',
        BY_COMMAND,
    ),
    Fault(
        "a dataset shares a budget with itself in other letters",
        "dpengine/cli/ledger.py",
        "if same_name(entry.dataset) != own}",
        "if entry.dataset != dataset}",
        BUDGETS,
    ),
    Fault(
        "each charge of a shared budget was made under another name",
        "dpengine/cli/ledger.py",
        'if entry["dataset"] in others else ""',
        'if others else ""',
        BUDGETS,
    ),
    Fault(
        "a stored answer is said to be charged again",
        "dpengine/cli/ask.py",
        'exact_text(question.epsilon) if drawn else "0"',
        "exact_text(question.epsilon)",
        "tests/test_cli_ask.py::test_a_question_is_priced_before_and_paid_once",
    ),
    Fault(
        "noise alone is taken for rows that are left out",
        LEFT_OUT,
        '2 * int(result.cells(())["high"].sum()) >= plan.rows_about',
        '2 * int(result.cells(())["low"].sum()) >= plan.rows_about',
        ROWS_LEFT_OUT,
        quick=True,
    ),
    Fault(
        "rows beyond a person's bound are taken for ones that no cell holds",
        LEFT_OUT,
        "if plan.rows_about is None or plan.unit.id is not None:",
        "if plan.rows_about is None:",
        ROWS_LEFT_OUT,
    ),
    Fault(
        "values of few people are taken for ones that are written in another way",
        LEFT_OUT,
        "and not (isinstance(column, Category) and column.share)",
        "and True",
        "tests/results/test_mostly_other.py::test_values_of_few_people_are_in_other_where_values_are_found",
    ),
    Fault(
        "a bundle may hold a link to any file of its reader",
        "dpengine/bundle/archive.py",
        "kind in (0, 0o100000)",
        "kind in (0, 0o100000, 0o120000)",
        "tests/bundle/test_archive.py::test_what_is_no_plain_file_is_refused_before_anything_is_read",
    ),
    Fault(
        "a bundle may hold an encrypted file",
        "dpengine/bundle/archive.py",
        " and not entry.flag_bits & 1",
        "",
        "tests/bundle/test_archive.py::test_a_file_that_is_encrypted_is_refused",
    ),
    # The page
    Fault(
        "a page with progress is begun again before it is drawn",
        "pages/parts/visit/background_read.py",
        "    if job.done and drawn.is_set():\n        st.rerun()\n    drawn.set()\n    line, stop",
        "    if job.done:\n        st.rerun()\n    drawn.set()\n    line, stop",
        "tests/pages/visit/test_background_read.py::"
        "test_a_page_with_progress_is_drawn_to_its_end_if_the_reading_ends_meanwhile",
    ),
]
