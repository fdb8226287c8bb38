"""Time columns: the hour of the day, or the day of the week, of a point in time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack, get_args

from pydantic import BeforeValidator, Field, model_validator

from dpengine.spec.categories import tree
from dpengine.spec.column import ColumnBase, ColumnName, ColumnOptions
from dpengine.spec.declared import Line
from dpengine.spec.zones import OF_ZONE, Zone, check_format
from dpengine.translation.catalogue import _, mark

__all__ = ["HOURS", "TIMES", "WEEKDAYS", "Time"]

TimeUnit = Literal["hour", "weekday"]
TIMES: tuple[TimeUnit, ...] = get_args(TimeUnit)
HOURS = tuple(f"{hour:02}:00" for hour in range(24))
WEEKDAYS = (
    mark("Monday"), mark("Tuesday"), mark("Wednesday"), mark("Thursday"), mark("Friday"), mark("Saturday"),
    mark("Sunday"),
)  # fmt: skip
_CELLS: dict[str, tuple[str, ...]] = {"hour": HOURS, "weekday": WEEKDAYS}
_DIRECTIVE = re.compile("%-?(.)", re.DOTALL)
# Directives of a format that together tell the hour, or the day.
_TELLING: dict[str, tuple[tuple[str, ...], ...]] = {
    "hour": (("HcX",), ("I", "p")),
    "weekday": (("cx",), ("Yy", "mbB", "d"), ("Yy", "j"), ("G", "V", "u")),
}


def _as_label(start: Any) -> Any:
    """Return the label of an hour that is given as a number."""
    is_hour = isinstance(start, int) and not isinstance(start, bool) and 0 <= start < len(HOURS)
    return HOURS[start] if is_hour else str(start)


Start = Annotated[str, BeforeValidator(_as_label)]


class Time(ColumnBase):
    """The hour of the day or the day of the week of a column of points in time.

    Texts are read as ISO times, or in the strptime `format` if one is given; for hours also times of day, such as
    7:05. Times with a zone or an offset count by the clock of `zone`, by default in UTC; others count as they stand.
    `of` names the column of the table, if it is not called `name`; so several columns of a plan may read one column of
    the table.

    >>> Time(name="day of week", of="picked_up", by="weekday").declared[:2]
    ('Monday', 'Tuesday')

    Each of the `levels` states with which cell its groups begin, one of them with the first cell.

    >>> parts = {"part of day": {"night": 0, "day": 6}}
    >>> Time(name="hour", by="hour", levels=parts).groupings["part of day"][4:8]
    ('night', 'night', 'day', 'day')
    """

    kind: Literal["time"] = "time"
    of: ColumnName | None = Field(default=None, description="the table's column, if its name is not that of this one")
    by: TimeUnit
    format: Line | None = None
    zone: Zone | None = Field(default=None, description=OF_ZONE)
    levels: dict[Line, dict[Line, Start]] = Field(
        default={}, description="coarser levels: the groups by name, each with the hour or the day that it begins with"
    )

    if TYPE_CHECKING:

        def __init__(
            self, *, name: str, by: TimeUnit, of: str | None = ..., format: str | None = ...,
            zone: str | None = ..., levels: Mapping[str, Mapping[str, str | int]] = ...,
            kind: Literal["time"] = ..., **options: Unpack[ColumnOptions],
        ) -> None: ...  # fmt: skip

    @model_validator(mode="after")
    def _check_format(self) -> Time:
        used = set(_DIRECTIVE.findall(self.format or ""))
        tells = (all(used & set(each) for each in together) for together in _TELLING[self.by])
        if self.format is not None and not any(tells):
            if self.by == "hour":
                raise ValueError(_("the format {format!r} has no hour: it needs %H, or %I and %p", format=self.format))
            raise ValueError(_("the format {format!r} has no whole date: it needs %d, %m and %Y", format=self.format))
        check_format(self.zone, self.format)
        return self

    @model_validator(mode="after")
    def _check_levels(self) -> Time:
        for level, groups in self.levels.items():
            if odd := [start for start in groups.values() if start not in self.declared]:
                raise ValueError(
                    _(
                        "level {level!r}: a group cannot begin with {start!r}; it begins with one of {first} to {last}",
                        level=level,
                        start=odd[0],
                        first=self.declared[0],
                        last=self.declared[-1],
                    )
                )
            if not groups or len({*groups.values()}) < len(groups):
                raise ValueError(
                    _("level {level!r}: state for each group where it begins, each elsewhere", level=level)
                )
            if self.declared[0] not in groups.values():
                raise ValueError(
                    _(
                        "level {level!r}: one of the groups begins with {first}; a group that goes on into the next "
                        "day or week has to be two groups",
                        level=level,
                        first=self.declared[0],
                    )
                )
        if self.levels:
            tree.check_tree([*self.levels, self.by], self.declared, [*self.groupings.values()])
        return self

    @property
    def table_column(self) -> str:
        return self.of or self.name

    @property
    def declared(self) -> tuple[str, ...]:
        return _CELLS[self.by]

    @property
    def declared_size(self) -> int:
        return len(self.declared)

    @property
    def words_of_declared(self) -> tuple[str, ...]:
        return tuple(f"{hour}–{hour[:2]}:59" for hour in HOURS) if self.by == "hour" else self.declared

    @cached_property
    def groupings(self) -> dict[str, tuple[str, ...]]:
        return {level: self._groups(groups) for level, groups in self.levels.items()}

    def _groups(self, groups: Mapping[str, str]) -> tuple[str, ...]:
        """Return the group of each cell."""
        begins = sorted((self.declared.index(start), name) for name, start in groups.items())
        places = [place for place, _name in begins]
        return tuple(begins[bisect_right(places, cell) - 1][1] for cell in range(self.declared_size))
