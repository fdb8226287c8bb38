"""Jobs beside the page: they end, can be stopped until they have an effect, and are found again by their token."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from dpengine import TableError, open_table
from dpengine.sources.table import Table
from pages.parts.server import jobs, session_resources
from pages.parts.server.jobs import Job, Stopped
from tests.pages.busy import SOON, all_workers_busy, running_job


@pytest.fixture
def table() -> Iterator[Table]:
    with open_table(pd.DataFrame({"a": range(200_000)})) as opened:
        yield opened


def test_a_job_returns_its_result_and_lists_its_stages(table: Table) -> None:
    def work(progress: jobs.Progress) -> str:
        progress("counting")
        return "done"

    job = jobs.start(work, table, findable=True)
    assert job.wait(SOON)
    assert job.result() == "done"
    assert [stage for stage, _ in job.stages] == ["starting", "counting"]
    assert jobs.find(job.token) is job
    assert jobs.find(job.token[:-1]) is None
    assert len(job.token) >= 22, "16 bytes of randomness"


def test_the_result_of_a_failed_job_is_its_error(table: Table) -> None:
    def work(_: jobs.Progress) -> None:
        raise TableError("no such column")

    job = jobs.start(work, table)
    with pytest.raises(TableError, match="no such column"):
        job.result()


def test_a_stopped_job_begins_no_further_stage(table: Table) -> None:
    counting, stopped, recorded = threading.Event(), threading.Event(), []

    def work(progress: jobs.Progress) -> None:
        progress("counting")
        counting.set()
        stopped.wait(SOON)
        progress("recording")
        recorded.append(1)

    job = jobs.start(work, table)
    assert counting.wait(SOON)
    job.stop()
    stopped.set()
    with pytest.raises(Stopped):
        job.result()
    assert recorded == []


def test_a_stop_that_comes_too_late_does_not_hide_the_recorded_result(table: Table) -> None:
    recording, stopped = threading.Event(), threading.Event()

    def work(progress: jobs.Progress) -> str:
        progress("recording")
        recording.set()
        stopped.wait(SOON)
        return "recorded"

    job = jobs.start(work, table)
    assert recording.wait(SOON)
    job.stop()
    stopped.set()
    assert job.result() == "recorded"


def test_a_job_is_stopped_before_its_binding_stage_or_not_at_all(table: Table) -> None:
    begun, go = threading.Event(), threading.Event()

    def work(tell: jobs.Progress) -> str:
        tell("drawing")
        begun.set()
        go.wait(SOON)
        tell("drawing", 0.5)
        return "drawn"

    job = jobs.start(work, table, binding="drawing")
    assert begun.wait(SOON)
    job.stop()
    jobs.stop_all()
    assert not job.stopping
    go.set()
    assert job.wait(SOON)
    assert job.result() == "drawn"


def test_a_stop_interrupts_a_long_query(table: Table) -> None:
    reading = threading.Event()

    def work(_: jobs.Progress) -> None:
        with table.connection() as connection:
            reading.set()
            connection.execute("SELECT sum(x.c0 * y.c0 % 7) FROM rows x, rows y").fetchall()  # 4·10¹⁰ rows

    job = jobs.start(work, table)
    assert reading.wait(SOON)
    while not job.wait(0.1):
        job.stop()
    with pytest.raises(Stopped):
        job.result()


def test_a_waiting_job_is_stopped_before_it_begins(table: Table) -> None:
    with all_workers_busy():
        job = jobs.start(lambda _: pytest.fail("it began"), table, findable=True)
        assert not job.wait(0.1)
        assert job.stages == []
        job.stop()
        with pytest.raises(Stopped):
            job.result()


def test_nothing_is_closed_while_a_job_uses_it_even_if_its_visitor_has_left(table: Table) -> None:
    go = threading.Event()
    job: Job[bool] = jobs.start(lambda _: go.wait(SOON), table)
    while not job.stages:
        job.wait(0.01)
    assert session_resources.at_work(session_resources.running_session())
    go.set()
    assert job.result()
    assert not session_resources.at_work(session_resources.running_session())


def test_old_jobs_are_forgotten(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.start(lambda _: None, table, findable=True)
    assert job.wait(SOON)
    monkeypatch.setattr(jobs, "KEPT", -1.0)
    jobs.start(lambda _: None, table, findable=True)
    assert jobs.find(job.token) is None


def test_a_query_is_interrupted_even_if_the_tables_folder_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    closed = open_table(tmp_path / "a.csv")
    closed.close()
    closed.interrupt()


def test_jobs_with_the_same_table_run_in_turn_and_delay_no_other(table: Table) -> None:
    first, go = running_job(table)
    second = jobs.start(lambda _: "second", table)
    with open_table(pd.DataFrame({"b": [1]})) as another:
        assert jobs.start(lambda _: "another", another).wait(SOON)
    assert not second.wait(0.1)
    assert second.stages == []
    go.set()
    assert second.wait(SOON)
    assert first.done


def test_a_stop_ends_one_job_and_no_other_with_the_same_table(table: Table) -> None:
    first, go = running_job(table)
    waiting, following = jobs.start(lambda _: "waiting", table), jobs.start(lambda _: "following", table)
    waiting.stop()
    go.set()
    assert following.wait(SOON)
    assert first.result() is None
    with pytest.raises(Stopped):
        waiting.result()
    assert following.result() == "following"


def test_releases_do_not_delay_readers(table: Table) -> None:
    with all_workers_busy():
        assert jobs.start(lambda _: "read", table).wait(SOON)


def test_closing_a_table_returns_at_once_and_happens_after_its_last_job(table: Table) -> None:
    job, go = running_job(table)
    jobs.close(table)
    with table.connection() as connection:
        assert connection.execute("SELECT 1").fetchall(), "it is open for as long as the job needs it"
    go.set()
    assert job.wait(SOON)
    last = jobs.start(lambda _: table.connection().__enter__(), table)
    with pytest.raises(TableError, match="closed"):
        last.result()


def test_stopping_the_opening_of_a_table_returns_at_once() -> None:
    opening, go = threading.Event(), threading.Event()

    def work(progress: jobs.Progress) -> None:
        opening.set()
        go.wait(SOON)
        progress("opened")

    job = jobs.start(work, None)
    assert opening.wait(SOON)
    job.stop()
    assert job.done
    with pytest.raises(Stopped):
        job.result()
    go.set()


def test_the_part_done_belongs_to_the_current_stage(table: Table) -> None:
    parts: list[float | None] = []

    def work(progress: jobs.Progress) -> None:
        for part in (0.25, 0.5):
            progress("counting", part)
            parts.append(job.part)
        progress("recording")

    ready = threading.Event()
    job = jobs.start(lambda progress: ready.wait(SOON) and work(progress), table)
    ready.set()
    job.wait(SOON)
    assert parts == [0.25, 0.5]
    assert job.part is None
    assert [stage for stage, _ in job.stages] == ["starting", "counting", "recording"]
