"""Parquet, Arrow and Feather files."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from tests.corpus.case import CANARY, Case, Counts

PLAIN = {"a": [1, 2, 2, None], "b": ["x", "y", CANARY, None]}
LONG = {"a": [1, 2] * 500, "b": ["abc"] * 1_000}
NESTED = pa.array([[{"k": [1]}], None, [], [{"k": None}]])
WIDE = {f"c{i}": [1] for i in range(6_000)}


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def arrow_bytes(table: pa.Table, *, stream: bool = False, **options: Any) -> bytes:
    file = io.BytesIO()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(file, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return file.getvalue()


def feather_bytes(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    feather.write_feather(table, file, **options)
    return file.getvalue()


def parquet(
    columns: Any,
    refused: str = "",
    counts: Counts | None = None,
    change: Callable[[bytes], bytes] = bytes,
    **options: Any,
) -> Case:
    """Return a case of a Parquet file of these columns, changed in some way."""
    return Case("t.parquet", lambda: change(parquet_bytes(pa.table(columns), **options)), refused, counts)


def arrow(
    columns: Any,
    refused: str = "",
    counts: Counts | None = None,
    change: Callable[[bytes], bytes] = bytes,
    **options: Any,
) -> Case:
    """Return a case of an Arrow file of these columns, changed in some way."""
    return Case("t.arrow", lambda: change(arrow_bytes(pa.table(columns), **options)), refused, counts)


def footer(content: bytes) -> int:
    """Return where the footer of a Parquet file begins."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def zero_body(content: bytes) -> bytes:
    return content[:4] + bytes(footer(content) - 4) + content[footer(content) :]


def cut_middle(content: bytes) -> bytes:
    middle = footer(content) // 2
    return content[: middle - 300] + content[middle:]


def footer_length(size: int) -> Callable[[bytes], bytes]:
    return lambda content: content[:-8] + struct.pack("<I", size) + b"PAR1"


def noisy_footer(content: bytes) -> bytes:
    begin = footer(content)
    return content[:begin] + bytes((7 * i) % 256 for i in range(len(content) - 8 - begin)) + content[-8:]


def flipped(number: int) -> Callable[[bytes], bytes]:
    """Return a change of eight bytes anywhere, each number in another way."""

    def change(content: bytes) -> bytes:
        damaged, place = bytearray(content), number
        for _ in range(8):
            place = (place * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's generator
            damaged[(place >> 33) % len(damaged)] = (place >> 24) % 256
        return bytes(damaged)

    return change


def replaced(old: bytes, new: bytes, *, last: bool = False) -> Callable[[bytes], bytes]:
    """Return a change of the first, or the last, place with these bytes."""

    def change(content: bytes) -> bytes:
        place = content.rfind(old) if last else content.find(old)
        assert place >= 0, "there is nothing to change"
        return content[:place] + new + content[place + len(old) :]

    return change


def offsets(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def cut(part: float) -> Callable[[bytes], bytes]:
    return lambda content: content[: int(len(content) * part)]


COMMON = {
    "plain": (PLAIN, "", (1, 2, 0, 1)),
    "texts": ({"a": ["1", "2", " 1", "", None, "01"]}, "", None),
    "a dictionary": ({"a": pa.array(["1", "2", "2", None]).dictionary_encode()}, "", (1, 2, 0, 1)),
    "decimals": ({"a": pa.array([Decimal("1.00"), Decimal("1.50"), None], pa.decimal128(9, 2))}, "", None),
    "no rows": ({"a": pa.array([], pa.int64())}, "", (0, 0, 0, 0)),
    "no columns": ({}, "no columns", None),
    "nested columns": ({"a": [1, 2, 2, 2], "b": NESTED}, "", (1, 3, 0, 0)),
    "times of no calendar": ({"a": [1], "b": pa.array([2**62], pa.timestamp("ms"))}, "", (1, 0, 0, 0)),
    "six thousand columns": (WIDE, "6,000 columns", None),
    "a blank name": ({"a": [1], " ": [CANARY]}, "column 2 has no name", None),
    "a line end in a name": ({"a": [1], "b\nc": [2]}, "", (1, 0, 0, 0)),
    "half a letter in a name": ({"a": [1], "bé": [2]}, "", None),
}

PARQUET = {
    "no statistics": parquet(PLAIN, counts=(1, 2, 0, 1), write_statistics=False),
    "brotli": parquet(LONG, counts=(500, 500, 0, 0), compression="brotli"),
    "pages of another version": parquet(LONG, counts=(500, 500, 0, 0), data_page_version="2.0"),
    "ten million equal rows": parquet(
        {"a": pa.nulls(10**7, pa.int8())}, counts=(0, 0, 0, 10**7)
    ),
    "long texts in a dictionary": parquet(
        {"a": [1] * 20_000, "b": pa.DictionaryArray.from_arrays(pa.array([0] * 20_000), ["x" * (1 << 20)])},
        counts=(20_000, 0, 0, 0), compression="zstd",
    ),
    "a body of zeros": parquet(LONG, "damaged", change=zero_body),
    "a body of zeros without compression": parquet(LONG, "damaged", change=zero_body, compression="none"),
    "a middle cut out": parquet(LONG, "", change=cut_middle),
    "a footer that is noise": parquet(LONG, "damaged", change=noisy_footer),
    "a footer longer than the file": parquet(LONG, "damaged", change=footer_length(2**31)),
    "a footer of no length": parquet(LONG, "damaged", change=footer_length(0)),
    "cut off": parquet(LONG, "cut off", change=cut(0.7)),
    "cut off in its first bytes": parquet(LONG, "", change=cut(0.01)),
    "encrypted": parquet(LONG, "encrypted", change=lambda content: b"PARE" + content[4:-4] + b"PARE"),
    "nothing but its sign": Case("t.parquet", b"PAR1", ""),
    "nothing but two signs": Case("t.parquet", b"PAR1PAR1", "damaged"),
    "nothing": Case("t.parquet", b"", "not a Parquet file"),
    "a table named Parquet": Case("t.parquet", f"a,b\n{CANARY},2\n".encode(), "not a Parquet file"),
    "a name that is not UTF-8": parquet({"a": [1], "bcd": [2]}, "", change=replaced(b"bcd", b"b\xff\xfe", last=True)),
    "the same name twice": Case(
        "t.parquet", lambda: parquet_bytes(pa.table([[1], [2]], ["a", "a"])), "2 columns are named 'a'"
    ),
    "text that is not UTF-8": parquet(
        {"a": [1], "b": ["bcdefg"]}, "", change=lambda content: content.replace(b"bcdefg", b"b\xff\xfe\xfdfg")
    ),
}  # fmt: skip

ARROW = {
    "a stream": arrow(PLAIN, counts=(1, 2, 0, 1), stream=True),
    "LZ4": arrow(LONG, counts=(500, 500, 0, 0), compression="lz4"),
    "Zstandard": arrow(LONG, counts=(500, 500, 0, 0), compression="zstd"),
    "Feather": Case("t.feather", lambda: feather_bytes(pa.table(LONG)), counts=(500, 500, 0, 0)),
    "Feather of the first version": Case("t.feather", b"FEA1" + bytes(99) + b"FEA1", "write it again"),
    "times at the end of time": arrow({"a": [1], "b": pa.array([2**63 - 1], pa.timestamp("s"))}, counts=(1, 0, 0, 0)),
    "offsets beyond the texts": arrow(LONG, "damaged", change=replaced(offsets(30, 33), offsets(30, 2**31 - 1))),
    "offsets before the texts": arrow(LONG, "damaged", change=replaced(offsets(30, 33), offsets(30, -8))),
    "offsets that go back": arrow(LONG, "damaged", change=replaced(offsets(30, 33), offsets(30, 3))),
    "a last offset beyond the texts": arrow(LONG, "damaged", change=replaced(offsets(3000), offsets(2**30))),
    "text that is not UTF-8": arrow(
        {"a": [1], "b": ["bcdefg"]}, "damaged", change=replaced(b"bcdefg", b"b\xff\xfe\xfdfg")
    ),
    "an index beyond its dictionary": arrow(
        {"a": pa.array(["1", "2", "1", "2"] * 9).dictionary_encode()}, "damaged",
        change=replaced(offsets(0, 1, 0, 1), offsets(0, 1, 2**30, 1)),
    ),
    "a buffer that unpacks to a lie": arrow(
        LONG, "", change=replaced(struct.pack("<q", 8_000), struct.pack("<q", 2**40)), compression="zstd"
    ),
    "more rows than there are": arrow(LONG, "", change=replaced(struct.pack("<q", 1_000), struct.pack("<q", 2**40))),
    "cut off": arrow(LONG, "", change=cut(0.7)),
    "cut off in its schema": arrow(LONG, "write it again", change=cut(0.02)),
    "nothing but its sign": Case("t.arrow", b"ARROW1\0\0", "write it again"),
    "nothing": Case("t.arrow", b"", "write it again"),
    "a table named Arrow": Case("t.arrow", f"a,b\n{CANARY},2\n".encode(), "damaged"),
    "the same name twice": Case("t.arrow", lambda: arrow_bytes(pa.table([[1], [2]], ["a", "a"])), "named 'a'"),
}  # fmt: skip

FLIPS = {
    **{f"Parquet damaged anywhere, {k}": parquet(LONG, change=flipped(k)) for k in range(10)},
    **{f"Arrow damaged anywhere, {k}": arrow(LONG, change=flipped(k)) for k in range(10)},
    **{f"Arrow of dictionaries damaged anywhere, {k}": arrow(
        {"a": pa.array(["1", "2"] * 99).dictionary_encode()}, change=flipped(k), compression="lz4") for k in range(5)},
}  # fmt: skip

CASES = {
    **{f"Parquet: {name}": parquet(*case) for name, case in COMMON.items()},
    **{f"Parquet: {name}": case for name, case in PARQUET.items()},
    **{f"Arrow: {name}": arrow(*case) for name, case in COMMON.items()},
    **{f"Arrow: {name}": case for name, case in ARROW.items()},
    **FLIPS,
}
