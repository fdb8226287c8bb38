"""A project file: what is written is read back, whatever was typed; what is no project is refused with its place."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from dpengine import Category, Date, Number, Plan, PlanError, YesNo
from dpengine.spec.domain import Amount
from pages.parts.visit import saved_draft
from pages.parts.visit.plan import plan_form, table_measures
from pages.parts.visit.plan.column_entry import TO_CONFIRM, confirmed, suggestion
from pages.parts.visit.plan.entries import Draft, Entries
from pages.parts.visit.project import file
from pages.parts.visit.project.history import History
from tests.plans import PAY, geography_plan

DATA = Path(__file__).parents[3] / "data"
ODD = ["no", "1e3", "null", " padded ", 'a "quote"', "a: b", "# not a comment", "{x}", "é☃\u200b", "=1+1", "2024-01-01"]


def half() -> Entries:
    """A plan that is not finished, with texts that YAML could take for something else."""
    day = suggestion("day", "date")
    wrong = {"name": "age", "kind": "number", "edges": [], "written": "0 to ninety"}
    town = {"name": "town: a", "kind": "category", "values": ODD, "other": False, "source": "confirmed"}
    return Entries(
        title=ODD[5], dataset="no", chosen=("day", "age"), layout="own", own=(("day", "age"), ("day",)), margins=False,
        ranges=True, more=(table_measures.table_of(("day",), [("median", "age")]),), of_amounts=("sum",),
        rows_about=5000, strategy="direct",
        declared={"day": day, "age": wrong, "town: a": town}, several_rows=True, id_column="pid", rows=7, epsilon="1/3",
        notes="two\nlines", language="de", about={"period": "2025"}, nouns={"rows": "visits"}, coarser_levels="summed",
        texts={"town: a": {"label": "Town", "words": {"no": "Norway"}}, "age": {"whole": False}},
    )  # fmt: skip


def entries_of(name: str) -> Entries:
    if name == "half":
        return half()
    if name in ("census", "rand"):
        return plan_form.from_plan(Plan.load(DATA / f"{name}.plan.yaml"))
    return plan_form.from_plan(Plan.loads(PAY) if name == "amounts" else geography_plan(3))


@pytest.mark.parametrize("name", ["census", "rand", "half", "amounts", "levels"])
def test_what_is_written_is_read_back(name: str) -> None:
    entries = entries_of(name)
    draft = Draft(ODD[4], name if name in ("census", "rand") else "", ("table", "columns"), entries, "group:clinic")
    history = History().noted(Entries(), set()).noted(entries, set(), at="14:05")
    text = file.write(draft, history)
    again = file.read(text, "group:clinic")
    assert (again.table, again.sample, again.settled) == (draft.table, draft.sample, draft.settled)
    assert again.owner == "group:clinic"
    assert "group:clinic" not in text, "a file is nobody's, and whoever opens it goes on in their own account"
    if name == "half":
        assert again.entries == entries
        assert "14:05 ε 1 → 1/3" in text
    else:
        assert plan_form.to_plan(again.entries) == plan_form.to_plan(entries)
        from_the_tab = saved_draft.from_text(saved_draft.to_text(draft) or "", "group:clinic")
        assert from_the_tab is not None
        assert plan_form.to_plan(from_the_tab.entries) == plan_form.to_plan(entries)


def test_how_rows_became_people_is_written_too() -> None:
    draft = Draft("t.csv", "", (), half(), frequency="n", answers={"q = 1": ["a; b", "c"]})
    again = file.read(file.write(draft))
    assert (again.frequency, again.answers) == (draft.frequency, draft.answers)


def test_whatever_an_entry_or_a_column_may_say_has_its_place_in_the_file() -> None:
    blank, filled = Entries(), half()
    assert [field.name for field in fields(Entries) if getattr(filled, field.name) == getattr(blank, field.name)] == []
    known = {field.alias or name for name, field in file.ColumnInFile.model_fields.items()}
    otherwise = {"codebook", "parents"}  # values that are listed, and what each of them belongs to
    for column in (Amount, Category, Date, Number, YesNo):
        assert {field.alias or name for name, field in column.model_fields.items()} - known <= otherwise


def test_a_plan_file_is_a_project_that_is_complete() -> None:
    draft = file.read((DATA / "rand.plan.yaml").read_text())
    assert plan_form.to_plan(draft.entries) == Plan.load(DATA / "rand.plan.yaml")
    assert draft.settled == file.STEPS


def test_slopes_of_a_plan_file_are_kept() -> None:
    """Nothing of it is silently lost."""
    amounts = [{"name": name, "kind": "amount", "from": 0, "to": 9} for name in ("pay", "hours")]
    tables = [{"columns": ["sex"], "mean": ["pay"], "slope": [{"of": "pay", "on": "hours"}]}]
    plan = Plan(dataset="d", epsilon=1, columns=[{"name": "sex", "kind": "yesno"}, *amounts], tables=tables)
    assert plan_form.to_plan(file.read(plan.dumps()).entries) == plan


@pytest.mark.parametrize(
    ("changed", "to", "said"),
    [
        ("version: '1'", "version: '2'", "see project.version"),
        ("published_as: own", "published_as: spiral", "see project.published_as"),
        ("rows: 7", "rows: many", "see unit.rows"),
        ("rows: 7", "rows: 1000001", "rows per person"),
        ("language: de", "language: xx", "see language"),
        ("rows_about: 5000", "rows_about: 1000000000001", "the rough number of rows"),
        ("epsilon: 1/3", "epsilon: abc", "ε must be a number"),
        ("- name: age", "- name: day", "declares a column twice"),
        ("- [day, age]", "- [age, age]", "named twice in one table"),
        ("kind: date", "kind: secret", "see columns.0.kind"),
        ("kind: date", "kind: date\n    rows_seen: 12", "see columns.0.rows_seen"),
        ("title:", "counts: [1, 2]\ntitle:", "see counts"),
        ("- name: age", "- name: old", "declares no column 'age'"),
        ("project:", "project: &x", "cannot be read"),
    ],
)
def test_a_file_that_is_not_a_project_is_refused_with_the_place_of_the_fault(changed: str, to: str, said: str) -> None:
    text = file.write(Draft("a.csv", "", (), half()))
    assert changed in text
    if said == "cannot be read":
        text, to = text + "more: *x\n", changed
        said = "not readable YAML"
    with pytest.raises(PlanError, match=said):
        file.read(text.replace(changed, to, 1))


def test_a_list_that_the_data_file_suggests_leaves_only_once_confirmed() -> None:
    secret = suggestion("town", "category", codes=("Oslo", "Bergen"))
    town = {"town": {"label": "Town", "words": {"Oslo": "capital", "Rome": "far"}, "shapes": {"Rome": "M0 0"}}}
    waits = Draft("a.sav", "", (), Entries(chosen=("town",), declared={"town": secret}, texts=town))
    for text in (file.write(waits), saved_draft.to_text(waits) or ""):
        assert not any(word in text for word in ("Oslo", "Bergen", "capital", "Rome"))
    again = file.read(file.write(waits)).entries
    assert TO_CONFIRM in plan_form.column_faults(again, "town")
    assert again.texts == {"town": {"label": "Town"}}
    public = replace(waits, entries=waits.entries.with_(declared={"town": confirmed(secret)}))
    text = file.write(public)
    assert "Bergen" in text
    assert "capital" in text
    assert "Rome" not in text
