"""Neighbouring tables under plans that mix what the library can do: nothing but paid draws tells them apart.

Each seed gives a plan (columns with affixes and levels, found bins and values, amounts with sums, means, quantiles and
covariances, persons, ranges, weights), a way to read the table (a column of frequencies, several answers in a cell),
rows with odd values, and a neighbour: a row more or less, a person more or less, or a frequency one higher. The
draws are recorded on one table and replayed on the other: see `tests/replay.py`. No statistics, so no false alarms.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from dpengine import Ledger, Plan, PlanError, open_table, release
from tests.replay import Tape, prices, recorded_work, replayed_work

Row = dict[str, str]
ODD = ["", "?", "-99", "1e400", "=1", "ß", "0x1", "€ 5", "5 days", "<3", "(other)", "nan", "2024-13-40", "7.25"]
ANSWERS = {"t": ["de", "fr", "tr"]}


@dataclass(frozen=True)
class Case:
    """A plan, how its tables are read, and two neighbours."""

    plan: Plan
    read: dict[str, Any]
    here: pd.DataFrame
    there: pd.DataFrame

    def published(self, frame: pd.DataFrame) -> Callable[[Tape], None]:
        def publish(tape: Tape) -> None:
            ledger = Ledger.in_memory()
            with open_table(frame, **self.read) as table:
                release(table, self.plan, ledger, progress=tape.stage)
            tape.entries += [f"{entry.epsilon} {entry.summary}" for entry in ledger.history()]

        return publish


class Maker:
    """Makes a case at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ways = self.random.choice(["plain", "plain", "frequency", "answers", "frequency, answers"])

    def often(self, chance: float = 0.5) -> bool:
        return self.random.random() < chance

    def row(self, who: str = "") -> Row:
        number, some = self.random.randrange, self.random.choice
        row = {
            "who": who or f"p{number(9)}",
            "a": f"a{number(4)}",
            "b": some("xyz"),
            "n": str(number(-2, 43)),
            "m": some([f"{number(43)} days", f"<{number(1, 9)}", f"€ {number(40)}", "85+"]),
            "p": some([f"{number(-300, 4500) / 100:.2f}", f"€ {number(45)}", f"{number(45)} kg"]),
            "q": str(number(45)),
            "d": f"2024-{number(1, 13):02}-{number(1, 29):02}",
            "k": str(number(60)),
            "t": "; ".join(self.random.sample(ANSWERS["t"], number(4))),
        }
        row |= {name: some(ODD) for name in row if name != "who" and self.often(0.06)}
        return row | {"f": some("011235")}

    def columns(self) -> list[dict[str, Any]]:
        levels = {"values": {"g": ["a0", "a1"], "h": ["a2"]}, "levels": ["grp", "a"]}
        bins = {"edges": [0, 10, 20, 30, 40], "levels": {"half": [0, 20, 40]}}
        found = {"kind": "number", "from": 0, "to": 60, "step": 5, "bins": 4}
        keys = {"kind": "category", "values": "found", "among": {"from": 0, "to": 80, "most": 10}, "other": True}
        pool: list[dict[str, Any]] = [
            {"name": "a", "kind": "category"} | (levels if self.often(0.4) else {"values": ["a0", "a1", "a2"]}),
            {"name": "b", "kind": "category", "values": ["x", "y"], "other": self.often()},
            {"name": "n", "kind": "number"} | (bins if self.often(0.4) else {"edges": list(range(0, 41, 5))}),
            {"name": "m", "kind": "number", "edges": [0, 5, 10, 20, 40], "affixes": ["days", "<", "€", "+"]},
            {"name": "d", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "quarter"},
            {"name": "k"} | self.random.choice([found, keys]),
        ]
        if "answers" in self.ways:
            pool += [{"name": f"t: {answer}", "kind": "yesno"} for answer in ("de", "fr")] * 2
        chosen = {each["name"]: each for each in self.random.sample(pool, self.random.randrange(2, 6))}
        return [each | {"missing": self.often()} for each in chosen.values()]

    def tables(self, columns: list[dict[str, Any]], amounts: list[str], *, persons: bool) -> list[dict[str, Any]]:
        names = [each["name"] for each in columns]
        leveled = {each["name"]: {"a": "a@grp", "n": "n@half"}[each["name"]] for each in columns if "levels" in each}
        tables: dict[frozenset[str], dict[str, Any]] = {}
        for _ in range(self.random.randrange(1, 5)):
            some = self.random.sample(names, min(len(names), self.random.choice([1, 1, 2, 3])))
            at = [leveled.get(name, name) if self.often() else name for name in some]
            table: dict[str, Any] = {"columns": at} | (
                {"weight": self.random.choice([0.4, 3])} if self.often(0.3) else {}
            )
            way = self.random.random()
            if amounts and way < 0.7:
                table |= {
                    "mean": [each for each in amounts if self.often()],
                    "sum": [each for each in amounts if self.often()],
                }
                if "q" in amounts and self.often():
                    table["quantiles"] = {"q": self.random.choice([["0.5"], ["0.25", "0.75"]])}
            elif persons and way < 0.85:
                table |= {"distinct": True} | ({"cells_per_person": 2} if self.often(0.4) else {})
            elif way > 0.9:
                table["ranges"] = True
            tables.setdefault(frozenset(at), table)
        return [*tables.values()]

    def case(self) -> Case:
        """Return a case; raise `PlanError` if what was chosen cannot stand in one plan."""
        unit = self.random.choice([{"rows": 1}, {"id": "who", "rows": 1}, {"id": "who", "rows": 2}])
        amounts: list[dict[str, Any]] = [
            {"name": "p", "kind": "amount", "from": 0, "to": 40, "step": "0.5", "affixes": ["€", "kg"]},
            {"name": "q", "kind": "amount", "knots": [0, 5, 10, 20, 40]},
        ]
        amounts = [each | {"missing": self.often()} for each in amounts if self.often()]
        columns = self.columns()
        plan = Plan(
            dataset="toy", epsilon=self.random.choice(["0.1", "1", "10"]), unit=unit, columns=[*columns, *amounts],
            tables=self.tables(columns, [each["name"] for each in amounts], persons="id" in unit),
            strategy=self.random.choice(["auto", "direct", "optimised", "adaptive"]),
            rows_about=self.random.choice([None, 50, 100_000]),
        )  # fmt: skip
        rows = [self.row() for _ in range(self.random.choice([0, 1, 8, 60]))]
        read = ({"frequency": "f"} if "frequency" in self.ways else {}) | (
            {"answers": ANSWERS} if "answers" in self.ways else {}
        )
        names = [each["name"] for each in (*columns, *amounts)]
        kept = [name for name in self.row() if name in names or (name, True) in (
            ("t", "answers" in read), ("f", "frequency" in read), ("who", "id" in unit)
        )]  # fmt: skip
        here, there = (pd.DataFrame(each, columns=[*self.row()], dtype=str)[kept]
                       for each in (rows, self.neighbour(rows, persons="id" in unit)))  # fmt: skip
        return Case(plan, read, here, there)

    def neighbour(self, rows: list[Row], *, persons: bool) -> list[Row]:
        if persons and self.often():
            gone = self.random.choice(rows)["who"] if rows else ""
            return [row for row in rows if row["who"] != gone]
        if persons:
            return [*rows, *(self.row("new") for _ in range(self.random.randrange(1, 6)))]
        place = self.random.randrange(len(rows) + 1)
        if "frequency" in self.ways and place < len(rows):
            return [row | ({"f": str(int(row["f"]) + 1)} if k == place else {}) for k, row in enumerate(rows)]
        if place < len(rows) and "frequency" not in self.ways and self.often():
            return [*rows[:place], *rows[place + 1 :]]
        return [*rows[:place], self.row() | {"f": "1"}, *rows[place:]]


def made(seed: int) -> Case:
    """Return the first case of this seed and those that follow it which makes a plan that can be published."""
    for attempt in range(100):
        try:
            case = Maker(1000 * seed + attempt).case()
            recorded_work(case.published(case.here), without_noise=True)
        except PlanError:
            continue
        return case
    raise AssertionError("no plan can be made")


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.by_day(6)
def test_neighbours_differ_by_no_more_than_epsilon_whatever_a_plan_mixes(seed: int) -> None:
    """A choice among scores that all move alike costs nothing: the people of another cell choose there."""
    case = made(seed)
    first = recorded_work(case.published(case.here))
    second = replayed_work(case.published(case.there), first)
    assert first.draws
    assert first.shown == second.shown
    spent = Fraction(0)
    for price, here, there in zip(prices(first, second), first.draws, second.draws, strict=True):
        alike = here.kind == "choice" and len({*(here.exact - there.exact).ravel().tolist()}) == 1
        spent += 0 if alike else price
    assert spent <= case.plan.epsilon
