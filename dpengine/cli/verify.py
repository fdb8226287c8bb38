"""The command that verifies a bundle, by itself and against the ledger that published it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dpengine.cli.options import PATH, LedgerPart, check_address, option, part_options, reporting
from dpengine.cli.output import exact_or_none, say
from dpengine.errors import ReleaseError
from dpengine.exact import exact_text, rational

__all__ = ["verify"]


@click.command()
@click.argument("bundle", type=PATH)
@click.option(
    "--key",
    metavar="FILE|TEXT",
    help="The key that must have signed BUNDLE: its fingerprint, or a file with what `ledger key` prints.",
)
@click.option("--charged", is_flag=True, help="BUNDLE must be charged in the ledger, and signed by the ledger's key.")
@part_options
@reporting
def verify(bundle: Path, key: str | None, charged: bool, part: LedgerPart, as_json: bool) -> None:
    """Check that BUNDLE is whole and consistent, and who signed it.

    With --charged or --ledger, also check the whole ledger, and that it holds the charge of BUNDLE.
    """
    from dpengine.bundle.signature import MEANING, read_key
    from dpengine.bundle.verify import PROSE, examine

    expected = None if key is None else option(read_key, _key_text(key))
    manifest, signer, *_ = examine(bundle, expected)
    charge = _charge_in(part, manifest, signer) if charged or part.url is not None else None
    if as_json:
        found = {"release_id": manifest["release_id"], "guarantee": manifest["guarantee"], "faults": []}
        signed = {"not_read": PROSE, "signed_by": signer, "expected_key": expected}
        click.echo(json.dumps(found | signed | ({} if charge is None else {"charge": charge})))
        return
    epsilon = manifest["guarantee"]["epsilon"]
    say(f"{bundle.name}: whole and consistent; release {manifest['release_id']}, ε = {epsilon}")
    click.echo(f"not read: the text of {', '.join(PROSE)}; only their checksums are compared with the manifest")
    if signer is None:
        click.echo("unsigned: an earlier version made this file, or its signature was taken away; anyone may have "
                   "changed it. If you expect a signature, give its key with --key")  # fmt: skip
        return
    compared = "as expected" if expected is not None else "the key of the ledger" if charge is not None else None
    click.echo(f"signed by {signer}, {compared or 'which is not compared with any key'}")
    click.echo(MEANING)
    if charge is not None:
        cap = "no cap is set" if charge["cap"] is None else f"the cap is {charge['cap']}"
        say(f"in the ledger: charged once, ε = {charge['epsilon']} of {charge['dataset']} at {charge['created']}")
        say(f"in the ledger: {charge['dataset']} spent {charge['spent']} in all; {cap}")


def _charge_in(part: LedgerPart, manifest: Mapping[str, Any], signer: str | None) -> dict[str, Any]:
    """Return the charge of a release in a ledger; raise ReleaseError if it is not there, or says something else."""
    from dpengine.accounting import upkeep
    from dpengine.accounting.signing_key import signing_key
    from dpengine.bundle.signature import fingerprint

    check_address(part.url)
    upkeep.check(part.url)
    ledger = part.open()
    entry, key = ledger.entry(manifest["release_id"]), signing_key(ledger)
    if entry is None:
        raise ReleaseError("the ledger has no charge for this release")
    if key is None or signer != fingerprint(key.public_key()):
        raise ReleaseError("the ledger has charged this release, but the file is not signed by the ledger's key")
    if entry.epsilon != rational(manifest["guarantee"]["epsilon"]):
        raise ReleaseError(f"the ledger has charged ε = {exact_text(entry.epsilon)} for this release")
    return {
        "dataset": entry.dataset,
        "created": entry.created,
        "epsilon": exact_text(entry.epsilon),
        "spent": exact_text(ledger.spent(entry.dataset)),
        "cap": exact_or_none(ledger.cap(entry.dataset)),
    }


def _key_text(given: str) -> str | bytes:
    """Return the text of a key: the beginning of a file of this name, or else the name itself."""
    try:
        with open(given, "rb") as file:
            return file.read(10_000)
    except (OSError, ValueError):
        return given
