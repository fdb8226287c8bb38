"""Verify: is a release file whole and consistent, and what does it promise?"""

from __future__ import annotations

import io
from fractions import Fraction
from typing import Any

import streamlit as st

from dpengine import files
from dpengine.accuracy import posterior
from dpengine.errors import ReleaseError
from pages.parts.accuracy_words import percent, plain

READABLE = 680


def promise(manifest: dict[str, Any]) -> None:
    """What the release says of itself, in plain words."""
    guarantee = manifest["guarantee"]
    epsilon = Fraction(str(guarantee["epsilon"]))
    st.subheader("What it promises")
    st.markdown(
        f"**ε = {guarantee['epsilon']}**: someone who is 50 % sure that a person is in the table can become at most "
        f"{percent(posterior(0.5, epsilon))} sure by seeing these files, whatever else they know."
    )
    facts = [
        ("Guarantee", guarantee.get("definition")),
        ("Whom it protects", guarantee.get("unit")),
        ("Compared with", guarantee.get("neighbours")),
        ("Whom one trusts", guarantee.get("trust_model")),
    ]
    for name, value in facts:
        if value:
            st.markdown(f"**{name}.** {plain(_sentence(value))}")
    if unprotected := manifest.get("not_protected"):
        st.markdown("**What it does not protect.**\n" + _bullets(unprotected))
    if steps := manifest.get("post_processing"):
        st.markdown("**What was done to the numbers afterwards.**\n" + _bullets(steps))


def contents(manifest: dict[str, Any]) -> None:
    """What was measured and which files lie in the bundle."""
    with st.expander("What was measured", icon=":material/straighten:"):
        st.dataframe(
            [{name: _sentence(value) for name, value in each.items()} for each in manifest["measurements"]],
            hide_index=True,
        )
    with st.expander("The files and their SHA-256", icon=":material/folder_zip:"):
        st.dataframe(
            [{"file": name, "SHA-256": _digest(told)} for name, told in sorted(manifest["files"].items())],
            hide_index=True,
        )


def _digest(told: object) -> str:
    return str(told.get("sha256", "")) if isinstance(told, dict) else str(told)


def _sentence(value: object) -> str:
    """A manifest's value as running text: lists joined, fields named."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_sentence(each)}" for name, each in value.items() if each is not None)
    if isinstance(value, list | tuple):
        return " × ".join(_sentence(each) for each in value)
    return str(value)


def _bullets(lines: object) -> str:
    told = lines if isinstance(lines, list | tuple) else [lines]
    return "\n".join(f"- {plain(_sentence(line))}" for line in told)


def examine(payload: bytes, name: str) -> None:
    try:
        manifest = files.verify(io.BytesIO(payload))
    except ReleaseError as refused:
        with st.container(border=True):
            st.markdown(f":material/rule: **{plain(name)} is not a whole release.**")
            st.markdown(_bullets(list(refused.faults)))
            st.markdown("Ask for the file again from where it comes from, and do not rely on the numbers in this one.")
        return
    with st.container(border=True):
        st.markdown(f":material/task_alt: **{plain(name)} is whole and consistent.**")
        st.markdown(
            "Every file is there and matches its checksum; the tables agree with each other and with the synthetic "
            "rows. That does not show who made the file: get it from a place that you trust."
        )
        st.caption(f"Release {manifest['release_id']}, of {manifest['created'][:10]}")
    promise(manifest)
    contents(manifest)


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
