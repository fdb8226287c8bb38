"""Files of SPSS, Stata and SAS."""

from __future__ import annotations

import base64
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat

from tests.corpus.case import CANARY, Case, Counts

PLAIN: dict[str, list[Any]] = {"a": [1.0, 2.0, 2.0, 7.0, None], "b": ["x", CANARY, "z", "w", ""]}
COUNTS = (1, 2, 1, 1)
WRITERS: dict[str, Callable[..., None]] = {
    "sav": pyreadstat.write_sav, "zsav": pyreadstat.write_sav, "por": pyreadstat.write_por,
    "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport,
}  # fmt: skip
# A table of columns a (1, 2, 2, 7 and a missing one), b and d, written by the program of the library ReadStat.
SAS = zlib.decompress(
    base64.b85decode(
        "c-rmSyGz4B90%}UTb1}2Qt8k^Fo;73kpzn<2qw@9LIk1x15^}o>EMH^ixwOlocvdu#UO$pf;cE{f}@j*5AYE$xvObTV;yuTem^Dr"
        "df$5tg_JuuqQK#8Woj>#Jlo$@sP)*`Nq4Ks0iqs?kwM=|g<1uxppA{&`J7d>3i+ZIh3fF;^Ks_=!Sb~gREf8eN)(sk;eOrFjR~FA"
        "EUSa|LTP1{0000000000000000002~BZYm4t~z)tlL+@ZB2P=RwnRQs4Pv}ZiaaajO(M6Y{HUE*Q(iwJ&qd?_00000zvb=O^)<@;"
        "jDJ(Mk6J|gg->^fKJEP3zMO5u7156S?Krhb{k6nWuJ)01i4mHpz0wS#S1~73lgW34r`a>Zo>}j^PGpsq%5#fE4~*9@9ZTqu`N?n5"
        "DQa^>f1=(3>esO=!CL|iDOUSt+>P@4^UnN5^?+@z`DODYNY;5hf7%fL0A`tw**-PHJ<iP~4(b2^000000DtZs7;%Hw"
    )
)


def written(kind: str, columns: Mapping[str, list[Any]] | None = None, **options: Any) -> bytes:
    """Return a file of this kind."""
    packed = {"row_compress": True} if kind == "sav" else {"compress": True} if kind == "zsav" else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"t.{kind}")
        WRITERS[kind](pd.DataFrame(columns or PLAIN), str(path), **packed, **options)
        return path.read_bytes()


@cache
def plain(kind: str) -> bytes:
    return SAS if kind == "sas7bdat" else written(kind)


def case(kind: str, change: Callable[[bytes], bytes], refused: str = "", counts: Counts | None = None) -> Case:
    return Case(f"t.{kind}", lambda: change(plain(kind)), refused, counts)


def without_end(content: bytes) -> bytes:
    return content[: len(content) * 2 // 3]


def claiming(place: int, number: int) -> Callable[[bytes], bytes]:
    """Return a change of a whole number of four bytes."""
    return lambda content: content[:place] + struct.pack("<i", number) + content[place + 4 :]


def with_junk(content: bytes) -> bytes:
    """Keep what tells the kind of a file, and nothing else."""
    return content[:64] + CANARY.encode() * 500


NAMES = {"sav": "SPSS", "zsav": "SPSS", "por": "SPSS", "dta": "Stata", "sas7bdat": "SAS", "xpt": "SAS"}
CASES = {
    **{f"{kind}: plain": case(kind, bytes, counts=COUNTS) for kind in NAMES if kind != "por"},
    "por: plain": Case("t.por", lambda: written("por", {"A": PLAIN["a"]}), "'a'"),  # its names are in capitals
    **{f"{kind}: cut off": case(kind, without_end, f"not a whole {name} file") for kind, name in NAMES.items()},
    **{f"{kind}: junk": case(kind, with_junk, f"not a whole {name} file") for kind, name in NAMES.items()},
    **{
        f"{kind}: a table named so": Case(f"t.{kind}", f"a,b\n{CANARY},2\n".encode(), f"not a whole {name} file")
        for kind, name in NAMES.items()
    },
    "sav: two billion rows are stated": case("sav", claiming(80, 2**31 - 1), counts=COUNTS),
    "sav: no number of rows is stated": case("sav", claiming(80, -1), counts=COUNTS),
    "sav: a row of two billion values is stated": case("sav", claiming(68, 2**31 - 1), counts=COUNTS),
    "sav: texts that are no UTF-8": case("sav", lambda whole: whole.replace(CANARY.encode(), b"\xff" * 12), "state"),
    "zsav: the end of a packed block changed": case("zsav", lambda whole: whole[:-40] + b"\xff" * 40, "not a whole"),
    "dta: nothing": Case("t.dta", b"", "not a whole Stata file"),
}  # fmt: skip
