"""Upper bounds of amounts that are found privately: price, what they depend on, and that readers find the same."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpengine as dpe
from dpengine.estimate.found_cells import resolve
from dpengine.measure import search as searching
from dpengine.measure.strategy import decide, resolved
from dpengine.release import is_recorded, true_counts
from dpengine.spec.exchange import csvw_eo
from tests.bundles import manifest_in, members_of, with_search, zipped
from tests.command import run
from tests.replay import check_only_outputs_decide

PLAN = """
dataset: pay
epsilon: "1"
columns:
  - {name: pay, kind: amount, from: 0, to: 1000000, step: 10, upper: found}
  - {name: sex, kind: category, values: [f, m]}
tables: [{columns: [sex], mean: [pay]}]
"""
UPPER = "from: 0, to: 1000000, step: 10, upper: found"


def people(count: int = 6_000) -> pd.DataFrame:
    """All have less than 1000, many nearly so."""
    return pd.DataFrame({"pay": np.linspace(0, 999, count), "sex": np.where(np.arange(count) % 2, "f", "m")})


def plan(text: str = PLAN, **changes: str) -> dpe.Plan:
    for old, new in changes.items():
        text = text.replace(old, new)
    return dpe.Plan.loads(text)


def pay(of: dpe.Plan) -> dpe.Amount:
    column = of.column("pay")
    assert isinstance(column, dpe.Amount)
    return column


@contextmanager
def no_noise() -> Iterator[None]:
    """Search without noise: with it, one release in twenty finds the next candidate instead."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "perturb", lambda exact, scale: exact)
        yield


def released(text: str = PLAN, ledger: dpe.Ledger | None = None, **changes: str) -> dpe.Release:
    with no_noise():
        return dpe.release(people(), plan(text, **changes), ledger)


def test_with_noise_a_bound_near_the_highest_values_is_found() -> None:
    """Of 20,000 draws, 95 % found 1000, 1 % more than 1500, and two 10,000: above 50,000 is below one in a million."""
    found = [pay(dpe.release(people(), plan()).plan).high for _ in range(5)]
    assert min(found) == 1000
    assert max(found) <= 50_000


def test_a_release_finds_its_bound_and_readers_find_the_same(tmp_path: Path) -> None:
    ledger = dpe.Ledger.in_memory()
    finished = released(ledger=ledger)
    assert ledger.spent("pay") == finished.measured.cost == 1
    assert [(each.columns, each.cost) for each in finished.measured.searches] == [(("pay",), Fraction(1, 10))]
    assert pay(finished.plan).high == 1000
    assert pay(finished.plan).labels == ("0", "1000", "(missing)")
    means = finished.tables["sex",].set_index("sex")
    assert abs(means.loc["f", "mean_pay"] - 499.5) < 20, "the noise is that of a range of 1000"
    assert means.loc["f", "mean_pay_high"] - means.loc["f", "mean_pay_low"] < 20
    finished.save(tmp_path / "found.zip")
    domain = dpe.verify(tmp_path / "found.zip")["domain"]["pay"]
    assert (domain["source"], domain["to"], domain["labels"]) == ("found", "1000", ["0", "1000", "(missing)"])
    assert dpe.Plan.loads(members_of(finished.bundle)["plan.yaml"].decode()) == plan()
    read = dpe.published(tmp_path / "found.zip")
    assert pay(read.plan).high == 1000
    assert json.loads(members_of(finished.bundle)["found.json"])["pay"].keys() == {"values"}


MORE = "\ncolumns:\n  - {name: old, kind: yesno}"
DEBT = "  - {name: debt, kind: amount, from: -500, to: 5000, step: 5, upper: {share: 1/5}}\n  - {name: sex"
FORMS = {
    "quantiles": {"mean: [pay]": "mean: [pay], quantiles: {pay: [0.5, 0.9]}"},
    "squares": {"mean: [pay]": "standard_deviation: [pay]", "step: 10": "step: 100"},
    "two amounts": {"mean: [pay]}": "mean: [pay, debt]}", "  - {name: sex": DEBT},
    "adaptive": {"mean: [pay]}]": "mean: [pay]}, [sex, old]]\nstrategy: adaptive", "\ncolumns:": MORE},
    "optimised": {"mean: [pay]}]": "mean: [pay]}, [sex, old]]\nstrategy: optimised", "\ncolumns:": MORE},
    "persons": {"tables:": "unit: {rows: 2, id: who}\ntables:"},
    "no missing": {"upper: found": "upper: found, missing: false"},
}


@pytest.mark.by_day(3)
@pytest.mark.parametrize("form", FORMS)
def test_a_bundle_of_each_form_is_verified_and_the_same_plan_costs_nothing(form: str) -> None:
    asked, ledger = plan(**FORMS[form]), dpe.Ledger.in_memory()
    rows = people(2_000).assign(who=np.arange(2_000) // 2, debt=lambda frame: frame["pay"] - 500, old="yes")
    first = dpe.release(rows, asked, ledger)
    assert first.measured.cost == 1
    dpe.verify(first.bundle)
    assert first.plan.as_written == asked
    assert first.plan.key == asked.key
    assert resolve(asked, first.measured.searches) == first.plan
    again = dpe.release(rows, first.plan, ledger)
    assert (again.release_id, pay(again.plan).high) == (first.release_id, pay(first.plan).high)
    assert dpe.Plan.loads(asked.dumps()) == asked


def test_quantiles_have_knots_in_the_range_that_was_found() -> None:
    asked = plan(**FORMS["quantiles"])
    assert pay(asked).all_knots[1] == 50_000
    assert "knots" not in asked.dumps()
    finished = released(**FORMS["quantiles"])
    assert pay(finished.plan).all_knots == tuple(Decimal(50 * k) for k in range(21))
    assert abs(finished.tables["sex",]["quantile_0.5_pay"].iloc[0] - 499.5) < 60


def test_a_release_is_recognised_by_its_own_plan_also_where_quantiles_follow_otherwise_from_the_found_bound() -> None:
    """In ten steps, they are read at knots; in all of the range, the plan would have them chosen."""
    text = PLAN.replace("mean: [pay]", "quantiles: {pay: [0.1, 0.25, 0.5, 0.75, 0.9]}")
    asked = plan(text.replace("tables:", "unit: {rows: 1, id: who}\nrows_about: 10000\ntables:"))
    rows = people(2_000).assign(pay=lambda frame: frame["pay"] // 10, who=np.arange(2_000) // 2)
    ledger = dpe.Ledger.in_memory()
    with no_noise(), dpe.open_table(rows) as table:
        made = dpe.release(table, asked, ledger)
        assert pay(made.plan).high == 100
        assert decide(made.plan).plan_id != decide(asked).plan_id
        assert is_recorded(table, made.plan, ledger)
        assert not is_recorded(table, made.plan.at(3), ledger)
        assert dpe.verify(made.bundle)
        of_plan, of_release = (true_counts(table, each, ledger, [("sex",)]) for each in (asked, made.plan))
        assert of_plan["sex",].tolist() == of_release["sex",].tolist(), "the same rows of each person"


def test_a_plan_keeps_its_identity_when_its_bound_is_found() -> None:
    for form in ("quantiles", "squares", "no missing"):
        asked = plan(**FORMS[form])
        found = asked.with_columns({"pay": pay(asked).with_high(Decimal(5_000))})
        assert pay(found).high == 5_000
        assert found.key == asked.key
        assert found.as_written == asked


def test_another_share_or_range_is_another_release() -> None:
    others = [
        UPPER, "from: 0, to: 1000000, step: 10", "from: 0, to: 1000000, step: 10, upper: {share: 1/5}",
        "from: 0, to: 2000000, step: 10, upper: found", "from: 0, to: 1000000, step: 20, upper: found",
        "from: -10, to: 1000000, step: 10, upper: found",
    ]  # fmt: skip
    plans = [plan(PLAN.replace(UPPER, other)) for other in others]
    assert len({decide(each).plan_id for each in plans}) == len({each.key for each in plans}) == len(others)


@pytest.mark.parametrize("form", ["persons", "quantiles", "adaptive", "two amounts"])
@pytest.mark.by_day(2)
def test_only_outputs_that_were_paid_for_decide_whatever_the_rows(form: str) -> None:
    """A neighbour with the same noisy outputs has the same release; what they cost is ε at most, exactly."""
    request = plan(**FORMS[form])
    rows = people(90).assign(who=np.arange(90) // 2, debt=7.0, old="no")
    more = pd.DataFrame({"pay": [999_000.0], "sex": ["f"], "who": [99], "debt": [4999.0], "old": ["yes"]})
    others = rows.assign(pay=np.arange(90.0) * 4_000, sex="f")
    check_only_outputs_decide(rows, more, others, request)


def test_predictions_are_those_of_the_stated_end_and_of_the_tables_share() -> None:
    stated = PLAN.replace(", upper: found", "").replace('"1"', '"0.9"')
    expected, searched = (dpe.predict(each)["half_width_95"].tolist() for each in (plan(stated), plan()))
    assert searched == expected


def test_what_follows_is_a_function_of_the_noisy_counts() -> None:
    finished = dpe.release(people(), plan())
    assert resolve(plan(), finished.measured.searches) == finished.plan
    assert resolved(finished.plan).plan.epsilon_for_tables == Fraction(9, 10)


@cache
def _bundle() -> bytes:
    return released().bundle


TAMPERED: dict[str, Any] = {
    "a noisy count": lambda stored: stored["values"].__setitem__(14, 4_000_000),
    "a number": lambda stored: stored["values"].pop(),
    "a number too many": lambda stored: stored["values"].append(10**9),
    "a list": lambda stored: stored.pop("values"),
    "boxes": lambda stored: stored.update(parents=[-1], first=[0], last=[1], parts=[10**6]),
}


@pytest.mark.parametrize("what", [*TAMPERED, "the file"])
def test_a_bundle_whose_search_was_changed_is_refused(what: str) -> None:
    where = r"manifest\.json: domain" if what == "a noisy count" else r"found\.json"
    with pytest.raises(dpe.ReleaseError, match=where):
        dpe.verify(with_search(_bundle(), "pay", TAMPERED.get(what)))


def test_a_bundle_that_claims_another_bound_is_refused() -> None:
    members = members_of(_bundle())
    with manifest_in(members) as manifest:
        domain = manifest["domain"]["pay"]
        domain |= {"to": "2000", "labels": ["0", "2000", "(missing)"]}
    with pytest.raises(dpe.ReleaseError, match=r"manifest\.json: domain"):
        dpe.verify(zipped(members))


def test_a_bundle_that_claims_another_share_or_number_of_counts_is_refused() -> None:
    members = members_of(_bundle())
    with manifest_in(members) as manifest:
        table, entry = manifest["measurements"]
        table |= {"epsilon": "0.95", "scale": "20/19"}
        entry |= {"epsilon": "0.05", "scale": "20"}
    with pytest.raises(dpe.ReleaseError, match=r"measurement 2: epsilon is not the share that plan\.yaml gives"):
        dpe.verify(zipped(members))
    members = members_of(_bundle())
    with manifest_in(members) as manifest:
        manifest["measurements"][1]["cells"] += 1
    with pytest.raises(dpe.ReleaseError, match=r"measurement 2: found\.json holds"):
        dpe.verify(zipped(members))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("from: 0, to: 100, step: 10, upper: found", "found among more than 10"),
        ("from: 0, to: 1000, upper: 500", "a bound that you know is 'to'"),
        ("from: 0, to: 1000, upper: yes", "a bound that you know is 'to'|write 'upper: found'"),
        ("from: 0, to: 1000, upper: high", "write 'upper: found'"),
        ("from: 0, to: 1000, upper: {share: 1}", "from 1/1000 to 1/2"),
        ("from: 0, to: 1000, upper: {share: 1/10, below: 2000}", "leave 'found' out"),
        ("from: 0, to: 1000, upper: {share: 1/10, below: 200}", "lies below the end"),
        ("from: 0, to: 1000, knots: [0, 10, 1000], upper: found", "declares no knots"),
        ("from: 0, upper: found", "needed"),
    ],
)
def test_bounds_that_cannot_be_found_are_refused(column: str, message: str) -> None:
    with pytest.raises(dpe.PlanError, match=message):
        plan(PLAN.replace(UPPER, column))


def test_readers_are_told_the_bound_its_price_and_what_it_means() -> None:
    members = members_of(_bundle())
    read_me = " ".join(members["README.txt"].decode().split())
    assert "The upper bound of pay, 1,000, was found from noisy counts, for ε = 0.1" in read_me
    assert "values reach 1,000,000 at most" in read_me
    assert "values above it count as the bound" in read_me
    report = members["report.html"].decode()
    assert "0 … 1000, found below 1000000" in report
    assert "found privately, with a part of ε" in report
    manifest = json.loads(members["manifest.json"])
    assert manifest["domain"]["pay"]["found_below"] == "1000000"
    assert any(line.startswith("upper bound that was found") for line in manifest["post_processing"])
    assert not any(line.startswith("cells that were found") for line in manifest["post_processing"])
    assert dpe.preview(plan()), "a table that is made up has the stated end"


def test_a_bundle_that_is_silent_about_the_bound_is_refused() -> None:
    members = members_of(_bundle())
    with manifest_in(members) as manifest:
        del manifest["domain"]["pay"]["found_below"]
    with pytest.raises(dpe.ReleaseError, match=r"manifest\.json: domain"):
        dpe.verify(zipped(members))


def test_the_command_line_says_what_finding_costs_and_which_bound_was_found(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    people().to_csv(tmp_path / "t.csv", index=False)
    told = run("predict", tmp_path / "plan.yaml").stdout.splitlines()[1]
    assert told.startswith("Of this, 0.1 (pay) pays for finding upper bounds, and 0.9 for the tables.")
    assert told.endswith("shrink in proportion to the bound: if it is found at a tenth, to about a tenth.")
    command = ["release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip"]
    with no_noise():
        done = run(*command, "--ledger", f"sqlite:///{tmp_path}/l.db")
    assert done.stdout.splitlines()[1] == "upper bound found: 1000 of pay"


def test_synthetic_rows_and_copies_are_of_the_range_that_was_found() -> None:
    finished = released()
    rows = pd.read_csv(io.BytesIO(members_of(finished.bundle)["synthetic.csv"]))
    assert pd.to_numeric(rows["pay"], errors="coerce").max() <= 1000
    drawn = dpe.draw_replicates(finished.bundle)["sex",].iloc[0]
    means = np.array([drawn[f"sum_pay_r{k}"] / drawn[f"known_pay_r{k}"] for k in range(50)])
    assert np.abs(means - 499.5).max() < 60, "their errors are those of a range of 1000"


def test_releases_with_other_bounds_are_not_compared_by_their_means(tmp_path: Path) -> None:
    first = released()
    larger = people().assign(pay=lambda frame: frame["pay"] * 9)
    second = dpe.release(larger, plan(**{"dataset: pay": "dataset: later"}))
    for finished, name in ((first, "a.zip"), (second, "b.zip")):
        finished.save(tmp_path / name)
    changes = dpe.compare(dpe.published(tmp_path / "a.zip"), dpe.published(tmp_path / "b.zip"))
    assert "mean_pay" not in set(changes["sex",]["number"])


def test_what_is_published_of_a_codebook_is_the_stated_end() -> None:
    finished = dpe.release(people(), plan())
    assert b'"maximum": 1000000' in csvw_eo.write([pay(finished.plan)])
