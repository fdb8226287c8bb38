"""Every change of a release bundle is found, also where a careful forger recomputed all SHA-256 sums."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpengine.bundle.manifest import measurements
from dpengine.bundle.manifest_wording import SCHEMA_VERSION
from dpengine.bundle.verify import PROSE, verify
from dpengine.errors import ReleaseError
from dpengine.marginals.measurement import Allocation, Measurement, Measurements
from tests.bundles import (
    AGE,
    COUNT,
    ESTIMATE,
    HIGH,
    LOW,
    TOTAL,
    VISIT,
    Members,
    cell,
    faults_of,
    manifest_in,
    members_of,
    plus,
    rows_of,
    stated,
    stated_as,
    table_of,
    with_portals,
    zipped,
)
from tests.plans import letters_plan


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        assert old in members[name]
        members[name] = members[name].replace(old, new, 1)

    return edit


def dropped(name: str) -> Callable[[Members], None]:
    return lambda members: members.__delitem__(name)


def with_a_zero(members: Members) -> None:
    """Put a 0 before the first age that is a number."""
    rows = rows_of(members["synthetic.csv"])
    place = rows[0].index("age")
    row = next(row for row in rows[1:] if row[place].isdigit() and row[place] != "0")
    row[place] = f"0{row[place]}"
    members["synthetic.csv"] = table_of(rows)


def swapped(name: str, one: int, other: int) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        lines = members[name].split(b"\r\n")
        lines[one], lines[other] = lines[other], lines[one]
        members[name] = b"\r\n".join(lines)

    return edit


@pytest.mark.by_day(4)
@pytest.mark.parametrize(
    "name", ["README.txt", "plan.yaml", AGE, TOTAL, "synthetic.csv", "report.html", "registry.yaml"]
)
@pytest.mark.parametrize("change", [lambda text: text + b"\n", lambda text: text[:-3] + b"~" + text[-2:]])
def test_a_changed_byte_is_found_by_its_sha_256(bundle: bytes, name: str, change: Callable[[bytes], bytes]) -> None:
    members = members_of(bundle)
    members[name] = change(members[name])
    assert f"{name} was changed: it does not have the SHA-256 and size that the manifest gives" in faults_of(
        zipped(members, rehash=False)
    )


CHANGES: dict[str, tuple[Callable[[Members], None], str]] = {
    "a file left out": (dropped("README.txt"), "README.txt is missing"),
    "a table left out": (dropped(AGE), f"{AGE} is missing"),
    "the rows left out": (dropped("synthetic.csv"), "synthetic.csv is missing"),
    "the plan left out": (dropped("plan.yaml"), "plan.yaml is missing"),
    "a file put in": (lambda m: m.update({"x.exe": b""}), "x.exe does not belong"),
    "a path upwards": (lambda m: m.update({"../x": b""}), "'../x' is not a safe name"),
    "an absolute path": (lambda m: m.update({"/etc/x": b""}), "'/etc/x' is not a safe name"),
    "a backslash": (lambda m: m.update({"a\\b": b""}), "is not a safe name"),
    "a folder": (lambda m: m.update({"d/": b""}), "'d/' is not a safe name"),
    "a count": (cell(AGE, 3, COUNT, plus(1)), f"{AGE} is not what synthetic.csv gives"),
    "a margin": (cell(AGE, 3, COUNT, plus(1)), f"{VISIT} and {AGE} disagree on the counts of region"),
    "a total": (cell(AGE, 3, COUNT, plus(1)), f"{AGE} and {TOTAL} disagree on the counts in all"),
    "a negative count": (cell(AGE, 3, COUNT, lambda _: "-1"), f"{AGE}: a count is negative"),
    "half a person": (cell(AGE, 3, COUNT, lambda _: "1.5"), f"{AGE} has a count, low or high that is no"),
    "a count beyond its interval": (cell(AGE, 3, COUNT, plus(999)), f"{AGE}: a count lies outside its interval"),
    "an estimate": (cell(AGE, 3, ESTIMATE, plus(0.4)), "disagree on the estimates in all"),
    "an estimate that is not finite": (cell(AGE, 3, ESTIMATE, lambda _: "nan"), f"{AGE}: an estimate is not finite"),
    "an estimate that is text": (cell(AGE, 3, ESTIMATE, lambda _: "x"), f"{AGE} has an estimate that is not a number"),
    "an interval too wide": (cell(AGE, 3, HIGH, plus(1)), f"{AGE}: an interval is not the estimate ±"),
    "an interval too wide below": (cell(AGE, 3, LOW, plus(-1)), f"{AGE}: an interval is not the estimate ±"),
    "an interval too narrow": (cell(AGE, 3, LOW, plus(1)), f"{AGE}: an interval is not the estimate ±"),
    "an interval too narrow above": (cell(AGE, 3, HIGH, plus(-1)), f"{AGE}: an interval is not the estimate ±"),
    "a header": (cell(AGE, 0, COUNT, lambda _: "n"), f"{AGE} does not have the header"),
    "a label": (cell(AGE, 3, 5, lambda _: "Atlantis"), f"{AGE} line 4, column region"),
    "a leading zero": (cell(AGE, 3, LOW, lambda text: f"0{text}"), f"{AGE} has a count, low or high that is no"),
    "sixteen digits": (cell(AGE, 3, COUNT, lambda text: hex(int(text))), f"{AGE} has a count, low or high that is no"),
    "an estimate with zeros": (cell(AGE, 3, ESTIMATE, lambda _: "9.10"), f"{AGE} has an estimate that is not a number"),
    "a row's leading zero": (with_a_zero, "has a text in the column age that is no"),
    "two rows swapped": (swapped(AGE, 1, 2), f"{AGE} line 2, column region"),
    "a row out of the table": (swapped(AGE, 3, -1), f"{AGE}"),
    "a row twice": (lambda m: m.update({TOTAL: m[TOTAL] * 2}), f"{TOTAL} has 3 rows, not one for each"),
    "a table that is not CSV": (lambda m: m.update({AGE: b'"'}), f"{AGE} is not a CSV file"),
    "an empty table": (lambda m: m.update({AGE: b""}), f"{AGE} is not a CSV file"),
    "a table that is not UTF-8": (lambda m: m.update({AGE: b"\xff\xfe"}), f"{AGE} is not a CSV file"),
    "rows in another order are no fault": (swapped("synthetic.csv", 1, -2), ""),
    "a person moved": (replaced("synthetic.csv", b"North", b"South"), f"{AGE} is not what synth"),
    "an undeclared text": (replaced("synthetic.csv", b"North", b"Nirth"), "has a text in the column region"),
    "another header": (replaced("synthetic.csv", b"age,", b"age ,"), "synthetic.csv does not have the header"),
    "the plan's ε": (replaced("plan.yaml", b"'1'", b"'2'"), "guarantee → epsilon is not what"),
    "the plan's sum": (replaced("plan.yaml", b"'1'", b"'2'"), "the ε of all measurements does not add up to 2"),
    "a plan that is refused": (replaced("plan.yaml", b"rows: 1", b"rows: 0"), "plan.yaml: unit → rows"),
    "a renamed cell": (replaced("plan.yaml", b"North", b"Nord"), "domain → region is not what"),
    "a plan of bytes": (lambda m: m.update({"plan.yaml": b"\xff"}), "plan.yaml is not UTF-8"),
    "a smaller ε": (stated("guarantee", "epsilon", value="0.1"), "guarantee → epsilon is not what plan"),
    "another δ": (stated("guarantee", "delta", value="0.1"), "guarantee → delta is not what"),
    "another unit": (stated("guarantee", "unit", "rows", value=9), "guarantee → unit is not what"),
    "unit in words": (stated("guarantee", "unit", "text", value="all"), "guarantee → unit is not what"),
    "a promise": (stated("guarantee", "definition", value="100 %"), "guarantee → definition is not"),
    "neighbours": (stated("guarantee", "neighbours", value="none"), "guarantee → neighbours is not"),
    "trust": (stated("guarantee", "trust_model", value="none"), "guarantee → trust_model is not"),
    "a limit hidden": (stated("not_protected", 0, value="x"), "not_protected is not what plan.yaml says"),
    "another way": (stated("post_processing", 0, value="x"), "post_processing is not what plan.yaml says"),
    "surer intervals": (stated("intervals", value="all"), "intervals is not what plan.yaml says"),
    "rows left out": (stated("coverage", value="x"), "coverage is not what plan.yaml says"),
    "other rows counted": (stated("counted", "what", value="kept rows"), "counted is not what plan.yaml says"),
    "a model's error where there is none": (
        stated("model_error", value={"factor": 1.0, "power": 0.5}), "model_error is not what plan.yaml says",
    ),
    "another title": (stated("title", value="Other"), "title is not what plan.yaml says"),
    "another dataset": (stated("dataset", value="other"), "dataset is not what plan.yaml says"),
    "other cells": (stated("domain", "age", "labels", value=[]), "domain → age is not what plan.yaml"),
    "cells as a fraction": (stated_as(float, "domain", "age", "cells"), "domain → age is not what plan.yaml"),
    "a version as a fraction": (stated_as(float, "schema_version"), "schema_version"),
    "another source": (stated("domain", "age", "source", value="standard"), "domain → age is not what"),
    "a column more": (stated("domain", "new", value={}), "domain is not what plan.yaml says"),
    "fewer cells": (stated("tables", 0, "cells", value=1), "tables is not what plan.yaml says"),
    "a table of no column": (stated("tables", 0, "columns", value=["x"]), "tables is not what plan.yaml says"),
    "another file": (stated("tables", 0, "file", value=VISIT), "tables is not what plan.yaml says"),
    "a half-width by a tenth": (
        stated_as(lambda wide: 0.9 * wide, "tables", 0, "half_width_95"), "does not follow from the meas"
    ),
    "half-width": (stated("tables", 0, "half_width_95", value=1.0), "does not follow from the meas"),
    "intervals": (stated("tables", 0, "half_width_95", value=1.0), "an interval is not the estimate ±"),
    "another share of ε": (stated("measurements", 0, "epsilon", value="1/9"), "measurements does not add up"),
    "no share of ε": (stated("measurements", 0, "epsilon", value="0"), "epsilon is not a number above 0"),
    "denominator 0": (stated("measurements", 0, "epsilon", value="1/0"), "epsilon is not a number above 0"),
    "an odd share of ε": (stated("measurements", 0, "epsilon", value="1e9"), "measurements → 1 → epsilon"),
    "less noise": (stated("measurements", 0, "scale", value="1"), "scale is not sensitivity / epsilon"),
    "another sensitivity": (stated("measurements", 0, "sensitivity", value=2), "sensitivity 2 does not protect"),
    "a longer ε": (stated_as(lambda text: f"0{text}", "measurements", 0, "epsilon"), "in its shortest exact form"),
    "a longer scale": (stated_as(lambda text: f"0{text}", "measurements", 0, "scale"), "is not sensitivity / epsilon"),
    "an endless sensitivity": (stated("measurements", 0, "sensitivity", value=10**4298), "→ sensitivity"),
    "counts not shown": (stated("measurements", 0, "shown_from", value=9), "only found values are shown from"),
    "a table not measured": (stated("measurements", 0, "columns", value=["age"]), "age × region lies within no"),
    "columns not in the plan": (stated("measurements", 0, "columns", value=["x"]), "columns are not all in plan.yaml"),
    "a column twice": (stated("measurements", 0, "columns", value=["age", "age"]), "it names a column twice"),
    "no noise": (stated("measurements", 0, "mechanism", value="none"), "mechanism or number of cells"),
    "other measured cells": (stated("measurements", 0, "cells", value=7), "mechanism or number of cells"),
    "nothing measured": (stated("measurements", value=[]), "measurements"),
    "nothing unprotected": (stated("not_protected", value=[]), "not_protected"),
    "sentences of another version": (stated("schema_version", value=1), "post_processing is not what plan.yaml says"),
    "another schema": (stated("schema_version", value=SCHEMA_VERSION + 1), "schema_version"),
    "an odd name": (stated("release_id", value="../x"), "release_id"),
    "an odd date": (stated("created", value="yesterday"), "created"),
    "no day of a year": (stated("created", value="2026-02-30T00:00:00+00:00"), "created"),
    "a date in other digits": (stated("created", value="٢٠٢٦-01-01T00:00:00+00:00"), "created"),
    "one file more": (stated("files", "x.txt", value={"sha256": "0" * 64, "bytes": 0}), "x.txt is missing"),
    "a manifest that is a list": (lambda m: m.update({"manifest.json": b"[]"}), "manifest.json"),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "fault"), CHANGES.values(), ids=CHANGES)
@pytest.mark.by_day(10)
def test_every_change_is_found_even_where_all_sha_256_sums_are_recomputed(
    bundle: bytes, edit: Callable[[Members], None], fault: str
) -> None:
    members = members_of(bundle)
    edit(members)
    if not fault:
        verify(zipped(with_portals(members)))
        return
    forged = zipped(members, rehash=members["manifest.json"] != b"[]")
    assert any(fault in each for each in faults_of(forged)), faults_of(forged)


def test_a_manifest_says_how_many_cells_were_left_by_merging() -> None:
    plan = letters_plan([4, 3], [["a", "b"]])
    merged = np.array([0, 0, 1, 1]), np.array([0, 1, 1])
    one = Measurement(Allocation(("a", "b"), Fraction(1), 1), np.zeros((2, 2), dtype=np.int64), merged)
    (entry,) = measurements(Measurements((one,)), plan)
    assert (entry["merged_to"], entry["cells"]) == ([2, 2], 4)


def test_all_faults_are_reported_at_once(bundle: bytes) -> None:
    members = members_of(bundle)
    for edit in (dropped("README.txt"), cell(AGE, 3, COUNT, plus(1)), stated("title", value="x")):
        edit(members)
    faults = "\n".join(faults_of(zipped(members)))
    assert all(part in faults for part in ("README.txt is missing", "title is not", "disagree on the counts"))


def test_faults_come_in_the_order_of_names(bundle: bytes) -> None:
    members = members_of(bundle)
    with manifest_in(members) as manifest:
        names = [f"{letter}.txt" for letter in "hgfedcba"]
        manifest["files"] |= {name: {"sha256": "0" * 64, "bytes": 0} for name in names}
    listed = [fault for fault in faults_of(zipped(members)) if fault.startswith("the manifest lists")]
    assert listed == [f"the manifest lists {name}, which does not belong in this bundle" for name in sorted(names)]


@pytest.mark.parametrize("name", ["manifest.json", AGE])
def test_a_file_missing_from_the_list_or_present_twice_is_reported(bundle: bytes, name: str) -> None:
    members = members_of(bundle)
    unlisted = json.loads(members["manifest.json"])
    del unlisted["files"][AGE]
    members["manifest.json"] = json.dumps(unlisted).encode()
    assert f"{AGE} is not in the manifest's list of files" in faults_of(zipped(members))
    buffer = io.BytesIO(bundle)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "a") as twice:
        twice.writestr(name, b"")
    assert faults_of(buffer.getvalue()) == (f"{name} is in the bundle twice",)


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', "[" * 100_000, "nonsense", ""], ids=["a key twice", "deep", "nonsense", "empty"]
)
def test_a_manifest_that_is_not_json_is_reported(bundle: bytes, text: str) -> None:
    members = members_of(bundle) | {"manifest.json": text.encode()}
    assert faults_of(zipped(members, rehash=False)) == ("manifest.json is not readable JSON",)


@pytest.mark.parametrize("spoil", [lambda b: b"", lambda b: b"no zip", lambda b: b[:-100], lambda b: b[: len(b) // 2]])
def test_a_file_that_is_not_a_zip_is_reported(bundle: bytes, spoil: Callable[[bytes], bytes]) -> None:
    assert "not a release file" in faults_of(spoil(bundle))[0]


def test_a_damaged_file_in_the_zip_is_named(bundle: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        at = opened.getinfo("synthetic.csv").header_offset + 200
    spoilt = bundle[:at] + bytes(b ^ 255 for b in bundle[at : at + 20]) + bundle[at + 20 :]
    assert faults_of(spoilt) == ("synthetic.csv is damaged",)


def test_a_zip_bomb_is_not_unpacked() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("synthetic.csv", b"0" * 1000)
        bomb.infolist()[0].file_size = 2**31 + 1
    assert "too much to unpack" in faults_of(buffer.getvalue())[0]


def test_a_missing_file_is_an_error_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be read") as refused:
        verify(tmp_path / "none.zip")
    assert str(tmp_path) not in str(refused.value)


def test_prose_is_not_read_and_nothing_else_is_exempt(bundle: bytes) -> None:
    for name in PROSE:
        changed = members_of(bundle)
        changed[name] += b"\nAll numbers here are exact.\n"
        verify(zipped(changed))
        assert faults_of(zipped(changed, rehash=False)) == (
            f"{name} was changed: it does not have the SHA-256 and size that the manifest gives",
        )
