"""The ten laws of DESIGN, each with a fault that breaks it and is seen.

| law | kept by | broken on purpose in |
|---|---|---|
| 1 rows are read in one place | contracts *rows*, *noisy*, *verbs* | `test_imports`, `test_replay` |
| 2 only noisy numbers flow on | contract *noisy*, record and replay | `test_imports`, `test_replay` |
| 3 record, then show | one transaction, killed at every point | here; `accounting/test_ledger_faults` |
| 4 one draw per table and plan | the stored release is given back | here |
| 5 ε is exact | `Ledger.record` compares cost and price | `test_release`, `test_ask`, `test_choose`, `test_replay` |
| 6 noise is exact | contract *noise*, checks of chance | `test_imports`, `test_house`, `noise/test_laplace` |
| 7 the domain is public | nothing but the plan shapes a release | here |
| 8 the unit is enforced | record and replay over persons | `test_replay` |
| 9 errors leak nothing | no value of the table in any message | here |
| 10 a release says what it is | `verify` demands every statement | here; `bundle/test_verify` |
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpengine as dpe
from dpengine.measure.strategy import decide
from tests.bundles import members_of, zipped
from tests.replay import recorded, replayed

CANARY = "ZZ_CANARY_7f3a"


def plan_of(regions: list[str]) -> dpe.Plan:
    return dpe.Plan(
        dataset="clinic",
        epsilon="1",
        columns=[dpe.Category(name="region", values=regions), dpe.YesNo(name="smokes")],
        tables=[["region", "smokes"]],
    )


PLAN = plan_of(["North", "South"])
ROWS = pd.DataFrame({"region": ["North", "South", "South", "East"], "smokes": ["yes", "no", "no", "yes"]})
RELEASE = import_module("dpengine.release")
LEDGER_ACCESS: Any = import_module("dpengine.accounting.ledger_access")


def shown_without_charge(folder: Path) -> bool:
    """Publish in a process that dies just before the commit; return whether a number was shown and nothing charged."""
    url = f"sqlite:///{folder / 'budget.db'}"
    ledger = dpe.Ledger(url)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        LEDGER_ACCESS.crash_point = lambda point: os._exit(9) if point == "before_commit" else None
        try:
            finished = dpe.release(ROWS, PLAN, ledger)
            os.write(writer, str(int(finished.tables[()]["count"].iloc[0])).encode())
        finally:
            os._exit(9)
    os.close(writer)
    os.waitpid(child, 0)
    shown = os.read(reader, 100)
    return bool(shown) and dpe.Ledger(url).spent("clinic") == 0


def test_law_3_nothing_is_shown_before_it_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not shown_without_charge(tmp_path)
    monkeypatch.setattr(
        dpe.Ledger, "charge_once", lambda self, charge, prepare, draw, reopen, *_, **__: reopen(draw(prepare()).payload)
    )
    assert shown_without_charge(tmp_path), "planted: the release is shown first"


def draws(ledger: dpe.Ledger) -> int:
    """Publish twice and return how many different releases that gave."""
    return len({dpe.release(ROWS, PLAN, ledger).release_id for _ in range(2)})


def test_law_4_a_plan_is_drawn_once(ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = dpe.Ledger(ledger_url)
    assert draws(ledger) == 1
    assert ledger.spent("clinic") == 1
    identity = dpe.Ledger.fingerprint
    monkeypatch.setattr(dpe.Ledger, "fingerprint", lambda self, digest: identity(self, digest + os.urandom(8)))
    assert draws(dpe.Ledger.in_memory()) == 2, "planted: the table is not recognised"


def cells_of_a_release(rows: pd.DataFrame) -> list[str]:
    return list(dpe.release(rows, PLAN).tables["region", "smokes"]["region"].astype(str))


def test_law_7_the_rows_do_not_shape_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    reordered = ROWS.iloc[::-1]
    assert cells_of_a_release(ROWS) == cells_of_a_release(reordered) == cells_of_a_release(ROWS.iloc[:0])

    shapes = []
    for rows in (ROWS, reordered):
        seen = [value for value in dict.fromkeys(rows["region"]) if value != "East"]
        monkeypatch.setattr(RELEASE, "decide", lambda _, seen=seen: decide(plan_of(seen)))
        shapes.append(cells_of_a_release(rows))
    assert shapes[0] != shapes[1], "planted: values in the order in which rows have them"


def test_law_7_a_value_that_was_not_declared_opens_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    more = pd.concat([ROWS, pd.DataFrame({"region": [CANARY], "smokes": ["yes"]})])
    first = recorded(more, PLAN)
    assert replayed(ROWS, PLAN, first).stored == first.stored

    monkeypatch.setattr(RELEASE, "decide", lambda _: decide(plan_of(["North", "South", CANARY])))
    first = recorded(more, PLAN)
    monkeypatch.setattr(RELEASE, "decide", decide)
    with pytest.raises(AssertionError, match="control flow differs"):
        replayed(ROWS, PLAN, first)


BAD_ROWS = [
    pd.DataFrame({"region": [CANARY], "smoke": [CANARY]}),  # a column is missing
    pd.DataFrame({"region": [CANARY], "smokes": [CANARY], "smokes ": [CANARY]}).set_axis(["region", "x", "x"], axis=1),
    pd.DataFrame({"region": [CANARY], "smokes": pd.to_datetime(["2024-01-01"])}),  # dates are no yes and no
]


def leaks(rows: pd.DataFrame) -> bool:
    """Publish rows that do not fit; return whether the message repeats a value of theirs."""
    with pytest.raises(dpe.PrivateReleaseError) as caught:
        dpe.release(rows, PLAN)
    return CANARY in str(caught.value) or CANARY in repr(caught.value.__cause__)


@pytest.mark.parametrize("rows", BAD_ROWS)
def test_law_9_an_error_repeats_no_value(rows: pd.DataFrame) -> None:
    assert not leaks(rows)


def test_law_9_a_message_with_a_value_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def talkative(table: object, plan: object) -> None:
        raise dpe.TableError(f"column 'region': {CANARY!r} cannot be read")

    monkeypatch.setattr(RELEASE.count, "check", talkative)
    assert leaks(BAD_ROWS[0]), "planted: the value is quoted"


@pytest.mark.by_day(3)
@pytest.mark.parametrize("statement", ["guarantee", "not_protected", "post_processing", "measurements", "domain"])
def test_law_10_a_release_that_does_not_say_what_it_is_is_refused(statement: str, tmp_path: Path) -> None:
    finished = dpe.release(ROWS, PLAN)
    finished.save(tmp_path / "whole.zip")
    assert dpe.verify(tmp_path / "whole.zip")[statement]
    manifest = {name: value for name, value in finished.manifest.items() if name != statement}
    silent = members_of(finished.bundle) | {"manifest.json": json.dumps(manifest).encode()}
    (tmp_path / "silent.zip").write_bytes(zipped(silent))
    with pytest.raises(dpe.ReleaseError):
        dpe.verify(tmp_path / "silent.zip")
