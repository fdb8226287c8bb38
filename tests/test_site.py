"""The documentation site: examples work, it is complete, it loads nothing from elsewhere, search works offline."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import dpengine as dpe
from dpengine.accounting import schema
from dpengine.bundle.manifest_wording import SCHEMA_VERSION, WORDINGS
from dpengine.bundle.write import pack
from tests.documents import Reader, blocks
from tests.plans import CLINIC

ROOT = Path(__file__).parent.parent
DOCS, SITE = ROOT / "docs", ROOT / "site"
PAGES = sorted(DOCS.rglob("*.md"))
# Tried by tests of their own, or by operators on servers.
ELSEWHERE = {"deploy.md", "house.md", "pipelines.md", "plugins.md", "signatures.md"}
FOLLOWED = [page for page in PAGES if page.name not in ELSEWHERE and "```" in page.read_text(encoding="utf-8")]
SETTINGS = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

built_once = pytest.mark.xdist_group("site")


@pytest.fixture(scope="module")
def of_two_years() -> dict[str, bytes]:
    """Two releases of the same tables, which a page compares and cannot make."""
    return {f"release-{year}.zip": pack(dpe.preview(dpe.Plan.loads(CLINIC))) for year in (2025, 2026)}


@pytest.fixture
def folder(tmp_path: Path, of_two_years: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: the samples, two releases, and a ledger of its own."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    for name, content in of_two_years.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", f"sqlite:///{tmp_path / 'ledger.db'}")
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("TRIPS_DATABASE", "")  # a page sets it
    return tmp_path


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis, which one page uses
@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.stem)
@pytest.mark.by_day(4)
def test_every_command_in_the_documentation_works(page: Path, folder: Path) -> None:
    Reader().follow(page.read_text(encoding="utf-8"))


def test_a_failing_command_is_noticed(folder: Path) -> None:
    for line in ("private-release predict missing.yaml", "rm -rf data", "python missing.py"):
        with pytest.raises((AssertionError, OSError)):
            Reader().follow(f"```sh\n{line}\n```\n")
    with pytest.raises(ZeroDivisionError):
        Reader().follow("```python\n1 / 0\n```\n")


def test_there_are_examples_to_follow() -> None:
    languages = [each.language for page in FOLLOWED for each in blocks(page.read_text(encoding="utf-8"))]
    assert languages.count("python") > 20
    assert languages.count("sh") > 20


def test_the_reference_has_every_public_name() -> None:
    text = (DOCS / "reference" / "library.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^::: ([\w.]+)$", text)
    public = {name: getattr(dpe, name) for name in dpe.__all__}
    wanted = {f"{value.__module__}.{name}" for name, value in public.items() if hasattr(value, "__module__")}
    assert set(listed) == wanted | {"dpengine.noise", "dpengine.noise.laplace.discrete_laplace"}
    assert len(listed) == len(set(listed))


def test_every_document_is_in_the_navigation() -> None:
    listed = re.findall(r"(?m)^ +- (?:\w+: )?(\S+\.md)$", SETTINGS)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_every_command_is_in_the_reference() -> None:
    from dpengine.cli import main

    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    rows = " ".join(re.findall(r"(?m)^\| (`.*?) \|", text))
    assert {name for name in main.commands if not re.search(rf"`{name}\b", rows)} == set()


def test_the_versions_of_formats_are_those_of_the_code() -> None:
    text = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"(?m)^\| \[(bundle|ledger)\]\(.*\| ([0-9]+ \| [0-9, ]+[0-9])", text))
    bundles = f"{SCHEMA_VERSION} | {', '.join(map(str, sorted(WORDINGS)))}"
    ledgers = f"{schema.VERSION} | {', '.join(map(str, range(1, schema.VERSION + 1)))}"
    assert rows == {"bundle": bundles, "ledger": ledgers}
    assert f"| `schema_version` | {SCHEMA_VERSION}. " in text


@pytest.fixture(scope="module")
def site() -> Path:
    """The site as it is built from today's documents; `tests/run.sh` has built it before."""
    first = SITE / "index.html"
    sources = [*DOCS.rglob("*.*"), *(ROOT / "dpengine").rglob("*.py"), ROOT / "mkdocs.yml", ROOT / "CHANGELOG.md"]
    if not first.exists() or first.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return SITE


class Loaded(HTMLParser):
    """The addresses that a browser loads by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next", "alternate"):
            self.addresses.append(given.get("href") or "")
        elif tag in ("script", "img", "iframe", "source", "video", "audio", "embed", "object"):
            self.addresses += [given[name] or "" for name in ("src", "data", "srcset") if given.get(name)]


def foreign(text: str) -> list[str]:
    """Return what a page loads from elsewhere."""
    loaded = Loaded()
    loaded.feed(text)
    styles = re.findall(r"(?:url\(|@import )[\"']?([^\"')\s]+)", text)
    return [address for address in (*loaded.addresses, *styles) if re.match(r"(?:[a-z]+:)?//", address)]


@built_once
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    assert {page.name: addresses for page in pages if (addresses := foreign(page.read_text(encoding="utf-8")))} == {}
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert foreign(styles) == []


@built_once
def test_docstrings_are_shown_as_they_are_meant(site: Path) -> None:
    text = (site / "reference" / "library.html").read_text(encoding="utf-8")
    assert text.count('<span class="gp">&gt;&gt;&gt;') > 10
    assert "<dt><code>encoding, delimiter</code></dt>" in text
    assert "<blockquote>" not in text
    assert 'id="parameters"' not in text
    reference = (DOCS / "reference" / "library.md").read_text(encoding="utf-8")
    for owner, listed in re.findall(
        r"(?m)^::: ([\w.]+)\n    options:(?:\n      [^m].*)*\n      members: \[(.*)\]", reference
    ):
        shown = [name for name in listed.split(", ") if f'id="{owner}.{name}"' in text]
        assert shown == listed.split(", "), owner


def test_a_foreign_address_is_noticed() -> None:
    for text in (
        '<script src="https://cdn.example/x.js"></script>', '<link rel="stylesheet" href="//cdn.example/x.css">',
        '<link rel="preconnect" href="https://fonts.example">', '<img src="http://example.org/x.png">',
        "<style>@import 'https://fonts.example/x.css';</style>", "<style>a{background:url(//example.org/x)}</style>",
    ):  # fmt: skip
        assert len(foreign(text)) == 1, text
    assert foreign('<a href="https://example.org">x</a><script src="assets/x.js"></script>') == []


@pytest.fixture(scope="module")
def browser_page(chromium: Browser) -> Iterator[Page]:
    phone = {"width": 390, "height": 844}
    with chromium.new_context(viewport=phone, reduced_motion="reduce", color_scheme="dark") as context:
        yield context.new_page()


@built_once
def test_a_phone_shows_it_from_disk_in_the_dark_and_searches_it(site: Path, browser_page: Page) -> None:
    requests: list[str] = []
    browser_page.on("request", lambda request: requests.append(request.url))
    for name in ("index", "reference/library", "howto/reader", "screens", "threats"):
        browser_page.goto((site / f"{name}.html").as_uri())
        body = browser_page.locator("body")
        assert body.get_attribute("data-md-color-scheme") == "slate"
        assert body.evaluate("node => document.documentElement.scrollWidth") <= 390, name
    browser_page.locator("label.md-header__button[for=__search]").click()
    browser_page.locator("input[name=query]").press_sequentially("replicates")
    browser_page.locator(".md-search-result__link").first.wait_for()
    assert "replicates" in browser_page.locator(".md-search-result__list").inner_text().lower()
    assert not [address for address in requests if not address.startswith(("file:", "data:", "blob:"))]
