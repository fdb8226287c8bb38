"""The owner's nouns for rows and people: used wherever a count is named, at no change of cells, price or identity."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from dpengine import Plan, PlanError, preview
from dpengine.bundle import report
from dpengine.bundle.manifest import describe
from dpengine.bundle.quotation import quotation, quotation_of_several
from dpengine.charts import figures
from dpengine.spec.counted_wording import counted_noun, counting_in_words, noun, rows_counted, unit_in_words
from dpengine.spec.wording import heading_of
from dpengine.translation.catalogue import speaking

ONE_ROW, SEVERAL = {"rows": 1}, {"id": "who", "rows": 3}
NOUNS = {"rows": "visits", "people": "patients"}


def plan(unit: dict[str, Any], nouns: dict[str, str] | None = None, tables: list[Any] | None = None) -> Plan:
    columns: Any = [{"name": "ward", "kind": "category", "values": ["A", "B"]}, {"name": "er", "kind": "yesno"}]
    chosen = {} if nouns is None else {"nouns": nouns}
    return Plan(
        dataset="d", epsilon=100, unit=unit, columns=columns, tables=tables or [["ward"]], rows_about=900, **chosen
    )


def test_a_plan_without_nouns_is_written_as_before_and_nouns_change_no_identity() -> None:
    bare, named = plan(SEVERAL), plan(SEVERAL, NOUNS)
    assert "nouns" not in bare.dumps()
    assert Plan.loads(named.dumps()) == named
    assert named.key == bare.key


@pytest.mark.parametrize(
    ("unit", "nouns", "expected"),
    [
        (ONE_ROW, {}, "people"),
        (ONE_ROW, {"rows": "incidents"}, "incidents"),
        (ONE_ROW, {"people": "incidents"}, "incidents"),  # a row is a person
        (SEVERAL, {}, "kept rows"),
        (SEVERAL, NOUNS, "kept visits"),
        (SEVERAL | {"rows": 1}, {}, "people"),
        (SEVERAL | {"rows": 1}, NOUNS, "patients"),
    ],
)
def test_counts_are_named_by_what_they_count(unit: dict[str, Any], nouns: dict[str, str], expected: str) -> None:
    assert counted_noun(plan(unit, nouns)) == expected


def test_tables_of_persons_and_of_rows_have_their_own_nouns() -> None:
    both = plan(SEVERAL, NOUNS, [["ward"], {"columns": ["er"], "distinct": True}])
    assert (noun(both, ("ward",)), noun(both, ("er",))) == ("visits", "patients")
    assert counting_in_words(both, ("er",)) == "patients, each in one cell"
    assert counting_in_words(both, ("ward",)) == "kept visits", (
        "beside a table of patients, readers took visits for patients"
    )
    assert counting_in_words(plan(SEVERAL, NOUNS, [["ward"]]), ("ward",)) == ""


def test_whom_the_guarantee_protects_is_named_too() -> None:
    assert unit_in_words(plan(ONE_ROW)) == "one row, which stands for one person"
    assert unit_in_words(plan(ONE_ROW, NOUNS)) == "one row of a table of visits"
    assert unit_in_words(plan(SEVERAL, NOUNS)).startswith(
        "one of the patients, named by the column who, with at most 3"
    )


@pytest.mark.parametrize("language", ["en", "de"])
def test_quotations_charts_and_the_report_use_the_noun(language: str) -> None:
    made = preview(plan(ONE_ROW, {"rows": "Besuche"}))
    with speaking(language):
        everybody = quotation_of_several(made.plan, (51.2, 50.9, 51.5), {"ward": "A"}, of={})
        said = [
            quotation(made, ("ward",), (0,)),
            quotation_of_several(made.plan, (12.0, 10.0, 14.0), {"ward": ["A", "B"]}),
            everybody,
            str(figures.release_figure(made, ("ward",)).layout.title.text),
        ]
        page = b"".join(report.render(made, describe(made))).decode()
    assert all(each.startswith("Besuche") for each in said)
    assert {"en": "all Besuche", "de": "(Besuche insgesamt = 100 %)"}[language] in everybody
    assert "Besuche in all" in page


@pytest.mark.parametrize(
    "noun_typed", ["<b>", "*visits*", "visits_", "[x]", "$x$", "1st visits", ":x:", "www.x.example", "a\nb", "x" * 41]
)
def test_a_noun_that_could_mark_up_a_text_is_refused(noun_typed: str) -> None:
    with pytest.raises(PlanError, match=r"nouns → rows|nouns.rows"):
        plan(ONE_ROW, {"rows": noun_typed})


@pytest.mark.parametrize("noun_typed", ["Rendez-vous", "Pkw (Fahrten)", "enfants d’ici", "दौरे", " visits "])
def test_nouns_of_any_language_are_taken(noun_typed: str) -> None:
    assert noun(plan(ONE_ROW, {"rows": noun_typed})) == noun_typed.strip()


def test_the_bound_on_rows_is_said_in_the_owners_words() -> None:
    said = rows_counted(plan(SEVERAL, NOUNS))
    assert said.startswith("Of the patients (column who), at most 3 visits each were kept, chosen at random.")
    assert "are of kept visits" in said
    assert rows_counted(plan(SEVERAL)).startswith("Of each person (column who), at most 3 rows were kept")


def test_tables_of_what_is_counted_are_named_as_on_the_page_or_as_in_the_files() -> None:
    """A page names a level by its heading everywhere else; a manifest keeps the names of the files."""
    code = {"name": "icd", "kind": "category", "levels": ["chapter", "code"], "values": {"I": ["I10"], "J": ["J18"]}}
    columns, tables = (
        [code, {"name": "ill", "kind": "yesno"}],
        [["icd@chapter"], {"columns": ["ill"], "distinct": True}],
    )
    leveled = Plan(dataset="d", epsilon=1, unit={"id": "who", "rows": 2}, columns=columns, tables=tables)
    assert rows_counted(leveled).startswith("Tables of rows: icd@chapter. ")
    assert rows_counted(leveled, partial(heading_of, leveled)).startswith("Tables of rows: chapter. ")
