"""Independent fair bits from the operating system's randomness: all noise and private choices are drawn from them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

__all__ = ["BitSource", "keystream", "random_words"]

BitSource = Callable[[npt.NDArray[Any]], None]  # fills an array with independent fair bits

_ZEROS = bytes(2**18)


def keystream() -> BitSource:
    """Start a source of bits: AES-256-CTR under a fresh key from the operating system.

    Nothing else has used the key, so the counter may start at zero. The source fills contiguous arrays of any type
    and size.
    """
    encryptor = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
    zeros = memoryview(_ZEROS)

    def fill(buffer: npt.NDArray[Any]) -> None:
        octets = buffer.reshape(-1).view(np.uint8).data
        for start in range(0, len(octets), len(zeros)):
            encryptor.update_into(zeros[: len(octets) - start], octets[start : start + len(zeros)])

    return fill


def random_words(size: int) -> npt.NDArray[np.uint64]:
    """Return `size` random 64-bit words, straight from the operating system.

    >>> random_words(3).shape
    (3,)
    """
    return np.frombuffer(bytearray(os.urandom(8 * size)), dtype="<u8")
