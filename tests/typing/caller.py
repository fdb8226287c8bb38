"""A program that uses the public names alone: type-checked strictly against the installed package, never run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd

import dpengine as dpe


def plan_of(epsilon: str | int | Fraction) -> dpe.Plan:
    """Build a plan in code, with columns of every kind."""
    return dpe.Plan(
        title="Clinic survey",
        dataset="clinic",
        epsilon=epsilon,
        unit=dpe.Unit(id="patient", rows=2),
        columns=[
            dpe.Number(name="age", edges=[0, 18, 65, "99.5"]),
            dpe.Category(name="region", values=["North", "South"], other=False),
            dpe.YesNo(name="smokes"),
            dpe.Date(name="visit", first="2024-01-01", last="2024-12-31", by="month"),
            dpe.Amount(name="income", low=0, high=200_000, step=100),
        ],
        tables=[["age", "region"], ["smokes"], {"columns": ["region"], "mean": ["income"]}],
        strategy="direct",
    )


def publish(rows: pd.DataFrame, folder: Path) -> Fraction:
    """Predict, publish, read the tables, save and verify; return what was spent."""
    plan = plan_of("0.5")
    expected: pd.DataFrame = dpe.predict(plan, epsilons=["0.1", 1])
    least: Fraction = dpe.epsilon_for(plan, half_width=10)
    ledger = dpe.Ledger("sqlite:///budget.db")
    ledger.set_cap(plan.dataset, "2")
    with dpe.open_table(rows) as table:
        finished: dpe.Release = dpe.release(table, plan, ledger=ledger)
    frame: pd.DataFrame = finished.tables["age", "region"]
    total: pd.DataFrame = finished.tables[()]
    finished.save(folder / "release.zip")
    dpe.verify(folder / "release.zip")
    read: dpe.Published = dpe.published(folder / "release.zip")
    again: pd.DataFrame = read.tables["age", "region"]
    print(len(again), read.arrow["age", "region"].num_rows, finished.arrow[()].num_rows)
    print(len(expected), least, len(frame), len(total), len(finished.synthetic()))
    entries: list[dpe.Entry] = list(ledger.history(plan.dataset))
    preview: dpe.Result = dpe.preview(plan)
    print(entries, preview.tables)
    left: Fraction | None = ledger.left(plan.dataset)
    return ledger.spent(plan.dataset) if left is None else left


def ask(rows: pd.DataFrame) -> dpe.Answer:
    """Ask one question about the rows that meet a condition."""
    age = dpe.Grid(name="age", low=0, high=99, step="0.5")
    region = dpe.Category(name="region", values=["North", "South"])
    question = dpe.Question(
        dataset="clinic",
        epsilon="0.2",
        unit=dpe.Unit(rows=1),
        statistic=dpe.Mean(of=age),
        where=[dpe.Condition(column=region, labels=["North"])],
        rows_about=2000,
    )
    expected: dpe.Expected = dpe.expect(question)
    assert expected.half_width is not None
    try:
        return dpe.ask(rows, question)
    except dpe.BudgetError as error:
        raise SystemExit("\n".join(str(fault) for fault in error.faults)) from error
    except dpe.LedgerError:
        raise


noise = dpe.noise.discrete_laplace(Fraction(10), 100)
version: str = dpe.__version__
