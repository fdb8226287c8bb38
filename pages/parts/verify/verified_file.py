"""Uploaded release files, each verified once and not at each rerun of the page."""

from __future__ import annotations

from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine.bundle.isolated import examine_isolated
from dpengine.bundle.verify import Verified
from dpengine.errors import ReleaseError
from dpengine.translation.catalogue import language
from pages.parts.visit.state import visit

__all__ = ["verified"]


def verified(file: UploadedFile, name: str) -> Verified | ReleaseError:
    """Return the result of verifying a file, or what is wrong with it; the session keeps the last one under `name`."""

    def look() -> Verified | ReleaseError:
        try:
            return examine_isolated(file.getvalue())
        except ReleaseError as refused:
            return refused

    return visit().once(name, (file.file_id, language()), look)
