"""Days are written and read as the SQL engine that counts them does, without loading it."""

from __future__ import annotations

import subprocess
import sys
from datetime import date

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.synthesis.date_texts import ISO, read_day, write_day

FORMATS = [
    "%d.%m.%Y", "%-d.%-m.%y", "%m/%d/%Y", "%-m/%-d/%Y", "%Y%m%d", "%d%m%y", "%b %Y", "%d %b %Y", "%d-%b-%y", "%Y-%j",
    "%B %d, %Y", "%A, %d %B %Y", "%a %d %h %y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S%z",
    "%x", "%c", "%Y/%m/%d %X", "%d/%m/%Y %I:%M %p", "%Y-%m", "%m/%Y", "%Y", "%y", "%d.%m.", "100%% %d.%m.%Y",
    "%G-W%V-%u", "%Y-%W-%w", "%Y %U %a", "%Y-%W",
]  # fmt: skip


ENGINE = duckdb.connect()
# What is written in ISO 8601 is read in any format, as the engine's own function does not.
OTHER_TEXTS = st.text("0123456789 ./-:aeJnu", max_size=12).filter(lambda text: not ISO.fullmatch(text))


def engine(sql: str, *values: object) -> object:
    (answer,) = ENGINE.execute(f"SELECT {sql}", values).fetchone()  # type: ignore[misc]
    return answer


@pytest.mark.by_day(2)
@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=20, deadline=None)
@given(day=st.dates(), text=OTHER_TEXTS)
def test_the_engine_writes_and_reads_the_same(format: str, day: date, text: str) -> None:
    written = write_day(day, format)
    assert written == engine("strftime(?::DATE, ?)", day, format)
    for each in (written, written.upper(), written.replace("0", "", 1), f" {written} ", text):
        assert read_day(each, format) == engine("try_strptime(?, ?)::TIMESTAMP::DATE", each, format)


def test_what_a_format_does_not_read_is_read_as_iso() -> None:
    assert read_day("2024-02-29", "%d.%m.%Y") == date(2024, 2, 29)
    assert read_day("2024-02-30", "%d.%m.%Y") is None
    assert read_day("29.02.2024", None) is None


def test_no_engine_and_no_rows_can_be_reached_from_synthesis() -> None:
    """So verifying a stranger's file loads neither."""
    code = "import sys, dpengine.synthesis.cell_values, dpengine.synthesis.resample; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name for name in loaded if name.startswith(("duckdb", "dpengine.counting", "dpengine.sources"))}


def test_years_of_two_digits_are_those_from_1969_to_2068() -> None:
    for text, year in {"69": 1969, "99": 1999, "00": 2000, "68": 2068}.items():
        assert read_day(f"01.01.{text}", "%d.%m.%y") == date(year, 1, 1)
