"""Places for files: who may use one, what lies in it, and that nothing is left."""

from __future__ import annotations

import asyncio
import gc
import io
import tempfile
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from pages.parts.server import lifespan, session_resources, upload_route, uploads
from pages.parts.server.uploads import Busy, Closed, Place


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All temporary files are made here."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def receive(place: Place, name: str, content: bytes) -> Path:
    with place.receiving(name) as file:
        file.write(content)
    assert place.path is not None
    return place.path


def break_off(place: Place) -> None:
    with place.receiving("a.csv") as file:
        file.write(b"half")
        raise ConnectionError


def test_a_complete_file_is_readable_by_this_account_alone_until_its_place_is_closed(files: Path) -> None:
    place = Place("s")
    path = receive(place, "clinic.csv.gz", b"rows")
    assert path.read_bytes() == b"rows"
    assert path.name == "table.csv.gz"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    place.close()
    place.close()
    assert list(files.iterdir()) == []
    with pytest.raises(Closed), place.receiving("a.csv"):
        pass


def test_a_file_that_does_not_arrive_whole_is_removed(files: Path) -> None:
    place = Place("s")
    with pytest.raises(ConnectionError):
        break_off(place)
    assert place.path is None
    assert list(files.iterdir()) == []
    assert receive(place, "a.csv", b"whole").read_bytes() == b"whole", "the place may be used again"


def test_a_file_goes_with_its_place_also_if_nobody_closes_it(files: Path) -> None:
    place = Place("s")
    receive(place, "a.csv", b"rows")
    session_resources.keep(place, "s")
    del place  # as Streamlit forgets a session that has expired
    gc.collect()
    assert list(files.iterdir()) == []
    session_resources.clear("s")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("clinic.CSV", "table.csv"),
        ("clinic.2026.csv.gz", "table.csv.gz"),
        ("backup.gz", "table.gz"),
        ("a.%00.csv", "table.csv"),
        ("a.\0.csv", "table.csv"),
        ("a./../x.csv", "table.csv"),
        ("a." + "b" * 300 + ".gz", "table.gz"),
    ],
)
def test_only_a_known_ending_of_a_name_is_in_a_path(name: str, kept: str) -> None:
    place = Place("s")
    assert receive(place, name, b"rows").name == kept
    place.close()


def test_one_file_at_a_time_and_the_last_one_counts(files: Path) -> None:
    place = Place("s")
    receive(place, "a.csv", b"1")
    with place.receiving("b.csv") as file, pytest.raises(Busy), place.receiving("c.csv"):
        file.write(b"2")
    assert place.name == "b.csv"
    assert [path.name for path in files.rglob("table.*")] == ["table.csv"]


def test_a_file_for_a_closed_place_is_not_kept(files: Path) -> None:
    place = Place("s")
    with pytest.raises(Closed), place.receiving("a.csv"):
        place.close()
    assert list(files.iterdir()) == []


def test_tokens_cannot_be_guessed_and_open_one_place_while_it_is_open() -> None:
    places = [Place("s") for _ in range(50)]
    assert len({place.token for place in places}) == 50
    assert min(len(place.token) for place in places) >= 43, "32 bytes of randomness"
    assert all(uploads.find(place.token) is place for place in places)
    places[0].close()
    places[1].seal()
    assert uploads.find(places[0].token) is uploads.find(places[1].token) is uploads.find("") is None
    token = places.pop().token
    assert uploads.find(token) is None, "a place that no page holds is no place"


def test_the_operator_sets_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert uploads.limit() == 8_000_000_000
    monkeypatch.setenv("PRIVATE_RELEASE_MAX_UPLOAD_MB", "20")
    assert uploads.limit() == 20_000_000


class Visitors(set[str]):
    """A server that says who is there."""

    def is_active_session(self, session: str) -> bool:
        return session in self


def test_files_of_visitors_are_removed_some_time_after_they_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(lifespan.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(session_resources, "_kept", {})
    place = Place("")
    session_resources.keep(place)
    (session,) = session_resources.sessions()
    seen: dict[str, float] = {}
    patience = 60
    for at, there, expected in [(0, True, []), (70, True, []), (125, False, []), (131, False, [session])]:
        clock[0] = at
        assert lifespan.gone(seen, Visitors({session} if there else ())) == expected, f"at {at} of {patience} s"
    session_resources.clear(session)
    assert place.closed
    assert session_resources.sessions() == []
    assert lifespan.gone(seen, Visitors()) == []
    assert seen == {}


def test_a_server_has_one_private_folder_and_removes_those_of_killed_servers(files: Path) -> None:
    killed = files / f"{lifespan.PREFIX}killed"
    killed.mkdir()
    (killed / "lock").touch()
    (killed / "table.csv").touch()
    with lifespan.private_folder() as first:
        assert not killed.exists()
        assert Path(tempfile.mkdtemp()).parent == first
        assert first.stat().st_mode & 0o777 == 0o700
        tempfile.tempdir = str(files)  # as another process would
        with lifespan.private_folder() as second:
            assert second != first
            assert first.exists(), "a running server's files are its own"
    assert list(files.iterdir()) == []


@pytest.mark.parametrize(("last", "fits"), [(b"67890", True), (b"678901", False)])
def test_a_body_of_one_byte_more_than_the_limit_is_refused_whatever_size_it_stated(
    last: bytes, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Body:
        async def stream(self) -> AsyncIterator[bytes]:
            for part in (b"12345", last):
                yield part

    monkeypatch.setattr(uploads, "limit", lambda: 10)
    place, file = uploads.Place("a session"), io.BytesIO()
    write = upload_route._write(Body(), place, file)  # type: ignore[arg-type]
    refused = nullcontext() if fits else pytest.raises(HTTPException, match="larger than this server takes")
    with ThreadPoolExecutor(1) as thread, refused:  # a browser's tests leave a loop of events in this one
        thread.submit(lambda: asyncio.run(write)).result()
    assert file.getvalue() == (b"1234567890" if fits else b"")
