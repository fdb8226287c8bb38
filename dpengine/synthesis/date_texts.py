"""Write and read days as texts in a declared format, like the SQL engine that counts them.

Formats are those of strptime: `%d.%m.%Y`, `%-m/%-d/%y`, `%b %Y` and the like. Names of months and days are English.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

__all__ = ["read_day", "write_day"]

MONTHS, SHORT_MONTHS = list(calendar.month_name)[1:], list(calendar.month_abbr)[1:]
ISO = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
FIELD = re.compile("%(-?[A-Za-z%])")
WHOLE = {"c": "%Y-%m-%d %H:%M:%S", "x": "%Y-%m-%d", "X": "%H:%M:%S", "T": "%H:%M:%S"}  # fields composed of others
PIVOT = 69  # two digits from here on are years of the 20th century

WRITTEN: dict[str, Callable[[date], str]] = {
    "Y": lambda day: f"{day.year:04}",
    "G": lambda day: f"{day.isocalendar().year:04}",
    "g": lambda day: "000",
    "n": lambda day: "000000000",
    "z": lambda day: "+00",
}
READ = {
    **dict.fromkeys(("Y", "G"), "([0-9]{1,4})"),
    **dict.fromkeys(("y", "m", "d", "-y", "-m", "-d", "V", "U", "W"), "([0-9]{1,2})"),
    **dict.fromkeys(("j", "-j"), "([0-9]{1,3})"),
    "B": f"({'|'.join(MONTHS)})",
    **dict.fromkeys(("b", "h"), f"({'|'.join(SHORT_MONTHS)})"),
    "A": "|".join(calendar.day_name),
    "a": "|".join(calendar.day_abbr),
    **dict.fromkeys(("H", "-H"), "[01]?[0-9]|2[0-3]"),
    **dict.fromkeys(("I", "-I"), "0?[1-9]|1[0-2]"),
    **dict.fromkeys(("M", "S", "-M", "-S"), "[0-5]?[0-9]"),
    **{"p": "AM|PM", "f": "[0-9]{1,6}", "g": "[0-9]{1,3}", "n": "[0-9]{1,9}", "u": "([1-7])", "w": "([0-6])"},
    **{"z": "[+-][0-9]{2}(?::?[0-9]{2})?", "%": "%"},
}


def write_day(day: date, format: str) -> str:
    """Write a day, at midnight in UTC, in a format.

    >>> write_day(date(2024, 3, 7), "%-d %b %Y"), write_day(date(987, 3, 7), "%x")
    ('7 Mar 2024', '0987-03-07')
    """
    return FIELD.sub(lambda field: _written(day, field[1]), _spelled_out(format))


def read_day(text: str, format: str | None) -> date | None:
    """Return the day of a text in a format, or otherwise in ISO 8601; None if it is neither.

    Without a field for it, the year is 1900, the month January, the day the first.

    >>> read_day("7 mar 2024", "%d %b %Y"), read_day("2024-03-07", "%d %b %Y"), read_day("7.3.", "%d %b %Y")
    (datetime.date(2024, 3, 7), datetime.date(2024, 3, 7), None)
    """
    if format is not None:
        pattern, keys = _pattern(format)
        if pattern is not None and (match := pattern.fullmatch(text.strip())):
            try:
                return _day(dict(zip(keys, match.groups(), strict=True)))
            except ValueError:
                pass  # a 30th of February, which may still be a day in ISO
    try:
        return date.fromisoformat(text) if ISO.fullmatch(text) else None
    except ValueError:
        return None


def _spelled_out(format: str) -> str:
    return FIELD.sub(lambda field: WHOLE.get(field[1], field[0]), format)


def _written(day: date, field: str) -> str:
    return WRITTEN[field](day) if field in WRITTEN else day.strftime(f"%{field}")


@cache
def _pattern(format: str) -> tuple[re.Pattern[str] | None, tuple[str, ...]]:
    """Return the pattern of texts in a format, and the field of each group; None for unsupported fields."""
    *parts, last = FIELD.split(_spelled_out(format))
    between, fields = parts[::2], parts[1::2]
    if not set(fields) <= READ.keys():
        return None, ()
    whole = "".join(f"{_literally(text)}(?:{READ[field]})" for text, field in zip(between, fields, strict=True))
    keys = tuple(field[-1] for field in fields if READ[field].startswith("("))
    return re.compile(whole + _literally(last), re.IGNORECASE), keys


def _literally(text: str) -> str:
    return re.escape(text).replace("\\ ", " +")


def _day(fields: dict[str, str]) -> date:
    """Return the day given by the text of each field. Raises ValueError if there is no such day."""
    year = int(fields.get("Y", 1900))
    if "y" in fields:
        year = int(fields["y"]) + (1900 if int(fields["y"]) >= PIVOT else 2000)
    if "j" in fields:
        day = date(year, 1, 1) + timedelta(days=int(fields["j"]) - 1)
        if day.year != year:
            raise ValueError(fields["j"])
        return day
    if "G" in fields and "V" in fields:
        return date.fromisocalendar(int(fields["G"]), int(fields["V"]), int(fields.get("u", 1)))
    if not fields.keys() & {"m", "d", "B", "b", "h"} and fields.keys() & {"U", "W"}:
        return _day_of_week(year, fields)
    month = int(fields.get("m", 1))
    for names, key in ((MONTHS, "B"), (SHORT_MONTHS, "b"), (SHORT_MONTHS, "h")):
        if key in fields:
            month = [name.lower() for name in names].index(fields[key].lower()) + 1
    return date(year, month, int(fields.get("d", 1)))


def _day_of_week(year: int, fields: dict[str, str]) -> date:
    """Return the day of a week, counted from the first Monday (%W) or Sunday (%U) of the year."""
    start = 0 if "W" in fields else 6  # Monday is 0
    new_year = date(year, 1, 1)
    first = new_year + timedelta(days=(start - new_year.weekday()) % 7)
    weekday = (int(fields["w"]) - 1) % 7 if "w" in fields else int(fields["u"]) - 1 if "u" in fields else start
    return first + timedelta(weeks=int(fields.get("W", fields.get("U", "0"))) - 1, days=(weekday - start) % 7)
