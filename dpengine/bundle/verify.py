"""Check that a release file is whole, consistent, and what it claims to be.

Everything that can be computed again is computed again: the promises, prices, scales and half-widths from the plan,
each table from the synthetic rows, intervals of counts from their estimates. The signature is checked over every byte
of the file. These are not checked:

- whose key it is: anyone can make a release and sign it with a key of their own;
- the texts for people, `PROSE`: they are compared with their SHA-256 in the manifest, but not read;
- what the file alone says of how it was made: id and date, versions of software (but that of the clocks is stated
  where a zone is), the noise in the sentence why this strategy was chosen, which tables were measured, and the noisy
  counts from which cells were found, as far as they give the same cells;
- how ε was divided where that follows from noisy answers: among choices, boxes, and the columns and pairs of a model
  (but for the limits of an audit's part). How many boxes there are follows from noisy counts too; the plan bounds it
  from both sides. All other shares of ε are checked (`checks.division_check`);
- the error of a model beyond what its intervals and the noise of its audit say: too large an error is noticed only
  where intervals would be wider. In a plan that is measured in parts, the error is not checked;
- intervals that depend on more than the file holds: those of a model, of boxes, and of means, sums, quantiles and
  slopes. They must contain their number. Those of a model must also lie around their estimates, and be as wide as the
  manifest states for their table, and as the noise of its columns and the model's error make them; how wide that is
  follows for the total and single columns. Others are at least as wide as the noise of their columns alone (before
  version 7, half-widths of the total and of columns are bounded from below only, and other intervals are not if the
  audit has seven sizes). Estimates from boxes must be near their intervals. For sums and means, widths are checked,
  and that all lie around the same sums, as far as the measured tables say it: not if the plan is measured in parts, by
  a model, or counts persons, and for means less closely if values may be missing. Intervals of quantiles must end at
  knots.

There are four outcomes: signed and intact; signed by another key than the expected one; unsigned, as bundles of earlier
versions are; changed after it was signed. Removing the signature makes an unsigned bundle, and nothing in what is left
can show that. So a reader who expects a signature gives the key; then unsigned is refused.

The file may come from a stranger. So nothing is loaded here that reads tables, opens a ledger or draws noise.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dpengine.array_types import Columns, Floats
from dpengine.bundle.archive import Archive, Source, opened
from dpengine.bundle.checks import sizes
from dpengine.bundle.checks.cross_check import CrossCheck
from dpengine.bundle.checks.expected_widths import (
    EXACT_SINCE,
    amount_widths,
    exactly_known,
    level_half_widths,
    model_bounds,
    tables_of_boxes,
    tables_of_model,
)
from dpengine.bundle.checks.measurement_check import measured_columns
from dpengine.bundle.checks.portal_check import wrong_portals
from dpengine.bundle.checks.price_check import wrong_prices
from dpengine.bundle.checks.strategy_check import is_stated
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.bundle.found_file import searches_in
from dpengine.bundle.promises import file_names, promises, promises_for_readers, table_files
from dpengine.bundle.read import Manifest, count_values, read_manifest
from dpengine.bundle.signature import read_key
from dpengine.errors import Fault, PlanError, ReleaseError
from dpengine.estimate.found_cells import resolve
from dpengine.marginals.measurement import Search
from dpengine.spec import strict_yaml
from dpengine.spec.domain import zones_of
from dpengine.spec.plan import Plan
from dpengine.spec.wording import headings_of, name_of
from dpengine.translation.catalogue import _

__all__ = ["PROSE", "Verified", "examine", "signed_by", "verify"]

MAX_FAULTS = 100
PROSE = ("README.txt", "report.html", "registry.yaml")


class Verified(NamedTuple):
    """The manifest of an intact bundle, and the fingerprint of the key that signed it; None if unsigned.

    `headings` are the names for readers of the tables that the manifest names by their columns, and `promised` is what
    the manifest promises, in the current language.
    """

    manifest: dict[str, Any]
    signed_by: str | None
    headings: dict[str, str]
    promised: dict[str, Any]


def verify(source: Source, key: str | None = None) -> dict[str, Any]:
    """Verify a release bundle and return its manifest; `source` is its path, its bytes, or an open file.

    With an expected `key`, as PEM text or by its fingerprint, the bundle must be signed by it. Without, it may be
    signed by any key, or not at all: see `signed_by`.

    Raises `ReleaseError` with every fault found. Texts for people (`PROSE`) are compared with their checksums, not
    with the numbers.
    """
    return examine(source, key).manifest


def signed_by(source: Source) -> str | None:
    """Return the fingerprint of the key that signed the bytes of a bundle; None if it is not signed.

    Only the signature is checked, not what the bundle says: see `verify`. Raises `ReleaseError` if the file was changed
    after it was signed, or is no bundle.
    """
    with opened(source) as members:
        _check_form(members)
        return members.signed_by()


def examine(source: Source, key: str | None = None, *, isolated: bool = False) -> Verified:
    """Verify a bundle and identify its signer in one reading; with `isolated`, this process exists only for this check.

    A Parquet file with other bytes than this version writes is read in a separate process, unless `isolated`.
    """
    expected = None if key is None else read_key(key)
    with opened(source) as members:
        _check_form(members)
        faults: list[str | Fault] = []
        signer = None
        try:
            signer = members.signed_by()
            if expected is not None and signer != expected:
                faults.append(_unexpected(signer, expected))
        except ReleaseError as error:
            faults += error.faults
        try:
            manifest, *for_readers = _examined(members, isolated=isolated)
        except ReleaseError as error:
            faults += error.faults
    if faults:
        raise ReleaseError(faults[:MAX_FAULTS])
    return Verified(manifest, signer, *for_readers)


def _unexpected(signer: str | None, expected: str) -> str:
    if signer is None:
        return _("the file is not signed, and was to be signed by the key {expected}", expected=expected)
    return _(
        "the file is signed by another key, {signer}, and was to be signed by {expected}",
        signer=signer,
        expected=expected,
    )


def _check_form(members: Archive) -> None:
    if "manifest.json" not in members:
        raise ReleaseError(_("this zip file is not a release: manifest.json is missing"))
    if not members.is_as_written():
        raise ReleaseError(
            _(
                "the zip file holds more than its files, or was packed by another program, so its texts may have been "
                "altered: get it again as it was made"
            )
        )


def _examined(members: Archive, *, isolated: bool) -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """Return the manifest, the headings and the promises. Raises `ReleaseError` with every fault of the files."""
    if "plan.yaml" not in members:
        raise ReleaseError(_("{file} is missing", file="plan.yaml"))
    plan, faults = _read_plan(members)
    if plan is None:
        checked = read_manifest(members.read("manifest.json", sizes.BASE_BYTES))[1]
        raise ReleaseError([*faults, *_wrong_contents(members, checked, None)])
    searches: tuple[Search, ...] = ()
    if plan.found_columns:
        try:
            searches = searches_in(members, plan)
            plan = resolve(plan, searches)
        except ReleaseError as error:
            faults += map(str, error.faults)
    text = members.read("manifest.json", sizes.manifest_bytes(plan))
    if count_values(text) > sizes.manifest_values(plan):
        raise ReleaseError(_("manifest.json holds more values than that of this plan can"))
    manifest, checked = read_manifest(text)
    faults += _wrong_names(members, checked, plan)
    faults += _broken_promises(manifest, checked, plan)
    faults += wrong_prices(checked, plan, searches)
    faults += _wrong_contents(members, checked, plan)
    if checked.schema_version >= 5 and not faults:  # all else agrees with the manifest
        faults += wrong_portals(members, manifest, plan, isolated=isolated)
    if faults:
        raise ReleaseError(faults)
    named = [*(tuple(each.columns) for each in checked.tables), *(tuple(each.columns) for each in checked.measurements)]
    headings = dict(zip(map(name_of, named), map(headings_of(plan), named), strict=True))
    return manifest, headings, promises_for_readers(plan, checked.schema_version)


def _read_plan(members: Archive) -> tuple[Plan | None, list[str]]:
    """Return the plan in the bundle, or what is wrong with it."""
    try:
        return Plan.loads(members.read("plan.yaml", strict_yaml.MAX_BYTES).decode()), []
    except UnicodeDecodeError:
        return None, [_("plan.yaml is not UTF-8 text")]
    except PlanError as error:
        return None, [f"plan.yaml: {fault}" for fault in error.faults]


def _wrong_names(members: Archive, checked: Manifest, plan: Plan) -> list[str]:
    """Compare the files in the bundle, those that the manifest lists, and those that the plan asks for."""
    order = file_names(plan, checked.schema_version)
    expected = set(order)
    present, listed = set(members), set(checked.files)
    unlisted = (expected & present) - listed - {"manifest.json"}
    foreign = sorted(listed - expected)
    return [
        *(_("{file} is missing", file=name) for name in sorted(expected - present - listed)),
        *(_("{file} does not belong in this bundle", file=name) for name in sorted(present - expected)),
        *(_("{file} is not in the manifest's list of files", file=name) for name in sorted(unlisted)),
        *(_("the manifest lists {file}, which does not belong in this bundle", file=name) for name in foreign),
        *([_("the files are not in the order of a release")] if present == expected and list(members) != order else []),
    ]


def _broken_promises(manifest: Mapping[str, Any], checked: Manifest, plan: Plan) -> list[str]:
    """Compare the manifest with what the plan promises in the wording of the manifest's own version."""
    promised = promises(plan, checked.schema_version)
    wrong = [
        key
        for key, value in promised.items()
        if key not in ("guarantee", "domain") and _differ(manifest.get(key), value)
    ]
    for key in ("guarantee", "domain"):
        entries = promised[key].items()
        wrong += [f"{key} → {name}" for name, value in entries if _differ(manifest[key].get(name), value)]
    files = [
        (list(table), file, plan.cells(table), plan.tally_of(table).cells)
        for table, file in table_files(plan, checked.schema_version).items()
    ]
    has_model = checked.schema_version >= 3 and estimator(plan) in (Estimator.MODEL, Estimator.PARTS)
    are_wrong = {
        "schema_version": checked.schema_version < _first_version(plan),
        "counted": ("counted" in manifest) != ("counted" in promised),
        "model_error": checked.model_error is not None and not has_model,
        "software → tzdata": not _names_clocks(checked.software, plan),
        "domain": set(manifest["domain"]) != set(plan.released),
        "strategy": not is_stated(checked.strategy, plan),
        "tables": [(each.columns, each.file, each.cells, each.cells_per_person) for each in checked.tables] != files,
    }
    wrong += [where for where, is_wrong in are_wrong.items() if is_wrong]
    return [_("manifest.json: {where} is not what plan.yaml says", where=where) for where in wrong]


def _first_version(plan: Plan) -> int:
    """Return the earliest manifest version that can describe a release of `plan`."""
    since = {
        8: plan.coarser_levels is not None,
        7: any(getattr(column, "affixes", ()) for column in plan.columns),
        6: bool(plan.found_columns),
        4: bool(plan.has_distinct or plan.in_parts or plan.associations(())),
    }
    return max((version for version, asked in since.items() if asked), default=1)


def _names_clocks(software: Mapping[str, str], plan: Plan) -> bool:
    """Return whether a version of the package of time zones is stated if the plan has a zone, and only then."""
    stated = software.get("tzdata")
    if not zones_of(map(plan.column, plan.released)):
        return stated is None
    return stated is not None and re.fullmatch("20[0-9]{2}[.][0-9]{1,3}([.]post[0-9]{1,2})?", stated) is not None


def _differ(one: object, other: object) -> bool:
    """Return whether two JSON values differ as texts, as 7 and 7.0 do; the order of keys does not matter."""
    return one != other or json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)


def _wrong_contents(members: Archive, checked: Manifest, plan: Plan | None) -> list[str]:
    """Read each file once and compare it with its SHA-256, and each table with the rows and the tables before it.

    Synthetic rows come first, then tables of few columns. Raises `ReleaseError` where files are damaged.
    """
    faults = [_("{file} is missing", file=name) for name in checked.files if name not in members]
    damaged: list[str] = []
    files = {} if plan is None else table_files(plan, checked.schema_version)
    tables = {file: table for table, file in files.items()}
    cross_check = None if plan is None else _cross_check(checked, plan)
    for name in sorted(members, key=lambda name: (name != "synthetic.csv", len(tables.get(name, ())))):
        most = sizes.PROSE_BYTES if plan is None else sizes.file_bytes(plan, name, tables.get(name))
        pieces = _Pieces(members.pieces(name, most))
        try:
            if cross_check is not None:
                faults += _compared(cross_check, pieces, name, tables)
            pieces.finish()
        except ReleaseError as error:
            damaged += map(str, error.faults)
            continue
        entry = checked.files.get(name)
        if entry and (pieces.size != entry.bytes or pieces.sha256() != entry.sha256):
            faults.append(
                _("{file} was changed: it does not have the SHA-256 and size that the manifest gives", file=name)
            )
    if damaged:
        raise ReleaseError(damaged)
    return faults + (cross_check.of_all() if cross_check is not None and not faults else [])


def _compared(
    cross_check: CrossCheck, pieces: Iterable[bytes], name: str, tables: Mapping[str, Columns]
) -> Sequence[str]:
    """Compare a file of rows, or of one of the `tables`, with what was read before."""
    if name == "synthetic.csv":
        return cross_check.add_rows(pieces)
    return cross_check.add_table(pieces, name, tables[name]) if name in tables else ()


def _half_widths(checked: Manifest, plan: Plan) -> dict[Columns, float | Floats]:
    """Return the half-width of each table, or those of its cells, as far as they follow from the measurements."""
    direct = estimator(plan) is Estimator.LEAST_SQUARES
    known = checked.tables if direct else exactly_known(checked, plan)
    return {tuple(entry.columns): entry.half_width_95 for entry in known} | level_half_widths(checked, plan)


def _cross_check(checked: Manifest, plan: Plan) -> CrossCheck:
    """Return the comparison of the tables of a bundle with each other and with its rows."""
    direct = estimator(plan) is Estimator.LEAST_SQUARES
    return CrossCheck(
        plan,
        measured_columns(checked, plan),
        half_widths=_half_widths(checked, plan),
        of_model=tables_of_model(checked, plan),
        of_boxes=tables_of_boxes(checked, plan),
        stated=None if direct else {tuple(entry.columns): entry.half_width_95 for entry in checked.tables},
        exact=checked.schema_version >= EXACT_SINCE,
        widths=amount_widths(checked, plan),
        bounds=model_bounds(checked, plan),
    )


class _Pieces:
    """The pieces of a file, each read once, with their SHA-256 and size so far."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._digest = hashlib.sha256()
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._digest.update(piece)
            self.size += len(piece)
            yield piece

    def finish(self) -> None:
        """Read what is left."""
        for _piece in self:
            pass

    def sha256(self) -> str:
        """Return the SHA-256 of what was read, in hexadecimal digits."""
        return self._digest.hexdigest()
