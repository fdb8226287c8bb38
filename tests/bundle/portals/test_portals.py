"""Data portals open a bundle: their own validators find neither fault nor warning, and nothing in it is invented."""

from __future__ import annotations

import io
import json
import logging
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Plan, preview
from dpengine.bundle import write
from dpengine.bundle.isolated import examine_isolated
from dpengine.bundle.portals import parquet
from dpengine.bundle.portals.content import fields_of
from dpengine.bundle.portals.descriptions import json_text
from dpengine.bundle.promises import PORTALS
from dpengine.bundle.verify import verify
from dpengine.errors import ReleaseError
from tests.bundles import Members, members_of, zipped
from tests.calls_and_memory import calls
from tests.plans import CLINIC

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "data"
RICH = """
title: "Pay & place: a survey, 2025"
notes: Made-up people.
about: {publisher: Office of Examples, contact: data@example.org, source: A survey, period: 2024 to 2025,
        licence: CC BY 4.0}
dataset: pay
epsilon: "4"
unit: {id: person, rows: 2}
rows_about: 800
columns:
  - {name: sex, kind: category, values: [f, m, "=x"], label: Sex}
  - {name: place, kind: category, label: Place, levels: [state, county], values: {North: [Aa, Bb], South: [Cc, Dd]}}
  - {name: age, kind: number, whole: true, edges: [0, 18, 65, 120], label: Age}
  - {name: visit, kind: date, from: 2024-01-01, to: 2024-12-31, by: quarter, format: "%d.%m.%Y"}
  - {name: smokes, kind: yesno}
  - {name: pay, kind: amount, step: 100, knots: [0, 100, 200, 500, 1000]}
  - {name: hours, kind: amount, from: 0, to: 80, missing: false}
  - {name: rent, kind: amount, from: 0, to: 1000, step: 10}
tables:
  - {columns: [place@state, sex], mean: [pay], sum: [hours], quantiles: {pay: [0.25, 0.5]}}
  - {columns: [place, sex]}
  - {columns: [sex], mean: [hours, pay], standard_deviation: [rent],
     covariance: [[rent, hours]], correlation: [[rent, hours]],
     slope: [{of: rent, on: hours}]}
  - [age, visit]
  - [smokes]
"""
RANGES = """
title: Ages
dataset: ages
epsilon: "1"
rows_about: 300
about: {publisher: Office of Examples, contact: "https://example.org/help me", licence: Public domain, period: "2024"}
columns:
  - {name: age, kind: number, edges: {from: 0, to: 100, bins: 50}}
  - {name: region, kind: category, values: [North, South], missing: false}
tables: [{columns: [age], ranges: true}, [region]]
strategy: adaptive
"""  # of a row in which all is missing, as one in seven previews had, a validator says that it is blank
TABLE = "tables/01-place-state-x-sex"


@pytest.fixture(scope="module")
def bundle() -> bytes:
    return write.pack(preview(Plan.loads(RICH)))


def faults_of(bundle: bytes) -> tuple[str, ...]:
    with pytest.raises(ReleaseError) as refused:
        verify(bundle)
    return tuple(map(str, refused.value.faults))


def unpacked(bundle: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        opened.extractall(folder)
    return folder


def by_night(name: str, text: str) -> Any:
    return pytest.param(text, marks=pytest.mark.nightly, id=name)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(RICH, id="rich"),
        by_night("ranges", RANGES),
        by_night("census", (DATA / "census.plan.yaml").read_text(encoding="utf-8")),
        by_night("rand", (DATA / "rand.plan.yaml").read_text(encoding="utf-8")),
    ],
)
def test_portals_find_neither_fault_nor_warning(text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = unpacked(write.pack(preview(Plan.loads(text))), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the validators about their own libraries
        import frictionless
        import mlcroissant
        import pyshacl
        import rdflib

        report = frictionless.validate(str(folder / "datapackage.json"))
        assert (report.valid, report.warnings, report.flatten(["type", "message"])) == (True, [], [])
        assert report.stats["warnings"] == 0

        with caplog.at_level(logging.WARNING):
            dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
            assert dataset.metadata.ctx.issues.report() == ""
            for records in (dataset.metadata.record_sets[0], dataset.metadata.record_sets[-1]):
                assert len(next(iter(dataset.records(records.uuid)))) == len(records.fields)
        assert not [record for record in caplog.records if record.name == "absl"]

        place = "https://example.org/release/dcat.jsonld"
        graph = rdflib.Graph().parse(folder / "dcat.jsonld", format="json-ld", publicID=place)
        shapes = str(HERE / "dcat-ap.shapes.ttl")
        conforms, _results, message = pyshacl.validate(graph, shacl_graph=shapes)
        assert conforms, message
        files = {str(each).removeprefix("https://example.org/release/") for each in graph.objects(
            predicate=rdflib.URIRef("http://www.w3.org/ns/dcat#downloadURL"))}  # fmt: skip
        assert {folder / name for name in files} == {*folder.glob("tables/*"), folder / "synthetic.csv"}
        graph.remove((None, rdflib.URIRef("http://www.w3.org/ns/dcat#accessURL"), None))
        assert not pyshacl.validate(graph, shacl_graph=shapes)[0], "the shapes find what is left out"


def test_a_parquet_file_is_its_table_and_says_what_the_manifest_says(bundle: bytes) -> None:
    members = members_of(bundle)
    file = pq.ParquetFile(io.BytesIO(members[f"{TABLE}.parquet"]))
    table = file.read()
    labels = [tuple(row.values()) for row in table.select(["place@state", "sex"]).to_pylist()]
    assert labels[:4] == [("North", "f"), ("North", "m"), ("North", "=x"), ("North", "(other)")]
    lines = [line.split(",") for line in members[f"{TABLE}.csv"].decode().splitlines()]
    assert lines[3][1] == "'=x", "only spreadsheets need the guard"
    assert table.column_names == lines[0]
    for place, name in enumerate(lines[0][2:], start=2):
        assert table.column(name).to_pylist() == [float(line[place]) for line in lines[1:]], name
    assert str(table.schema.field("count").type) == "int64"
    facts, manifest = json.loads(table.schema.metadata[parquet.KEY]), json.loads(members["manifest.json"])
    assert {name: facts[name] for name in ("release_id", "guarantee", "intervals")} == {
        name: manifest[name] for name in ("release_id", "guarantee", "intervals")
    }
    assert facts["tables"] == [manifest["tables"][0]]
    assert set(facts["domain"]) == {"sex", "place@state"}
    assert "files" not in facts


def test_columns_are_described_as_they_are(bundle: bytes) -> None:
    package = json.loads(members_of(bundle)["datapackage.json"])
    table, *_others, rows = package["resources"]
    assert table["schema"]["primaryKey"] == ["place@state", "sex"]
    fields = {field["name"]: field for field in table["schema"]["fields"]}
    assert fields["sex"]["constraints"]["enum"] == ["f", "m", "'=x", "(other)", "(missing)"]
    assert (fields["count"]["type"], fields["count"]["unit"]) == ("integer", "kept rows")
    assert fields["low"]["interval"] == {"of": "count", "end": "low", "confidence": 0.95}
    assert fields["quantile_0.5_pay_high"]["interval"]["of"] == "quantile_0.5_pay"
    kinds = {field["name"]: (field["type"], field.get("missingValues")) for field in rows["schema"]["fields"]}
    assert kinds["age"] == ("integer", ["", "(other)"])
    assert (kinds["visit"][0], kinds["smokes"][0], kinds["pay"][0]) == ("date", "boolean", "number")
    assert package["licenses"] == [{"path": "https://creativecommons.org/licenses/by/4.0/", "title": "CC BY 4.0"}]


def test_descriptions_state_only_what_the_owner_stated() -> None:
    silent = "\n".join(line for line in RICH.splitlines() if "licence" not in line and "about: " not in line)
    members = members_of(write.pack(preview(Plan.loads(silent))))
    for name in PORTALS:
        text = members[name].decode()
        words = ("licen", "publisher", "creator", "contact", "contributors", "sources", "provenance", "temporal")
        head = text.partition('"resources"')[0].partition('"distribution"')[0]
        assert [word for word in words if word in head.casefold()] == [], name


def packed(table: pa.Table, metadata: bytes) -> bytes:
    """A Parquet file as another version might write it."""
    out = io.BytesIO()
    with pq.ParquetWriter(out, table.schema.remove_metadata(), compression="none", store_schema=False) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        writer.add_key_value_metadata({parquet.KEY: metadata})
    return out.getvalue()


def repacked(content: bytes) -> bytes:
    """The same table with the same metadata, in other bytes."""
    table = pq.ParquetFile(io.BytesIO(content)).read()
    assert packed(table, table.schema.metadata[parquet.KEY]) != content
    return packed(table, table.schema.metadata[parquet.KEY])


def renumbered(content: bytes) -> bytes:
    table = pq.ParquetFile(io.BytesIO(content)).read()
    counts = [count + 1 for count in table.column("count").to_pylist()]
    other = table.set_column(table.column_names.index("count"), table.schema.field("count"), [counts])
    return packed(other, table.schema.metadata[parquet.KEY])


def resaid(content: bytes) -> bytes:
    table = pq.ParquetFile(io.BytesIO(content)).read()
    metadata = table.schema.metadata[parquet.KEY].replace(b'"epsilon":"4"', b'"epsilon":"3"')
    assert metadata != table.schema.metadata[parquet.KEY]
    return packed(table, metadata)


@pytest.mark.parametrize("edit", [renumbered, resaid, lambda _: b"PAR1", lambda _: b""])
@pytest.mark.by_day(2)
def test_a_parquet_file_that_says_something_else_is_found(bundle: bytes, edit: Callable[[bytes], bytes]) -> None:
    members = members_of(bundle)
    members[f"{TABLE}.parquet"] = edit(members[f"{TABLE}.parquet"])
    assert f"{TABLE}.parquet is not the table of {TABLE}.csv" in faults_of(zipped(members))


def test_a_parquet_file_of_another_writer_is_read() -> None:
    """Other versions pack the same table into other bytes; the descriptions give the SHA-256 of what is there."""
    members = members_of(write.pack(preview(Plan.loads(RANGES))))
    for name in [name for name in members if name.endswith(".parquet")]:
        members[name] = repacked(members[name])
    whole = zipped(described_anew(members))
    assert verify(whole) == examine_isolated(whole).manifest


def described_anew(members: Members) -> Members:
    from dpengine.bundle.portals import descriptions

    manifest = json.loads(members["manifest.json"])
    with zipfile.ZipFile(io.BytesIO(zipped(members))) as opened:
        sealed = json.loads(opened.read("manifest.json"))["files"]
    earlier = {name: each for name, each in sealed.items() if name not in PORTALS}
    return members | descriptions.texts(Plan.loads(members["plan.yaml"].decode()), {**manifest, "files": earlier})


@pytest.mark.by_day(3)
@pytest.mark.parametrize("name", PORTALS)
@pytest.mark.parametrize("change", [("ε = 4", "ε = 3"), ("Office", "Bureau"), ("}\n", "} \n")])
def test_a_description_that_says_something_else_is_found(bundle: bytes, name: str, change: tuple[str, str]) -> None:
    old, new = (each.encode() for each in change)
    members = members_of(bundle)
    assert old in members[name]
    members[name] = members[name].replace(old, new)
    assert faults_of(zipped(members)) == (f"{name} does not follow from the manifest",)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_descriptions_are_written_as_the_standard_library_writes_them(value: Any) -> None:
    assert json_text(value, 1) == json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def test_the_facts_of_a_table_are_found_without_a_look_at_all_others() -> None:
    def work(tables: int) -> int:
        entries = [{"columns": [f"c{k}", "age"]} for k in range(tables)]
        facts = parquet.facts({"domain": {}, "measurements": entries, "tables": entries})
        return calls(lambda: facts(("c1", "age")))

    assert work(400) == work(40)


def test_only_estimates_that_may_be_negative_are_described_so() -> None:
    tables = CLINIC[: CLINIC.index("tables:")] + "tables: {each: 2}\n"
    for strategy, said in (("direct", True), ("adaptive", False)):
        fields = fields_of(Plan.loads(f"{tables}strategy: {strategy}\n"), ("age", "region"))
        (estimate,) = (each.text for each in fields if each.name == "estimate")
        assert ("non-negative" in estimate) == said
