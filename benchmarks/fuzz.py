"""Fuzz the readers of strangers' files, guided by coverage: text tables, workbooks, plans and release bundles.

    pip install -r benchmarks/requirements.txt
    python benchmarks/fuzz.py                        # 20 minutes each
    python benchmarks/fuzz.py text --minutes 5 --keep findings

Each target runs in a process of its own, from the cases of `tests/corpus` on; branches of `dpengine` guide it. A
finding is whatever is neither read nor refused in plain words: another exception than a `PrivateReleaseError`, a
message of more than a line for a fault, with a path or a traceback; more than 10 s or 1 GB; a process that dies; a
ledger that is begun. And

- **text**: rows that are not those of Python's csv module, where that reads the same text;
- **workbook**: rows of another number of columns than there are names. Each case is a part of a workbook that is
  replaced. Its reader, which is written in Rust, may give up or die, if that is refused where it runs apart;
- **plan**: a plan that is not the same after it is written and read again;
- **bundle**: changed bytes of a signed bundle that are accepted. Half of the cases put content into one member and
  make the manifest vouch for it, as a forger would; these may be accepted, but must then be readable.

It prints executions, edges and findings, and fails if there are any. What it finds joins `tests/corpus`.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

INSIDE = "--inside" in sys.argv  # the process that fuzzes, where the branches of the engine are counted
if INSIDE:
    import atheris

with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["dpengine"]) if INSIDE else nullcontext():
    import duckdb
    import pyarrow as pa
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from dpengine import Plan, PrivateReleaseError, open_table, verify
    from dpengine.bundle.read import manifest_of
    from dpengine.sources.engine import connect
    from dpengine.sources.files import text_rows, untrusted
    from dpengine.sources.table import plain_errors
    from tests.bundles import members_of, zipped
    from tests.corpus import bundles, plans, texts, workbooks

SECONDS, MEGABYTES = 10, 1024
LONGEST = {"text": 4_096, "workbook": 4_096, "plan": 4_096, "bundle": 30_000}  # bytes of a case
ENCODINGS = (None, None, None, "utf-16-le", "cp1252", "shift_jis", "utf-7", "iso2022_jp")
DELIMITERS = (None, None, ",", ";", "\t", "|", " ", "→")
ODS = "an OpenDocument sheet"  # of the corpus
PATIENCE = 120  # seconds, by the clock, after which a case is taken for endless
MAX_COMPARED = 10_000  # rows
MAX_FAULTS, MAX_MESSAGE = 101, 100_000
csv.field_size_limit(1 << 24)


class Wrong(Exception):
    """What was read, or how it was refused, is not right."""


# ---- targets: each reads one case, and raises if something is wrong ----


def text(case: bytes) -> None:
    """Read a text table; the first byte gives its encoding and delimiter, and if it is packed or numbers its names."""
    how, content = case[0], case[1:]
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder, "table.csv")).write_bytes(content)
        (place := Path(folder, "place")).mkdir()
        how_read = how >= 192, ENCODINGS[how % 8], DELIMITERS[how // 8 % 8]
        found = untrusted.text_table(
            str(path), str(place), *how_read, in_full=True, skip=0, names_given=True, last=0,
            number_names=64 <= how < 128,
        )  # fmt: skip
        if found["rows"] > MAX_COMPARED:
            return
        rows, read, marks = Path(found["place"]), len(found["names"]), (found["delimiter"], found["quote"])
        table = text_rows.relation(rows, read, *marks, plain_lines=found["plain_lines"])
        with plain_errors():
            got = connection().execute(f"SELECT * FROM {table}").fetchall()
        if len(got) != found["rows"]:
            raise Wrong("the engine reads another number of rows than was counted")
        wanted = by_csv(rows.read_text(encoding="utf-8"), read, *marks)
        if wanted is not None and wanted != sorted(tuple(cell or "" for cell in row) for row in got):
            raise Wrong("the rows are not those of the csv module")


def workbook(case: bytes) -> None:
    """Read a workbook; the first byte gives the part that the rest of the case replaces, and how it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path, how = written(case, Path(folder)), case[0] // len(parts_of_workbooks())
        skip, numbered = how % 2, how // 2 % 2 > 0
        try:
            found = untrusted.workbook(
                str(path), folder, path.suffix, None, skip, True, last=skip, number_names=numbered
            )
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                return
            raise
        with pa.ipc.open_stream(found["place"]) as rows:
            if len(rows.schema) != len(found["names"]):
                raise Wrong("the rows have another number of columns than there are names")


@cache
def whole_parts(suffix: str) -> dict[str, bytes]:
    """Return the parts of a workbook of each format by their names."""
    return members_of(workbooks.book(*workbooks.PLAIN) if suffix == ".xlsx" else workbooks.CASES[ODS].bytes())


@cache
def parts_of_workbooks() -> list[tuple[str, str]]:
    """Return the format and the name of each part that a case may replace, in a fixed order."""
    return [(suffix, name) for suffix in (".xlsx", ".ods") for name in sorted(whole_parts(suffix))]


def written(case: bytes, folder: Path) -> Path:
    """Write the workbook of a case. Its parts are not packed, so that none unpacks to much more than its size."""
    suffix, replaced = parts_of_workbooks()[case[0] % len(parts_of_workbooks())]
    path = folder / f"table{suffix}"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (whole_parts(suffix) | {replaced: case[1:]}).items():
            archive.writestr(name, content)
    return path


def is_refused_apart(place: Path) -> bool:
    """Return whether a workbook on which its reader died is refused in plain words where that is a process apart."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            open_table(written(place.read_bytes(), Path(folder))).close()
        except PrivateReleaseError as refusal:
            return not _wrong_words(refusal)
    return False


def by_csv(plain: str, columns: int, delimiter: str, quote: str) -> list[tuple[str, ...]] | None:
    """Return the rows that Python's csv module reads; None where it reads other texts than we do."""
    at_cell = f"(?:^|{re.escape(delimiter)}|\n)"
    if delimiter == " " or re.search(rf"{at_cell} {quote}|{quote} +(?:{re.escape(delimiter)}|\n|$)", plain):
        return None  # blanks beside quotes: we leave them out, and csv does not
    try:
        rows = list(csv.reader(io.StringIO(plain, newline=""), delimiter=delimiter, quotechar=quote, strict=True))[1:]
    except csv.Error:
        return None
    short = [row[:columns] + row[columns:] * any(row[columns:]) for row in rows]  # DuckDB drops blank cells at the end
    return sorted(tuple(row) or ("",) for row in short if row or columns == 1)


def plan(case: bytes) -> None:
    """Read a plan file, write it, and read it again."""
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder, "plan.yaml")).write_bytes(case)
        read = Plan.load(path)
        (again := Path(folder, "again.yaml")).write_text(read.dumps(), encoding="utf-8")
        if Plan.load(again) != read:
            raise Wrong("the plan is another one after it was written")


def bundle(case: bytes) -> None:
    """Verify a bundle: the case itself, or a signed one with the rest of the case as the member of a number."""
    if case.startswith(b"PK"):
        verify(case)
        if case != signed():
            raise Wrong("a changed bundle is accepted")
        return
    members = members_of(bundles.whole())
    name = sorted(members)[case[0] % len(members)]
    forged = zipped(members | {name: case[1:]}, rehash=name != "manifest.json")
    verify(forged)
    manifest_of(forged)


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Return the one connection of this process: to open another one for each case would take most of the time."""
    return connect(Path(tempfile.mkdtemp()), threads=2)


@contextmanager
def _connected(_folder: Path, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    yield connection()


@cache
def signed() -> bytes:
    return zipped(members_of(bundles.whole()), rehash=False, key=Ed25519PrivateKey.from_private_bytes(bytes(32)))


def seeds(target: str) -> Iterator[bytes]:
    """Yield the cases of the corpus, as a target takes them."""
    match target:
        case "text":
            for each in texts.CASES.values():
                encoding = each.options.get("encoding")
                how = ENCODINGS.index(encoding) if encoding in ENCODINGS else 0
                yield bytes([how + 192 * each.file.endswith("gz")]) + each.bytes()
        case "workbook":
            for number, (suffix, name) in enumerate(parts_of_workbooks()):
                yield bytes([number]) + whole_parts(suffix)[name]
            sheet = bytes([parts_of_workbooks().index((".xlsx", workbooks.SHEET))])
            yield sheet + members_of(workbooks.book(*workbooks.PLAIN, ["=1", "z"]))[workbooks.SHEET]
            yield sheet + members_of(workbooks.CASES["merged cells"].bytes())[workbooks.SHEET]
        case "plan":
            for content, _ in plans.PLANS.values():
                yield content if isinstance(content, bytes) else content().encode()
        case "bundle":
            yield signed()
            for number, (_, content) in enumerate(sorted(members_of(bundles.whole()).items())):
                yield bytes([number]) + content


TARGETS: dict[str, Callable[[bytes], None]] = {"text": text, "workbook": workbook, "plan": plan, "bundle": bundle}


# ---- one target, in a process of its own ----


def fuzz(target: str, seconds: float, keep: Path) -> None:
    """Fuzz until the time is over; write each kind of finding once. Does not return: libFuzzer ends the process."""
    known: set[str] = set()
    untrusted.connect = _connected  # type: ignore[assignment]
    ledger = Path(os.environ["PRIVATE_RELEASE_LEDGER"].removeprefix("sqlite:///"))

    def attempt(case: bytes) -> None:
        if not case:
            return
        began = time.process_time()
        try:
            TARGETS[target](case)
        except PrivateReleaseError as refusal:
            wrong = _wrong_words(refusal)
        except BaseException as error:  # noqa: BLE001  (anything else is a finding)
            at = traceback.extract_tb(error.__traceback__)[-1]
            wrong = f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {str(error)[:200]!r}"
            wrong = wrong if not isinstance(error, Wrong) else str(error)
        else:
            wrong = ""
        if time.process_time() - began > SECONDS:
            wrong = wrong or f"more than {SECONDS} s"
        if ledger.exists():
            wrong = wrong or "a ledger was begun"
        if wrong and (kind := re.sub(r"'.*|\d+", "", wrong)) not in known:
            known.add(kind)
            place = keep / f"{target}-{len(known)}"
            place.write_bytes(case)
            print(f"FINDING {place}: {wrong}", flush=True)

    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds(target)):
            if len(seed) <= LONGEST[target]:
                Path(corpus, str(number)).write_bytes(seed)
        atheris.Setup(
            [sys.argv[0], f"-max_total_time={seconds:.0f}", f"-timeout={PATIENCE}", f"-rss_limit_mb={MEGABYTES}",
             f"-max_len={LONGEST[target]}", f"-artifact_prefix={keep}/{target}-died-", corpus],
            attempt,
        )  # fmt: skip
        atheris.Fuzz()


def _wrong_words(refusal: PrivateReleaseError) -> str:
    said = str(refusal)
    if len(refusal.faults) > MAX_FAULTS or len(said) > MAX_MESSAGE:
        return "a refusal of too many words"
    if any("\n" in str(fault) for fault in refusal.faults):
        return "a fault of several lines"
    if "Traceback" in said or tempfile.gettempdir() + "/" in said:
        return "a refusal with a path or a traceback"
    return "" if refusal.__cause__ is None else "a refusal that shows its cause"


# ---- all targets ----


def main() -> None:
    """Fuzz each target in turn, and say what came out."""
    asked = argparse.ArgumentParser(description="Fuzz what reads the files of strangers.")
    asked.add_argument("targets", nargs="*", choices=[*TARGETS, "all"], default="all")
    asked.add_argument("--minutes", type=float, default=20, help="for each target")
    asked.add_argument("--keep", type=Path, default=Path("findings"), help="folder for what is found")
    asked.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = asked.parse_args()
    targets = [*TARGETS] if "all" in options.targets else options.targets
    options.keep.mkdir(exist_ok=True)
    if options.inside:
        fuzz(targets[0], 60 * options.minutes, options.keep)
    findings, known = 0, set(options.keep.glob("*-died-*"))
    for target in targets:
        until, executions, edges = time.monotonic() + 60 * options.minutes, 0, 0
        while (left := until - time.monotonic()) > 1:  # a process that dies is followed by another
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, __file__, target, "--inside", "--minutes", str(left / 60), "--keep", options.keep],
                    env=os.environ | {"TMPDIR": folder, "PRIVATE_RELEASE_LEDGER": f"sqlite:///{folder}/ledger.db"},
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                )  # fmt: skip
            told = re.findall(r"#(\d+)\s.*?cov: (\d+)", done.stdout)
            executions += int(told[-1][0]) if told else 0
            edges = max([edges, *(int(found) for _, found in told)])
            faults = re.findall(r"FINDING .*", done.stdout)
            died = set(options.keep.glob(f"{target}-died-*")) - known
            known |= died
            if target != "workbook" or not died or not all(map(is_refused_apart, died)):
                faults += [f"{target}: the process died: {done.stdout[-1000:]}"] * (done.returncode != 0)
            print("\n".join(faults), end="\n" * bool(faults), flush=True)
            findings += len(faults)
            if not told:
                break
        print(f"{target}: {executions:,} executions, {edges:,} edges", flush=True)
    print(f"{findings} findings")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
