"""A box that shows what the page does as code to copy or download."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from dpengine.translation.catalogue import _, mark
from pages.parts.shared.code import write
from pages.parts.shared.made_on_click import offer_file

__all__ = ["show_code"]

NO_COMMAND = mark("There is no command for this. Use Python.")


def show_code(
    page: str, values: Callable[[], Mapping[str, Any]], files: Mapping[str, Callable[[], str]] | None = None
) -> None:
    """Show the Python text, the command lines and the notebook of what `page` does with these `values`.

    `files` are the files that the code reads, by name. All is made only while the box is open.
    """
    box = st.expander(_("Show me this as code"), icon=":material/code:", key=f"code-{page}", on_change="rerun")
    if not box.open:
        return
    given, beside = values(), files or {}
    with box:
        as_python, as_command, as_notebook = st.tabs(["Python", _("Command line"), _("Notebook")])
        with as_python:
            st.code(write.python(page, **given), language="python", wrap_lines=True)
        with as_command:
            if command := write.shell(page, **given):
                st.code(command, language="bash", wrap_lines=True)
                st.caption(_("In a checkout that is not installed, write `python -m dpengine` for `private-release`."))
            else:
                st.caption(_(NO_COMMAND))
        with as_notebook:
            st.caption(_("The Python text in cells, for Jupyter. It holds no outputs."))
        name = f"{page}.zip"
        offer_file(
            _("Download all of it, with {files}", files=", ".join(beside)) if beside else _("Download all of it"),
            lambda: _packed(page, given, beside),
            name,
            "application/zip",
            icon=":material/download:",
            key=f"code-{page}-download",
            help=f"{page}.py, {page}.ipynb" + (f", {page}.sh" if write.shell(page, **given) else ""),
        )
        if beside:
            st.caption(_("It needs {files} beside it. No data is in it.", files=", ".join(beside)))


def _packed(page: str, values: Mapping[str, Any], files: Mapping[str, Callable[[], str]]) -> bytes:
    texts = {f"{page}.py": write.python(page, **values), f"{page}.ipynb": write.notebook(page, **values)}
    if command := write.shell(page, **values):
        texts[f"{page}.sh"] = command
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (texts | {name: text() for name, text in files.items()}).items():
            archive.writestr(name, text)
    return packed.getvalue()
