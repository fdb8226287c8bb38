"""A bundle is read back as the release that was published: in data frames, in Arrow, in a notebook."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpengine as dpe
from dpengine.bundle.promises import table_files
from dpengine.bundle.write import pack
from dpengine.results.result import Result
from tests.plans import PAY

FORMULA = dpe.Plan(
    dataset="d", epsilon=1, columns=[dpe.Category(name="=a", values=["=1+1", "-5", " b"])], tables=[["=a"]]
)


@pytest.fixture(scope="module", params=[dpe.Plan.loads(PAY), FORMULA], ids=["means", "formulas"])
def made(request: pytest.FixtureRequest) -> Result:
    return dpe.preview(request.param)


@pytest.fixture(scope="module")
def packed(made: Result) -> bytes:
    return pack(made)


def test_each_table_comes_back_with_its_labels_types_and_numbers(made: Result, packed: bytes, tmp_path: Path) -> None:
    (tmp_path / "release.zip").write_bytes(packed)
    read = dpe.published(tmp_path / "release.zip")
    assert list(read.tables) == list(made.tables)
    for table, frame in made.tables.items():
        pd.testing.assert_frame_equal(read.tables[table], frame, check_exact=False, atol=1e-6, rtol=0)
        assert read.arrow[table].schema == made.arrow[table].schema
        assert read.half_width(table) == pytest.approx(made.half_width(table))
    assert pa.table(read).schema == pa.table(made).schema
    assert np.isclose(pa.table(read)["count"].to_numpy(), pa.table(made)["count"].to_numpy()).all()


def test_its_parquet_files_hold_the_same_columns_and_types(made: Result, packed: bytes) -> None:
    read = dpe.published(packed)
    for table, file in table_files(made.plan).items():
        stored = pq.read_table(io.BytesIO(read.file(file.replace(".csv", ".parquet"))))
        pd.testing.assert_frame_equal(stored.to_pandas(), read.tables[table])
        kinds = {name: str(made.arrow[table][name].type) for name in made.arrow[table].column_names[len(table) :]}
        assert {name: str(stored[name].type) for name in kinds} == kinds


def test_it_shows_itself_as_the_release(made: Result, packed: bytes) -> None:
    read = dpe.published(packed)
    assert repr(read) == repr(made).replace("Result", "Published")
    ours, theirs = (_words_and_numbers(each._repr_html_()) for each in (made, read))
    assert theirs[0] == [each.replace("Preview on a made-up table: ", "Release: ") for each in ours[0]]
    assert theirs[1] == pytest.approx(ours[1], rel=1e-2)  # those of a file are rounded twice


def _words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    number = r"[0-9]+[.][0-9]+"
    return re.split(number, text), [float(each) for each in re.findall(number, text)]


def test_a_table_that_is_not_published_is_missed_by_its_name(packed: bytes) -> None:
    read = dpe.published(packed)
    for look_up in (read.tables.__getitem__, read.numbers, read.half_width):
        with pytest.raises(KeyError, match=r"'agee',.*tables are named by tuples of columns: "):
            look_up(("agee",))


def test_a_release_and_a_plan_name_what_there_is_beside_what_is_missed(made: Result) -> None:
    for look_up in (made.counts, made.estimate, made.half_width, made.numbers, made.mostly_noise):
        for missed in (("agee",), "age"):
            with pytest.raises(KeyError, match=r"'agee?',?.*: tables are named by tuples of columns: \('"):
                look_up(missed)  # type: ignore[operator]
    with pytest.raises(
        KeyError, match=f"'agee' is none of the plan's columns, which are '{made.plan.columns[0].name}'"
    ):
        made.plan.column("agee")


def test_a_bundle_that_does_not_verify_or_lacks_the_expected_signature_is_not_read(packed: bytes) -> None:
    with pytest.raises(dpe.ReleaseError):
        dpe.published(packed.replace(b"tables/", b"tablet/"))
    with pytest.raises(dpe.ReleaseError, match="not signed"):
        dpe.published(packed, key="0" * 32)
