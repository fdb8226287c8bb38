"""Synthetic rows are typed like the columns, spread evenly in their cells, and fall in their own cells again."""

from __future__ import annotations

import io
import zipfile
from datetime import date
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine import Plan, ReleaseError, open_table, preview, verify
from dpengine.bundle import write
from dpengine.counting import count
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.marginal import Marginal
from dpengine.results.result import Result
from dpengine.spec.domain import Category, Column, Date, Number, YesNo
from dpengine.synthesis.cell_values import cells, series, texts, values
from dpengine.synthesis.resample import ROUND
from tests.conftest import examples
from tests.plans import letters_plan

MIXED = """
dataset: mixed
epsilon: "1"
rows_about: 3000
columns:
  - {name: age, kind: number, edges: [0, 18, 65, 120], missing_as: ["99", "-1"]}
  - {name: grade, kind: number, edges: [1, 1.5, 2.25, 6], missing: false}
  - {name: children, kind: number, edges: [0, 1, 2, 3], other: false}
  - {name: big, kind: number, edges: [1e-9, 1e3, 1e22]}
  - {name: visit, kind: date, from: 2024-01-17, to: 2024-12-31, by: month, missing_as: ["2024-12-31"]}
  - {name: day, kind: date, from: 2024-02-27, to: 2024-03-02, by: day, other: false, missing: false}
  - {name: born, kind: date, from: 1990-05-01, to: 1999-12-31, by: year, format: "%d.%m.%Y"}
  - {name: odd, kind: date, from: 2024-01-01, to: 2024-02-25, by: week, format: "%Y-%m"}
  - {name: place, kind: category, values: [North, "Paris, TX", "=1+1", "'x", " y", "False"], missing_as: ["(other)"]}
  - {name: smokes, kind: yesno}
strategy: direct
tables:
"""


def mixed(*tables: list[str]) -> Plan:
    return Plan.loads(MIXED + "".join(f"  - [{', '.join(table)}]\n" for table in tables))


def recounted(rows: object, plan: Plan) -> dict[tuple[str, ...], np.ndarray]:
    """What the engine counts when it is given synthetic rows and the plan that they were made under."""
    wanted = (*plan.marginals, ())
    with open_table(rows) as table:  # type: ignore[arg-type]
        return dict(zip(wanted, count.count(table, plan, wanted, truncation_key=b"k"), strict=True))


NAMES = ["age", "grade", "children", "big", "visit", "day", "born", "place", "smokes"]


@pytest.mark.parametrize(
    "tables",
    [
        [[name] for name in NAMES],
        [list(pair) for pair in pairwise(NAMES)],
        [["age", "born", "place"], ["place", "day"]],
        *([[name]] for name in NAMES),
    ],
)
@pytest.mark.by_day(1)
def test_rows_counted_by_the_engine_give_the_published_counts(tables: list[list[str]], tmp_path) -> None:  # type: ignore[no-untyped-def]
    """As a frame and as the bundle's file, for columns of every kind."""
    result = preview(mixed(*tables))
    bundle = write.pack(result)
    verify(io.BytesIO(bundle))
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        opened.extract("synthetic.csv", tmp_path)
    sources: list[object] = [result.synthetic()]
    if "place" not in result.plan.used:  # whose texts carry a guard against spreadsheets in the file
        sources.append(tmp_path / "synthetic.csv")
    for source in sources:
        for table, counts in recounted(source, result.plan).items():
            assert np.array_equal(counts, result.counts(table)), table


def test_a_format_that_cannot_write_every_declared_day_still_gives_a_valid_bundle() -> None:
    result = preview(mixed(["odd"], ["odd", "smokes"]))
    assert verify(io.BytesIO(write.pack(result)))


@settings(max_examples=examples(4, 15))
@given(strategy=st.sampled_from(["direct", "optimised", "adaptive"]), data=st.data())
def test_rows_give_the_published_counts_under_every_strategy(strategy: str, data: st.DataObject) -> None:
    pairs = list(combinations(NAMES, 2))
    chosen = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=3, unique=True))
    plan = mixed(*map(list, chosen)).model_copy(update={"strategy": strategy})
    result = preview(plan)
    for table, counts in recounted(result.synthetic(), plan).items():
        assert np.array_equal(counts, result.counts(table)), table


def test_columns_have_the_types_that_were_declared() -> None:
    plan = Plan.loads(MIXED + "".join(f"  - [{name}]\n" for name in NAMES))
    result = preview(plan)
    sure = {name: np.zeros(5, dtype=np.int64) for name in NAMES}
    frame = pd.DataFrame(
        {name: series(plan.column(name), values(plan.column(name), sure[name], 0), sure[name]) for name in NAMES}
    )
    assert {name: str(kind) for name, kind in frame.dtypes.items() if name not in ("place", "smokes")} == {
        "age": "Int64",
        "grade": "float64",
        "children": "Int64",
        "big": "float64",
        **dict.fromkeys(("visit", "day", "born"), "datetime64[s]"),
    }
    assert list(frame["smokes"]) == ["yes"] * 5
    rows = result.synthetic()
    assert rows["age"].isna().sum() == result.tables["age",].set_index("age")["count"]["(missing)"]
    assert (rows["age"] == "(other)").sum() == result.tables["age",].set_index("age")["count"]["(other)"]


def values_in(column: Column, code: int, rows: int) -> list[object]:
    return values(column, np.full(rows, code), 3).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("column", "code", "grid"),
    [
        (Number(name="n", edges=[0, 5, 9]), 0, range(0, 5)),
        (Number(name="n", edges=[0, 5, 9]), 1, range(5, 10)),
        (Number(name="n", edges=["0", "0.5", "1"]), 0, [0.0, 0.1, 0.2, 0.3, 0.4]),
        (Number(name="n", edges=[3, 4, 5]), 0, [3]),
        (Number(name="n", edges=[0, 9, 12], missing_as=["3", "8", "nonsense"]), 0, [0, 1, 2, 4, 5, 6, 7]),
        (Number(name="n", edges=[0, 8, 9, 12], missing_as=["8"]), 1, [8.1, 8.2, 8.3, 8.4, 8.5, 8.6, 8.7, 8.8, 8.9]),
        (Date(name="d", **{"from": "2024-02-27", "to": "2024-12-31", "by": "month"}), 0,
         [date(2024, 2, day) for day in (27, 28, 29)]),
        (Date(name="d", **{"from": "2024-01-01", "to": "2024-12-31", "by": "day"}), 59, [date(2024, 2, 29)]),
    ],
)  # fmt: skip
def test_every_value_of_a_cell_serves_equally_many_rows(column: Column, code: int, grid: object) -> None:
    multiplicities = pd.Series(values_in(column, code, 1000)).value_counts()
    assert sorted(multiplicities.index) == list(grid)  # type: ignore[call-overload]
    assert multiplicities.max() - multiplicities.min() <= 1


def test_values_of_two_columns_are_uncorrelated_within_their_cells() -> None:
    column = Number(name="n", edges=[0, 1000])
    one, two = (np.array(values(column, np.zeros(20_000, dtype=np.int64), salt).to_pylist()) for salt in (0, 1))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.03
    assert abs(np.corrcoef(one, np.arange(20_000))[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("column", "written"),
    [
        (Number(name="n", edges=[0, 5, 9]), ["7", "(other)", "", "abc", "7.0"]),
        (YesNo(name="y"), ["no", "(other)", "", "abc", "no"]),
        (Category(name="c", values=["a", "b"]), ["b", "(other)", "", "abc", "b"]),
        (Date(name="d", **{"from": "2023-01-01", "to": "2024-01-31", "by": "year"}),
         ["2024-01-02", "(other)", "", "abc", "2024-01-31"]),
    ],
)  # fmt: skip
def test_texts_are_read_back_to_their_cells(column: Column, written: list[str]) -> None:
    import pyarrow as pa

    read = cells(column, pa.chunked_array([pa.array(written, pa.string())]))
    assert list(read) == [1, column.other_code, column.missing_code, -1, 1]
    codes = np.arange(column.size).repeat(3)
    text = texts(column, values(column, codes, 0), codes)
    assert np.array_equal(cells(column, pa.chunked_array([text])), codes)


@pytest.fixture(scope="module", params=["direct", "optimised", "adaptive"])
def several(request: pytest.FixtureRequest) -> Result:
    plan = letters_plan([12, 9, 7, 5], {"each": 2}, rows_about=8000, strategy=request.param)
    return preview(plan)


@pytest.mark.by_day(2)
@pytest.mark.parametrize("rows", [0, 1, 100, 3000, 20_001])
def test_any_number_of_rows_scales_the_tables_up_to_rounding(several: Result, rows: int) -> None:
    """Each count c becomes one between ⌊N/n⌋·c and ⌈N/n⌉·c; in the mean it is nearer to N/n·c than by sampling."""
    made, published_rows = several.rows(rows), several.rows()
    names, published = list(made), len(published_rows["a"])
    assert {len(codes) for codes in made.values()} == {rows}
    assert len(several.synthetic(rows)) == rows
    least, most = rows // published, -(-rows // published)
    for table in several.plan.marginals:
        shape = several.plan.shape(table)
        flat = np.ravel_multi_index(tuple(made[name] for name in table), shape)
        counts, before = np.bincount(flat, minlength=np.prod(shape)).reshape(shape), several.counts(table)
        assert (least * before <= counts).all()
        assert (counts <= most * before).all()
        part = rows / published % 1
        chance = np.sqrt(before * part * (1 - part)).mean()  # what sampling rows would be off by
        assert np.abs(counts - rows / published * before).mean() <= 0.75 * chance + 0.05
    assert names == list(several.plan.used)


def test_whole_multiples_are_exact(several: Result) -> None:
    published_rows = several.rows()
    for times in (1, 3):
        made = several.rows(times * len(published_rows["a"]))
        for name, codes in published_rows.items():
            several_times = [np.tile(codes[k : k + ROUND], times) for k in range(0, len(codes), ROUND)]
            assert np.array_equal(made[name], np.concatenate(several_times))


@pytest.mark.parametrize("rows", [-1, 1.5, "10", True, 10**9])
def test_an_unusable_number_of_rows_is_refused(several: Result, rows: object) -> None:
    with pytest.raises(ReleaseError, match="whole, from 0"):
        several.synthetic(rows)  # type: ignore[arg-type]


def test_an_empty_release_cannot_be_scaled() -> None:
    empty = preview(letters_plan([2], [["a"]], epsilon=1000, rows_about=1))
    model = ConsistentTables((Marginal(("a",), np.zeros(2, dtype=np.int64)),))
    nobody = Result(empty.plan, empty.measured, model, "", "", {})
    assert len(nobody.synthetic()) == 0
    with pytest.raises(ReleaseError, match="no synthetic rows to scale"):
        nobody.synthetic(5)
