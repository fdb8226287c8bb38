"""Dates and times in the notation of a person: their span, their periods, their parts, and how they are written."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from dpengine.translation.catalogue import _

__all__ = [
    "DATE_FORMATS",
    "TIME_FORMATS",
    "TO",
    "is_part",
    "is_span",
    "read_part",
    "read_pattern",
    "read_span",
    "without_clock",
    "write_dates",
]

# The last day of 2024, at half past six in the evening, in each pattern that a plan may state.
DATE_FORMATS = {
    "": "2024-12-31",
    "%d/%m/%Y": "31/12/2024",
    "%m/%d/%Y": "12/31/2024",
    "%d.%m.%Y": "31.12.2024",
    "%d-%m-%Y": "31-12-2024",
    "%Y/%m/%d": "2024/12/31",
    "%Y%m%d": "20241231",
    "%d %b %Y": "31 Dec 2024",
    "%b %d, %Y": "Dec 31, 2024",
    "%m/%d/%Y %H:%M": "12/31/2024 18:30",
    "%d/%m/%Y %H:%M": "31/12/2024 18:30",
    "%m/%d/%Y %I:%M %p": "12/31/2024 06:30 PM",
    "%m/%d/%Y %I:%M:%S %p": "12/31/2024 06:30:00 PM",
    "%d.%m.%Y %H:%M": "31.12.2024 18:30",
}
TIME_FORMATS = {"": "2024-12-31 18:30"} | {  # those with an hour
    pattern: sample for pattern, sample in DATE_FORMATS.items() if ":" in sample
}
TO = r"\s*(?:\bto\b|–|—)\s*"
_DAY = r"[0-9]{4}(?:-[0-9]{1,2}(?:-[0-9]{1,2})?)?|[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"
_SPAN = re.compile(rf"({_DAY})(?:{TO}({_DAY}))?\s+by\s+(day|week|month|quarter|year)s?", re.IGNORECASE)
_CLOCK = re.compile(r"(.*?)\s*,\s*clock\s+of\s+(\S+)\s*", re.IGNORECASE | re.DOTALL)
_ISO = re.compile(r"ISO(?: ?8601)?|2024-12-31(?:[T ]18:30(?::00)?Z?)?", re.IGNORECASE)
_PART = re.compile(r"by\s+(hour|weekday)s?(?:\s+of\s+(\S.*))?", re.IGNORECASE | re.DOTALL)


def without_clock(text: str) -> tuple[str, dict[str, str]]:
    """Return the text of dates or times without the zone at its end, and the zone as a field of a plan.

    >>> without_clock("by hour of t, clock of Europe/Berlin")
    ('by hour of t', {'zone': 'Europe/Berlin'})
    """
    match = _CLOCK.fullmatch(text)
    return (match[1], {"zone": match[2]}) if match else (text, {})


def is_span(text: str) -> bool:
    """Return whether a text is a span of days by period."""
    return _SPAN.fullmatch(without_clock(text)[0]) is not None


def is_part(text: str) -> bool:
    """Return whether a text names a part of times: hours or weekdays."""
    return _PART.fullmatch(without_clock(text)[0]) is not None


def write_dates(column: Mapping[str, Any]) -> str:
    """Return the text of a date or a time column; "" while there is nothing to write.

    >>> write_dates({"kind": "time", "by": "hour", "of": "admitted", "format": "%d/%m/%Y %H:%M"})
    'by hour of admitted, written 31/12/2024 18:30'
    >>> write_dates({"kind": "time", "by": "weekday", "zone": "Asia/Kolkata"})
    'by weekday, clock of Asia/Kolkata'
    """
    text, pattern = (_span_text if column["kind"] == "date" else _part_text)(column), column.get("format")
    text = f"{text}, clock of {column['zone']}" if text and column.get("zone") else text
    return f"{text}, written {_sample(pattern)}" if text and pattern else text


def _part_text(column: Mapping[str, Any]) -> str:
    text = f"by {column['by']}" if column.get("by") else ""
    return f"{text} of {column['of']}" if text and column.get("of") else text


def read_span(text: str) -> dict[str, str]:
    """Read a span of days by period. Raises ValueError with what to write instead."""
    text, zone = without_clock(text)
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValueError(_("write the first and last day and the period, such as 2020-01-01 to 2024-12-31 by month"))
    return {
        "from": _day(match[1], last=False),
        "to": _day(match[2] or match[1], last=True),
        "by": match[3].lower(),
    } | zone


def read_part(text: str) -> dict[str, str]:
    """Read a part of times, and the column of the table that has them. Raises ValueError for another text."""
    text, zone = without_clock(text)
    match = _PART.fullmatch(text)
    if match is None:
        raise ValueError(_("write by hour or by weekday"))
    return {"by": match[1].lower()} | ({"of": match[2]} if match[2] else {}) | zone


def _day(text: str, *, last: bool) -> str:
    """Return the ISO day that begins or ends a year, a month or a day; a day may also be written as 31.12.2024."""
    year, month, day = [*map(int, text.split("-") if "." not in text else reversed(text.split("."))), 0, 0][:3]
    try:
        month = month or (12 if last else 1)
        day = day or (calendar.monthrange(year, month)[1] if last else 1)
        return date(year, month, day).isoformat()
    except (ValueError, calendar.IllegalMonthError):
        raise ValueError(
            _("there is no day {text}: write it as year-month-day, such as 2024-12-31", text=text)
        ) from None


def _span_text(column: Mapping[str, Any]) -> str:
    first, last, by = str(column.get("from") or ""), str(column.get("to") or ""), column.get("by", "month")
    if not first and not last:
        return ""
    for letters in (4, 7):  # only years, or only months, if they mean the same
        short = first[:letters], last[:letters]
        try:
            if (_day(short[0], last=False), _day(short[1], last=True)) == (first, last):
                return f"{short[0]} to {short[1]} by {by}"
        except ValueError:
            break
    return f"{first or '?'} to {last or '?'} by {by}"


def read_pattern(written: str) -> str:
    """Return the strptime pattern of a sample, or of itself. Raises ValueError with the samples.

    >>> read_pattern("31/12/2024"), read_pattern("2024-12-31 18:30"), read_pattern("%d/%m/%y")
    ('%d/%m/%Y', '', '%d/%m/%y')
    """
    if _ISO.fullmatch(written):
        return ""
    if len(written) > 1 and written[0] == written[-1] == '"':
        return written[1:-1].replace('""', '"')
    for pattern, sample in DATE_FORMATS.items():
        if written == sample:
            return pattern
    if "%" in written:
        return written
    raise ValueError(
        _(
            "after “written” say how the last day of 2024 looks: {samples}",
            samples=", ".join(list(DATE_FORMATS.values())[:5]),
        )
    )


def _sample(pattern: str) -> str:
    if pattern in DATE_FORMATS:
        return DATE_FORMATS[pattern]
    plain = "%" in pattern and pattern == pattern.strip() and '"' not in pattern
    doubled = pattern.replace('"', '""')
    return pattern if plain else f'"{doubled}"'
