"""The command line verifies a bundle against the ledger that charged it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpengine import Ledger, Plan, preview, verify
from dpengine.accounting.signing_key import signing_key
from dpengine.bundle import write
from tests.bundle.test_signature import unsigned
from tests.bundles import members_of, stated, with_portals, zipped
from tests.command import run
from tests.plans import CLINIC

DEARER = CLINIC.replace('epsilon: "1"', 'epsilon: "2"')


def publish(folder: Path, plan: str, url: str) -> Path:
    """Publish one row by a plan; return the bundle."""
    (folder / "plan.yaml").write_text(plan, encoding="utf-8")
    (folder / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    done = run("release", folder / "plan.yaml", folder / "t.csv", "-o", folder / "r.zip", "--ledger", url, "--json")
    assert json.loads(done.stdout)["charged"] == Plan.loads(plan).model_dump(mode="json")["epsilon"]
    return (folder / "r.zip").rename(folder / f"{json.loads(done.stdout)['release_id']}.zip")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/l.db"


def test_a_bundle_is_verified_against_the_ledger_that_charged_it(tmp_path: Path, url: str) -> None:
    bundle, other = publish(tmp_path, CLINIC, url), f"sqlite:///{tmp_path}/other.db"
    publish(tmp_path, DEARER, url)
    assert ", which is not compared with any key" in run("verify", bundle).stdout
    done = run("verify", bundle, "--ledger", url)
    assert done.exit_code == 0
    assert "the key of the ledger" in done.stdout
    assert "in the ledger: charged once, ε = 1 of clinic-2026 at " in done.stdout
    assert "in the ledger: clinic-2026 spent 3 in all; no cap is set" in done.stdout
    run("ledger", "clinic-2026", "--cap", "4", "--ledger", url)
    by_default = run("verify", bundle, "--charged", "--json", PRIVATE_RELEASE_LEDGER=url)
    assert json.loads(by_default.stdout)["charge"] == {
        "dataset": "clinic-2026", "created": verify(bundle)["created"], "epsilon": "1", "spent": "3", "cap": "4",
    }  # fmt: skip
    missing = run("verify", bundle, "--ledger", other)
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert not (tmp_path / "other.db").exists()
    publish(tmp_path, CLINIC, other)  # another draw, and another key
    wrong = run("verify", bundle, "--ledger", other)
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert wrong.stderr == "private-release: the ledger has no charge for this release\n"
    assert "charge" not in json.loads(run("verify", bundle, "--json").stdout)


def test_a_bundle_that_the_ledgers_key_did_not_sign_is_not_that_of_the_ledger(tmp_path: Path, url: str) -> None:
    bundle = publish(tmp_path, CLINIC, url).read_bytes()
    another = zipped(members_of(bundle), rehash=False, key=Ed25519PrivateKey.from_private_bytes(bytes(32)))
    for forged in (unsigned(bundle), another):
        (tmp_path / "f.zip").write_bytes(forged)
        assert run("verify", tmp_path / "f.zip").exit_code == 0
        assert "not signed by the ledger's key" in run("verify", tmp_path / "f.zip", "--ledger", url).stderr


def test_a_bundle_of_another_price_than_was_charged_is_refused(tmp_path: Path, url: str) -> None:
    """Its number is that of a charge, and the ledger's key has signed it."""
    charged, forged = publish(tmp_path, CLINIC, url), tmp_path / "f.zip"
    dearer = members_of(write.pack(preview(Plan.loads(DEARER))))
    stated("release_id", value=charged.stem)(dearer)
    forged.write_bytes(zipped(with_portals(dearer), key=signing_key(Ledger(url))))
    assert run("verify", forged).exit_code == 0
    done = run("verify", forged, "--ledger", url)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "private-release: the ledger has charged ε = 1 for this release\n"
