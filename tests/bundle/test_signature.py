"""A signature covers every byte of the bundle's file; unsigned, changed and foreign bundles are distinguished."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from dpengine.bundle import archive, signature, write
from dpengine.bundle.verify import examine, signed_by, verify
from dpengine.errors import ReleaseError
from dpengine.results.result import Result
from tests.bundles import members_of, zipped

OWN, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([byte] * 32)) for byte in (1, 2))
MINE, THEIRS = (signature.fingerprint(key.public_key()) for key in (OWN, OTHER))
SIGNATURE = 128  # digits, at the end
CHANGED = "was changed after it was signed"


@pytest.fixture(scope="module")
def signed(bundle: bytes) -> bytes:
    """A small signed bundle: its report is short."""
    return zipped(members_of(bundle) | {"report.html": b"<p>short</p>"}, key=OWN)


def refusal(source: bytes, key: str | None = None) -> str:
    with pytest.raises(ReleaseError) as refused:
        verify(source, key)
    return str(refused.value)


def flipped(bundle: bytes, place: int, mask: int) -> bytes:
    return bundle[:place] + bytes([bundle[place] ^ mask]) + bundle[place + 1 :]


def unsigned(bundle: bytes) -> bytes:
    return bundle[: -signature.COMMENT_BYTES - 2] + b"\0\0"


def test_who_signed_is_said_and_may_be_expected(signed: bytes) -> None:
    assert signed_by(signed) == MINE
    assert examine(signed)[:2] == (verify(signed), MINE)
    pem = signature.public_text(OWN.public_key())
    for key in (MINE, MINE.upper().replace("-", " "), pem, f"fingerprint {MINE}\n{pem}"):
        assert verify(signed, key)["title"] == "Clinic survey 2026"


def test_the_four_outcomes_are_distinguished(signed: bytes) -> None:
    verify(signed, MINE)
    assert refusal(signed, THEIRS) == (f"the file is signed by another key, {MINE}, and was to be signed by {THEIRS}")
    assert (verify(unsigned(signed)), signed_by(unsigned(signed))) == (verify(signed), None)
    assert refusal(unsigned(signed), MINE) == f"the file is not signed, and was to be signed by the key {MINE}"
    changed = signed[:-1] + (b"1" if signed.endswith(b"0") else b"0")
    assert CHANGED in refusal(changed)
    assert CHANGED in refusal(changed, MINE)


def test_a_bundle_that_is_packed_signed_is_the_same_each_time(result: Result, bundle: bytes) -> None:
    packed = write.pack(result, OWN)
    assert packed == write.pack(Result.from_bytes(result.to_bytes()), OWN)
    assert unsigned(packed) == bundle
    assert members_of(packed) == members_of(bundle)
    assert len(packed) == len(bundle) + signature.COMMENT_BYTES


def test_other_programs_can_check_the_signature(signed: bytes) -> None:
    """As the documentation says: Ed25519 over the SHA-512 of all but the last 128 bytes, which are its digits."""
    key = load_pem_public_key(signature.public_text(OWN.public_key()).encode())
    assert isinstance(key, Ed25519PublicKey)
    key.verify(bytes.fromhex(signed[-SIGNATURE:].decode()), hashlib.sha512(signed[:-SIGNATURE]).digest())
    with zipfile.ZipFile(io.BytesIO(signed)) as opened:
        assert opened.testzip() is None
        assert opened.comment.startswith(b"private-release signature 1\nkey ")


def test_any_changed_byte_is_reported(signed: bytes) -> None:
    """Among them those that make another compressed form of the same files."""
    chance = random.Random(3)
    for _ in range(2_000):
        changed = flipped(signed, chance.randrange(len(signed)), chance.randrange(1, 256))
        with pytest.raises(ReleaseError):
            signed_by(changed)


def test_another_compressed_form_of_the_same_files_is_reported(signed: bytes) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as other:
        for name, content in members_of(signed).items():
            archive.add(other, name, [content])
    again = file.getvalue()
    assert members_of(again) == members_of(signed)
    assert verify(again) == verify(signed), "without the signature nothing tells it"
    forged = again[:-2] + signed[-signature.COMMENT_BYTES - 2 :]
    assert refusal(forged) == "the file was changed after it was signed: its signature does not fit its bytes"


def test_each_byte_beside_the_content_and_each_bit_of_the_comment_counts(signed: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(signed)) as opened:
        content = set()
        for entry in opened.infolist():
            start = entry.header_offset + 30 + len(entry.filename) + 20
            content.update(range(start, start + entry.compress_size))
    chance = random.Random(4)
    comment = len(signed) - signature.COMMENT_BYTES
    for place in sorted(set(range(comment)) - content):
        with pytest.raises(ReleaseError):
            signed_by(flipped(signed, place, chance.randrange(1, 256)))
    for place in range(comment - 2, len(signed)):
        for bit in range(8):
            with pytest.raises(ReleaseError):
                signed_by(flipped(signed, place, 1 << bit))


ORDER = 2**252 + 27742317777372353535851937790883648493  # of the group; RFC 8032, section 5.1


def more(digits: bytes) -> bytes:
    """The same signature with its second half written as a larger number, which naive checkers accept."""
    half = int.from_bytes(bytes.fromhex(digits[64:].decode()), "little") + ORDER
    return digits[:64] + half.to_bytes(32, "little").hex().encode()


MALLEABLE: dict[str, Callable[[bytes], bytes]] = {
    "a larger number": lambda b: b[:-SIGNATURE] + more(b[-SIGNATURE:]),
    "capital digits": lambda b: b[:-SIGNATURE] + b[-SIGNATURE:].upper(),
    "a blank after it": lambda b: b + b" ",
    "a line end after it": lambda b: b + b"\n",
    "a digit less": lambda b: b[:-1],
    "a longer comment": lambda b: b[: -signature.COMMENT_BYTES - 2] + b"\xec\0" + b[-signature.COMMENT_BYTES :] + b"\n",
    "twice": lambda b: b + b[-signature.COMMENT_BYTES :],
    "zeros": lambda b: b[:-SIGNATURE] + b"0" * SIGNATURE,
    "of another file": lambda b: (
        b[:-SIGNATURE] + zipped(members_of(b) | {"README.txt": b"other"}, key=OWN)[-SIGNATURE:]
    ),
    "another key's name": lambda b: b.replace(
        OWN.public_key().public_bytes_raw().hex().encode(), OTHER.public_key().public_bytes_raw().hex().encode()
    ),
    "a key that is no point": lambda b: b.replace(OWN.public_key().public_bytes_raw().hex().encode(), b"f" * 64),
}


@pytest.mark.parametrize("name", MALLEABLE)
def test_a_signature_has_one_form(signed: bytes, name: str) -> None:
    changed = MALLEABLE[name](signed)
    assert changed != signed
    with pytest.raises(ReleaseError):
        signed_by(changed)
    assert "release file" in (message := refusal(changed)) or CHANGED in message


def test_whoever_signs_a_changed_bundle_anew_has_another_key(signed: bytes) -> None:
    members = members_of(signed)
    members["README.txt"] += b"All numbers are exact.\n"
    forged = zipped(members, key=OTHER)
    assert signed_by(forged) == THEIRS
    verify(forged)
    assert "signed by another key" in refusal(forged, MINE)


@pytest.mark.parametrize(
    "text",
    ["", "key", "3f2a", MINE + "00", MINE[:-1] + "g", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
     "-----BEGIN PUBLIC KEY-----\n"],
)  # fmt: skip
def test_a_key_that_cannot_be_read_is_refused(signed: bytes, text: str) -> None:
    assert "the expected key cannot be read" in refusal(signed, text)


def test_faults_of_the_files_are_named_beside_the_signature_s(signed: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(signed)) as opened:
        place = opened.getinfo("synthetic.csv").header_offset + 200
    message = refusal(flipped(signed, place, 255))
    assert CHANGED in message
    assert "synthetic.csv" in message
