"""Files that are made when a visitor asks for them, and kept until the visitor's browser has fetched them.

Streamlit makes such a file upon the click and then tells the browser to fetch it. Meanwhile nothing keeps the file: it
is gone as soon as two page runs of any visitors have ended, which on a busy server may be too early. And if it cannot
be made, Streamlit says so for five seconds, and not why: `page_script.js` asks for another run, which shows the reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from dpengine.errors import PrivateReleaseError
from dpengine.translation.catalogue import _, language, speaking
from pages.parts.shared.wording import plain

__all__ = ["OCTETS", "offer_file"]

OCTETS = "application/octet-stream"
MAX_SHOWN = 5  # reasons why a file could not be made
FAILED = "files_not_made"  # in the session's state: why a file could not be made, by the key of its button


def offer_file(
    label: str, make: Callable[[], bytes], file_name: str, mime: str, *, key: str, icon: str,
    place: DeltaGenerator | None = None, **look: Any,
) -> None:  # fmt: skip
    """Show a button for a file that is made upon a click, and why it was not if the last click failed.

    `look` goes to Streamlit's button. A click does not draw the page anew.
    """
    failed: dict[str, str] = st.session_state.setdefault(FAILED, {})
    made = _made_and_held(make, file_name, mime, lambda reason: failed.update({key: reason}))
    with place or nullcontext():
        st.download_button(label, made, file_name, mime, key=key, icon=icon, on_click="ignore", **look)
        if key in failed:
            st.error(failed.pop(key), icon=":material/error:")


def _made_and_held(
    make: Callable[[], bytes], file_name: str, mime: str, note: Callable[[str], None]
) -> Callable[[], bytes]:
    """Wrap `make` so that the visitor's session keeps the file, and `note` receives the reason if it fails.

    It is made in the language of the page, although not by a run of it. The file is kept until the session makes
    another one, or its page is drawn again.
    """
    context, spoken = get_script_run_ctx(), language()

    def made() -> bytes:
        with speaking(spoken):
            try:
                content = make()
            except Exception as error:
                note(_reason(error, file_name))
                raise
        # Streamlit finds the session of a file by its thread.
        holding = threading.Thread(target=_hold, args=(content, file_name, mime))
        add_script_run_ctx(holding, context)
        holding.start()
        holding.join()
        return content

    return made


def _reason(error: Exception, file_name: str) -> str:
    """Say why a file was not made; what the server's operator alone may read is left to its log."""
    start = _("{file} could not be made.", file=plain(file_name))
    if isinstance(error, PrivateReleaseError):
        return f"{start} {plain('; '.join(fault.text for fault in error.faults[:MAX_SHOWN]))}"
    if isinstance(error, MemoryError):
        return f"{start} " + _("The server has too little memory for it. Try again later, or choose a smaller file.")
    return f"{start} " + _(
        "Nothing was spent. Try again; if it fails again, ask those who run this server: its log says why."
    )


def _hold(content: bytes, file_name: str, mime: str) -> None:
    files = runtime.get_instance().media_file_mgr
    files.add(content, mime, "made-on-click", file_name, is_for_static_download=True)
