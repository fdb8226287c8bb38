"""Compare counts of distinct persons in the RAND sample with counts of rows at equal ε: half-widths and errors.

    python benchmarks/distinct.py

A person has up to five rows, one for each year. Without `distinct`, a table counts rows, and its noise is for five of
them; the number of persons in a cell cannot be told from it. *Off* is the root mean square distance of `estimate` from
the true number of different persons in a cell, over all cells and releases. It holds the noise, and the persons who are
in more cells than they count in.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine import Plan, open_table, predict
from dpengine.array_types import Columns, Ints
from dpengine.release import release

SAMPLE = Path(__file__).parents[1] / "data"
TABLES: tuple[Columns, ...] = (("cost_sharing", "sex"), ("site", "year"), ("sex", "doctor_visits"))
CELLS = (1, 2, 3, 5)  # per person
RELEASES = 20


def plan_of(table: dict[str, Any] | list[str]) -> Plan:
    """Return a plan of one table of the sample, at ε = 1."""
    fields = Plan.load(SAMPLE / "rand.plan.yaml").to_dict()
    return Plan(**fields | {"tables": [table]})


def persons(plan: Plan, table: Columns) -> Ints:
    """Return the true numbers of different persons in the cells of a table: a sample's, so anyone may know them."""
    rows = duckdb.connect().execute(f"SELECT * FROM '{SAMPLE / 'rand.csv.gz'}'").df()
    codes = {}
    for name in table:
        column = plan.column(name)
        if column.kind == "number":
            edges = np.array(column.model_dump()["edges"], dtype=float)
            codes[name] = np.minimum(np.searchsorted(edges, rows[name], side="right") - 1, len(edges) - 2)
        else:
            codes[name] = rows[name].astype(str).map({label: k for k, label in enumerate(column.labels)}).to_numpy()
    counts = np.zeros(plan.shape(table), dtype=np.int64)
    once = {(who, *cell) for who, *cell in zip(rows["person_id"], *codes.values(), strict=True)}
    np.add.at(counts, tuple(np.array([cell for _, *cell in once]).T), 1)
    return counts


def main() -> None:
    """Print the half-widths and errors."""
    for table in TABLES:
        by_rows = plan_of([*table])
        true = persons(by_rows, table)
        today = float(predict(by_rows)["half_width_95"][0])
        print(f"{' × '.join(table)}: {true.size} cells, {true.sum():,} persons in cells; rows: ±{today:.1f}")
        for cells in CELLS:
            plan = plan_of({"columns": [*table], "distinct": True, "cells_per_person": cells})
            wide = float(predict(plan)["half_width_95"][0])
            with open_table(SAMPLE / "rand.csv.gz") as opened:
                found = [release(opened, plan).tables[table]["estimate"].to_numpy() for _ in range(RELEASES)]
            off = float(np.sqrt(np.mean((np.array(found) - true.ravel()) ** 2)))
            print(f"  at most {cells} per person: ±{wide:.1f}, {wide / today:.2f} of rows; off by {off:.1f}")


if __name__ == "__main__":
    main()
