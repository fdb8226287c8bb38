"""Every change of a release bundle is told, also where a careful forger made all digests anew."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dpengine.bundle.verify import PROSE, verify
from dpengine.errors import ReleaseError
from tests.bundles import AGE, TOTAL, VISIT, Members, members_of, rows_of, zipped


def faults_of(source: bytes) -> tuple[str, ...]:
    with pytest.raises(ReleaseError) as refused:
        verify(source)
    return tuple(map(str, refused.value.faults))


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        assert old in members[name]
        members[name] = members[name].replace(old, new, 1)

    return edit


def dropped(name: str) -> Callable[[Members], None]:
    return lambda members: members.__delitem__(name)


def told(*path: str | int, value: object) -> Callable[[Members], None]:
    """The manifest with another value at ``path``."""

    def edit(members: Members) -> None:
        manifest = at = json.loads(members["manifest.json"])
        for step in path[:-1]:
            at = at[step]
        assert not isinstance(at, dict) or at.get(path[-1]) != value
        at[path[-1]] = value
        members["manifest.json"] = json.dumps(manifest).encode()

    return edit


def cell(name: str, line: int, place: int, change: Callable[[str], str]) -> Callable[[Members], None]:
    """A table with one cell changed; ``place`` counts from the right, 1 is ``high``."""

    def edit(members: Members) -> None:
        rows = rows_of(members[name])
        rows[line][-place] = change(rows[line][-place])
        buffer = io.StringIO(newline="")
        csv.writer(buffer).writerows(rows)
        members[name] = buffer.getvalue().encode()

    return edit


def swapped(name: str, one: int, other: int) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        lines = members[name].split(b"\r\n")
        lines[one], lines[other] = lines[other], lines[one]
        members[name] = b"\r\n".join(lines)

    return edit


def plus(amount: float) -> Callable[[str], str]:
    return lambda text: f"{float(text) + amount:.12g}"


HIGH, LOW, ESTIMATE, COUNT = 1, 2, 3, 4


@pytest.mark.parametrize(
    "name", ["README.txt", "plan.yaml", AGE, TOTAL, "synthetic.csv", "report.html", "registry.yaml"]
)
def test_a_changed_byte_is_found_by_its_digest(bundle: bytes, name: str) -> None:
    members = members_of(bundle)
    members[name] += b"\n"
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
    "half a man": (cell(AGE, 3, COUNT, lambda _: "1.5"), f"{AGE} has a count, low or high that is no"),
    "beyond": (cell(AGE, 3, COUNT, plus(999)), f"{AGE}: a count lies outside its interval"),
    "an estimate": (cell(AGE, 3, ESTIMATE, plus(0.4)), "disagree on the estimates in all"),
    "nan": (cell(AGE, 3, ESTIMATE, lambda _: "nan"), f"{AGE}: an estimate is not finite"),
    "text": (cell(AGE, 3, ESTIMATE, lambda _: "x"), f"{AGE} has an estimate that is not a number"),
    "too wide": (cell(AGE, 3, HIGH, plus(1)), f"{AGE}: an interval is not the estimate ±"),
    "too narrow": (cell(AGE, 3, LOW, plus(1)), f"{AGE}: an interval is not the estimate ±"),
    "a header": (cell(AGE, 0, COUNT, lambda _: "n"), f"{AGE} does not have the header"),
    "a label": (cell(AGE, 3, 5, lambda _: "Atlantis"), f"{AGE} line 4, column region"),
    "two rows swapped": (swapped(AGE, 1, 2), f"{AGE} line 2, column region"),
    "a row out of the table": (swapped(AGE, 3, -1), f"{AGE}"),
    "a row twice": (lambda m: m.update({TOTAL: m[TOTAL] * 2}), f"{TOTAL} has 3 rows, not one for each"),
    "no table": (lambda m: m.update({AGE: b'"'}), f"{AGE} is not a CSV file"),
    "an empty table": (lambda m: m.update({AGE: b""}), f"{AGE} is not a CSV file"),
    "no text": (lambda m: m.update({AGE: b"\xff\xfe"}), f"{AGE} is not a CSV file"),
    "rows in another order are no fault": (swapped("synthetic.csv", 1, -2), ""),
    "a person moved": (replaced("synthetic.csv", b"North", b"South"), f"{AGE} is not what synth"),
    "a stranger": (replaced("synthetic.csv", b"North", b"Nirth"), "the column region holds a text"),
    "a name": (replaced("synthetic.csv", b"age,", b"age ,"), "synthetic.csv does not have the header"),
    "the plan's ε": (replaced("plan.yaml", b"'1'", b"'2'"), "guarantee → epsilon is not what"),
    "the plan's sum": (replaced("plan.yaml", b"'1'", b"'2'"), "the shares of ε do not add up to 2"),
    "a plan that is none": (replaced("plan.yaml", b"rows: 1", b"rows: 0"), "plan.yaml: unit → rows"),
    "a renamed cell": (replaced("plan.yaml", b"North", b"Nord"), "domain → region is not what"),
    "a plan of bytes": (lambda m: m.update({"plan.yaml": b"\xff"}), "plan.yaml is not UTF-8"),
    "a smaller ε": (told("guarantee", "epsilon", value="0.1"), "guarantee → epsilon is not what plan"),
    "another δ": (told("guarantee", "delta", value="0.1"), "guarantee → delta is not what"),
    "another unit": (told("guarantee", "unit", "rows", value=9), "guarantee → unit is not what"),
    "unit in words": (told("guarantee", "unit", "text", value="all"), "guarantee → unit is not what"),
    "a promise": (told("guarantee", "definition", value="100 %"), "guarantee → definition is not"),
    "neighbours": (told("guarantee", "neighbours", value="none"), "guarantee → neighbours is not"),
    "trust": (told("guarantee", "trust_model", value="none"), "guarantee → trust_model is not"),
    "a limit hidden": (told("not_protected", 0, value="x"), "not_protected is not what plan.yaml says"),
    "another way": (told("post_processing", 0, value="x"), "post_processing is not what plan.yaml says"),
    "surer intervals": (told("intervals", value="all"), "intervals is not what plan.yaml says"),
    "rows left out": (told("coverage", value="x"), "coverage is not what plan.yaml says"),
    "another title": (told("title", value="Other"), "title is not what plan.yaml says"),
    "another dataset": (told("dataset", value="other"), "dataset is not what plan.yaml says"),
    "other cells": (told("domain", "age", "labels", value=[]), "domain → age is not what plan.yaml"),
    "another source": (told("domain", "age", "source", value="standard"), "domain → age is not what"),
    "a column more": (told("domain", "new", value={}), "domain is not what plan.yaml says"),
    "fewer cells": (told("tables", 0, "cells", value=1), "tables is not what plan.yaml says"),
    "another file": (told("tables", 0, "file", value=VISIT), "tables is not what plan.yaml says"),
    "half-width": (told("tables", 0, "half_width_95", value=1.0), "does not follow from the meas"),
    "intervals": (told("tables", 0, "half_width_95", value=1.0), "an interval is not the estimate ±"),
    "a share": (told("measurements", 0, "epsilon", value="1/9"), "the shares of ε do not add up"),
    "no share": (told("measurements", 0, "epsilon", value="0"), "has no share of ε"),
    "a share of nothing": (told("measurements", 0, "epsilon", value="1/0"), "has no share of ε"),
    "an odd number": (told("measurements", 0, "epsilon", value="1e9"), "measurements → 1 → epsilon"),
    "less noise": (told("measurements", 0, "scale", value="1"), "scale is not sensitivity / epsilon"),
    "a unit": (told("measurements", 0, "sensitivity", value=2), "sensitivity 2 does not protect 1"),
    "unmeasured": (told("measurements", 0, "columns", value=["age"]), "age × region lies within no"),
    "elsewhere": (told("measurements", 0, "columns", value=["x"]), "columns that are not in plan.yaml"),
    "twice": (told("measurements", 0, "columns", value=["age", "age"]), "names a column twice"),
    "no noise": (told("measurements", 0, "mechanism", value="none"), "mechanism or cells are not"),
    "other measured cells": (told("measurements", 0, "cells", value=7), "mechanism or cells are not"),
    "nothing measured": (told("measurements", value=[]), "measurements"),
    "nothing unprotected": (told("not_protected", value=[]), "not_protected"),
    "another schema": (told("schema_version", value=3), "schema_version"),
    "an odd name": (told("release_id", value="../x"), "release_id"),
    "an odd date": (told("created", value="yesterday"), "created"),
    "one more": (told("files", "x.txt", value={"sha256": "0" * 64, "bytes": 0}), "x.txt is missing"),
    "a manifest that is none": (lambda m: m.update({"manifest.json": b"[]"}), "manifest.json"),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "fault"), CHANGES.values(), ids=CHANGES)
def test_every_change_is_told_even_where_all_digests_were_made_anew(
    bundle: bytes, edit: Callable[[Members], None], fault: str
) -> None:
    members = members_of(bundle)
    edit(members)
    forged = zipped(members, rehash=members["manifest.json"] != b"[]")
    if fault:
        assert any(fault in told for told in faults_of(forged)), faults_of(forged)
    else:
        verify(forged)


def test_all_faults_are_told_at_once(bundle: bytes) -> None:
    members = members_of(bundle)
    for edit in (dropped("README.txt"), cell(AGE, 3, COUNT, plus(1)), told("title", value="x")):
        edit(members)
    faults = "\n".join(faults_of(zipped(members)))
    assert all(part in faults for part in ("README.txt is missing", "title is not", "disagree on the counts"))


@pytest.mark.parametrize("name", ["manifest.json", AGE])
def test_a_file_left_off_the_list_or_there_twice_is_told(bundle: bytes, name: str) -> None:
    members = members_of(bundle)
    unlisted = json.loads(members["manifest.json"])
    del unlisted["files"][AGE]
    members["manifest.json"] = json.dumps(unlisted).encode()
    assert f"{AGE} is not in the manifest's list of files" in faults_of(zipped(members))
    buffer = io.BytesIO(bundle)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "a") as twice:
        twice.writestr(name, b"")
    assert faults_of(buffer.getvalue()) == (f"{name} is in the bundle twice",)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[" * 100_000, "nonsense", ""])
def test_a_manifest_that_is_no_json_is_told(bundle: bytes, text: str) -> None:
    members = members_of(bundle) | {"manifest.json": text.encode()}
    assert faults_of(zipped(members, rehash=False)) == ("manifest.json is not readable JSON",)


@pytest.mark.parametrize("spoil", [lambda b: b"", lambda b: b"no zip", lambda b: b[:-100], lambda b: b[: len(b) // 2]])
def test_what_is_no_zip_file_is_told(bundle: bytes, spoil: Callable[[bytes], bytes]) -> None:
    assert "not a release file" in faults_of(spoil(bundle))[0]


def test_a_damaged_file_in_the_zip_is_told_by_name(bundle: bytes) -> None:
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


def test_what_is_not_read_is_just_what_is_named_so(bundle: bytes) -> None:
    for name in PROSE:
        changed = members_of(bundle)
        changed[name] += b"\nAll numbers here are exact.\n"
        verify(zipped(changed))
        assert faults_of(zipped(changed, rehash=False)) == (
            f"{name} was changed: it does not have the SHA-256 and size that the manifest gives",
        )
