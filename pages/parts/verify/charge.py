"""Say whether the visitor's ledger has charged a verified release, and what its dataset has spent since."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpengine.accounting.entry import Entry
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.signing_key import signing_key
from dpengine.bundle.signature import fingerprint
from dpengine.errors import LedgerError
from dpengine.exact import exactly
from dpengine.translation.catalogue import _, day
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["key_of_the_ledger", "show_charge"]


def key_of_the_ledger() -> str | None:
    """Return the fingerprint of the key of the visitor's ledger; None if it has none, or cannot be used."""
    try:
        key = signing_key(visit().ledger)
    except LedgerError:  # the file can be verified all the same
        return None
    return None if key is None else fingerprint(key.public_key())


def show_charge(manifest: dict[str, Any], signer: str | None, own: str | None) -> None:
    """Say which charge of the visitor's ledger paid for a release; say nothing if there is none.

    `own` is the fingerprint of the ledger's key, if it has one.
    """
    if own is None:
        return
    ledger = visit().ledger
    entry = ledger.entry(manifest["release_id"])
    if entry is None:
        return
    if signer != own:
        text = _(
            ":material/gpp_maybe: **Your ledger has charged a release with this number, but this file is not signed by "
            "your ledger's key.**"
        )
    else:
        text = _charged(ledger, entry)
    st.markdown(text)


def _charged(ledger: Ledger, entry: Entry) -> str:
    cap, spent = ledger.cap(entry.dataset), exactly(ledger.spent(entry.dataset))
    facts = {"day": day(entry.created[:10]), "epsilon": exactly(entry.epsilon), "dataset": plain(entry.dataset)}
    if cap is None:
        return _(
            ":material/receipt_long: **Your ledger has charged this release**, once, on {day}: ε = {epsilon} of the "
            "budget of {dataset}. That dataset has spent ε = {spent} in all, and has no cap.",
            spent=spent,
            **facts,
        )
    return _(
        ":material/receipt_long: **Your ledger has charged this release**, once, on {day}: ε = {epsilon} of the "
        "budget of {dataset}. That dataset has spent ε = {spent} in all, of at most {cap}.",
        spent=spent,
        cap=exactly(cap),
        **facts,
    )
