"""Time zones by their IANA names, and when their clocks are set.

All offsets come from the package `tzdata` and never from the machine, so that a plan means the same everywhere. Every
engine gets them as a list of instants, so no engine's own zone data matters.
"""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_right
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import resources
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo

from pydantic import AfterValidator

from dpengine.spec.declared import Line
from dpengine.translation.catalogue import _

__all__ = [
    "FIRST_DAY", "LAST_DAY", "OF_ZONE", "Offsets", "Zone", "check_days", "check_format", "offsets", "zone_names",
]  # fmt: skip

FIRST_DAY, LAST_DAY = dt.date(1900, 1, 1), dt.date(2099, 12, 31)  # clocks are known between these days
OF_ZONE = "the IANA name of the zone by whose clock times with a zone or an offset count; by default UTC"
_ODD = "Factory"  # stands for a machine that nobody has set up
_EPOCH = dt.datetime(1970, 1, 1)
_DAY = 86_400
_STEP = 3 * _DAY  # no zone's clock was ever set twice within this time; tests check it
_SPARE = 2 * _DAY  # more than any offset
_OFFSET = re.compile(r"%[zZ]|%[HMSfIp]\s*(Z|UTC|GMT|[+-][0-9]{2}(:?[0-9]{2})?)$")  # of a format, also the same for all
_MAX_MATCHES, _ALIKE = 3, 0.75


class Offsets(NamedTuple):
    """The offsets of a zone's clock from UTC, in seconds, from instant `first` to below `end`.

    ``ahead[k]`` holds from ``changes[k - 1]`` to below ``changes[k]``. Instants are seconds since 1970.
    """

    first: int
    end: int
    changes: tuple[int, ...]
    ahead: tuple[int, ...]

    def at(self, instant: int) -> int | None:
        """Return the offset at an instant; None before `first` and from `end` on."""
        return self.ahead[bisect_right(self.changes, instant)] if self.first <= instant < self.end else None


@cache
def zone_names() -> tuple[str, ...]:
    """Return the names of all zones, in order.

    >>> "Europe/Berlin" in zone_names(), "Factory" in zone_names()
    (True, False)
    """
    text = resources.files("tzdata").joinpath("zones").read_text("ascii")
    return tuple(sorted({*text.split()} - {_ODD}))


def _check_zone(name: str) -> str:
    """Return the name of a zone. Raises ValueError with names that may be meant."""
    names = zone_names()
    if name in names:
        return name
    if close := _close_zones(name, names):
        raise ValueError(_("there is no time zone {name!r}; did you mean {meant}?", name=name, meant=", ".join(close)))
    raise ValueError(_("there is no time zone {name!r}; write it as Europe/Berlin, by continent and city", name=name))


Zone = Annotated[Line, AfterValidator(_check_zone)]


def _close_zones(name: str, names: Sequence[str]) -> list[str]:
    """Return the zones that may be meant: those of this city, or written almost so."""
    typed = name.strip().replace(" ", "_").casefold()[:100]
    city = typed.rpartition("/")[2]
    by_form = {each.casefold(): each for each in names}
    by_city = {each.casefold().rpartition("/")[2]: each for each in reversed(names) if "/" in each}
    if exact := by_form.get(typed) or by_city.get(city):
        return [exact]
    similar = [
        zones[each]
        for zones, text in ((by_form, typed), (by_city, city))
        for each in get_close_matches(text, zones, n=_MAX_MATCHES, cutoff=_ALIKE)
    ]
    return list(dict.fromkeys(similar))[:_MAX_MATCHES]


def check_days(zone: str | None, first: dt.date, last: dt.date) -> None:
    """Raise ValueError if days of a column lie where the clock of its zone is not known."""
    if zone is not None and (first < FIRST_DAY or last > LAST_DAY):
        raise ValueError(
            _("with a zone, days lie between {first} and {last}: no clock is known elsewhere", first=FIRST_DAY,
              last=LAST_DAY)
        )  # fmt: skip


def check_format(zone: str | None, format: str | None) -> None:
    """Raise ValueError for a zone of texts whose format has an offset, which only ISO texts may have then."""
    if zone is not None and format is not None and _OFFSET.search(format):
        raise ValueError(
            _(
                "the format {format!r} has an offset from UTC, which cannot be read with a zone; only ISO texts can, "
                "such as 2024-12-31T18:30+01:00",
                format=format,
            )
        )


@lru_cache(maxsize=64)
def offsets(zone: str, first: dt.date = FIRST_DAY, last: dt.date = LAST_DAY) -> Offsets:
    """Return a zone's offsets at all instants that may lie in the days from `first` to `last` by its clock.

    >>> berlin = offsets("Europe/Berlin", dt.date(2024, 1, 1), dt.date(2024, 12, 31))
    >>> [str(dt.datetime.fromtimestamp(each, dt.UTC)) for each in berlin.changes], berlin.ahead
    (['2024-03-31 01:00:00+00:00', '2024-10-27 01:00:00+00:00'], (3600, 7200, 3600))
    """
    start, end = _seconds(first) - _SPARE, _seconds(last) + _DAY + _SPARE
    clock = _load(zone)
    changes: list[int] = []
    ahead = [_ahead(clock, start)]
    for step in range(start, end, _STEP):
        low, high = step, min(step + _STEP, end)
        if (after := _ahead(clock, high)) == ahead[-1]:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _ahead(clock, middle) == ahead[-1] else (low, middle)
        changes.append(high)
        ahead.append(after)
    return Offsets(start, end, tuple(changes), tuple(ahead))


def _seconds(day: dt.date) -> int:
    return (day.toordinal() - _EPOCH.toordinal()) * _DAY


def _load(zone: str) -> ZoneInfo:
    """Read a zone from the package alone: `ZoneInfo(zone)` would take the machine's zone data first."""
    with resources.files("tzdata").joinpath("zoneinfo", *zone.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=zone)


def _ahead(clock: ZoneInfo, instant: int) -> int:
    """Return a clock's offset from UTC at an instant, in seconds."""
    utc = (_EPOCH + dt.timedelta(seconds=instant)).replace(tzinfo=clock)
    return round((clock.fromutc(utc).replace(tzinfo=None) - utc.replace(tzinfo=None)).total_seconds())
