"""Verify: is a release file whole and consistent, and what does it promise?"""

from __future__ import annotations

import io
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.bundle.verify import PROSE, verify
from dpengine.errors import ReleaseError
from pages.parts.shared.wording import name_of, plain, sure
from pages.parts.visit.state import require_entry

READABLE = 680


def promise(manifest: dict[str, Any]) -> None:
    """What the release says of itself, in plain words."""
    guarantee = manifest["guarantee"]
    most = sure(posterior(0.5, Fraction(guarantee["epsilon"])))
    st.subheader("What it promises")
    st.markdown(
        f"**ε = {guarantee['epsilon']}**: someone who is 50 % sure that a person is in the table can become "
        f"{most} by seeing these files, whatever else they know."
    )
    facts = {
        "Whom it protects": guarantee["unit"]["text"],
        "Neighbouring tables": guarantee["neighbours"],
        "Whom one trusts": guarantee["trust_model"],
        "Its name in the field": f"{guarantee['definition']}, δ = {guarantee['delta']}",
    }
    st.markdown("\n".join(f"- **{name}**: {plain(text)}" for name, text in facts.items()))
    st.markdown("**What it does not protect**")
    st.markdown(_bullets(manifest["not_protected"]))


def contents(manifest: dict[str, Any]) -> None:
    """What lies in the bundle, and how it came about."""
    st.subheader("What it holds")
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
        listed = [{"file": name, "SHA-256": told["sha256"]} for name, told in sorted(manifest["files"].items())]
        st.dataframe(listed, hide_index=True)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines)


def examine(payload: bytes, name: str) -> None:
    try:
        manifest = verify(io.BytesIO(payload))
    except ReleaseError as refused:
        with st.container(border=True):
            st.markdown(f":material/rule: **{plain(name)} is not a whole release.**")
            st.markdown(_bullets(map(str, refused.faults)))
            st.markdown("Ask for the file again from where it comes from, and do not rely on the numbers in this one.")
        return
    with st.container(border=True):
        st.markdown(f":material/task_alt: **{plain(name)} is whole and consistent.**")
        st.markdown(
            "Every file is there and matches its checksum; the tables agree with each other and with the synthetic "
            "rows. That does not show who made the file: get it from a place that you trust. The words in "
            f"{' and '.join((', '.join(PROSE[:-1]), PROSE[-1]))} are not compared with the numbers."
        )
        st.caption(f"Release {manifest['release_id']}, of {manifest['created'][:10]}")
    promise(manifest)
    contents(manifest)


require_entry()
with st.container(horizontal_alignment="center"), st.container(width=READABLE):
    st.title("Verify")
    st.markdown("See whether a release file is whole and consistent, and what it promises to the people in it.")
    bundle = st.file_uploader(
        "Release file",
        type="zip",
        key="verify_file",
        help="The zip file that Publish gives under “Download everything”.",
    )
    st.caption("The file is read here and not kept. It goes nowhere else, and nothing is spent.")
    if bundle is not None:
        examine(bundle.getvalue(), bundle.name)
