"""Advice if most cells of a plan would be noise: what each way out would give, and a button to take it.

A way out helps if it more than halves the share of cells that are mostly noise, or if a model fills in most cells. If a
larger ε helps, the smallest step that helps is offered, since each step protects people less.

All of it follows from the plan alone; the owner's rows are not read.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np
import streamlit as st

from dpengine import PlanError
from dpengine.accounting.composition import posterior
from dpengine.array_types import Columns
from dpengine.exact import exact_text, exactly
from dpengine.marginals.graphs import maximal
from dpengine.results.alternatives import MockCells, mostly_noise_shares
from dpengine.results.mock_table import ASSUMED_ROWS, listed_cells
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.spec.wording import certainty, portion
from dpengine.translation.catalogue import _, language, number, plural
from pages.parts.publish.outlook.trial import KEPT, drawn, question_of
from pages.parts.publish.rough_size import left_aside
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.wording import plain_name
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.state import visit
from pages.parts.visit.strategy import is_adaptive, strategy_of

__all__ = ["advise"]

NEARLY_ALL = 0.995  # share of cells that are mostly noise: it would be written as 100 %
TOO_MANY = 0.5  # share of cells that are mostly noise from which on the page warns
MAX_WAYS = 4  # offered for a plan whose own noise is only tried out
MAX_KEYS = 3  # columns by which each other one may be published: a person often chooses the most important ones first
MAX_LOOKED_AT = 50  # tables of a made-up release; a plan of pairs may have thousands
FEW = 4  # times the error of a single count: a table of fewer rows has nothing to say
HIGHEST = "4"  # no ε above this is advised

MadeUp = dict[Columns, MockCells]


@dataclass(frozen=True)
class WayOut:
    """Another plan: the words on its button, the entries that it changes, and what it would give."""

    name: str  # part of the key of its button
    label: str
    changes: dict[str, Any]
    noise: tuple[int, int] | None  # cells that are mostly noise, and all cells; None if unknown
    help: str | None = None

    @property
    def words(self) -> str:
        if self.noise is None:
            return _("{way}: a model then fills in most cells", way=self.label)
        return plural(
            "{way}: {noisy} of {n} cell mostly noise",
            "{way}: {noisy} of {n} cells mostly noise",
            self.noise[1],
            way=self.label,
            noisy=number(self.noise[0]),
        )


def advise(plan: Plan) -> None:
    """Warn if most cells would be mostly noise, and offer plans with fewer of these."""
    if is_adaptive(plan):
        _advise_by_trial(plan)
        return
    key = plan.key, plan.rows_about, plan.marginals, language()
    noisy, cells, ways = visit().once("advice", key, lambda: _looked_at(plan, visit().entries), most=KEPT)
    if noisy <= TOO_MANY * cells:
        return
    much = plural(
        "**{noisy} of {n} cell would be mostly noise**: this plan asks for more detail than this ε allows.",
        "**{noisy} of {n} cells would be mostly noise**: this plan asks for more detail than this ε allows.",
        cells,
        noisy=number(noisy),
    )
    _offer(much, ways, plan)


def _advise_by_trial(plan: Plan) -> None:
    """Warn if most cells of a made-up release are mostly noise, and offer single columns if these have less of it."""
    # The preview, which draws it otherwise, comes later on the page: advice would then wait for the next run.
    last = drawn(plan, plan.marginals[0], afresh=False)
    if last is None or question_of(last[0]) != question_of(plan):
        return
    made_up = last[1]
    key = plan.key, plan.rows_about, plan.marginals, language()
    share, ways = visit().once("advice-tried", key, lambda: _seen_in(made_up, plan, visit().entries), most=KEPT)
    if share <= TOO_MANY:
        return
    if share < NEARLY_ALL:
        much = _("**About {part} of all cells would be mostly noise**, as tried out on made-up people: this plan asks "
                 "for more detail than this ε allows.", part=portion(share))  # fmt: skip
    else:
        much = _("**Nearly all cells would be mostly noise**, as tried out on made-up people: this plan asks for more "
                 "detail than this ε allows.")  # fmt: skip
    _offer(much, ways, plan)


def _seen_in(release: Result, plan: Plan, entries: Entries) -> tuple[float, list[WayOut]]:
    """Return the share of cells that are mostly noise in a made-up release, and the ways out whose noise is known."""
    tables = plan.marginals[:MAX_LOOKED_AT]
    listed = [release.mostly_noise(table)[listed_cells(release.plan, table)].ravel() for table in tables]
    share = float(np.concatenate(listed).mean())
    if share <= TOO_MANY:
        return share, []
    made_up: MadeUp = {}
    directly = _("Measure each table directly"), {"strategy": "direct"}
    ways = [_least_spending(plan, entries, made_up, share, ("spend", *directly))]
    for name, label, changes in _alternatives(plan, entries):
        # No pairs of single columns are left to be chosen adaptively; of other plans only *direct* has a known error.
        known = changes | {"strategy": "auto" if name == "single" else "direct"}
        way = _way_out(entries, made_up, name, label, known)
        ways.append(way if _helps(way, share) else _least_spending(plan, entries, made_up, share, (name, label, known)))
    return share, sorted(filter(None, ways), key=lambda way: Fraction(way.changes.get("epsilon", plan.epsilon)))[
        :MAX_WAYS
    ]


def _offer(much: str, ways: list[WayOut], plan: Plan) -> None:
    """Say how `much` is noise, and show what would help as buttons, or what to do if none of them would."""
    if not ways:
        todo = _too_few(plan) or _("Use fewer columns, or wider bins.")
    elif plan.rows_about is None:
        todo = _("What would help in a table of an assumed {rows} rows:", rows=number(ASSUMED_ROWS))
    else:
        todo = _("What would help:")
    aside = left_aside(plan, plan.marginals)
    st.warning(" ".join(filter(None, [much, aside, todo])), icon=":material/grain:")
    for way in ways:
        st.button(
            way.words,
            key=visit().key(f"way-out-{way.name}"),
            on_click=_apply,
            args=(way.changes,),
            help=way.help,
            width="stretch",
        )


def _too_few(plan: Plan) -> str:
    """Say so if no plan would help, as the stated number of rows is hardly more than the noise in a single count."""
    least = math.ceil(math.log(20) * plan.unit.rows / plan.epsilon)  # 95 in 100 draws of Laplace noise are within
    if plan.rows_about is None or plan.rows_about >= FEW * least:
        return ""
    return _("About {rows} are too few for tables at such an ε: even their number alone, and nothing else, would be "
             "published as ±{least}.", rows=number(plan.rows_about), least=number(least))  # fmt: skip


def _apply(changes: dict[str, Any]) -> None:
    visit().change(**changes)
    visit().renew("slider")


def _looked_at(plan: Plan, entries: Entries) -> tuple[int, int, list[WayOut]]:
    """Return the number of cells that are mostly noise, the number of all cells, and the ways out that help."""
    made_up: MadeUp = visit().once("made-up-cells", question_of(plan.at(1)), dict)  # the same at every ε
    noisy, cells = _noise_of(plan, made_up) or (0, 1)
    if noisy <= TOO_MANY * cells:
        return noisy, cells, []
    share = noisy / cells
    tried = [_way_out(entries, made_up, name, label, changes) for name, label, changes in _alternatives(plan, entries)]
    tried.append(_least_spending(plan, entries, made_up, share))
    return noisy, cells, [way for way in tried if _helps(way, share)]


def _helps(way: WayOut | None, share: float) -> TypeGuard[WayOut]:
    return way is not None and (way.noise is None or way.noise[0] / way.noise[1] < share / 2)


def _alternatives(plan: Plan, entries: Entries) -> list[tuple[str, str, dict[str, Any]]]:
    widest = max(plan.marginals, key=plan.cells)
    alternatives: list[tuple[str, str, dict[str, Any]]] = []
    if len(widest) > 2:
        alternatives.append(("pairs", _("Publish every pair instead"), {"layout": "pairs"}))
    if len(widest) > 1:
        largest = max(widest, key=lambda name: plan.column(name).size)
        rest = tuple(name for name in entries.chosen if name != largest)
        alternatives.append(
            (f"without-{largest}", _("Leave out {column}", column=plain_name(largest)), {"chosen": rest})
        )
        alternatives += _by_one_column(plan, entries)
        alternatives.append(("single", _("Publish each column by itself"), {"layout": "single"}))
    return alternatives


def _by_one_column(plan: Plan, entries: Entries) -> list[tuple[str, str, dict[str, Any]]]:
    """Return plans that publish each column by one of the first: far fewer tables than every pair of columns has."""
    columns = entries.chosen
    if entries.layout == "own" or len(columns) <= MAX_KEYS or plan.amounts(()):
        return []
    return [
        (
            f"by-{key}",
            _("Publish each column by {column} only", column=plain_name(key)),
            {"layout": "own", "own": tuple((key, name) for name in columns if name != key), "more": ()},
        )
        for key in columns[:MAX_KEYS]
    ]


def _least_spending(
    plan: Plan, entries: Entries, made_up: MadeUp, share: float, way: tuple[str, str, dict[str, Any]] | None = None
) -> WayOut | None:
    """Return the smallest step of ε that helps, along with another `way` if given, or None if none helps.

    A larger ε never makes more cells noise.
    """
    name, label, changes = way or ("spend", "", {})
    steps = [step for step in rungs(plan.epsilon, HIGHEST) if step > plan.epsilon]

    def spend(step: Fraction) -> WayOut | None:
        amounts = {"more": exactly(step), "now": exactly(plan.epsilon)}
        return _way_out(
            entries,
            made_up,
            name,
            _("{way}, and spend ε = {more} instead of {now}", way=label, **amounts)
            if label
            else _("Spend ε = {more} instead of {now}", **amounts),
            {"epsilon": exact_text(step), **changes},
            _(
                "The smallest step of ε with fewer than half as many such cells. It protects each person less: someone"
                " who is 50 % sure that a person is in the table can become {then}, instead of {now}.",
                then=certainty(posterior(0.5, step)),
                now=certainty(posterior(0.5, plan.epsilon)),
            ),
        )

    place = bisect_left(steps, True, key=lambda step: _helps(spend(step), share))
    return spend(steps[place]) if place < len(steps) else None


def _way_out(
    entries: Entries, made_up: MadeUp, name: str, label: str, changes: dict[str, Any], help: str | None = None
) -> WayOut | None:
    try:
        plan = plan_form.to_plan(entries.with_(**changes))
        strategy_of(plan).check()
        return WayOut(name, label, changes, _noise_of(plan, made_up), help)
    except PlanError:
        return None


def _noise_of(plan: Plan, made_up: MadeUp) -> tuple[int, int] | None:
    """Return the numbers of noisy cells and of all cells of the largest tables; None if they are unknown."""
    if not strategy_of(plan).closed_form:
        return None
    largest = set(map(frozenset, maximal(plan.marginals)))
    tables = [table for table in plan.marginals if frozenset(table) in largest]  # in the order that the preview has
    shares = mostly_noise_shares(plan, tables, made_up)
    return sum(round(share * made_up[t].cells) for t, share in shares.items()), sum(made_up[t].cells for t in shares)
