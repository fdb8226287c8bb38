"""Releases are signed by the key of their ledger, which is there before noise is drawn and is shown to nobody."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import dpengine as dpe
from dpengine.accounting.signing_key import keep_signing_key, signing_key
from dpengine.bundle import signature
from dpengine.cli import main
from dpengine.measure.strategy_base import Strategy
from dpengine.release import reopen
from tests.bundles import members_of
from tests.earlier import ledgers
from tests.plans import letters_plan

ROWS = pd.DataFrame({"a": ["a0", "a2"] * 20, "b": ["b1"] * 40})
PLAN = letters_plan([3, 4], {"each": 1})


def private(ledger: dpe.Ledger) -> bytes:
    key = signing_key(ledger)
    assert key is not None
    return key.private_bytes_raw()


def command(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == status, done.output
    return done.stdout if status == 0 else done.stderr


def test_a_release_is_signed_by_its_ledger_and_published_again_byte_for_byte(ledger_url: str, tmp_path: Path) -> None:
    ledger = dpe.Ledger(ledger_url)
    release = dpe.release(ROWS, PLAN, ledger)
    release.save(tmp_path / "first.zip")
    bundle = (tmp_path / "first.zip").read_bytes()
    assert dpe.signed_by(bundle) == release.signed_by == command("ledger", "key", "--ledger", ledger_url).split()[1]
    dpe.verify(bundle, release.signed_by)
    for owner in ("", "ann"):  # another owner draws for themselves, under the same key
        view = dpe.Ledger(ledger_url, owner)
        assert dpe.release(ROWS, PLAN, view).signed_by == release.signed_by
    payload = ledger.payload(release.release_id)
    assert payload is not None
    assert release.bundle == dpe.release(ROWS, PLAN, dpe.Ledger(ledger_url)).bundle == bundle
    assert reopen(payload, ledger).bundle == bundle


def test_a_ledger_in_memory_has_a_key_of_its_own() -> None:
    first, second = (dpe.release(ROWS, PLAN).signed_by for _ in range(2))
    assert first is not None
    assert first != second


def test_without_a_key_nothing_is_drawn(ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is made before the first draw: what fails there costs nothing."""

    def full(*_: object) -> None:
        raise dpe.LedgerError("the disk is full")

    ledger = dpe.Ledger(ledger_url)
    monkeypatch.setattr(dpe.Ledger, "keep_key", full)
    monkeypatch.setattr(Strategy, "measure", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(dpe.LedgerError, match="disk is full"):
        dpe.release(ROWS, PLAN, ledger)
    assert ledger.history() == []


def test_after_the_charge_nothing_more_is_asked_of_the_key(ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, named = dpe.Ledger(ledger_url), dpe.Ledger.named_key

    def before_the_charge(self: dpe.Ledger, name: str) -> bytes | None:
        assert self.history() == []
        return named(self, name)

    monkeypatch.setattr(dpe.Ledger, "named_key", before_the_charge)
    assert dpe.release(ROWS, PLAN, ledger).signed_by is not None


def test_the_private_key_is_in_no_bundle_result_message_or_log(
    ledger_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ledger = dpe.Ledger(ledger_url)
    release = dpe.release(ROWS, PLAN, ledger)
    release.save(tmp_path / "r.zip")
    seen = [release.bundle, *members_of(release.bundle).values(), ledger.payload(release.release_id) or b"no"]
    outputs = [repr(release), str(release), repr(ledger.history()), repr(ledger), caplog.text]
    outputs += [command("ledger", "key", *more, "--ledger", ledger_url) for more in ((), ("--json",))]
    outputs += [command("verify", tmp_path / "r.zip"), command("verify", tmp_path / "r.zip", "--json")]
    with pytest.raises(dpe.ReleaseError) as refused:
        dpe.verify(release.bundle, "0" * 32)
    outputs.append(str(refused.value))
    secret = private(ledger)
    forms = secret, secret.hex().encode(), base64.b64encode(secret), repr(secret).encode()
    assert any(form in Path(ledger_url.removeprefix("sqlite:///")).read_bytes() for form in forms)  # the control
    for text in (*seen, *(each.encode() for each in outputs)):
        assert not [form for form in forms if form in text]


def test_a_release_of_an_earlier_version_is_signed_once_there_is_a_key(tmp_path: Path) -> None:
    ledger = dpe.Ledger(ledgers.in_a_file(tmp_path))
    stored = ledger.history()
    release_id = next(entry.release_id for entry in stored if entry.title == "Scores in ranges")
    payload = ledger.payload(release_id)
    assert payload is not None
    before = reopen(payload, ledger)
    assert before.signed_by is None
    dpe.verify(before.bundle)
    keep_signing_key(ledger)
    after = reopen(payload, ledger)
    dpe.verify(after.bundle, after.signed_by)
    assert members_of(after.bundle) == members_of(before.bundle)
    assert ledger.history() == stored


def test_the_command_distinguishes_the_four_outcomes(ledger_url: str, tmp_path: Path) -> None:
    release = dpe.release(ROWS, PLAN, dpe.Ledger(ledger_url))
    signed, unsigned, changed = (tmp_path / f"{name}.zip" for name in ("signed", "unsigned", "changed"))
    release.save(signed)
    unsigned.write_bytes(release.bundle[: -signature.COMMENT_BYTES - 2] + b"\0\0")
    changed.write_bytes(release.bundle[:-1] + (b"1" if release.bundle.endswith(b"0") else b"0"))
    key = tmp_path / "key.pem"
    key.write_text(command("ledger", "key", "--ledger", ledger_url))
    other = keep_signing_key(dpe.Ledger.in_memory()).public_key()

    for expected in (str(release.signed_by), key):
        assert f"signed by {release.signed_by}, as expected" in command("verify", signed, "--key", expected)
        assert "the file is not signed" in command("verify", unsigned, "--key", expected, status=1)
        assert "was changed after it was signed" in command("verify", changed, "--key", expected, status=1)
    output = command("verify", signed)
    assert "not compared with any key" in output
    assert "unknown key proves nothing by itself" in output
    assert "unsigned" in command("verify", unsigned)
    assert "was changed after it was signed" in command("verify", changed, status=1)
    assert "signed by another key" in command("verify", signed, "--key", signature.fingerprint(other), status=1)
    assert "signed by another key" in command("verify", signed, "--key", signature.public_text(other), status=1)
    assert "expected key cannot be read" in command("verify", signed, "--key", tmp_path / "none.pem", status=2)
    keys = [json.loads(command("verify", path, "--json"))["signed_by"] for path in (signed, unsigned)]
    assert keys == [release.signed_by, None]


def test_a_dataset_may_have_the_name_of_a_command(ledger_url: str) -> None:
    command("ledger", "show", "key", "--cap", "2", "--ledger", ledger_url)
    assert json.loads(command("ledger", "show", "key", "--json", "--ledger", ledger_url))[0]["cap"] == "2"
    assert command("ledger", "--ledger", ledger_url).startswith("key: spent 0, cap 2")
    printed = json.loads(command("ledger", "key", "--json", "--ledger", ledger_url))
    assert signature.read_key(printed["public_key"]) == printed["fingerprint"]
