"""Audit each way to publish from end to end, on two neighbouring tables.

An auditor knows both tables and sees one output. The *evidence* is the log-likelihood ratio of that output with the
person to that without, as far as it can be computed: over all noisy counts of the cells that hold the person, or the
exact probabilities of what was chosen. No other function of the output distinguishes the tables better, so the lower
bound on ε comes close to ε if the output spends nearly all of ε on the person's cells. The tables and plans are chosen
so that it does: under *adaptive*, one measurement gets most of ε, after everything that decides about it.

Source: the likelihood ratio as the best test, Neyman & Pearson 1933; as an audit, Nasr et al. 2023, "Tight Auditing".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpengine.accounting.ledger import Ledger
from dpengine.array_types import Columns, Floats, Ints
from dpengine.ask import ask
from dpengine.audit.bounds import least_epsilon
from dpengine.audit.neighbours import NEIGHBOURS, Neighbours
from dpengine.choose import Candidates, draw_once, probabilities
from dpengine.errors import PlanError
from dpengine.estimate.found_cells import resolve
from dpengine.marginals.measurement import Boxes, Measurements
from dpengine.measure.strategy import decide
from dpengine.release import release
from dpengine.sources.open import open_table
from dpengine.spec.domain import Number
from dpengine.spec.plan import Plan, exact_epsilon
from dpengine.spec.query import Question
from dpengine.translation.catalogue import mark

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "PUBLICATIONS",
    "RELEASES",
    "EmpiricalBound",
    "audit_publications",
    "claimed_epsilon",
    "empirical_bound",
    "evidence",
    "publish_once",
    "released_counts",
]

STRONG = Fraction(1, 2)  # evidence above this part of ε is strong, which is stated before anything is drawn
ALPHA = 0.05
MAX_RUNS = 100_000
Codes: TypeAlias = dict[str, Ints]  # the cell of every row, by column
Progress: TypeAlias = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class EmpiricalBound:
    """The result of auditing one way to publish: how often outputs are strong evidence, with the person and without.

    `least_epsilon` is a lower bound on the ε that was really spent, wrong with probability at most `ALPHA`; a bound
    below 0 says nothing.
    """

    publication: str
    claimed: Fraction
    runs: int
    hits: int
    hits_without: int
    least_epsilon: float

    @property
    def holds(self) -> bool:
        """Whether the result is compatible with the promised ε."""
        return self.least_epsilon <= self.claimed


def claimed_epsilon(text: str) -> Fraction:
    """Read the ε to audit; raise `PlanError` unless it is exact, and from 0.01 to 10.

    >>> claimed_epsilon("0.5")
    Fraction(1, 2)
    """
    try:
        epsilon = exact_epsilon(text)
    except ValueError as error:
        raise PlanError(str(error)) from None
    if not Fraction(1, 100) <= epsilon <= 10:
        raise PlanError("an audit is of an ε from 0.01 to 10: below, outputs show nothing; above, they show everything")
    return epsilon


def empirical_bound(publication: str, epsilon: Fraction, present: Floats, absent: Floats) -> EmpiricalBound:
    """Bound ε from below by the evidence of outputs with the person and of outputs without."""
    strong = float(STRONG * epsilon) * (1 - 1e-9)
    hits, hits_without = (int((sample >= strong).sum()) for sample in (present, absent))
    bound = least_epsilon(hits, present.size, hits_without, absent.size, ALPHA)
    return EmpiricalBound(publication, epsilon, present.size, hits, hits_without, max(bound, 0.0))


def audit_publications(
    publication: str, epsilon: Fraction, runs: int, *, jobs: int = 1, progress: Progress = lambda part: None
) -> EmpiricalBound:
    """Publish `runs` times with the person and as often without, in `jobs` processes, and return the result.

    Raises `PlanError` for an unknown way, or an impossible number of runs.
    """
    if publication not in PUBLICATIONS:
        raise PlanError(f"there is no way to publish called {publication!r}: choose from {', '.join(PUBLICATIONS)}")
    if not 1 <= runs <= MAX_RUNS or not 1 <= jobs <= 64:
        raise PlanError(f"an audit has from 1 to {MAX_RUNS:,} runs, in from 1 to 64 processes")
    batches = [(publication, epsilon, present, size) for present in (True, False) for size in _batches(runs, 2 * jobs)]
    evidence: dict[bool, list[Floats]] = {True: [], False: []}
    workers = ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) if jobs > 1 else None
    with workers or nullcontext():
        results = (workers.map if workers else map)(_batch, batches)
        for done, (batch, result) in enumerate(zip(batches, results, strict=True), 1):
            evidence[batch[2]].append(result)
            progress(done / len(batches))
    return empirical_bound(publication, epsilon, np.concatenate(evidence[True]), np.concatenate(evidence[False]))


def evidence(publication: str, epsilon: Fraction, *, present: bool, runs: int) -> Floats:
    """Publish `runs` times; return the evidence of each output for the person's presence."""
    return PUBLICATIONS[publication](epsilon, present, runs)


def _batch(batch: tuple[str, Fraction, bool, int]) -> Floats:
    publication, epsilon, present, runs = batch
    return evidence(publication, epsilon, present=present, runs=runs)


def _batches(runs: int, batches: int) -> list[int]:
    sizes = [runs // batches + (k < runs % batches) for k in range(batches)]
    return [size for size in sizes if size]


# Releases


@dataclass(frozen=True, slots=True)
class _Setting:
    """Two neighbouring tables by the cells of their rows, the person who makes the difference, and the plan."""

    rows: Codes
    person: Mapping[str, int]
    plan: Plan

    def frame(self, present: bool) -> pd.DataFrame:
        import pandas as pd

        codes = {name: [*code.tolist(), *([self.person[name]] if present else [])] for name, code in self.rows.items()}
        return pd.DataFrame({
            name: list(map(self.plan.column(name).declared.__getitem__, code))
            if self.plan.column(name).kind == "category" else code
            for name, code in codes.items()
        })  # fmt: skip

    def evidence(self, measured: Measurements) -> float:
        return evidence_of_counts(measured, self)

    def in_found_cells(self, measured: Measurements) -> _Setting:
        """Return the setting with privately found bins instead of steps, whose places are the values."""
        plan = resolve(self.plan, measured.searches)
        edges = {name: [float(edge) for edge in column.edges] for name in plan.found_columns
                 if isinstance(column := plan.column(name), Number)}  # fmt: skip
        places = {name: np.searchsorted(each[1:-1], self.rows[name], side="right") for name, each in edges.items()}
        person = {name: int(np.searchsorted(each[1:-1], self.person[name], side="right"))
                  for name, each in edges.items()}  # fmt: skip
        return replace(self, rows={**self.rows, **places}, person={**self.person, **person})


def _letters(tables: Any, strategy: str, epsilon: Fraction, sizes: Mapping[str, int]) -> Plan:
    columns = [
        {"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(size)], "other": False,
         "missing": False}
        for name, size in sizes.items()
    ]  # fmt: skip
    return Plan(dataset="audit", epsilon=epsilon, columns=columns, tables=tables, strategy=strategy)  # type: ignore[arg-type]


def _two_by_two(epsilon: Fraction, strategy: str, tables: Any, per_value: int = 6) -> _Setting:
    """Build a setting of two columns of two values; of each column, `per_value` rows have each value, independently."""
    rows = {"a": np.repeat([0, 1], per_value), "b": np.tile([0, 1], per_value)}
    return _Setting(rows, {"a": 1, "b": 0}, _letters(tables, strategy, epsilon, {"a": 2, "b": 2}))


def _direct(epsilon: Fraction) -> _Setting:
    return _two_by_two(epsilon, "direct", [["a", "b"]])


def _adaptive_pairs(epsilon: Fraction) -> _Setting:
    """Build a setting of two equal columns, whose pair is cheap to choose since they are large, and a third column.

    Single columns get about a tenth of ε, the choice a twelfth of the rest, and the pair what is left.
    """
    code = np.tile(np.arange(12), 2000)
    rows = {"a": code, "b": code, "c": np.zeros_like(code)}
    plan = _letters([["a", "b"], ["c"]], "adaptive", epsilon, {"a": 12, "b": 12, "c": 2})
    return _Setting(rows, {"a": 1, "b": 0, "c": 1}, plan)


def _ranges(epsilon: Fraction) -> _Setting:
    column = {"name": "n", "kind": "number", "edges": list(range(41)), "other": False, "missing": False}
    plan = Plan(dataset="audit", epsilon=epsilon, columns=[column], tables=[{"columns": ["n"], "ranges": True}],
                strategy="adaptive")  # fmt: skip
    return _Setting({"n": np.full(8, 30)}, {"n": 3}, plan)


def _found_bins(epsilon: Fraction) -> _Setting:
    """Build a setting in which half of ε finds the bins, and half measures the table in them."""
    column = {"name": "n", "kind": "number", "from": 0, "to": 40, "bins": {"count": 4, "share": "1/2"}, "other": False,
              "missing": False}  # fmt: skip
    plan = Plan(dataset="audit", epsilon=epsilon, columns=[column], tables=[["n"]], strategy="direct")
    return _Setting({"n": np.repeat([3, 30], [4, 8])}, {"n": 3}, plan)


def _releases(setting: Callable[[Fraction], _Setting | Neighbours]) -> Callable[[Fraction, bool, int], Floats]:
    def evidence_of_runs(epsilon: Fraction, present: bool, runs: int) -> Floats:
        audited = setting(epsilon)
        with open_table(audited.frame(present)) as table:
            return np.array([audited.evidence(release(table, audited.plan).measured) for _ in range(runs)])

    return evidence_of_runs


def publish_once(publication: str, epsilon: Fraction) -> Measurements:
    """Publish the tables of one of `RELEASES` once, and return what was measured."""
    setting = RELEASES[publication](epsilon)
    return release(setting.frame(present=True), setting.plan).measured


def evidence_of_counts(measured: Measurements, setting: _Setting) -> float:
    """Add up the evidence of every noisy count of a cell that holds the person.

    A count v of scale s, of x people without and x + 1 with the person, is exp((|v − x| − |v − x − 1|)/s) times as
    likely with them. Private choices and the audit's sums are left out: they cost little, and leaving them out can only
    make the bound smaller.
    """
    searches = (each for each in measured.searches if isinstance(each, Boxes))
    evidence = sum(_evidence_of_boxes(boxes, setting) for boxes in (*measured.trees, *searches))
    setting = setting.in_found_cells(measured)
    for noisy in measured.marginals:
        names, bins = noisy.allocation.columns, noisy.merged or (None,) * len(noisy.allocation.columns)
        place = tuple(_bin_of(setting.person[name], merged) for name, merged in zip(names, bins, strict=True))
        same_cell = [
            _bin_of(setting.rows[name], merged) == at for name, merged, at in zip(names, bins, place, strict=True)
        ]
        evidence += _evidence_of_count(
            int(noisy.values[place]), _meeting_all(same_cell, setting), noisy.allocation.scale
        )
    return evidence


def _evidence_of_boxes(boxes: Boxes, setting: _Setting) -> float:
    evidence = 0.0
    for k, (first, last) in enumerate(zip(boxes.first, boxes.last, strict=True)):
        spans = list(zip(boxes.columns, first, last, strict=True))
        if all(low <= setting.person[name] < high for name, low, high in spans):
            same_cell = [(low <= setting.rows[name]) & (setting.rows[name] < high) for name, low, high in spans]
            evidence += _evidence_of_count(
                int(boxes.values[k]), _meeting_all(same_cell, setting), boxes.scale(int(boxes.parts[k]))
            )
    return evidence


def _bin_of(code: Any, merged: Ints | None) -> Any:
    return code if merged is None else merged[code]


def _meeting_all(conditions: Sequence[Any], setting: _Setting) -> int:
    met = np.ones(next(iter(setting.rows.values())).size, dtype=np.bool_)
    for condition in conditions:
        met &= condition
    return int(met.sum())


def _evidence_of_count(noisy: int, exact: int, scale: Fraction) -> float:
    return float((abs(noisy - exact) - abs(noisy - exact - 1)) / scale)


# Questions and choices


def _count(epsilon: Fraction, present: bool, runs: int) -> Floats:
    question = Question(dataset="audit", epsilon=epsilon, statistic={"kind": "count"})
    people = _direct(epsilon)
    with open_table(people.frame(present)) as table:
        return np.array([_evidence_of_count(ask(table, question).drawn[0], 12, question.scale) for _ in range(runs)])


def _mode(epsilon: Fraction, present: bool, runs: int) -> Floats:
    """Ask for the most common of two values: equally common with the person, and different by one without."""
    column = {"name": "a", "kind": "category", "values": ["a0", "a1"]}
    question = Question(dataset="audit", epsilon=epsilon, statistic={"kind": "mode", "of": column})
    with_person, without = (
        probabilities(Candidates.of(["a0", "a1"], scores, 1, epsilon, monotone=True)) for scores in ([7, 7], [7, 6])
    )
    odds = np.log(with_person / without)
    people = replace(_direct(epsilon), rows={"a": np.repeat([0, 1], [7, 6]), "b": np.zeros(13, dtype=np.int64)})
    with open_table(people.frame(present)) as table:
        return np.array([odds[ask(table, question).drawn[0]] for _ in range(runs)])


def _choice(epsilon: Fraction, present: bool, runs: int) -> Floats:
    """Choose from two candidates; a person changes both scores by the sensitivity, towards each other."""
    with_person, without = (Candidates.of(["first", "second"], scores, 1, epsilon) for scores in ([1, 1], [0, 2]))
    odds = dict(zip(with_person.names, np.log(probabilities(with_person) / probabilities(without)), strict=True))
    scored = with_person if present else without
    return np.array([odds[draw_once(scored, "audit", Ledger.in_memory()).name] for _ in range(runs)])


RELEASES: dict[str, Callable[[Fraction], _Setting]] = {
    mark("direct"): _direct,
    mark("optimised"): lambda epsilon: _two_by_two(epsilon, "optimised", [["a"], ["b"]]),
    mark("adaptive, pairs"): _adaptive_pairs,
    # Columns and model leave the table four fifths of ε.
    mark("adaptive, one table"): lambda epsilon: _two_by_two(epsilon, "adaptive", [["a", "b"]], 20),
    mark("ranges"): _ranges,
    mark("bins that are found"): _found_bins,
}
PUBLICATIONS: dict[str, Callable[[Fraction, bool, int], Floats]] = {
    **{name: _releases(setting) for name, setting in RELEASES.items()},
    **{name: _releases(neighbours) for name, neighbours in NEIGHBOURS.items()},
    mark("question: count"): _count,
    mark("question: most common"): _mode,
    mark("choice"): _choice,
}


def released_counts(people: int, epsilon: Fraction, runs: int) -> Floats:
    """Return one published cell over `runs` releases of a table with `people` in that cell and some in three others.

    Each run measures as a release does (`measure.strategy`).
    """
    values = ["hers", "second", "third", "fourth"]
    plan = Plan(dataset="audit", epsilon=epsilon, tables=[["group"]],
                columns=[{"name": "group", "kind": "category", "values": values, "other": False, "missing": False}],
                strategy="direct")  # fmt: skip
    strategy = decide(plan)
    exact = np.array([people, 40, 7, 0], dtype=np.int64)

    def count(marginals: Sequence[Columns]) -> list[Ints]:
        return [exact for _ in marginals]

    return np.array([strategy.measure(count).marginals[0].values[0] for _ in range(runs)], dtype=np.float64)
