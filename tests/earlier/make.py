"""Write the folder ``v0_1_0``: what a user of version 0.1.0 has on disk after a year of work.

Run once, with that version, as ``python -m tests.earlier.make``; README.md beside this says with which commit. It is
kept to be read: later versions may have other modules inside, and must read what it wrote, not write it anew.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import re
import sqlite3
import subprocess
import zipfile
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import ibis
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

import dpengine as dpe
from tests import engines

HERE = Path(__file__).parent / "v0_1_0"
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
WARDS = ["A1", "A2", "B1", "Île 3"]
REGIONS = ["North", "South", "Paris, TX", "False"]
SCORE = "{name: score, kind: number, edges: {from: -2, to: 6, bins: 64}, missing_as: [n/a]}"
AGE = "{name: age, kind: number, edges: [0, 18, 30, 45, 65, 120]}"
REGION = 'region, kind: category, values: [North, South, "Paris, TX", "False"]'
SMOKES = "{name: smokes, kind: yesno}"
VISIT = "visit, kind: date, from: 2025-01-01, to: 2026-12-31"
SEX = "{name: sex, kind: category, values: [female, male], other: false, missing: false}"
WEEKDAY = "{name: weekday, kind: category, codebook: weekdays}"

# Name of a plan: its table, and its text.
PLANS = {
    "direct": ("visits.csv", f"""
title: Visits by age, region and month
notes: 'Made-up rows: nobody is in them.'
dataset: visits-2026
epsilon: "1"
rows_about: 360
columns:
  - {AGE}
  - {{name: {REGION}, missing_as: ["?"]}}
  - {{name: {VISIT}, by: month}}
tables: [[age, region], [region, visit]]
strategy: direct
"""),
    "optimised": ("visits.csv", f"""
title: Visits, shares of least error
dataset: visits-2026
epsilon: "0.5"
columns:
  - {AGE}
  - {{name: {REGION}}}
  - {SMOKES}
tables: [[age], [age, region], [smokes, region]]
strategy: optimised
"""),
    "adaptive": ("visits.csv", f"""
title: All pairs
dataset: visits-2026
epsilon: "2"
rows_about: 360
columns:
  - {AGE}
  - {{name: {REGION}, missing: false}}
  - {SMOKES}
  - {{name: {VISIT}, by: quarter}}
tables: {{each: 2}}
strategy: adaptive
"""),
    "codebook": ("visits.csv", f"""
dataset: visits-2026
epsilon: "1/3"
columns:
  - {{name: ward, kind: category, codebook: wards.csv, other: false}}
  - {{name: region, kind: category, codebook: regions.json}}
  - {SMOKES}
tables: [[ward, smokes], [region]]
"""),
    "people": ("visits.csv", f"""
title: People, with two visits at most
dataset: Visits-2026
epsilon: "0.75"
unit: {{id: person, rows: 2}}
columns:
  - {AGE}
  - {{name: {VISIT}, by: year, other: false}}
tables: [[age, visit]]
strategy: auto
"""),
    "standard": ("clinic.parquet", f"""
title: By the day of the week
dataset: clinic-2026
epsilon: "1"
columns:
  - {WEEKDAY}
  - {SEX}
  - {{name: day, kind: date, from: 2026-01-01, to: 2026-02-28, by: week}}
tables: [[weekday, sex], [day]]
strategy: auto
"""),
    "ranges": ("clinic.parquet", f"""
title: Scores in ranges
dataset: clinic-2026
epsilon: "1.5"
columns:
  - {SCORE}
tables: [{{columns: [score], ranges: true}}]
"""),
    "sparse": ("clinic.parquet", f"""
title: One wide table of few rows
dataset: clinic-2026
epsilon: "0.3"
rows_about: 300
columns:
  - {WEEKDAY}
  - {SEX}
  - {{name: smoker, kind: yesno}}
  - {{name: score, kind: number, edges: [-2, 0, 0.5, 1, 2, 6]}}
tables: [[weekday, sex, smoker, score], [sex, smoker]]
"""),
    "second-name": ("clinic.parquet", f"""
title: The clinic's rows under another name share its budget
dataset: clinic copy
epsilon: "0.25"
columns:
  - {SEX}
tables: [[sex]]
"""),
    "remote": ("clinic on a server", f"""
title: Rows that stay in PostgreSQL
dataset: register-2026
epsilon: "0.6"
unit: {{id: patient, rows: 3}}
columns:
  - {SEX}
  - {{name: smoker, kind: yesno}}
  - {{name: score, kind: number, edges: [-2, 0, 1, 6]}}
tables: [[sex, score], [smoker]]
"""),
}  # fmt: skip
REFUSED = ("visits.csv", PLANS["direct"][1].replace('epsilon: "1"', 'epsilon: "0.9"'))
CAPS = {"VISITS-2026 ": "6.5", "clinic-2026": "6", "clinic copy": "9/2", "nothing-yet": "1/7"}


def visits() -> None:
    """Write rows as people type them: a CSV of texts."""
    dice = random.Random(2026)
    with (HERE / "visits.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", "age", "region", "smokes", "visit", "ward"])
        for number in range(360):
            day = date(2025, 1, 1) + timedelta(dice.randrange(760))
            writer.writerow([
                f"p{dice.randrange(200):03}" if number % 60 else "",
                dice.choice([dice.randrange(100), dice.randrange(18, 66), 120, 121, ""]),
                dice.choices([*REGIONS, "Elsewhere", "?", ""], [80, 60, 40, 20, 8, 4, 8])[0],
                dice.choices(["yes", "no", "Y", "0", "perhaps", ""], [40, 80, 5, 5, 3, 5])[0],
                day.isoformat() if number % 45 else "soon",
                dice.choices([*WARDS, "Z9", ""], [40, 30, 20, 10, 2, 2])[0],
            ])  # fmt: skip


def clinic() -> pa.Table:
    """Write typed rows: a Parquet file."""
    dice = random.Random(7)
    rows = 300
    table = pa.table({
        "patient": pa.array([dice.randrange(150) for _ in range(rows)], pa.int64()),
        "score": pa.array([None if k % 50 == 3 else round(dice.gauss(1, 1), 3) for k in range(rows)], pa.float64()),
        "sex": pa.array([dice.choice(["female", "male"]) for _ in range(rows)], pa.string()).dictionary_encode(),
        "smoker": pa.array([None if k % 40 == 9 else dice.random() < 0.3 for k in range(rows)], pa.bool_()),
        "day": pa.array([date(2026, 1, 1) + timedelta(dice.randrange(60)) for _ in range(rows)], pa.date32()),
        "weekday": pa.array([dice.choice([*DAYS, None]) for _ in range(rows)], pa.string()),
    })  # fmt: skip
    pq.write_table(table, HERE / "clinic.parquet", compression="zstd")
    return table


def put(table: pa.Table, address: str) -> None:
    """Make the clinic's rows a table of a PostgreSQL server."""
    with psycopg.connect(address) as connection:
        connection.execute(
            "CREATE TABLE clinic (patient bigint, score double precision, sex text, smoker boolean, day date, "
            "weekday text)"
        )
        with connection.cursor().copy("COPY clinic FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)


def questions() -> dict[str, tuple[str, dpe.Question]]:
    """Name, table and text of each single question."""
    age = {"name": "age", "kind": "number", "edges": [0, 18, 65, 120]}
    region = {"name": "region", "kind": "category", "values": REGIONS}
    adult = dpe.Condition(column=age, labels=["[18, 65)", "[65, 120]"])
    clinic = {"dataset": "visits-2026", "unit": {"id": "person", "rows": 2}}
    there = {"dataset": "clinic-2026", "rows_about": 300}
    score = dpe.Grid(name="score", low="-2", high="6", step="0.25", missing_as=["n/a"])
    return {
        "count": ("visits.csv", dpe.Question(**clinic, epsilon="0.1", statistic=dpe.Count(), where=[adult])),
        "proportion": ("visits.csv", dpe.Question(
            **clinic, epsilon="0.2", rows_about=200, where=[dpe.Condition.between("age", 18, 64)],
            statistic=dpe.Proportion(of=[dpe.Condition(column=region, labels=["North", "(missing)"])]))),
        "mode": ("visits.csv", dpe.Question(**clinic, epsilon="0.3", statistic=dpe.Mode(of=region))),
        "mean": ("clinic.parquet", dpe.Question(**there, epsilon="1/4", statistic=dpe.Mean(of=score))),
        "sum": ("clinic.parquet", dpe.Question(
            **there, epsilon="0.15",
            statistic=dpe.Sum(of=dpe.Grid(name="score", low=0, high=5, step="0.5", absent=0)))),
        "quantile": ("clinic.parquet", dpe.Question(
            **there, epsilon="0.2", statistic=dpe.Quantile(of=score, level="1/3"))),
    }  # fmt: skip


def thin(bundle: bytes) -> bytes:
    """The bundle without the drawing library in its report, 1.5 MB each; the manifest gives the report that is left."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        content = {entry: old.read(entry) for entry in old.infolist()}
        report = ""
        for entry, member in content.items():
            if entry.filename == "report.html":
                report = re.sub(
                    r"<script>(?:(?!</script>).){1000000,}</script>",
                    "<script>/* the drawing library stood here */</script>", member.decode(), flags=re.S,
                )  # fmt: skip
                member = report.encode()
            if entry.filename == "manifest.json":
                manifest = json.loads(member)
                manifest["files"]["report.html"] = {
                    "sha256": hashlib.sha256(report.encode()).hexdigest(), "bytes": len(report.encode())
                }  # fmt: skip
                member = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
            new.writestr(entry, member, compresslevel=9)
    dpe.verify(io.BytesIO(made.getvalue()))
    return made.getvalue()


def fill(ledger: dpe.Ledger, server: str) -> dict[str, Any]:
    """Spend: releases, questions, a choice, caps, and a spending that is refused; what came of each."""
    from dpengine.choice import Candidates, draw_once

    for name, cap in CAPS.items():
        ledger.set_cap(name, cap)
    expected: dict[str, Any] = {"plans": {}, "questions": {}}
    there = ibis.connect(server)
    for name, (source, text) in PLANS.items():
        (HERE / "plans" / f"{name}.yaml").write_text(text.lstrip(), encoding="utf-8")
        plan = dpe.Plan.load(HERE / "plans" / f"{name}.yaml")
        with dpe.open_table(there.table("clinic") if name == "remote" else HERE / source) as table:
            release = dpe.release(table, plan, ledger)
        bundle = release.bundle
        (HERE / "bundles" / f"{name}.zip").write_bytes(thin(bundle))
        expected["plans"][name] = {
            "table": source, "dataset": plan.dataset, "key": plan.key, "epsilon": str(plan.epsilon),
            "strategy": release.plan.strategy, "release_id": release.release_id, "created": release.created,
            "total": int(release.tables[()]["count"].iloc[0]), "saved": plan.dumps(),
            "payload_sha256": hashlib.sha256(ledger.payload(release.release_id) or b"").hexdigest(),
            "bundle_sha256": hashlib.sha256(bundle).hexdigest(), "bundle_bytes": len(bundle),
        }  # fmt: skip
    there.disconnect()
    for name, (source, question) in questions().items():
        answer = dpe.ask(HERE / source, question, ledger)
        expected["questions"][name] = {
            "table": source,
            "key": question.key,
            "words": question.description,
        } | json.loads(json.dumps(asdict(answer) | {"question": question.to_dict()}, default=str))
    choice = {"names": ["1.00", "3.00", "Größe"], "scores": ["40", "30.5", "1/3"], "sensitivity": "3.02"}
    drawn = draw_once(Candidates.of(**choice, epsilon="1/2"), "visits-2026", ledger, "Which fee?")
    expected["choice"] = {"given": choice | {"epsilon": "1/2"}, "dataset": "visits-2026", "question": "Which fee?"}
    expected["choice"] |= {"name": drawn.name, "release_id": drawn.release_id, "created": drawn.created}
    (HERE / "plans" / "refused.yaml").write_text(REFUSED[1].lstrip(), encoding="utf-8")
    try:
        dpe.release(HERE / REFUSED[0], dpe.Plan.load(HERE / "plans" / "refused.yaml"), ledger)
    except dpe.BudgetError as error:
        expected["refused"] = str(error)
    return expected


def accounts(ledger: dpe.Ledger) -> dict[str, Any]:
    """Everything else that a ledger says."""
    return {
        "fingerprint": ledger.fingerprint(b"a digest").hex(),
        "derived": ledger.derive_key("truncation", b"of", b"parts").hex(),
        "accounts": {
            name: [None if n is None else str(n) for n in (ledger.spent(name), ledger.cap(name), ledger.left(name))]
            for name in ledger.datasets()
        },
        "history": [asdict(entry) | {"epsilon": str(entry.epsilon)} for entry in ledger.history()],
    }


def dump(address: str) -> str:
    """The ledger as PostgreSQL writes it out, for servers of any version."""
    command = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", "--dbname", address, "--table", "ledger_*"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    unset = re.sub(r"(?m)^(SET (transaction_timeout|default_table_access_method)|\\).*\n", "", text)
    return re.sub(r"(?m)^(--.*)?\n+", "", unset)


def copy_to_server(ledger: Path, address: str) -> None:
    """Fill the tables that this version makes on a PostgreSQL server with the rows of a ledger in a file."""
    dpe.Ledger(address)
    with sqlite3.connect(ledger) as source, psycopg.connect(address) as server:
        server.execute("DELETE FROM ledger_meta")
        for table in ("ledger_meta", "ledger_caps", "ledger_charges", "ledger_payloads"):
            rows = source.execute(f"SELECT * FROM {table} ORDER BY 1")
            names = [column[0] for column in rows.description]
            marks = ", ".join(["%s"] * len(names))
            with server.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows.fetchall())


def main() -> None:
    """Write the whole folder anew."""
    (HERE / "plans").mkdir(parents=True)
    (HERE / "bundles").mkdir()
    (HERE / "plans" / "wards.csv").write_text("about,value\n" + "".join(f"ward,{w}\n" for w in WARDS), encoding="utf-8")
    (HERE / "plans" / "regions.json").write_text(json.dumps({"region": REGIONS}) + "\n", encoding="utf-8")
    visits()
    table = clinic()
    path = HERE / "ledger.sqlite"
    with engines.postgres() as server:
        put(table, server)
        ledger = dpe.Ledger(f"sqlite:///{path}")
        expected = fill(ledger, server) | accounts(ledger)
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copy_to_server(path, server)
        assert accounts(dpe.Ledger(server)).items() <= expected.items()
        (HERE / "ledger.postgresql.sql").write_text(dump(server), encoding="utf-8")
    assert "refused" in expected
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
