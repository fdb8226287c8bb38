"""The first and last day of a date, the length of its periods, and how its days are written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import streamlit as st

from dpengine.spec.date_text import DATE_FORMATS, TIME_FORMATS
from dpengine.spec.zones import zone_names
from dpengine.translation.catalogue import _, mark
from pages.parts.publish.column_forms.boxes import key_for
from pages.parts.publish.tables.levels_box import PERIODS, ask_levels

__all__ = ["ask_date", "ask_time"]

LONG_AGO, FAR_OFF = date(1800, 1, 1), date(2200, 12, 31)
OTHERWISE = "otherwise"
PARTS = {"hour": mark("hour of the day"), "weekday": mark("day of the week")}


def ask_date(name: str, column: dict[str, Any], *, as_text: bool, zoned: bool) -> dict[str, Any]:
    """Ask for the first and last day, the length of a period, and, for days in a text column, how they are written."""
    first, last, by = st.columns(3)
    form = _("YYYY-MM-DD")
    start = first.date_input(
        _("From"), _day(column.get("from")), LONG_AGO, FAR_OFF, key=key_for("from", name), format=form
    )
    stop = last.date_input(_("To"), _day(column.get("to")), LONG_AGO, FAR_OFF, key=key_for("to", name), format=form)
    periods = list(PERIODS)
    period = by.selectbox(
        _("By"),
        periods,
        index=periods.index(column.get("by", "month")),
        format_func=lambda key: _(PERIODS[key]),
        key=key_for("by", name),
        help=_("A time of day is left out. Step 2 offers the hour and the weekday of this column, too."),
    )
    entry: dict[str, Any] = {"from": str(start or ""), "to": str(stop or ""), "by": period}
    entry |= ask_levels(name, column | entry) | _ask_zone(name, column, zoned=zoned)
    return entry | ({"format": _written(name, column.get("format", ""))} if as_text else {})


def ask_time(name: str, column: dict[str, Any], *, as_text: bool, zoned: bool) -> dict[str, Any]:
    """Ask whether hours or weekdays count, and, for times in a text column, how they are written."""
    by = st.selectbox(
        _("By"),
        list(PARTS),
        index=list(PARTS).index(column.get("by", "hour")),
        format_func=lambda key: _(PARTS[key]),
        key=key_for("part", name),
        help=_("The hour of a date without a time of day is not known: it is (other)."),
    )
    forms = TIME_FORMATS if by == "hour" else DATE_FORMATS
    entry: dict[str, Any] = {"by": by} | _ask_zone(name, column, zoned=zoned)
    return entry | ({"format": _written(name, column.get("format", ""), forms)} if as_text else {})


def _ask_zone(name: str, column: Mapping[str, Any], *, zoned: bool) -> dict[str, str]:
    """Ask by which clock times with a zone count, and say by which they do; {} if nothing was ever stated.

    Nothing is asked of a column whose cells cannot have a zone: one that is not `zoned`.
    """
    zones, now = ("", *zone_names()), column.get("zone") or ""
    if not (zoned or now):
        return {}
    chosen = st.selectbox(
        _("Clock of times with a zone or an offset"),
        zones,
        index=zones.index(now) if now in zones else 0,
        format_func=lambda zone: zone or _("UTC; or type a zone, such as Europe/Berlin"),
        key=key_for("zone", name),
        help=_("Times without a zone or an offset count as they stand. All columns of these times need the same zone."),
    )
    st.caption(
        _("Times with a zone count by the clock of {zone}, including its summer time, if any.", zone=chosen)
        if chosen
        else _("Times with a zone count in UTC.")
    )
    return {"zone": chosen} if chosen or now else {}


def _written(name: str, now: str | None, forms: Mapping[str, str] = DATE_FORMATS) -> str | None:
    """Ask how days are written; None until answered: a wrong guess would put everyone into (other)."""
    options = [*forms, OTHERWISE]
    chosen = st.selectbox(
        _("How the last day of 2024 is written in this column"),
        options,
        index=None if now is None else options.index(now if now in forms else OTHERWISE),
        format_func=lambda pattern: forms.get(pattern, _("otherwise…")) + ("" if pattern else " (ISO)"),
        placeholder=_("Choose; dates in any other form count as (other)"),
        key=key_for("written", name),
    )
    if chosen != OTHERWISE:
        return chosen
    typed = st.text_input(
        _("The pattern"),
        value="" if now in forms else now or "",
        placeholder="%d/%m/%y",
        key=key_for("format", name),
        help=_("%d day, %m month, %b month's name, %Y year, %y year in two digits, %H:%M time."),
    )
    return typed.strip() or None


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        return None
