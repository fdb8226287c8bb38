"""The fuzzer calls the readers of strangers' files as they are: else each of its cases is a finding, or none is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from benchmarks import fuzz
from dpengine import PrivateReleaseError


@pytest.fixture(autouse=True)
def _own_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    fuzz.connection().close()
    fuzz.connection.cache_clear()


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_each_target_reads_or_refuses_the_first_cases_of_the_corpus(target: str) -> None:
    short = [case for case in islice(fuzz.seeds(target), 12) if len(case) <= fuzz.LONGEST[target]]
    refusals = [refused(target, case) for case in short]
    assert {fuzz._wrong_words(each) for each in refusals if each is not None} <= {""}
    assert None in refusals


def refused(target: str, case: bytes) -> PrivateReleaseError | None:
    try:
        fuzz.TARGETS[target](case)
    except PrivateReleaseError as refusal:
        return refusal
    return None
