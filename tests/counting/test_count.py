"""Counting: which rows count in which cell, and what must not change a count."""

import datetime as dt
import math
import re
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.counting.count import check, count, digest, digest_and_count, row_count
from dpengine.errors import TableError
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan

CANARY = "ZZ_CANARY_7f3a"
KEY = b"any key"
AGE = {"kind": "number", "edges": [0, 18, 65]}
VISIT = {"kind": "date", "from": "2024-01-15", "to": "2024-03-10", "by": "month"}


def plan_of(*columns, tables=None, **more):
    return Plan(dataset="d", epsilon="1", columns=columns, tables=tables or {"each": len(columns)}, **more)


def counted(source, plan, marginals=None, key=KEY):
    with open_table(source) as table:
        return count(table, plan, marginals or plan.marginals, truncation_key=key)


# ── Tables, marginals, rows left out ──────────────────────────────────────────────────────────────


def test_every_marginal_comes_from_the_same_rows_in_the_requested_order():
    plan = plan_of(
        {"name": "a", "kind": "category", "values": ["x", "y"], "missing": False},
        {"name": "b", "kind": "yesno", "other": False, "missing": False},
        {"name": "unused", "kind": "yesno", "other": False, "missing": False},
        tables=[["b", "a"], ["a"]],
    )
    table = pa.table({"a": ["x", "x", "y", None, "z", "x"], "b": ["1", "0", "1", "1", "1", "?"], "unused": ["?"] * 6})
    ba, a, total = counted(table, plan, [("b", "a"), ("a",), ()])
    assert ba.tolist() == [[1, 1, 2], [1, 0, 0]]  # a missing value without a cell of its own counts as other
    assert a.tolist() == [2, 1, 2]
    assert (total.shape, int(total)) == ((), 5)
    assert {array.dtype for array in (ba, a, total)} == {np.dtype(np.int64)}


def test_a_row_without_a_cell_in_one_of_several_columns_counts_in_no_table(tmp_path):
    closed = {"kind": "yesno", "other": False, "missing": False}
    plan = plan_of({"name": "a", **closed}, {"name": "b", **closed}, tables=[["a"], ["b"]])
    table = pa.table({"a": ["1", "1", "?", "?", None, "0"], "b": ["1", "?", "0", "?", "1", "1"]})
    csv.write_csv(table, tmp_path / "t.csv")
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.csv", tmp_path / "t.parquet"):
        assert [array.tolist() for array in counted(source, plan)] == [[1, 1], [2, 0]]


def test_a_null_in_the_dictionaries_of_several_chunks_is_a_missing_value():
    parts = [([0, 1, None], ["a", None]), ([1, 0, 1], [None, "b"])]
    chunks = [pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(texts)) for places, texts in parts]
    plan = plan_of({"name": "v", "kind": "category", "values": ["a", "b"]})
    assert counted(pa.table({"v": pa.chunked_array(chunks)}), plan)[0].tolist() == [1, 2, 0, 3]


def test_a_table_without_rows_counts_nothing(tmp_path):
    (tmp_path / "t.csv").write_text("x\n")
    assert counted(tmp_path / "t.csv", plan_of({"name": "x", **AGE}))[0].tolist() == [0, 0, 0, 0]
    assert counted(pa.table({"x": pa.array([], pa.float64())}), plan_of({"name": "x", **AGE}))[0].sum() == 0


def test_nan_in_a_parquet_file_is_missing_although_its_statistics_hide_it(tmp_path):
    values = np.arange(100_000) % 100 / 2.0
    values[::1000] = np.nan
    pq.write_table(pa.table({"x": values}), tmp_path / "t.parquet")
    (array,) = counted(tmp_path / "t.parquet", plan_of({"name": "x", **AGE}))
    assert array.tolist() == [35_900, 64_000, 0, 100]


def test_many_rows_in_a_table_with_more_cells_than_a_batch_has_rows():
    plan = plan_of(*({"name": n, "kind": "number", "edges": {"from": 0, "to": 998, "bins": 998}} for n in "ab"))
    a, b = np.arange(600_000) % 998, np.arange(600_000) % 499
    (array,) = counted(pa.table({"a": a, "b": b}), plan)
    expected = np.zeros((1000, 1000), np.int64)
    np.add.at(expected, (a, b), 1)
    assert (array == expected).all()


def test_check_names_every_fault_and_what_the_table_has():
    table = pa.table({"Age": [1], "many": [[1]], "day": [dt.date(2024, 1, 1)], "raw": [b"x"], "n": [1]})
    table = table.append_column("paid", table["day"])
    plan = plan_of(
        {"name": "age", **AGE}, {"name": "regoin", "kind": "yesno"}, {"name": "many", **AGE},
        {"name": "raw", "kind": "yesno"},
        {"name": "day", **AGE}, {"name": "n", **VISIT}, {"name": "f", **VISIT, "format": "%Q"},
        {"name": "paid", "kind": "amount", "from": 0, "to": 9},
        tables=[["age", "regoin"], ["many", "raw"], ["n", "f"], {"columns": ["day"], "mean": ["paid"]}],
        unit={"id": "person"},
    )  # fmt: skip
    with open_table(table) as opened, pytest.raises(TableError) as caught:
        check(opened, plan)
    faults = str(caught.value)
    for fragment in (
        "the table lacks 4 columns: 'age' (did you mean 'Age'?), 'regoin', 'f', 'person'; it has 'Age', 'many', 'day'",
        "'many' holds list values", "'raw' holds blob values", "'day' holds dates and cannot be read as number",
        "'n' holds numbers and cannot be read as date", "'paid' holds dates and cannot be read as amount",
        "the format '%Q' is not one of dates",
    ):  # fmt: skip
        assert fragment in faults
    with open_table(table) as opened, pytest.raises(TableError):
        count(opened, plan, plan.marginals, truncation_key=KEY)


def test_a_message_on_a_hundred_missing_columns_names_ten_of_them_and_those_of_the_table_once():
    table = pa.table({f"other {k}": [1] for k in range(100)})
    plan = plan_of(*({"name": f"visits {k}", **AGE} for k in range(100)), tables=[[f"visits {k}"] for k in range(100)])
    with open_table(table) as opened, pytest.raises(TableError) as caught:
        check(opened, plan)
    (fault,) = caught.value.faults
    assert fault.text.startswith("the table lacks 100 columns: 'visits 0', 'visits 1',")
    assert "'visits 9' and 90 more; it has 'other 0'," in fault.text
    assert fault.text.endswith("'other 49' and 50 more")


def test_a_file_without_a_header_gives_a_warning_that_quotes_no_value(tmp_path):
    (tmp_path / "t.csv").write_text(f"34,{CANARY}\n35,x\n")
    with (
        open_table(tmp_path / "t.csv") as opened,
        pytest.raises(
            TableError, match="look like data: add a line with the names, or name the columns of a data frame"
        ) as caught,
    ):
        check(opened, plan_of({"name": "34 years", **AGE}, unit={"id": CANARY.lower()}))
    assert CANARY not in str(caught.value)


def test_an_unused_column_of_any_type_does_no_harm():
    assert counted(pa.table({"x": [1], "many": [[1]]}), plan_of({"name": "x", **AGE}))[0].sum() == 1


# ── Against a slow reader of our own ──────────────────────────────────────────────────────────────

NUMERAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COLUMNS = (
    {"name": "n", "kind": "number", "edges": ["-1", "0", "0.1", "100"], "missing_as": ["-9"]},
    {"name": "c", "kind": "category", "values": ["Paris, TX", "False", "é", "1", " b", "NA"]},
    {"name": "y", "kind": "yesno", "missing": False},
    {"name": "d", **VISIT, "by": "week", "other": False},
)
PLAN = plan_of(*COLUMNS, tables=[["n", "c"], ["d"], ["y", "n", "d"]])


def norm(text):
    return unicodedata.normalize("NFC", text.strip())


def reference_code(column, text):
    """The code of one text, written as a person would look it up."""
    bare = norm(text or "")
    if not bare or bare in map(norm, column.missing_as):
        return column.missing_code
    match column.kind:
        case "number":
            if bare.lower() == "nan":
                return column.missing_code
            value = float(bare) if NUMERAL.fullmatch(bare) else math.inf
            edges = [float(edge) for edge in column.edges]
            if value == -9:
                return column.missing_code
            if value == edges[-1]:
                return len(edges) - 2
            return next((k for k in range(len(edges) - 1) if edges[k] <= value < edges[k + 1]), column.other_code)
        case "category":
            if text in column.values:
                return column.values.index(text)
            whole = re.fullmatch(r"-?(0|[1-9][0-9]*)(\.0)?", bare)
            for meant in (bare, f"{bare}.0", bare.removesuffix(".0")) if whole else (bare,):
                near = [k for k, value in enumerate(column.values) if norm(value) == meant]
                if near:
                    return near[0] if len(near) == 1 else column.other_code
            return column.other_code
        case "yesno":
            words = (("yes", "true", "y", "t", "1", "1.0"), ("no", "false", "n", "f", "0", "0.0"))
            return next((k for k in (0, 1) if bare.lower() in words[k]), column.other_code)
        case "date":
            try:
                day = dt.date.fromisoformat(bare)
            except ValueError:
                return column.other_code
            inside = column.first <= day <= column.last
            return column.ordinal(day) - column.ordinal(column.first) if inside else column.other_code


def reference_count(rows, plan):
    coded = [{name: reference_code(plan.column(name), row[name]) for name in plan.used} for row in rows]
    arrays = [np.zeros(plan.shape(marginal), np.int64) for marginal in plan.marginals]
    for codes in coded:
        if min(codes.values()) >= 0:
            for array, marginal in zip(arrays, plan.marginals, strict=True):
                array[tuple(codes[name] for name in marginal)] += 1
    return arrays


def near(*texts):
    return st.one_of(
        st.sampled_from([*texts, None, "", " ", "nan", "NA", CANARY, "e\u0301", "\u00a0x ", "a\nb", 'q"', ",;", "１"]),
        st.sampled_from(texts).map(lambda text: f" {text} "),
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
    )


ROW = st.fixed_dictionaries(
    {
        "n": near("0", "-0.0", "0.1", "100", "-1", "1e400", "-inf", "99.99", "-9", "-9.0", "1,5", "1_0", "1e1", "+.5"),
        "c": near("Paris, TX", "False", "é", "1", "b", " b", "1.0", "false"),
        "y": near("yes", "No", "T", "0", "1.0", "maybe"),
        "d": near("2024-01-15", "2024-01-14", "2024-02-30", "2024-03-10", "2024-02-29"),
    }
)
ROWS = st.lists(ROW, max_size=12)
quick = settings(max_examples=10, deadline=None, derandomize=True)


def as_table(rows, names=("n", "c", "y", "d")):
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in names})


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@settings(quick, max_examples=4)  # each opens five files, so fewer tables have more rows
@given(st.lists(ROW, max_size=48))
def test_counts_agree_with_the_slow_reader_in_every_format(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("formats")
    frame = pd.DataFrame(as_table(rows).to_pydict(), columns=["n", "c", "y", "d"], dtype=object)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv.gz", index=False, sep="\t")
    frame.to_csv(folder / "bom.csv", index=False, encoding="utf-8-sig", lineterminator="\r\n")
    pq.write_table(as_table(rows), folder / "t.parquet")
    book = openpyxl.Workbook()
    book.active.append(list(frame.columns))
    for r, row in enumerate(rows, 2):
        for c, name in enumerate(frame.columns, 1):
            if row[name] is not None:
                book.active.cell(r, c).value = row[name]
                book.active.cell(r, c).data_type = "s"
    book.save(folder / "t.xlsx")
    expected = reference_count(rows, PLAN)
    assert same(counted(frame, PLAN), expected)
    for name in ("t.csv", "t.tsv.gz", "bom.csv", "t.parquet"):
        assert same(counted(folder / name, PLAN), expected), name
    filled = [row for row in rows if any((text or "").strip() for text in row.values())]
    assert same(counted(folder / "t.xlsx", PLAN), reference_count(filled, PLAN))  # blank rows of a sheet are stray


@quick
@given(ROWS, st.randoms(use_true_random=False))
@pytest.mark.nightly
def test_the_order_of_rows_and_columns_changes_nothing(rows, random):
    shuffled = random.sample(rows, len(rows))
    with open_table(as_table(rows)) as one, open_table(as_table(shuffled, ("d", "y", "c", "n"))) as two:
        counts = [count(table, PLAN, PLAN.marginals, truncation_key=KEY) for table in (one, two)]
        assert same(*counts)
        assert digest(one) == digest(two)
        assert row_count(one) == row_count(two) == len(rows)


@quick
@given(ROWS, ROW)
def test_one_more_row_changes_each_marginal_by_at_most_one(rows, row):
    before, after = counted(as_table(rows), PLAN), counted(as_table([*rows, row]), PLAN)
    for old, new in zip(before, after, strict=True):
        assert np.abs(new - old).sum() <= 1
        assert (new >= old).all()


@quick
@given(ROWS.filter(bool), ROW)
@pytest.mark.nightly
def test_one_odd_cell_never_moves_another_row(rows, odd):
    """The other rows are counted as if the row were not there."""
    alone, others = counted(as_table([odd]), PLAN), counted(as_table(rows), PLAN)
    assert same(counted(as_table([*rows, odd]), PLAN), [a + b for a, b in zip(alone, others, strict=True)])


# ── Persons ───────────────────────────────────────────────────────────────────────────────────────


def persons_plan(k):
    return plan_of(*COLUMNS[:3], tables=[["n", "c"], ["y"]], unit={"id": "who", "rows": k})


PERSON_ROWS = st.lists(st.tuples(st.sampled_from(["p", "q", "r"]), ROW), max_size=10)


def persons_table(pairs):
    return as_table([row for _, row in pairs]).append_column("who", pa.array([who for who, _ in pairs], pa.string()))


@quick
@given(PERSON_ROWS, st.lists(ROW, max_size=6), st.integers(1, 3), st.randoms(use_true_random=False))
def test_one_more_person_changes_each_marginal_by_at_most_k(pairs, theirs, k, random):
    plan = persons_plan(k)
    before = counted(persons_table(pairs), plan)
    joined = random.sample(both := pairs + [("new", row) for row in theirs], len(both))
    for old, new in zip(before, counted(persons_table(joined), plan), strict=True):
        assert (new >= old).all()
        assert (new - old).sum() == min(k, len(theirs))


def test_each_person_keeps_at_most_k_rows_and_rows_without_an_id_count_nowhere():
    who = ["a"] * 5 + [" a"] * 2 + ["b", "", None, "  "]
    table = pa.table({"x": [1.0] * 11, "who": who})
    for k, kept in ((1, 2), (3, 4), (9, 8)):
        assert counted(table, plan_of({"name": "x", **AGE}, unit={"id": "who", "rows": k}))[0].tolist() == [
            kept,
            0,
            0,
            0,
        ]


def test_a_row_that_counts_nowhere_does_not_use_up_the_bound_of_its_person():
    table = pa.table({"x": ["?"] * 50 + ["1"], "who": [7] * 51})
    plan = plan_of({"name": "x", **AGE, "other": False}, unit={"id": "who", "rows": 1})
    assert counted(table, plan)[0].tolist() == [1, 0, 0]


def test_ids_are_the_same_person_in_every_type():
    for ids in (pa.array([1, 1]), pa.array([1.0, 1.0]), pa.array(["1", " 1 "])):
        assert (
            counted(pa.table({"x": [1, 1], "who": ids}), plan_of({"name": "x", **AGE}, unit={"id": "who"}))[0].sum()
            == 1
        )


def test_rows_are_kept_by_the_key_alone_and_uniformly():
    """Each of 4,000 persons has three rows in one cell and one in another, and keeps one."""
    people = [str(i) for i in range(4000) for _ in range(4)]
    table = pa.table({"x": [1, 1, 1, 20] * 4000, "who": people})
    plan = plan_of({"name": "x", **AGE}, unit={"id": "who"})
    young, old, *_ = counted(table, plan)[0].tolist()
    assert young + old == 4000
    assert abs(old - 1000) < 6 * math.sqrt(4000 * 0.25 * 0.75)  # false alarm below 2e-9 over keys
    backwards = table.take(list(range(table.num_rows))[::-1])
    assert same(counted(table, plan), counted(backwards, plan))
    assert not same(counted(table, plan), counted(table, plan, key=b"another key"))


def test_the_kept_rows_are_whole_rows():
    """All marginals come from the same kept rows, so their totals and shared margins agree."""
    people = [str(i % 50) for i in range(400)]
    table = pa.table({"x": [i * 7 % 65 for i in range(400)], "y": [i % 2 for i in range(400)], "who": people})
    plan = plan_of({"name": "x", **AGE}, {"name": "y", "kind": "yesno"}, unit={"id": "who", "rows": 3})
    x, y, xy = counted(table, plan, [("x",), ("y",), ("x", "y")])
    assert same([xy.sum(axis=1), xy.sum(axis=0)], [x, y])


# ── Nothing leaks ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column["kind"])
def test_odd_values_raise_no_error_and_appear_in_no_message(column, caplog, capfd, recwarn):
    odd = [
        CANARY,
        CANARY * 10_000,
        "9" * 5000,
        "1e" + "9" * 500,
        "2024-99-99",
        "\x00\x01\x7f",
        "'; DROP VIEW rows; --",
        "%s{}",
    ]
    name = column["name"]
    array = counted(pa.table({name: odd}), plan_of({**column, "other": True}))[0]
    assert array[plan_of({**column, "other": True}).column(name).other_code] == len(odd)
    captured = capfd.readouterr()
    assert CANARY not in captured.out + captured.err + caplog.text + "".join(str(w.message) for w in recwarn)


def test_names_of_columns_cannot_alter_the_query():
    for name in ('a"; DROP VIEW rows; --', "a'b", "c0", "person", "k0", "rows", "a\nb"):
        assert counted(pa.table({name: [1.0]}), plan_of({"name": name, **AGE}))[0].tolist() == [1, 0, 0, 0]


def every_pair_of(values):
    """Return rows of four in which any two places take every pair of three values: an orthogonal array."""
    return [[values[k % 3] for k in (a, b, a + b, a + 2 * b)] for a in range(3) for b in range(3)]


def test_neighbours_give_arrays_of_one_shape():
    shapes = {
        tuple(array.shape for array in counted(as_table([dict(zip("ncyd", values, strict=True))]), PLAN))
        for values in every_pair_of([None, CANARY, "1"])
    }
    assert shapes == {tuple(PLAN.shape(marginal) for marginal in PLAN.marginals)}


@pytest.mark.parametrize(("kind", "rare"), [("parquet", "zz"), ("csv", "zz"), ("csv", "z\nz")])
def test_texts_that_a_plan_lists_are_recognised_as_they_are(kind, rare, tmp_path):
    """Texts in the list, texts that are not in it, and texts that are the shortest form of a number.

    A text file is read in pieces of lines, but by SQL where a cell has several lines.
    """
    texts = ["a", "0.5", "0.50", "1e5", "1e+16", " b", "b", "é", None, "", "x" * 2000, rare, "7", "-0.25", "0", "-1"]
    days = ["2024-01-05", "2024-02-30", None, "2025-01-01", "2024-1-5"]
    table = pa.table({"t": [texts[k % 16] for k in range(160)], "d": [days[k % 5] for k in range(160)]})
    path = tmp_path / f"rows.{kind}"
    pq.write_table(table, path) if kind == "parquet" else csv.write_csv(table, path)
    columns = [
        {"name": "t", "kind": "category", "values": ["a", "0.5", "b", "x" * 2000, "1e+16", "0"], "missing_as": ["7"]},
        {"name": "d", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month"},
    ]
    plan = Plan(dataset="d", epsilon=1, columns=columns, tables={"each": 2})
    with open_table(path) as one, open_table(path) as two:
        assert digest_and_count(one, plan, plan.marginals)[0] == digest(two)
        assert np.array_equal(one.histograms, two.histograms)


@quick
@given(ROWS)
def test_one_pass_gives_the_digest_and_the_counts_of_two(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(as_table(rows), path)
        with open_table(path) as one, open_table(path) as two:
            found, counts = digest_and_count(one, PLAN, PLAN.marginals)
            assert found == digest(two)
            assert same(counts, count(two, PLAN, PLAN.marginals, truncation_key=KEY))
            assert digest_and_count(one, PLAN, PLAN.marginals) == (found, None), "rows are read for a digest once"
