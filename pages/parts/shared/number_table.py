"""A table of numbers on the page, with the decimal and thousands marks of the visitor's language."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpengine.translation.catalogue import ENGLISH, language, localised

__all__ = ["in_language", "lined_up", "show_numbers"]

SPAN = 1_000  # a column whose largest number is this many times the smallest keeps its significant digits
THOUSAND = 1_000  # from here on such numbers become texts: Streamlit separates no thousands of significant digits
_FORMAT = re.compile(r"%(?P<flags>[+,]*)(?:\.(?P<digits>\d+))?(?P<kind>[dfg])(?P<after>.*)")


def show_numbers(
    numbers: pd.DataFrame, columns: Mapping[str, Any], *, place: DeltaGenerator | None = None, **options: Any
) -> None:
    """Show a table whose number columns have an English format such as `%,d`, in the page's language.

    A number that is not known is shown as a dash.
    """
    frame, config = in_language(*lined_up(numbers, columns), st.context.locale or "")
    shown = st if place is None else place
    shown.dataframe(frame, hide_index=True, column_config=config, placeholder="–", **options)


def lined_up(frame: pd.DataFrame, columns: Mapping[str, Any]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table and how to show its columns, each with one number of decimals, so that its numbers line up.

    This is for formats such as `%.3g`, whose smallest number gets that many digits, and for `percent`. Numbers that are
    then all whole have no decimals. Numbers of very different sizes keep their significant digits.

    >>> frame = pd.DataFrame({"off": [2.811, 11.6], "part": [0.0004, 0.1234]})
    >>> columns = {"off": st.column_config.NumberColumn("off", format="%.3g"),
    ...            "part": st.column_config.NumberColumn("part", format="percent")}
    >>> shown, config = lined_up(frame, columns)
    >>> [config[name]["type_config"]["format"] for name in columns], list(shown["part"].round(2))
    (['%,.2f', '%,.2f %%'], [0.04, 12.34])
    >>> bar = {"part": st.column_config.ProgressColumn("part", format="percent", min_value=0, max_value=1)}
    >>> lined_up(frame, bar)[1]["part"]["type_config"]["max_value"]
    100
    >>> whole = pd.DataFrame({"off": [3.0, 15.9999999]})
    >>> lined_up(whole, columns)[1]["off"]["type_config"]["format"]
    '%,.0f'
    >>> list(lined_up(pd.DataFrame({"off": [0.1234, 1123.4]}), columns)[0]["off"])
    ['0.123', '1,120']
    """
    shown, config = frame.copy(), dict(columns)
    for name in frame.columns:
        column = columns.get(name)
        if not isinstance(column, dict):
            continue
        form = str(column["type_config"].get("format"))
        match, percents = _FORMAT.fullmatch(form), form == "percent"
        if not percents and (match is None or match["kind"] != "g" or not match["digits"]):
            continue
        shown[name] = frame[name] * 100 if percents else frame[name]
        sizes = shown[name].abs()[lambda each: each > 0]
        if match is not None and (sizes.empty or sizes.max() >= SPAN * sizes.min()):
            if not sizes.empty and sizes.max() >= THOUSAND:
                shown[name], config[name] = _as_texts(frame[name], column, _FORMAT.fullmatch(f"%,{form[1:]}") or match)
            continue
        digits = 2 if match is None else int(match["digits"])
        decimals = max(0, digits - 1 - math.floor(math.log10(sizes.min()))) if len(sizes) else 0
        if match is not None and (shown[name].round(decimals) % 1 == 0).all():
            decimals = 0
        form = f"%,.{min(2, decimals)}f %%" if percents else f"%,.{decimals}f"
        config[name] = column | {"type_config": column["type_config"] | {"format": form} | _ends(column, percents)}
    return shown, config


def _ends(column: Mapping[str, Any], percents: bool) -> dict[str, float]:
    """Return the ends of a bar, if the column has any, for numbers that are shown as percents."""
    given = {end: column["type_config"].get(end) for end in ("min_value", "max_value")}
    return {end: 100 * value for end, value in given.items() if percents and value is not None}


def in_language(frame: pd.DataFrame, columns: Mapping[str, Any], locale: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table and how to show its columns, in the page's language.

    Formats are English. A browser writes numbers in another language only if this is its own, and only with fixed
    decimals; all other numbers become texts.

    >>> columns = {"rows": st.column_config.NumberColumn("rows", format="%,d")}
    >>> in_language(pd.DataFrame({"rows": [1200]}), columns, "en-GB")[1]["rows"]["type_config"]["format"]
    '%,d'
    """
    if language() == ENGLISH:
        return frame, dict(columns)
    shown, config = frame.copy(), dict(columns)
    for name in frame.columns:
        column = columns.get(name)
        match = _FORMAT.fullmatch(str(column["type_config"].get("format"))) if isinstance(column, dict) else None
        if not isinstance(column, dict) or match is None:
            continue
        kind, digits = match["kind"], int(match["digits"] or 0)
        if kind != "g" and digits <= 3 and match["flags"] in ("", ",") and not match["after"] and _speaks(locale):
            shown[name] = frame[name].round(digits)
            config[name] = column | {"type_config": column["type_config"] | {"format": "localized"}}
        else:
            shown[name], config[name] = _as_texts(frame[name], column, match)
    return shown, config


def _as_texts(
    numbers: pd.Series[Any], column: Mapping[str, Any], form: re.Match[str]
) -> tuple[list[str | None], Mapping[str, Any]]:
    """Return numbers as texts, and how to show their column."""
    texts = [None if pd.isna(value) else _written(float(value), form) for value in numbers]
    return texts, st.column_config.TextColumn(column["label"], help=column["help"], alignment="right")


def _speaks(locale: str) -> bool:
    return locale.partition("-")[0].lower() == language()


def _written(value: float, form: re.Match[str]) -> str:
    """Write a number as Streamlit would, with the marks of the page's language."""
    digits = form["digits"]
    if form["kind"] == "g":
        value = float(f"{value:.{digits}g}") if digits else value
        text = format(value, f"{form['flags']}.15g")
    else:
        text = format(value, f"{form['flags']}.{digits or 0}f")
    return localised(text) + form["after"].replace("%%", "%")
