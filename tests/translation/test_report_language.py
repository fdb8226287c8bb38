"""A report and its README are in the plan's language to the last word; everything else of a release is as ever."""

from __future__ import annotations

import gettext
import html
import json
import re
import string
from collections.abc import Iterator
from html.parser import HTMLParser

import pandas as pd
import pytest

import dpengine as dpe
from dpengine import Plan, preview, shapes
from dpengine.bundle import report
from dpengine.bundle.manifest import describe
from dpengine.bundle.promises import table_files
from dpengine.charts import figures
from dpengine.results.result import Result
from dpengine.translation import catalogue
from dpengine.translation.catalogue import speaking
from tests.bundles import members_of
from tests.plans import letters_plan

SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
OUTLINES = {"type": "FeatureCollection", "features": [
    {"type": "Feature", "properties": {"name": name}, "geometry": SQUARE} for name in ("Nord", "Süd")
]}  # fmt: skip
LANDS = ("Nord", "Süd", "West")
COLUMNS = [
    {"name": "alter", "kind": "number", "edges": [-5, 18, 30, 120], "whole": True, "label": "Jahre",
     "description": "Lebensjahre"},
    {"name": "land", "kind": "category", "values": LANDS, "words": {"Nord": "Norden"}, "source": "codebook",
     "shapes": shapes.from_geojson(json.dumps(OUTLINES).encode(), LANDS)},
    {"name": "besuch", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "quarter", "other": False},
    {"name": "krank", "kind": "yesno", "other": False, "missing": False},
    {"name": "lohn", "kind": "amount", "knots": [0, 20, 40, 60, 80, 100]},
    {"name": "miete", "kind": "amount", "from": 0, "to": 10, "missing": False},
]  # fmt: skip
ABOUT = {"publisher": "Amt", "contact": "Haus", "source": "Amt", "period": "2024", "licence": "CC", "cite_as": "Amt"}
PLANS = {
    "columns of every kind": Plan(
        title="Klinik", notes="Bemerkung", dataset="klinik", epsilon="1.5", unit={"id": "wer", "rows": 3}, about=ABOUT,
        rows_about=2000, columns=COLUMNS,
        tables=[["alter", "land"], ["land"], ["krank"], ["besuch"], ["besuch", "krank"],
                ["land", "alter", "krank", "besuch"]],
    ),
    "amounts": Plan(
        dataset="klinik", epsilon=20, columns=COLUMNS, unit={"id": "wer"}, strategy="optimised",
        tables=[{"columns": ["krank"], "mean": ["lohn"], "sum": ["lohn", "miete"],
                 "quantiles": {"lohn": ["0.25", "0.5"]}}],
    ),
    "adaptive": letters_plan([3] * 4, {"each": 2}, strategy="adaptive"),
    "one sparse table": letters_plan([30, 20, 9], [["c", "a", "b"]], epsilon="0.1", rows_about=2000),
    "ranges": letters_plan([40], [{"columns": ["a"], "ranges": True}]),
    "many tables": letters_plan([2] * 6, {"each": 2}, strategy="direct"),
    "large tables": letters_plan([30, 150], [["a", "b"], ["b"]]),
}  # fmt: skip
LETTERS = re.compile(r"[^\W\d_]+")
# What stays as it is in every language.
SIGNS = {"ε", "δ", "SVG", "PNG"}
NUMBERS = {"count", "estimate", "low, high", "mean, sum", "quantile"}  # columns of the files, in the README
COMMANDS = ("python -m dpengine verify FILE --key FINGERPRINT", "python -m dpengine verify FILE")
# Words in the files, each beside what it is in the report.
EXPLAINED = tuple(f"{word} =" for word in ("(other)", "(missing)", "yes", "no", "count", "estimate", "low", "high"))
FILES = (
    "README.txt", "report.html", "synthetic.csv", "manifest.json", "plan.yaml", "registry.yaml", "tables/*.parquet",
    "datapackage.json", "croissant.json", "dcat.jsonld",
)  # fmt: skip


class Marking(gettext.NullTranslations):
    """A language that sets every text in « »; what stands in a place of it is none of the text's own."""

    def gettext(self, message: str) -> str:
        return marked(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return marked(msgid1 if n == 1 else msgid2)


def marked(text: str) -> str:
    """Set each part of a text between its places in « »."""
    parts = []
    for words, name, form, _conversion in string.Formatter().parse(text):
        parts.append(f"«{words}»" if words else "")
        parts.append("" if name is None else "{" + name + (f":{form}" if form else "") + "}")
    return "".join(parts)


class Seen(HTMLParser):
    """What a page shows or says to a reader: its texts, its labels, and the texts of its figures."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.skipped, self.holds_figure = 0, False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.texts += [named[key] or "" for key in ("aria-label", "title", "alt", "placeholder") if key in named]
        self.skipped += tag in ("script", "style")
        self.holds_figure = tag == "script" and (named.get("id") or "").endswith("-figure-data")

    def handle_endtag(self, tag: str) -> None:
        self.skipped -= tag in ("script", "style")
        self.holds_figure = False

    def handle_data(self, data: str) -> None:
        if self.holds_figure:
            self.texts += texts_of(json.loads(data))
        elif not self.skipped:
            self.texts.append(data)


def texts_of(part: object, key: str = "") -> Iterator[str]:
    """Yield what a figure writes: titles, names, labels on axes and in cells, what a pointer over it says."""
    if isinstance(part, dict):
        for name, inner in part.items():
            yield from texts_of(inner, name)
    elif isinstance(part, list):
        for inner in part:
            yield from texts_of(inner, key)
    elif isinstance(part, str) and key in {"text", "name", "x", "y", "hovertemplate", "customdata", "ticktext"}:
        yield html.unescape(re.sub(r"%\{[^{}]*\}", " ", part)).replace("<br>", " ").replace("<extra></extra>", " ")


def unmarked(texts: list[str], result: Result, *also: str) -> set[str]:
    """Return the words outside « » that are neither the data's own nor names of files, commands or `also` allowed."""
    plan = result.plan
    stated = {plan.dataset, plan.title, plan.notes, plan.unit.id or "", result.release_id, result.created}
    stated |= {
        *plan.about.model_dump().values(),
        *table_files(plan).values(),
        *FILES,
        *COMMANDS,
        *EXPLAINED,
        *SIGNS,
        *also,
    }
    stated |= {*result.software, *result.software.values()}
    stated |= {file.split("/")[-1] for file in table_files(plan).values()}
    for column in plan.columns:
        stated |= {column.name, column.label, column.description, *column.declared, *column.words_of_declared}
    stated -= {"yes", "no", ""}
    known = re.compile("|".join(rf"(?<!\w){re.escape(each)}(?!\w)" for each in sorted(stated, key=len, reverse=True)))
    outside = (re.sub("«[^«»]*»", " ", text) for text in texts)
    return {word for text in outside for word in LETTERS.findall(known.sub(" ", text))}


def written(plan: Plan) -> tuple[Result, str, str]:
    """Return a release of a made-up table, its report and its README."""
    result = preview(plan.model_copy(update={"language": "de"}))
    manifest = describe(result)
    return result, b"".join(report.render(result, manifest)).decode(), report.read_me(result, manifest)


@pytest.fixture
def marking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_messages", lambda code: Marking())


@pytest.mark.by_day(3)
@pytest.mark.usefixtures("marking")
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_word_of_a_report_and_its_readme_goes_through_the_catalogue(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MAX_TABLES", 13)
    result, page, readme = written(plan)
    assert "«Word" in page
    assert unmarked(Seen(page).texts, result) == set()
    assert unmarked([readme], result, *NUMBERS) == set()


@pytest.mark.usefixtures("marking")
def test_a_sentence_that_bypasses_the_catalogue_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = letters_plan([2, 2], [["a", "b"], ["a"]])
    monkeypatch.setattr(
        figures, "alt_text", lambda result, table, *of: f"«The largest is »{result.plan.dataset} by far"
    )
    monkeypatch.setattr(figures, "noun", lambda *of: "Folk")
    monkeypatch.setattr(report, "counted_noun", lambda plan: "heads")
    result, page, readme = written(plan)
    assert unmarked(Seen(page).texts, result) == {"by", "far", "Folk", "Heads"}
    assert unmarked([readme], result, *NUMBERS) == {"heads"}


def test_a_german_report_has_german_words_and_numbers() -> None:
    result, page, readme = written(PLANS["columns of every kind"])
    assert '<html lang="de">' in page
    texts = Seen(page).texts
    total = int(result.counts(()))
    assert total > 1000
    assert f"{total:,}".replace(",", ".") in texts
    assert f"{total:,}" not in texts
    for words in ("ε = 1,5", "Behaltene Zeilen insgesamt", "(sonstige)", "ja", "-5 bis 17", "überwiegend Rauschen"):
        assert words in texts
    assert any(text.startswith("Zeilen nach Jahre und land") for text in texts), "the title of a figure"
    assert "(other) = (sonstige)" in " ".join(texts), "the files have other words, which the report says"
    assert "(other) = (sonstige)" in " ".join(readme.split())
    drawn = re.findall(r'(?s)-figure-data">(.*?)</script>', page)
    assert drawn
    for figure in drawn:
        assert json.loads(figure)["layout"]["separators"] == ",."
    assert "separators" not in json.loads(figures.release_figure(result, ("land",)).to_json())["layout"]


def test_a_value_that_is_called_as_other_is_in_german_stays_apart_from_it() -> None:
    column = {"name": "a", "kind": "category", "values": ["(sonstige)", "b"], "missing": False}
    _result, page, _readme = written(Plan(dataset="d", epsilon=1, columns=[column], tables=[["a"]]))
    cells = re.findall(r"<td>([^<]+)</td>", page.split('class="numbers-of"')[1].split("<tbody>")[1])
    assert cells[:3] == ["(sonstige)", "b", "(other)"]


def test_in_two_languages_a_release_is_one_and_only_what_readers_read_differs() -> None:
    """One draw, paid for once; and whatever language a page speaks, the plan alone decides the bytes."""
    columns = [*COLUMNS[:1], *COLUMNS[3:5]]
    tables = [["alter"], {"columns": ["krank"], "mean": ["lohn"]}]
    english = Plan(dataset="klinik", epsilon=2, unit={"id": "wer", "rows": 2}, columns=columns, tables=tables)
    german = english.model_copy(update={"language": "de"})
    rows = pd.DataFrame({"wer": range(60), "alter": 20, "krank": "yes", "lohn": range(60)})
    ledger = dpe.Ledger.in_memory()
    first, second = (dpe.release(rows, plan, ledger) for plan in (english, german))
    assert len(ledger.history("klinik")) == 1
    with speaking("de"):
        assert dpe.release(rows, english, ledger).bundle == first.bundle
        assert dpe.verify(second.bundle)["strategy"].startswith("Direct:")
    dpe.verify(second.bundle, second.signed_by)
    there, here = members_of(first.bundle), members_of(second.bundle)
    assert list(there) == list(here)
    differing = {name for name in there if there[name] != here[name]}
    assert differing == {"README.txt", "report.html", "plan.yaml", "manifest.json"}
    plain, other = (json.loads(each["manifest.json"]) for each in (there, here))
    for manifest in (plain, other):
        for name in ("README.txt", "report.html", "plan.yaml"):
            del manifest["files"][name]
    assert plain == other
    added = set(here["plan.yaml"].decode().splitlines()) - set(there["plan.yaml"].decode().splitlines())
    assert added == {"language: de"}
    year, month, of_month = second.created[:10].split("-")
    assert f"{of_month}.{month}.{year}, {second.created[11:19]} UTC" in here["report.html"].decode()
    assert first.created in there["report.html"].decode()
    assert "Was zugesagt ist" in here["report.html"].decode()
    assert "What is promised" in there["report.html"].decode()
