"""Verify: whether a release file is complete and consistent, and what it promises."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine.accounting.composition import posterior
from dpengine.bundle.isolated import verify_apart
from dpengine.bundle.verify import PROSE
from dpengine.errors import ReleaseError
from pages.parts.shared.wording import name_of, plain, sure
from pages.parts.visit.state import require_entry

READABLE = 680


def promise(manifest: dict[str, Any]) -> None:
    """Show what the release promises, in plain words."""
    guarantee = manifest["guarantee"]
    belief = sure(posterior(0.5, Fraction(guarantee["epsilon"])))
    st.subheader("What it promises")
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


def contents(manifest: dict[str, Any]) -> None:
    """Show what the bundle contains, and how it was measured."""
    st.subheader("What it contains")
    tables = [
        {"table": name_of(tuple(each["columns"])), "cells": each["cells"], "within": each["half_width_95"]}
        for each in manifest["tables"]
    ]
    columns = {
        "cells": st.column_config.NumberColumn("cells", format="localized"),
        "within": st.column_config.NumberColumn("95 in 100 counts within ±", format="%.4g"),
    }
    st.dataframe(tables, hide_index=True, column_config=columns, alt="Published tables and their error")
    with st.expander("What was measured, at what price", icon=":material/straighten:"):
        st.dataframe([each | {"columns": name_of(tuple(each["columns"]))} for each in manifest["measurements"]],
                     hide_index=True)  # fmt: skip
        st.markdown(_bullets(manifest["post_processing"]))
    with st.expander("Files and their SHA-256", icon=":material/folder_zip:"):
        listed = [{"file": name, "SHA-256": facts["sha256"]} for name, facts in sorted(manifest["files"].items())]
        st.dataframe(listed, hide_index=True)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines)


def checked(file: UploadedFile) -> dict[str, Any] | ReleaseError:
    """Return the manifest of a release file or what is wrong with it; each file is verified once, not at each rerun."""
    known: tuple[str, dict[str, Any] | ReleaseError] | None = st.session_state.get("verify_outcome")
    if known is not None and known[0] == file.file_id:
        return known[1]
    outcome: dict[str, Any] | ReleaseError
    try:
        outcome = verify_apart(file.getvalue())
    except ReleaseError as refused:
        outcome = refused
    st.session_state["verify_outcome"] = (file.file_id, outcome)
    return outcome


def examine(manifest: dict[str, Any] | ReleaseError, name: str) -> None:
    """Show what a release file promises, or its faults."""
    if isinstance(manifest, ReleaseError):
        with st.container(border=True):
            st.markdown(f":material/rule: **{plain(name)} is not a complete release.**")
            st.markdown(_bullets(map(str, manifest.faults)))
            st.markdown("Get the file again from its source, and do not rely on the numbers in this one.")
        return
    with st.container(border=True):
        st.markdown(f":material/task_alt: **{plain(name)} is complete and consistent.**")
        st.markdown(
            "Every file is there and matches its checksum; the tables agree with each other and with the synthetic "
            "rows. This does not show who made the file: get it from a source that you trust. The text in "
            f"{' and '.join((', '.join(PROSE[:-1]), PROSE[-1]))} is not compared with the numbers."
        )
        st.caption(f"Release {manifest['release_id']}, of {manifest['created'][:10]}")
    promise(manifest)
    contents(manifest)


require_entry()
with st.container(horizontal_alignment="center"), st.container(width=READABLE):
    st.title("Verify")
    st.markdown("See whether a release file is complete and consistent, and what it promises to the people in it.")
    bundle = st.file_uploader(
        "Release file",
        type="zip",
        key="verify_file",
        help="The zip file that Publish gives under “Download everything”.",
    )
    st.caption("The file is read here and not kept. It goes nowhere else, and nothing is spent.")
    if bundle is not None:
        examine(checked(bundle), bundle.name)
