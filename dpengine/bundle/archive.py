"""The zip format of a bundle: written in exactly one form, and read in that form only.

A zip file may hold more than its files: comments, bytes before, between and after them, headers that say one thing to
one program and another thing to the next. So `Archive` computes the headers again from the names, sizes and checksums
of the files, and compares every byte that is not content. The one comment that may stand there is a signature. The
content of each file is unpacked in pieces, never beyond a limit, whatever the headers say of its size.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dpengine.bundle import signature
from dpengine.errors import ReleaseError
from dpengine.translation.catalogue import _, mark, number

__all__ = ["Archive", "Piece", "Source", "add", "opened"]

Source = str | Path | bytes | BinaryIO
Piece = bytes | memoryview

MAX_FILES = 30_000
MAX_DIRECTORY_BYTES = MAX_FILES * 200
MAX_BYTES = 2**31 - 1  # limit for the zip file, and for all its files unpacked
PIECE_BYTES = 2**20

_NOT_A_BUNDLE = mark(
    "this is not a release file: it is not a zip file, or it is cut off, damaged, or followed by more bytes"
)
_TOO_MUCH = mark("too much to unpack: more than {files} files or {size} GB")
_END = struct.Struct("<4s4H2LH")
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_SIZES = struct.Struct("<2H2Q")  # an extra field with sizes of 64 bits
_AFTER = struct.Struct("<4sL2Q")  # checksum and sizes after a file that was written to a pipe
_VERSION, _UNIX, _DEFLATED, _IN_1980, _READABLE = 45, 3 << 8, zipfile.ZIP_DEFLATED, 33, 0o644 << 16
_PIPED, _IN_EXTRA = 8, 2**32 - 1


class _Entry(zipfile.ZipInfo):
    """A file that is being written, with the header that `Archive` expects: dated 1980, so that it never changes.

    The standard library's own is another one before Python 3.11.4 (https://github.com/python/cpython/issues/103861).
    """

    _compresslevel: int | None  # read by the standard library

    def FileHeader(self, zip64: bool | None = None) -> bytes:
        self.create_version = self.extract_version = _VERSION
        in_place, piped, _short = _local_forms(self, self.filename.encode())
        return (piped if self.flag_bits & _PIPED else in_place)[0]


def add(bundle: zipfile.ZipFile, name: str, pieces: Iterable[Piece]) -> dict[str, Any]:
    """Add a file to a bundle that is being written. Return its SHA-256 and size."""
    digest, size = hashlib.sha256(), 0
    entry = _Entry(name)
    entry.compress_type, entry._compresslevel = bundle.compression, bundle.compresslevel
    with bundle.open(entry, "w", force_zip64=True) as file, ThreadPoolExecutor(1) as hasher:
        hashed: Future[None] | None = None
        for piece in pieces:
            if hashed is not None:
                hashed.result()
                hashed = None
            if len(piece) >= PIECE_BYTES:
                hashed = hasher.submit(digest.update, piece)  # in parallel with packing, and with making the next piece
            else:
                digest.update(piece)  # for a small one, no thread is worth it
            file.write(piece)
            size += len(piece)
    entry.create_system = _UNIX >> 8  # the same on every system: readable by all
    entry.external_attr = _READABLE
    return {"sha256": digest.hexdigest(), "bytes": size}


class Archive(Collection[str]):
    """The files of an open bundle by name, unpacked as they are read."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the list of files. Raises `ReleaseError` with every fault in it."""
        entries, self._comment = _directory(file)
        if len(entries) > MAX_FILES or sum(entry.file_size for entry in entries) > MAX_BYTES:
            raise _too_much()
        faults = []
        self._file = file
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            if not _is_plain(entry):
                faults.append(
                    _(
                        "{file!r} is not a safe name, or not a plain file: do not unpack this bundle",
                        file=entry.filename,
                    )
                )
            elif entry.filename in self._entries:
                faults.append(_("{file} is in the bundle twice", file=entry.filename))
            else:
                self._entries[entry.filename] = entry
        if faults:
            raise ReleaseError(faults[:100])

    def pieces(self, name: str, max_bytes: int) -> Iterator[bytes]:
        """Unpack a file of at most `max_bytes` bytes, a piece at a time.

        Raises KeyError if there is no file of this name, `ReleaseError` if it is damaged or larger.
        """
        entry = self._entries[name]
        checksum = size = 0
        for piece in self._unpacked(entry):
            size += len(piece)
            if size > max_bytes:
                raise ReleaseError(
                    _("{file} is larger than a file of this plan can be, which is {most} bytes", file=name,
                      most=number(max_bytes))
                )  # fmt: skip
            checksum = zlib.crc32(piece, checksum)
            yield piece
        if (checksum, size) != (entry.CRC, entry.file_size):
            raise _damaged(name)

    def read(self, name: str, max_bytes: int) -> bytes:
        """Return the whole content of a small file; raises like `pieces`."""
        return b"".join(self.pieces(name, max_bytes))

    def is_as_written(self) -> bool:
        """Say whether every byte outside of the files' content is as `add` writes it."""
        place, directory = 0, []
        for entry in self._entries.values():
            name = entry.filename.encode()
            sizes = (entry.compress_size, entry.file_size)
            written = self._at(place, _LOCAL.size + len(name) + _SIZES.size)
            form = next((form for form in _local_forms(entry, name) if written.startswith(form[0])), None)
            if form is None:
                return False
            header, after = form
            flags = _PIPED if after else 0
            directory.append(
                _CENTRAL.pack(b"PK\1\2", _VERSION | _UNIX, _VERSION, flags, _DEFLATED, 0, _IN_1980, entry.CRC, *sizes,
                              len(name), 0, 0, 0, 0, _READABLE, place) + name
            )  # fmt: skip
            place += len(header) + entry.compress_size
            if self._at(place, len(after)) != after:
                return False
            place += len(after)
        whole = b"".join(directory)
        counts = len(directory), len(directory), len(whole), place, len(self._comment)
        rest = whole + _END.pack(b"PK\5\6", 0, 0, *counts) + self._comment
        return self._at(place, len(rest) + 1) == rest

    def signed_by(self) -> str | None:
        """Return the fingerprint of the key that signed the file; None if it is not signed.

        Raises `ReleaseError` if it was changed after it was signed.
        """
        return signature.signer(self._file) if self._comment else None

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def _at(self, place: int, size: int) -> bytes:
        self._file.seek(place)
        return self._file.read(size)

    def _unpacked(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        """Unpack the content of a file. Raises `ReleaseError` if it is not exactly one stream of compressed bytes."""
        damaged = _damaged(entry.filename)
        header = self._at(entry.header_offset, _LOCAL.size)
        if len(header) < _LOCAL.size:
            raise damaged
        name, extra = _LOCAL.unpack(header)[-2:]
        place, left = entry.header_offset + _LOCAL.size + name + extra, entry.compress_size
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        while left and not stream.eof:
            packed = self._at(place, min(left - (left > 1), PIECE_BYTES))  # the last byte is read by itself
            place, left = place + len(packed), left - len(packed)
            try:
                if not packed or (not left and _has_free_bits(stream, packed)):
                    raise damaged
                yield from _inflated(stream, packed)
            except zlib.error as error:
                _check_memory(error)
                raise damaged from None
        if left or not stream.eof or stream.unused_data:
            raise damaged


def _damaged(name: str) -> ReleaseError:
    return ReleaseError(_("{file} is damaged", file=name))


def _check_memory(error: zlib.error) -> None:
    """Raise MemoryError if this is why zlib failed: then nothing is known of the file."""
    if str(error).startswith("Error -4 "):  # Z_MEM_ERROR
        raise MemoryError from None


def _too_much() -> ReleaseError:
    return ReleaseError(_(_TOO_MUCH, files=number(MAX_FILES), size=MAX_BYTES // 10**9))


def _unreadable(error: OSError) -> ReleaseError:
    return ReleaseError(_("the release file cannot be read ({problem})", problem=error.strerror or "input error"))


def _inflated(stream: Any, packed: bytes) -> Iterator[bytes]:
    piece = stream.decompress(packed, PIECE_BYTES)
    while piece:
        yield piece
        piece = b"" if stream.eof else stream.decompress(stream.unconsumed_tail, PIECE_BYTES)


def _has_free_bits(stream: Any, last: bytes) -> bool:
    """Return whether the last byte has unused bits that are set: then several files would have the same content."""
    lower = last[0] ^ 1 << last[0].bit_length() - 1 if last[0] else 0
    given, other = stream.copy(), stream.copy()
    try:
        return bool(last[0]) and given.decompress(last) == other.decompress(bytes([lower])) and other.eof
    except zlib.error as error:
        _check_memory(error)
        return False


def _directory(file: BinaryIO) -> tuple[list[zipfile.ZipInfo], bytes]:
    """Return the zip file's list of files, whose length is checked first, and its comment. Raises `ReleaseError`."""
    try:
        size = file.seek(0, os.SEEK_END)
        at, comment = _end(file, size)
        file.seek(at)
        entries, length = _END.unpack(file.read(_END.size))[4:6]
        file.seek(max(0, at - 20))
        if size > MAX_BYTES or entries > MAX_FILES or length > MAX_DIRECTORY_BYTES or file.read(4) == b"PK\6\7":
            raise _too_much()
        with zipfile.ZipFile(file) as bundle:
            return bundle.infolist(), comment
    except OSError as error:
        raise _unreadable(error) from None
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, struct.error):
        raise ReleaseError(_(_NOT_A_BUNDLE)) from None


def _end(file: BinaryIO, size: int) -> tuple[int, bytes]:
    """Return where the end record of a zip file begins, and its comment, which is empty or a signature.

    Raises `ReleaseError` if there is no such record, or another comment.
    """
    for long in (0, signature.COMMENT_BYTES):
        at = size - long - _END.size
        file.seek(max(0, at))
        end, comment = file.read(_END.size), file.read()
        whole = at >= 0 and end.startswith(b"PK\5\6") and end.endswith(long.to_bytes(2, "little"))
        if whole and (not comment or signature.has_form(comment)):
            return at, comment
    raise ReleaseError(_(_NOT_A_BUNDLE))


def _local_forms(entry: zipfile.ZipInfo, name: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the possible bytes around a file's content: written to a file, to a pipe, or with short sizes."""
    sizes = (entry.file_size, entry.compress_size)

    def header(flags: int, *facts: int) -> bytes:
        fields = (_VERSION, flags, _DEFLATED, 0, _IN_1980, *facts)
        return _LOCAL.pack(b"PK\3\4", *fields) + name

    long = (_IN_EXTRA, _IN_EXTRA, len(name), _SIZES.size)
    yield header(0, entry.CRC, *long) + _SIZES.pack(1, 16, *sizes), b""
    yield header(_PIPED, 0, *long) + _SIZES.pack(1, 16, 0, 0), _AFTER.pack(b"PK\7\x08", entry.CRC, *sizes[::-1])
    yield header(0, entry.CRC, entry.compress_size, entry.file_size, len(name), 0), b""


def _is_plain(entry: zipfile.ZipInfo) -> bool:
    """Say whether this is an ordinary file, not encrypted, whose name stays within the folder it is unpacked to."""
    parts = entry.filename.split("/")
    safe = all(part not in ("", ".", "..") for part in parts) and not set(entry.filename) & set("\\:\0")
    kind = entry.external_attr >> 16 & 0o170000
    known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return safe and entry.filename.isprintable() and kind in (0, 0o100000) and known and not entry.flag_bits & 1


@contextmanager
def opened(source: Source) -> Iterator[Archive]:
    """Open a bundle and yield its files. Raises `ReleaseError` if it is not a zip file, or not safe to unpack."""
    if not isinstance(source, str | Path):
        if not isinstance(source, bytes) and not hasattr(source, "seek"):
            raise ReleaseError("a release file is given as its path, its bytes, or an open file")
        yield Archive(io.BytesIO(source) if isinstance(source, bytes) else source)
        return
    try:
        if not stat.S_ISREG(os.stat(source).st_mode):  # opening a pipe might never end
            raise ReleaseError("the release file cannot be read (it is no file)")
        file = open(source, "rb")  # noqa: SIM115 (closed below, where errors of the reader are not errors of opening)
    except OSError as error:
        raise _unreadable(error) from None
    except ValueError:  # for example NUL, which no path may hold
        raise ReleaseError("the release file cannot be read (this is no name of a file)") from None
    with file:
        yield Archive(file)
