"""Verify a stranger's bundle in a separate process (`isolation`) with limited time and memory."""

from __future__ import annotations

from dpengine.bundle.verify import Verified
from dpengine.errors import ReleaseError
from dpengine.isolation.run import Limits, ProcessEnded, run
from dpengine.isolation.scratch import ScratchFolder
from dpengine.translation.catalogue import _

__all__ = ["examine_isolated"]

_LIMITS = Limits(memory=1 << 30, seconds=10, disk=0)


def examine_isolated(bundle: bytes) -> Verified:
    """Run `verify.examine` in another process with 1 GB of memory and 10 s of processor time.

    Raises `ReleaseError` with every fault found, or if that is not enough.
    """
    folder = ScratchFolder()
    try:
        file = folder.path / "release.zip"
        file.write_bytes(bundle)
        return Verified(*run("dpengine.bundle.verify:examine", {"source": str(file), "isolated": True}, _LIMITS))
    except ProcessEnded:
        raise ReleaseError(
            _(
                "checking this file takes more than 1 GB of memory or 10 s of processor time, or breaks the check: it "
                "is damaged or unusually large; a large file can be checked with private-release verify on a command "
                "line"
            )
        ) from None
    finally:
        folder.discard()
