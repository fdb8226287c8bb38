"""One row more, or one file more, changes its own cells alone, whatever it holds and however the table is read.

Each table is counted with and without hostile rows. Where a reader refuses the table with them, nothing is counted.
"""

import codecs
import datetime as dt
import itertools
import math
import sqlite3
from decimal import Decimal

import duckdb
import ibis
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from dpengine.counting import single_query
from dpengine.counting.count import count, digest, digest_of_texts, distinct_texts
from dpengine.counting.equivalence_classes import class_sizes
from dpengine.counting.single_query import Selection
from dpengine.errors import TableError
from dpengine.sources.open import open_table
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Plan, Unit
from tests.counting.encoding.test_local_sql import plan_of
from tests.ibis_tables import TOLERATED

pytestmark = TOLERATED

BIG = 2**53 + 1
PLAN = Plan(
    dataset="d", epsilon="1", tables={"each": 1},
    columns=[
        {"name": "n", "kind": "number", "edges": [0, 10, 2**53, 2**53 + 2, 2**54], "missing_as": ["-9"]},
        {"name": "c", "kind": "category", "values": ["1.0", "2", str(BIG), str(BIG + 2), "0.5", "true", "x", "ä"]},
        {"name": "y", "kind": "yesno", "missing_as": ["9.0"]},
        {"name": "d", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month"},
    ],
)  # fmt: skip
HOSTILE = [
    str(BIG), "1e400", "NaN", "", "  ", "-0.0", '"', "a,b", "a;b;c;d;e", "x\ny", "x" * 100_000, "05/01/2024",
    "2024-13-45", "None", "True", "1,5", "\u202e", "ä", "=1+1", "\ufeff", "#", "\\",
]  # fmt: skip


def marginals(source, plan=PLAN, **options):
    with open_table(source, **options) as table:
        return count(table, plan, plan.marginals, truncation_key=b"k")


def moved(before, after):
    """Return the largest L1 difference of a marginal."""
    return max(int(abs(one - other).sum()) for one, other in zip(before, after, strict=True))


TEXTS = [("1", "2", "yes", "2024-01-05"), ("9.5", "ä", "0", "2024-02-30"), (str(BIG), "true", "1", "")] * 3


def csv_bytes(texts, codec):
    cells = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' if set(cell) & set('",\n\r') else cell for cell in row]
             for row in [("n", "c", "y", "d"), *texts]]  # fmt: skip
    return "".join(",".join(row) + "\r\n" for row in cells).encode(codec, "replace")


@pytest.mark.parametrize(
    ("codec", "options"),
    [("utf-8", {}), ("cp1252", {}), ("utf-16", {}), ("utf-7", {"encoding": "utf-7"}), ("hz", {"encoding": "hz"})],
)
@pytest.mark.by_day(8)
def test_a_row_of_a_text_file(tmp_path, codec, options):
    path = tmp_path / "t.csv"
    path.write_bytes(csv_bytes(TEXTS, codec))
    before = marginals(path, **options)
    hostile = [(text,) * 4 for text in HOSTILE]
    for some in [hostile, hostile[:1]]:
        path.write_bytes(csv_bytes([*TEXTS[:4], *some, *TEXTS[4:]], codec))
        assert moved(before, marginals(path, **options)) <= len(some)


@pytest.mark.parametrize(
    ("codec", "odd"),
    [
        ("utf-8", b"\xff"), ("utf-8", b"\xc3"), ("iso2022_jp", b"\x1b$B"), ("hz", b"~{"), ("utf-7", b"+"),
        ("iso2022_kr", b"\x0e"), ("shift_jis", b"\x81"), ("gb18030", b"\x81"), ("utf-16-le", b"\x00\xd8"),
        ("utf-16-le", b"x"), ("utf-32-be", b"x\x00"),
    ],
)  # fmt: skip
@pytest.mark.by_day(4)
def test_odd_bytes_in_a_row_of_a_text_file(tmp_path, codec, odd):
    path = tmp_path / "t.csv"
    options = {} if codec == "utf-8" else {"encoding": codec}
    texts = [tuple(cell.replace("ä", "a") for cell in row) for row in TEXTS]
    path.write_bytes(csv_bytes(texts, codec))
    before = marginals(path, **options)
    header = len(csv_bytes([], codec))
    content, end = path.read_bytes(), len("\r\n".encode(codec))
    row = csv_bytes([("7", "x", "no", "2024-03-01")], codec)[header:]
    path.write_bytes(content[:header] + row[:-end] + odd + row[-end:] + content[header:])
    if odd in (b"x", b"x\x00"):
        with pytest.raises(TableError, match="whole character"):
            marginals(path, **options)
    else:
        assert moved(before, marginals(path, **options)) <= 1


def test_a_byte_order_mark_belongs_to_no_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(csv_bytes(TEXTS, "utf-8"))
    before = marginals(path)
    path.write_bytes(csv_bytes(TEXTS, "utf-8") + codecs.BOM_UTF16_LE + b"1,2,yes,2024-01-05\n")
    assert moved(before, marginals(path)) <= 1


OBJECTS = [
    None, True, BIG, 2**64 - 1, 10**40, 0.5, 1e400, math.nan, -0.0, np.float32(0.7), "text", "1.0", b"\xff",
    Decimal("1.50"), dt.date(2024, 1, 5), dt.datetime(2024, 1, 5, 1), dt.datetime(1, 1, 1, tzinfo=dt.UTC), pd.NaT,
    pd.NA, dt.timedelta(1), [1], "\ud800",
]  # fmt: skip
COLUMNS = {
    "n": [[1, 2, 9], [1.0, 0.5, 11.0], [True, False, True], [BIG, BIG - 1, 2]],
    "c": [[1, 2, 2], [1.0, 0.5, 2.0], [True, False, True], [BIG, BIG + 2, 2]],
    "y": [[1, 0, 9], [1.0, 0.0, 9.0], [True, False, True], [1, 0, 1]],
    "d": [pd.to_datetime(["2024-01-05", "2024-05-06", "2023-01-01"])] * 4,
}


@pytest.mark.by_day(2)
@pytest.mark.parametrize("k", range(4))
def test_objects_of_other_types_in_a_data_frame(k):
    columns = {name: list(some[k]) for name, some in COLUMNS.items()}
    before = marginals(pd.DataFrame(columns))
    for values in ([None], ["text"], OBJECTS):
        frame = pd.DataFrame({name: pd.Series([*some, *values], dtype=object) for name, some in columns.items()})
        after = marginals(frame)
        assert moved(before, after) == len(values)
        assert all((more >= less).all() for more, less in zip(after, before, strict=True))


def test_a_missing_value_that_makes_pandas_choose_floating_point():
    columns = {name: some[0] for name, some in COLUMNS.items()}
    before = marginals(pd.DataFrame(columns))
    after = pd.DataFrame({name: [*some, None] for name, some in columns.items()})
    assert after["c"].dtype == float
    assert moved(before, marginals(after)) == 1


FILES = [
    {"n": [1.5], "c": [1.0], "y": [1.0], "d": ["x"]},
    {"n": [None], "c": [None], "y": [None], "d": [None]},
    {"n": ["x"], "c": ["true"], "y": ["no"], "d": ["2024-01-05"]},
    {"n": [True], "c": [True], "y": [True], "d": [dt.date(2024, 1, 5)]},
    {"n": [Decimal("0.700")], "c": [Decimal("2.00")], "y": [Decimal("1.0")], "d": [dt.datetime(2024, 1, 5, 3)]},
    {"n": pa.array([0.7], pa.float32()), "c": pa.array([0.5], pa.float32()), "y": pa.array([1], pa.uint64()),
     "d": pa.array([0], pa.timestamp("ns", "UTC"))},
    {"n": pa.array([BIG], pa.uint64()), "c": pa.array([2], pa.int8()), "y": pa.array([1], pa.int8()),
     "d": pa.array([0], pa.timestamp("ms"))},
    {"n": pa.array(["x"]).dictionary_encode(), "c": [dt.datetime(2024, 1, 5)], "y": ["9"], "d": ["05.01.2024"]},
]  # fmt: skip


def test_parquet_files_of_other_types_are_counted_as_if_each_were_alone(tmp_path):
    days = [dt.datetime(2024, 1, 5), dt.datetime(2024, 5, 6), dt.datetime(2023, 1, 1)]
    plain = [{**{name: some[k] for name, some in COLUMNS.items()}, "d": days} for k in range(4)]
    alone = []
    for number, columns in enumerate([*plain, *FILES]):
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
        alone.append(marginals(tmp_path / f"{number}.parquet"))
    for one, *each in zip(marginals(tmp_path), *alone, strict=True):
        assert one.tolist() == sum(each).tolist()


def test_one_parquet_file_with_a_missing_value_moves_no_other_row(tmp_path):
    numbers = [BIG, BIG + 2] * 1000
    plan = plan_of({"kind": "category", "values": [str(BIG), str(BIG + 2)]})
    pq.write_table(pa.table({"x": numbers}), tmp_path / "a.parquet")
    before = marginals(tmp_path, plan)
    pq.write_table(pa.Table.from_pandas(pd.DataFrame({"x": [1, None]})), tmp_path / "b.parquet")
    assert moved(before, marginals(tmp_path, plan)) == 2  # the rows of that file


def test_a_parquet_file_that_makes_a_column_nested_is_refused_by_name(tmp_path):
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [[1]]}), tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"column 'n' is of another type in 'b\.parquet' than in 'a\.parquet'"):
        open_table(tmp_path)


def test_a_time_beyond_the_calendar_in_a_parquet_file(tmp_path):
    path, early = tmp_path / "t.parquet", 2**62
    columns = {
        "n": pa.array([1, 2, 2], pa.duration("s")), "c": pa.array([1, 2, 2], pa.int16()), "y": [True, False, None],
    }  # fmt: skip
    pq.write_table(pa.table({**columns, "d": pa.array([0, 1704500000000, None], pa.timestamp("ms"))}), path)
    before = marginals(path)
    pq.write_table(pa.table({**columns, "d": pa.array([0, 1704500000000, early], pa.timestamp("ms"))}), path)
    assert moved(before, marginals(path)) <= 2  # one value is another


PERSONS = Plan(
    dataset="d", epsilon="1", tables=[["n"]], unit={"id": "id", "rows": 1},
    columns=[{"name": "n", "kind": "number", "edges": [0, 10]}],
)  # fmt: skip


def test_a_person_is_one_whether_the_number_is_whole_or_a_text(tmp_path):
    ids = [[7, BIG], [7.0, 8.5], ["7", "7.0"], ["7.00", " 7 "], [Decimal("7.0"), Decimal("8.5")], [None, "8.50 "]]
    for number, each in enumerate(ids):
        pq.write_table(pa.table({"id": each, "n": [1] * len(each)}), tmp_path / f"{number}.parquet")
    assert marginals(tmp_path, PERSONS)[0].sum() == 4  # 7, BIG, 8.5 and 8.50
    objects = pd.DataFrame({"id": pd.Series(list(itertools.chain(*ids)), dtype=object), "n": 1})
    assert marginals(objects, PERSONS)[0].sum() == 4


def test_a_row_of_a_workbook(tmp_path):
    def book(rows):
        workbook = openpyxl.Workbook()
        for row in [("n", "c", "y", "d"), *rows]:
            workbook.active.append(row)
        workbook.save(tmp_path / "t.xlsx")
        return tmp_path / "t.xlsx"

    rows = [(1, 1, True, dt.date(2024, 1, 5)), (2.5, "x", "no", "2024-02-03"), (BIG, 0.5, 9, None)] * 3
    before = marginals(book(rows))
    hostile = [1e300, "x" * 30_000, True, None, "NaN", dt.datetime(2024, 1, 5, 3), dt.time(3), "#N/A", "05/01/2024"]
    assert moved(before, marginals(book([*((value,) * 4 for value in hostile), *rows]))) <= len(hostile)
    assert moved(before, marginals(book([*rows, (1, 1, 1, None, "x")]))) <= 1, "a cell beside the table"
    with pytest.raises(TableError, match="never computed"):  # so its value is not in the file
        marginals(book([*rows, (1, 1, 1, "=1/0")]))


def test_a_row_of_an_arrow_file_with_a_dictionary(tmp_path):
    def file(values):
        arrays = {name: pa.array(values, pa.large_string()).dictionary_encode() for name in "ncyd"}
        feather.write_feather(pa.table(arrays), tmp_path / "t.arrow")
        return tmp_path / "t.arrow"

    values = ["1", "x", "2024-01-05", None] * 3
    assert moved(marginals(file(values)), marginals(file([*HOSTILE, *values]))) <= len(HOSTILE)


def test_a_row_of_a_database_that_ibis_copies(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (n INTEGER, c INTEGER, y BOOLEAN, d TEXT)")
    rows = [(BIG, BIG, 1, "2024-01-05"), (BIG + 2, BIG + 2, 0, "x"), (1, 2, None, None)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    table = ibis.sqlite.connect(tmp_path / "t.db").table("t")
    before = marginals(table)
    for hostile in ((None, None, None, None), (2**62, -(2**63), 1, "\u202e"), ("x", 0.5, "y", b"\xff")):
        connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", hostile)
        connection.commit()
        after = marginals(table)
        assert moved(before, after) == 1
        before = after


def test_a_row_of_a_duckdb_database(tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (n DOUBLE, c VARCHAR, y VARCHAR, d VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(1, *row[1:]) for row in TEXTS])
    before = marginals(tmp_path / "t.duckdb")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(math.nan, *[text] * 3) for text in HOSTILE])
    assert moved(before, marginals(tmp_path / "t.duckdb")) <= len(HOSTILE)


LABELS = ["1", "1.0", "1.00", "01", "+1", "1e2", "100.0", "0.5", "0.50", ".5", "-0.0", "true", "True", "inf", "nan",
          "9007199254740993", "1e+16", "2024-01-05", "1.50"]  # fmt: skip
KINDS = [
    {"kind": "category", "values": LABELS},
    {"kind": "category", "values": LABELS[1::2], "missing_as": ["1", "0.50"]},
    {"kind": "category", "values": [*LABELS, *(f"v{i}" for i in range(1100))], "missing_as": ["100"]},
    {"kind": "number", "edges": [-5, 0, 0.5, 1, 1.5, 100, 2**53, 10**17], "missing_as": ["1.0"]},
    {"kind": "number", "edges": {"from": 0, "to": 2000, "bins": 2000}, "missing_as": ["100.0", "x"]},
    {"kind": "yesno", "missing_as": ["100.0"]},
]
_DECIMALS = [pa.decimal128(38, 0), pa.decimal128(38, 1), pa.decimal128(30, 5)]


def mixed(arrays):
    """Return a mixed column with the cells of `arrays` in turn."""
    length = sum(map(len, arrays))
    members, start = [], 0
    for array in arrays:
        before, after = pa.nulls(start, array.type), pa.nulls(length - start - len(array), array.type)
        members.append(pa.concat_arrays([before, array, after]))
        start += len(array)
    return pa.StructArray.from_arrays(members, [f"cell_{k}" for k in range(len(members))])


@pytest.mark.by_day(6)
@pytest.mark.parametrize("column", KINDS)
@pytest.mark.parametrize("numbers", [["0", "1", "100", str(10**16)], ["0.5", "1.5", "-3.0"], [str(BIG)]])
def test_a_number_has_one_cell_in_all_types(column, numbers):
    """Also where its type is that of a member of a mixed column."""
    plan = plan_of(column)
    values = [Decimal(number) for k, number in enumerate(numbers) for _ in range(2**k)]
    arrays = [
        pa.array(values, kind) for kind in _DECIMALS if all(value == round(value, kind.scale) for value in values)
    ]
    if all(value == int(value) >= 0 for value in values):
        arrays += [pa.array([int(value) for value in values], kind) for kind in (pa.int64(), pa.uint64())]
    if numbers != [str(BIG)]:
        arrays += [pa.array([float(value) for value in values])]
    first, *others = [marginals(pa.table({"x": array}), plan)[0].tolist() for array in arrays]
    assert others == [first] * len(others)
    assert marginals(pa.table({"x": mixed(arrays)}), plan)[0].tolist() == [len(arrays) * each for each in first]


VALUES = [
    pa.array(["1", "1.0", " true", "x", "", None, "2024-01-05", "nan", "1e400"]),
    pa.array([True, False, None]), pa.array([BIG, 1, 0, None]), pa.array([1.0, 0.5, math.nan, -math.inf, None, -0.0]),
    pa.array([0.7, 1.5, None], pa.float32()), pa.array([Decimal("1.50"), None]), pa.array([dt.date(2024, 1, 5), None]),
    pa.array([dt.datetime(2024, 1, 5), dt.datetime(2024, 1, 5, 1), None], pa.timestamp("us")),
    pa.array([1704412800000000000], pa.timestamp("ns")), pa.nulls(2),
]  # fmt: skip
WHEN = {"kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "day", "missing_as": ["2024-01-05"]}


@pytest.mark.by_day(3)
@pytest.mark.parametrize("column", [*KINDS, WHEN, {**WHEN, "missing_as": []}])
def test_a_cell_of_a_mixed_column_is_that_of_its_own_type(column):
    plan = plan_of(column)
    arrays, each = [], []
    for array in VALUES:
        try:
            each.append(marginals(pa.table({"x": array}), plan)[0])
        except TableError:
            continue  # this kind cannot be read from this type
        arrays.append(array)
    assert len(arrays) >= 4
    assert marginals(pa.table({"x": mixed(arrays)}), plan)[0].tolist() == sum(each).tolist()


def test_questions_and_digests_take_cells_by_their_own_types(tmp_path):
    pq.write_table(pa.table({"x": [1, BIG], "id": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [0.5, None], "id": ["1.0", "3"]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"x": ["7", "nan"], "id": ["4", None]}), tmp_path / "c.parquet")
    objects = pd.DataFrame({
        "x": pd.Series([1, BIG, 0.5, None, "7", "nan"], dtype=object),
        "id": pd.Series([1, 2, "1.0", "3", "4", None], dtype=object),
    })  # fmt: skip
    grid = Grid(name="x", low=0, high=10, step="0.5")
    with open_table(tmp_path) as files, open_table(objects) as frame:
        for table in (files, frame):
            assert single_query.sums(table, Selection((), Unit(), b""), grid, squares=True) == [
                (4, 1 + 2 + 14 + 20, 1 + 4 + 196 + 400)
            ]
            assert single_query.count_matching(table, Selection((), Unit(id="id", rows=1), b"")) == [(4, 0)]
            assert class_sizes(table, ["x"]).size.tolist() == [1] * 6
            assert distinct_texts(table, "x", limit=9) == ["0.5", "1", "7", str(BIG), "nan"]
        assert digest(files) == digest(frame)
        assert digest_of_texts(files) == digest_of_texts(frame)
