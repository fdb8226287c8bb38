"""What readers see instead of names and codes: it changes no cell, and no two cells look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Plan, PlanError, preview
from dpengine.bundle import report
from dpengine.bundle.manifest import describe
from dpengine.charts import figures
from dpengine.spec.domain import Category, Column, Number, YesNo

SEX = {"name": "sex", "kind": "category", "values": ["1", "2"]}
AGE = {"name": "age", "kind": "number", "edges": [0, 18, 30, 65]}
WORDED = [
    SEX | {"label": "Sex", "description": "As in the register of births.", "words": {"1": "male", "2": "female"}},
    AGE | {"label": "Age in years", "whole": True},
]
ABOUT = {"publisher": "Office of Figures", "licence": "CC BY 4.0", "cite_as": "Figures (2026)"}


def plan(columns: list[dict[str, object]], **more: object) -> Plan:
    return Plan(dataset="d", epsilon="1", columns=columns, tables=[["sex", "age"]], **more)  # type: ignore[arg-type]


def test_what_readers_are_told_changes_neither_cells_nor_identity() -> None:
    worded, bare = plan(WORDED, about=ABOUT), plan([SEX, AGE])
    assert worded.key == bare.key
    assert [c.labels for c in worded.columns] == [c.labels for c in bare.columns]
    assert Plan.loads(worded.dumps()) == worded
    assert "words" not in bare.dumps()


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=8, unique=True))
def test_whole_numbers_are_shown_by_their_first_and_last(edges: list[int]) -> None:
    edges = sorted(edges)
    column = Number(name="n", edges=edges, whole=True, other=False, missing=False)
    assert len(set(column.shown)) == len(column.shown) == len(edges) - 1
    for k, text in enumerate(column.shown):
        last = edges[k + 1] - (k + 2 < len(edges))
        parts = text.split(" to " if edges[0] < 0 else "–")
        assert [int(parts[0]), int(parts[-1])] == [edges[k], last]


@pytest.mark.parametrize(
    ("column", "fragment"),
    [
        (SEX | {"words": {"3": "other"}}, "'3', which is not among the values"),
        (SEX | {"words": {"1": "2"}}, "could not be told from others"),
        (SEX | {"words": {"1": "a", "2": "a"}}, "could not be told from others"),
        (SEX | {"words": {"1": "(missing)"}}, "could not be told from others"),
        (SEX | {"words": {"1": " "}}, "could not be told"),
        (SEX | {"words": {"1": "two\nlines"}}, "line break"),
        (SEX | {"label": "a\tb"}, "control character"),
        (AGE | {"edges": [0, 0.5, 1], "whole": True}, "whole edges"),
        (AGE | {"words": {"1": "a"}}, "not known here"),
    ],
)
def test_words_that_would_mislead_are_refused(column: dict[str, object], fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        Plan(dataset="d", epsilon="1", columns=[column], tables=[[column["name"]]])  # type: ignore[list-item]


@pytest.mark.parametrize("column", [Category(name="a", values=["x"], words={"x": "y"}), YesNo(name="a")])
def test_columns_can_be_kept_in_sets(column: Column) -> None:
    assert column in {column}


def test_charts_report_and_readme_say_the_words_and_files_keep_the_values() -> None:
    result = preview(plan(WORDED, about=ABOUT))
    manifest = describe(result)
    table = ("sex", "age")
    drawn = figures.release_figure(result, table).to_json()
    page, read_me = b"".join(report.render(result, manifest)).decode(), report.read_me(result, manifest)
    for text in (drawn, page):
        assert "female" in text
        assert "[18, 30)" not in text
    assert "18–29" in page
    assert "Sex × Age in years" in page
    assert "As in the register of births." in page
    assert "Office of Figures" in page
    assert "CC BY 4.0" in read_me
    assert "For Sex and Age in years the report shows words" in " ".join(read_me.split())
    assert list(result.tables[table]["age"][:3]) == ["[0, 18)", "[18, 30)", "[30, 65]"]
    assert figures.alt_text(result, table, made_up=True).startswith("Made-up counts by Sex and Age in years")


def test_a_plan_without_texts_for_readers_has_no_empty_sections() -> None:
    result = preview(plan([SEX, AGE]))
    page = b"".join(report.render(result, describe(result))).decode()
    assert "What the columns say" not in page
    assert "About this release" not in page
