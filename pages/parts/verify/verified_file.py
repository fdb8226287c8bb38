"""Uploaded release files, each verified once and not at each rerun of the page."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine.bundle.isolated import examine_apart
from dpengine.bundle.verify import Verified
from dpengine.errors import ReleaseError
from dpengine.translation.catalogue import language

__all__ = ["verified"]


def verified(file: UploadedFile, name: str) -> Verified | ReleaseError:
    """Return the result of verifying a file, or what is wrong with it; the session keeps the last one under `name`."""
    key = file.file_id, language()
    known: tuple[tuple[str, str], Verified | ReleaseError] | None = st.session_state.get(name)
    if known is not None and known[0] == key:
        return known[1]
    outcome: Verified | ReleaseError
    try:
        outcome = examine_apart(file.getvalue())
    except ReleaseError as refused:
        outcome = refused
    st.session_state[name] = (key, outcome)
    return outcome
