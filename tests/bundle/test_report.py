"""The report explains how to read it, shows every table as a figure and as numbers, and loads nothing."""

from __future__ import annotations

import html
import json
import re
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import plotly.io as pio
import pytest

from dpengine.bundle import guide, report, report_tables
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.bundle.guide_entries import MOSTLY_NOISE
from dpengine.bundle.manifest import describe
from dpengine.bundle.promises import table_files
from dpengine.charts import style
from dpengine.charts.grids import APART
from dpengine.results.preview import preview
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from tests import serving
from tests.plans import PAIRS, letters_plan

pytestmark = pytest.mark.usefixtures("plotly_in_reports")
HOSTILE = "</script><script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">{{ 7 * 7 }}"


@pytest.fixture(scope="module")
def page(result: Result) -> str:
    return render(result)


@pytest.fixture(scope="module")
def hostile() -> Result:
    columns = [
        {"name": HOSTILE, "kind": "category", "values": [HOSTILE, "b" * 80], "source": "codebook"},
        {"name": "count", "kind": "yesno", "other": False, "missing": False},
    ]
    return preview(
        Plan(title=HOSTILE, notes=HOSTILE, dataset=HOSTILE, epsilon="1/3", columns=columns, tables=[[HOSTILE, "count"]])
    )


def opened(page: str, folder: Path, *, width: int, dark: bool) -> Outline:
    """Open the page in a browser without network; errors are collected in attributes of its first element."""
    listen = f"""<script>
        const wrong = []; const report = (event) => wrong.push(event.message || event.violatedDirective);
        addEventListener("error", report); addEventListener("securitypolicyviolation", report);
        const dark = {json.dumps(dark)};
        window.matchMedia = (query) => ({{ matches: dark && query.includes("dark"), addEventListener() {{}} }});
        addEventListener("load", () => setTimeout(() => {{
            document.documentElement.dataset.wrong = wrong.join("; ");
            document.documentElement.dataset.wide = document.documentElement.scrollWidth;
            document.documentElement.dataset.drawn = document.querySelectorAll(".chart .main-svg").length;
            document.documentElement.dataset.title = document.title;
        }}, 500));</script>"""
    path = folder / "report.html"
    path.write_text(page.replace("<title>", listen + "<title>", 1), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=8000"]
    options += [f"--window-size={width},900", f"--user-data-dir={folder / 'profile'}", "--proxy-server=127.0.0.1:9"]
    done = subprocess.run(
        [serving.chromium(), *options, "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return Outline(done.stdout)


def render(result: Result) -> str:
    return b"".join(report.render(result, describe(result))).decode()


def words(page: str) -> str:
    """Return the text that a reader sees, without scripts and styles."""
    page = re.sub(r"(?s)<(script|style).*?</\1>", " ", page)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


class Outline(HTMLParser):
    """The outline of a page: its headings, and every attribute that could load something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.loads: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: dict[str, dict[str, str | None]] = {}
        self.colours: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        self.loads += [(tag, named[key]) for key in ("src", "srcset", "data", "action", "poster") if key in named]
        self.loads += [(tag, named["href"])] if tag == "link" else []
        self.ids += [value for key, value in attrs if key == "id" and value]
        self.links += [str(named["href"]) for _ in [0] if tag == "a"]
        self.attributes[tag] = named
        drawn = re.findall(r"rgb\((\d+), (\d+), (\d+)\)", named.get("style") or "")
        self.colours |= {"#" + "".join(f"{int(part):02x}" for part in colour) for colour in drawn}


def test_it_says_who_is_protected_and_what_is_not(page: str, result: Result) -> None:
    manifest, text = describe(result), words(page)
    for part in (*manifest["not_protected"], *manifest["post_processing"], manifest["guarantee"]["unit"]["text"]):
        assert part in text
    assert "50 % sure at most 73.2 % sure at most 88.1 % sure" in text, "of an answer, ε counts twice"
    assert "pure ε-differential privacy, ε = 1, δ = 0" in text
    assert result.release_id in text


@pytest.mark.by_day(2)
@pytest.mark.parametrize(("epsilon", "loose"), [("0.1", False), (3, False), (8, True), (1000, True)])
def test_a_large_epsilon_does_not_sound_like_a_small_one(epsilon: object, loose: bool) -> None:
    result = preview(letters_plan([2], [["a"]], epsilon=epsilon))
    for text in (words(render(result)), " ".join(report.read_me(result, describe(result)).split())):
        assert ("would look much the same" in text) is not loose
        assert ("loose one" in text) is loose
    assert ("50 % sure almost certain" in words(render(result))) is (float(str(epsilon)) > 9.3)


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    ("plan", "way"),
    [
        (letters_plan([3, 4], [["a", "b"]]), Estimator.LEAST_SQUARES),
        (letters_plan([3] * 4, {"each": 2}, strategy="adaptive"), Estimator.MODEL),
        (letters_plan([40], [{"columns": ["a"], "ranges": True}], strategy="adaptive"), Estimator.BOXES),
        (letters_plan([40, 3], [{"columns": ["a"], "ranges": True}, ["b"]], strategy="adaptive"), Estimator.TOGETHER),
        (
            letters_plan([40, 30], [{"columns": [k], "ranges": True} for k in "ab"], strategy="adaptive"),
            Estimator.PARTS,
        ),
    ],
    ids=list(Estimator),
)
def test_report_and_readme_teach_the_same_guide_for_every_way_to_estimate(plan: Plan, way: Estimator) -> None:
    result = preview(plan)
    page, readme = words(render(result)), " ".join(report.read_me(result, describe(result)).split())
    assert estimator(result.plan) is way
    for entry in (*guide.column_entries(result), MOSTLY_NOISE, *guide.reading_entries(result)):
        for text in (page, readme):
            assert entry.text in text
            assert entry.use in text
    assert "{" not in page
    assert ("a cell of 10 by about" in page) is (way is Estimator.MODEL)


def test_it_counts_the_cells_that_are_mostly_noise_and_says_where_missing_values_are(
    result: Result, hostile: Result
) -> None:
    for each in (result, hostile):
        tables = report_tables.table_values(each, each.plan.marginals, table_files(each.plan))
        noisy = [int(each.mostly_noise(table).sum()) for table in each.plan.marginals]
        assert [table["noisy"] for table in tables] == noisy
        assert [sum(row["noisy"] for row in table["rows"]) for table in tables if table["whole"]] == [
            count for count, table in zip(noisy, tables, strict=True) if table["whole"]
        ]
    told = {name: report.provenance(hostile.plan, name) for name in hostile.plan.released}
    assert (told["count"]["unlisted"], told["count"]["missing"]) == ("left out", "left out")
    assert (told[HOSTILE]["unlisted"], told[HOSTILE]["missing"]) == ("counted as (other)", "counted as (missing)")


def test_each_table_has_a_figure_a_description_and_its_numbers(page: str, result: Result) -> None:
    text = words(page)
    assert page.count('<figure aria-label="Published counts by ') == len(result.plan.marginals)
    for table in result.plan.marginals:
        for row in result.tables[table].itertuples(index=False):
            *labels, count, _, low, high = row
            labels = [_seen(result, name, label) for name, label in zip(table, labels, strict=True)]
            assert re.search(re.escape(" ".join(labels)) + rf" {count:,} \S+ {low:,} {high:,} ", text)
        assert text.count("mostly noise") >= int(result.mostly_noise(table).sum())


def _seen(result: Result, name: str, label: str) -> str:
    column = result.plan.column(name)
    return column.shown[column.labels.index(label)]


def test_it_says_where_every_column_comes_from_and_what_was_measured(page: str, result: Result) -> None:
    text = words(page)
    for name in result.plan.used:
        assert f"{name} {result.plan.column(name).kind} {result.plan.column(name).size}: " in text
    for measured in result.measurements:
        assert f"{' × '.join(measured.allocation.columns)} {measured.values.size} discrete Laplace" in text


def test_it_is_a_well_formed_page(page: str) -> None:
    outline = Outline(page)
    assert outline.attributes["html"]["lang"] == "en"
    assert outline.levels[0] == 1
    assert outline.levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.levels, outline.levels[1:], strict=False))
    assert len(outline.ids) == len(set(outline.ids))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)


def test_it_loads_nothing_and_may_load_nothing(page: str) -> None:
    assert Outline(page).loads == []
    assert "default-src 'none'" in page
    assert "showSendToCloud: false" in page


def test_equal_results_give_equal_pages(result: Result, page: str) -> None:
    assert render(Result.from_bytes(result.to_bytes())) == page


def test_the_theme_of_a_page_is_not_in_the_report(result: Result, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit sets a theme for all figures of its process: the bundle of one release is the same bytes there."""
    monkeypatch.setattr(pio.templates, "default", "plotly_dark")
    assert render(result) == page


def test_the_script_that_draws_stands_once_in_its_element_whatever_names_are(hostile: Result) -> None:
    named = hostile.plan.model_copy(update={"title": report._SCRIPT, "notes": report._SCRIPT})
    before, script, after = report.render(replace(hostile, plan=named), describe(hostile))
    assert script.startswith(b"/**\n* plotly.js v")
    assert before.endswith(b"<script>")
    assert after.startswith(b"</script>")
    assert report._SCRIPT.encode() not in before + after


def test_hostile_names_are_escaped_in_text_and_in_figure_data(hostile: Result) -> None:
    page = render(hostile)
    assert HOSTILE not in page
    assert HOSTILE in html.unescape(page)
    for block in re.findall(r'(?s)<script type="application/json"[^>]*>(.*?)</script>', page):
        json.loads(block)


def test_figure_data_cannot_end_the_script_element() -> None:
    safe = report_tables.script_json(json.dumps(HOSTILE))
    assert "<" not in safe
    assert json.loads(safe) == HOSTILE


def test_large_tables_are_shown_in_part_and_point_to_their_file() -> None:
    result = preview(letters_plan([30, 20, 15, 150], [["a", "b"], ["a", "b", "c"], ["a", "d"]]))
    page = render(result)
    text = words(page)
    assert "The first 25 rows as a table" in text
    assert "too many cells to draw here" in text
    assert all(file in text for file in list(table_files(result.plan).values())[:-1])
    assert page.count("<tr") < 200


def test_of_many_tables_only_the_first_are_drawn_and_all_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MAX_TABLES", 15)
    result = preview(letters_plan([2] * 8, {"each": 3}))
    page = render(result)
    tables = len(result.plan.marginals)
    assert page.count("<article") == 15 < tables == 56
    assert words(page).count("tables/") == tables
    assert page.count('<li><a href="#') == tables, "the index is whole"
    assert set(re.findall('href="#(.+?)"', page)) <= set(Outline(page).ids)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.by_day(1)
def test_it_opens_without_network_and_without_errors(
    page: str, result: Result, tmp_path: Path, width: int, dark: bool
) -> None:
    outline = opened(page, tmp_path, width=width, dark=dark)
    html_element = outline.attributes["html"]
    assert html_element["data-wrong"] == ""
    assert int(html_element["data-drawn"] or 0) >= len(result.plan.marginals)
    assert int(html_element["data-wide"] or 0) <= width
    assert style.INK[dark] in outline.colours
    assert style.INK[not dark] not in outline.colours


def test_hostile_texts_run_nothing(hostile: Result, tmp_path: Path) -> None:
    element = opened(render(hostile), tmp_path, width=1280, dark=False).attributes["html"]
    assert element["data-title"] == f"{HOSTILE} · private release"
    assert element["data-wrong"] == ""
    assert int(element["data-drawn"] or 0) > 0


def test_the_readme_explains_every_file_and_every_number(result: Result) -> None:
    manifest = describe(result)
    text = report.read_me(result, manifest)
    for file in (*table_files(result.plan).values(), "synthetic.csv", "manifest.json", "plan.yaml"):
        assert file in text
    flat = " ".join(text.split())
    parts = ("count", "estimate", "low, high", "ADDING CELLS", "NEGATIVE ESTIMATES", "leading '", "dpengine verify")
    for part in parts:
        assert part in flat
    for line in manifest["not_protected"]:
        assert line in flat
    assert max(map(len, text.splitlines())) <= 110


def test_the_readme_is_plain_text(hostile: Result) -> None:
    text = report.read_me(hostile, describe(hostile))
    assert HOSTILE in text
    assert "&lt;" not in text


def test_long_labels_stay_different_where_columns_are_declared() -> None:
    values = [f"Hospital of the Holy Ghost, ward {k} for children and their parents" for k in range(3)]
    columns = [{"name": "ward", "kind": "category", "values": values}]
    text = words(render(preview(Plan(dataset="d", epsilon=1, columns=columns, tables=[["ward"]]))))
    (declared,) = re.findall(r"ward category 5: (.*?) typed by a person", text)
    assert len(set(declared.split(", "))) == 3


def test_a_total_under_a_bound_on_rows_is_one_of_kept_rows_wherever_it_stands() -> None:
    bounded = preview(letters_plan([2, 3], [["a", "b"]], unit={"id": "who", "rows": 3}))
    manifest = describe(bounded)
    assert manifest["counted"]["what"] == "kept rows"
    assert manifest["counted"]["rows_per_person"] == 3
    assert "at most 3 rows of each person in who" in manifest["counted"]["text"]
    assert "Kept rows in all" in b"".join(report.render(bounded, manifest)).decode()
    guide_in_text = " ".join(report.read_me(bounded, manifest).split())
    assert "the number of kept rows in all" in guide_in_text
    assert "All counts, totals and intervals are of kept rows" in guide_in_text
    free = preview(letters_plan([2, 3], [["a", "b"]]))
    assert describe(free)["counted"] == {"what": "rows", "text": "Counts, totals and their intervals are of rows."}
    assert "kept rows" not in report.read_me(free, describe(free))


def test_pairs_of_amounts_have_figures_of_their_own() -> None:
    result = preview(Plan.loads(PAIRS))
    (table,) = report_tables.table_values(result, result.plan.marginals, table_files(result.plan))
    kinds = ["mean-1", "standard_deviation-1", "covariance-1-2", "correlation-1-2", "slope-1-2"]
    assert [figure["id"] for figure in table["figures"]] == [
        *(f"table-1-figure-{kind}" for kind in kinds),
        "table-1-figure",
    ]
    assert table["figures"][1]["name"] == "standard deviation of pay, sex"
    assert table["figures"][4]["name"] == "slope of pay on hours, sex"
    assert "slope of pay on hours (95 %)" in table["header"], "and stand in the table beside"


@pytest.mark.parametrize(("rows", "widest"), [(90, 2), (900_000, 6)])
def test_on_a_phone_small_heatmaps_are_as_wide_as_their_widest_number_needs(rows: int, widest: int) -> None:
    result = preview(letters_plan([3, 4, 3], [["a", "b", "c"]], rows_about=rows))
    (table,) = report_tables.table_values(result, result.plan.marginals, table_files(result.plan))
    cell = (table["figures"][0]["wide"] - 250) * (1 - 2 * APART) / (4 * 3)
    assert (cell - 1) / widest / 0.65 >= 9, "the height of a digit in pixels, as Plotly computes it"
