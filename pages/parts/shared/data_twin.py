"""The numbers of a figure as a table and as a file, for readers who prefer numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dpengine import safe_csv
from dpengine.results.published_columns import measures
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.number_table import show_numbers

__all__ = ["interval_columns", "measured_columns", "predicted_columns", "twin"]


def predicted_columns() -> dict[str, Any]:
    """Return how to show the columns of `predict`, and others with these names."""
    return {
        "epsilon": st.column_config.NumberColumn("ε", format="%g"),
        "table": st.column_config.TextColumn(_("table")),
        "counts": st.column_config.TextColumn(_("what is counted")),
        "cells": st.column_config.NumberColumn(_("cells"), format="%,d"),
        "mean_abs_error": st.column_config.NumberColumn(_("typically off by"), format="%.2g"),
        "half_width_95": st.column_config.NumberColumn(_("95 in 100 within ±"), format="%.2g"),
        "total_half_width_95": st.column_config.NumberColumn(_("total within ±"), format="%.2g"),
        "average": st.column_config.NumberColumn(_("average count"), format="%.3g"),
        "relative": st.column_config.NumberColumn(_("± in % of it"), format="percent"),
        "noisy": st.column_config.NumberColumn(_("mostly noise"), format="percent"),
    }


def measured_columns(plan: Plan) -> dict[str, Any]:
    """Return how to show those columns of `predict` that hold errors of means, sums and quantiles."""
    return {
        f"{name}_half_width_95": st.column_config.NumberColumn(_("{what} within ±", what=heading), format="%.3g")
        for measure in measures(plan, ())
        for name, heading in zip(measure.names, measure.headings(plan), strict=True)
    }


def interval_columns(form: str, name: str = "") -> dict[str, Any]:
    """Return how to show both ends of a 95 % interval: those of the column `name`, or of counts, whose ends have none.

    >>> [*interval_columns("%,d")], [*interval_columns("%.1f", "mean_pay")]
    (['low', 'high'], ['mean_pay_low', 'mean_pay_high'])
    """
    low, high = (f"{name}_{end}" if name else end for end in ("low", "high"))
    return {
        low: st.column_config.NumberColumn(_("low"), format=form, help=_("95 % interval, lower end.")),
        high: st.column_config.NumberColumn(_("high"), format=form, help=_("95 % interval, upper end.")),
    }


def twin(frame: pd.DataFrame, key: str, columns: Mapping[str, Any], *, private: bool = False) -> None:
    """Show the numbers of a figure as a folded table.

    `columns` says how each column is shown. A `private` table, such as one of true counts, has no button to save it.
    """
    with st.expander(_("The same as a table"), icon=":material/table_rows:", key=f"twin-{key}"):
        with st.container(key=f"{'private' if private else 'shown'}-twin-{key}"):
            show_numbers(frame, columns)
        if not private:
            offer_file(
                _("Download as CSV"),
                lambda: safe_csv.from_frame(frame),
                f"{key}.csv",
                "text/csv",
                icon=":material/download:",
                key=f"twin-csv-{key}",
            )
