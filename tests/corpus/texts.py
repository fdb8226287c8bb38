"""Text tables, also gzipped."""

from __future__ import annotations

import codecs
import gzip

from tests.corpus.case import CANARY, Case, members, packed, text

READ = {
    "plain": text("a,b\n1,x\n2,y\n", counts=(1, 1, 0, 0)),
    "no end of the last line": text("a,b\n1,x\n2,y", counts=(1, 1, 0, 0)),
    "CRLF": text("a,b\r\n1,x\r\n2,y\r\n", counts=(1, 1, 0, 0)),
    "CR alone": text("a,b\r1,x\r2,y\r", counts=(1, 1, 0, 0)),
    "mixed line ends": text("a,b\r\n1,x\n2,y\r2,z", counts=(1, 2, 0, 0)),
    "no rows": text("a,b\n", counts=(0, 0, 0, 0)),
    "no rows and no line end": text("a", counts=(0, 0, 0, 0)),
    "row numbers below no name": text(",a,b\n0,1,x\n1,2,y\n", counts=(1, 1, 0, 0)),
    "blank lines": text("a,b\n1,x\n\n\n2,y\n\n", counts=(1, 1, 0, 0)),
    "UTF-8 with a mark": text(codecs.BOM_UTF8 + b"a,b\n1,x\n", counts=(1, 0, 0, 0)),
    "UTF-16, small end first": text(codecs.BOM_UTF16_LE + "a,b\n1,ü\n".encode("utf-16-le"), counts=(1, 0, 0, 0)),
    "UTF-16, big end first": text(codecs.BOM_UTF16_BE + "a,b\n1,ü\n".encode("utf-16-be"), counts=(1, 0, 0, 0)),
    "UTF-32": text(codecs.BOM_UTF32_LE + "a,b\n1,ü\n".encode("utf-32-le"), counts=(1, 0, 0, 0)),
    "UTF-16 with half a letter at its end": text("\ufeffa\n1\n".encode("utf-16-le") + b"1", refused="whole character"),
    "UTF-16 with half a surrogate": text("\ufeffa,b\n1,".encode("utf-16-le") + b"\x00\xd8", counts=(1, 0, 0, 0)),
    "UTF-8 that is not shortest": text(b"a,b\n1,\xc0\xaf\n\xed\xa0\x80,y\n", counts=(1, 0, 1, 0)),
    "lines in Windows-1252 among others": text(b"a,b\n1,M\xfcnchen\n2,M\xc3\xbcnchen\n", counts=(1, 1, 0, 0)),
    "a named encoding": text("a,b\n1,日本\n".encode("shift_jis"), counts=(1, 0, 0, 0), encoding="shift_jis"),
    "semicolons": text("a;b\n1;1,5\n", counts=(1, 0, 0, 0)),
    "tabs": text("a\tb\n1\t1,5\n", counts=(1, 0, 0, 0)),
    "pipes": text("a|b\n1|x\n", counts=(1, 0, 0, 0)),
    "a named delimiter": text("a~b\n1~x\n", counts=(1, 0, 0, 0), delimiter="~"),
    "a delimiter of many bytes": text("a→b\n1→x\n", refused="", delimiter="→"),
    "quoted delimiters in a name": text('a,"b;;;"\n1,x\n', counts=(1, 0, 0, 0)),
    "line ends in a cell": text('a,b\n1,"x\ny\r\nz"\n2,y\n', counts=(1, 1, 0, 0)),
    "quotes in cells": text('a,b\n1,"x""y"\n2,5" pipe\n', counts=(1, 1, 0, 0)),
    "backslashes": text('a,b\n1,"x\\"\n2,y\\\n', counts=(1, 1, 0, 0)),
    "one column, a blank cell": text("a\n1\n\n2\n", counts=(1, 1, 0, 1)),
    "texts like missing ones": text("a,b\nNA,x\nnull,x\nNone,x\nnan,x\n,x\n1,x\n", counts=(1, 0, 4, 1)),
    "leading zeros and signs": text("a,b\n01,x\n+1,x\n1.0,x\n1e0,x\n1,x\n", counts=(2, 0, 3, 0)),
    "numbers beyond numbers": text("a,b\n1e400,x\n-inf,x\n0x1,x\n1_0,x\n1,x\n", counts=(1, 0, 4, 0)),
    "letters that cannot be seen": text("a,b\n\u202e1,x\n1\u200b,x\n\ufeff1,x\n1,x\n", counts=(1, 0, 3, 0)),
    "emoji and surrogates of CESU": text("a,b\n🙂,x\n".encode() + b"\xed\xa0\xbd\xed\xb8\x80,x\n", counts=(0, 0, 2, 0)),
    "control characters": text("a,b\n\x01\x1b[31m,x\n1,\x7f\n", counts=(1, 0, 1, 0)),
    "formulas": text('a,"=cmd|\' /C calc\'!A0"\n"=HYPERLINK(""http://x"")",@SUM\n1,+1\n', counts=(1, 0, 1, 0)),
    "markup": text("a,<script>alert(1)</script>\n<img src=x>,[x](http://x)\n1,$x$\n", counts=(1, 0, 1, 0)),
    "names of another world": text("a,__proto__,../x,CON,{{7*7}}\n1,2,3,4,5\n", counts=(1, 0, 0, 0)),
    "names that differ in capitals": text("a,A\n1,2\n", counts=(1, 0, 0, 0)),
    "names that are SQL": text('a,"b""; DROP TABLE rows; --"\n1,2\n', counts=(1, 0, 0, 0)),
    "a cell of a megabyte": text(b"a,b\n1," + b"x" * 2**20 + b"\n", counts=(1, 0, 0, 0)),
    "a line of almost four megabytes": text(b"a,b\n1," + b"x" * (4_194_000) + b"\n2,y", counts=(1, 1, 0, 0)),
    "four thousand columns": text(
        ",".join(["a", *(f"b{i}" for i in range(4_000))]) + "\n" + ",".join(["1"] * 4_001) + "\n", counts=(1, 0, 0, 0)
    ),
    "a hundred thousand rows that are alike": text("a,b\n" + "1,x\n" * 100_000, counts=(100_000, 0, 0, 0)),
}

REFUSED = {
    "empty": text("", "empty"),
    "a mark alone": text(codecs.BOM_UTF8, "blank or cannot be read"),
    "line ends alone": text("\n\n\n", "blank or cannot be read"),
    "a blank first line": text(f"\na,b\n{CANARY},2\n", "first line"),
    "the same name twice": text(f"a,b,a\n{CANARY},2,3\n", "2 columns are named 'a'"),
    "a column without a name": text(f"a,\n{CANARY},2\n", "column 2 has no name"),
    "a name with blanks around it": text(f" a ,b\n{CANARY},2\n", "'a'"),
    "four thousand names that are blank": text("a" + "," * 4_000 + "\n", "4,000 columns have no name"),
    "a hundred thousand columns": text("a" + ",b" * 99_999 + "\n", "100,000 columns; at most 5,000"),
    "a header of megabytes": text("a" + ",b" * (1 << 20) + "\n1\n", "longer than 1 MB"),
    "a name of 200 kB": text("a," + "b" * (200 << 10) + "\n1,2\n", "name is longer than 10,000"),
    "a quote open in the header": text(f'a,"b\n{CANARY},2\n3,4\n', "opens a quote"),
    "a quote open in the header, closed by a row": text(f'a,"b\n5,{CANARY}\n6,none"\n7,x\n', "opens a quote"),
    "a quote open in a header of one column": text(f'"a\n1,{CANARY}\n0,x\n', "opens a quote"),
    "a header of many lines": text(f'a,"b\n{CANARY}\n"\n1,2\n', "opens a quote"),
    "text behind a quoted name": text('"a"x,b\n1,2\n', "opens a quote"),
    "a short row": text(f"a,b\n1,2\n{CANARY}\n", "line 3 of the file does not have as many cells"),
    "a long row": text(f"a,b\n1,2\n3,4,{CANARY}\n", "line 3 of the file does not have as many cells"),
    "a long first row": text(f"a,b\n1,2,{CANARY}\n", "line 2 of the file does not have as many cells"),
    "an open quote": text(f'a,b\n"{CANARY},2\n3,4\n', "line 2 of the file opens a quote"),
    "an open quote in the last line": text(f'a,b\n1,2\n3,"{CANARY}', "line 3 of the file opens a quote"),
    "text behind a quoted cell": text(f'a,b\n"1"{CANARY},2\n', "line 2 of the file opens a quote"),
    "an open quote over megabytes": text(b'a,b\n1,"' + b"x\n" * (5 << 20), "quote"),
    "an endless line": text(b"a,b\n" + b"x" * (5 << 20) + b",2\n1,2\n", "a line is longer than 4 MB"),
    "an endless last line": text(b"a,b\n1,2\n" + b"x" * (9 << 20) + b",2\n", "a line is longer than 4 MB"),
    "an endless last line without an end": text(b"a,b\n1,2\n" + b"x" * (9 << 20) + b",2", "a line is longer than 4 MB"),
    "an endless first line": text(b"a" * (9 << 20), "longer than 4 MB"),
    "an endless line in UTF-16": text(
        codecs.BOM_UTF16_LE + ("a,b\n1,2\n" + "x" * (9 << 20)).encode("utf-16-le"), "a line is longer than 4 MB"
    ),
    "a NUL": text(f"a,b\n{CANARY}\0,2\n", "NUL"),
    "a NUL far down": text(b"a,b\n" + b"1,2\n" * (3 << 20) + b"\0,2\n", "NUL"),
    "UTF-16 without a mark": text(f"a,b\n{CANARY},2\n".encode("utf-16-le"), "encoding utf-16-le"),
    "UTF-16 read as UTF-8": text(b"\xff\xfea\x00,\x00", "NUL", encoding="utf-8"),
    "an unknown encoding": text(f"a,b\n{CANARY},2\n", "try utf-8", encoding="klingon"),
    "an encoding of bytes": text(f"a,b\n{CANARY},2\n", "try utf-8", encoding="base64"),
    "a long delimiter": text(f"a,b\n{CANARY},2\n", "one character", delimiter="::"),
    "a quote as delimiter": text(f"a,b\n{CANARY},2\n", "one character", delimiter='"'),
    "a NUL as delimiter": text(f"a,b\n{CANARY},2\n", "", delimiter="\0"),
    "a workbook named CSV": text(b"PK\x03\x04" + CANARY.encode(), "an Excel workbook"),
    "an old workbook named CSV": text(b"\xd0\xcf\x11\xe0" + CANARY.encode(), "an old Excel workbook"),
    "a Parquet file named CSV": text(b"PAR1" + CANARY.encode(), "a Parquet file"),
    "an Arrow file named CSV": text(b"ARROW1" + CANARY.encode(), "an Arrow file"),
    "an archive named CSV": text(gzip.compress(CANARY.encode()), "a gzip archive"),
    "a document named CSV": text(b"%PDF-1.7" + CANARY.encode(), "a PDF document"),
    "a photograph named CSV": text(b"\xff\xd8\xff\xe0\x00" + CANARY.encode(), "a picture"),
    "a database named CSV": text(b"SQLite format 3\0" + CANARY.encode(), "a database"),
    "a page named CSV": text(f"<!DOCTYPE html>\n<p>{CANARY}</p>\n", "'a'"),
    "lines of JSON": text(f'{{"a": "1"}}\n{{"a": "{CANARY}"}}\n', "'a'"),
    "noise": text(bytes(range(1, 256)) * 40, ""),
    "noise with NUL": text(bytes(range(256)) * 40, "NUL"),
    "an unknown kind": Case("t.docx", CANARY.encode(), "use CSV, Parquet"),
    "no kind": Case("t", CANARY.encode(), "use CSV, Parquet"),
}

UTF16 = codecs.BOM_UTF16_LE + "a,b\n1,x\n".encode("utf-16-le")

PACKED = {
    "gzipped": packed(gzip.compress(b"a,b\n1,x\n2,y"), counts=(1, 1, 0, 0)),
    "gzipped with CRLF": packed(gzip.compress(b"a,b\r\n1,x\r\n"), counts=(1, 0, 0, 0)),
    "gzipped UTF-16": packed(gzip.compress(UTF16), counts=(1, 0, 0, 0)),
    "gzipped in parts": packed(members(b"1,x\n", 3, b"a,b\n"), counts=(3, 0, 0, 0)),
    "gzipped with zeros behind it": packed(gzip.compress(b"a,b\n1,x\n") + bytes(512), counts=(1, 0, 0, 0)),
    "gzipped rows that compress very well": packed(members(b"1,x\n" * 10_000, 50, b"a,b\n"), counts=(500_000, 0, 0, 0)),
    "gzipped nothing": packed(gzip.compress(b""), "empty"),
    "an empty archive": packed(b"", "empty"),
    "a table named gzip": packed(f"a,b\n{CANARY},2\n".encode(), "cannot be read"),
    "an archive cut off": packed(gzip.compress(f"a,b\n{CANARY},2\n".encode() * 99)[:-12], "cannot be read"),
    "an archive with a damaged middle": packed(
        gzip.compress(bytes(range(256)) * 99)[:40] + b"\xff" * 400, "cannot be read"
    ),
    "an archive with a wrong checksum": packed(
        gzip.compress(f"a,b\n{CANARY},2\n".encode())[:-8] + bytes(8), "cannot be read"
    ),
    "an archive with noise behind it": packed(
        gzip.compress(f"a,b\n{CANARY},2\n".encode()) + b"noise", "cannot be read"
    ),
    "an archive in an archive": packed(gzip.compress(gzip.compress(b"a\n1\n")), "a gzip archive"),
    "a Parquet file in an archive": packed(gzip.compress(b"PAR1" + bytes(99)), "a Parquet file"),
    "a Parquet file named gzip": Case("t.parquet.gz", gzip.compress(b"PAR1"), "unpack this one first"),
    "a bomb of rows": packed(lambda: members(b"1,x\n" * (1 << 18), 4_000, b"a,b\n"), "unpacks to far more"),
    "a bomb of one line": packed(lambda: members(b"x" * (1 << 20), 4_000, b"a,b\n"), "a line is longer than 4 MB"),
    "a bomb of zeros": packed(lambda: members(bytes(1 << 20), 4_000, b"a,b\n"), "4 MB"),
    "a bomb in UTF-16": packed(
        lambda: members("1,x\n".encode("utf-16-le") * (1 << 17), 4_000, UTF16), "unpacks to far more"
    ),
    "a bomb in a header": packed(lambda: members(b"x," * 1_000, 600, b"a,b"), "longer than 1 MB"),
}  # fmt: skip

CASES = READ | REFUSED | PACKED
