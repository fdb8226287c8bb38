"""Release files that are damaged or hostile: each is refused with a message that holds a given part."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Mapping
from functools import cache

from dpengine import Plan
from dpengine.bundle.write import pack
from dpengine.results.preview import preview
from tests.bundles import AGE, TOTAL, Members, manifest_in, members_of, zipped
from tests.plans import CLINIC

MEGABYTE = 10**6


@cache
def whole() -> bytes:
    """A release file with a short report."""
    return zipped(members_of(pack(preview(Plan.loads(CLINIC)))) | {"report.html": b"<p>short</p>"})


def _members(change: Callable[[Members], object]) -> Callable[[], bytes]:
    def make() -> bytes:
        members = members_of(whole())
        change(members)
        return zipped(members, rehash=False)

    return make


def _stating(change: Callable[[dict[str, object]], object]) -> Callable[[], bytes]:
    def edit(members: Members) -> None:
        with manifest_in(members) as manifest:
            change(manifest)

    return _members(edit)


def _put(name: str, content: bytes) -> Callable[[], bytes]:
    return _members(lambda members: members.update({name: content}))


def _listing(entries: int) -> bytes:
    return b"\0" * 46 * 40_000 + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, entries, entries, 46 * 40_000, 0, 0)


def _stored() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        for name, content in members_of(whole()).items():
            new.writestr(name, content)
    return file.getvalue()


def _foreign() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        new.writestr("holiday.jpg", b"x")
    return file.getvalue()


BESIDE = "holds more than its files"

BUNDLES: Mapping[str, tuple[Callable[[], bytes], str]] = {
    "whole": (whole, ""),
    "empty": (lambda: b"", "not a release file"),
    "a text": (lambda: b"no zip", "not a release file"),
    "cut off": (lambda: whole()[:-50], "not a release file"),
    "a script before it": (lambda: b"#!/bin/sh\n" + whole(), BESIDE),
    "a page after it": (lambda: whole() + b"<html></html>", "not a release file"),
    "another before it": (lambda: whole() + whole(), BESIDE),
    "packed by another program": (_stored, BESIDE),
    "another zip file": (_foreign, "this zip file is not a release"),
    "forty thousand files": (lambda: _listing(40_000), "too much to unpack"),
    "forty thousand files, said to be nine": (lambda: _listing(9), "not a release file"),
    "a path upwards": (_put("../x", b""), "not a safe name"),
    "a link's name": (_put("C:\\x", b""), "not a safe name"),
    "a file more": (_put("x.exe", b"MZ"), "does not belong"),
    "no plan": (_members(lambda m: m.pop("plan.yaml")), "plan.yaml is missing"),
    "no manifest": (_members(lambda m: m.pop("manifest.json")), "manifest.json is missing"),
    "a bomb of a manifest": (_put("manifest.json", b"{}," * 10 * MEGABYTE), "manifest.json is larger"),
    "a manifest of very many values": (_put("manifest.json", b"[" + b"0," * 400_000 + b"0]"), "more values"),
    "a deep manifest": (_put("manifest.json", b"[" * 90_000), "not readable JSON"),
    "a manifest of one long number": (_put("manifest.json", b"9" * 90_000), "not readable JSON"),
    "a bomb of a table": (_put(TOTAL, b"0" * 20 * MEGABYTE), f"{TOTAL} is larger"),
    "a bomb of rows": (_put("synthetic.csv", b"0\r\n" * 10 * MEGABYTE), "not a CSV file of 3 columns"),
    "an open quote in the rows": (_put("synthetic.csv", b'age,region,visit\r\n"' + b"\n" * 70 * MEGABYTE), "too long"),
    "rows of quotes": (_put("synthetic.csv", b'"' * 20 * MEGABYTE), "synthetic.csv"),
    "a plan of thirty million bins": (
        _put("plan.yaml", ("dataset: d\nepsilon: 1\ntables: {each: 1}\ncolumns:\n" + "".join(
            f"- {{name: c{k}, kind: number, edges: {{from: 0, to: 1, bins: 999990}}}}\n" for k in range(30)
        )).encode()),
        "above the limit of 2,000,000",
    ),
    "a bomb of a plan": (_put("plan.yaml", b"#" * 21 * MEGABYTE), "plan.yaml is larger"),
    "a table of nothing": (_put(AGE, b""), "not a CSV file"),
    "endorsed": (_stating(lambda m: m.update(endorsed_by="all")), "not known here"),
    "no strategy": (_stating(lambda m: m.pop("strategy")), "is needed"),
    "a table outside": (_stating(lambda m: m["tables"][0].update(file="/etc/passwd")), "tables is not what"),  # type: ignore[index]
    "no ε": (_stating(lambda m: m["guarantee"].update(epsilon="0")), "epsilon is not what"),  # type: ignore[attr-defined]
}  # fmt: skip
