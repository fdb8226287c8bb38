"""A demonstration for visitors: public samples only, no files, no databases, and nothing is kept.

`private-release demo` serves it. Each visitor has a ledger of their own in memory, which goes when they leave.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpengine.settings import settings
from dpengine.translation.catalogue import _, mark

__all__ = ["NO_FILES", "file_box", "is_demo", "ledger_address", "show_banner"]

NO_FILES = mark("This demonstration takes no files.")


def is_demo() -> bool:
    """Whether this server is a demonstration."""
    return settings().demo


def ledger_address() -> str | None:
    """Return the address of a visitor's ledger: in a demonstration one in memory, else None for the operator's.

    >>> ledger_address()
    """
    return "sqlite://" if is_demo() else None


def show_banner(*, short: bool = False) -> None:
    """Say on each page of a demonstration that it is one, in one line if `short`."""
    if is_demo():
        with st.container(key="demo-banner"):
            st.info(
                _("**Demonstration with public samples.**")
                if short
                else _(
                    "**Demonstration with public samples.** It takes no files. What you do here is seen by nobody else "
                    "and is gone when you leave or reload the page."
                ),
                icon=":material/co_present:",
            )


def file_box(label: str, **options: Any) -> Any:
    """Show Streamlit's box for a file and return its result; a demonstration says that it takes no files."""
    if is_demo():
        st.caption(":material/block: " + _("{box}: this demonstration takes no files.", box=label))
        return [] if options.get("accept_multiple_files") else None
    return st.file_uploader(label, **options)
