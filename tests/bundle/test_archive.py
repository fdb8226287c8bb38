"""A bundle is a zip file in one canonical form: bytes beside its files are reported, and no header is trusted."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dpengine.bundle import archive
from dpengine.bundle.archive import Archive
from dpengine.bundle.verify import verify
from dpengine.errors import ReleaseError
from tests.bundles import TOTAL, members_of, zipped

BESIDE = "the zip file holds more than its files"


@pytest.fixture(scope="module")
def small(bundle: bytes) -> bytes:
    """The bundle with a short report, so that most bytes are those of its form and its numbers."""
    return zipped(members_of(bundle) | {"report.html": b"<p>short</p>"})


def refusal(source: bytes) -> str:
    with pytest.raises(ReleaseError) as refused:
        verify(source)
    return str(refused.value)


def commented(bundle: bytes) -> bytes:
    file = io.BytesIO(bundle)
    with zipfile.ZipFile(file, "a") as opened:
        opened.comment = b"endorsed"
    return file.getvalue()


def packed_again(bundle: bytes, method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as new:
        for name, content in members_of(bundle).items():
            new.writestr(name, content)
    return file.getvalue()


def in_between(bundle: bytes) -> bytes:
    """Put a script between two files, and shift the places of all that follows."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        entries = opened.infolist()
        start = opened.start_dir
    at, script = entries[3].header_offset, b"#!/bin/sh\nrm -rf ~\n"
    shifted = bytearray(bundle[:at] + script + bundle[at:])
    place = start + len(script)
    for entry in entries:
        offset = entry.header_offset + (len(script) if entry.header_offset >= at else 0)
        shifted[place + 42 : place + 46] = struct.pack("<L", offset)
        place += 46 + len(entry.filename)
    shifted[-6:-2] = struct.pack("<L", start + len(script))
    return bytes(shifted)


BESIDES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a script before it": (lambda b: b"#!/bin/sh\n" + b, BESIDE),
    "a page before it": (lambda b: b"<html><script>alert(1)</script></html>" + b, BESIDE),
    "another release before it": (lambda b: b + b, BESIDE),
    "a byte after it": (lambda b: b + b"\0", "not a release file"),
    "a page after it": (lambda b: b + b"<html></html>", "not a release file"),
    "a comment": (commented, "not a release file"),
    "a script between its files": (in_between, BESIDE),
    "packed again by another program": (lambda b: packed_again(b, zipfile.ZIP_DEFLATED), BESIDE),
    "not compressed": (lambda b: packed_again(b, zipfile.ZIP_STORED), BESIDE),
    "its files in another order": (
        lambda b: zipped(dict(reversed(members_of(b).items()))),
        "the files are not in the order of a release",
    ),
}


@pytest.mark.parametrize("name", BESIDES)
def test_bytes_beside_the_files_are_reported(small: bytes, name: str) -> None:
    change, fragment = BESIDES[name]
    verify(small)
    assert fragment in refusal(change(small))


def test_each_byte_of_the_form_counts(small: bytes) -> None:
    """Change each byte outside of the files' content, all of them in turn."""
    with zipfile.ZipFile(io.BytesIO(small)) as opened:
        content = set()
        for entry in opened.infolist():
            start = entry.header_offset + 30 + len(entry.filename) + 20
            content.update(range(start, start + entry.compress_size))
    chance = random.Random(1)
    for place in sorted(set(range(len(small))) - content):
        changed = bytearray(small)
        changed[place] ^= chance.randrange(1, 256)
        with suppress(ReleaseError):
            assert not Archive(io.BytesIO(bytes(changed))).is_as_written(), place


def test_a_changed_byte_is_reported_or_changes_no_byte_of_any_file(small: bytes) -> None:
    """One change in 6,000 gives another compressed form of the same files, which only a signature could notice."""
    whole, reported = members_of(small), 0
    chance = random.Random(2)
    for place in chance.sample(range(len(small)), 2_000):
        changed = bytearray(small)
        changed[place] ^= 1 << chance.randrange(8)
        try:
            members = Archive(io.BytesIO(bytes(changed)))
            assert not members.is_as_written() or {name: members.read(name, 10**8) for name in members} == whole
            reported += not members.is_as_written()
        except ReleaseError:
            reported += 1
    assert reported >= 1_990


def test_a_changed_bit_that_nothing_reads_is_reported() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        archive.add(made, "x", [b"aaaaaaaab"])
    packed = bytearray(file.getvalue())
    last = 30 + 1 + 20 + made.infolist()[0].compress_size - 1
    assert packed[last] < 128
    assert Archive(io.BytesIO(bytes(packed))).read("x", 100) == b"aaaaaaaab"
    packed[last] |= 128
    with pytest.raises(ReleaseError, match="x is damaged"):
        Archive(io.BytesIO(bytes(packed))).read("x", 100)


@pytest.mark.parametrize("bundle_of", [1, 2], ids=["to a file", "to a pipe"])
def test_both_ways_of_writing_read_back(bundle_of: int) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.written = b""

        def writable(self) -> bool:
            return True

        def write(self, piece: bytes) -> int:  # type: ignore[override]
            self.written += bytes(piece)
            return len(piece)

    pipe, file = Pipe(), io.BytesIO()
    target: io.IOBase = file if bundle_of == 1 else pipe
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:  # type: ignore[call-overload]
        archive.add(made, "a.csv", [b"a\r\n" * 1000, b"b"])
        archive.add(made, "empty", [])
    members = Archive(io.BytesIO(file.getvalue() or pipe.written))
    assert members.is_as_written()
    assert [members.read(name, 10_000) for name in members] == [b"a\r\n" * 1000 + b"b", b""]


def test_the_form_is_the_same_whatever_the_standard_library_writes(
    small: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11.2, that of Debian 12, would write headers that `verify` refuses."""
    monkeypatch.setattr(zipfile.ZipInfo, "FileHeader", lambda *_: b"of an earlier version")
    again = zipped(members_of(small))
    verify(again)
    assert again == small


def test_a_lie_about_a_size_does_not_unpack_more(small: bytes) -> None:
    """The headers state 50 bytes; unpacking ten megabytes stops at the limit."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        archive.add(made, "x", [b"0" * 10**7])
        made.infolist()[0].file_size = 50
    with pytest.raises(ReleaseError, match="x is larger than a file of this plan can be, which is 1,000,000 bytes"):
        Archive(io.BytesIO(file.getvalue())).read("x", 10**6)


@pytest.mark.parametrize(("code", "raised"), [(-4, MemoryError), (-3, ReleaseError)])
def test_a_file_is_not_called_damaged_because_memory_ran_out(
    small: bytes, monkeypatch: pytest.MonkeyPatch, code: int, raised: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise zlib.error(f"Error {code} while decompressing data")

    monkeypatch.setattr(archive, "_inflated", fail)
    with pytest.raises(raised):
        verify(small)


@pytest.mark.parametrize("kind", [0o120000, 0o040000, 0o010000], ids=["link", "folder", "pipe"])
def test_what_is_no_plain_file_is_refused_before_anything_is_read(small: bytes, kind: int) -> None:
    """A link would be followed by whoever unpacks the bundle, to any place."""
    file = io.BytesIO(small)
    with zipfile.ZipFile(file, "a") as opened:
        entry = zipfile.ZipInfo("tables/99-more.csv")
        entry.external_attr = (kind | 0o644) << 16
        opened.writestr(entry, "/etc/passwd")
    file.seek(0)
    with pytest.raises(ReleaseError, match=r"'tables/99-more\.csv' is not a safe name, or not a plain file"):
        Archive(file)


@pytest.mark.parametrize("place", ["in the list", "before the file"])
def test_a_file_that_is_encrypted_is_refused(small: bytes, place: str) -> None:
    changed = bytearray(small)
    with zipfile.ZipFile(io.BytesIO(small)) as opened:
        at = opened.start_dir + 8 if place == "in the list" else opened.infolist()[0].header_offset + 6
    changed[at] |= 1
    with pytest.raises(ReleaseError, match="not a plain file" if place == "in the list" else BESIDE):
        verify(bytes(changed))


def test_a_list_of_very_many_files_is_not_read() -> None:
    directory = b"\0" * 46 * 50_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 50_000, 50_000, len(directory), 0, 0)
    assert "too much to unpack: more than 30,000 files" in refusal(directory + end)
    long = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, 10**8, 0, 0)  # says nine, and lists as many as fit
    assert "too much to unpack" in refusal(directory + long)
    locator = b"PK\6\7" + b"\0" * 16
    assert "too much to unpack" in refusal(directory + locator + end.replace(struct.pack("<H", 50_000), b"\1\0"))


def test_a_pipe_is_no_release_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "release.zip")
    for path in (tmp_path / "release.zip", tmp_path, Path("/dev/zero"), "a\0b"):
        with pytest.raises(ReleaseError, match="cannot be read"):
            verify(path)


MANIFESTS: dict[str, tuple[Callable[[dict[str, object]], object], str]] = {
    "a key more": (lambda m: m.update(endorsed_by="all"), "endorsed_by: this key is not known here"),
    "a key more in the guarantee": (lambda m: m["guarantee"].update(gold=1), "gold: this key is not known here"),  # type: ignore[attr-defined]
    "no strategy": (lambda m: m.pop("strategy"), "strategy: this is needed and is not given"),
    "another strategy": (lambda m: m.update(strategy="Magic."), "strategy is not what plan.yaml says"),
    "a sermon as strategy": (lambda m: m.update(strategy="Direct" + "!" * 999), "strategy is not what plan.yaml says"),
    "software with a story": (lambda m: m.update(software={"numpy": "the very best"}), "software → numpy"),
    "very many values": (lambda m: m.update(intervals=[[]] * 300_000), "more values than that of this plan"),
    "very many bytes": (lambda m: m.update(intervals="x" * 10**7), "manifest.json is larger than"),
}  # fmt: skip


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_has_exactly_the_required_entries(small: bytes, name: str) -> None:
    change, fragment = MANIFESTS[name]
    members = members_of(small)
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    members["manifest.json"] = json.dumps(manifest, separators=(",", ":")).encode()
    assert fragment in refusal(zipped(members, rehash=False))


def test_a_bomb_is_stopped_at_the_size_that_its_plan_allows(small: bytes) -> None:
    members = members_of(small)
    for name in (TOTAL, "manifest.json"):
        bomb = zipped(members | {name: b"0" * 20_000_000}, rehash=False)
        assert f"{name} is larger than a file of this plan can be" in refusal(bomb)
