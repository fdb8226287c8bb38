"""The databases from which the operator lets owners choose tables, listed in Streamlit's secrets."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from dpengine.sources.connections import Connection
from pages.parts.access.settings import CONNECTIONS

__all__ = ["databases"]


def databases(allowed: Collection[str] | None = None) -> dict[str, Connection]:
    """Return the databases by the operator's names for them; with `allowed`, only those with these names."""
    if not st.secrets.load_if_toml_exists():
        return {}
    section = st.secrets.get(CONNECTIONS, {})
    return {
        str(name): {str(key): str(value) for key, value in entry.items()}
        for name, entry in section.items()
        if allowed is None or name in allowed
    }
