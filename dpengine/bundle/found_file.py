"""The noisy counts from which a release found the cells of columns, in a file of its bundle: `found.json`.

It lists by column what was measured: for bins, the boxes (`marginals.measurement.Boxes`); for the upper bound of an
amount, the noisy counts of rows up to each of its candidates; for values, the keys that were shown, and their noisy
counts (`marginals.measurement.FoundKeys`). The plan in the bundle is as the owner wrote it.
A reader of the bundle computes the cells again from these counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from dpengine.array_types import Ints
from dpengine.bundle.archive import Archive
from dpengine.errors import ReleaseError
from dpengine.estimate.found_cells import resolve
from dpengine.marginals.measurement import Boxes, FoundKeys, Search
from dpengine.spec import strict_yaml
from dpengine.spec.categories.universe import Universe
from dpengine.spec.domain import Amount, Category, Number
from dpengine.spec.numeric.found_upper import candidate_steps
from dpengine.spec.plan import Plan

__all__ = ["FILE", "max_bytes", "plan_in", "searches_in", "to_text"]

FILE = "found.json"
MAX_BOXES = 4  # for each step: a tree that splits in two has fewer than two, and a box may be measured once more
BOX_BYTES, KEY_BYTES = 100, 1_000
ARRAYS = ("parents", "first", "last", "parts", "values")

Whole = Annotated[int, Field(ge=-(2**62), le=2**62)]
Numbers = Annotated[list[Whole], Field(min_length=1)]


class _Boxes(BaseModel):
    """The boxes of a column whose bins were found: see `marginals.measurement.Boxes`."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    parents: Numbers
    first: Numbers
    last: Numbers
    parts: Numbers
    values: Numbers


class _Keys(BaseModel):
    """The keys of a column whose values were found, and their noisy counts."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    keys: list[Annotated[str, Field(max_length=100)]]
    values: list[Whole]


class _Cells(BaseModel):
    """The noisy counts of rows between neighbouring candidates for an amount's upper bound."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    values: Numbers


_FILE = TypeAdapter(dict[str, _Boxes | _Keys | _Cells])


def to_text(plan: Plan, searches: Sequence[Search]) -> str:
    """Return the text of the file, the numbers of each column on lines of their own."""
    columns = {found.columns[0]: _arrays(plan, found) for found in searches}
    lines = (
        f"{json.dumps(column, ensure_ascii=False)}: {{\n"
        + ",\n".join(f'"{name}": {json.dumps(numbers)}' for name, numbers in arrays.items())
        + "}"
        for column, arrays in columns.items()
    )
    return "{" + ",\n".join(lines) + "}\n"


def _arrays(plan: Plan, found: Search) -> dict[str, list[Any]]:
    """Return the lists of a column by name: boxes, or keys as texts with their numbers."""
    if isinstance(found, FoundKeys):
        universe = _universe(plan, found.columns[0])
        return {"keys": list(map(universe.key, found.places.tolist())), "values": found.values.tolist()}
    arrays = ("values",) if isinstance(plan.column(found.columns[0]), Amount) else ARRAYS
    return {name: getattr(found, name).ravel().tolist() for name in arrays}


def _universe(plan: Plan, name: str) -> Universe:
    column = plan.column(name)
    assert isinstance(column, Category), "a column whose values are found"
    assert column.among is not None, "a column whose values are found"
    return column.among


def plan_in(members: Archive) -> Plan:
    """Return the plan of a bundle, with the cells that its release found.

    Raises `PlanError` and `ReleaseError` where these cannot be read.
    """
    plan = Plan.loads(members.read("plan.yaml", strict_yaml.MAX_BYTES).decode())
    return resolve(plan, searches_in(members, plan)) if plan.found_columns else plan


def max_bytes(plan: Plan) -> int:
    """Return the maximum size in bytes of the file in a bundle of `plan`."""
    return 10_000 + sum(6 * len(name) + _most_bytes(plan, name) for name in plan.found_columns)


def searches_in(members: Archive, plan: Plan) -> tuple[Search, ...]:
    """Read the counts from which the cells of `plan` were found. Raises `ReleaseError` if they are impossible."""
    if FILE not in members:
        raise ReleaseError(f"{FILE} is missing")
    try:
        entries = _FILE.validate_json(members.read(FILE, max_bytes(plan)))
    except ValidationError:
        raise ReleaseError(f"{FILE} does not hold the counts of boxes or keys, by column") from None
    if tuple(entries) != plan.found_columns:
        raise ReleaseError(f"{FILE} is not of the columns whose cells are found by plan.yaml")
    return tuple(_search(plan, name, entry) for name, entry in entries.items())


def _search(plan: Plan, name: str, entry: _Boxes | _Keys | _Cells) -> Search:
    """Return what was measured of a column. Raises `ReleaseError` if it is impossible, or not what the plan asks."""
    column = plan.column(name)
    if isinstance(entry, _Keys) and isinstance(column, Category) and column.among is not None:
        return _keys(FoundKeys.none(name, column.among, plan.epsilon, plan.unit.rows), column.among, entry)
    if isinstance(entry, _Boxes) and isinstance(column, Number):
        return _boxes(plan, name, entry)
    if isinstance(entry, _Cells) and isinstance(column, Amount):
        return _cells(plan, column, entry)
    raise ReleaseError(f"{FILE}: what is there of {name} is not what plan.yaml asks to find")


def _boxes(plan: Plan, name: str, entry: _Boxes) -> Boxes:
    """Return the boxes that were measured of a column. Raises `ReleaseError` if they are impossible."""
    arrays: dict[str, Any] = {each: np.array(getattr(entry, each), dtype=np.int64) for each in ARRAYS}
    steps = _steps(plan, name)
    sizes = {numbers.size for numbers in arrays.values()}
    if len(sizes) > 1 or not _is_tree(arrays["parents"], arrays["first"], arrays["last"], arrays["parts"], steps):
        raise ReleaseError(f"{FILE}: what is there of {name} is not a tree of boxes over the steps of its range")
    arrays |= {end: arrays[end][:, None] for end in ("first", "last")}
    epsilon = plan.epsilon * plan.column(name).share
    boxes = Boxes((name,), (steps,), epsilon, plan.unit.rows, **arrays)
    try:
        cost = boxes.cost
    except ValueError:
        cost = None
    if cost != epsilon:
        raise ReleaseError(f"{FILE}: the boxes of {name} do not cost the share of ε that plan.yaml gives")
    return boxes


def _cells(plan: Plan, column: Amount, entry: _Cells) -> Boxes:
    """Return noisy counts up to the candidates for an upper bound. Raises `ReleaseError` if there are not as many."""
    if len(entry.values) != _candidates(column):
        raise ReleaseError(f"{FILE}: what is there of {column.name} are not counts up to each of its upper bounds")
    values = np.array(entry.values, dtype=np.int64)
    return Boxes.of_cells(column.name, plan.epsilon * column.share, plan.unit.rows, values)


def _candidates(column: Amount) -> int:
    return len(candidate_steps(column.as_written.grid.steps))


def _keys(none: FoundKeys, among: Universe, entry: _Keys) -> FoundKeys:
    """Return the keys that were found. Raises `ReleaseError` if they are impossible."""
    name, values = none.columns[0], np.array(entry.values, np.int64)
    known = (among.place(key) for key in entry.keys)
    places = np.array([-1 if place is None else place for place in known], np.int64)
    if places.size != values.size or places.size > among.most or (places < 0).any() or (np.diff(places) <= 0).any():
        raise ReleaseError(f"{FILE}: what is there of {name} are not keys of its universe, each once and in order")
    if (values < none.least).any():
        raise ReleaseError(f"{FILE}: a number of {name} is below {none.least}, the least that is shown")
    return replace(none, places=places, values=values)


def _is_tree(parents: Ints, first: Ints, last: Ints, parts: Ints, steps: int) -> bool:
    """Return whether one box, the root, holds all steps, and the children of each box cover it exactly once.

    A box may come after its children: neighbours with hardly any people are measured once more together. So may the
    root, if hardly anybody is in the table.
    """
    root = np.flatnonzero(parents < 0)
    if parents.size > MAX_BOXES * steps or [*first[root], *last[root]] != [0, steps]:
        return False
    if not (parts.min() >= 1 and (first >= 0).all() and (first < last).all() and (last <= steps).all()):
        return False
    if parents.min() != -1 or (parents >= parents.size).any() or _has_ring(parents):
        return False
    order = np.lexsort((first, parents))[1:]  # without the root
    family, begins, ends = parents[order], first[order], last[order]
    begin, end = np.diff(family, prepend=-1) > 0, np.diff(family, append=parents.size) > 0
    return bool(
        (begins[begin] == first[family[begin]]).all()
        and (ends[end] == last[family[end]]).all()
        and (begins[1:] == ends[:-1])[~begin[1:]].all()
    )


def _has_ring(parents: Ints) -> bool:
    """Return whether some box is its own ancestor. The parent of a root is -1."""
    above = parents
    for _step in range(parents.size.bit_length()):  # each step looks twice as far up
        above = np.where(above >= 0, above[above], -1)
    return bool((above >= 0).any())


def _most_bytes(plan: Plan, name: str) -> int:
    """Return the maximum size in bytes of the boxes or keys of a column."""
    column = plan.column(name)
    if isinstance(column, Category) and column.among is not None:
        return KEY_BYTES * column.among.most
    if isinstance(column, Amount):
        return BOX_BYTES * _candidates(column)
    return BOX_BYTES * MAX_BOXES * _steps(plan, name)


def _steps(plan: Plan, name: str) -> int:
    """Return the number of steps in the range of a column whose bins are found."""
    column = plan.column(name)
    assert isinstance(column, Number), "a column whose bins are found"
    return column.steps.declared_size
