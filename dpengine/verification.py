"""Is a release file whole, consistent, and what it says it is? Every fault is found and told.

What can be worked out again is worked out again: domain, prices, scales and half-widths from the plan,
each table from the synthetic rows, each interval from its estimate. What this cannot show is who made
the file: someone able to make a release can make another one. Nor does it read :data:`PROSE`, files of
words for people: they are held to their SHA-256 in the manifest and to nothing else.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpengine import csvtext, manifest, placing, strictyaml
from dpengine.accuracy import error_law
from dpengine.errors import PlanError, ReleaseError
from dpengine.estimate import Columns, marginalise
from dpengine.measurements import DISCRETE_LAPLACE, PERMUTE_AND_FLIP
from dpengine.plan import Plan, epsilon_text
from dpengine.result import NUMBERS, published_name
from dpengine.strategy import ADAPTIVE, Share
from dpengine.typed import rational
from dpengine.unpacking import FIXED, Manifest, Source, read_manifest, unpack

__all__ = ["PROSE", "verify"]

PROSE = ("README.txt", "report.html", "registry.yaml")
ESTIMATE_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one table file, each with one axis a column."""

    file: str
    count: npt.NDArray[np.int64]
    estimate: npt.NDArray[np.float64]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]


def verify(source: Source) -> dict[str, Any]:
    """The manifest of a release bundle that is whole: ``source`` is its path, its bytes, or an open file.

    What :data:`PROSE` says is not read. Raises :class:`ReleaseError` with every fault found.
    """
    members = unpack(source)
    told, checked = read_manifest(members)
    faults = _digests(members, checked)
    plan, unreadable = _plan(members)
    faults += unreadable
    if plan is not None:
        faults += _names(members, checked, plan)
        faults += _agreement(told, checked, plan)
        faults += _prices(checked, plan)
        faults += _tables(members, checked, plan)
    if faults:
        raise ReleaseError(faults)
    return told


def _digests(members: Mapping[str, bytes], checked: Manifest) -> list[str]:
    faults = []
    for name, entry in checked.files.items():
        if name not in members:
            faults.append(f"{name} is missing")
        elif len(members[name]) != entry.bytes or hashlib.sha256(members[name]).hexdigest() != entry.sha256:
            faults.append(f"{name} was changed: it does not have the SHA-256 and size that the manifest gives")
    return faults


def _plan(members: Mapping[str, bytes]) -> tuple[Plan | None, list[str]]:
    """The plan in the bundle, or what is wrong with it."""
    text = members.get("plan.yaml")
    if text is None:
        return None, ["plan.yaml is missing"]
    if len(text) > strictyaml.MAX_BYTES:
        return None, ["plan.yaml is too large to be read"]
    try:
        return Plan.loads(text.decode()), []
    except UnicodeDecodeError:
        return None, ["plan.yaml is not UTF-8 text"]
    except PlanError as error:
        return None, [f"plan.yaml: {fault}" for fault in error.faults]


def _names(members: Mapping[str, bytes], checked: Manifest, plan: Plan) -> list[str]:
    expected = {*FIXED, *manifest.table_files(plan).values()}
    unlisted = expected - {"manifest.json"} - set(checked.files)
    return [
        *(f"{name} is missing" for name in sorted(expected - set(members) - set(checked.files))),
        *(f"{name} does not belong in this bundle" for name in sorted(set(members) - expected)),
        *(f"{name} is not in the manifest's list of files" for name in sorted(unlisted & set(members))),
        *(f"the manifest lists {name}, which is no file of such a release" for name in set(checked.files) - expected),
    ]


def _agreement(told: Mapping[str, Any], checked: Manifest, plan: Plan) -> list[str]:
    """What the manifest says that does not follow from the plan."""
    promised = manifest.guarantee(plan)
    post_processing, intervals = manifest.processing(plan)
    wanted: dict[str, tuple[Any, Any]] = {
        "title": (told["title"], plan.title),
        "dataset": (told["dataset"], plan.dataset),
        **{f"guarantee → {key}": (told["guarantee"][key], value) for key, value in promised.items()},
        **{f"domain → {key}": (told["domain"].get(key), value) for key, value in manifest.domain(plan).items()},
        "domain": (set(told["domain"]), set(plan.used)),
        "coverage": (told["coverage"], manifest.coverage(plan)),
        "not_protected": (told["not_protected"], manifest.not_protected(plan)),
        "post_processing": (told["post_processing"], list(post_processing)),
        "intervals": (told["intervals"], intervals),
        "tables": (
            [(entry.columns, entry.file, entry.cells) for entry in checked.tables],
            [(list(table), file, plan.cells(table)) for table, file in manifest.table_files(plan).items()],
        ),
    }
    return [f"manifest.json: {where} is not what plan.yaml says" for where, (said, so) in wanted.items() if said != so]


def _prices(checked: Manifest, plan: Plan) -> list[str]:
    """Whether the measurements cost what they say, together give ε, and give every table its stated error."""
    adaptive = plan.strategy == ADAPTIVE
    faults: list[str] = []
    shares: list[Share] = []
    spent = Fraction(0)
    for position, entry in enumerate(checked.measurements, start=1):
        where = f"manifest.json: measurement {position}"
        epsilon = _exact(entry.epsilon)
        if epsilon is None or not set(entry.columns) <= set(plan.used) or not (entry.columns or adaptive):
            faults.append(f"{where} has no share of ε, or is of columns that are not in plan.yaml")
            continue
        if len(set(entry.columns)) < len(entry.columns):
            faults.append(f"{where} names a column twice")
            continue
        spent += epsilon
        share = Share(tuple(entry.columns), epsilon, entry.sensitivity)
        if _exact(entry.scale) != share.scale:
            faults.append(f"{where}: scale is not sensitivity / epsilon, which is {epsilon_text(share.scale)}")
        if entry.purpose is not None and adaptive:
            if entry.sensitivity % plan.unit.rows or entry.mechanism not in (DISCRETE_LAPLACE, PERMUTE_AND_FLIP):
                faults.append(f"{where}: mechanism or sensitivity are not those of such a question")
            continue
        shares.append(share)
        if entry.sensitivity != plan.unit.rows:
            faults.append(f"{where}: sensitivity {entry.sensitivity} does not protect {plan.unit.rows} rows a person")
        fewer = adaptive and entry.merged_to is not None and 0 < entry.cells == math.prod(entry.merged_to)
        if entry.mechanism != DISCRETE_LAPLACE or not (entry.cells == plan.cells(share.columns) or fewer):
            faults.append(f"{where}: mechanism or cells are not those of such a measurement")
    if spent != plan.epsilon:
        faults.append(f"manifest.json: the shares of ε do not add up to {epsilon_text(plan.epsilon)}")
    if adaptive:
        return faults
    if len({frozenset(share.columns) for share in shares}) < len(shares):
        faults.append("manifest.json: the same columns are measured twice")
    lost = [t for t in plan.marginals if not any(set(t) <= set(share.columns) for share in shares)]
    faults += [f"manifest.json: table {' × '.join(table)} lies within no measured marginal" for table in lost]
    if not faults:
        for said in checked.tables:
            half_width = error_law(plan, shares, tuple(said.columns)).half_width()
            if not math.isclose(said.half_width_95, half_width, rel_tol=0.02, abs_tol=1e-9):
                faults.append(f"manifest.json: half_width_95 of {said.file} does not follow from the measurements")
    return faults


def _exact(text: str) -> Fraction | None:
    """A number above 0, or nothing."""
    try:
        value = rational(text)
    except ValueError:
        return None
    return value if value > 0 else None


def _tables(members: Mapping[str, bytes], checked: Manifest, plan: Plan) -> list[str]:
    adaptive = plan.strategy == ADAPTIVE  # whose intervals differ from cell to cell
    reach = {} if adaptive else {tuple(entry.columns): entry.half_width_95 for entry in checked.tables}
    faults: list[str] = []
    tables: dict[Columns, Numbers] = {}
    for table, file in manifest.table_files(plan).items():
        if file in members:
            try:
                tables[table] = _numbers(members[file], file, table, plan)
            except ValueError as error:
                faults.append(f"{file} {error}")
            else:
                faults += [f"{file}: {fault}" for fault in _odd_numbers(tables[table], reach.get(table))]
    faults += _disagreements(tables, estimates=not adaptive)
    if "synthetic.csv" in members:
        faults += _miscounts(members["synthetic.csv"], tables, plan)
    return faults


def _numbers(payload: bytes, file: str, table: Columns, plan: Plan) -> Numbers:
    """The numbers of a table whose labels are the declared cross-product in declared order."""
    *texts, count, estimate, low, high = csvtext.read(payload, [*map(published_name, table), *NUMBERS])
    if len(count) != plan.cells(table):
        raise ValueError(f"has {len(count)} rows, not one for each of {plan.cells(table)} cells")
    shape = plan.shape(table)
    places = np.unravel_index(np.arange(len(count)), shape) if table else ()
    for name, column, place in zip(table, texts, places, strict=True):
        wrong = csvtext.codes(column, plan.column(name).labels) != place
        if wrong.any():
            row = int(np.argmax(wrong)) + 2
            raise ValueError(f"line {row}, column {name}: this is not the cell declared for this place")
    try:
        whole = [csvtext.values(column, pa.int64()).reshape(shape) for column in (count, low, high)]
    except ValueError:
        raise ValueError("has a count, low or high that is not a whole number") from None
    try:
        fractional = csvtext.values(estimate, pa.float64()).reshape(shape)
    except ValueError:
        raise ValueError("has an estimate that is not a number") from None
    return Numbers(file, whole[0], fractional, whole[1], whole[2])


def _odd_numbers(numbers: Numbers, reach: float | None) -> list[str]:
    """Faults of the numbers by themselves, and of intervals that do not follow from the estimates."""
    faults = []
    if (numbers.count < 0).any():
        faults.append("a count is negative")
    if not ((numbers.low <= numbers.count) & (numbers.count <= numbers.high)).all():
        faults.append("a count lies outside its interval")
    if not np.isfinite(numbers.estimate).all():
        faults.append("an estimate is not finite")
    elif reach is not None:
        # Estimates are rounded in the file, so a bound may have been rounded from either side.
        narrow_low, narrow_high = _interval(numbers, reach)
        wide_low, wide_high = _interval(numbers, reach + 2 * ESTIMATE_ROUNDING)
        low = (wide_low <= numbers.low) & (numbers.low <= narrow_low)
        high = (narrow_high <= numbers.high) & (numbers.high <= wide_high)
        if not (low & high).all():
            faults.append("an interval is not the estimate ± half_width_95")
    return faults


def _interval(numbers: Numbers, reach: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Bounds for the true count, as a release gives them: whole, not negative, around the published count."""
    low = np.minimum(np.maximum(np.ceil(numbers.estimate - reach), 0), numbers.count)
    return low, np.maximum(np.floor(numbers.estimate + reach), numbers.count)


def _disagreements(tables: Mapping[Columns, Numbers], *, estimates: bool) -> list[str]:
    """Pairs of tables that give different totals, columns or pairs of columns; by ``estimates`` too."""
    faults = []
    first: dict[Columns, tuple[str, npt.NDArray[np.int64], npt.NDArray[np.float64], int]] = {}
    for table, numbers in sorted(tables.items(), key=lambda item: len(item[0])):
        for size in range(min(len(table), 2) + 1):
            for shared in combinations(sorted(table), size):
                count = marginalise(numbers.count, table, shared)
                estimate = marginalise(numbers.estimate, table, shared)
                cells = numbers.count.size
                if shared not in first:
                    first[shared] = (numbers.file, count, estimate, cells)
                    continue
                file, other_count, other_estimate, other_cells = first[shared]
                what = f"of {' × '.join(shared)}" if shared else "in all"
                if not np.array_equal(count, other_count):
                    faults.append(f"{numbers.file} and {file} disagree on the counts {what}")
                tolerance = ESTIMATE_ROUNDING * (cells + other_cells)
                if estimates and not np.allclose(estimate, other_estimate, rtol=1e-9, atol=tolerance):
                    faults.append(f"{numbers.file} and {file} disagree on the estimates {what}")
    return faults


def _miscounts(payload: bytes, tables: Mapping[Columns, Numbers], plan: Plan) -> list[str]:
    """Tables that the synthetic rows do not give when counted."""
    try:
        columns = csvtext.read(payload, plan.used)
    except ValueError as error:
        return [f"synthetic.csv {error}"]
    rows = {name: placing.cells(plan.column(name), column) for name, column in zip(plan.used, columns, strict=True)}
    strangers = [name for name, codes in rows.items() if (codes < 0).any()]
    if strangers:
        return [f"synthetic.csv: the column {name} holds a text that is no declared cell" for name in strangers]
    return [
        f"{numbers.file} is not what synthetic.csv gives when counted"
        for table, numbers in tables.items()
        if not np.array_equal(_count(rows, table, plan), numbers.count)
    ]


def _count(rows: Mapping[str, npt.NDArray[np.int64]], table: Sequence[str], plan: Plan) -> npt.NDArray[np.int64]:
    if not table:
        return np.array(len(rows[plan.used[0]]))
    shape = plan.shape(tuple(table))
    cell = np.ravel_multi_index([rows[name] for name in table], shape)
    counted: npt.NDArray[np.int64] = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    return counted
