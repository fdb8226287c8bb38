"""Every file of the corpus is read rightly, or refused in words that help, and nothing is spent on a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dpengine import Ledger, Plan, PrivateReleaseError, open_table, release
from dpengine.cli import main
from tests.corpus import columnar, statistical, texts, workbooks
from tests.corpus.case import CANARY, Case
from tests.pages import visits

CASES = {
    **{f"text: {name}": case for name, case in texts.CASES.items()},
    **{f"workbook: {name}": case for name, case in workbooks.CASES.items()},
    **columnar.CASES,
    **statistical.CASES,
}
PLAN = Plan(
    dataset="corpus", epsilon="1000", tables=[["a"]],  # so much that noise is of no account
    columns=[{"name": "a", "kind": "category", "values": ["1", "2"]}],
)  # fmt: skip


def publish(path: Path, case: Case, ledger: Ledger) -> tuple[int, ...]:
    """Return the counts of column `a` that a release publishes."""
    with open_table(path, **case.options) as table:
        return tuple(release(table, PLAN, ledger).tables[("a",)]["count"].tolist())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.by_day(26)
def test_a_file_is_read_rightly_or_refused_in_plain_words(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = tmp_path / case.file
    path.write_bytes(case.bytes())
    ledger = Ledger.in_memory()
    if case.counts is not None:
        assert publish(path, case, ledger) == case.counts
        return
    refused = refusal(path, case, ledger)
    if refused is None:
        assert not case.refused
        return
    message = str(refused)
    assert case.refused in message
    assert CANARY not in message
    assert str(tmp_path) not in message
    assert refused.__cause__ is None
    assert len(refused.faults) <= 25
    assert ledger.spent("corpus") == 0


def refusal(path: Path, case: Case, ledger: Ledger) -> PrivateReleaseError | None:
    try:
        publish(path, case, ledger)
    except PrivateReleaseError as error:
        return error
    return None


SAMPLE = [  # every second one also on the page
    "text: plain", "text: a short row", "text: a quote open in the header, closed by a row",
    "text: an endless last line without an end", "text: a hundred thousand columns", "text: a bomb of zeros",
    "text: an archive cut off", "workbook: a workbook", "workbook: a cell at the end of the world",
    "workbook: the same, and the extent lies", "workbook: six thousand columns", "Parquet: plain",
    "Parquet: a body of zeros", "Arrow: plain", "Arrow: offsets beyond the texts",
    "Arrow: a last offset beyond the texts", "sav: plain", "sas7bdat: cut off",
]  # fmt: skip


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.by_day(4)
def test_the_command_line_says_so_in_lines_and_writes_nothing(name: str, tmp_path: Path) -> None:
    case, url = CASES[name], f"sqlite:///{tmp_path / 'ledger.db'}"
    (tmp_path / case.file).write_bytes(case.bytes())
    PLAN.save(tmp_path / "plan.yaml")
    output = tmp_path / "release.zip"
    arguments = ["release", tmp_path / "plan.yaml", tmp_path / case.file, "-o", output, "--ledger", url]
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert (done.exit_code == 0) == output.exists() == (case.counts is not None)
    assert Ledger(url).spent("corpus") == (0 if case.refused else PLAN.epsilon)
    if case.refused:
        assert done.exit_code == 2
        assert all(line.startswith("private-release: ") for line in done.stderr.splitlines())
        assert case.refused in done.stderr
        assert CANARY not in done.output
        assert str(tmp_path) not in done.output


@pytest.mark.parametrize("name", SAMPLE[::2])
@pytest.mark.by_day(2)
def test_the_page_says_so_and_goes_on(name: str) -> None:
    case = CASES[name]
    page = visits.visit()
    uploader: Any = page.get("file_uploader")[0]
    uploader.upload(case.file, case.bytes()).run()
    visits.whole(visits.settled(page))
    if case.counts is not None:
        assert "a" in page.multiselect[0].options
        return
    assert case.refused in visits.texts(page)
    assert CANARY not in str(page.main)
    assert visits.ledger().datasets() == []
