"""Verify page: whether a release file is complete and consistent, which key signed it, and what it promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine.accounting.composition import posterior
from dpengine.bundle.isolated import examine_apart
from dpengine.bundle.signature import MEANING, read_key
from dpengine.bundle.verify import PROSE, Verified
from dpengine.errors import ReleaseError
from pages.parts.shared.code.show import show_code
from pages.parts.shared.demo import file_box, is_demo
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import name_of, people, plain, sure
from pages.parts.visit.state import require_entry

READABLE = 680


def promise(manifest: dict[str, Any]) -> None:
    """Show in plain words what the release promises."""
    guarantee = manifest["guarantee"]
    belief = sure(posterior(0.5, Fraction(guarantee["epsilon"])))
    st.subheader("What it promises", help=term("differential-privacy"))
    st.markdown(
        f"**ε = {guarantee['epsilon']}**: someone who is 50 % sure that a person is in the table can become "
        f"{belief} by seeing these files, whatever else they know."
    )
    facts = {
        "Whom it protects": guarantee["unit"]["text"],
        "Neighbouring tables": guarantee["neighbours"],
        "Who must be trusted": guarantee["trust_model"],
        "Technical term": f"{guarantee['definition']}, δ = {guarantee['delta']}",
    }
    st.markdown("\n".join(f"- **{name}**: {plain(text)}" for name, text in facts.items()))
    st.markdown("**What it does not protect**")
    st.markdown(_bullets(manifest["not_protected"]))


def contents(manifest: dict[str, Any], headings: Mapping[str, str]) -> None:
    """Show what the bundle contains, and how it was measured; tables are called by their `headings`."""
    st.subheader("What it contains", help=term("bundle"))
    tables = [
        {
            "table": headings[name_of(tuple(each["columns"]))],
            "cells": each["cells"],
            "within": people(each["half_width_95"]),
        }
        for each in manifest["tables"]
    ]
    columns = {
        "cells": st.column_config.NumberColumn("cells", format="%,d"),
        "within": st.column_config.TextColumn("95 in 100 counts within ±", alignment="right"),
    }
    st.dataframe(tables, hide_index=True, column_config=columns, alt="Published tables and their error")
    with st.expander("What was measured, at what price", icon=":material/straighten:"):
        measured = [_measured(each, headings) for each in manifest["measurements"]]
        st.dataframe(measured, hide_index=True, alt="Measurements with their noise and their part of ε")
        st.markdown(_bullets(manifest["post_processing"]))
    with st.expander("Files and their SHA-256", icon=":material/folder_zip:"):
        listed = [{"file": name, "SHA-256": facts["sha256"]} for name, facts in sorted(manifest["files"].items())]
        st.dataframe(listed, hide_index=True)


def _measured(entry: Mapping[str, Any], headings: Mapping[str, str]) -> dict[str, Any]:
    """Return a measurement for readers: its table by its heading, its fractions with their decimal value."""
    exact = {key: f"{float(Fraction(entry[key])):.4g} ({entry[key]})" for key in ("epsilon", "scale")
             if "/" in entry[key]}  # fmt: skip
    table = headings[name_of(tuple(entry["columns"]))]
    return {"table": table} | {key: value for key, value in entry.items() if key != "columns"} | exact


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines)


def checked(file: UploadedFile) -> Verified | ReleaseError:
    """Return the result of verifying a file or what is wrong with it; each file is verified once, not at each rerun."""
    known: tuple[str, Verified | ReleaseError] | None = st.session_state.get("verify_outcome")
    if known is not None and known[0] == file.file_id:
        return known[1]
    outcome: Verified | ReleaseError
    try:
        outcome = examine_apart(file.getvalue())
    except ReleaseError as refused:
        outcome = refused
    st.session_state["verify_outcome"] = (file.file_id, outcome)
    return outcome


def ask_for_key() -> tuple[str | None, bool]:
    """Ask for the publisher's key; return its fingerprint or None, and whether the typed text is no key."""
    text = st.text_area(
        "The publisher's key, if you know it",
        key="verify_key",
        placeholder="for example 3f2a-91c0-…",
        height=68,
        help=term(
            "signature",
            "Its fingerprint or its text, from the publisher's own site or letter. Then a file that is unsigned, or "
            "signed by another key, is refused.",
        ),
    )
    if not text.strip():
        return None, False
    try:
        return read_key(text), False
    except ReleaseError as refused:
        st.warning(plain(f"{str(refused)[:1].upper()}{str(refused)[1:]}."), icon=":material/edit:")
        return None, True


def examine(outcome: Verified | ReleaseError, name: str, expected: str | None, unread: bool) -> None:
    """Show what a release file promises, or why it is refused."""
    if isinstance(outcome, ReleaseError):
        with st.container(border=True):
            st.markdown(f":material/rule: **{plain(name)} is not a complete release.**")
            st.markdown(_bullets(map(str, outcome.faults)))
            st.markdown("Get the file again from its source, and do not rely on the numbers in this one.")
        return
    manifest, signer, headings = outcome
    if expected is not None and signer != expected:
        with st.container(border=True):
            how = "not signed" if signer is None else f"signed by another key, `{signer}`"
            st.markdown(f":material/gpp_bad: **{plain(name)} is {how}.**")
            st.markdown(
                f"It was to be signed by the key `{expected}`. So it is not what the holder of that key published, or "
                "its signature was taken away. Get the file again from its source."
            )
        return
    with st.container(border=True):
        but = ", but the key that you typed was not checked: it cannot be read" if unread else ""
        icon = "key_off" if unread else "task_alt"
        st.markdown(f":material/{icon}: **{plain(name)} is complete and consistent{but}.**")
        st.markdown(
            "Every file is there and matches its checksum; the tables agree with each other and with the synthetic "
            f"rows. The text in {' and '.join((', '.join(PROSE[:-1]), PROSE[-1]))} is not compared with the numbers."
        )
        st.markdown(_signature(signer, expected))
        titled = f"{plain(manifest['title'])} · " if manifest["title"] else ""
        of = f"{titled}dataset {plain(manifest['dataset'])} · published on {manifest['created'][:10]}"
        st.caption(f"{of} · release {manifest['release_id']}")
    promise(manifest)
    contents(manifest, headings)


def _signature(signer: str | None, expected: str | None) -> str:
    """Say whether the file is signed, and what follows from that."""
    if signer is None:
        return (
            ":material/draft: **Not signed.** An earlier version made this file, or its signature was taken away; "
            "nothing shows who made it, or whether it was changed with care. Get it from a source that you trust."
        )
    if signer == expected:
        return f":material/verified: **Signed by the key that you expect**, `{signer}`. {MEANING}"
    return f":material/key: **Signed by the key `{signer}`**, which was not compared with another. {MEANING}"


require_entry()
with st.container(horizontal_alignment="center"), st.container(width=READABLE):
    st.title("Verify")
    st.markdown(
        "See whether a release file is complete and consistent, who signed it, and what it promises to the people in "
        "it."
    )
    bundle = file_box(
        "Release file",
        type="zip",
        key="verify_file",
        help="The zip file that Publish gives under “Download everything”.",
    )
    wanted, unreadable = None, False
    if not is_demo():
        st.caption("The file is read here and not kept. It goes nowhere else, and nothing is spent.")
        wanted, unreadable = ask_for_key()
    if bundle is not None:
        examine(checked(bundle), bundle.name, wanted, unreadable)
    show_code("verify", lambda: {"bundle": "release.zip" if bundle is None else bundle.name, "key": wanted})
