"""A box that shows what the page is about to do as text that runs, to copy or to download."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from pages.parts.shared.code import write
from pages.parts.shared.made_on_click import made_on_click

__all__ = ["show_code"]

NO_COMMAND = "There is no command for this. Use Python."


def show_code(
    page: str, values: Callable[[], Mapping[str, Any]], files: Mapping[str, Callable[[], str]] | None = None
) -> None:
    """Show the Python text, the command lines and the notebook of what `page` does with these `values`.

    `files` are what has to lie beside them, by name. All is worked out only while the box is open.
    """
    box = st.expander("Show me this as code", icon=":material/code:", key=f"code-{page}", on_change="rerun")
    if not box.open:
        return
    given, beside = values(), files or {}
    with box:
        as_python, as_command, as_notebook = st.tabs(["Python", "Command line", "Notebook"])
        with as_python:
            st.code(write.python(page, **given), language="python", wrap_lines=True)
        with as_command:
            if command := write.shell(page, **given):
                st.code(command, language="bash", wrap_lines=True)
                st.caption("In a checkout that is not installed, write `python -m dpengine` for `private-release`.")
            else:
                st.caption(NO_COMMAND)
        with as_notebook:
            st.caption("The Python text in cells, for Jupyter. It holds no outputs.")
        name = f"{page}.zip"
        st.download_button(
            "Download all of it" + (f", with {', '.join(beside)}" if beside else ""),
            made_on_click(lambda: _packed(page, given, beside), name, "application/zip"),
            name,
            "application/zip",
            icon=":material/download:",
            key=f"code-{page}-download",
            on_click="ignore",
            help=f"{page}.py, {page}.ipynb" + (f", {page}.sh" if write.shell(page, **given) else ""),
        )
        if beside:
            st.caption(f"It needs {', '.join(beside)} beside it. No data is in it.")


def _packed(page: str, values: Mapping[str, Any], files: Mapping[str, Callable[[], str]]) -> bytes:
    texts = {f"{page}.py": write.python(page, **values), f"{page}.ipynb": write.notebook(page, **values)}
    if command := write.shell(page, **values):
        texts[f"{page}.sh"] = command
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (texts | {name: text() for name, text in files.items()}).items():
            archive.writestr(name, text)
    return packed.getvalue()
