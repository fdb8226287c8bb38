"""Read and write declarations of a column as one short text, as a person writes them into a cell.

    number      0, 18, 65, 120        18 to 90 by 5        0, 18 to 65 by 5, 120        0 to 1 in 4 bins
    number      0 to 200000 by 1000 in 20 found bins
    amount      0 to 200000 by 100    0, 10000, 200000 by 100     0 to 10000000 by 100, upper bound found
    category    yes, no               North, "Paris, TX"   1..12, 99                    us-states
                found among #####     found among a-z up to 12 letters                  found among 0 to 99999
    date        2020 to 2024 by month            2020-03-01 to 2024-06-30 by week
    time        by hour              by weekday           by hour of admitted, clock of Europe/Berlin
    yesno       yes, no

Numbers and dates that the table holds as text may be followed by how they are written there:
``0 to 5000 by 500, written 1.234,5`` and ``2020 to 2024 by year, written 31/12/2024``. Texts in double quotes are taken
as they are, with a double quote written twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, get_args

from dpengine.exact import decimal
from dpengine.spec.categories.universe_text import is_among_text, read_among, write_among
from dpengine.spec.date_text import TO, is_part, is_span, read_part, read_pattern, read_span, write_dates
from dpengine.spec.declared import NumberFormat
from dpengine.spec.german_notation import BIS, in_english
from dpengine.spec.limits import MAX_COLUMN_CELLS
from dpengine.spec.numeric.amount_text import finds_upper, is_amount_text, read_amount, spaced, write_amount
from dpengine.spec.numeric.edges import equal_edges
from dpengine.spec.numeric.found_bins_text import is_bins_text, read_bins_text, write_bins_text
from dpengine.spec.standard_lists import standard_lists
from dpengine.translation.catalogue import _, number

__all__ = ["CODES", "YES_NO", "is_standard", "read", "write"]

ELLIPSES = ("…", "...")
MAX_TYPED = 20_000  # edges of a run that a person types; the page reads and writes them each time that it is drawn
MIN_RUN = 3  # consecutive values or bins from which they are written as a run
_NUMBER = r"[+-]?[0-9.]+(?:,[0-9]+)?(?:e[+-]?[0-9]+)?"
_RANGE = re.compile(rf"{_NUMBER}{TO}{_NUMBER}", re.IGNORECASE)
_ONE_RANGE = re.compile(rf"{_NUMBER}(?:{TO}|{BIS}|\s*-\s*){_NUMBER}", re.IGNORECASE)
_STEPS = re.compile(rf".*{_NUMBER}{TO}{_NUMBER}\s+by\s+{_NUMBER}.*", re.IGNORECASE | re.DOTALL)
_WRITTEN = re.compile(r"(.*?)[,;]?\s*\bwritten\s+(?:as\s+|like\s+)?(\S.*)", re.IGNORECASE | re.DOTALL)
_ITEM = re.compile(r'\s*+(?:"((?:[^"]|"")*)"\s*|((?!")[^,;\t\r\n]*))(?:[,;\t\r\n]|\Z)')
_COMMA_EDGES = re.compile(r"(?=.*[0-9],[0-9])\s*[+-]?[0-9]+(?:,[0-9]+)?\s*(?:;\s*[+-]?[0-9]+(?:,[0-9]+)?\s*)+;?")
CODES = re.compile(r"([0-9]{1,9})\s*\.\.\s*([0-9]{1,9})")
YES_NO = ({"yes", "no"}, {"true", "false"}, {"y", "n"}, {"t", "f"}, {"1", "0"})


def read(text: str, kind: str, *, strict: bool = False) -> dict[str, Any]:
    """Return the fields of a plan's column that `text` declares, including its kind.

    `kind` is the assumed kind of the column. A text that can only be of another kind changes it, unless `strict` says
    that a person chose the kind. Raises ValueError with what to write instead.

    >>> read("18 to 30 by 4", "category")
    {'kind': 'number', 'edges': ['18', '22', '26', '30']}
    >>> read('North, "Paris, TX"', "category")
    {'kind': 'category', 'values': ['North', 'Paris, TX']}
    >>> read("2020 to 2024 by year", "date")
    {'kind': 'date', 'from': '2020-01-01', 'to': '2024-12-31', 'by': 'year'}
    >>> read("2024 by month", "date")
    {'kind': 'date', 'from': '2024-01-01', 'to': '2024-12-31', 'by': 'month'}
    >>> read("by weekday", "date")
    {'kind': 'time', 'by': 'weekday'}
    """
    text = in_english(text.strip())
    kind = kind if strict else _kind_of(text, kind)
    body, written = text, ""
    if kind in ("number", "date", "time", "amount") and (match := _WRITTEN.fullmatch(text)):
        body, written = match[1].strip(), match[2].strip()
    match kind:
        case "number":
            cells = read_bins_text(body) if is_bins_text(body) else {"edges": _edges(body)}
            fields: dict[str, Any] = cells | (_number_format(written) if written else {})
        case "amount":
            fields = read_amount(body) | (_number_format(written) if written else {})
        case "category":
            fields = read_among(body) if is_among_text(body) else {"values": _values(body)}
        case "date":
            fields = read_span(body) | ({"format": read_pattern(written)} if written else {})
        case "time":
            fields = read_part(body) | ({"format": read_pattern(written)} if written else {})
        case _:
            if text and {item.casefold() for item in _split(text)} not in YES_NO:
                raise ValueError(_("yes or no has no other values: choose the kind category to list them"))
            fields = {}
    return {"kind": kind} | fields


def write(column: Mapping[str, Any]) -> str:
    """Return the text that `read` reads back; "" while there is nothing to write.

    >>> write({"kind": "number", "edges": ["0", "18", "28", "38", "48", "120"]})
    '0, 18 to 48 by 10, 120'
    >>> write({"kind": "category", "values": ["1", "2", "3", "Paris, TX"]})
    '1..3, "Paris, TX"'
    """
    match column["kind"]:
        case "number" | "amount" as kind:
            if kind == "amount":
                text = write_amount(column)
            else:
                edges = column.get("edges") or ()
                text = write_bins_text(column) if column.get("bins") and not edges else _edges_text(edges)
            written = str(column.get("format") or "")
            return f"{text}, written {written}" if text and written not in ("", get_args(NumberFormat)[0]) else text
        case "category" if column.get("values") == "found":
            return write_among(column.get("among") or {})
        case "category":
            return _values_text([str(value) for value in column.get("values", ())])
        case "date" | "time":
            return write_dates(column)
        case _:
            return "yes, no"


def is_standard(text: str) -> bool:
    """Return whether a text names standard lists and nothing else.

    >>> is_standard("us-states"), is_standard("us-states, Guam")
    (True, False)
    """
    return bool(items := _split(text)) and all(item in standard_lists() for item in items)


def _kind_of(text: str, kind: str) -> str:
    """Return the kind of a text, which is `kind` unless it is clearly another."""
    body = match[1] if (match := _WRITTEN.fullmatch(text)) else text
    if not text:
        return kind
    if is_among_text(text):
        return "category"
    if is_span(body.strip()):
        return "date"
    if is_part(body.strip()):
        return "time"
    if (kind == "amount" and is_amount_text(body)) or finds_upper(body):
        return "amount"
    if '"' in text:
        return "category"
    if _STEPS.fullmatch(body) or _COMMA_EDGES.fullmatch(body):
        return "number"
    items = {item.casefold() for item in _split(text)}
    if kind == "category" or any(map(CODES.fullmatch, items)):
        return "category"
    if items in YES_NO and (kind != "number" or items != {"1", "0"}):
        return "yesno"
    if kind == "yesno" or not any(character.isdigit() for character in text):
        return "category"
    return kind


def _split(text: str) -> list[str]:
    return [item.strip() for item in re.split(r"[,;\t\r\n]", text) if item.strip()]


def _edges(text: str) -> list[str]:
    """Read edges and runs of them."""
    words = spaced(text).split()
    edges: list[str] = []
    while words:
        if words[1:2] == ["to"]:
            run, words = _run(words)
            edges += run[1:] if edges[-1:] == run[:1] else run
        else:
            edges.append(_plain_number(words.pop(0)))
    if not edges:
        raise ValueError(_("write the edges of the bins, such as 0, 18, 65, 120 or 18 to 90 by 5"))
    return edges


def _run(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the edges of ``a to b by c`` or ``a to b in n bins``, and the words after it."""
    if len(words) < 5 or words[3] not in ("by", "in"):
        raise ValueError(_("say how wide the bins are, such as 18 to 90 by 5, or how many: 18 to 90 in 12 bins"))
    start, stop, step = (_plain_number(words[place]) for place in (0, 2, 4))
    if words[3] == "in":
        edges = [f"{edge:f}" for edge in equal_edges(start, stop, step)]
        return edges, words[6:] if words[5:6] in (["bin"], ["bins"]) else words[5:]
    edges = _steps(decimal(start), decimal(stop), decimal(step))
    if len(edges) > MAX_TYPED:
        raise ValueError(
            _(
                "these are {n} bins: choose wider ones, or the kind amount for averages and totals",
                n=number(len(edges) - 1),
            )
        )
    return edges, words[5:]


def _steps(start: Decimal, stop: Decimal, step: Decimal) -> list[str]:
    """Return the edges from `start` to `stop`; the last bin may be narrower than the others."""
    if step <= 0 or start >= stop:
        raise ValueError(_("write the lower number first, and a width above 0, such as 18 to 90 by 5"))
    if (stop - start) / step > MAX_COLUMN_CELLS:
        raise ValueError(_("these are too many bins; a column has at most {most}", most=number(MAX_COLUMN_CELLS)))
    steps = int((stop - start) // step)
    edges = [start + k * step for k in range(steps + 1)]
    return [_shortest(edge) for edge in (edges if edges[-1] == stop else [*edges, stop])]


def _plain_number(word: str) -> str:
    try:
        return f"{decimal(word):f}"
    except ValueError:
        shown = word if len(word) <= 30 else word[:30] + "…"
        raise ValueError(
            _("{shown} is not a number: write edges such as 0, 18, 65, 120 or 18 to 90 by 5", shown=shown)
        ) from None


def _shortest(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _edges_text(edges: Sequence[Any]) -> str:
    try:
        texts = [f"{decimal(edge):f}" for edge in edges]
    except ValueError:  # typed, but not numbers: shown unchanged
        return ", ".join(map(str, edges))
    return ", ".join(_runs(texts))


def _runs(texts: list[str]) -> Iterator[str]:
    """Yield edges, with equal steps as runs if reading the run gives the same texts."""
    numbers = [Decimal(text) for text in texts]
    place = 0
    while place < len(texts):
        end = place + 1
        step = numbers[end] - numbers[place] if end < len(texts) else Decimal(0)
        while end < len(texts) and step > 0 and numbers[end] - numbers[end - 1] == step:
            end += 1
        if end == len(texts) - 1 and numbers[end - 1] < numbers[end] < numbers[end - 1] + step:
            end += 1  # a last bin that is narrower
        bins = end - 1 - place
        if bins >= MIN_RUN and _steps(numbers[place], numbers[end - 1], step) == texts[place:end]:
            yield f"{texts[place]} to {texts[end - 1]} by {_shortest(step)}"
            place = end
        else:
            yield texts[place]
            place += 1


def _number_format(written: str) -> dict[str, str]:
    forms = get_args(NumberFormat)
    if written not in forms:
        raise ValueError(
            _(
                "after “written” say how 1234.5 looks: {listed} or {last}",
                listed=", ".join(forms[:-1]),
                last=forms[-1],
            )
        )
    return {"format": "" if written == forms[0] else written}


def _values(text: str) -> list[str]:
    """Read values, codes such as 1..12, and names of standard lists.

    A column of the single value 1-5 is hardly meant: all rows with 1 or 5 would be outside its cells.
    """
    if _ONE_RANGE.fullmatch(text):
        raise ValueError(_("write codes as 1..5, bins as 0 to 50 by 10, and a single value that looks so in quotes"))
    values: list[str] = []
    place = 0
    while place < len(text):
        item = _ITEM.match(text, place)
        if item is None:
            raise ValueError(_('put a comma after a value in quotes, and write a quote within one twice: "6"" pipe"'))
        place = item.end()
        if item[1] is not None:
            values.append(item[1].replace('""', '"'))
        elif bare := item[2].strip():
            values += _named(bare)
    if not values:
        raise ValueError(_("list the possible values, such as North, South, or name a list, such as us-states"))
    return values


def _named(item: str) -> Sequence[str]:
    if item in ELLIPSES:
        raise ValueError(_("write all values: a list with … in it is not whole"))
    if item in standard_lists():
        return standard_lists()[item]
    if codes := CODES.fullmatch(item):
        low, high = int(codes[1]), int(codes[2])
        if not low < high <= low + MAX_COLUMN_CELLS:
            raise ValueError(_("{item}: write the lower code first, such as 1..12", item=item))
        width = len(codes[1]) if codes[1].startswith("0") and len(codes[1]) == len(codes[2]) else 0
        return [f"{code:0{width}}" for code in range(low, high + 1)]
    return [item]


def _values_text(values: list[str]) -> str:
    lists = sorted(standard_lists().items(), key=lambda entry: -len(entry[1]))
    items, place = [], 0
    while place < len(values):
        name = next((name for name, listed in lists if tuple(values[place : place + len(listed)]) == listed), None)
        if name is not None:
            items.append(name)
            place += len(standard_lists()[name])
            continue
        end = place + 1
        while end < len(values) and _follows(values[end - 1], values[end]):
            end += 1
        codes = f"{values[place]}..{values[end - 1]}"
        if end - place >= MIN_RUN and CODES.fullmatch(codes) and _named(codes) == values[place:end]:
            items.append(codes)
            place = end
        else:
            alone = len(values) == 1 and _ONE_RANGE.fullmatch(values[place])
            items.append(f'"{values[place]}"' if alone else _quoted(values[place]))
            place += 1
    return ", ".join(items)


def _follows(before: str, after: str) -> bool:
    short = len(before) < 10 and len(after) < 10  # no run is longer than what `CODES` reads
    return short and before.isascii() and after.isascii() and before.isdigit() and after.isdigit() and (
        int(after) == int(before) + 1
    )  # fmt: skip


def _quoted(value: str) -> str:
    """Return a value, in quotes if it would otherwise be read as something else."""
    odd = not value or value != value.strip() or _RANGE.fullmatch(value) or re.search(r'[,;"\t\r\n]', value)
    meant_otherwise = value in (*ELLIPSES, *standard_lists()) or CODES.fullmatch(value) or in_english(value) != value
    doubled = value.replace('"', '""')
    return f'"{doubled}"' if odd or meant_otherwise or _kind_of(value, "category") != "category" else value
