"""Check the sentence that gives the reason for a release's strategy: some version must have written it.

The number of rows in it must be the plan's, if the plan states one, and the number of tables at most the plan's. The
amount of noise in it is not checked. The sentence is in English, whatever the language of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpengine.spec.plan import Plan

__all__ = ["is_stated"]

_MODEL_OF_ALL = "part of ε measures columns and pairs, the rest the whole table, and a model draws on all of these."
_ALWAYS = {
    "Direct, as the plan says: what is asked is what is measured.",
    "Direct: the tables can be measured and made to agree as they are.",
    "Direct: a private answer says that these tables are better measured than taken from a model.",
    "Direct: tables of rows and of persons are measured apart, and ε is divided so that the predicted error is least "
    "in all of them together.",
    "Optimised, as the plan says: ε is divided so that the predicted error is least.",
    "Optimised, as the plan says: shares of ε that make the predicted error least.",  # of version 0.1.0
    f"Adaptive: {_MODEL_OF_ALL}",
    "Adaptive: which pairs of columns to measure is chosen privately, and a model fits them.",
    "Adaptive, since ranges matter: boxes of neighbouring cells are measured, and split where noisy counts show that "
    "there are enough people.",
}
_OF_SUMS = " Coarser levels are sums of the finest ones."
_NUMBER, _PART = "[0-9][0-9,]*", "[0-9][0-9.,]* %( of all rows)?"
_WITH_NUMBERS = re.compile(
    f"Direct: measuring all {_NUMBER} tables leaves noise of (only )?about {_PART} in each[.]"
    f"|Adaptive: measuring all {_NUMBER} tables would leave noise of about {_PART} in each[.]"
    f"|Adaptive: with about {_NUMBER} rows, noise would bury so many cells; so {re.escape(_MODEL_OF_ALL)}"
)


def is_stated(sentence: str, plan: Plan) -> bool:
    """Return whether some version writes this `sentence` for a `plan` with a resolved strategy."""
    if plan.finest is not plan:
        return sentence.endswith(_OF_SUMS) and is_stated(sentence.removesuffix(_OF_SUMS), plan.finest)
    name = "Direct" if plan.strategy == "auto" else plan.strategy.capitalize()
    known = sentence in _ALWAYS or _fits_numbers(sentence, plan) or sentence in _of_columns(plan, name)
    return known and sentence.startswith(name)


def _fits_numbers(sentence: str, plan: Plan) -> bool:
    """Return whether this is a sentence with numbers, and has those that follow from the plan."""
    first = re.search(_NUMBER, sentence)
    if first is None or not _WITH_NUMBERS.fullmatch(sentence):
        return False
    stated = int(first[0].replace(",", ""))
    if sentence.startswith("Adaptive: with"):
        return plan.rows_about in (None, stated)
    return 1 <= stated <= max(len(plan.marginals), len(plan.estimated_tables))


def _of_columns(plan: Plan, name: str) -> Iterator[str]:
    """Yield the sentences that name columns or tables of the plan."""
    if plan.resolution.levels:
        column = plan.resolution.column
        yield (
            f"{name}: levels of {column} are measured, with the parts of ε that leave the least error in all tables "
            "together."
        )
        yield f"{name}: each table is measured at its own levels of {column}, which leaves the least error in all."
    if not plan.in_parts:
        return
    levels = " and ".join(str(part.resolution.column) for part in plan.parts.levels)
    yield f"Adaptive: levels of {levels} are measured, those of each column by themselves."
    yield (
        f"Adaptive: levels of {levels} are measured; of the other columns, which pairs to measure is chosen privately."
    )
    if tables := [" × ".join(table) for table in plan.parts.ranged]:
        sentences = [
            f"Adaptive, since ranges of {tables[0]} matter: it is measured in boxes of neighbouring cells, which are "
            "split where noisy counts show that there are enough people.",
            *(f"So is {table}." for table in tables[1:]),
            *([f"Levels of {levels} are measured, each with a share."] if levels else []),
        ]
        yield " ".join(sentences)
        yield " ".join([*sentences, "The other tables are measured as they are."])
        yield " ".join([*sentences, "Of the other tables, which pairs to measure is chosen privately."])
