"""Codebooks of other tools: public entries are read, entries measured from rows are refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dpengine import Plan, PlanError
from dpengine.bundle.portals.content import content_of
from dpengine.cli import main
from dpengine.sources.codebook_file import csvw_bytes, open_codebook
from dpengine.spec.exchange import csvw_eo, table_schema
from dpengine.spec.exchange.draft import ReadCodebook
from tests.plans import CLINIC

# As the tools of CSVW-EO write it, version 0.2.1, of their example of penguins.
PENGUINS: dict[str, Any] = {
    "@context": ["http://www.w3.org/ns/csvw", "csvw-eo-context.jsonld"],
    "@type": "Table",
    "privacyUnit": "penguin_id",
    "maxContributions": 3,
    "maxLength": 344,
    "publicLength": 344,
    "tableSchema": {
        "columns": [
            {
                "@type": "Column", "name": "species", "datatype": "string", "required": True, "privacyId": False,
                "nullableProportion": 0.25, "rowDependencies": [{"dependsOn": "island", "dependencyType": "mapping"}],
                "partitions": [
                    {"@type": "Partition", "predicate": {"partitionValue": value}, "maxLength": rows,
                     "maxGroupsPerUnit": 3, "maxContributions": 1}
                    for value, rows in (("Adelie", 152), ("Gentoo", 124))
                ],
                "keyValues": ["Adelie", "Gentoo"], "invariantPublicKeys": True, "exhaustiveKeys": True,
                "maxNumPartitions": 2,
            },
            {"@type": "Column", "name": "bill_mm", "datatype": "double", "required": False, "privacyId": False,
             "minimum": 32.1, "maximum": 59.6},
            {"@type": "Column", "name": "penguin_id", "datatype": "positiveInteger", "privacyId": True},
        ]
    },
}  # fmt: skip
DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5">
  <stdyDscr><citation><titlStmt><titl>Household survey</titl></titlStmt></citation></stdyDscr>
  <fileDscr><fileTxt><dimensns><caseQnty>{rows}</caseQnty></dimensns></fileTxt></fileDscr>
  <dataDscr>
    <var ID="V1" name="sex"><labl>Sex</labl><qstn><qstnLit>Are you a man or a woman?</qstnLit></qstn>
      <catgry><catValu>1</catValu><labl>man</labl>{freq}</catgry>
      <catgry><catValu>2</catValu><labl>woman</labl></catgry>
      <catgry missing="Y"><catValu>9</catValu><labl>no answer</labl></catgry>
    </var>
    <var name="age"><labl>Age</labl><valrng><range min="0" max="120"/></valrng><varFormat type="numeric"/>
      <invalrng><item VALUE="-1"/></invalrng></var>
    <var name="note"><labl>Remarks</labl><varFormat type="character"/></var>
  </dataDscr>
</codeBook>"""


def opened(document: Any, name: str = "book.json") -> ReadCodebook:
    return open_codebook(json.dumps(document).encode(), name)


def entries(codebook: ReadCodebook) -> dict[str, dict[str, Any]]:
    return {column.name: column.model_dump(mode="json", exclude_defaults=True) for column in codebook.codebook.columns}


def test_entries_that_a_tool_measured_are_refused_and_the_rest_waits() -> None:
    codebook = opened(PENGUINS)
    assert entries(codebook) == {
        "species": {"name": "species", "values": ["Adelie", "Gentoo"], "other": False, "missing": False,
                    "source": "codebook"},
    }  # fmt: skip
    assert codebook.doubtful
    assert codebook.codebook.privacy_unit == "penguin_id, with at most 3 rows"
    what = [sentence.partition(", which only the rows")[0] for sentence in codebook.refused]
    assert what == [
        "table: the number of rows",
        "species: the share of missing values",
        "species: how the columns depend on each other",
        "species: which of its values occur",
        "species: the number of rows with a value",
        "species: how many rows of a person have a value",
        "bill_mm: the smallest and the largest value",
    ]
    assert not [number for number in ("344", "0.25", "152", "32.1", "59.6") if number in str(codebook)]


def test_public_bounds_are_read_where_nothing_was_measured() -> None:
    column = {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 120}, "null": ["", "NA"]}
    codebook = opened({"tables": [{"tableSchema": {"columns": [column]}}]})
    assert (codebook.refused, codebook.doubtful) == ((), False)
    assert [str(edge) for edge in codebook.codebook.columns[0].model_dump()["edges"]] == ["0", "120"]
    assert codebook.codebook.columns[0].missing_as == ("NA",)


@pytest.mark.parametrize("by", ["day", "week", "month", "quarter", "year"])
def test_public_knowledge_comes_back_from_csvw_eo(by: str) -> None:
    fields = Plan.loads(CLINIC).to_dict() | {"unit": {"id": "who", "rows": 2}, "tables": {"each": 1}}
    fields["columns"][2] |= {"by": by, "from": "2024-01-01", "to": "2024-12-31"}
    fields["columns"].append({"name": "ill", "kind": "yesno", "other": False, "missing": False, "missing_as": ["?"],
                              "label": "Ill", "description": "ever"})  # fmt: skip
    plan = Plan(**fields)
    text = csvw_eo.write(plan.columns, plan.unit.model_dump(), "Clinic")
    measured = ("publicLength", "nullableProportion", "rowDependencies", "invariantPublicKeys")
    assert not [key for key in measured if key.encode() in text]
    codebook = open_codebook(text, "clinic.json")
    assert (codebook.refused, codebook.codebook.title) == ((), "Clinic")
    assert codebook.codebook.privacy_unit == "who, with at most 2 rows"
    for before, after in zip(plan.columns, codebook.codebook.columns, strict=True):
        assert (after.labels, after.missing_as, after.label) == (before.labels, before.missing_as, before.label)


def test_an_unfinished_column_is_left_out_of_csvw_eo() -> None:
    columns = [{"name": "a", "kind": "category", "values": []}, {"name": "b", "kind": "yesno", "written": ""}]
    written = json.loads(csvw_bytes(columns, {"b": {"label": "B", "words": {}}}))
    assert [(each["name"], each["titles"]) for each in written["tableSchema"]["columns"]] == [("b", "B")]


def test_a_table_schema_is_a_codebook() -> None:
    fields = [
        {"name": "region", "type": "string", "title": "Region", "description": "where they live",
         "categories": [{"value": "N", "label": "North"}, {"value": "S", "label": "South"}]},
        {"name": "grade", "type": "integer", "constraints": {"enum": [1, 2, 3], "required": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
        {"name": "income", "type": "number", "decimalChar": ",", "groupChar": ".",
         "constraints": {"minimum": 0, "maximum": 1000.5}},
        {"name": "ill", "type": "boolean"},
        {"name": "left", "type": "boolean", "trueValues": ["gone"], "falseValues": ["here"]},
        {"name": "seen", "type": "date", "format": "%d/%m/%Y",
         "constraints": {"minimum": "2010-01-01", "maximum": "2024-12-31"}},
        {"name": "remark", "type": "string", "title": "Remark"},
    ]  # fmt: skip
    schema = {"fields": fields, "missingValues": ["", {"value": "-9", "label": "not asked"}]}
    codebook = opened(
        {"title": "Survey", "licenses": [{"name": "CC-BY-4.0"}], "resources": [{"name": "a", "schema": schema}]}
    )
    columns = entries(codebook)
    assert columns["region"]["words"] == {"N": "North", "S": "South"}
    assert columns["region"]["missing_as"] == ["-9"]
    assert (columns["grade"]["values"], columns["grade"]["missing"]) == (["1", "2", "3"], False)
    assert (columns["age"]["edges"], columns["income"]["format"]) == (["0", "120"], "1.234,5")
    assert columns["left"]["values"] == ["gone", "here"]
    assert (columns["seen"]["by"], columns["seen"]["format"]) == ("year", "%d/%m/%Y")
    assert (codebook.codebook.about["remark"], codebook.codebook.about["region"]) == ("Remark", "where they live")
    assert (codebook.codebook.title, codebook.codebook.licence, codebook.doubtful) == ("Survey", "CC-BY-4.0", False)
    assert entries(opened(schema)) == columns
    counted = opened({"resources": [{"name": "a", "schema": schema, "stats": {"rows": 12}}]})
    assert counted.refused == ("a: the number of rows, which only the rows can tell",)


@pytest.mark.nightly
def test_a_long_list_of_values_takes_no_longer_than_it_is() -> None:
    categories = [{"value": f"v{k}", "label": f"word {k}"} for k in range(100_000)]  # compared in pairs: 15 minutes
    field = {"name": "code", "type": "string", "categories": categories}
    (column,) = table_schema.read({"fields": [field]}).codebook.columns
    assert column.declared_size == 100_000


def test_the_variables_of_a_survey_are_read_from_ddi() -> None:
    codebook = open_codebook(DDI.format(rows="", freq="").encode(), "study.XML")
    sex, age = codebook.codebook.columns
    assert (sex.heading, sex.shown[:2], sex.missing_as) == ("Sex", ("man", "woman"), ("9",))
    assert (age.labels[0], age.missing_as) == ("[0, 120]", ("-1",))
    assert codebook.codebook.about == {"sex": "Are you a man or a woman?", "age": "Age", "note": "Remarks"}
    assert (codebook.codebook.title, codebook.refused) == ("Household survey", ())


def test_frequencies_in_ddi_are_refused_in_words() -> None:
    codebook = open_codebook(DDI.format(rows=412, freq='<catStat type="freq">187</catStat>').encode(), "study.xml")
    assert [sentence.partition(", which only")[0] for sentence in codebook.refused] == [
        "table: the number of rows", "sex: how often its values occur", "age: the smallest and the largest value",
    ]  # fmt: skip
    assert [column.name for column in codebook.codebook.columns] == ["sex"]
    assert not [number for number in ("412", "187", "120") if number in str(codebook)]


LAUGHS = '<!DOCTYPE c [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><codeBook>&b;</codeBook>'
OUTSIDE = '<!DOCTYPE c [<!ENTITY a SYSTEM "file:///etc/passwd">]><codeBook><titl>&a;</titl></codeBook>'


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("b.xml", LAUGHS, "DOCTYPE"),
        ("b.xml", OUTSIDE, "DOCTYPE"),
        ("b.xml", "<codeBook>" + "<a>" * 200, "nested too deeply"),
        ("b.xml", "<codeBook>\n<var name='x'>", "line 2: this is not readable XML"),
        ("b.xml", "<ddi:DDIInstance xmlns:ddi='ddi:instance:3_3'/>", "no DDI Codebook"),
        ("b.xml", "<codeBook/>", "declares no column"),
        ("b.json", "{", "not readable JSON"),
        ("b.json", "[" * 100_000, "not readable JSON"),
        ("b.json", '{"a": 1}', "no codebook that is known here"),
        ("b.json", '{"tables": []}', "describes 0 tables"),
        ("b.json", '{"tableSchema": {"columns": [{"name": "a", "datatype": "string"}, 7, {"name": 3}]}}', "no column"),
        ("b.json", '{"resources": [{"name": "a", "schema": "other.json"}]}', "a file of its own"),
        ("b.json", '{"tableSchema": {"columns": [{"name": "a", "datatype": "double", "partitions": [{"predicate": '
                   '{"lowerBound": 0, "upperBound": 1}}, {"predicate": {"lowerBound": 2, "upperBound": 3}}]}]}}',
         "leave gaps"),
        ("b.txt", "", "known are .csv"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_codebook_is_refused(name: str, content: str, fault: str) -> None:
    with pytest.raises(PlanError, match=fault):
        open_codebook(content.encode(), name)


def test_the_data_package_of_a_release_is_a_codebook_of_its_columns() -> None:
    from dpengine import preview
    from dpengine.bundle.portals.data_package import data_package
    from dpengine.bundle.read import manifest_of
    from dpengine.bundle.write import pack

    plan = Plan.loads(CLINIC)
    package = data_package(content_of(plan, manifest_of(pack(preview(plan)))), plan.about)
    assert set(entries(opened(package))) >= {"age", "region"}


def plan_with(codebook: str, folder: Path) -> Plan:
    (folder / "plan.yaml").write_text(
        f"{{dataset: d, epsilon: 1, columns: [{{name: sex, kind: category, codebook: {codebook}}}], tables: [[sex]]}}",
        encoding="utf-8",
    )
    return Plan.load(folder / "plan.yaml")


def test_a_plan_may_name_such_a_file_for_a_column(tmp_path: Path) -> None:
    (tmp_path / "study.xml").write_text(DDI.format(rows="", freq=""), encoding="utf-8")
    column = plan_with("study.xml", tmp_path).columns[0]
    assert (column.declared, column.shown[:2], column.source) == (("1", "2"), ("man", "woman"), "codebook")
    (tmp_path / "study.xml").write_text(DDI.format(rows=412, freq=""), encoding="utf-8")
    with pytest.raises(PlanError, match=r"measured from rows.*the number of rows"):
        plan_with("study.xml", tmp_path)
    (tmp_path / "schema.json").write_text('{"fields": [{"name": "age", "title": "Age"}]}', encoding="utf-8")
    with pytest.raises(PlanError, match="lists no values of the column 'sex'"):
        plan_with("schema.json", tmp_path)


def test_the_command_line_reads_and_writes_them(tmp_path: Path) -> None:
    table, book, plan = tmp_path / "t.csv", tmp_path / "book.json", tmp_path / "plan.yaml"
    table.write_text("species,bill_mm\nAdelie,39.1\n", encoding="utf-8")
    book.write_text(json.dumps(PENGUINS), encoding="utf-8")
    run = CliRunner().invoke
    result = run(main, ["columns", str(table), "--codebook", str(book)])
    assert result.exit_code == 0
    assert "not read: table: the number of rows" in result.stderr
    assert '# the codebook, which was made with the rows, says: {"name": "species"' in result.stdout
    assert "values: []" in result.stdout
    plan.write_text(CLINIC, encoding="utf-8")
    assert run(main, ["codebook", str(plan), "-o", str(tmp_path / "clinic.json")]).exit_code == 0
    table.write_text("age,region\n3,North\n", encoding="utf-8")
    filled = run(main, ["columns", str(table), "--codebook", str(tmp_path / "clinic.json")])
    assert '- {"name": "age", "kind": "number", "source": "codebook", "edges": ["0", "18"' in filled.stdout
    assert run(main, ["codebook", str(tmp_path / "clinic.json"), "-o", str(tmp_path / "clinic.csv")]).exit_code == 0
    assert (tmp_path / "clinic.csv").read_bytes().count(b"\r\n") == 4
    assert run(main, ["codebook", str(plan), "-o", str(tmp_path / "clinic.pdf")]).exit_code == 2
