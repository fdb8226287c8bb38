"""Releases of tables of rows and of distinct persons: what their bundles say and check."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Ledger, Plan, ReleaseError, predict, preview, release, verify
from dpengine.bundle import report, write
from dpengine.bundle.manifest import describe
from dpengine.bundle.promises import promises
from dpengine.measure.strategy import decide
from dpengine.release import Release, reopen
from dpengine.replicates import basis_of
from dpengine.spec.counted_wording import rows_counted
from dpengine.translation.catalogue import speaking
from tests.bundles import (
    Members,
    cell,
    faults_of,
    manifest_in,
    members_of,
    rows_of,
    stated,
    table_of,
    with_portals,
    zipped,
)
from tests.plans import letters_plan

UNIT = {"id": "who", "rows": 3}
PERSONS = {"columns": ["a", "b"], "distinct": True}
SEVERAL = {"columns": ["b", "c"], "distinct": True, "cells_per_person": 2}
ROWS = pd.DataFrame({"who": [f"p{k // 3}" for k in range(600)]}).assign(
    a=[f"a{k // 3 % 2}" for k in range(600)],
    b=[f"b{k % 2}" for k in range(600)],
    c=[f"c{k % 3}" for k in range(600)],
)


def plan_of(*tables: Any, **more: Any) -> Plan:
    return letters_plan([2, 2, 3], list(tables), **({"unit": UNIT, "epsilon": "400"} | more))


MIXED = plan_of(["c", "a"], PERSONS, SEVERAL)


@pytest.fixture(scope="module")
def made() -> Release:
    return release(ROWS, MIXED)


def test_a_release_counts_rows_and_persons_each_by_themselves(made: Release) -> None:
    """At this ε there is no noise. Each of 200 persons is in b0 and b1, and in three pairs of b and c."""
    assert {table: int(frame["count"].sum()) for table, frame in made.tables.items()} == {
        ("c", "a"): 600,
        ("a", "b"): 200,
        ("b", "c"): 400,
        (): 600,
    }
    persons = made.tables["a", "b"].groupby("a")["count"].sum()
    assert [*persons] == [100, 100]
    assert len(made.synthetic()) == 600
    assert [*made.synthetic().columns] == ["a", "c"], "rows have the columns of the tables that count rows"
    again = reopen(made.to_bytes())
    assert all((again.counts(table) == made.counts(table)).all() for table in made.tables)
    assert members_of(again.bundle) == members_of(made.bundle)
    prediction = predict(MIXED)
    assert [made.half_width(table) for table in made.tables] == pytest.approx([*prediction["half_width_95"]])


def test_a_table_within_another_that_counts_the_same_is_free() -> None:
    ledger = Ledger.in_memory()
    first = release(ROWS, MIXED, ledger)
    more = release(ROWS, plan_of(["c", "a"], PERSONS, SEVERAL, {"columns": ["b"], "distinct": True}), ledger)
    assert ledger.spent("letters") == 400
    assert more.release_id == first.release_id
    assert (more.counts(("b",)) == first.counts(("a", "b")).sum(axis=0)).all()
    release(ROWS, plan_of(["c", "a"], PERSONS, SEVERAL, ["b"]), ledger)
    assert ledger.spent("letters") == 800, "rows are another thing to count"


def test_files_say_what_is_counted(made: Release) -> None:
    members = members_of(made.bundle)
    counted = json.loads(members["manifest.json"])["counted"]
    assert counted["what"] == "kept rows and people"
    assert "Tables of rows: c × a." in counted["text"]
    assert "They count each person in who once, in the cell of one of their rows" in counted["text"]
    assert "at most once in a cell and in at most 2 cells, chosen at random" in counted["text"]
    read_me = " ".join(members["README.txt"].decode().split())
    report = members["report.html"].decode()
    assert counted["text"] in read_me
    for text in ("a × b (people, each in one cell)", "b × c (people, each in at most 2 cells)"):
        assert text in read_me
    assert "Counted: people, each in at most 2 cells." in report
    assert "People by b and c" in report
    assert "replicates" not in report
    for file in (read_me, " ".join(report.split())):
        assert file.count("a cell may have more people than its interval says") == 2, "the bound leaves people out"
    assert "in the cell of one of their rows" in " ".join(members["registry.yaml"].decode().split())
    with speaking("de"):
        assert "Personen" in rows_counted(MIXED)
        assert promises(MIXED)["counted"] == counted, "the manifest is English"


@pytest.mark.parametrize(
    ("plan", "total", "what"),
    [
        (plan_of(PERSONS, {"columns": ["c"], "distinct": True}), 200, "The total is the number of people."),
        (plan_of(SEVERAL), 400, "are of the counted cells of people in b × c."),
    ],
)
def test_without_tables_of_rows_the_total_is_of_people(plan: Plan, total: int, what: str) -> None:
    made = release(ROWS, plan)
    assert int(made.counts(())) == total == len(made.synthetic())
    assert what in verify(made.bundle)["counted"]["text"]


@pytest.mark.parametrize("end", ["low", "high"])
def test_counts_of_people_add_up_as_their_estimates(end: str) -> None:
    """No synthetic row tells them, so within their intervals each could be any number."""
    members = members_of(write.pack(preview(Plan(**MIXED.to_dict() | {"epsilon": "2"}))))
    file = next(name for name in members if name.endswith("b-x-c.csv"))
    head, *rows = rows_of(members[file])
    for row in rows:
        row[head.index("count")] = row[head.index(end)]
    members[file] = table_of([head, *rows])
    assert f"{file}: counts do not add up as the estimates do" in faults_of(zipped(with_portals(members)))


def of_version_2(members: Members) -> None:
    """Rewrite the manifest as earlier versions wrote it, which counted rows only and did not mention persons."""
    with manifest_in(members) as manifest:
        del manifest["counted"]
        manifest |= promises(Plan.loads(members["plan.yaml"].decode()), 2) | {"schema_version": 2}


def test_a_bundle_is_verified_and_a_forged_bound_is_found(made: Release) -> None:
    members = members_of(made.bundle)
    manifest = verify(zipped(members))
    measured = manifest["measurements"]
    entries = [(entry["columns"], entry.get("cells_per_person"), entry["sensitivity"]) for entry in measured]
    assert entries == [(["a", "c"], None, 3), (["a", "b"], 1, 1), (["b", "c"], 2, 2)]
    assert sum(Fraction(entry["epsilon"]) for entry in measured) == 400
    for edit, fault in (
        (stated("measurements", 2, "cells_per_person", value=1), "measurement 3"),
        (
            stated("measurements", 1, "cells_per_person", value=None),
            "measurement 2: the number of cells per person, or the table",
        ),
        (stated("tables", 2, "cells_per_person", value=1), "tables is not what plan.yaml says"),
        (stated("measurements", 0, "purpose", value="something else"), "and for no other purpose"),
        (stated("measurements", 1, "merged_to", value=[4]), "and for no other purpose"),
        (of_version_2, "schema_version is not what plan.yaml says"),
    ):
        forged = dict(members)
        edit(forged)
        assert any(fault in each for each in faults_of(zipped(forged))), faults_of(zipped(forged))
    forged = dict(members)
    claims = json.loads(forged["manifest.json"])
    claims["measurements"][2] |= {"sensitivity": 1, "scale": str(1 / Fraction(claims["measurements"][2]["epsilon"]))}
    forged["manifest.json"] = json.dumps(claims).encode()
    assert any("sensitivity 1 does not protect a person with 2 cells" in each for each in faults_of(zipped(forged)))
    forged = dict(members)
    cell("tables/02-a-x-b.csv", 1, 4, lambda count: str(int(count) + 1))(forged)
    assert faults_of(zipped(forged))


def test_amounts_may_stand_beside_distinct_persons() -> None:
    columns = [*MIXED.model_dump()["columns"], {"name": "pay", "kind": "amount", "from": 0, "to": 10}]
    fields: dict[str, Any] = {"dataset": "d", "epsilon": 400, "unit": UNIT, "columns": columns}
    plan = Plan(**fields, tables=[{"columns": ["a"], "mean": ["pay"]}, {"columns": ["b"], "distinct": True}])
    made = release(ROWS.assign(pay=np.arange(600) % 11), plan)
    assert made.tables["a",]["mean_pay"].between(4.5, 5.5).all()
    assert [*made.tables["b",]["count"]].count(0) == 0
    assert int(made.tables["b",]["count"].sum()) == 200
    assert verify(made.bundle)


def test_persons_of_one_row_each_are_rows_and_a_sparse_table_of_them_is_published() -> None:
    """The strategy that is decided for such a table is one that tables of persons with several rows cannot have."""
    table = PERSONS | {"columns": ["a", "b", "c"]}
    plan = letters_plan([8, 8, 8], [table], unit=UNIT | {"rows": 1}, epsilon="0.05", rows_about=50)
    assert decide(plan).plan.strategy == "adaptive"
    assert verify(release(ROWS, plan).bundle)["guarantee"]["epsilon"] == "0.05"


def test_replicates_of_persons_are_refused_in_words(made: Release) -> None:
    with pytest.raises(ReleaseError, match="counts distinct people"):
        basis_of(made)


def test_a_preview_is_of_the_same_tables() -> None:
    drawn = preview(plan_of(["c", "a"], PERSONS, SEVERAL, rows_about=3000))
    assert [int(frame["count"].sum()) for frame in drawn.tables.values()] == pytest.approx(
        [3000, 1000, 2000, 3000], abs=9
    )


@pytest.mark.parametrize(
    ("tables", "said"),
    [([["c", "a"], PERSONS], "those that count the same agree"), ([["a"], ["b"]], "all agree with each other"),
     ([["a"]], None)],
)  # fmt: skip
def test_the_report_says_which_tables_agree_if_there_are_several(tables: list[Any], said: str | None) -> None:
    result = preview(plan_of(*tables))
    page = b"".join(report.render(result, describe(result))).decode()
    sentences = ("those that count the same agree", "all agree with each other")
    assert [each for each in sentences if f">{each}</dd>" in page] == ([] if said is None else [said])
