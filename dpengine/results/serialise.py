"""Serialise a finished release for the ledger: arrays and JSON, readable without running code.

Names in the payload are those of the first version, even if the code has renamed things.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats
from dpengine.errors import LedgerError
from dpengine.estimate.amounts import AmountTable
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.marginals.measurement import (
    Allocation,
    Audit,
    Boxes,
    Choice,
    ChosenQuantiles,
    FoundKeys,
    Measurement,
    Measurements,
    QuantileShare,
    Unevenness,
)
from dpengine.results.stated import Stated, TableNumbers
from dpengine.synthesis.generate_rows import SyntheticRows, WholeCounts
from dpengine.translation.catalogue import _, mark

__all__ = ["Stored", "pack", "plan_of", "unpack"]

Array = npt.NDArray[Any]
DAMAGED = (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error)
CANNOT_BE_READ = mark("a stored release cannot be read; restore the ledger from a backup")
COMPRESSION = 3  # a payload is 7 % larger than at the level 6 of NumPy, in less than half of the time
BOXES = ("parents", "first", "last", "parts", "values")
UNEVENNESS = ("axes", "first", "last", "widths", "parts", "values")
KEYS = ("places", "values")
STATED = ("estimate", "low", "high", "mostly_noise")


@dataclass(frozen=True)
class Stored:
    """A release as it is stored: `plan` and `provenance` (its id, time and software) are plain values.

    `model` is None if it could not be made yet. `further_models` are those of further tallies. With
    `legacy_quantiles`, quantiles are those of releases that were made before distributions were estimated.
    """

    plan: Mapping[str, Any]
    measured: Measurements
    model: WholeCounts | None
    provenance: Mapping[str, Any]
    amounts: tuple[AmountTable, ...] = ()
    further_models: tuple[WholeCounts, ...] = ()
    stated: Stated = field(default_factory=Stated)
    legacy_quantiles: bool = False


def pack(release: Stored) -> bytes:
    """Return the payload of a release, for the ledger. Each of its further models is stored as a payload within it."""
    measured_header, arrays = _pack_measured(release.measured)
    model_header, model_arrays = _pack_model(release.model)
    stated_header, stated_arrays = _pack_stated(release.stated)
    header: dict[str, Any] = {"plan": release.plan, **release.provenance, **measured_header, **model_header}
    arrays |= model_arrays
    if release.amounts:
        header["amounts"] = [(table.amount, table.columns) for table in release.amounts]
        header["quantiles_of_distributions"] = not release.legacy_quantiles
        arrays |= {f"known{k}": table.known for k, table in enumerate(release.amounts)}
        arrays |= {f"steps{k}": table.steps for k, table in enumerate(release.amounts)}
        arrays |= {
            f"expected{k}": table.expected[table.known == 0]
            for k, table in enumerate(release.amounts)
            if table.expected is not None
        }
    header |= stated_header
    arrays |= stated_arrays
    for k, other in enumerate(release.further_models):
        nested = pack(Stored({}, Measurements(()), other, release.provenance))
        arrays[f"apart{k}"] = np.frombuffer(nested, dtype=np.uint8)
    arrays["header"] = np.frombuffer(json.dumps(header, default=str).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as file:  # as np.savez does
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return buffer.getvalue()


def _pack_measured(measured: Measurements) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the entries of the header, and the arrays, that hold what was measured."""
    marginals, of_marginals = _pack_marginals(measured)
    boxes, of_boxes = _pack_boxes(measured)
    found, of_found = _pack_found(measured)
    return marginals | boxes | found, of_marginals | of_boxes | of_found


def _pack_marginals(measured: Measurements) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the entries and arrays of the marginals, the choices and the audit."""
    header: dict[str, Any] = {}
    header["shares"] = [
        (
            each.allocation.columns,
            str(each.allocation.epsilon),
            each.allocation.sensitivity,
            len(each.merged),
            *([each.allocation.grain] if each.allocation.grain > 1 else []),
        )
        for each in measured.marginals
    ]
    if any(each.allocation.tally for each in measured.marginals):
        header["tallies"] = [each.allocation.tally for each in measured.marginals]
    header["choices"] = [(each.what, each.mechanism, str(each.epsilon), each.sensitivity) for each in measured.choices]
    if measured.by_classes:
        header["by_classes"] = True
    arrays: dict[str, Array] = {f"measured{k}": each.values for k, each in enumerate(measured.marginals)}
    for k, each in enumerate(measured.marginals):
        arrays |= {f"merged{k}_{axis}": bins for axis, bins in enumerate(each.merged)}
    if (audit := measured.audit) is not None:
        header["audit"] = (audit.tables, str(audit.epsilon), audit.sensitivity, audit.grain)
        arrays["audit_sums"] = audit.sums
    return header, arrays


def _pack_boxes(measured: Measurements) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the entries and arrays of all boxes."""
    header: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    if (boxes := measured.boxes) is not None:
        header["boxes"] = (boxes.columns, boxes.shape, str(boxes.epsilon), boxes.sensitivity)
        arrays |= _arrays_of(boxes, "boxes")
    if measured.more_boxes:
        header["more_boxes"] = [(each.columns, each.shape, str(each.epsilon), each.sensitivity)
                                for each in measured.more_boxes]  # fmt: skip
        for k, each in enumerate(measured.more_boxes):
            arrays |= _arrays_of(each, f"boxes{k}")
    return header, arrays


def _pack_found(measured: Measurements) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the entries and arrays of chosen quantiles and of found cells."""
    header: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    if measured.quantiles:
        shares = [chosen.share for chosen in measured.quantiles]
        header["quantiles"] = [
            (each.columns, each.amount, list(map(str, each.parts)), str(each.epsilon), each.sensitivity)
            for each in shares
        ]
        arrays |= {f"quantiles{k}": chosen.places for k, chosen in enumerate(measured.quantiles)}
    if measured.searches:
        header["searches"] = [
            (each.columns, (each.universe, each.least) if isinstance(each, FoundKeys) else each.shape,
             str(each.epsilon), each.sensitivity)
            for each in measured.searches
        ]  # fmt: skip
        arrays |= {
            f"search{k}_{name}": getattr(each, name)
            for k, each in enumerate(measured.searches)
            for name in (KEYS if isinstance(each, FoundKeys) else BOXES)
        }
    return header, arrays


def _pack_model(model: WholeCounts | None) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the entries of the header, and the arrays, that hold whole counts and rows."""
    header: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    rows = model.rows if isinstance(model, ConsistentTables) else model
    if isinstance(rows, SyntheticRows):
        header["rows"] = (rows.domain.names, rows.domain.sizes)
        arrays["rows"] = rows.codes.astype(np.min_scalar_type(max(rows.domain.sizes)))
        arrays["times"] = rows.weights.astype(np.min_scalar_type(rows.weights.max(initial=0)))
    if isinstance(model, ConsistentTables):
        header["cliques"] = [table.columns for table in model.tables]
        arrays |= {f"model{k}": table.values for k, table in enumerate(model.tables)}
    return header, arrays


def _pack_stated(stated: Stated) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the entries of the header, and the arrays, that hold what was stated first; none if nothing was."""
    if not stated.tables:
        return {}, {}
    tables = [(columns, each.half_width, each.estimate.shape) for columns, each in stated.tables.items()]
    # All tables in one array: each array takes as long to write and read as a thousand numbers.
    arrays = {
        f"stated_{name}": np.concatenate([getattr(each, name).ravel() for each in stated.tables.values()])
        for name in STATED
    }
    return {"stated_tables": tables, "model_error": stated.model_error}, arrays


def plan_of(payload: bytes) -> dict[str, Any]:
    """Return the plan in a payload, without reading its numbers. Raises `LedgerError` if the payload is damaged."""
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            plan: dict[str, Any] = json.loads(arrays["header"].tobytes())["plan"]
    except DAMAGED as error:
        raise LedgerError(_(CANNOT_BE_READ)) from error
    return plan


def unpack(payload: bytes) -> Stored:
    """Return what `pack` stored. Raises `LedgerError` if the payload is damaged."""
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            header: dict[str, Any] = json.loads(arrays["header"].tobytes())
            measured, model = _measured_in(header, arrays), _whole_counts_in(header, arrays)
            amounts = tuple(
                AmountTable(tuple(columns), name, arrays[f"known{k}"], arrays[f"steps{k}"], _expected_in(arrays, k))
                for k, (name, columns) in enumerate(header.get("amounts", ()))
            )
            stated = _stated_in(header, arrays)
            further_models = tuple(
                _model_in(arrays[f"apart{k}"]) for k in range(sum(name.startswith("apart") for name in arrays))
            )
    except DAMAGED as error:
        raise LedgerError(_(CANNOT_BE_READ)) from error
    provenance = {key: header[key] for key in ("release_id", "created", "software")}
    legacy = bool(amounts) and not header.get("quantiles_of_distributions", False)
    return Stored(header["plan"], measured, model, provenance, amounts, further_models, stated, legacy)


def _expected_in(arrays: Mapping[str, Array], k: int) -> Floats | None:
    """Return the expected means of cells in which no value is known; None in payloads of earlier versions."""
    if f"expected{k}" not in arrays:
        return None
    known = arrays[f"known{k}"]
    expected = np.zeros(known.shape)
    expected[known == 0] = arrays[f"expected{k}"]
    return expected


def _measured_in(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Measurements:
    """Return what was measured, from the header and the arrays of a payload."""
    tallies = header.get("tallies", [0] * len(header["shares"]))
    measurements = tuple(
        Measurement(
            Allocation(tuple(columns), Fraction(epsilon), sensitivity, grain[0] if grain else 1, tallies[k]),
            arrays[f"measured{k}"],
            tuple(arrays[f"merged{k}_{axis}"] for axis in range(merged)),
        )
        for k, (columns, epsilon, sensitivity, merged, *grain) in enumerate(header["shares"])
    )
    choices = tuple(
        Choice(purpose, mechanism, Fraction(epsilon), s) for purpose, mechanism, epsilon, s in header["choices"]
    )
    audit = None
    if "audit" in header:
        audited, epsilon, sensitivity, grain = header["audit"]
        audit = Audit(tuple(map(tuple, audited)), Fraction(epsilon), sensitivity, grain, arrays["audit_sums"])
    boxes = _boxes_in(arrays, "boxes", header["boxes"]) if "boxes" in header else None
    more_boxes = tuple(_boxes_in(arrays, f"boxes{k}", entry) for k, entry in enumerate(header.get("more_boxes", ())))
    searches = tuple(
        _keys_in(arrays, f"search{k}", entry)
        if f"search{k}_places" in arrays
        else _boxes_in(arrays, f"search{k}", entry)
        for k, entry in enumerate(header.get("searches", ()))
    )
    quantiles = tuple(
        ChosenQuantiles(
            QuantileShare(tuple(columns), name, tuple(map(Decimal, parts)), Fraction(epsilon), sensitivity),
            arrays[f"quantiles{k}"],
        )
        for k, (columns, name, parts, epsilon, sensitivity) in enumerate(header.get("quantiles", ()))
    )
    by_classes = header.get("by_classes", False)
    return Measurements(measurements, choices, audit, boxes, more_boxes, quantiles, searches, by_classes)


def _whole_counts_in(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> WholeCounts | None:
    """Return the whole counts or rows in a payload; None if there are none."""
    model: WholeCounts | None = None
    rows = None
    if "rows" in header:
        columns, sizes = header["rows"]
        codes = arrays["rows"].astype(np.int32)
        # Releases of earlier versions hold no weights: there, every row counts once.
        weights = arrays["times"] if "times" in arrays else np.ones(codes.shape[1])
        model = rows = SyntheticRows(Domain(tuple(columns), tuple(sizes)), codes, weights.astype(np.int64))
    if "cliques" in header:
        cliques = enumerate(header["cliques"])
        cells = tuple(Marginal(tuple(names), arrays[f"model{k}"]) for k, names in cliques)
        model = ConsistentTables(cells, rows)
    return model


def _arrays_of(boxes: Boxes, prefix: str) -> dict[str, Array]:
    arrays: dict[str, Array] = {f"{prefix}_{name}": getattr(boxes, name) for name in BOXES}
    if boxes.unevenness is not None:
        arrays |= {f"{prefix}_uneven_{name}": getattr(boxes.unevenness, name) for name in UNEVENNESS}
    return arrays


def _boxes_in(arrays: Mapping[str, Array], prefix: str, entry: Sequence[Any]) -> Boxes:
    columns, shape, epsilon, sensitivity = entry
    fields = {name: arrays[f"{prefix}_{name}"] for name in BOXES}
    uneven = None  # nothing was asked, as in all releases of earlier versions
    if f"{prefix}_uneven_values" in arrays:
        uneven = Unevenness(**{name: arrays[f"{prefix}_uneven_{name}"] for name in UNEVENNESS})
    return Boxes(tuple(columns), tuple(shape), Fraction(epsilon), sensitivity, unevenness=uneven, **fields)


def _stated_in(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Stated:
    """Return what was stated first. Releases of earlier versions state nothing: their numbers are derived again."""
    error = header.get("model_error")
    tables = {
        tuple(columns): TableNumbers(**{name: arrays[f"stated{k}_{name}"] for name in STATED}, half_width=half_width)
        for k, (columns, half_width) in enumerate(header.get("stated", ()))  # of unpublished versions after 0.1.0
    }
    if "stated_tables" in header:
        numbers, start = {name: arrays[f"stated_{name}"] for name in STATED}, 0
        for columns, half_width, shape in header["stated_tables"]:
            end = start + math.prod(shape)
            own = {name: values[start:end].reshape(shape) for name, values in numbers.items()}
            tables[tuple(columns)], start = TableNumbers(**own, half_width=half_width), end
    return Stated(tables, None if error is None else tuple(error))


def _keys_in(arrays: Mapping[str, Array], prefix: str, entry: Sequence[Any]) -> FoundKeys:
    columns, (universe, least), epsilon, sensitivity = entry
    fields = {name: arrays[f"{prefix}_{name}"] for name in KEYS}
    return FoundKeys(tuple(columns), universe, least, Fraction(epsilon), sensitivity, **fields)


def _model_in(payload: Array) -> WholeCounts:
    model = unpack(payload.tobytes()).model
    if model is None:
        raise ValueError("the tables of a tally are kept whole")
    return model
