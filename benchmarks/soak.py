"""Test how the page lasts: hours of owners who upload, plan, move ε, publish, download, verify and leave.

    python benchmarks/soak.py                 # two hours, three owners at a time; Linux
    python benchmarks/soak.py --minutes 3

It starts the app by itself, with a ledger and a folder for temporary files of its own. Owners come by a client that
draws nothing (`tests/tab.py`). Each brings a table of 20 MB of people nobody else has (every fourth as Parquet),
publishes, opens the release again at no price, publishes half of the time at another ε too, has the bundle verified by
the library and by the Verify page, and leaves.

Every minute it prints memory, open files and temporary files of the server. At the end it fails unless no page
showed an error, the log holds nothing but the greeting and notes of late timers, memory after the warm-up stayed within
50 MB, no file of an owner is left, and the ledger has exactly the charges of the releases that were published, with
their sums and bytes.

A late timer: a page looks every half second whether its work is done. When such a look and the redrawing that ends it
cross on the way, Streamlit drops the look and notes it at the level of information
(https://github.com/streamlit/streamlit/issues/11660). Nobody sees anything of it. How many there were is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import re
import secrets
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import pyarrow as pa
import pyarrow.parquet

from dpengine import Ledger, verify
from dpengine.release import reopen
from tests.serving import Served, served
from tests.tab import Tab

SIZE = 20_000_000  # bytes of a table
AT_ONCE, MOVES = 3, 6  # owners at a time, and how often each moves ε
THINK = 4.0  # seconds between two acts of an owner
FLAT = 50.0  # MB that memory may move after the warm-up
WARM_UP = 1 / 8  # of the time
EVERY = 5.0  # seconds between measurements
LEFT_AFTER = 90.0  # seconds after which nothing of an owner may be left: `disconnectedSessionTTL` and some
MAX_FAULTS = 20  # after which no more owners come
REGIONS = ("North", "South", "East", "West")
GREETING = ("You can now view your Streamlit app in your browser.", "URL: ")
LATE_TIMER = re.compile(r"The fragment with id \w+ does not exist anymore - it might have been removed")


@dataclass(frozen=True, slots=True)
class Published:
    """A release as its owner got it."""

    release_id: str
    dataset: str
    epsilon: Fraction
    sha256: str  # of the bundle


@dataclass(frozen=True, slots=True)
class Use:
    """What the server and its child processes use at one moment."""

    seconds: float  # since the start
    memory: float  # MB resident in the server, and what its child processes have of their own
    private: float  # MB of that which is no mapped file of the server
    open_files: int
    threads: int
    temporary: int  # files
    processor: float  # seconds so far


@dataclass(slots=True)
class Seen:
    """What all owners saw, and what the server used."""

    published: list[Published] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    owners: int = 0


# ---- owners ----


def table(folder: Path, name: str, *, parquet: bool) -> Path:
    """Write a table of people of about `SIZE` bytes, none of whom is in any other table."""
    rows = SIZE // 60
    ages = [each % 100 for each in secrets.token_bytes(rows)]
    regions = [REGIONS[each % 4] for each in secrets.token_bytes(rows)]
    text = secrets.token_hex(25 * rows)
    ids = [text[start : start + 50] for start in range(0, len(text), 50)]
    path = folder / f"{name}.{'parquet' if parquet else 'csv'}"
    if parquet:
        pa.parquet.write_table(pa.table({"age": ages, "region": regions, "id": ids}), path)
    else:
        path.write_text("age,region,id\n" + "".join(map("{},{},{}\n".format, ages, regions, ids)))
    return path


def come_and_go(address: str, folder: Path, number: int, seen: Seen) -> None:
    """Bring a table, publish it once or twice, have the release verified, and leave."""
    name = f"owner-{number}"
    path = table(folder, name, parquet=number % 4 == 3)
    with Tab(address) as tab:
        try:
            tab.rest(THINK)
            tab.drop(path)
        finally:
            path.unlink()
        tab.enter("multiselect", "Columns that matter", ["age", "region"])
        tab.click("Go on to what is known")
        tab.rest(THINK)
        tab.enter("text_area", "Values, one a line", "\n".join(REGIONS))
        tab.click("Confirm 1 suggestion")
        tab.click("Go on to whom it protects")
        tab.rest(THINK)
        tab.enter("radio", "In this table", "each row is a different person")
        tab.click("Go on to how private")
        for last in range(1 + number % 2):
            bundle = publish(tab, name, 5 * number + 9 * last, seen)
            tab.click("Start another release")
            tab.wait_for("free release", lambda: "Already published: costs 0" in tab.texts())
            tab.rest(THINK)
        tab.visit("verify")
        tab.choose_file("Release file", f"{name}.zip", bundle)
        tab.wait_for("verdict", lambda: "is complete and consistent" in tab.texts())
        tab.rest(THINK)
    seen.owners += 1


def publish(tab: Tab, dataset: str, first: int, seen: Seen) -> bytes:
    """Move ε, publish at the last one, and return the bundle, which the library has verified."""
    for move in range(MOVES):
        slider = tab.wait_for("slider", lambda: tab.find("slider", "Privacy budget"))
        epsilon = slider.options[(first + 5 * move) % len(slider.options)]
        tab.enter("slider", "Privacy budget", [epsilon])
        tab.wait_for(f"ε = {epsilon}", lambda wanted=epsilon: f"spends **ε = {wanted}**" in tab.texts())
        tab.rest(THINK)
    tab.click("Publish once")
    bundle = tab.fetch(tab.ask_for_file("Download everything"))
    release_id = verify(bundle)["release_id"]
    seen.published.append(Published(release_id, dataset, Fraction(epsilon), hashlib.sha256(bundle).hexdigest()))
    return bundle


def owners(app: Served, folder: Path, numbers: Iterator[int], seen: Seen, until: float) -> None:
    """Let one owner come after another, until the time is over or too much has gone wrong."""
    while time.monotonic() < until and len(seen.faults) < MAX_FAULTS:
        number = next(numbers)
        try:
            come_and_go(app.address, folder, number, seen)
        except Exception:  # noqa: BLE001  (whatever goes wrong for an owner is a fault to report)
            seen.faults.append(f"owner {number}: {traceback.format_exc()}")
            print(seen.faults[-1], flush=True)


# ---- the server ----


def processes(first: int) -> list[int]:
    """Return a process and all its descendants (Linux)."""
    found = [first]
    for process in found:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:  # it has just ended
                continue
    return found


def own_memory(process: int) -> float:
    """Return the MB of a process that map no file, shared ones counted in part; 0 if it has just ended."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(map(int, re.findall(r"^Pss_(?:Anon|Shmem): +(\d+) kB", text, re.MULTILINE))) / 1024


def use(app: Served, start: float) -> Use:
    """Measure what the server uses now."""
    private = {process: own_memory(process) for process in processes(app.process.pid)}
    server = private.pop(app.process.pid)
    own = Path(f"/proc/{app.process.pid}")
    return Use(
        time.monotonic() - start,
        app.memory() + sum(private.values()),
        server,
        len(os.listdir(own / "fd")),
        len(os.listdir(own / "task")),
        sum(len(files) for _, _, files in os.walk(app.files)),
        app.processor(),
    )


def watch(app: Served, seen: Seen, start: float, at_work: list[threading.Thread]) -> None:
    """Measure every few seconds and print a line every minute, until all owners have left."""
    minute = 0
    while any(thread.is_alive() for thread in at_work):
        time.sleep(EVERY)
        seen.uses.append(now := use(app, start))
        if now.seconds // 60 > minute:
            minute = int(now.seconds // 60)
            last = [each for each in seen.uses if each.seconds > now.seconds - 60]
            share = (now.processor - last[0].processor) / max(now.seconds - last[0].seconds, 1)
            print(
                f"minute {minute}: {seen.owners} owners gone, {len(seen.published)} releases; "
                f"{statistics.median(each.memory for each in last):.0f} MB, of which "
                f"{statistics.median(each.private for each in last):.0f} are no mapped files; "
                f"{now.open_files} open files, {now.threads} threads, {now.temporary} temporary files; "
                f"{share:.0%} of a core",
                flush=True,
            )


# ---- the verdict ----


def memory_faults(uses: list[Use], minutes: float) -> list[str]:
    """Print how memory went after the warm-up, by quarters of the time; return a fault if it was not flat."""
    began, ended = 60 * minutes * WARM_UP, 60 * minutes
    warm = [each for each in uses if began <= each.seconds < ended]
    by_minute = [statistics.median(each.memory for each in group)
                 for _, members in itertools.groupby(warm, lambda each: each.seconds // 60)
                 if len(group := list(members)) > 1]  # fmt: skip
    if len(by_minute) < 4:
        print("too short a time to judge the memory")
        return []
    quarters = [by_minute[len(by_minute) * k // 4 : len(by_minute) * (k + 1) // 4] for k in range(4)]
    for k, quarter in enumerate(quarters, start=1):
        print(f"quarter {k}: median {statistics.median(quarter):.0f} MB, from {min(quarter):.0f} to {max(quarter):.0f}")
    slope = statistics.linear_regression(range(len(by_minute)), by_minute).slope
    print(f"memory: {60 * slope:+.1f} MB an hour after a warm-up of {began / 60:.0f} minutes")
    medians = [statistics.median(quarter) for quarter in quarters]
    moved = max(medians) - min(medians)
    return [f"memory moved by {moved:.0f} MB between quarters"] if moved > FLAT else []


def log_faults(log: str) -> list[str]:
    """Return the lines that a server writes only when something is wrong; print how many timers came late."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    late = [line for line in lines if LATE_TIMER.search(line)]
    print(f"timers that came late: {len(late)}")
    return [f"the log says: {line}" for line in lines if not line.startswith(GREETING) and line not in late]


def ledger_faults(ledger: Ledger, published: list[Published]) -> list[str]:
    """Compare a ledger with what the owners have got: charges, sums, and every byte."""
    ledger.verify_chain()
    history = ledger.history()
    charged = Counter((each.release_id, each.dataset, each.epsilon) for each in history)
    got = Counter((each.release_id, each.dataset, each.epsilon) for each in published)
    faults = [f"charged but not got, or got but not charged: {each}" for each in (charged - got) + (got - charged)]
    faults += [f"recognised as somebody else: {each.dataset}" for each in history if each.recognised]
    for dataset in {each.dataset for each in published}:
        total = sum((each.epsilon for each in published if each.dataset == dataset), Fraction(0))
        if ledger.spent(dataset) != total:
            faults.append(f"{dataset}: spent {ledger.spent(dataset)}, not {total}")
    for each in published:
        payload = ledger.payload(each.release_id)
        if payload is None or hashlib.sha256(reopen(payload, ledger).bundle).hexdigest() != each.sha256:
            faults.append(f"{each.dataset}: the stored release is not the one that was downloaded")
    return faults


def main() -> None:
    """Serve, let the owners come, and judge."""
    asked = argparse.ArgumentParser(description="Try how the page lasts.")
    asked.add_argument("--minutes", type=float, default=120)
    minutes = asked.parse_args().minutes
    seen, numbers = Seen(), itertools.count()
    with tempfile.TemporaryDirectory() as own, served(folder := Path(own)) as app:
        (tables := folder / "tables").mkdir()
        start = time.monotonic()
        threads = [threading.Thread(target=owners, args=(app, tables, numbers, seen, start + 60 * minutes), daemon=True)
                   for _ in range(AT_ONCE)]  # fmt: skip
        for thread in threads:
            thread.start()
            time.sleep(THINK)
        watch(app, seen, start, threads)
        time.sleep(LEFT_AFTER)
        left = [str(path.relative_to(app.files)) for path in app.files.rglob("table.*")]
        seen.faults += [f"a file of an owner is still there: {path}" for path in left]
        end = use(app, start)
        print(f"all gone: {end.memory:.0f} MB, {end.open_files} open files, {end.threads} threads, "
              f"{end.temporary} temporary files, {end.processor:.0f} s of processor time")  # fmt: skip
        seen.faults += log_faults((folder / "log").read_text())
        seen.faults += ledger_faults(Ledger(f"sqlite:///{folder / 'ledger.db'}"), seen.published)
    total = sum((each.epsilon for each in seen.published), Fraction(0))
    print(f"{seen.owners} owners, {len(seen.published)} releases, ε = {total} in all, {SIZE // 10**6} MB each")
    seen.faults += memory_faults(seen.uses, minutes)
    print("\n".join(seen.faults) or "no fault")
    sys.exit(bool(seen.faults))


if __name__ == "__main__":
    main()
