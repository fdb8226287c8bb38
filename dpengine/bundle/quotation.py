"""A published number, or one combined from published cells, as a reader would quote it: with interval and source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpengine.array_types import Columns
from dpengine.charts.cells import CellsOfTable
from dpengine.charts.drawable import Drawable
from dpengine.charts.forms import makes_spans
from dpengine.exact import exactly
from dpengine.results.interval_estimates import MAX_WIDTH, decimals_of
from dpengine.results.published_columns import Measure
from dpengine.spec.counted_wording import counted_noun
from dpengine.spec.declared import changed
from dpengine.spec.domain import Column
from dpengine.spec.numeric.number import Number
from dpengine.spec.plan import Plan
from dpengine.spec.time_column import HOURS, Time
from dpengine.spec.wording import capitalised, shown_labels
from dpengine.translation.catalogue import _, day, mark, number, some_of

__all__ = ["citation", "quotation", "quotation_of_several", "release_in_words"]

MAX_LABELS = 12  # of a column, that a quotation names
MIN_SPAN = 3  # neighbouring cells that a quotation names by the first and the last one


def quotation(
    numbers: Drawable, table: Columns, cell: tuple[int, ...], measure: Measure | None = None, place: int = 0
) -> str:
    """Return the number of one cell of `table` with its interval, in words; `place` chooses one of several quantiles.

    >>> from dpengine import preview
    >>> made = preview(Plan(dataset="d", epsilon=1000, columns=[{"name": "sex", "kind": "yesno"}], tables=[["sex"]],
    ...                     rows_about=1000))
    >>> quotation(made, ("sex",), (3,)).partition(":")[0]
    'People, sex'
    """
    cells = CellsOfTable(numbers, table, table, {}, measure, place)
    named = (f"{heading}: {labels[k]}" for heading, labels, k in zip(cells.headings, cells.labels, cell, strict=True))
    what = ", ".join([cells.noun if measure is None else cells.name, *named])
    written = [cells.text(each[cell]) for each in (cells.value, cells.low, cells.high)]
    return _quoted(what, written, noisy=bool(cells.noisy[cell]), counted=measure is None)


def quotation_of_several(
    plan: Plan,
    numbers: tuple[float, float, float],
    where: Mapping[str, str | Sequence[str]],
    *,
    of: Mapping[str, str | Sequence[str]] | None = None,
    minus: Mapping[str, str | Sequence[str]] | None = None,
    since: str = "",
    relative: bool = False,
    mean: str | None = None,
    sum: str | None = None,
) -> str:
    """Return a number that `combine` made of several cells, with the ends of its interval, in words.

    `since` names the earlier release, if the number is the change since then.

    >>> sex = {"name": "sex", "kind": "category", "values": ["f", "m", "x"], "missing": False}
    >>> plan = Plan(dataset="d", epsilon=1, columns=[sex], tables=[["sex"]])
    >>> quotation_of_several(plan, (1234.0, 1230.0, 1239.0), {"sex": ["f", "x"]})
    'People, sex: f or x: 1,234 (95 % interval: 1,230 to 1,239)'
    >>> quotation_of_several(plan, (51.23, 51.0, 51.4), {"sex": "f"}, of={})
    'People, sex: f, in percent of all people: 51.23 (95 % interval: 51.00 to 51.40)'
    >>> quotation_of_several(plan, (-12.0, -16.2, -8.1), {"sex": "f"}, minus={"sex": "m"}, relative=True)
    'People, sex: f, compared with sex: m: 12.0 % less (95 % interval: 8.1 % to 16.2 % less), beyond the noise'
    """
    what = _number_in_words(plan, where, mean, sum)
    if of is not None:
        what = _("{what}, in percent of {group}", what=what, group=_group_in_words(plan, of))
    others = since or (None if minus is None else _group_in_words(plan, minus))
    if relative:
        said = _relative_in_words(_("{what}, compared with {others}", what=what, others=others), numbers)
        return _beside_noise(said, numbers)
    if others is not None:
        what = _(_MINUS[of is None, bool(since)], what=what, others=others)
    counted = of is None and mean is None and sum is None
    _value, low, high = numbers
    form = "," if counted else f",.{decimals_of(high - low)}f"
    written = ["–" if each != each else number(int(each) if counted else each, form) for each in numbers]
    widest = 100.0 if of is not None else float(plan.amount(mean).high - plan.amount(mean).low) if mean else None
    noisy = low <= 0 < high if widest is None else high - low > MAX_WIDTH * widest
    said = _quoted(what, written, noisy=noisy and others is None, counted=counted)
    return said if others is None else _beside_noise(said, numbers)


def _beside_noise(said: str, numbers: tuple[float, float, float]) -> str:
    """Add a sentence on whether a difference exceeds the noise: readers ask if there is one at all."""
    _value, low, high = numbers
    return _("{said}, beyond the noise", said=said) if low > 0 or high < 0 else _("{said}, within the noise", said=said)


# By (whether it is a number and not a percentage, whether the other one is of an earlier release).
_MINUS = {
    (True, False): mark("{what}, minus the same number for {others}"),
    (False, False): mark("{what}, minus the same percentage for {others}, in percentage points"),
    (True, True): mark("{what}, minus the same number in {others}"),
    (False, True): mark("{what}, minus the same percentage in {others}, in percentage points"),
}


def _number_in_words(plan: Plan, where: Mapping[str, str | Sequence[str]], mean: str | None, sum: str | None) -> str:
    """Name the number of people, or the mean or the sum of an amount, in the chosen cells."""
    if mean is not None:
        what = _("mean {column}", column=plan.column(mean).heading)
    elif sum is not None:
        what = _("sum of {column}", column=plan.column(sum).heading)
    elif not where:
        return _group_in_words(plan, where)
    else:
        what = counted_noun(plan)
    return f"{what}, {_group_in_words(plan, where)}"


def _group_in_words(plan: Plan, chosen: Mapping[str, str | Sequence[str]]) -> str:
    """Name the people in the chosen cells, or all of them."""
    return _cells_in_words(plan, chosen) or _("all {unit}", unit=counted_noun(plan))


def _relative_in_words(what: str, numbers: tuple[float, float, float]) -> str:
    """Say by how many percent a number is more or less than another, the end of the interval nearer to 0 first."""
    value, low, high = numbers
    form = f",.{decimals_of(high - low)}f"
    by = [number(abs(each), form) for each in (value, *sorted((low, high), key=abs))]
    if low < 0 < high:
        ends = [number(abs(each), form) for each in (low, high)]
        interval = _("{low} % less to {high} % more", low=ends[0], high=ends[1])
    elif high > 0:
        interval = _("{low} % to {high} % more", low=by[1], high=by[2])
    else:
        interval = _("{low} % to {high} % less", low=by[1], high=by[2])
    more = _("{n} % more", n=by[0]) if value >= 0 else _("{n} % less", n=by[0])
    return _("{what}: {value} (95 % interval: {interval})", what=capitalised(what), value=more, interval=interval)


def _quoted(what: str, numbers: Sequence[str], *, noisy: bool, counted: bool) -> str:
    """Return a value and the ends of its interval in words; a noisy value is not named."""
    value, low, high = numbers
    written = {"what": capitalised(what), "low": low, "high": high}
    if not noisy:
        return _("{what}: {value} (95 % interval: {low} to {high})", value=value, **written)
    if counted:
        return _("{what}: too few to tell from none (95 % interval: {low} to {high})", **written)
    return _("{what}: too uncertain to quote (95 % interval: {low} to {high})", **written)


def _cells_in_words(plan: Plan, chosen: Mapping[str, str | Sequence[str]]) -> str:
    """Name the chosen cells by the headings and labels of their columns, such as 'sex: f, age: 18–64 or (missing)'."""
    named = []
    for name, given in chosen.items():
        column = plan.column(name)
        chosen_labels = [given] if isinstance(given, str) else [*given]
        of_hours = isinstance(column, Time) and {*chosen_labels} <= {*HOURS}
        labels = _hours_in_words(chosen_labels) if of_hours else _labels_in_words(column, chosen_labels)
        listed = _(" or ").join(labels) if len(labels) <= MAX_LABELS else some_of(labels, MAX_LABELS)
        named.append(f"{column.heading}: {listed}")
    return ", ".join(named)


def _labels_in_words(column: Column, chosen: Sequence[str]) -> list[str]:
    """Return the chosen labels for readers, with three or more neighbours of an ordered column as one span.

    >>> age = Number(name="age", edges=[0, 18, 30, 45, 65, 120], whole=True)
    >>> _labels_in_words(age, ["[0, 18)", "[18, 30)", "[30, 45)", "(missing)"])
    ['0–44', '(missing)']
    >>> _labels_in_words(age, ["[18, 30)", "[30, 45)", "[65, 120]"])
    ['18–29', '30–44', '65–120']
    """
    shown = shown_labels(column)
    known = {label: place for place, label in enumerate(column.labels)}
    places = [known[label] for label in chosen]
    if not makes_spans(column):
        return [shown[place] for place in places]
    words = []
    for run in _runs(column, sorted({*places})):
        if len(run) < MIN_SPAN:
            words += [shown[place] for place in run]
        elif isinstance(column, Number):
            words.append(_span_of_bins(column, run[0], run[-1]))
        else:
            words.append(_("{low} to {high}", low=shown[run[0]], high=shown[run[-1]]))
    return words


def _runs(column: Column, places: Iterable[int]) -> list[list[int]]:
    """Return declared cells in runs of neighbours, and each other cell by itself."""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1 and place < column.declared_size:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _span_of_bins(column: Number, first: int, last: int) -> str:
    """Name neighbouring bins as one that is as wide as all of them."""
    ends, top = (column.edges[first], column.edges[last + 1]), column.edges[-1]
    wide = changed(column, edges=ends if ends[1] == top else (*ends, top), bins=None, levels={})
    return shown_labels(wide)[0]


def _hours_in_words(chosen: Sequence[str]) -> list[str]:
    """Return periods without a gap of the chosen hours; one may go on after midnight.

    >>> _hours_in_words(["00:00", "01:00", "12:00", "23:00"])
    ['12:00–12:59', '23:00–01:59']
    """
    hours = {int(label[:2]) for label in chosen}
    if len(hours) == len(HOURS):
        return ["00:00–23:59"]
    periods = []
    for first in sorted(hour for hour in hours if (hour - 1) % len(HOURS) not in hours):
        last = first
        while (last + 1) % len(HOURS) in hours:
            last = (last + 1) % len(HOURS)
        periods.append(f"{first:02}:00–{last:02}:59")
    return periods


def release_in_words(plan: Plan, manifest: Mapping[str, Any]) -> str:
    """Name a release by its title and the day when it was made, as beside another one."""
    return _("{title}, published on {day}", title=plan.title or plan.dataset, day=day(manifest["created"][:10]))


def citation(plan: Plan, manifest: Mapping[str, Any]) -> str:
    """Return the source of a release as its publisher wants it cited; otherwise who, what, when, and how protected."""
    if plan.about.cite_as:
        return plan.about.cite_as
    by = f"{plan.about.publisher}: " if plan.about.publisher else ""
    return _(
        "{by}{title}. Published with differential privacy (ε = {epsilon}) on {day}, release {id}.",
        by=by,
        title=plan.title or plan.dataset,
        epsilon=exactly(plan.epsilon),
        day=day(manifest["created"][:10]),
        id=manifest["release_id"],
    )
