"""A release bundle holds all that the contract names, is the same bytes each time, and reads back to the release."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings

from dpengine import export, safe_csv
from dpengine.bundle import guide, report, write
from dpengine.bundle.promises import promises, table_files
from dpengine.bundle.read import manifest_of
from dpengine.bundle.verify import verify
from dpengine.errors import ReleaseError
from dpengine.replicates.files import draw_replicates
from dpengine.results.preview import preview
from dpengine.results.result import Result
from dpengine.results.views import synthetic
from dpengine.spec.plan import Plan
from dpengine.spec.wording import people
from dpengine.synthesis import cell_values
from dpengine.synthesis.generate_rows import SyntheticRows
from tests.bundles import AGE, TOTAL, VISIT, manifest_in, members_of, rows_of, with_portals, zipped
from tests.plans import CLINIC, letters_plan, plans


def test_a_bundle_holds_what_the_contract_names(bundle: bytes) -> None:
    expected = {"README.txt", "manifest.json", "plan.yaml", "synthetic.csv", "report.html", "registry.yaml"}
    expected |= {"datapackage.json", "croissant.json", "dcat.jsonld"}
    tables = {AGE, VISIT, TOTAL}
    assert set(members_of(bundle)) == expected | tables | {table.replace(".csv", ".parquet") for table in tables}


def test_equal_results_give_equal_bytes(result: Result, bundle: bytes) -> None:
    again = Result.from_bytes(result.to_bytes())
    assert write.pack(again) == bundle
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        assert {entry.date_time for entry in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_tables_read_back_to_the_published_numbers(result: Result, bundle: bytes) -> None:
    members = members_of(bundle)
    for table, name in table_files(result.plan).items():
        header, *rows = rows_of(members[name])
        frame = result.tables[table]
        assert header == list(frame.columns)
        for published, row in zip(frame.itertuples(index=False), rows, strict=True):
            *labels, count, estimate, low, high = row
            *names, whole, fractional, least, most = published
            assert [*labels, int(count), int(low), int(high)] == [*names, whole, least, most]
            assert float(estimate) == pytest.approx(fractional, abs=5.1e-7)
            assert len(estimate.partition(".")[2]) <= 6


def test_the_synthetic_rows_are_those_of_the_result(result: Result, bundle: bytes) -> None:
    header, *rows = rows_of(members_of(bundle)["synthetic.csv"])
    frame = result.synthetic()
    assert header == list(frame.columns)
    written = [["" if cell != cell or cell is None else str(cell) for cell in row] for row in frame.to_numpy().tolist()]
    assert rows == written


HOSTILE = Plan(
    dataset="d",
    epsilon=10,
    columns=[
        {"name": "=x", "kind": "category", "values": ["=1+1", "Paris, TX", 'say "so"', "a\nb"]},
        {"name": "n", "kind": "number", "edges": ["-1.5", "0", "0.5"]},
        {"name": "d", "kind": "date", "from": "2024-01-01", "to": "2024-02-01", "by": "month", "format": "%b %d, %Y"},
        {"name": "y", "kind": "yesno", "missing": False},
        {"name": "pay", "kind": "amount", "from": 0, "to": 9},
    ],
    tables=[{"columns": ["=x", "y"], "mean": ["pay"]}, ["n", "d"]],
    rows_about=500,
)
ALONE = Plan(dataset="d", epsilon=10, columns=HOSTILE.columns[:1], tables=[["=x"]], rows_about=500)
ALONE_NUMBER = Plan(dataset="d", epsilon=10, columns=HOSTILE.columns[1:2], tables=[["n"]], rows_about=500)


@pytest.mark.parametrize("plan", [HOSTILE, ALONE, ALONE_NUMBER], ids=["several", "a text", "a number"])
def test_the_lines_are_those_of_the_values_one_by_one(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "MAX_BLOCK_VALUES", 200)
    result = preview(plan)
    blocks = list(result.line_blocks())
    assert len(blocks) > 1
    expected = [
        safe_csv.write_rows([safe_csv.text_column(cell_values.texts(plan.column(name), *each))
                             for name, each in block.items()])
        for block in result.value_blocks()
    ]  # fmt: skip
    assert [bytes(block) for block in blocks] == [bytes(block) for block in expected]
    assert b"".join(blocks).count(b"\r\n") == result.counts(())


def test_rows_of_several_people_are_written_once_for_each() -> None:
    plan = letters_plan([20] * 6, {"each": 2}, rows_about=200_000, strategy="adaptive")
    result = preview(plan)
    assert isinstance(result.model, SyntheticRows)
    assert result.model.weights.max() > 1
    packed = write.pack(result)
    verify(packed)
    assert members_of(packed)["synthetic.csv"].count(b"\r\n") == 1 + result.counts(())


def test_a_bundle_is_saved_completely_or_not_at_all(
    bundle: bytes, result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "release.zip"
    write.save(result, path)
    assert path.read_bytes() == bundle
    path.write_bytes(b"an earlier one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_synthetic", full)  # after the tables
    with pytest.raises(OSError, match="No space"):
        write.save(result, path)
    assert path.read_bytes() == b"an earlier one"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_beside_a_bundle_goes_with_the_next_export(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "release [1].zip"
    abandoned, others, under_way = (
        tmp_path / name
        for name in (".release [1].zip.0a1b2c3d.part", ".release 1.zip.0a1b2c3d.part", ".release [1].zip.4e5f6a7b.part")
    )
    for each in (abandoned, others, under_way):
        each.write_bytes(b"PK")
    for each in (abandoned, others):
        os.utime(each, (0, 0))
    write.save(result, path)
    assert {*tmp_path.iterdir()} == {path, others, under_way}


def test_a_link_is_followed_and_a_pipe_is_written_to(bundle: bytes, result: Result, tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "kept.zip", tmp_path / "link.zip", tmp_path / "pipe"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write.save(result, link)
    assert link.is_symlink()
    assert target.read_bytes() == bundle
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as other:
        read = other.submit(pipe.read_bytes)
        write.save(result, pipe)
        verify(read.result(timeout=60))
    assert pipe.is_fifo()


def test_tables_are_written_one_at_a_time(result: Result) -> None:
    """When a table is computed, the tables before it have been written to the file."""
    seen: list[int] = []

    sink = io.BytesIO()

    class Watched(Result):
        def numbers(self, table):  # type: ignore[no-untyped-def]
            seen.append(sink.tell())
            return super().numbers(table)

    write.write(Watched(**{each.name: getattr(result, each.name) for each in fields(result)}), sink)
    assert len(set(seen)) > len(result.plan.marginals)


def test_a_release_of_nobody_verifies() -> None:
    result = preview(letters_plan([3, 2], [["a", "b"]], epsilon=1000, rows_about=1))
    verify(write.pack(result))


@settings(max_examples=15)
@given(plans())
def test_every_bundle_verifies(plan: Plan) -> None:
    manifest = verify(write.pack(preview(plan)))
    assert Fraction(manifest["guarantee"]["epsilon"]) == plan.epsilon
    assert sum(Fraction(entry["epsilon"]) for entry in manifest["measurements"]) == plan.epsilon
    for entry in manifest["measurements"]:
        assert Fraction(entry["scale"]) == entry["sensitivity"] / Fraction(entry["epsilon"])


def test_a_bundle_is_verified_from_bytes_a_path_or_an_open_file(bundle: bytes, tmp_path: Path) -> None:
    path = tmp_path / "release.zip"
    path.write_bytes(bundle)
    manifest = manifest_of(bundle)
    assert verify(bundle) == verify(path) == verify(str(path)) == verify(io.BytesIO(bundle)) == manifest


def test_the_manifest_states_guarantee_domain_and_files(result: Result, bundle: bytes) -> None:
    manifest = manifest_of(bundle)
    assert manifest["guarantee"]["definition"] == "pure ε-differential privacy"
    assert manifest["guarantee"]["unit"]["rows"] == 1
    assert manifest["guarantee"]["delta"] == "0"
    assert manifest["domain"]["age"] == {
        "kind": "number",
        "source": "typed",
        "cells": 7,
        "labels": list(result.plan.column("age").labels),
        "other": True,
        "missing": True,
    }
    assert manifest["post_processing"]
    assert manifest["not_protected"]
    assert set(manifest["files"]) == set(members_of(bundle)) - {"manifest.json"}


@pytest.mark.nightly
def test_a_bundle_is_written_without_loading_what_takes_long() -> None:
    script = (
        "import sys; from dpengine import Plan, preview; from dpengine.bundle.write import pack; "
        "from tests.plans import CLINIC, letters_plan; pack(preview(letters_plan([3, 4], [['a', 'b'], ['a']]))); "
        "print('plotly' in sys.modules, 'scipy' in sys.modules); "
        "pack(preview(Plan.loads(CLINIC))); print('pandas' in sys.modules)"
    )
    here = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]


def test_the_manifest_says_which_rows_are_left_out() -> None:
    open_plan = Plan.loads(CLINIC)
    assert promises(open_plan)["coverage"] == "All rows are counted."
    closed = [
        {"name": "a", "kind": "yesno", "other": False, "missing": False},
        {"name": "b", "kind": "yesno", "other": False},
        {"name": "c", "kind": "yesno", "missing": False},
    ]
    plan = Plan(dataset="d", epsilon=1, columns=closed, tables={"each": 1}, unit={"id": "who", "rows": 3})
    result = preview(plan)
    manifest = manifest_of(write.pack(result))
    assert manifest["coverage"] == (
        "Left out of every table and of the total: rows whose a is missing or not a declared cell; "
        "rows whose b is not a declared cell; rows without who; rows of a person beyond 3."
    )
    page, read_me = b"".join(report.render(result, manifest)).decode(), report.read_me(result, manifest)
    for text in (page, " ".join(read_me.split())):
        assert manifest["coverage"] in text


def test_file_names_are_plain_and_distinct() -> None:
    names = ["Größe", "groesse", "../x", "東京", "con"]
    columns = [{"name": name, "kind": "yesno"} for name in names]
    plan = Plan(dataset="d", epsilon=1, columns=columns, tables=[[name] for name in names])
    assert list(table_files(plan).values()) == [
        "tables/01-grosse.csv",
        "tables/02-groesse.csv",
        "tables/03-x.csv",
        "tables/04.csv",
        "tables/05-con.csv",
        "tables/total.csv",
    ]


def test_files_of_an_earlier_version_are_found_under_their_earlier_names() -> None:
    """Version 6 dropped letters without a plain form; the names are the same otherwise."""
    plan = Plan(dataset="d", epsilon=1, columns=[{"name": "Größe", "kind": "yesno"}], tables=[["Größe"]])
    members = members_of(write.pack(preview(plan)))
    with manifest_in(members) as manifest:
        earlier = {"tables/01-grosse.csv": "tables/01-groe.csv", "tables/01-grosse.parquet": "tables/01-groe.parquet"}
        assert earlier.keys() <= members.keys()
        manifest["schema_version"] = 6
        for table in manifest["tables"]:
            table["file"] = earlier.get(table["file"], table["file"])
        manifest["files"] = {earlier.get(name, name): each for name, each in manifest["files"].items()}
    members = {earlier.get(name, name): each for name, each in members.items()}
    bundle = zipped(with_portals(members))
    assert verify(bundle)["schema_version"] == 6
    assert len(export.published(bundle).tables["Größe",]) == len(draw_replicates(bundle)["Größe",]) == 4
    manifest["schema_version"] = 7
    members["manifest.json"] = json.dumps(manifest).encode()
    with pytest.raises(ReleaseError, match=r"tables/01-groe\.csv does not belong in this bundle"):
        verify(zipped(members))


def test_a_release_says_where_its_cells_come_from() -> None:
    plan = Plan.loads(CLINIC.replace('values: [North, South, "Paris, TX", "False"]', "codebook: months"))
    sources = {name: each["source"] for name, each in promises(plan)["domain"].items()}
    assert (sources["region"], sources["age"]) == ("standard", "typed")


def test_a_sum_of_four_cells_is_off_by_twice_as_much_as_one(result: Result) -> None:
    half_width = result.half_width(result.plan.marginals[0])
    one, four = people(half_width), people(2 * half_width)
    (adding,) = (entry.text for entry in guide.reading_entries(result) if entry.name == "Adding cells")
    assert f"within ±{one}, and a sum of four cells within about ±{four}." in adding


def test_an_example_names_its_table_as_the_headings_of_a_report_do() -> None:
    columns = [{"name": "sex", "kind": "yesno", "label": "Sex at birth"}]
    made = preview(Plan.model_validate({"dataset": "d", "epsilon": 1, "columns": columns, "tables": [["sex"]]}))
    (adding,) = (entry.text for entry in guide.reading_entries(made) if entry.name == "Adding cells")
    assert "In Sex at birth, one cell is within" in adding
