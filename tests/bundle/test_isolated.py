"""A stranger's bundle is verified in a separate process; any end of that process becomes a typed error."""

from __future__ import annotations

import pytest

from dpengine.bundle import isolated
from dpengine.bundle.isolated import examine_isolated
from dpengine.bundle.verify import examine
from dpengine.errors import ReleaseError
from dpengine.isolation.run import Limits


def test_the_manifest_and_the_faults_are_those_of_verify(bundle: bytes) -> None:
    assert examine_isolated(bundle) == examine(bundle)
    for spoilt in (b"no zip", bundle + b"\0", b"#!/bin/sh\n" + bundle):
        with pytest.raises(ReleaseError) as here:
            examine(spoilt)
        with pytest.raises(ReleaseError) as apart:
            examine_isolated(spoilt)
        assert apart.value.faults == here.value.faults


def test_a_process_that_ends_early_gives_a_message(bundle: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "_LIMITS", Limits(memory=1 << 20, seconds=1, disk=0))
    with pytest.raises(ReleaseError, match="more than 1 GB of memory or 10 s"):
        examine_isolated(bundle)
