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

__all__ = ["MAX_SHOWN", "in_language", "show_numbers"]

MAX_SHOWN = 20_000  # rows of a table that are sent to a browser
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
        match = _FORMAT.fullmatch(form)
        if form == "percent":
            shown[name] = 100 * frame[name]
            form = f"%,.{min(2, _decimals(shown[name], 2))}f %%"
            config[name] = column | {"type_config": column["type_config"] | _ends_in_percent(column) | {"format": form}}
        elif match is not None and match["kind"] == "g" and match["digits"]:
            shown[name], config[name] = _lined_up_column(frame[name], column, form, int(match["digits"]))
    return shown, config


def _lined_up_column(
    numbers: pd.Series[Any], column: dict[str, Any], form: str, digits: int
) -> tuple[Any, Mapping[str, Any]]:
    """Return a column of numbers with this number of significant `digits`, and how to show it."""
    sizes = numbers.abs()[lambda each: each > 0]
    if sizes.empty or sizes.max() >= SPAN * sizes.min():
        match = _FORMAT.fullmatch(f"%,{form[1:]}")
        if sizes.empty or sizes.max() < THOUSAND or match is None:
            return numbers, column
        return _as_texts(numbers, column, match)
    decimals = _decimals(numbers, digits)
    if (numbers.round(decimals) % 1 == 0).all():
        decimals = 0
    return numbers, column | {"type_config": column["type_config"] | {"format": f"%,.{decimals}f"}}


def _decimals(numbers: pd.Series[Any], digits: int) -> int:
    """Return the decimals with which the smallest number has this many significant `digits`."""
    sizes = numbers.abs()[lambda each: each > 0]
    return max(0, digits - 1 - math.floor(math.log10(sizes.min()))) if len(sizes) else 0


def _ends_in_percent(column: Mapping[str, Any]) -> dict[str, float]:
    """Return the ends of a bar in percent, if the column is shown as bars."""
    given = {end: column["type_config"].get(end) for end in ("min_value", "max_value")}
    return {end: 100 * value for end, value in given.items() if value is not None}


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
