"""The signature of a bundle: it vouches for every byte of the file, by the key of the ledger that published it.

It is the comment of the zip file, at its very end, and has one form (here in three lines):

    private-release signature 1
    key <the public key: 64 hexadecimal digits>
    signature <128 hexadecimal digits>

Ed25519 (RFC 8032) signs the SHA-512 of all bytes before the digits of the signature, the public key among them. Equal
files under one key have equal signatures. A signature says that the holder of the ledger made the file. It does not say
who that is: compare the fingerprint of the key with the one that the publisher gives elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import BinaryIO

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from dpengine.errors import ReleaseError
from dpengine.translation.catalogue import _, mark

__all__ = [
    "COMMENT_BYTES",
    "MEANING",
    "fingerprint",
    "has_form",
    "public_text",
    "read_key",
    "reserve",
    "sign",
    "signer",
]

MEANING = mark(
    "The signature shows that whoever holds the ledger of this key published exactly this file. It does not show who "
    "that is, or that the numbers are good. An unknown key proves nothing by itself: compare its fingerprint with the "
    "one that the publisher gives elsewhere."
)
PIECE_BYTES = 2**20

_DIGITS = 128  # of the signature, the last bytes of the file
_HEAD = b"private-release signature 1\nkey %s\nsignature "
COMMENT_BYTES = len(_HEAD % bytes(64)) + _DIGITS
_FORM = re.compile(rb"private-release signature 1\nkey ([0-9a-f]{64})\nsignature ([0-9a-f]{128})")
_PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----\s[A-Za-z0-9+/=\s]{1,1000}-----END PUBLIC KEY-----")


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return a public key's fingerprint to compare by eye: 128 bits of its SHA-256, in eight groups of four digits."""
    return _in_groups(hashlib.sha256(key.public_bytes_raw()).hexdigest()[:32])


def _in_groups(digits: str) -> str:
    return "-".join(digits[start : start + 4] for start in range(0, 32, 4))


def public_text(key: Ed25519PublicKey) -> str:
    """Return a public key as PEM text, which other programs read."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def read_key(text: str | bytes) -> str:
    """Return the fingerprint of a key that is given as PEM text or as its fingerprint.

    >>> read_key("3F2A 91C0 0000 1111 2222 3333 4444 5555")
    '3f2a-91c0-0000-1111-2222-3333-4444-5555'

    Raises `ReleaseError` if it is neither.
    """
    raw = text.encode(errors="replace") if isinstance(text, str) else text if isinstance(text, bytes) else b""
    if (match := _PEM.search(raw)) is not None:
        try:
            key = load_pem_public_key(match[0])
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if isinstance(key, Ed25519PublicKey):
            return fingerprint(key)
    digits = re.sub(rb"[-:\s]", b"", raw.strip()).lower()
    if re.fullmatch(rb"[0-9a-f]{32}", digits):
        return _in_groups(digits.decode())
    raise ReleaseError(
        _(
            "the expected key cannot be read: give its fingerprint (32 digits), or the text from BEGIN to END PUBLIC "
            "KEY, as private-release ledger key prints them"
        )
    )


def reserve(key: Ed25519PrivateKey) -> bytes:
    """Return the comment for a bundle that is being written, with zeros in place of the signature."""
    return _HEAD % key.public_key().public_bytes_raw().hex().encode() + b"0" * _DIGITS


def sign(file: BinaryIO, key: Ed25519PrivateKey) -> None:
    """Sign a bundle that was written to `file`, open for reading and writing, with the comment of `reserve`."""
    signed = key.sign(_digest(file)).hex().encode()
    file.seek(-_DIGITS, os.SEEK_END)
    file.write(signed)


def _digest(file: BinaryIO) -> bytes:
    """Return the SHA-512 of all bytes of a file before its signature."""
    left = file.seek(0, os.SEEK_END) - _DIGITS
    file.seek(0)
    digest = hashlib.sha512()
    while left > 0 and (piece := file.read(min(left, PIECE_BYTES))):
        digest.update(piece)
        left -= len(piece)
    return digest.digest()


def has_form(comment: bytes) -> bool:
    """Say whether the comment of a zip file has the form of a signature, good or not."""
    return _FORM.fullmatch(comment) is not None


def signer(file: BinaryIO) -> str:
    """Return the fingerprint of the key that signed a bundle, which has the comment of a signature.

    Raises `ReleaseError` unless that key signed exactly the bytes of `file`.
    """
    file.seek(-COMMENT_BYTES, os.SEEK_END)
    match = _FORM.fullmatch(file.read())
    try:
        if match is None:
            raise InvalidSignature
        key, signature = (bytes.fromhex(digits.decode()) for digits in match.groups())
        public = Ed25519PublicKey.from_public_bytes(key)
        public.verify(signature, _digest(file))
    except InvalidSignature:
        raise ReleaseError(
            _("the file was changed after it was signed: its signature does not fit its bytes")
        ) from None
    return fingerprint(public)
