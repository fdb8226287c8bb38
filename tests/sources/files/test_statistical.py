"""Files of SPSS, Stata and SAS: types, dates, missing values, and what the file says of its columns."""

import datetime as dt
import signal

import pytest

from dpengine.counting.count import count, digest
from dpengine.errors import TableError
from dpengine.isolation.run import run
from dpengine.sources.files import isolated, statistical
from dpengine.sources.files.arrow_file import read_copy
from dpengine.sources.mixed import text_of
from dpengine.sources.open import columns_of, open_table
from dpengine.spec.plan import Plan
from tests.corpus.statistical import written

DAYS = [dt.date(2020, 1, 5), None, dt.date(1999, 12, 31)]
NUMBERS = "STRUCT(cell_0 BIGINT, cell_1 DOUBLE)"
ROWS = {"sex": [1.0, 2.0, 9.0], "age": [20.5, None, 40.0], "town": ["Ä", "", "b, c"], "day": DAYS}
WORDS = {"sex": {1: "male", 2: "female", 9: "refused"}, "age": {20: "young", 40: "old"}}


def opened(tmp_path, kind="sav", columns=ROWS, **options):
    path = tmp_path / f"t.{kind}"
    path.write_bytes(written(kind, columns, **options))
    return open_table(path)


def rows(table):
    """Return all cells as texts."""
    with table.connection() as connection:
        cells = [text_of(f"c{k}", field.type) for k, field in enumerate(table.columns)]
        return connection.execute(f"SELECT {', '.join(cells)} FROM rows").fetchall()


@pytest.mark.parametrize("kind", ["sav", "zsav", "dta", "xpt"])
def test_columns_have_the_types_that_the_file_declares(kind, tmp_path):
    with opened(tmp_path, kind) as table:
        assert [(field.kind_hint, field.type) for field in table.columns] == [
            ("number", NUMBERS), ("number", NUMBERS), ("category", "VARCHAR"), ("date", "DATE"),
        ]  # fmt: skip
        assert rows(table) == [
            ("1", "20.5", "Ä", "2020-01-05"),
            ("2", None, "", None),
            ("9", "40", "b, c", "1999-12-31"),
        ]


def test_the_file_says_words_for_codes_but_not_for_missing_ones_nor_for_numbers(tmp_path):
    said = {
        "column_labels": {"sex": "Sex at\x07 birth"},
        "variable_value_labels": WORDS,
        "missing_ranges": {"sex": [9]},
    }
    with opened(tmp_path, variable_measure={"age": "scale"}, **said) as table:
        sex, age, *_ = table.columns
        assert (sex.label, sex.kind_hint, sex.words) == ("Sex at birth", "category", (("1", "male"), ("2", "female")))
        assert (age.label, age.kind_hint, age.words) == ("", "number", (("20", "young"), ("40", "old")))
        assert [row[0] for row in rows(table)] == ["1", "2", None]
    fields = columns_of(tmp_path / "t.sav", ".sav")
    assert [(column.name, column.label, column.words) for column in fields[:2]] == [
        ("sex", sex.label, sex.words), ("age", age.label, age.words),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("suffix", "form", "stored", "expected"),
    [
        (".dta", "%tdD_m_Y", 21919.0, dt.date(2020, 1, 5)),
        (".dta", "%d", -1.0, dt.date(1959, 12, 31)),
        (".dta", "%tc", 0.5, dt.datetime(1960, 1, 1)),
        (".dta", "%tm", 721.0, dt.date(2020, 2, 1)),
        (".dta", "%tq", 241.0, dt.date(2020, 4, 1)),
        (".dta", "%tw", 3121.0, dt.date(2020, 1, 8)),
        (".dta", "%8.0g", 721.0, None),
        (".dta", "%ty", 2020.0, None),
        (".sas7bdat", "DATE9.", 21919.0, dt.date(2020, 1, 5)),
        (".sas7bdat", "E8601DT19.", 1893456000.25, dt.datetime(2020, 1, 1, 0, 0, 0, 250000)),
        (".sas7bdat", "DATEX", 21919.0, None),
        (".sav", "DATETIME20", 13797216000.0, dt.datetime(2020, 1, 1)),
        (".sav", "TIME8", 60.0, None),
    ],
)
def test_formats_say_which_numbers_are_days_and_times(suffix, form, stored, expected):
    moment = statistical._moments(suffix, form)
    assert (moment is None) == (expected is None)
    if moment is not None:
        kind, days = moment
        column = statistical._Column("x", kind, days, "", [], coded=False)
        given, missing, beyond = statistical._array(column, [stored, None, float("inf")])
        assert (given.as_py(), missing.as_py(), beyond.is_valid) == (expected, None, True)


PLAN = Plan(
    dataset="d", epsilon="1", tables={"each": 1},
    columns=[
        {"name": "sex", "kind": "category", "values": ["1", "2"]},
        {"name": "age", "kind": "number", "edges": [0, 30, 60]},
        {"name": "day", "kind": "date", "from": "2020-01-01", "to": "2020-12-31", "by": "month"},
    ],
)  # fmt: skip


@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_an_odd_row_more_changes_its_own_cells_alone(kind, tmp_path):
    odd = {"sex": [1e300], "age": [-1e-300], "town": ["x" * 200], "day": [dt.date(9999, 12, 31)]}
    tables = []
    for columns in (ROWS, {name: cells + odd[name] for name, cells in ROWS.items()}):
        with opened(tmp_path, kind, columns) as table:
            tables.append(count(table, PLAN, PLAN.marginals, truncation_key=b"k"))
    assert [int(abs(one - other).sum()) for one, other in zip(*tables, strict=True)] == [1, 1, 1]


def test_the_same_rows_are_the_same_data_in_any_format(tmp_path):
    (tmp_path / "t.csv").write_text('sex,age,town,day\n1,20.5,Ä,2020-01-05\n2,,,\n9,40,"b, c",1999-12-31\n')
    digests = set()
    for kind in ("sav", "dta"):
        with opened(tmp_path, kind) as table:
            digests.add(digest(table))
    with open_table(tmp_path / "t.csv") as table:
        digests.add(digest(table))
    assert len(digests) == 1


def test_rows_are_read_in_pieces(tmp_path, monkeypatch):
    path, copy = tmp_path / "t.zsav", tmp_path / "copy"
    path.write_bytes(written("zsav", {"a": [float(k) for k in range(10)], "b": ["x"] * 10}))
    monkeypatch.setattr(statistical, "_MIN_CELLS", 6)
    monkeypatch.setattr(statistical, "_MAX_CELLS", 6)
    statistical.copy_rows(path, ".zsav", copy, None)
    assert [cell["cell_0"] for cell in read_copy(copy)["c0"].to_pylist()] == list(range(10))


def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.zsav"
    path.write_bytes(written("zsav"))
    monkeypatch.setattr(statistical, "is_suspicious", lambda packed, unpacked: unpacked > 10)
    with pytest.raises(TableError, match="unpacks to far more"):
        statistical.copy_rows(path, ".zsav", tmp_path / "copy", None)


def test_a_reader_that_crashes_ends_no_other_process(tmp_path, monkeypatch):
    def crashing(function, arguments, limits):
        return run("tests.isolation.jobs:end_by", {"number": signal.SIGSEGV}, limits)

    monkeypatch.setattr(isolated, "run", crashing)
    with pytest.raises(TableError, match="breaks its reader"):
        opened(tmp_path)
    monkeypatch.undo()
    with opened(tmp_path) as table:
        assert len(rows(table)) == 3
