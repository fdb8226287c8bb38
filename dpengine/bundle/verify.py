"""Is a release file whole, consistent, and what it says it is? Every fault is found and told.

What can be worked out again is worked out again: domain, prices, scales and half-widths from the plan,
each table from the synthetic rows, each interval from its estimate. What this cannot show is who made
the file: someone able to make a release can make another one. Nor does it read `PROSE`, files of
words for people: they are held to their SHA-256 in the manifest and to nothing else.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpengine.array_types import Columns
from dpengine.bundle import manifest
from dpengine.bundle.cross_check import Tally
from dpengine.bundle.read import FIXED, Manifest, Members, Source, read_manifest, unpacked
from dpengine.errors import PlanError, ReleaseError
from dpengine.estimate.error_distribution import error_law
from dpengine.marginals.measurement import DISCRETE_LAPLACE, PERMUTE_AND_FLIP, Allocation
from dpengine.measure.strategy import ADAPTIVE
from dpengine.spec import strict_yaml
from dpengine.spec.parsing import rational
from dpengine.spec.plan import Plan, epsilon_text

__all__ = ["PROSE", "verify"]

PROSE = ("README.txt", "report.html", "registry.yaml")


def verify(source: Source) -> dict[str, Any]:
    """The manifest of a release bundle that is whole: ``source`` is its path, its bytes, or an open file.

    What `PROSE` says is not read. Raises `ReleaseError` with every fault found.
    """
    with unpacked(source) as members:
        told, checked = read_manifest(members)
        plan, faults = _plan(members)
        if plan is not None:
            faults += _names(members, checked, plan)
            faults += _agreement(told, checked, plan)
            faults += _prices(checked, plan)
        faults += _contents(members, checked, plan)
    if faults:
        raise ReleaseError(faults)
    return told


def _plan(members: Mapping[str, bytes]) -> tuple[Plan | None, list[str]]:
    """The plan in the bundle, or what is wrong with it."""
    text = members.get("plan.yaml")
    if text is None:
        return None, ["plan.yaml is missing"]
    if len(text) > strict_yaml.MAX_BYTES:
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
    allocations: list[Allocation] = []
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
        allocation = Allocation(tuple(entry.columns), epsilon, entry.sensitivity)
        if _exact(entry.scale) != allocation.scale:
            faults.append(f"{where}: scale is not sensitivity / epsilon, which is {epsilon_text(allocation.scale)}")
        if entry.purpose is not None and adaptive:
            if entry.sensitivity % plan.unit.rows or entry.mechanism not in (DISCRETE_LAPLACE, PERMUTE_AND_FLIP):
                faults.append(f"{where}: mechanism or sensitivity are not those of such a question")
            continue
        allocations.append(allocation)
        if entry.sensitivity != plan.unit.rows:
            faults.append(f"{where}: sensitivity {entry.sensitivity} does not protect {plan.unit.rows} rows a person")
        fewer = adaptive and entry.merged_to is not None and 0 < entry.cells == math.prod(entry.merged_to)
        if entry.mechanism != DISCRETE_LAPLACE or not (entry.cells == plan.cells(allocation.columns) or fewer):
            faults.append(f"{where}: mechanism or cells are not those of such a measurement")
    if spent != plan.epsilon:
        faults.append(f"manifest.json: the shares of ε do not add up to {epsilon_text(plan.epsilon)}")
    if adaptive:
        return faults
    if len({frozenset(allocation.columns) for allocation in allocations}) < len(allocations):
        faults.append("manifest.json: the same columns are measured twice")
    lost = [t for t in plan.marginals if not any(set(t) <= set(allocation.columns) for allocation in allocations)]
    faults += [f"manifest.json: table {' × '.join(table)} lies within no measured marginal" for table in lost]
    if not faults:
        for said in checked.tables:
            half_width = error_law(plan, allocations, tuple(said.columns)).half_width()
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


def _contents(members: Members, checked: Manifest, plan: Plan | None) -> list[str]:
    """Read each file once, rows and small tables first: against its digest, and tables against all that came before.

    Raises `ReleaseError` where a file is damaged.
    """
    faults = [f"{name} is missing" for name in checked.files if name not in members]
    damaged: list[str] = []
    tables: dict[str, Columns] = {}
    reach: dict[Columns, float] = {}
    tally = None
    if plan is not None:
        modelled = plan.strategy == ADAPTIVE  # then intervals differ from cell to cell
        tally = Tally(plan, estimates=not modelled)
        tables = {file: table for table, file in manifest.table_files(plan).items()}
        reach = {} if modelled else {tuple(entry.columns): entry.half_width_95 for entry in checked.tables}
    for name in sorted(members, key=lambda name: (name != "synthetic.csv", len(tables.get(name, ())))):
        try:
            payload = members[name]
        except ReleaseError as error:
            damaged += error.faults
            continue
        entry = checked.files.get(name)
        if entry and (len(payload) != entry.bytes or hashlib.sha256(payload).hexdigest() != entry.sha256):
            faults.append(f"{name} was changed: it does not have the SHA-256 and size that the manifest gives")
        if tally is not None and name == "synthetic.csv":
            faults += tally.rows(payload)
        elif tally is not None and name in tables:
            faults += tally.table(payload, name, tables[name], reach.get(tables[name]))
    if damaged:
        raise ReleaseError(damaged)
    return faults
