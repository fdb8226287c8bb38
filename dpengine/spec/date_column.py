"""Date columns: their periods, and the longer periods of their coarser levels."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from pydantic import Field, field_validator, model_validator

from dpengine.spec.column import ColumnBase, ColumnOptions
from dpengine.spec.declared import Line
from dpengine.spec.limits import check_column_size
from dpengine.spec.zones import OF_ZONE, Zone, check_days, check_format
from dpengine.translation.catalogue import _

__all__ = ["PERIODS", "WITHIN", "Date"]

Period = Literal["day", "week", "month", "quarter", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)  # the shortest first
WITHIN: dict[str, tuple[Period, ...]] = {  # the coarser periods in which a period lies as a whole
    "day": PERIODS[1:],
    "month": ("quarter", "year"),
    "quarter": ("year",),
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}  # in a period


def nested_periods(by: str, levels: Iterable[str]) -> tuple[str, ...]:
    """Return the periods that are coarser than `by`, the coarsest first. Raises ValueError if they do not nest.

    >>> nested_periods("month", ["quarter", "year", "month"])
    ('year', 'quarter')
    """
    listed = list(levels)
    if twice := [level for level in listed if listed.count(level) > 1]:
        raise ValueError(_("the level {level!r} is named twice", level=twice[0]))
    chain = (by, *sorted({*listed} - {by}, key=PERIODS.index))
    for fine, coarse in pairwise(chain):
        if PERIODS.index(coarse) < PERIODS.index(by):
            raise ValueError(
                _(
                    "the dates are counted by {by}, so they have no level {level!r}; set 'by' to the finest period",
                    by=by,
                    level=coarse,
                )
            )
        if coarse not in WITHIN.get(fine, ()):
            raise ValueError(
                _(
                    "a {fine} does not lie within one {coarse}, so these cannot be levels of one column; leave one out",
                    fine=fine,
                    coarse=coarse,
                )
            )
    return chain[:0:-1]


class Date(ColumnBase):
    """A column of dates or times, in periods from day `first` to day `last`, both included.

    Plan files call these days ``from`` and ``to``. Texts are read as ISO dates or times, or in the strptime
    `format` if one is given. Times with a zone or an offset count by the clock of `zone`, by default in UTC; others
    count as they stand.

    >>> Date(name="visit", first="2024-11-20", last="2025-01-03", by="month").declared
    ('2024-11', '2024-12', '2025-01')

    With `levels`, longer periods, a table may ask for `visit@year`.

    >>> Date(name="visit", first="2024-11-20", last="2025-01-03", by="month", levels=["quarter", "year"]).groupings
    {'year': ('2024', '2024', '2025'), 'quarter': ('2024-Q4', '2024-Q4', '2025-Q1')}
    """

    kind: Literal["date"] = "date"
    first: date = Field(alias="from")
    last: date = Field(alias="to")
    by: Period
    format: Line | None = None
    zone: Zone | None = Field(default=None, description=OF_ZONE)
    levels: tuple[Period, ...] = Field(default=(), description="longer periods, such as quarter and year")

    if TYPE_CHECKING:

        def __init__(
            self, *, name: str, first: date | str, last: date | str, by: Period, format: str | None = ...,
            zone: str | None = ..., levels: Sequence[Period] = ...,
            kind: Literal["date"] = ..., **options: Unpack[ColumnOptions],
        ) -> None: ...  # fmt: skip

    @field_validator("first", "last", mode="before")
    @classmethod
    def _read_day(cls, value: Any) -> Any:
        """Pydantic would take numbers for seconds since 1970."""
        if isinstance(value, date) or (isinstance(value, str) and value[4:5] == value[7:8] == "-"):
            return value
        raise ValueError(_("there is no day {text}: write it as year-month-day, such as 2024-12-31", text=value))

    @model_validator(mode="after")
    def _check_order(self) -> Date:
        if self.first > self.last:
            raise ValueError(_("'from' ({first}) is after 'to' ({last})", first=self.first, last=self.last))
        check_days(self.zone, self.first, self.last)
        check_format(self.zone, self.format)
        check_column_size(self.declared_size)
        self.__dict__["levels"] = nested_periods(self.by, self.levels)
        return self

    @cached_property
    def groupings(self) -> dict[str, tuple[str, ...]]:
        starts = [self.period(k)[0] for k in self.ordinals]
        longer = {level: self.model_copy(update={"by": level}) for level in self.levels}
        return {level: tuple(each._label(each.ordinal(day)) for day in starts) for level, each in longer.items()}

    @property
    def declared_size(self) -> int:
        return len(self.ordinals)

    @property
    def ordinals(self) -> range:
        """The numbers of the declared periods."""
        return range(self.ordinal(self.first), self.ordinal(self.last) + 1)

    def ordinal(self, day: date) -> int:
        """Return the number of the period that holds `day`; numbers follow each other without gaps."""
        if self.by == "day":
            return day.toordinal()
        if self.by == "week":
            return (day.toordinal() - 1) // 7  # ordinal 1 was a Monday, so weeks begin on Mondays
        return (day.year * 12 + day.month - 1) // _MONTHS[self.by]

    def period(self, ordinal: int) -> tuple[date, date]:
        """Return the first and the last day of a period, within the declared span."""
        if self.by == "day":
            start = end = date.fromordinal(ordinal)
        elif self.by == "week":
            start = date.fromordinal(ordinal * 7 + 1)
            end = date.fromordinal(min(ordinal * 7 + 7, date.max.toordinal()))
        else:
            months = _MONTHS[self.by]
            start = date(ordinal * months // 12, ordinal * months % 12 + 1, 1)
            month = start.month + months - 1
            end = date(start.year, month, calendar.monthrange(start.year, month)[1])
        return max(start, self.first), min(end, self.last)

    @cached_property
    def declared(self) -> tuple[str, ...]:
        return tuple(map(self._label, self.ordinals))

    def _label(self, ordinal: int) -> str:
        if self.by == "day":
            return date.fromordinal(ordinal).isoformat()
        if self.by == "week":
            year, week, _day = date.fromordinal(ordinal * 7 + 1).isocalendar()
            return f"{year}-W{week:02}"
        year, part = divmod(ordinal, 12 // _MONTHS[self.by])
        return f"{year}" + {"month": f"-{part + 1:02}", "quarter": f"-Q{part + 1}", "year": ""}[self.by]
