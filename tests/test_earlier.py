"""Plans, bundles, ledgers and answers of earlier versions are read, recognised and counted as before."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

import dpengine as dpe
from dpengine.cli import main

HERE = Path(__file__).parent / "earlier" / "v0_1_0"
EXPECTED: dict[str, Any] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
PLANS: dict[str, Any] = EXPECTED["plans"]
PORTALS = {"datapackage.json", "croissant.json", "dcat.jsonld"}
PROSE = {"README.txt", "report.html", "registry.yaml"}  # words for people, which a later version may choose better
# Releases of a model or of boxes, whose estimates are derived again: this version did not store them.
DERIVED = {"adaptive", "ranges", "sparse"}
KEPT = ("release_id", "created", "title", "dataset", "measurements", "domain", "tables", "software")


def drawn_once(given: dict[str, Any], dataset: str, ledger: dpe.Ledger, question: str) -> Any:
    """A private choice: the one thing here that is not in the package's own names; follow it where it moves."""
    from dpengine.choose import Candidates, draw_once

    return draw_once(Candidates.of(**given), dataset, ledger, question)


@pytest.fixture
def ledger(old_url: str) -> dpe.Ledger:
    return dpe.Ledger(old_url)


@pytest.fixture(scope="module")
def clinic(postgres: str) -> Iterator[Any]:
    """The clinic's rows on a server, as an Ibis table."""
    name = f"clinic_{secrets.token_hex(8)}"
    table = pq.read_table(HERE / "clinic.parquet")
    with psycopg.connect(postgres) as connection:
        connection.execute(
            f"CREATE TABLE {name} (patient bigint, score double precision, sex text, smoker boolean, day date, "
            "weekday text)"
        )
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    connected = ibis.connect(postgres)
    yield connected.table(name)
    connected.disconnect()


def plan_of(name: str) -> dpe.Plan:
    return dpe.Plan.load(HERE / "plans" / f"{name}.yaml")


def source_of(name: str, request: pytest.FixtureRequest) -> Any:
    """The table of a plan or question: a file, or rows on a server."""
    return request.getfixturevalue("clinic") if name == "remote" else HERE / PLANS[name]["table"]


def everything(ledger: dpe.Ledger) -> dict[str, Any]:
    """All that a ledger says, with exact numbers."""
    return {
        "fingerprint": ledger.fingerprint(b"a digest").hex(),
        "derived": ledger.derive_key("truncation", b"of", b"parts").hex(),
        "accounts": {
            name: [None if n is None else str(n) for n in (ledger.spent(name), ledger.cap(name), ledger.left(name))]
            for name in ledger.datasets()
        },
        "history": [{name: str(getattr(entry, name)) for name in EXPECTED["history"][0]} for entry in ledger.history()],
    }


@contextmanager
def nothing_changes(ledger: dpe.Ledger) -> Iterator[None]:
    """Nothing is charged, and nothing was lost before: the ledger says what it said when it was written."""
    expected = {name: EXPECTED[name] for name in ("fingerprint", "derived", "accounts", "history")}
    assert everything(ledger) == expected
    yield
    assert everything(ledger) == expected


def members(bundle: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """What must stay of a bundle: files of numbers with the plan, and of the manifest what is no prose."""
    with zipfile.ZipFile(bundle) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    facts = {name: manifest[name] for name in KEPT}
    facts["guarantee"] = {name: manifest["guarantee"][name] for name in ("epsilon", "delta", "unit")}
    facts["files"] = {name: sealed for name, sealed in manifest["files"].items() if name not in PROSE}
    assert files.keys() >= PROSE
    return {name: content for name, content in files.items() if name not in PROSE}, facts


def without_later_files(bundle: tuple[dict[str, bytes], dict[str, Any]]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Leave out what a bundle did not hold then: Parquet tables and the descriptions for portals."""
    files, facts = bundle
    later = {name for name in files if name in PORTALS or name.endswith(".parquet")}
    assert later >= PORTALS
    sealed = {name: each for name, each in facts["files"].items() if name not in later}
    return {name: content for name, content in files.items() if name not in later}, facts | {"files": sealed}


def without_estimates(bundle: tuple[dict[str, bytes], dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Leave out estimates and intervals, and keep counts: rows of labels and counts of each table."""
    files, facts = bundle
    counts: dict[str, Any] = dict(files)
    for name in [name for name in files if name.startswith("tables/")]:
        header, *rows = csv.reader(io.StringIO(files[name].decode()))
        counts[name] = [row[: header.index("count") + 1] for row in rows]
    tables = [{key: each for key, each in entry.items() if key != "half_width_95"} for entry in facts["tables"]]
    sealed = {name: each for name, each in facts["files"].items() if not name.startswith("tables/")}
    return counts, facts | {"tables": tables, "files": sealed}


def run(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == status, done.output
    return done.stdout if status == 0 else done.stderr


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_read_and_saved_as_the_same(name: str, tmp_path: Path) -> None:
    expected, plan = PLANS[name], plan_of(name)
    assert (plan.key, plan.epsilon, plan.dataset) == (
        expected["key"],
        Fraction(expected["epsilon"]),
        expected["dataset"],
    )
    plan.save(tmp_path / "again.yaml")
    (tmp_path / "then.yaml").write_text(expected["saved"], encoding="utf-8")
    again, then = (dpe.Plan.load(tmp_path / f"{when}.yaml") for when in ("again", "then"))
    assert again == then
    assert then.key == expected["key"]
    assert yaml.safe_load((tmp_path / "again.yaml").read_text(encoding="utf-8")) == yaml.safe_load(expected["saved"])


@pytest.mark.parametrize("name", PLANS)
def test_a_bundle_verifies(name: str) -> None:
    path = HERE / "bundles" / f"{name}.zip"
    manifest = dpe.verify(path)
    expected = PLANS[name]
    assert (manifest["release_id"], manifest["created"]) == (expected["release_id"], expected["created"])
    assert Fraction(manifest["guarantee"]["epsilon"]) == Fraction(expected["epsilon"])
    assert manifest["software"]["private-release"] == "0.1.0"


def test_bundles_verify_from_the_command_line() -> None:
    path = HERE / "bundles" / "people.zip"
    answer = json.loads(run("verify", path, "--json"))
    assert (answer["release_id"], answer["faults"]) == (PLANS["people"]["release_id"], [])


@pytest.mark.by_day(4)
@pytest.mark.parametrize("name", PLANS)
def test_publishing_again_gives_the_stored_release(
    name: str, ledger: dpe.Ledger, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    expected = PLANS[name]
    with nothing_changes(ledger):
        release = dpe.release(dpe.open_table(source_of(name, request)), plan_of(name), ledger=ledger)
    assert (release.release_id, release.created) == (expected["release_id"], expected["created"])
    assert hashlib.sha256(ledger.payload(expected["release_id"]) or b"").hexdigest() == expected["payload_sha256"]
    release.save(tmp_path / "again.zip")
    dpe.verify(tmp_path / "again.zip")
    old, new = members(HERE / "bundles" / f"{name}.zip"), without_later_files(members(tmp_path / "again.zip"))
    derived = name in DERIVED
    assert without_estimates(new) == without_estimates(old) if derived else new == old

    tables = {tuple(entry["columns"]): entry["file"] for entry in old[1]["tables"]}
    assert tables.keys() == release.tables.keys()
    for columns, file in tables.items():
        frame = release.tables[columns]
        listed = list(csv.DictReader(io.StringIO(old[0][file].decode())))
        assert [int(row["count"]) for row in listed] == frame["count"].tolist()
        estimates = [float(row["estimate"]) for row in listed]
        assert derived or estimates == pytest.approx(frame["estimate"].tolist(), abs=1e-4)
        assert frame["count"].sum() == expected["total"]
    assert len(release.synthetic()) == expected["total"]


@pytest.mark.by_day(1)
def test_the_same_rows_are_recognised_in_other_formats(ledger: dpe.Ledger, tmp_path: Path) -> None:
    texts = pd.read_csv(HERE / "visits.csv", dtype=str)
    typed = pq.read_table(HERE / "clinic.parquet")
    texts.sample(frac=1, random_state=1).to_csv(tmp_path / "visits.tsv", sep="\t", index=False)
    typed.to_pandas().to_feather(tmp_path / "clinic.feather")
    shuffled = typed.select(typed.column_names[::-1])
    formats = [("direct", texts), ("people", tmp_path / "visits.tsv"), ("adaptive", pa.Table.from_pandas(texts)),
             ("ranges", shuffled), ("standard", tmp_path / "clinic.feather"), ("remote", typed)]  # fmt: skip
    with nothing_changes(ledger):
        for name, table in formats:
            assert dpe.release(table, plan_of(name), ledger=ledger).release_id == PLANS[name]["release_id"], name


@pytest.mark.by_day(4)
@pytest.mark.parametrize("name", EXPECTED["questions"])
def test_a_question_is_answered_as_before(name: str, ledger: dpe.Ledger) -> None:
    expected = EXPECTED["questions"][name]
    question = dpe.Question(**expected["question"])
    assert (question.key, question.description) == (expected["key"], expected["words"])
    with nothing_changes(ledger):
        answer = dpe.ask(HERE / expected["table"], question, ledger)
    assert (answer.answer_id, answer.created, answer.software) == (
        expected["answer_id"],
        expected["created"],
        expected["software"],
    )
    assert (str(answer.value), list(answer.drawn), answer.reach) == (
        expected["value"],
        expected["drawn"],
        expected["reach"],
    )
    assert [None if end is None else str(end) for end in (answer.low, answer.high)] == [
        expected["low"],
        expected["high"],
    ]
    assert answer.question.key == expected["key"]


def test_a_choice_is_made_once(ledger: dpe.Ledger) -> None:
    expected = EXPECTED["choice"]
    with nothing_changes(ledger):
        drawn = drawn_once(expected["given"], expected["dataset"], ledger, "the same, in other words")
    assert (drawn.name, drawn.release_id, drawn.created) == (
        expected["name"],
        expected["release_id"],
        expected["created"],
    )
    assert drawn.question == expected["question"]


@pytest.mark.by_day(1)
def test_a_cap_still_refuses(ledger: dpe.Ledger, tmp_path: Path) -> None:
    with nothing_changes(ledger), pytest.raises(dpe.BudgetError) as caught:
        dpe.release(HERE / "visits.csv", plan_of("refused"), ledger=ledger)
    assert "spent 341/60 of 6.5, left 49/60" in str(caught.value)
    assert "spent 341/60 of 6.5, left 49/60" in EXPECTED["refused"]
    # Another name does not help: the rows decide whose budget is spent.
    for name in ("visits-2026", "VISITS-2026 ", "a name never used"):
        text = (HERE / "plans" / "refused.yaml").read_text(encoding="utf-8")
        (tmp_path / "other.yaml").write_text(text.replace("visits-2026", f"'{name}'"), encoding="utf-8")
        with nothing_changes(ledger), pytest.raises(dpe.BudgetError):
            dpe.release(HERE / "visits.csv", dpe.Plan.load(tmp_path / "other.yaml"), ledger=ledger)


def test_spent_and_remaining_budgets_are_read_as_before(ledger: dpe.Ledger) -> None:
    with nothing_changes(ledger):
        assert ledger.spent("visits-2026") == ledger.spent("Visits-2026") == Fraction(341, 60)
        assert ledger.cap("visits-2026") == Fraction(13, 2)
        assert ledger.left("visits-2026") == Fraction(49, 60)
        assert ledger.spent("clinic copy") == ledger.spent("clinic-2026") == Fraction(73, 20)
        assert ledger.left("clinic-2026") == Fraction(17, 20)
        assert (ledger.spent("register-2026"), ledger.left("register-2026")) == (Fraction(3, 5), None)
        assert (ledger.spent("nothing-yet"), ledger.left("nothing-yet")) == (0, Fraction(1, 7))
        assert len(ledger.history()) == 17


def test_an_old_ledger_takes_new_charges(old_url: str, ledger: dpe.Ledger) -> None:
    """New charges follow the old ones, and both are there when the ledger is opened again."""
    plan = plan_of("direct").at("1/4")
    with nothing_changes(dpe.Ledger(old_url)):
        pass
    made = dpe.release(HERE / "visits.csv", plan, ledger=ledger)
    again = dpe.Ledger(old_url)
    assert again.spent("visits-2026") == Fraction(341, 60) + Fraction(1, 4)
    assert again.left("visits-2026") == Fraction(49, 60) - Fraction(1, 4)
    assert [entry.release_id for entry in again.history()] == [
        *(entry["release_id"] for entry in EXPECTED["history"]), made.release_id,
    ]  # fmt: skip
    assert dpe.release(HERE / "visits.csv", plan, ledger=again).release_id == made.release_id
    again.set_cap("visits-2026", "7")
    assert again.left("VISITS-2026") == Fraction(7) - Fraction(341, 60) - Fraction(1, 4)


@pytest.mark.by_day(1)
def test_the_command_line_uses_an_old_ledger(old_url: str, tmp_path: Path) -> None:
    accounts = {account["dataset"]: account for account in json.loads(run("ledger", "--ledger", old_url, "--json"))}
    assert {
        name: [
            str(Fraction(account["spent"])),
            *(account[key] and str(Fraction(account[key])) for key in ("cap", "left")),
        ]
        for name, account in accounts.items()
    } == EXPECTED["accounts"]
    ids = {name: [entry["release_id"] for entry in account["releases"]] for name, account in accounts.items()}
    assert set().union(*ids.values()) == {entry["release_id"] for entry in EXPECTED["history"]}
    assert ids["clinic copy"] == ids["clinic-2026"]
    listed = run("ledger", "--ledger", old_url)
    assert all(entry["release_id"] in listed and entry["summary"] in listed for entry in EXPECTED["history"])

    again = ("-o", tmp_path / "again.zip", "--ledger", old_url)
    done = run("release", HERE / "plans" / "codebook.yaml", HERE / "visits.csv", *again, "--json")
    answer = json.loads(done)
    assert (answer["release_id"], answer["spent"]) == (PLANS["codebook"]["release_id"], "341/60")
    assert without_later_files(members(tmp_path / "again.zip")) == members(HERE / "bundles" / "codebook.zip")
    run("release", HERE / "plans" / "refused.yaml", HERE / "visits.csv", "-o", tmp_path / "no.zip", "--ledger", old_url,
        status=1)  # fmt: skip
    assert not (tmp_path / "no.zip").exists()
