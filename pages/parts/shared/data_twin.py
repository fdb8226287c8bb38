"""The numbers of a figure as a table and as a file, for those who would rather read than look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dpengine import safe_csv
from pages.parts.shared.made_on_click import made_on_click

__all__ = ["PREDICTED", "twin"]

# How the columns of `predict`, and others with these names, are shown.
PREDICTED: dict[str, Any] = {
    "epsilon": st.column_config.NumberColumn("ε", format="%g"),
    "table": st.column_config.TextColumn("table"),
    "cells": st.column_config.NumberColumn("cells", format="%,d"),
    "mean_abs_error": st.column_config.NumberColumn("typically off by", format="%.3g"),
    "half_width_95": st.column_config.NumberColumn("95 in 100 within ±", format="%.4g"),
    "total_half_width_95": st.column_config.NumberColumn("total within ±", format="%.4g"),
    "average": st.column_config.NumberColumn("average count", format="%,.1f"),
    "relative": st.column_config.NumberColumn("± in % of it", format="percent"),
    "noisy": st.column_config.NumberColumn("mostly noise", format="percent"),
}


def twin(frame: pd.DataFrame, key: str, columns: Mapping[str, Any] | None = None, *, private: bool = False) -> None:
    """Show the numbers of a figure as a folded table; `columns` says how, instead of `PREDICTED`.

    A `private` table, as of true counts, has no button to save it.
    """
    with st.expander("The same as a table", icon=":material/table_rows:", key=f"twin-{key}"):
        with st.container(key=f"{'private' if private else 'shown'}-twin-{key}"):
            st.dataframe(frame, hide_index=True, column_config=columns or PREDICTED)
        if not private:
            st.download_button(
                "Download as CSV",
                made_on_click(lambda: safe_csv.from_frame(frame), f"{key}.csv", "text/csv"),
                f"{key}.csv",
                "text/csv",
                icon=":material/download:",
                on_click="ignore",
                key=f"twin-csv-{key}",
            )
