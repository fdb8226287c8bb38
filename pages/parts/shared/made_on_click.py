"""Files that are made when a visitor asks for them, and kept until the visitor's browser has fetched them.

Streamlit makes such a file upon the click and then tells the browser to fetch it. Meanwhile nothing keeps the file: it
is gone as soon as two page runs of any visitors have ended, which on a busy server may be too early.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from streamlit import runtime
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from dpengine.translation.catalogue import language, speaking

__all__ = ["OCTETS", "made_on_click"]

OCTETS = "application/octet-stream"


def made_on_click(make: Callable[[], bytes], file_name: str, mime: str) -> Callable[[], bytes]:
    """Return `make` such that the visitor's session keeps the file; for a download button of that file name and type.

    It is made in the language of the page, although not by a run of it. The file is kept until the session makes
    another one, or its page is drawn again.
    """
    context, spoken = get_script_run_ctx(), language()

    def made() -> bytes:
        with speaking(spoken):
            content = make()
        # Streamlit finds the session of a file by its thread.
        holding = threading.Thread(target=_hold, args=(content, file_name, mime))
        add_script_run_ctx(holding, context)
        holding.start()
        holding.join()
        return content

    return made


def _hold(content: bytes, file_name: str, mime: str) -> None:
    files = runtime.get_instance().media_file_mgr
    files.add(content, mime, "made-on-click", file_name, is_for_static_download=True)
