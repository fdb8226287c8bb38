"""Every plan and release file of the corpus is read rightly, or refused in words that help."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from dpengine import Plan, PlanError, ReleaseError, verify
from dpengine.cli import main
from tests.corpus.bundles import BUNDLES
from tests.corpus.plans import PLANS

ENTRY = Path(__file__).parents[2] / "app.py"


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_read_or_refused_in_plain_words(name: str, tmp_path: Path) -> None:
    content, fragment = PLANS[name]
    path = tmp_path / "plan.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content().encode())
    if not fragment:
        assert Plan.load(path).used == ("a",)
        return
    with pytest.raises(PlanError) as refused:
        Plan.load(path)
    assert fragment in str(refused.value)
    assert len(refused.value.faults) <= 101
    assert str(tmp_path) not in str(refused.value)


@pytest.mark.by_day(8)
@pytest.mark.parametrize("name", BUNDLES)
def test_a_release_file_is_verified_or_refused_in_plain_words(name: str) -> None:
    make, fragment = BUNDLES[name]
    if not fragment:
        assert verify(make())["dataset"] == "clinic-2026"
        return
    with pytest.raises(ReleaseError) as refused:
        verify(make())
    assert fragment in str(refused.value)
    assert len(refused.value.faults) <= 100


@pytest.mark.parametrize("name", ["a plan", "deep", "thirty columns of a million bins", "laughs", "UTF-16"])
def test_the_command_line_says_what_is_wrong_with_a_plan(name: str, tmp_path: Path) -> None:
    content, fragment = PLANS[name]
    path = tmp_path / "plan.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content().encode())
    done = CliRunner().invoke(main, ["predict", str(path)])
    assert (done.exit_code == 0) == (not fragment)
    assert fragment in done.output
    assert "Traceback" not in done.output


SAMPLE = ["whole", "a text", "a script before it", "a bomb of a table", "a plan of thirty million bins", "endorsed"]


@pytest.mark.by_day(2)
@pytest.mark.parametrize("name", SAMPLE)
def test_the_command_line_and_the_page_say_what_is_wrong_with_a_release_file(name: str, tmp_path: Path) -> None:
    make, fragment = BUNDLES[name]
    path = tmp_path / "release.zip"
    path.write_bytes(make())
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert (done.exit_code == 0) == (not fragment)
    assert fragment in done.output
    assert "Traceback" not in done.output
    page = AppTest.from_file(str(ENTRY), default_timeout=30).run()
    page.switch_page("pages/verify.py").run()
    page.file_uploader(key="verify_file").upload(path.name, path.read_bytes()).run()
    assert not page.exception
    shown = "\n".join(element.value for element in (*page.markdown, *page.success, *page.error))
    assert ("is complete and consistent.**" in shown) == (not fragment)
    assert ("is not a complete release" in shown) == bool(fragment)
