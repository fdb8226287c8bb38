"""Faults to plant around the noise: who counts, what is stored, questions and choices, surveys, ledger and bundle."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

RELEASE = "dpengine/release.py"
TALLIES = "dpengine/spec/tallies.py"
BOUNDING = "dpengine/counting/contribution_bounding.py"
LEDGER = "dpengine/accounting/ledger.py"
CHAIN = "dpengine/accounting/hash_chain.py"
WITNESS = "dpengine/accounting/witness.py"
UPKEEP = "dpengine/accounting/upkeep.py"
RECORDS = "dpengine/accounting/approval/records.py"
QUERY = "dpengine/spec/query/question.py"
CHOOSE = "dpengine/choose.py"
VERIFY = "dpengine/bundle/verify.py"
PRICES = "dpengine/bundle/checks/price_check.py"
LOCAL = "dpengine/mechanisms/local/"
MECHANISM = "dpengine/mechanism.py"
COPYING = "dpengine/sources/databases/copying.py"

WHOLE_REPLAY = "tests/test_replay.py"
OTHER_TABLE = WHOLE_REPLAY + "::test_even_an_entirely_different_table_changes_only_probabilities"
ANSWERS = WHOLE_REPLAY + "::test_an_answer_to_a_question_is_as_private"
MANY_ROWS = WHOLE_REPLAY + "::test_a_person_with_many_rows_moves_an_answer_no_more"
CHOICES = WHOLE_REPLAY + "::test_a_choice_is_as_private"
OF_BOUNDING = "tests/counting/test_contribution_bounding.py"
OF_DISTINCT = "tests/counting/test_distinct.py"
OF_LEDGER = "tests/accounting/test_ledger.py"
OF_RECORDS = "tests/accounting/approval/test_records.py"
OF_WITNESS = "tests/accounting/test_witness.py"
OF_UPKEEP = "tests/accounting/test_upkeep.py"
OF_CHOOSE = "tests/test_choose.py"
OF_PLUGINS = "tests/test_plugins.py"
OF_VERIFY = "tests/bundle/test_verify.py"
OF_LOCAL = "tests/mechanisms/local/test_protocol.py"
OF_COPYING = "tests/sources/databases/test_copying.py"
OF_COINS = "tests/mechanisms/local/test_coins.py"

FAULTS = [
    # Mechanisms of others
    Fault(
        "what a mechanism of others spends is taken at its word",
        MECHANISM,
        "release.created, noise.spent, release",
        "release.created, plan.epsilon, release",
        OF_PLUGINS + "::test_a_mechanism_that_does_not_keep_its_price_shows_nothing",
    ),
    Fault(
        "a mechanism of others is not asked for its price",
        MECHANISM,
        "or stated != plan.epsilon",
        "or stated <= 0",
        OF_PLUGINS + "::test_a_mechanism_that_does_not_keep_its_price_shows_nothing",
    ),
    Fault(
        "noise of a mechanism of others is that of one row a person",
        MECHANISM,
        "scale = self._rows * _above_zero(sensitivity)",
        "scale = _above_zero(sensitivity)",
        OF_PLUGINS + "::test_noise_allows_for_persons_with_several_rows",
    ),
    Fault(
        "a sensitivity of scores is rounded down",
        MECHANISM,
        "ceil(self._rows * _above_zero(sensitivity))",
        "int(self._rows * _above_zero(sensitivity))",
        OF_PLUGINS + "::test_noise_allows_for_persons_with_several_rows",
    ),
    # Counting
    Fault(
        "a person keeps a row too many",
        BOUNDING,
        "AS c WHERE place <= {rows}",
        "AS c WHERE place <= {rows} + 1",
        OF_BOUNDING,
    ),
    Fault(
        "the bound is one for all people together",
        BOUNDING,
        "OVER (PARTITION BY {group} ORDER BY {hashed})",
        "OVER (ORDER BY {hashed})",
        OF_BOUNDING,
    ),
    Fault("a person counts twice in a cell", BOUNDING, "WHERE again = 1", "WHERE again >= 1", OF_DISTINCT),
    Fault("a person counts in a cell too many", BOUNDING, "turn <= {cells}", "turn <= {cells} + 1", OF_DISTINCT),
    Fault(
        "tables of several cells per person have the noise of one cell",
        TALLIES,
        "Tally(_only(plan, [_counting_rows(each)], each.cells_per_person), each.cells_per_person)",
        "Tally(_only(plan, [_counting_rows(each)], 1), each.cells_per_person)",
        OF_DISTINCT,
    ),
    Fault(
        "tables of persons with several rows may be measured by a model",
        TALLIES,
        "plan.unit.rows > 1 and plan.strategy in",
        "plan.unit.rows > 3 and plan.strategy in",
        "tests/spec/test_tallies.py::test_unsound_plans_are_refused_in_words",
    ),
    Fault(
        "persons in one cell each count with all of their rows",
        BOUNDING,
        "return Kept(each.bound)",
        "return Kept(plan.unit.rows)",
        OF_DISTINCT,
    ),
    Fault(
        "rows and persons spend all of ε each",
        "dpengine/measure/allocation.py",
        "plan.epsilon * root / sum(roots)",
        "plan.epsilon",
        OF_DISTINCT,
    ),
    Fault(
        "persons in several cells verify with the noise of one",
        PRICES,
        "if entry.sensitivity != tally.bound:",
        "if entry.sensitivity > tally.bound:",
        "tests/bundle/test_distinct.py",
    ),
    Fault(
        "which rows are kept can be foreseen",
        BOUNDING,
        "dialect.literal(hashlib.sha256(key).hexdigest())",
        "dialect.literal(hashlib.sha256(b'').hexdigest())",
        OF_BOUNDING,
    ),
    Fault(
        "rows without an ID count",
        BOUNDING,
        'conditions = [*conditions, "person IS NOT NULL"]',
        "conditions = [*conditions]",
        "tests/counting/test_count.py::test_each_person_keeps_at_most_k_rows_and_rows_without_an_id_count_nowhere",
    ),
    Fault(
        "all rows of a person count where quantiles are chosen",
        "dpengine/counting/count.py",
        "joints, kept_of(plan, tally), truncation_key, _share",
        'joints, kept_of(plan.at("1").model_copy(update={"unit": plan.unit.model_copy(update={"rows": 99})}), tally)'
        " if stepped else kept_of(plan, tally), truncation_key, _share",
        "tests/measure/test_quantile_choice.py::test_a_person_keeps_as_many_rows_where_steps_are_counted_as_elsewhere",
    ),
    Fault(
        "a row without a cell in one column counts in tables of the others",
        "dpengine/counting/totals.py",
        "np.logical_or.reduce(lacking)",
        "np.logical_and.reduce(lacking)",
        "tests/counting/test_count.py::test_a_row_without_a_cell_in_one_of_several_columns_counts_in_no_table",
    ),
    Fault(
        "a question keeps a row too many of a person",
        "dpengine/counting/single_query.py",
        "unit.rows, selection.truncation_key",
        "unit.rows + 1, selection.truncation_key",
        MANY_ROWS,
    ),
    Fault(
        "the weights of a variance add up to more than 1",
        "dpengine/mechanisms/variance.py",
        "2 * (steps * places - squares)",
        "3 * (steps * places - squares)",
        "tests/mechanisms/test_variance.py"
        "::test_a_row_moves_the_three_sums_by_its_units_exactly_and_they_give_count_mean_and_variance",
    ),
    Fault(
        "the ledger keeps a question in the language of the page",
        QUERY,
        "@speaking(ENGLISH)  # the ledger keeps it",
        '@speaking("de")',
        "tests/translation/test_faults.py::test_a_question_is_stored_and_downloaded_in_english_and_shown_in_german",
    ),
    Fault(
        "a variance has the noise of a mean",
        QUERY,
        "return k * grid.steps**2",
        "return k * grid.steps",
        "tests/test_ask.py::test_no_row_moves_an_answer_by_more_than_epsilon",
    ),
    Fault(
        "a row is in every group",
        "dpengine/counting/single_query.py",
        "        numbers[place] = tuple(map(int, codes_and_sums[len(keys) :]))",
        "        numbers = [tuple(map(int, codes_and_sums[len(keys) :]))] * len(numbers)",
        "tests/test_ask.py::test_all_groups_together_are_as_private_as_one",
    ),
    # What is stored
    Fault(
        "the exact number of rows is in the budget's history",
        RELEASE,
        "plan.epsilon, plan.title, summary(plan),",
        "plan.epsilon, plan.title, f'{summary(plan)}, {count.row_count(table)} rows',",
        OTHER_TABLE,
    ),
    Fault(
        "the exact number of rows is `rows_about` of the stored plan",
        RELEASE,
        "created, payload = payload_of(with_cells, measured)",
        "created, payload = payload_of(with_cells.model_copy(update={'rows_about': count.row_count(table)}), measured)",
        OTHER_TABLE,
    ),
    Fault(
        "how many values lie beyond their bounds is told in the bundle",
        RELEASE,
        "        release_id, created, payload = payload_of(with_cells, measured)\n",
        "        with table.connection() as rows:\n"
        "            asked = 'SELECT count(*) FROM rows WHERE TRY_CAST(c4 AS DOUBLE) NOT BETWEEN 0 AND 40'\n"
        "            beyond = rows.execute(asked).fetchone()[0]\n"
        "        noted = with_cells.model_copy(update={'notes': f'{beyond} values lie beyond their bounds'})\n"
        "        release_id, created, payload = payload_of(noted, measured)\n",
        WHOLE_REPLAY + "::test_values_beyond_their_bounds_count_as_the_bounds_and_no_message_mentions_them",
    ),
    Fault(
        "the exact number of rows is a stage",
        RELEASE,
        'report("counting")',
        'report(f"counting {count.row_count(table)} rows")',
        OTHER_TABLE,
    ),
    Fault(
        "a table that changed while it was counted is published",
        RELEASE,
        "        count.check_unchanged(table, read_once=not plan.finds)\n        return _Exact",
        "        return _Exact",
        "tests/test_release.py::test_a_file_that_changes_while_it_is_counted_costs_nothing",
    ),
    Fault(
        "numbers of a model change with the version that fits it",
        "dpengine/results/result.py",
        "return self.stated.of(table) or self.derive_numbers(table)",
        "return self.derive_numbers(table)",
        "tests/results/test_stated.py",
    ),
    # Questions
    Fault(
        "the more groups a question has, the less noise each gets",
        "dpengine/ask.py",
        "tuple(add_noise(exact, scale))",
        "tuple(add_noise(exact, scale / question.groups))",
        WHOLE_REPLAY + "::test_the_answers_for_all_groups_together_are_as_private_as_one",
    ),
    Fault(
        "quantiles are drawn as if scores were monotone",
        "dpengine/ask.py",
        "isinstance(question.statistic, Mode)\n",
        "isinstance(question.statistic, Mode | Quantile)\n",
        ANSWERS,
    ),
    Fault(
        "both numbers of an average have the same noise",
        "dpengine/mechanisms/scalar_queries.py",
        "perturb(np.array(values, dtype=object), scale).tolist()",
        "(np.array(values, dtype=object) + perturb(np.array([0], dtype=object), scale)).tolist()",
        ANSWERS + " tests/noise/test_perturb.py",
    ),
    Fault("an average ignores a person's rows", QUERY, "return k * grid.steps\n", "return grid.steps\n", MANY_ROWS),
    Fault(
        "a sum ignores its lower bound",
        QUERY,
        "max(abs(grid.units(grid.low)), abs(grid.units(grid.high)))",
        "abs(grid.units(grid.high))",
        MANY_ROWS,
    ),
    Fault(
        "a quantile takes the smaller side",
        QUERY,
        "k * max(level.numerator,",
        "k * min(level.numerator,",
        ANSWERS,
    ),
    Fault(
        "a count ignores a person's rows", QUERY, "                return k\n", "                return 1\n", MANY_ROWS
    ),
    Fault(
        "a ledger records an answer at another price",
        "dpengine/ask.py",
        "question.sensitivity / scale\n",
        "question.sensitivity / scale / 2\n",
        ANSWERS,
    ),
    Fault(
        "estimates of the rows kept cost more together than was said",
        "dpengine/ask.py",
        "total * weight / sum(weights)",
        "total * weight / max(weights)",
        "tests/test_rows_kept.py",
    ),
    Fault(
        "estimates of the rows kept are begun though the budget does not allow them all",
        "dpengine/ask.py",
        "left is not None and price > left",
        "left is not None and due[0].epsilon > left",
        "tests/test_rows_kept.py",
    ),
    # Choices
    Fault(
        "scores are rounded to 12 digits",
        CHOOSE,
        "return exact_number(value, what)",
        'return exact_number(f"{value:.12g}" if isinstance(value, float) else value, what)',
        OF_CHOOSE + "::test_scores_that_move_by_the_sensitivity_move_no_chance_by_more_than_epsilon",
        quick=True,
    ),
    Fault(
        "scores are read from their shortest text",
        CHOOSE,
        "return exact_number(value, what)",
        "return exact_number(str(value) if isinstance(value, float) else value, what)",
        OF_CHOOSE + "::test_scores_that_move_by_the_sensitivity_move_no_chance_by_more_than_epsilon",
    ),
    Fault(
        "scores are scaled and their sensitivity is not",
        CHOOSE,
        "int(candidates.sensitivity * scale)",
        "max(1, int(candidates.sensitivity))",
        CHOICES,
    ),
    Fault(
        "every choice is taken for monotone",
        CHOOSE,
        "_MECHANISMS[candidates.mechanism](scores, epsilon, sensitivity, monotone=candidates.monotone)",
        "_MECHANISMS[candidates.mechanism](scores, epsilon, sensitivity, monotone=True)",
        CHOICES,
    ),
    Fault(
        "equal scores of other people share a charge",
        CHOOSE,
        "[Kind.CHOICE, same_name(dataset), scored]",
        "[Kind.CHOICE, scored]",
        OF_CHOOSE + "::test_equal_scores_of_other_people_do_not_share_a_budget",
    ),
    # Surveys and learning
    Fault(
        "a coin is a little too often heads",
        LOCAL + "coins.py",
        "np.less(first,",
        "np.less_equal(first,",
        OF_COINS + "::test_eight_bits_decide_a_coin_of_eight_bits",
        quick=True,
    ),
    Fault(
        "ε of a survey is rounded down",
        LOCAL + "coins.py",
        "above.quantize(_STEP, rounding=ROUND_CEILING,",
        'above.quantize(_STEP, rounding="ROUND_FLOOR",',
        OF_COINS + "::test_a_logarithm_is_rounded_up_and_by_no_more_than_the_last_digit",
    ),
    Fault(
        "reports that differ in two bits are priced as one",
        LOCAL + "coins.py",
        "((2 - random) / random) ** bits",
        "((2 - random) / random)",
        OF_LOCAL + "::test_a_protocol_for_an_epsilon_costs_at_most_that_and_little_less",
    ),
    Fault(
        "several reports cost as much as one",
        LOCAL + "coins.py",
        "log_up(Fraction(ratio) ** times)",
        "log_up(Fraction(ratio))",
        "dpengine/mechanisms/local/coins.py",
    ),
    Fault(
        "k-ary response is priced as for one answer",
        LOCAL + "randomized_response.py",
        "1 + answers * (1 - random) / random",
        "1 + (1 - random) / random",
        OF_LOCAL + "::test_no_report_is_more_than_e_to_the_epsilon_times_as_likely_under_another_answer_and_one_is_"
        "just_that",
    ),
    Fault(
        "a random answer is never the true one",
        LOCAL + "randomized_response.py",
        "reports[by_coin] = uniform_below(answers, by_coin.size)",
        "reports[by_coin] = (values[by_coin] + 1 + uniform_below(answers - 1, by_coin.size)) % answers",
        OF_LOCAL + "::test_reports_follow_their_distribution",
    ),
    Fault(
        "Hadamard response gives one answer a row of its own",
        LOCAL + "frequency_oracles.py",
        "rows = check_values(values, self.answers) + 1\n",
        "rows = check_values(values, self.answers)\n",
        OF_LOCAL + "::test_reports_follow_their_distribution",
    ),
    Fault(
        "unary encoding sets the true bit too often",
        LOCAL + "frequency_oracles.py",
        "self.answers, HALF, self.stray)",
        "self.answers, 1 - self.stray, self.stray)",
        OF_LOCAL + "::test_reports_follow_their_distribution",
    ),
    Fault(
        "a sketch never flips its sign",
        LOCAL + "sketches.py",
        "& 1) ^ coins(self.flip, drawn.size)",
        "& 1)",
        OF_LOCAL + "::test_reports_follow_their_distribution",
    ),
    Fault(
        "an expert is picked by the losses of the same round",
        "dpengine/mechanisms/online_learning.py",
        "dtype=np.int64) - part + before",
        "dtype=np.int64) + before",
        "tests/mechanisms/test_online_learning.py::test_experts_are_picked_as_often_as_their_weights_say",
    ),
    Fault(
        "zCDP of a selection is an eighth of what it is",
        "dpengine/accounting/composition.py",
        "return zcdp_rho(epsilon, times) / 4",
        "return zcdp_rho(epsilon, times) / 32",
        "tests/mechanisms/test_online_learning.py::test_the_zcdp_cost_of_a_pick_is_an_eighth_of_its_squared_epsilon",
    ),
    Fault(
        "a group of people costs what one does",
        "dpengine/accounting/composition.py",
        "return size * Fraction(epsilon)",
        "return Fraction(epsilon)",
        "tests/accounting/test_composition.py::test_basic_composition_and_groups_are_exact",
    ),
    # Ledger
    Fault(
        "a cap binds each charge alone",
        CHAIN,
        "spent + epsilon <= cap",
        "epsilon <= cap",
        OF_LEDGER + "::test_a_refusal_says_what_was_asked_spent_and_left_and_the_ways_out",
        quick=True,
    ),
    Fault(
        "the command line charges a ledger that ends with it",
        "dpengine/cli/common.py",
        "partial(address_of, lasting=True)",
        "partial(address_of, lasting=False)",
        "tests/test_cli_release.py::test_no_release_is_charged_to_a_ledger_that_ends_with_the_process",
    ),
    Fault(
        "a bundle may take the place of the ledger",
        "dpengine/cli/common.py",
        "for file in _ledger_files(url)):",
        "for file in _ledger_files(url)[1:]):",
        "tests/test_cli_release.py::test_a_bundle_never_takes_the_place_of_what_is_read_or_of_the_ledger",
    ),
    Fault(
        "the cap is not looked at when a charge is recorded",
        LEDGER,
        "            approval = _refuse(book, charge, alike)\n",
        "            approval = None\n",
        OF_LEDGER + "::test_threads_that_share_a_ledger_are_granted_exactly_what_the_cap_allows",
    ),
    Fault(
        "a charge that needs approval is made without",
        RECORDS,
        "    if approval is not None:\n        return approval\n    if charge.kind",
        "    return approval\n    if charge.kind",
        OF_RECORDS + "::test_a_charge_without_approval_is_refused_until_it_has_one_which_it_uses_up",
    ),
    Fault(
        "an approval is not used up",
        LEDGER,
        "                records.use(connection, approval, outcome)\n",
        "",
        OF_RECORDS + "::test_a_charge_without_approval_is_refused_until_it_has_one_which_it_uses_up",
    ),
    Fault(
        "an approval is for any plan of its dataset",
        RECORDS,
        "wanted = charge.plan_sha256, same_name(charge.dataset),",
        "wanted = next(iter(book.requests)).plan_sha256, same_name(charge.dataset),",
        OF_RECORDS + "::test_an_approval_is_for_exactly_its_plan",
    ),
    Fault(
        "a request of one's own can be approved",
        "dpengine/accounting/approval/desk.py",
        "if by.is_same(records.request_of(row).asked_by):",
        "if False:",
        "tests/accounting/approval/test_desk.py::test_nobody_decides_on_a_request_of_their_own",
    ),
    Fault(
        "a rule that is taken away from outside is believed to have been lifted",
        CHAIN,
        "    named = [name for rule in rules for name in rule]\n",
        "    named: list[str] = []\n",
        "tests/accounting/approval/test_desk.py::test_a_rule_or_request_that_is_changed_from_outside_stops_all_use",
    ),
    Fault(
        "the same data under another name has a budget of its own",
        CHAIN,
        " or row.fingerprint in prints",
        "",
        OF_LEDGER + "::test_the_same_data_under_another_name_shares_the_budget",
    ),
    Fault(
        "a capital letter opens a second budget",
        CHAIN,
        "same_name(row.dataset) in spellings",
        "row.dataset == dataset",
        OF_LEDGER + "::test_spellings_of_a_name_are_one_dataset",
    ),
    Fault(
        "what was drawn may cost more than its price",
        LEDGER,
        "if outcome.cost != epsilon:",
        "if False:",
        OF_LEDGER + "::test_a_draw_that_cost_more_or_less_than_its_price_is_not_recorded",
    ),
    Fault(
        "who states to be of other people than one table is so for all",
        "dpengine/accounting/recognition.py",
        "each.other_people and each.release_id in theirs",
        "each.other_people",
        "tests/test_near_copies.py::test_a_statement_is_about_the_table_that_it_was_made_of_alone",
    ),
    Fault(
        "all sketches in a ledger are sealed with one key and one nonce",
        "dpengine/accounting/recognition.py",
        'hash_chain.keyed(key, "sketch", release_id)',
        'hash_chain.keyed(key, "sketch")',
        "tests/accounting/test_sketch.py::test_each_charge_has_a_key_of_its_own_for_its_sketch",
    ),
    Fault(
        "Ctrl-C after noise was drawn loses the charge",
        LEDGER,
        "                with signals_deferred():\n",
        "                if signals_deferred():\n",
        "tests/accounting/test_drawing.py::test_ctrl_c_while_noise_is_drawn_waits_until_the_charge_is_recorded",
    ),
    Fault(
        "the same plan is drawn and charged again",
        LEDGER,
        "            if known is not None:\n                return hash_chain",
        "            if False:\n                return hash_chain",
        OF_LEDGER + "::test_the_same_data_and_plan_cost_once_and_return_what_was_stored",
    ),
    Fault(
        "a result is shown that was not recorded",
        LEDGER,
        "payload = self.record(charge, drawn(draw, exact))",
        "payload = drawn(draw, exact).payload",
        OF_LEDGER + "::test_a_charge_is_drawn_once_and_always_shown_from_what_is_stored",
    ),
    Fault(
        "the chain does not seal what was spent",
        CHAIN,
        "for name in _SEALED), *kind",
        'for name in _SEALED if name != "epsilon"), *kind',
        OF_LEDGER + "::test_a_tampered_entry_breaks_the_chain_and_stops_all_use",
    ),
    Fault(
        "a cap changed from outside is believed",
        CHAIN,
        "if meta.caps_seal != _seal(secret, *changeable):",
        "if False:",
        OF_LEDGER + "::test_caps_key_and_tables_changed_from_outside_are_refused",
    ),
    Fault(
        "a stored result is served though it was changed",
        CHAIN,
        " or hashlib.sha256(payload).digest() != charge.payload_sha256",
        "",
        OF_LEDGER + "::test_a_tampered_release_is_not_served_but_others_are",
    ),
    Fault(
        "a fingerprint can be computed by anyone",
        CHAIN,
        "hmac.digest(secret, ",
        "hmac.digest(bytes(32), ",
        OF_LEDGER + "::test_a_fingerprint_is_an_hmac_under_the_key_in_the_ledger",
    ),
    Fault(
        "near copies are looked for before a charge, and no longer when it is recorded",
        LEDGER,
        "alike = recognition.resembling(connection, book, self._key, *data, charge.sketch)",
        "alike: list[Resemblance] = []",
        "tests/accounting/test_ledger_faults.py::test_one_of_two_processes_with_near_copies_gets_the_last_unit",
    ),
    Fault(
        "a ledger that is gone is begun anew",
        LEDGER,
        "None if begin and seen is None else witness.missing(self._address, seen)",
        "None",
        OF_WITNESS + "::test_a_ledger_that_is_gone_is_reported_and_not_replaced",
    ),
    Fault(
        "a ledger goes on as it was read after it was written to",
        LEDGER,
        "        seen, self._snapshot = witness.seen(self._address), None\n",
        "        seen = witness.seen(self._address)\n",
        OF_LEDGER + "::test_a_view_of_a_ledger_reads_it_once_and_charges_against_its_present_state",
        quick=True,
    ),
    Fault(
        "what was charged is not noted",
        LEDGER,
        "        witness.note(self._address, written)\n",
        "",
        OF_WITNESS + "::test_an_old_copy_put_back_is_reported_even_to_processes_that_have_it_open",
    ),
    Fault(
        "an old copy goes on with as many entries",
        WITNESS,
        "    if there != seen.head:",
        "    if there is None:",
        OF_WITNESS + "::test_an_old_copy_with_charges_of_its_own_is_reported",
    ),
    Fault(
        "a signing key that is gone is not missed",
        CHAIN,
        "    if not seen.keys <= now.keys:\n",
        "    if False:\n",
        OF_WITNESS + "::test_a_missing_signing_key_is_reported_and_not_replaced",
    ),
    Fault(
        "a restore forgets what was seen of a ledger that is gone",
        UPKEEP,
        "if seen is not None and not forget:",
        "if False:",
        OF_UPKEEP + "::test_noted_entries_count_even_if_the_ledger_is_gone",
    ),
    Fault(
        "a restore forgets entries of the ledger that is there",
        UPKEEP,
        "    if used and not forget:\n",
        "    if False:\n",
        OF_UPKEEP + "::test_present_entries_count_even_for_an_account_that_never_used_the_ledger",
    ),
    # Bundle
    Fault(
        "a changed file in a bundle is whole",
        VERIFY,
        " or pieces.sha256() != entry.sha256",
        "",
        OF_VERIFY + "::test_a_changed_byte_is_found_by_its_sha_256",
    ),
    Fault(
        "measurements need not add up to ε",
        PRICES,
        "if spent != plan.epsilon:",
        "if False:",
        OF_VERIFY + "::test_every_change_is_found_even_where_all_sha_256_sums_are_recomputed",
        quick=True,
    ),
    Fault(
        "a description for portals is not compared with the manifest",
        "dpengine/bundle/checks/portal_check.py",
        "if members.read(name, sizes.PROSE_BYTES) != text:",
        "if not members.read(name, sizes.PROSE_BYTES):",
        "tests/bundle/portals/test_portals.py::test_a_description_that_says_something_else_is_found",
    ),
    Fault(
        "a Parquet file may hold other numbers than its table",
        "dpengine/bundle/portals/parquet.py",
        "return bool(actual.read().equals(wanted.read()))",
        "return bool(actual.read())",
        "tests/bundle/portals/test_portals.py::test_a_parquet_file_that_says_something_else_is_found",
    ),
    Fault(
        "bounds that were measured from rows are read as public",
        "dpengine/spec/exchange/csvw_eo.py",
        "if doubtful and not (low is None and high is None):",
        "if False and not (low is None and high is None):",
        "tests/spec/test_exchange.py::test_entries_that_a_tool_measured_are_refused_and_the_rest_waits",
    ),
    Fault(
        "a bundle may state less noise",
        PRICES,
        "if _positive(entry.scale) != allocation.scale:",
        "if False:",
        OF_VERIFY + "::test_every_change_is_found_even_where_all_sha_256_sums_are_recomputed",
    ),
    Fault(
        "a bundle may state another sensitivity",
        PRICES,
        "if entry.sensitivity != tally.bound:",
        "if False:",
        OF_VERIFY + "::test_every_change_is_found_even_where_all_sha_256_sums_are_recomputed",
    ),
    Fault(
        "a bundle is whole whatever its signature says",
        "dpengine/bundle/signature.py",
        "        public.verify(signature, _digest(file))\n",
        "",
        "tests/bundle/test_signature.py::test_any_changed_byte_is_reported",
    ),
    Fault(
        "a signature vouches for the second half of a file alone",
        "dpengine/bundle/signature.py",
        "    file.seek(0)\n",
        "    file.seek(left // 2)\n    left -= left // 2\n",
        "tests/bundle/test_signature.py::test_any_changed_byte_is_reported",
    ),
    Fault(
        "any key will do where one is expected",
        VERIFY,
        "if expected is not None and signer != expected:",
        "if expected is not None and signer is None:",
        "tests/bundle/test_signature.py::test_the_four_outcomes_are_distinguished",
    ),
    Fault(
        "unsigned will do where a key is expected",
        VERIFY,
        "if expected is not None and signer != expected:",
        "if expected is not None and signer is not None and signer != expected:",
        "tests/bundle/test_signature.py::test_the_four_outcomes_are_distinguished",
    ),
    Fault(
        "the signing key is made after noise was drawn",
        "dpengine/release.py",
        "        signer = keep_signing_key(book)\n",
        "",
        "tests/test_signed_release.py::test_without_a_key_nothing_is_drawn",
    ),
    Fault(
        "each process makes a signing key of its own",
        CHAIN,
        "        if row is not None:\n            if not hmac",
        "        if row is not None and make is None:\n            if not hmac",
        "tests/accounting/test_owners.py::test_a_named_key_that_another_process_has_made_meanwhile_is_kept",
    ),
    Fault(
        "the manifest states a scale that ignores a person's rows",
        "dpengine/bundle/manifest.py",
        '"scale": exact_text(allocation.scale)',
        '"scale": exact_text(1 / allocation.epsilon)',
        "tests/bundle/test_write.py::test_rows_of_several_people_are_written_once_for_each",
    ),
    Fault(
        "a release promises less than its plan's ε",
        "dpengine/bundle/promises.py",
        '"epsilon": exact_text(plan.epsilon)',
        '"epsilon": exact_text(plan.epsilon / 2)',
        "tests/bundle/test_write.py::test_every_bundle_verifies",
    ),
    # Rows of other engines
    Fault(
        "rows that another engine leaves out of the counts are left out of what recognises the table",
        "dpengine/counting/pushdown.py",
        "*word_sums(self.table.dialect)])} FROM coded",
        "*word_sums(self.table.dialect)])} FROM ({counted}) AS coded",
        "tests/counting/test_pushdown.py::test_one_statement_recognises_and_counts",
    ),
    Fault(
        "rows of persons in another engine that changed while they were counted are published",
        "dpengine/counting/pushdown.py",
        "        self._check_same(digest)\n",
        "",
        "tests/counting/test_pushdown.py::test_one_statement_keeps_rows_of_persons_counts_them_and_sees_a_change",
    ),
    Fault(
        "a person keeps a row too many, where an engine keeps no rows",
        "dpengine/counting/contribution_bounding.py",
        "lacks = 0 AND place <= {rows}",
        "lacks = 0 AND place <= {rows} + 1",
        "tests/counting/test_pushdown.py::test_one_statement_keeps_rows_of_persons_counts_them_and_sees_a_change",
    ),
    Fault(
        "rows that do not count take the place of rows of the same person, where an engine keeps no rows",
        "dpengine/counting/contribution_bounding.py",
        "dialect, ('lacks',), ('h',))",
        "dialect, (), ('lacks', 'h'))",
        "tests/counting/test_contribution_bounding.py::test_rows_that_do_not_count_do_not_use_up_the_bound_of_a_person",
    ),
    Fault(
        "Arrow's reader of Parquet is trusted with texts that are none",
        "dpengine/sources/files/parquet.py",
        "                _check_texts(batch.column(name))",
        "                pass",
        "tests/counting/test_pieces_of_parquet.py::test_what_arrow_cannot_trust_is_left_to_sql",
    ),
    Fault(
        "texts of Parquet may point behind the end of their list",
        "dpengine/sources/files/parquet.py",
        ".max() >= len(texts.dictionary)",
        ".max() > len(texts.dictionary)",
        "tests/counting/test_pieces_of_parquet.py::test_texts_are_checked_as_by_arrow",
    ),
    Fault(
        "texts that look like earlier ones get the results of those",
        "dpengine/counting/pieces/known_texts.py",
        "            if texts.equals(earlier):\n",
        "            if len(texts) == len(earlier):\n",
        "tests/counting/test_pieces_of_parquet.py::test_texts_get_their_own_results_in_any_order",
    ),
    Fault(
        "Arrow reads columns of Parquet that the engine reads as another type",
        "dpengine/counting/pieces/parquet_file.py",
        "and kinds == [types.get(each) for each in places]",
        "",
        "tests/counting/test_pieces_of_parquet.py::test_other_columns_are_left_to_sql",
    ),
    Fault(
        "a text file that is seen as simple has line ends in quotes",
        "dpengine/sources/files/text_rows.py",
        "(inside | _moved_up(ends))",
        "_moved_up(ends)",
        "tests/counting/test_pieces_of_text.py::test_other_quotes_are_left_to_sql",
    ),
    Fault(
        "a quote that is open at the end of a word of 64 bits counts as closed",
        "dpengine/sources/files/text_rows.py",
        "    odd[1:] ^= np.uint64(0) - before  # all bits of a word, if the number before it is odd\n",
        "",
        "tests/sources/files/test_text_rows.py::test_quotes_around_cells_and_rows_are_seen_by_bits_as_one_by_one",
    ),
    Fault(
        "a text file is cut into pieces within quotes",
        "dpengine/counting/pieces/text_file.py",
        "if not all(whole_cells_and_rows(lines, ord(text.delimiter), ord(text.quote))):",
        "if not whole_cells_and_rows(lines, ord(text.delimiter), ord(text.quote))[0]:",
        "tests/counting/test_pieces_of_text.py::test_other_quotes_are_left_to_sql",
    ),
    Fault(
        "lines of a text file have other numbers of cells where their sum is right",
        "dpengine/sources/files/text_rows.py",
        " and ends[of_rows].all()",
        "",
        "tests/sources/files/test_text_rows.py::test_rows_are_counted_without_the_engine_where_lines_are_simple",
    ),
    Fault(
        "an engine opens a text file that no process of its own has tried",
        "dpengine/sources/open.py",
        '        if answer["untried"]:\n',
        "        if False:\n",
        "tests/sources/files/test_text_rows.py::test_a_simple_file_is_tried_by_the_engine_before_that_opens_it",
    ),
    Fault(
        "a missing amount of few different texts is a value",
        "dpengine/counting/pieces/known_texts.py",
        "partial(_codes_of_few, known, column.missing_place)",
        "partial(_codes_of_few, known, column.missing_code)",
        "tests/counting/test_pieces_of_text.py::test_a_missing_amount_among_few_different_ones_counts_as_missing",
    ),
    Fault(
        "an amount written as nan is a value",
        "dpengine/counting/pieces/known_texts.py",
        "codes[nan > 0] = column.missing_place",
        "codes[nan > 0] = column.missing_code",
        "tests/counting/test_pieces_of_text.py::test_few_different_texts_are_counted_as_by_sql_however_they_are_written",
    ),
    Fault(
        "texts that are not written as declared count as the first value",
        "dpengine/counting/pieces/known_texts.py",
        "        codes[rest] = by_sql(texts.take(arrow.from_numpy(np.flatnonzero(rest))))\n",
        "        codes[rest] = 0\n",
        "tests/counting/test_pieces_of_text.py::test_few_different_texts_are_counted_as_by_sql_however_they_are_written",
    ),
    Fault(
        "a missing amount among numerals is a value",
        "dpengine/counting/pieces/text_file.py",
        "known, lookup, column.missing_place)",
        "known, lookup, column.missing_code)",
        "tests/counting/test_pieces_of_text.py::test_pieces_are_counted_and_digested_as_by_sql",
    ),
    Fault(
        "all texts of a column of numerals are recognised by their numbers",
        "dpengine/counting/pieces/text_file.py",
        "np.flatnonzero(~cells.shortest)",
        "np.flatnonzero(cells.lengths == 0)",
        "tests/counting/test_pieces_of_text.py::test_numerals_are_hashed_as_any_texts",
    ),
    Fault(
        "a whole number beside a word with a point is recognised as a fraction",
        "dpengine/counting/pieces/numerals.py",
        " - self._odd_points() <",
        " <",
        "tests/counting/test_pieces_of_text.py::test_numerals_are_hashed_as_any_texts",
    ),
    Fault(
        "milliseconds of a table in memory are counted as days",
        "dpengine/counting/pieces/arrow_table.py",
        'return "" if pa.types.is_date64(value_type) else kind',
        "return kind",
        "tests/counting/test_pieces_of_memory.py::test_other_columns_are_left_to_sql",
    ),
    Fault(
        "texts that are no plain numerals are counted as numbers",
        "dpengine/counting/pieces/text_file.py",
        "        codes[cells.odd] = by_entry(known, cells.odd_texts, missing)\n",
        "        pass\n",
        "tests/counting/test_pieces_of_text.py::test_pieces_are_counted_and_digested_as_by_sql",
    ),
    Fault(
        "texts that a plan declares are all recognised as one",
        "dpengine/counting/fingerprint.py",
        "self._words.take(values, mode=",
        "self._words.take(0 * values, mode=",
        "tests/counting/test_count.py::test_texts_that_a_plan_lists_are_recognised_as_they_are",
    ),
    Fault(
        "a missing truth value of SQL Server is false",
        COPYING,
        "kind.is_boolean() or kind.is_decimal()",
        "kind.is_decimal()",
        OF_COPYING + "::test_the_statement_asks_for_plain_columns_and_for_texts_of_any_length",
    ),
    Fault(
        "cells of SQLite are read as their column says",
        COPYING,
        'source.get_backend().name != "sqlite"',
        "source",
        OF_COPYING + "::test_a_cell_of_sqlite_is_read_by_its_own_type_and_not_by_what_its_column_says",
    ),
    Fault(
        "an error of another engine is passed on with what it quotes",
        COPYING,
        "fault=type(error).__name__,",
        "fault=str(error),",
        OF_COPYING + "::test_an_unreadable_engine_is_refused_with_a_list_of_readable_ones",
    ),
    # What only the owner sees
    Fault(
        "rows outside the bounds of an amount enter the notes of the plan",
        "pages/parts/publish/outlook/fit.py",
        "        shares, beyond = facts\n",
        "        shares, beyond = facts\n        visit().change(notes=str(beyond))\n",
        "tests/pages/publish/outlook/test_fit.py"
        "::test_the_owner_alone_sees_how_many_rows_lie_outside_the_bounds_of_an_amount",
    ),
    Fault(
        "a bundle may claim any share for what found its cells",
        PRICES,
        "if epsilon is None or epsilon != plan.epsilon * share:",
        "if epsilon is None:",
        "tests/test_found_bins.py::test_a_bundle_that_claims_another_share_is_refused",
    ),
    Fault(
        "boxes in a bundle may have cost any ε",
        "dpengine/bundle/checks/searches.py",
        "if cost != epsilon:",
        "if cost is None:",
        "tests/test_found_bins.py::test_a_bundle_whose_search_was_changed_is_refused",
    ),
]
