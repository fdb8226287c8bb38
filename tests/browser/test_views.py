"""What only a browser shows: room for labels and numbers, what is in sight on a phone, where the keyboard is."""

from __future__ import annotations

import re
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from dpengine import Plan, preview
from dpengine.bundle.write import pack
from dpengine.charts import figures
from tests.browser.actions import BUY, PATIENCE, SENT, choose, clinic_csv, load, press, publish, rest, upload
from tests.browser.conftest import NewPage, wait_until
from tests.plans import letters_plan

LONG = "Hospital of the Holy Ghost, ward {} for children and their parents"


def sample(page: Page) -> Page:
    press(page.locator(".st-key-sample_census button"))
    expect(page.get_by_role("button", name=BUY)).to_be_visible()
    return page


def drawn(chromium: Browser, plan: Plan, width: int) -> Page:
    """Return the figure of the first table of `plan`, alone on a page of `width`."""
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.set_content(figures.release_figure(preview(plan), plan.marginals[0]).to_html(config={"responsive": True}))
    page.wait_for_selector(".xtick text", state="attached")
    return page


@pytest.mark.nightly
def test_moving_epsilon_shows_its_consequence_on_a_phone_without_scrolling(new_page: NewPage) -> None:
    page = sample(new_page(width=390, height=844))
    sentence = page.locator(".st-key-consequence-in-words")
    slider = page.get_by_role("slider", name=re.compile("Privacy budget"))
    slider.evaluate("e => e.scrollIntoView({ block: 'center' })")
    expect(sentence).to_contain_text("At ε = 1 a typical cell")
    rest(page)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(sentence).to_contain_text("At ε = 0.7 a typical cell")
    expect(sentence).to_be_in_viewport(ratio=0.9)
    expect(page.locator(".stSlider")).to_be_in_viewport(ratio=0.9)


@pytest.mark.nightly
def test_where_the_consequence_is_in_sight_its_words_stand_there_alone(new_page: NewPage) -> None:
    page = sample(new_page())
    expect(page.locator(".st-key-consequence-in-words")).to_be_hidden()
    expect(page.get_by_text("a typical cell of age × sex").last).to_be_visible()
    page.set_viewport_size({"width": 700, "height": 450})  # a screen of 1400 pixels at twice the size
    expect(page.locator(".st-key-consequence-in-words")).to_be_visible()
    assert page.locator(".st-key-consequence").evaluate("e => e.getBoundingClientRect().width") > 600


@pytest.mark.nightly
def test_a_phone_never_scrolls_sideways_and_hides_no_words(new_page: NewPage) -> None:
    page = sample(new_page(width=390, height=844))
    badge = page.locator(".stMarkdownBadge", has_text="Made-up numbers").first
    assert badge.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    press(page.get_by_role("button", name=BUY))
    expect(page.get_by_role("button", name="Download report.html")).to_be_visible()
    with page.expect_download() as waiting:
        press(page.get_by_role("button", name="Save this chart as PNG"))
    assert waiting.value.suggested_filename == "age-sex.png"
    assert struct.unpack(">I", Path(waiting.value.path()).read_bytes()[16:20]) == (2000,), "twice the size"
    with page.expect_download() as waiting:
        press(page.get_by_role("button", name="Save this chart as SVG"))
    saved = Path(waiting.value.path()).read_bytes()
    assert b'width="1000"' in saved
    assert b"Arial" in saved, "the font of the page is not in the picture: its letters would overlap"
    assert b"Source Sans" not in saved
    press(page.get_by_text("Compare with the true counts"))
    expect(page.get_by_text("Within their interval")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    rest(page)
    band = page.locator(".st-key-private")
    assert band.evaluate("e => getComputedStyle(e).borderStyle") == "dashed"
    for numbers in band.get_by_test_id("stDataFrame").all():
        numbers.hover(force=True)
        for button in band.get_by_role("button", name="Download as CSV").all():
            expect(button).to_be_hidden()


def test_a_table_offers_no_file_that_may_hold_formulas(new_page: NewPage) -> None:
    page = new_page("/accuracy")
    rest(page)
    table = page.get_by_test_id("stDataFrame").filter(visible=True).first
    table.hover()
    expect(table.get_by_role("button", name="Search")).to_be_visible()
    expect(table.get_by_role("button", name="Download as CSV")).to_be_hidden()


@pytest.mark.parametrize("path", ["/", pytest.param("/accuracy", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_keyboard_is_always_seen(new_page: NewPage, path: str, dark: bool) -> None:
    page = new_page(path, dark=dark)
    expect(page.locator(".js-plotly-plot, .look-curve img").first).to_be_visible()
    rest(page)
    expect(page.get_by_role("link", name="Link to heading")).to_have_count(0)
    for _ in range(20):
        page.keyboard.press("Tab")
        unseen = page.evaluate(
            """() => { let at = document.activeElement;
            while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
            const box = at.matches("input") && at.closest(":is(.stSelectbox, .stMultiSelect) [role=group]");
            const style = getComputedStyle(box || at), before = window.before;
            window.before = at;
            if (at === before) return "the keyboard does not move on";
            return at !== document.body && !(style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2)
                ? at.outerHTML.slice(0, 120) : "" }"""
        )
        assert unseen == ""


@pytest.mark.nightly
def test_charts_turn_dark_and_light_with_the_system(new_page: NewPage) -> None:
    page = new_page("/accuracy")
    title = page.locator(".js-plotly-plot .xtitle").first
    expect(title).to_be_visible()
    rest(page)
    for scheme, ink in (("dark", "rgb(232, 238, 238)"), ("light", "rgb(28, 37, 38)")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(title).to_have_css("fill", ink)


@pytest.mark.parametrize("width", [330, pytest.param(560, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("rows", [*(pytest.param(few, marks=pytest.mark.nightly) for few in (12, 60)), 300])
def test_labels_never_lie_on_each_other(chromium: Browser, width: int, rows: int) -> None:
    plan = letters_plan([rows, 20], [["a", "b"]])
    page = drawn(chromium, plan, width)
    tops = page.eval_on_selector_all(".ytick text", "all => all.map(e => e.getBoundingClientRect().top)")
    lefts = page.eval_on_selector_all(".xtick text", "all => all.map(e => e.getBoundingClientRect().left)")
    page.close()
    assert len(tops) >= min(rows, 12)
    assert min(after - before for before, after in pairwise(sorted(tops))) >= 10
    assert min(after - before for before, after in pairwise(sorted(lefts))) >= 10


def test_long_labels_keep_what_tells_them_apart(chromium: Browser) -> None:
    columns = [{"name": name, "kind": "category", "values": [LONG.format(k) for k in range(size)]}
               for name, size in (("hospital", 12), ("ward", 4))]  # fmt: skip
    page = drawn(chromium, Plan(dataset="d", epsilon=1, columns=columns, tables=[["hospital", "ward"]]), 330)
    seen = page.eval_on_selector_all(".ytick text", "all => all.map(e => e.textContent)")
    page.close()
    assert len(set(seen)) == len(seen) == 14
    assert max(map(len, seen)) <= 24


@pytest.mark.nightly
def test_on_a_phone_nine_columns_keep_their_numbers_and_the_buttons_below(new_page: NewPage, tmp_path: Path) -> None:
    path = clinic_csv(tmp_path, "nine", 1_800, age=lambda k: k % 9, region=lambda k: k // 9 % 2)
    whole = {"other": False, "missing": False}
    columns = [
        {"name": "region", "kind": "category", "values": ["North", "South"], **whole},
        {"name": "age", "kind": "number", "from": 0, "to": 9, "bins": 9, **whole},
    ]
    page = new_page(width=390, height=844)
    upload(page, path)
    load(page, Plan(dataset="nine", epsilon=1, columns=columns, tables=[["region", "age"]]))
    publish(page)
    numbers = page.locator(".heatmap-label text")
    expect(numbers.first).to_be_attached()
    rest(page)
    assert (
        numbers.evaluate_all("all => all.filter(e => e.textContent.trim() && e.getClientRects().length).length") == 18
    )
    expect(page.get_by_role("button", name="Save this chart as PNG")).to_be_in_viewport(ratio=1)


@pytest.mark.nightly
def test_numbers_too_small_to_read_are_left_out_and_others_stand(new_page: NewPage) -> None:
    sizes = "all => all.filter(e => e.getClientRects().length).map(e => parseFloat(getComputedStyle(e).fontSize))"
    page = sample(new_page(width=390, height=844))
    shown = page.locator(".heatmap-label text")
    expect(shown.first).to_be_attached()
    assert min(shown.evaluate_all(sizes)) >= 9
    page.add_style_tag(content=".stPlotlyChart { width: 150px !important }")
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    shown.first.evaluate("e => e.style.fontSize = '7px'")
    expect(shown.first).to_be_hidden()


@pytest.mark.nightly
def test_a_grid_turns_dark_with_the_system(new_page: NewPage) -> None:
    """With less motion, too, which is how the pages of these tests are."""
    page = new_page("/definition")
    page.locator(".stDataFrame canvas").first.wait_for(state="attached")
    rest(page)
    ground = """() => {
        const canvas = document.querySelector(".stDataFrame canvas");
        return canvas.getContext("2d").getImageData(canvas.width - 8, canvas.height - 8, 1, 1).data[1];
    }"""
    assert page.evaluate(ground) > 200
    page.emulate_media(color_scheme="dark")
    wait_until(page, "() => getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    page.wait_for_timeout(SENT)
    rest(page)
    assert page.evaluate(ground) < 80


@pytest.mark.nightly  # a German visitor is another browser
def test_what_streamlit_says_in_boxes_is_german_on_a_german_page(new_page: NewPage, tmp_path: Path) -> None:
    bundle = tmp_path / "release.zip"
    columns = [{"name": name, "kind": "yesno"} for name in ("smokes", "moves")]
    plan = Plan(dataset="d", epsilon=1, columns=columns, tables=[["smokes", "moves"]])
    bundle.write_bytes(pack(preview(plan)))
    page = new_page("/verify", stranger=True, locale="de-DE")
    rest(page)
    page.locator("textarea").first.fill("abc")
    expect(page.get_by_test_id("stFileUploaderDropzone")).to_contain_text("Hochladen")
    expect(page.get_by_test_id("stFileUploaderDropzone")).to_contain_text("Bis 500MB • ZIP")
    expect(page.get_by_text("Ctrl+Enter drücken, um es zu übernehmen")).to_be_visible()
    page.locator("textarea").first.fill("")
    page.locator("input[type=file]").first.set_input_files(bundle)
    choose(page.get_by_role("combobox", name="Eine Tabelle ansehen"), "smokes × moves")
    press(page.get_by_text("Eine Zahl zitieren").first)
    rest(page)
    smokes = page.get_by_role("combobox", name="smokes").first
    smokes.click()
    expect(page.get_by_role("option", name="Alle auswählen")).to_be_visible()
    smokes.fill("zzz")
    expect(page.get_by_text("Nichts gefunden")).to_be_visible()
