"""Faults to plant where counts get noise: the adaptive ways, ranges, allocations, and the sampler itself."""

from __future__ import annotations

from tests.mutations.fault import Fault

__all__ = ["FAULTS"]

ADAPTIVE = "dpengine/measure/adaptive.py"
HOW_MANY = "dpengine/measure/how_many_pairs.py"
MODEL_ERROR = "dpengine/measure/model_error.py"
PAIRS = "dpengine/measure/pair_selection.py"
BOXES = "dpengine/measure/box_measurement.py"
RANGES = "dpengine/measure/box_strategy.py"
ALLOCATION = "dpengine/measure/allocation.py"
LAPLACE = "dpengine/noise/laplace.py"
SELECTION = "dpengine/noise/selection.py"
SPARSE = "dpengine/noise/sparse.py"
CHOICE = "dpengine/measure/quantile_choice.py"

BY_REPLAY = "tests/measure/test_private_replay.py"
OF_QUESTIONS = BY_REPLAY + "::test_answers_on_how_uneven_boxes_are_cost_what_they_were_given"
WHOLE_REPLAY = "tests/test_replay.py"
OF_ADAPTIVE = "tests/measure/test_adaptive.py"
OF_PAIRS = "tests/measure/test_pair_selection.py"
OF_PERTURB = "tests/noise/test_perturb.py"
OF_LAPLACE = "tests/noise/test_laplace.py"
OF_AMOUNTS = "tests/counting/test_amounts.py"
OF_CHOICE = "tests/measure/test_quantile_choice.py"
OF_SELECTION = "tests/noise/test_selection.py"
OF_SPARSE = "tests/noise/test_sparse.py"

OF_LEARNING = "tests/mechanisms/test_online_learning.py"

NOISE = "dpengine/measure/rows_and_noise.py"
OF_STRATEGY = "tests/measure/test_strategy.py"
CONSISTENCY = "dpengine/estimate/consistency.py"
OF_CONSISTENCY = "tests/estimate/test_consistency.py"
OF_ROWS = "tests/synthesis/test_by_columns.py::test_rows_of_measured_larger_tables_are_many_and_follow_them"

SEARCH = "dpengine/measure/search.py"
OF_SEARCH = "tests/measure/test_search.py"
OF_FOUND = "tests/test_found_bins.py"

FAULTS = [
    # The adaptive way
    Fault(
        "the total is published without noise",
        ADAPTIVE,
        "    total = float(measured.values)\n",
        "    total = float(measured.values)\n"
        "    run.measured[-1] = type(measured)(measured.allocation, np.asarray(run.counts[first,].sum()))\n",
        BY_REPLAY,
    ),
    Fault(
        "a second look at single columns repeats the first without noise",
        ADAPTIVE,
        "    if run.left:\n        run.measure_columns(run.left)\n",
        "    if run.left:\n        run.measure_columns(run.left)\n"
        "        for k, one in enumerate(run.measured):\n"
        "            if len(one.allocation.columns) == 1 and k > len(run.workload.sizes):\n"
        "                run.measured[k] = type(one)(one.allocation, run.counts[one.allocation.columns])\n",
        BY_REPLAY,
    ),
    Fault(
        "the level of chance is taken from exact pairs",
        ADAPTIVE,
        "cells = (one.model for one in pairs)",
        "cells = (one.counts for one in pairs)",
        BY_REPLAY,
    ),
    Fault(
        "how many pairs are picked follows from exact pairs",
        HOW_MANY,
        "cells = np.sort(np.concatenate([one.model.ravel() for one in pairs]))",
        "cells = np.sort(np.concatenate([one.counts.ravel() for one in pairs]).astype(float))",
        BY_REPLAY,
    ),
    Fault(
        "whether one phase is enough is decided by the exact gain of pairs",
        PAIRS,
        "    return int(noisy) / (GRAIN * len(strongest))\n",
        "    return sum(strongest) / (GRAIN * len(strongest))\n",
        BY_REPLAY,
    ),
    Fault(
        "whether pairs are mostly empty is told by their exact counts",
        ADAPTIVE,
        "noise / total, phase.gain / total)) * noise:\n",
        "noise / total, int(pairs[0].wrong().sum()) / GRAIN / total)) * noise:\n",
        OF_ADAPTIVE + "::test_that_cells_are_empty_is_told_by_what_was_answered_not_by_counts",
    ),
    Fault(
        "whether all pairs are measured at once follows from the exact number of rows",
        ADAPTIVE,
        "_asked_about(run, error), gain, total)",
        "_asked_about(run, error), gain, float(next(iter(run.counts.values())).sum()))",
        BY_REPLAY + "::test_other_counts_change_only_the_probability_of_the_outcome",
    ),
    Fault(
        "the noise of all pairs ignores what was spent before",
        HOW_MANY,
        "worth * roots**2 * run.noise(run.left)",
        "worth * roots**2 * run.noise(10**6)",
        "tests/measure/test_how_many_pairs.py",
    ),
    Fault(
        "columns get hardly any of epsilon though not all of their pairs are measured",
        HOW_MANY,
        "len(pairs) < math.comb(len(sizes), 2) or ",
        "",
        "tests/measure/test_how_many_pairs.py"
        "::test_columns_keep_their_part_of_epsilon_where_pairs_do_not_tell_all_of_them",
        quick=True,
    ),
    Fault(
        "the part of single columns and the number of phases follow from the exact number of rows",
        ADAPTIVE,
        "gained = gain / total\n",
        "gained = gain / float(next(iter(run.counts.values())).sum())\n",
        BY_REPLAY + "::test_other_counts_change_only_the_probability_of_the_outcome",
    ),
    Fault(
        "people where none are expected count twice in the score of a pair, at the same price",
        PAIRS,
        "+ np.maximum(excess, 0).sum()",
        "+ 2 * np.maximum(excess, 0).sum()",
        OF_PAIRS + "::test_no_score_moves_by_more_than_one_row",
    ),
    Fault(
        "how strongly columns depend is taken to move as little as a single cell",
        PAIRS,
        "MOVED = 4 ",
        "MOVED = 1 ",
        OF_PAIRS + "::test_no_row_moves_how_strongly_columns_depend_by_more_than_stated",
    ),
    Fault(
        "rows too few are added to those too many where dependence is measured, at the same price",
        PAIRS,
        "np.maximum(beyond, 0).sum()",
        "np.abs(beyond).sum()",
        OF_PAIRS + "::test_no_row_moves_how_strongly_columns_depend_by_more_than_stated",
    ),
    Fault(
        "a person's rows are ignored where dependence is measured",
        PAIRS,
        "MOVED * GRAIN * len(strongest) * run.sensitivity",
        "MOVED * GRAIN * len(strongest)",
        OF_PAIRS + "::test_dependence_is_the_mean_of_the_strongest_pairs_that_close_no_ring",
    ),
    Fault(
        "more pairs are added up for dependence than are paid for",
        PAIRS,
        "perturb(np.array(sum(strongest))",
        "perturb(np.array(sum(edges))",
        OF_PAIRS + "::test_dependence_is_the_mean_of_the_strongest_pairs_that_close_no_ring",
    ),
    Fault(
        "a person's rows are ignored in private selection",
        PAIRS,
        "permute_and_flip(scores[places], each, GRAIN * run.sensitivity)",
        "permute_and_flip(scores[places], each, GRAIN)",
        BY_REPLAY + "::test_what_a_person_costs_at_most_adds_up_to_epsilon_exactly",
        quick=True,
    ),
    Fault(
        "pairs are selected at twice their ε",
        PAIRS,
        "permute_and_flip(scores[places], each,",
        "permute_and_flip(scores[places], 2 * each,",
        BY_REPLAY,
    ),
    Fault(
        "each pick spends the share of all",
        PAIRS,
        "permute_and_flip(scores[places], each,",
        "permute_and_flip(scores[places], picks * each,",
        BY_REPLAY,
    ),
    Fault(
        "pairs are selected as if scores were monotone",
        PAIRS,
        "each, GRAIN * run.sensitivity)]",
        "each, GRAIN * run.sensitivity, monotone=True)]",
        BY_REPLAY,
    ),
    Fault(
        "the noise of the mean error ignores a person's rows",
        ADAPTIVE,
        "GRAIN * len(candidates) * run.sensitivity\n",
        "GRAIN * len(candidates)\n",
        BY_REPLAY,
    ),
    Fault(
        "the noise of the mean error ignores the number of tables",
        ADAPTIVE,
        "GRAIN * len(candidates) * run.sensitivity\n",
        "GRAIN * run.sensitivity\n",
        BY_REPLAY,
    ),
    Fault(
        "the noise of the audit ignores a person's rows",
        MODEL_ERROR,
        "GRAIN * len(tables) * run.sensitivity\n",
        "GRAIN * len(tables)\n",
        BY_REPLAY,
    ),
    Fault(
        "the noise of the audit ignores the number of tables",
        MODEL_ERROR,
        "GRAIN * len(tables) * run.sensitivity\n",
        "GRAIN * run.sensitivity\n",
        BY_REPLAY,
    ),
    Fault(
        "latent classes are chosen at twice their ε",
        MODEL_ERROR,
        "permute_and_flip(scores, epsilon, sensitivity)",
        "permute_and_flip(scores, 2 * epsilon, sensitivity)",
        BY_REPLAY,
    ),
    Fault(
        "latent classes are chosen for nothing",
        ADAPTIVE,
        "for_classes = part_for_classes(run, total)",
        "for_classes = Fraction(1)",
        BY_REPLAY,
    ),
    Fault(
        "latent classes are found in exact counts",
        MODEL_ERROR,
        "models = model, model.with_classes()",
        "model.two.update({pair: run.counts[pair] + 0.0 for pair in model.two}); models = model, model.with_classes()",
        BY_REPLAY,
    ),
    Fault(
        "latent classes are not kept in the ledger",
        "dpengine/results/serialise.py",
        'header.get("by_classes", False)',
        "False",
        "tests/results/test_serialise.py",
    ),
    Fault(
        "the audit parts cells by their exact size",
        MODEL_ERROR,
        "np.digitize(expected, AUDIT_EDGES[sizes])",
        "np.digitize(run.counts[table], AUDIT_EDGES[sizes])",
        OF_ADAPTIVE + "::test_the_audit_parts_cells_by_size_only_where_it_is_clear_of_noise",
    ),
    Fault(
        "whether the audit parts cells by size follows the exact number of rows",
        MODEL_ERROR,
        "clear = model.total * float",
        "clear = next(iter(run.counts.values())).sum() * float",
        BY_REPLAY,
    ),
    Fault(
        "the part of ε for the audit follows the exact number of rows",
        MODEL_ERROR,
        "(float(run.epsilon) * total)",
        "(float(run.epsilon) * max(1, int(next(iter(run.counts.values())).sum())))",
        BY_REPLAY,
    ),
    Fault(
        "parts of ε follow exact counts",
        ADAPTIVE,
        "float(np.minimum(1.0, one.model / scale).sum())",
        "float(np.minimum(1.0, one.counts / scale).sum())",
        BY_REPLAY,
    ),
    Fault(
        "merged bins follow exact counts",
        ADAPTIVE,
        "merged_bins(run.model())",
        "merged_bins(Pairwise(run.model().total, {name: 1.0 * run.counts[name,] for name in run.workload.sizes}, {}))",
        BY_REPLAY,
    ),
    Fault(
        "how ε is divided follows the exact total",
        ADAPTIVE,
        "_public_error(run, total, for_whole)\n",
        "_public_error(run, float(next(iter(run.counts.values())).sum()) + 1, for_whole)\n",
        BY_REPLAY,
    ),
    Fault(
        "the stated number of rows is moved to near the exact one",
        ADAPTIVE,
        "min(max(stated, total - reach), total + reach)",
        "min(max(stated, float(run.counts[first,].sum()) - reach), float(run.counts[first,].sum()) + reach)",
        BY_REPLAY,
    ),
    Fault(
        "what choosing may cost follows exact counts",
        PAIRS,
        "np.count_nonzero(candidate.model >= scale * multiple)",
        "np.count_nonzero(candidate.counts >= scale * multiple)",
        BY_REPLAY,
    ),
    Fault(
        "a score leaves out cells by their exact size",
        PAIRS,
        "seen = self.model >= THRESHOLD * scale",
        "seen = self.counts >= THRESHOLD * scale",
        OF_PAIRS + "::test_no_score_moves_by_more_than_one_row",
        quick=True,
    ),
    Fault(
        "a part of ε is taken twice",
        "dpengine/measure/workload.py",
        "self.left -= taken\n",
        "self.left -= taken // 2\n",
        BY_REPLAY,
    ),
    Fault(
        "more of ε is taken than is left",
        "dpengine/measure/workload.py",
        "taken = min(max(1, int(parts)), self.left)",
        "taken = max(1, int(parts)) if self.left else 0",
        OF_ADAPTIVE + "::test_no_more_of_epsilon_is_taken_than_is_left",
    ),
    # Ranges
    Fault(
        "the noise of ranges ignores a person's rows",
        BOXES,
        "scale = self._sensitivity * int(most) * PARTS / (",
        "scale = int(most) * PARTS / (",
        BY_REPLAY + "::test_boxes_cost_epsilon_exactly_and_follow_noisy_counts_alone",
        quick=True,
    ),
    Fault(
        "boxes are split by their exact counts",
        BOXES,
        "people = values * left * self._unit",
        "people = self._exact(first, last) * left * self._unit",
        BY_REPLAY + "::test_boxes_cost_epsilon_exactly_and_follow_noisy_counts_alone",
    ),
    Fault(
        "the total of ranges costs nothing",
        BOXES,
        "left, family = np.array([PARTS - root])",
        "left, family = np.array([PARTS])",
        "tests/measure/test_box_measurement.py::test_along_the_boxes_of_any_cell_the_parts_add_up_to_epsilon",
    ),
    Fault(
        "exact counts say whether boxes are even",
        BOXES,
        "else unevenness(values,",
        "else unevenness(self._exact(first, last),",
        OF_QUESTIONS,
    ),
    Fault(
        "exact counts say along which axis they change",
        BOXES,
        "steep = steepness(values,",
        "steep = steepness(self._exact(first, last),",
        OF_QUESTIONS,
    ),
    Fault(
        "answers on how uneven boxes are within cost nothing",
        BOXES,
        "return left - spent[family], rough",
        "return left, rough",
        OF_QUESTIONS,
    ),
    Fault(
        "answers on how uneven boxes are within have twice their part of ε",
        BOXES,
        "values = self._noisy(exact, asked.parts, asked.sensitivities)",
        "values = self._noisy(exact, 2 * asked.parts, asked.sensitivities)",
        OF_QUESTIONS,
    ),
    Fault(
        "a row is taken to move an answer on boxes by less than it may",
        "dpengine/marginals/measurement.py",
        "most: Ints = self.widths * (self.widths - 1) // 2",
        "most: Ints = self.widths - 1",
        OF_QUESTIONS,
    ),
    Fault(
        "exact sums decide which boxes are uneven within",
        BOXES,
        "self._asked.append(replace(asked, values=values))\n        return values",
        "self._asked.append(replace(asked, values=values))\n        return exact",
        OF_QUESTIONS,
    ),
    Fault(
        "answers on boxes are left out of what a row costs",
        "dpengine/marginals/measurement.py",
        "if (questions := self.unevenness) is not None:",
        "if (questions := self.unevenness) is not None and questions.parts.size == 0:",
        OF_QUESTIONS,
    ),
    Fault(
        "boxes that are measured together cost a half",
        BOXES,
        "above[group], parts[group] = parents[among], left",
        "above[group], parts[group] = parents[among], left // 2",
        BY_REPLAY + "::test_boxes_cost_epsilon_exactly_and_follow_noisy_counts_alone",
    ),
    Fault(
        "boxes with people are taken for empty",
        "dpengine/marginals/box_tree.py",
        "self.leaves[estimates < max(",
        "self.leaves[estimates > max(",
        "tests/marginals/test_box_tree.py::test_boxes_that_look_empty_are_empty_and_others_are_not",
    ),
    Fault(
        "a table for ranges is measured with the noise of one row a person",
        RANGES,
        "counts, allocation.epsilon, allocation.sensitivity)",
        "counts, allocation.epsilon, 1)",
        "tests/measure/test_box_strategy.py::test_boxes_have_the_noise_of_all_rows_of_a_person",
    ),
    Fault(
        "a table for ranges has all of ε beside what finds its cells",
        RANGES,
        "allocate(self.plan, self.columns, self.plan.for_tables)",
        "allocate(self.plan, self.columns, self.plan.epsilon)",
        OF_FOUND + "::test_ranges_are_measured_with_what_finding_leaves",
    ),
    Fault(
        "a cell of a box is sure to hold its part of the box",
        "dpengine/marginals/box_tree.py",
        "low = np.where(self.cells == 1, self.unbiased - half_width, 0.0)",
        "low = self.unbiased - half_width",
        "tests/marginals/test_box_tree.py::test_a_cell_of_a_box_may_hold_none_of_it_or_all",
        quick=True,
    ),
    Fault(
        "an interval of cells in a box may end before it begins",
        "dpengine/marginals/box_tree.py",
        "return np.where(high < low, most - half_width, low), high",
        "return low, high",
        "tests/marginals/test_box_tree.py::test_no_interval_ends_before_it_begins",
    ),
    # What is measured directly
    Fault(
        "counts are published as they are",
        "dpengine/measure/measure.py",
        "perturb(exact, allocation.scale_in_units)",
        "exact",
        WHOLE_REPLAY + "::test_even_an_entirely_different_table_changes_only_probabilities",
    ),
    Fault(
        "the noise of a marginal ignores a person's rows",
        "dpengine/marginals/measurement.py",
        'noise, in rows: sensitivity/ε."""\n        return self.sensitivity / self.epsilon',
        'noise, in rows: sensitivity/ε."""\n        return 1 / self.epsilon',
        WHOLE_REPLAY + "::test_a_person_with_more_rows_than_the_unit_costs_no_more",
    ),
    Fault(
        "an allocation ignores a person's rows",
        ALLOCATION,
        "Allocation(columns, epsilon, plan.tallies[tally].bound, plan.grain(columns), tally)",
        "Allocation(columns, epsilon, 1, plan.grain(columns), tally)",
        WHOLE_REPLAY + "::test_a_person_with_more_rows_than_the_unit_costs_no_more",
    ),
    Fault(
        "an allocation takes a row of a table with amounts for one unit",
        ALLOCATION,
        "Allocation(columns, epsilon, plan.tallies[tally].bound, plan.grain(columns), tally)",
        "Allocation(columns, epsilon, plan.tallies[tally].bound, 1, tally)",
        "tests/measure/test_amounts.py::test_noise_is_drawn_for_a_row_and_paid_for",
    ),
    Fault(
        "every table gets all of ε",
        "dpengine/marginals/division.py",
        "[(plan.for_tables if epsilon is None else epsilon) * root / total for root in roots]",
        "[plan.epsilon for root in roots]",
        "tests/measure/test_strategy.py::test_shares_add_up_to_epsilon_exactly_and_cover_every_table",
    ),
    Fault(
        "what choices cost is not added up",
        "dpengine/marginals/measurement.py",
        "[each.epsilon for each in self.choices]",
        "[]",
        BY_REPLAY,
    ),
    Fault(
        "a strategy that spends another ε is not stopped",
        "dpengine/measure/strategy_base.py",
        "if measured.cost != self.plan.for_tables:",
        "if False:",
        "tests/measure/test_strategy.py::test_measurements_that_do_not_cost_epsilon_exactly_never_leave_the_strategy",
    ),
    # Keys of a universe
    Fault(
        "keys without people are never shown",
        SPARSE,
        "passed = _number_passed(keys - places.size, scale, least)",
        "passed = 0",
        OF_SPARSE,
        quick=True,
    ),
    Fault(
        "keys are shown by their exact numbers",
        SPARSE,
        "reached = noisy >= least",
        "reached = counts >= least",
        OF_SPARSE,
    ),
    Fault(
        "as many keys pass as if nobody had any",
        SPARSE,
        "passed = _number_passed(keys - places.size, scale, least)",
        "passed = min(_number_passed(keys, scale, least), keys - places.size)",
        OF_SPARSE,
    ),
    Fault(
        "what is shown is in an order that tells who has people",
        SPARSE,
        "    order = np.argsort(shown)\n",
        "    order = np.arange(shown.size)\n",
        OF_SPARSE,
    ),
    Fault(
        "keys without people show the least number alone",
        SPARSE,
        "least + _geometric(scale, passed)",
        "np.full(passed, least)",
        OF_SPARSE,
    ),
    Fault(
        "how many keys pass is decided by 64 bits",
        SPARSE,
        "        if word >= high:\n",
        "        if word >= low:\n",
        OF_SPARSE,
    ),
    Fault(
        "the least number that is shown keeps another chance",
        "dpengine/noise/threshold.py",
        "    while not _is_rare(keys, scale, least, chance):\n",
        "    least -= 1\n    while False:\n",
        "tests/noise/test_threshold.py",
    ),
    Fault(
        "finding values ignores a person's rows",
        "dpengine/marginals/measurement.py",
        "share, rows, empty, empty)",
        "share, 1, empty, empty)",
        "tests/test_found_values.py::test_whole_numbers_are_found_and_a_person_counts_with_so_many_rows",
    ),
    Fault(
        "finding values takes all of ε",
        "dpengine/marginals/measurement.py",
        "share, empty = epsilon * among.share, np.empty(0, dtype=np.int64)",
        "share, empty = epsilon, np.empty(0, dtype=np.int64)",
        "tests/test_found_values.py::test_a_release_finds_what_people_have_and_readers_find_the_same",
    ),
    Fault(
        "values are found from exact counts",
        "dpengine/measure/search.py",
        "places, values = sparse_histogram(*exact, none.universe, none.scale, none.least)",
        "places, values = (each[exact[1] >= none.least] for each in exact)",
        "tests/test_found_values.py::test_only_outputs_that_were_paid_for_decide_whatever_the_rows",
    ),
    Fault(
        "all rows of a person count where values are found",
        "dpengine/counting/universe_keys.py",
        "        rows = bounded_rows(rows, 1, kept, key, dialect)\n",
        "        rows = rows\n",
        "tests/counting/test_universe_keys.py::test_a_person_counts_with_at_most_k_rows_whatever_the_other_rows",
    ),
    # The sampler and the coins
    Fault(
        "one draw of noise is reused for all tables of a shape",
        LAPLACE,
        "    noise = discrete_laplace(scale, exact.shape)\n",
        "    noise = perturb.__dict__.setdefault(f'{scale} {exact.shape}', discrete_laplace(scale, exact.shape))\n",
        OF_PERTURB,
        quick=True,
    ),
    Fault(
        "noise has half its scale",
        LAPLACE,
        "    noise = discrete_laplace(scale, exact.shape)\n",
        "    noise = discrete_laplace(_exact(scale) / 2, exact.shape)\n",
        OF_PERTURB,
        quick=True,
    ),
    Fault(
        "noise is never negative",
        LAPLACE,
        "    noise = discrete_laplace(scale, exact.shape)\n",
        "    noise = np.abs(discrete_laplace(scale, exact.shape))\n",
        OF_PERTURB,
    ),
    Fault(
        "zero never comes",
        LAPLACE,
        "complement(product(positive, power(k + 1), bits), bits)",
        "complement(product(positive, power(k), bits), bits)",
        OF_LAPLACE + "::test_neighbouring_outcomes_differ_by_exp_epsilon_and_no_more",
    ),
    Fault(
        "digits of wide noise lose their sign",
        LAPLACE,
        "work.signs & np.int8(level.distribution.span - 1)",
        "np.int8(0)",
        OF_LAPLACE + "::test_parts_compose_to_the_discrete_laplace_distribution",
    ),
    Fault(
        "a tie is not decided by further bits",
        LAPLACE,
        'through = np.searchsorted(level.floors, known, side="right")',
        'through = np.searchsorted(level.floors, known, side="left")',
        OF_LAPLACE + "::test_ties_are_decided_by_further_bits",
    ),
    Fault(
        "the key of the generator is known",
        "dpengine/noise/bits.py",
        "os.urandom(32)",
        "bytes(32)",
        OF_LAPLACE + "::test_bits_are_aes_256_in_counter_mode_under_a_key_of_the_system",
    ),
    Fault(
        "of many bits, the later ones can be foreseen",
        "dpengine/noise/bits.py",
        "            encryptor.update_into(zeros",
        "            (encryptor if start == 0 else Cipher(algorithms.AES256(bytes(32)), modes.CTR(bytes(16)))"
        ".encryptor()).update_into(zeros",
        OF_LAPLACE + "::test_bits_are_aes_256_in_counter_mode_under_a_key_of_the_system",
    ),
    Fault(
        "a coin trusts floats up to their last digit",
        SELECTION,
        "margin = middle * _RELATIVE + 4096",
        "margin = middle * 0",
        OF_SELECTION + "::test_a_coin_falls_by_every_bit_of_its_words",
        quick=True,
    ),
    Fault(
        "a coin that one word does not decide lands heads",
        SELECTION,
        "        if word >= high:\n            return False\n        word, bits",
        "        return word < high\n        word, bits",
        OF_SELECTION + "::test_a_coin_falls_by_every_bit_of_its_words",
    ),
    Fault(
        "a choice forgets the 2 in ε/2Δ",
        SELECTION,
        "(1 if monotone else 2) * sensitivity",
        "1 * sensitivity",
        OF_SELECTION + "::test_no_neighbours_differ_by_more_than_epsilon",
        quick=True,
    ),
    Fault(
        "of candidates whose coins land heads the first is taken",
        SELECTION,
        "heads[secrets.randbelow(heads.size)]",
        "heads[0]",
        OF_SELECTION + "::test_candidates_come_as_often_as_the_definition_says",
    ),
    Fault(
        "the exponential mechanism keeps whatever it drew first",
        SELECTION,
        "return int(drawn[heads[0]])",
        "return int(drawn[0])",
        OF_SELECTION + "::test_candidates_come_as_often_as_the_definition_says",
    ),
    # Amounts
    Fault(
        "the weights of a row add up to more than 1",
        "dpengine/spec/numeric/amount.py",
        "beside, rest = (parts > 0).astype(np.int64), self.parts - parts",
        "beside, rest = (parts > 0).astype(np.int64), self.parts + 0 * parts",
        OF_AMOUNTS + "::test_one_more_row_moves_a_table_by_exactly_one_row",
    ),
    Fault(
        "the weights of two amounts add up to more than 1",
        "dpengine/counting/totals.py",
        "part if weights is None else weights * part",
        "part if weights is None else weights * self._amounts[axis].parts",
        "tests/measure/test_amounts.py::test_no_row_moves_what_is_measured_by_more_than_epsilon",
    ),
    Fault(
        "the weights of a square add up to more than 1",
        "dpengine/spec/numeric/amount.py",
        "math.comb(self.degree, k) * parts**k",
        "self.degree * parts**k",
        "tests/measure/test_amounts.py::test_no_row_moves_what_is_measured_by_more_than_epsilon",
    ),
    Fault(
        "sums over many cells count as precise as single cells",
        "dpengine/marginals/sums.py",
        "sums.size / (one.values.size * float(one.allocation.scale) ** 2)",
        "1 / float(one.allocation.scale) ** 2",
        "tests/marginals/test_sums.py::test_stated_noise_of_a_column_from_several_tables_holds_95_in_100",
        quick=True,
    ),
    Fault(
        "counts of pairs that were not measured vary no more than an audit of the measured ones says",
        "dpengine/estimate/model_intervals.py",
        "        errors = np.maximum(errors, mean_errors(expected, POISSON, 0.5))\n",
        "        pass\n",
        "tests/estimate/test_model_intervals.py"
        "::test_counts_vary_around_a_model_that_is_right_unless_their_table_was_measured",
        quick=True,
    ),
    Fault(
        "an audit's noise is believed of the model",
        "dpengine/estimate/model_intervals.py",
        "    return min(factor, max(MAX_MISSED * _missed(people, epsilon), surely)), power\n",
        "    return error\n",
        "tests/estimate/test_model_intervals.py"
        "::test_an_audit_that_is_mostly_noise_widens_intervals_no_more_than_what_models_miss",
        quick=True,
    ),
    Fault(
        "small fitted counts of a column are right whatever its noise",
        "dpengine/estimate/model_intervals.py",
        "    return np.minimum(NOISE_TAIL * scale, np.minimum(small, wide))\n",
        "    return np.minimum(NOISE_TAIL * scale, counts)\n",
        "tests/estimate/test_model_intervals.py"
        "::test_fitted_counts_that_are_small_beside_the_noise_are_off_by_less_than_it",
        quick=True,
    ),
    Fault(
        "two columns of a model are never off at once",
        "dpengine/estimate/model_intervals.py",
        "        squares += (BOTH_TAIL * most * product) ** 2\n",
        "        pass\n",
        "tests/estimate/test_model_intervals.py::test_cells_without_people_in_two_noisy_columns_may_hold_some",
        quick=True,
    ),
    Fault(
        "means of small groups are shrunk by what large ones are like",
        "dpengine/estimate/amounts.py",
        "    return other if larger < -variance * math.sqrt(KURTOSIS * float((bias**2).sum())) else kept\n",
        "    return kept\n",
        "tests/estimate/test_amounts.py::test_small_groups_are_not_shrunk_because_large_ones_are_close_to_all_people",
        quick=True,
    ),
    Fault(
        "slopes are said to be surer than their noise allows",
        "dpengine/estimate/associations.py",
        "REACH = math.log(20) / math.sqrt(2)",
        "REACH = 0.4 * math.log(20) / math.sqrt(2)",
        "tests/estimate/test_associations.py::test_intervals_hold_the_true_number",
    ),
    Fault(
        "a value beyond its bounds counts in full",
        "dpengine/spec/numeric/grid.py",
        "bounded = np.clip(np.nan_to_num(values.astype(np.float64), nan=low), low, high)",
        "bounded = np.nan_to_num(values.astype(np.float64), nan=low)",
        OF_AMOUNTS,
    ),
    Fault(
        "the noise of amounts is drawn for one unit, not for a row",
        "dpengine/measure/measure.py",
        "perturb(exact, allocation.scale_in_units)",
        "perturb(exact, allocation.scale)",
        "tests/measure/test_amounts.py::test_noise_is_drawn_for_a_row_and_paid_for",
    ),
    Fault(
        "tables with amounts are measured beside all of ε",
        "dpengine/measure/adaptive_strategy.py",
        "measure_adaptively(self.workload, exact, self.for_counts, self.plan.unit.rows)",
        "measure_adaptively(self.workload, exact, self.plan.epsilon, self.plan.unit.rows)",
        "tests/measure/test_amounts.py::test_noise_is_drawn_for_a_row_and_paid_for",
    ),
    Fault(
        "quantiles are said to be surer than their noise allows",
        "dpengine/estimate/quantiles.py",
        "np.concatenate([beyond >= -width, always])",
        "np.concatenate([beyond >= -0.4 * width, always])",
        "tests/estimate/test_quantiles.py::test_intervals_hold_the_true_quantile",
    ),
    Fault(
        "of many measured tables that are alike, an interval has the noise of one",
        "dpengine/marginals/least_squares.py",
        "outside = (1 + len(more)) * self._cells(",
        "outside = self._cells(",
        "tests/marginals/test_least_squares.py::test_the_noise_of_a_table_costs_little_more_beside_many_that_are_alike",
    ),
    Fault(
        "each quantile of a table is chosen with all of its ε",
        CHOICE,
        "    epsilon = share.epsilon / len(share.parts)\n",
        "    epsilon = share.epsilon\n",
        OF_CHOICE + "::test_no_outcome_reveals_more_about_a_person_than_epsilon",
    ),
    Fault(
        "a quantile is chosen as if every row moved a rank as it moves that of the median",
        CHOICE,
        "    return max(p, q - p)\n",
        "    return min(p, q - p)\n",
        OF_CHOICE,
    ),
    Fault(
        "a person's rows are ignored where quantiles are chosen",
        CHOICE,
        "sensitivity, scored = share.sensitivity * row_sensitivity(part), scores(exact, part)",
        "sensitivity, scored = row_sensitivity(part), scores(exact, part)",
        OF_CHOICE + "::test_no_outcome_reveals_more_about_a_person_than_epsilon",
    ),
    Fault(
        "quantiles are chosen beside all of ε",
        CHOICE,
        "replace(allocation, epsilon=allocation.epsilon * (1 - SHARE)) if choices else allocation",
        "allocation",
        OF_CHOICE + "::test_parts_of_epsilon_add_up_and_choices_are_made_only_where_they_help",
    ),
    Fault(
        "a quantile that was chosen is charged to nobody",
        "dpengine/marginals/measurement.py",
        "        parts += [each.share.epsilon for each in self.quantiles]\n",
        "",
        OF_CHOICE + "::test_with_much_epsilon_the_published_quantile_is_the_true_one",
    ),
    Fault(
        "a table of more weight is measured beside all of ε",
        ALLOCATION,
        "    more = allocate_by_cells(plan, sorted([*tables, *heavy]), heavy)\n",
        "    more = (*allocations, *allocate_by_cells(plan, heavy))\n",
        "tests/measure/test_weights.py",
    ),
    Fault(
        "scores are weighted by more than 1",
        PAIRS,
        "score * weight.numerator // weight.denominator",
        "score * weight.denominator // weight.numerator",
        BY_REPLAY,
    ),
    Fault(
        "weights in an adaptive plan are not held to 1",
        "dpengine/measure/workload.py",
        "weight / max(plan.weights.values())",
        "weight",
        "tests/measure/test_weights.py",
    ),
    Fault(
        "every level of a column has all of ε",
        "dpengine/measure/levels.py",
        "epsilon * Fraction(part, PARTS)",
        "epsilon",
        "tests/measure/test_levels.py::test_no_row_moves_all_levels_together_by_more_than_epsilon",
    ),
    Fault(
        "each table at its own levels has all of ε",
        "dpengine/measure/level_strategies.py",
        "        return allocate_apart(self.plan)\n",
        "        from dataclasses import replace\n"
        "        return tuple(replace(each, epsilon=self.plan.for_tables) for each in allocate_apart(self.plan))\n",
        "tests/measure/test_at_levels.py::test_each_table_is_paid_for_and_a_row_costs_epsilon",
    ),
    Fault(
        "all levels are measured at the price of the finest",
        "dpengine/measure/direct_strategy.py",
        "        noisy = tuple(add_noise(*each) for each in zip(counts[:tables], self.allocations, strict=True))\n",
        "        from dataclasses import replace\n"
        "        def drawn_for(exact: Ints, one: Allocation) -> Measurement:\n"
        "            finest = '@' not in ''.join(one.columns)\n"
        "            drawn = add_noise(exact, one if finest else replace(one, epsilon=self.plan.epsilon))\n"
        "            return replace(drawn, allocation=one)\n"
        "        noisy = tuple(drawn_for(*each) for each in zip(counts[:tables], self.allocations, strict=True))\n",
        "tests/measure/test_levels.py::test_all_levels_are_measured_and_paid_for",
    ),
    Fault(
        "a level is looked at once more and charged nothing",
        "dpengine/measure/direct_strategy.py",
        "        noisy = tuple(add_noise(*each) for each in zip(counts[:tables], self.allocations, strict=True))\n",
        "        from dataclasses import replace\n"
        "        again = add_noise(counts[0], self.allocations[0]).values\n"
        "        noisy = tuple(add_noise(*each) for each in zip(counts[:tables], self.allocations, strict=True))\n"
        "        noisy = (replace(noisy[0], values=(noisy[0].values + again) // 2), *noisy[1:])\n",
        "tests/measure/test_levels.py::test_all_levels_are_measured_and_paid_for",
    ),
    Fault(
        "levels have all of ε beside tables with amounts",
        "dpengine/measure/level_strategies.py",
        "self.plan.for_tables - sum(each.epsilon for each in self._soft)",
        "self.plan.epsilon",
        "tests/measure/test_levels_and_amounts.py",
    ),
    Fault(
        "a table for ranges has all of ε beside other tables",
        "dpengine/measure/parts.py",
        "boxes_of(self.plan, next(exact), each)",
        "boxes_of(self.plan, next(exact), allocate(self.plan, each.columns, self.plan.epsilon))",
        "tests/measure/test_box_strategy.py",
    ),
    Fault(
        "levels beside other parts have all of ε",
        "dpengine/measure/parts.py",
        "for one in allocate_levels(part, next(shares))]",
        "for one in (next(shares), allocate_levels(part, self.plan.epsilon))[1]]",
        "tests/measure/test_parts.py::test_no_row_moves_all_parts_together_by_more_than_epsilon",
    ),
    Fault(
        "the model of the rest has all of ε beside levels",
        "dpengine/measure/parts.py",
        "measure_adaptively(self.workload, modelled, rest, self.plan.unit.rows)",
        "measure_adaptively(self.workload, modelled, self.plan.epsilon, self.plan.unit.rows)",
        "tests/measure/test_parts.py::test_what_is_measured_costs_what_was_allocated",
    ),
    Fault(
        "boxes of a second table for ranges are free",
        "dpengine/marginals/measurement.py",
        "parts += [boxes.cost for boxes in self.trees]",
        "parts += [boxes.cost for boxes in self.trees[:1]]",
        "tests/measure/test_parts.py::test_all_tables_agree_and_the_release_verifies",
    ),
    Fault(
        "the total beside ranges is said to be surer than it is",
        "dpengine/estimate/parts.py",
        "(*squares.variances, *totals)",
        "(*squares.variances, *(each / 4 for each in totals))",
        "tests/measure/test_box_strategy.py",
    ),
    # Cells that are found
    Fault(
        "what finds cells is not taken from the tables",
        "dpengine/spec/plan.py",
        "return self.epsilon * (1 - sum((self._by_name[name].share for name in self.finds), Fraction(0)))",
        "return self.epsilon",
        OF_SEARCH + "::test_what_is_left_for_the_tables_and_the_shares_are_epsilon",
        quick=True,
    ),
    Fault(
        "of several columns whose cells are found only the first is paid for",
        "dpengine/spec/plan.py",
        "for name in self.finds), Fraction(0)))",
        "for name in self.finds[:1]), Fraction(0)))",
        OF_FOUND + "::test_several_columns_and_the_tables_share_epsilon",
    ),
    Fault(
        "what finds cells is not charged",
        "dpengine/marginals/measurement.py",
        "parts += [each.cost for each in self.searches]",
        "parts += []",
        OF_FOUND + "::test_a_release_finds_its_bins_and_readers_find_the_same",
    ),
    Fault(
        "cells are found with twice their share",
        SEARCH,
        "share = plan.epsilon * plan.column(name).share",
        "share = 2 * plan.epsilon * plan.column(name).share",
        OF_SEARCH,
    ),
    Fault(
        "cells are found with the noise of one row a person",
        SEARCH,
        "exact, share, plan.unit.rows, for_bins=True)",
        "exact, share, 1, for_bins=True)",
        OF_SEARCH + "::test_one_person_moves_the_outcome_by_their_rows_of_the_share_exactly",
    ),
    Fault(
        "a search spends epsilon as soon as boxes for ranges do",
        BOXES,
        "rough, for_bins=self._for_bins)",
        "rough, for_bins=False)",
        "tests/measure/test_box_questions.py::test_where_bins_are_sought_a_heavy_first_step_is_told_apart",
    ),
    Fault(
        "bins are cut by true counts",
        "dpengine/release.py",
        "    with_cells = resolve(plan, searches)\n",
        "    from dpengine.estimate.found_cells import cut\n"
        "    column = plan.column(plan.finds[0])\n"
        "    places = cut(exact.steps[0], column.bins.count)\n"
        "    edges = tuple(column.steps.edges[k] for k in places)\n"
        "    with_cells = plan.with_columns({column.name: column.with_edges(edges)})\n",
        OF_FOUND + "::test_only_outputs_that_were_paid_for_decide_whatever_the_rows",
    ),
    Fault(
        "the best candidate may land tails",
        SELECTION,
        "heads: Bools = (place < middle - margin) | (gaps == 0)",
        "heads: Bools = place < middle - margin",
        OF_SELECTION + "::test_the_best_lands_heads_whatever_word_is_drawn",
        quick=True,
    ),
    Fault(
        "the further bits of a coin begin with zero",
        SELECTION,
        "word << 64 | secrets.randbits(64)",
        "word << 64 | secrets.randbits(63)",
        OF_SELECTION + "::test_a_coin_falls_by_every_bit_of_its_words",
    ),
    Fault(
        "people of different blocks share the coins of their own bits",
        "dpengine/mechanisms/local/frequency_oracles.py",
        "set_own[start : start + block]",
        "set_own[: mine.size]",
        "tests/mechanisms/local/test_protocol.py::test_people_of_different_blocks_have_coins_of_their_own",
    ),
    Fault(
        "a quantile that two tables hold is chosen in both",
        CHOICE,
        "    choices = [each for each in choices if (each.columns, name) not in done]\n",
        "",
        OF_CHOICE + "::test_a_choice_takes_its_epsilon_from_the_table_for_which_it_is_worth_it",
    ),
    Fault(
        "later rounds forget the losses of all but the block before",
        "dpengine/mechanisms/online_learning.py",
        "        before += part.sum(axis=0)\n",
        "        before = part.sum(axis=0)\n",
        OF_LEARNING + "::test_losses_of_all_rounds_before_count_however_rounds_are_divided",
        quick=True,
    ),
    Fault(
        "an expert is picked without a coin where there are many rounds",
        "dpengine/mechanisms/online_learning.py",
        "decided = heads[lanes, first]",
        "decided = heads[lanes, first] | (tries == 1)",
        OF_LEARNING + "::test_losses_of_all_rounds_before_count_however_rounds_are_divided",
    ),
    Fault(
        "a lower bound on an exponential is rounded to the nearest digit",
        "dpengine/noise/exact_exp.py",
        "down.next_minus(down.exp(down.divide(*ratio)))",
        "down.exp(down.divide(*ratio))",
        "tests/noise/test_laplace.py::test_bounds_on_an_exponential_hold_however_near_it_is_to_a_whole_number",
    ),
    Fault(
        "half-widths of several scales are rounded down to the grid",
        "dpengine/estimate/error_distribution.py",
        "slack=0 if lattice else 4",
        "slack=0",
        "tests/estimate/test_error_distribution.py"
        "::test_half_widths_of_draws_of_two_scales_are_never_too_small_and_hardly_too_large",
    ),
    Fault(
        "what levels say to a model beside them has half of their noise",
        "dpengine/estimate/estimates.py",
        "2 / levels.variance(columns))",
        "8 / levels.variance(columns))",
        "tests/estimate/test_levels.py::test_what_levels_say_to_a_model_beside_them_has_their_noise",
    ),
    Fault(
        "an audit takes private choices for free",
        "dpengine/audit/neighbours.py",
        "choices = [choice.epsilon for choice in measured.choices]",
        "choices: list[Fraction] = []",
        "tests/audit/test_neighbours.py::test_private_choices_cost_what_was_charged_for_them",
    ),
    # Larger tables in a ring
    Fault(
        "larger tables in a ring are measured alike, however many columns there are",
        NOISE,
        "math.sqrt(cells) * min(1.0, FEW_COLUMNS_OF_LARGER / len(plan.released))",
        "math.sqrt(cells)",
        OF_STRATEGY
        + "::test_auto_measures_larger_tables_whose_joint_table_cannot_be_written_down_where_noise_is_little",
        quick=True,
    ),
    Fault(
        "larger tables in a ring are measured by a guess at the number of rows",
        NOISE,
        "(unknown and _are_larger(tables)) or ",
        "",
        OF_STRATEGY + "::test_auto_leaves_larger_tables_in_a_ring_to_a_model_if_rows_are_unknown_or_have_amounts",
    ),
    Fault(
        "more tables than columns may have as much noise as few tables",
        NOISE,
        "return MEASURE_ALL_OF_MANY + MORE_OF_MANY * per_row",
        "return MEASURE_ALL_OTHERS + MORE_BY_EPSILON * per_row",
        OF_STRATEGY + "::test_auto_takes_a_model_of_more_tables_than_columns_where_noise_exceeds_all_rows",
    ),
    Fault(
        "larger sums of one table may have as much noise at any epsilon",
        NOISE,
        "MEASURE_ALL_BY_LARGE_SUMS + MORE_BY_EPSILON_SQUARED * per_row**2",
        "MEASURE_ALL_BY_LARGE_SUMS",
        OF_STRATEGY + "::test_auto_takes_a_model_of_larger_sums_of_one_table_where_noise_is_most_of_the_rows",
    ),
    Fault(
        "larger sums of one table are judged as pairs are",
        NOISE,
        "return larger if _are_larger(tables) else MEASURE_ALL_BY_SUMS",
        "return MEASURE_ALL_BY_SUMS",
        OF_STRATEGY + "::test_auto_takes_a_model_of_larger_sums_of_one_table_where_noise_is_most_of_the_rows",
    ),
    Fault(
        "what was measured of larger tables in a ring is not used",
        CONSISTENCY,
        "return replace(model, even=True, wide=wide)",
        "return replace(model, even=True)",
        OF_CONSISTENCY + "::test_larger_tables_in_a_ring_follow_their_pairs_and_agree",
    ),
    Fault(
        "larger tables in a ring are not shrunk",
        CONSISTENCY,
        "shrink(noisy, model.table(columns), scale) if scale >= MIN_SCALE else noisy",
        "noisy",
        OF_CONSISTENCY + "::test_larger_tables_in_a_ring_are_shrunk_by_all_noise_that_their_pairs_have_no_part_in",
    ),
    Fault(
        "tables of four columns are shrunk by the noise of all four together only",
        CONSISTENCY,
        "squares.variance_beyond(2, columns)",
        "squares.component_variance(frozenset(columns))",
        OF_CONSISTENCY + "::test_larger_tables_in_a_ring_are_shrunk_by_all_noise_that_their_pairs_have_no_part_in",
    ),
    Fault(
        "larger tables in a ring do not follow their pairs",
        "dpengine/marginals/pairwise.py",
        "Marginal(wider, self._raked(self.wide[wider], wider))",
        "Marginal(wider, self.wide[wider])",
        OF_CONSISTENCY + "::test_larger_tables_in_a_ring_follow_their_pairs_and_agree",
    ),
    Fault(
        "larger tables in a ring go through one table whatever their noise",
        CONSISTENCY,
        "return math.fsum(noise) <= MUCH_NOISE * len(tables) * total",
        "return True",
        OF_CONSISTENCY + "::test_larger_tables_in_a_ring_go_through_one_table_only_if_it_is_small_and_noise_little",
    ),
    Fault(
        "larger tables in a ring go through one table whatever its size",
        CONSISTENCY,
        " or cells * len(tables) > MAX_FITTED:",
        ":",
        OF_CONSISTENCY + "::test_larger_tables_in_a_ring_go_through_one_table_only_if_it_is_small_and_noise_little",
    ),
    Fault(
        "rows of measured larger tables are as few as those of a model",
        "dpengine/synthesis/generate_rows.py",
        "        most = most_rows(model)\n",
        "        pass\n",
        OF_ROWS,
    ),
    Fault(
        "rows of measured larger tables are not moved at the end",
        "dpengine/synthesis/by_columns.py",
        "moves = bool(model.wide) or (",
        "moves = (",
        OF_ROWS,
    ),
    Fault(
        "a published number of people with an amount is taken for the measured one",
        "dpengine/bundle/checks/width_check.py",
        " + WHOLE + moved",
        " + WHOLE",
        "tests/bundle/test_verify_amounts.py"
        "::test_an_interval_of_a_mean_fits_a_count_that_was_moved_far_from_its_estimate",
    ),
]
