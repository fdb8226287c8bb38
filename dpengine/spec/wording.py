"""Write numbers and names of tables for readers, the same on pages, in charts and in reports, in the reader's language.

A bound is rounded away from the number that it bounds, so that the written bound holds too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from dpengine.array_types import Columns
from dpengine.spec.categories.tree import split_name
from dpengine.spec.column import MISSING, OTHER
from dpengine.spec.domain import Category, Column, Date, Number, Time, YesNo
from dpengine.spec.plan import Plan
from dpengine.spec.time_column import TIMES, WEEKDAYS
from dpengine.translation.catalogue import ENGLISH, _, language, localised, mark, number

__all__ = [
    "KINDS", "capitalised", "certainty", "factor", "heading_of", "headings_of", "label_words", "name_of", "people",
    "percent", "percent_at_least", "percent_at_most", "portion", "shown_labels", "words_in_files",
]  # fmt: skip

# Labels that are the same in the files in every language.
mark("(other)")
mark("(missing)")
PERIODS = (mark("day"), mark("week"), mark("month"), mark("quarter"), mark("year"))
mark("hour"), mark("weekday")  # of a day, of a week
YES_OR_NO = (mark("yes"), mark("no"))
KINDS = {
    "number": mark("number"),
    "category": mark("category"),
    "yesno": mark("yesno"),
    "date": mark("date"),
    "time": mark("time"),
    "amount": mark("amount"),
}
NUMBERS = (mark("count"), mark("estimate"), mark("low"), mark("high"))  # columns of a published table


def people(count: float) -> str:
    """Write a number of people with its significant digits.

    >>> people(0.02), people(4.0), people(4.24), people(1239.6)
    ('under 0.1', '4', '4.2', '1,240')
    """
    if 0 < count < 0.1:
        return _("under 0.1")
    if count < 9.95:
        return localised(f"{count:.1f}".removesuffix(".0"))
    return number(count, ",.0f")


def percent(part: float) -> str:
    """Write a probability in per cent, never rounded to certainty.

    >>> percent(0.7311), percent(0.0134), percent(0.9999)
    ('73 %', '1.3 %', 'over 99.9 %')
    """
    if part > 0.999:
        return _("over 99.9 %")
    if 0 < part < 0.001:
        return _("under 0.1 %")
    near_the_end = part < 0.1 or part > 0.9
    return _in_percent(100 * part, 1 if near_the_end else 0)


def percent_at_most(part: float) -> str:
    """Write an upper bound on a probability in per cent, rounded up.

    >>> percent_at_most(0.7311), percent_at_most(0.5025), percent_at_most(0.98)
    ('73.2 %', '50.3 %', '98 %')
    >>> percent_at_most(0.99966)
    '99.97 %'
    """
    if 0.999 < part < 1:
        return _in_percent(math.ceil(round(10_000 * part, 8)) / 100, 2)
    return _in_percent(math.ceil(round(1000 * part, 9)) / 10, 1)


def percent_at_least(part: float) -> str:
    """Write a lower bound on a probability in per cent, rounded down.

    >>> percent_at_least(0.2689), percent_at_least(0.4975)
    ('26.8 %', '49.7 %')
    """
    return _in_percent(math.floor(round(1000 * part, 9)) / 10, 1)


def _in_percent(percentage: float, decimals: int) -> str:
    """Write a percentage with this number of decimals, or with none if all of them are 0."""
    return localised(f"{percentage:.{decimals}f}".removesuffix("." + "0" * decimals)) + " %"


def factor(epsilon: float | Fraction) -> str:
    """Write e^ε, which bounds how the odds of a person's presence change, rounded up.

    >>> factor(0.01), factor(1), factor(Fraction(4)), factor(20), factor(5000)
    ('1.011', '2.72', '54.6', '1,000,000,000', '10^2172')
    """
    if epsilon > 13:
        power = math.ceil(float(epsilon) / math.log(10))
        return number(10**power) if power < 10 else f"10^{power}"
    bound = math.exp(epsilon)
    places = 3 if bound < 2 else 2 if bound < 10 else 1 if bound < 100 else 0
    written = f"{math.ceil(bound * 10**places) / 10**places:,.{places}f}"
    return localised(written.rstrip("0").removesuffix(".") if places else written)


def portion(part: float) -> str:
    """Write a relative error in per cent; it may be above 100 %.

    >>> portion(1.656), portion(0.124), portion(0.0134), portion(0.00042)
    ('166 %', '12 %', '1.3 %', '0.04 %')
    """
    digits = 0 if part >= 0.0995 else 1 if part >= 0.00995 else 2
    return number(100 * part, f",.{digits}f") + " %"


def certainty(part: float) -> str:
    """Write an upper bound on how sure someone can become.

    >>> certainty(0.7311), certainty(0.99966), certainty(0.99995)
    ('at most 73.2 % sure', 'at most 99.97 % sure', 'almost certain')
    """
    return _("almost certain") if part > 0.9999 else _("at most {part} sure", part=percent_at_most(part))


def capitalised(text: str) -> str:
    """Return a text with a capital first letter, as at the beginning of a line; the other letters stay.

    >>> capitalised("mean of BMI")
    'Mean of BMI'
    """
    return text[:1].upper() + text[1:]


def name_of(table: Columns) -> str:
    """Return the name of a table: its columns, or `total`. It is the same in every language, as a key is.

    >>> name_of(("age", "region")), name_of(())
    ('age × region', 'total')
    """
    return " × ".join(table) or "total"


def heading_of(plan: Plan, table: Columns) -> str:
    """Return the name of a table for readers: the headings of its columns, or `total`.

    A heading that several columns share is followed by the column's name.

    >>> age = {"name": "q7", "kind": "number", "edges": [0, 18, 65], "label": "Age"}
    >>> plan = Plan(dataset="d", epsilon="1", columns=[age, {"name": "ill", "kind": "yesno"}], tables=[["q7", "ill"]])
    >>> heading_of(plan, ("q7", "ill"))
    'Age × ill'
    """
    return headings_of(plan)(table)


def headings_of(plan: Plan) -> Callable[[Columns], str]:
    """Return `heading_of` as a function of the table, for many tables of one plan.

    >>> plan = Plan(dataset="d", epsilon="1", columns=[{"name": "ill", "kind": "yesno"}], tables=[["ill"]])
    >>> [*map(headings_of(plan), [("ill",), ()])]
    ['ill', 'total']
    """
    times = Counter(column.heading for column in plan.columns)

    def named(name: str) -> str:
        column = plan.column(name)
        if level := level_in_words(plan, name):
            declared = plan.column(plan.resolution.column_of(name))
            return level if isinstance(declared, Category) and not declared.label else f"{declared.heading} ({level})"
        return column.heading if times[column.heading] < 2 else f"{column.heading} ({column.name})"

    return lambda table: " × ".join(map(named, table)) or _("total")


def level_in_words(plan: Plan, name: str) -> str:
    """Say at which level a table uses a column, and within which coarser ones of the plan; empty without levels.

    Wider bins of numbers have no names that fit into a sentence.

    >>> county = {"name": "county", "kind": "category", "values": {"CA": ["Kern"]}, "levels": ["state", "county"]}
    >>> plan = Plan(dataset="d", epsilon="1", columns=[county], tables=[["county"], ["county@state"]])
    >>> level_in_words(plan, "county"), level_in_words(plan, "county@state")
    ('county in state', 'state')
    """
    levels, column = plan.resolution.chain(name), plan.column(plan.resolution.column_of(name))
    if name not in levels or not isinstance(column, Category | Date | Time):
        return ""
    finest = column.levels[-1] if isinstance(column, Category) else column.by
    words, *finer = [_(level) if level in (*PERIODS, *TIMES) else level for level in
                     (split_name(each)[1] or finest for each in levels[: levels.index(name) + 1])]  # fmt: skip
    for level in finer:
        words = _("{fine} in {coarse}", fine=level, coarse=words)
    return words


def shown_labels(column: Column) -> tuple[str, ...]:
    """Return the labels of a column's cells for readers, in their language.

    The files hold the labels themselves: see `words_in_files`.

    >>> from dpengine.translation.catalogue import speaking
    >>> with speaking("de"):
    ...     shown_labels(YesNo(name="smokes"))
    ('ja', 'nein', '(sonstige)', '(fehlend)')
    """
    if language() == ENGLISH:
        return column.shown
    declared = column.words_of_declared
    if isinstance(column, YesNo):
        declared = tuple(map(_, YES_OR_NO))
    elif isinstance(column, Time):
        declared = tuple(map(_, declared))
    elif isinstance(column, Number):
        ends = (text.split(" to ") for text in map(localised, declared))
        declared = tuple(_("{low} to {high}", low=each[0], high=each[1]) if len(each) > 1 else each[0] for each in ends)
    # Other and missing stay unchanged where a value already has their name.
    apart = (label if _(label) in declared else _(label) for label in column.labels[column.declared_size :])
    return (*declared, *apart)


def label_words(column: Column) -> dict[str, str]:
    """Map the labels of a column's cells, as they are in files, to those for readers."""
    return dict(zip(column.labels, shown_labels(column), strict=True))


def words_in_files(plan: Plan) -> dict[str, str]:
    """Map words in the files of a release to the reader's language, if that is not English.

    >>> plan = Plan(dataset="d", epsilon=1, columns=[{"name": "a", "kind": "yesno", "other": False}], tables=[["a"]])
    >>> from dpengine.translation.catalogue import speaking
    >>> words_in_files(plan)
    {}
    >>> with speaking("de"):
    ...     words_in_files(plan)["(missing)"]
    '(fehlend)'
    """
    columns = [plan.column(name) for name in plan.counted]
    words = [
        *NUMBERS,
        *(YES_OR_NO if any(isinstance(column, YesNo) for column in columns) else ()),
        *(WEEKDAYS if any(isinstance(column, Time) and column.by == "weekday" for column in columns) else ()),
        *([OTHER] if any(column.other for column in columns) else []),
        *([MISSING] if any(column.missing for column in columns) else []),
    ]
    return {word: _(word) for word in words if _(word) != word}
