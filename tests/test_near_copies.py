"""A budget follows people: near copies of a table share it, in files and in engines, unless their owner says no."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpengine as dpe
from dpengine.accounting.entry import Resemblance
from dpengine.ask import ask_rows_kept, rows_kept_questions
from tests.accounting.test_ledger import look

pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),
]

ROWS = 600


def people(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """A made-up clinic; other seeds give other people of the same distribution."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": rng.integers(0, 95, rows), "region": rng.choice(["North", "South", "East"], rows, p=[0.5, 0.3, 0.2]),
        "smokes": rng.choice(["yes", "no"], rows), "score": rng.normal(50, 9, rows).round(1),
        "ward": rng.integers(1, 40, rows),
    })  # fmt: skip


def plan_of(dataset: str, epsilon: str = "1/10", age: str = "age", tables: Any = None) -> dpe.Plan:
    return dpe.Plan(
        dataset=dataset,
        epsilon=epsilon,
        columns=[
            dpe.Number(name=age, edges=[0, 18, 30, 45, 65, 100]),
            dpe.Category(name="region", values=["North", "South", "East"]),
            dpe.YesNo(name="smokes"),
        ],
        tables=tables or [[age, "region"]],
    )


CLINIC = people(1)
TAMPERINGS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "an unused column dropped": lambda rows: rows.drop(columns="score"),
    "an unused column renamed": lambda rows: rows.rename(columns={"score": "points"}),
    "an unused column retyped": lambda rows: rows.assign(ward=rows["ward"].astype(float)),
    "an unused column made up": lambda rows: rows.assign(score=np.random.default_rng(9).random(len(rows))),
    "a column more": lambda rows: rows.assign(note=range(len(rows))),
    "all unused columns dropped": lambda rows: rows[["age", "region"]],
    "a blank in one cell": lambda rows: rows.assign(smokes=["yes ", *rows["smokes"][1:]]),
    "blanks in a column": lambda rows: rows.assign(region=" " + rows["region"]),
    "one row fewer": lambda rows: rows.iloc[1:],
    "one row more": lambda rows: pd.concat([rows, rows.iloc[:1]]),
    "a tenth of the rows fewer, in another order": lambda rows: rows.sample(frac=0.9, random_state=1),
    "used values moved within their cells, all else dropped": lambda rows: pd.DataFrame(
        {"age": rows["age"] + np.random.default_rng(8).random(len(rows)) / 2, "region": rows["region"]}
    ),
}


@pytest.fixture
def ledger() -> dpe.Ledger:
    """A ledger in which the clinic was published once, under a cap."""
    made = dpe.Ledger.in_memory()
    made.set_cap("clinic", "1/2")
    dpe.release(CLINIC, plan_of("clinic"), made)
    return made


@pytest.mark.by_day(5)
@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_a_near_copy_under_a_fresh_name_shares_the_budget(ledger: dpe.Ledger, tampering: str) -> None:
    copy = TAMPERINGS[tampering](CLINIC)
    dpe.release(copy, plan_of("fresh"), ledger)
    assert ledger.spent("clinic") == ledger.spent("fresh") == Fraction(1, 5)
    assert (ledger.cap("fresh"), ledger.left("fresh")) == (Fraction(1, 2), Fraction(3, 10))
    (recognised,) = ledger.history("fresh")[-1].recognised
    assert (recognised.dataset, recognised.other_people) == ("clinic", False)
    assert recognised.overlap > 0.85


def test_a_near_copy_is_found_behind_tables_of_other_people() -> None:
    ledger = dpe.Ledger.in_memory()
    for dataset, rows in [("elsewhere", people(2)), ("clinic", CLINIC), ("later", people(3))]:
        dpe.release(rows, plan_of(dataset), ledger)
    dpe.release(CLINIC.iloc[1:], plan_of("fresh name"), ledger)
    assert ledger.spent("fresh name") == Fraction(2, 10)


def test_a_renamed_used_column_and_another_plan_share_it_too(ledger: dpe.Ledger) -> None:
    dpe.release(CLINIC.rename(columns={"age": "years"}), plan_of("fresh", age="years"), ledger)
    dpe.release(CLINIC.drop(columns="age"), plan_of("other plan", tables=[["smokes"]]), ledger)
    assert ledger.spent("clinic") == Fraction(3, 10)


def test_other_names_are_no_new_people_though_each_column_has_two_values() -> None:
    """Then only whole rows tell people apart, and columns are in the order of their names where rows are hashed."""

    def answers(seed: int) -> pd.DataFrame:
        drawn = np.random.default_rng(seed).random((3_000, 12)) < 0.4
        return pd.DataFrame(np.where(drawn, "yes", "no"), columns=[f"q{k:02}" for k in range(12)])

    def plan(dataset: str, column: str) -> dpe.Plan:
        return dpe.Plan(dataset=dataset, epsilon=1, columns=[dpe.YesNo(name=column)], tables=[[column]])

    asked, ledger = answers(1), dpe.Ledger.in_memory()
    ledger.set_cap("survey", 1)
    dpe.release(asked, plan("survey", "q03"), ledger)
    with (
        dpe.open_table(asked, rename={"q00": "last one"}) as renamed,
        pytest.raises(dpe.BudgetError, match="looks like"),
    ):
        dpe.release(renamed, plan("another", "q04"), ledger)
    backwards = asked.iloc[30:].rename(columns={f"q{k:02}": f"answer {99 - k}" for k in range(12)})
    with pytest.raises(dpe.BudgetError, match="looks like"):
        dpe.release(backwards, plan("another", "answer 95"), ledger)
    dpe.release(answers(2), plan("others", "q03"), ledger)


def test_a_table_without_rows_is_published_and_resembles_none() -> None:
    ledger, empty = dpe.Ledger.in_memory(), CLINIC.iloc[:0].astype(str)
    for dataset in ("one", "other"):
        dpe.release(empty.assign(**{dataset: ""}), plan_of(dataset), ledger)
        assert ledger.spent(dataset) == Fraction(1, 10)


def test_tampered_copies_cannot_be_averaged(ledger: dpe.Ledger) -> None:
    """Without recognition each copy has a budget of its own, and the mean of all comes as near as one likes."""
    granted = 1
    for attempt in range(20):
        copy = CLINIC.assign(note=np.random.default_rng(attempt).random(ROWS)).iloc[attempt:]
        with suppress(dpe.BudgetError):
            dpe.release(copy, plan_of(f"name {attempt}"), ledger)
            granted += 1
    assert granted == 5
    with pytest.raises(dpe.BudgetError, match=r"The table looks like that of 'clinic' \(about 9[4-7] % alike\)"):
        dpe.release(CLINIC.iloc[30:], plan_of("another"), ledger)
    assert ledger.spent("clinic") == Fraction(1, 2)


def test_no_noise_is_drawn_for_a_near_copy_that_the_budget_refuses(
    ledger: dpe.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.set_cap("clinic", "1/10")
    monkeypatch.delattr(import_module("dpengine.release"), "_measured")
    with pytest.raises(dpe.BudgetError, match="looks like that of 'clinic'"):
        dpe.release(CLINIC.iloc[1:], plan_of("fresh"), ledger)
    with pytest.raises(dpe.LedgerError, match="after noise had been drawn"):  # the control
        dpe.release(people(2), plan_of("fresh"), ledger)


def test_other_people_of_the_same_distribution_have_their_own_budget(ledger: dpe.Ledger) -> None:
    """False alarms: at most 1e-4 for each pair of tables, and none for these seeds."""
    for seed in range(2, 6):
        dpe.release(people(seed), plan_of(f"clinic {seed}"), ledger)
        assert ledger.history(f"clinic {seed}")[-1].recognised == ()
    assert ledger.spent("clinic") == Fraction(1, 10)


def test_the_owners_statement_is_recorded_and_gives_a_budget_of_its_own(ledger: dpe.Ledger) -> None:
    copy = CLINIC.iloc[3:]
    ledger.set_cap("clinic", "1/10")
    dpe.release(copy, plan_of("others"), ledger, other_people=True)
    ledger.set_cap("clinic", "1/2")
    assert (ledger.spent("clinic"), ledger.spent("others")) == (Fraction(1, 10), Fraction(1, 10))
    (stated,) = ledger.history("others")[0].recognised
    assert stated == Resemblance(ledger.history("clinic")[0].release_id, "clinic", stated.overlap, other_people=True)
    assert stated.overlap > 0.95

    dpe.release(copy, plan_of("others", tables=[["smokes"]]), ledger)
    assert ledger.history("others")[1].recognised == (), "what was stated is not asked again"
    dpe.release(CLINIC, plan_of("clinic", tables=[["smokes"]]), ledger)
    assert (ledger.spent("clinic"), ledger.spent("others")) == (Fraction(1, 5), Fraction(1, 5))


def test_a_statement_is_about_the_table_that_it_was_made_of_alone(ledger: dpe.Ledger) -> None:
    dpe.release(people(2), plan_of("school"), ledger)
    dpe.release(CLINIC.iloc[3:], plan_of("others"), ledger, other_people=True)
    dpe.release(people(2).iloc[3:], plan_of("others"), ledger)
    assert [each.dataset for each in ledger.history("others")[-1].recognised] == ["school"]
    assert (ledger.spent("clinic"), ledger.spent("school")) == (Fraction(1, 10), Fraction(3, 10))


def test_the_very_same_rows_are_the_same_people_whatever_is_stated(ledger: dpe.Ledger) -> None:
    plan = plan_of("others", tables=[["smokes"]])
    dpe.release(CLINIC.sample(frac=1, random_state=3), plan, ledger, other_people=True)
    assert ledger.spent("clinic") == ledger.spent("others") == Fraction(1, 5)


def test_questions_share_the_budget_of_near_copies(ledger: dpe.Ledger) -> None:
    def question(dataset: str) -> dpe.Question:
        old = dpe.Condition(column=dpe.Number(name="age", edges=[0, 65, 100]), labels=["[65, 100]"])
        return dpe.Question(dataset=dataset, epsilon="1/5", statistic=dpe.Count(), where=[old])

    copy = CLINIC.drop(columns=["ward", "score"]).iloc[5:]
    dpe.ask(copy, question("fresh"), ledger)
    assert ledger.spent("clinic") == Fraction(3, 10)
    dpe.ask(copy.iloc[1:], question("others"), ledger, other_people=True)
    assert (ledger.spent("clinic"), ledger.spent("others")) == (Fraction(3, 10), Fraction(1, 5))


def test_questions_about_bounds_are_all_or_none_for_a_near_copy(ledger: dpe.Ledger) -> None:
    """The first one alone would be allowed: what was spent on the clinic leaves 0.4."""
    copy = CLINIC.assign(who=range(ROWS)).iloc[5:]
    with pytest.raises(dpe.BudgetError, match=r"cost 0\.45"):
        ask_rows_kept(copy, rows_kept_questions("fresh", "who", [1, 4], "0.45"), ledger)
    assert (ledger.spent("clinic"), ledger.spent("fresh")) == (Fraction(1, 10), 0)


def test_tables_of_another_owner_are_not_recognised(ledger: dpe.Ledger) -> None:
    other = ledger.for_owner("bea")
    dpe.release(CLINIC, plan_of("clinic"), other)
    dpe.release(CLINIC.iloc[1:], plan_of("fresh"), other)
    assert (other.spent("clinic"), other.cap("clinic")) == (Fraction(1, 5), None)
    assert ledger.spent("clinic") == Fraction(1, 10)


@pytest.fixture(params=["duckdb", "postgres"])
def in_engine(request: pytest.FixtureRequest) -> Iterator[Callable[[pd.DataFrame], Any]]:
    from tests import ibis_tables  # Ibis takes long to load

    tables: list[Any] = []

    def put(rows: pd.DataFrame) -> Any:
        table = pa.table({name: rows[name].tolist() for name in rows.columns})
        if request.param == "duckdb":
            tables.append(ibis_tables.in_duckdb(table))
        else:
            tables.append(ibis_tables.in_postgres(table, request.getfixturevalue("postgres")))
        return tables[-1]

    yield put
    for table in tables:
        table.get_backend().disconnect()


def test_rows_in_a_file_and_in_an_engine_share_a_budget_both_ways(in_engine: Any, ledger: dpe.Ledger) -> None:
    remote = dpe.release(in_engine(CLINIC), plan_of("engine"), ledger)
    assert ledger.spent("clinic") == Fraction(1, 5)
    assert ledger.history("clinic")[-1].release_id == remote.release_id
    dpe.release(in_engine(CLINIC.iloc[2:].drop(columns="ward")), plan_of("engine 2"), ledger)
    assert ledger.spent("clinic") == Fraction(3, 10)

    fresh = dpe.Ledger.in_memory()
    dpe.release(in_engine(CLINIC), plan_of("engine"), fresh)
    dpe.release(CLINIC.iloc[1:], plan_of("file"), fresh)
    assert fresh.spent("engine") == fresh.spent("file") == Fraction(1, 5)


def test_other_people_in_an_engine_have_their_own_budget(in_engine: Any, ledger: dpe.Ledger) -> None:
    dpe.release(in_engine(people(2)), plan_of("engine"), ledger)
    assert ledger.spent("clinic") == Fraction(1, 10)


def test_a_stored_sketch_is_sealed_and_a_change_is_reported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = dpe.Ledger(url)
    dpe.release(CLINIC, plan_of("clinic"), ledger)
    ((stored,),) = look(url, "SELECT sketch FROM ledger_sketches")
    assert not {b"values", b"rows", b"\x78\x9c"} & {stored[k : k + size] for size in (2, 4, 6) for k in range(4)}
    look(url, "UPDATE ledger_sketches SET sketch = :value", bytes(reversed(stored)))
    for use in (ledger.verify_chain, lambda: dpe.release(CLINIC.iloc[1:], plan_of("fresh"), ledger)):
        with pytest.raises(dpe.LedgerError, match=r"Entry 1 .* sketch that was changed"):
            use()
