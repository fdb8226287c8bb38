"""Read and write the universe of values to find as one short text, as a person writes it into a cell.

    found among #####                          five digits
    found among @## or @##.#                   codes of two forms
    found among a-z up to 12 letters           texts
    found among 0 to 99999                     whole numbers

A text may go on with ``, at most 500``, ``, share 1/3`` and ``, chance 1/100``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpengine.translation.catalogue import _

__all__ = ["is_among_text", "read_among", "read_rule", "write_among", "write_rule"]

_FOUND = re.compile(r"found\s+among\s+(.+)", re.IGNORECASE)
_SPAN = re.compile(r"(-?[0-9]{1,18})\s*(?:\bto\b|–|—)\s*(-?[0-9]{1,18})", re.IGNORECASE)
_LETTERS = re.compile(r"(\S+)\s+up\s+to\s+([0-9]{1,3})\s+letters?", re.IGNORECASE)
_OPTIONS = {"most": r"at\s+most\s+([0-9]{1,6})", "share": r"share\s+([0-9./]+)", "chance": r"chance\s+([0-9./e-]+)"}


def is_among_text(text: str) -> bool:
    """Return whether a text declares that values are to be found.

    >>> is_among_text("found among #####"), is_among_text("found, lost")
    (True, False)
    """
    return bool(_FOUND.fullmatch(text.strip()))


def read_among(text: str) -> dict[str, Any]:
    """Return the plan entries for a column whose values are to be found. Raises ValueError with what to write instead.

    >>> read_among("found among 0 to 99999, at most 50")
    {'values': 'found', 'among': {'from': 0, 'to': 99999, 'most': 50}}
    >>> read_among("found among @## or @##.#")
    {'values': 'found', 'among': {'pattern': ['@##', '@##.#']}}
    """
    match = _FOUND.fullmatch(text.strip())
    return {"values": "found", "among": read_rule(match[1] if match else "")}


def read_rule(text: str) -> dict[str, Any]:
    """Return the plan's entry `among` from the text after *found among*. Raises ValueError as `read_among` does.

    >>> read_rule("a-z up to 12 letters")
    {'letters': 'a-z', 'longest': 12}
    """
    rule, *options = [part.strip() for part in text.strip().split(",")]
    among: dict[str, Any]
    if span := _SPAN.fullmatch(rule):
        among = {"from": int(span[1]), "to": int(span[2])}
    elif letters := _LETTERS.fullmatch(rule):
        among = {"letters": letters[1], "longest": int(letters[2])}
    else:
        patterns = re.split(r"\s+or\s+", rule)
        among = {"pattern": patterns if len(patterns) > 1 else patterns[0]}
    for option in options:
        name, match = next(
            ((name, match) for name, form in _OPTIONS.items() if (match := re.fullmatch(form, option, re.IGNORECASE))),
            ("", None),
        )
        if match is None or name in among:
            raise ValueError(
                _(
                    "write which values are possible, such as found among ##### or found among 0 to 99999; then, if "
                    "need be, at most 500, share 1/3 or chance 1/100, with commas between"
                )
            )
        among[name] = int(match[1]) if name == "most" else match[1]
    return among


def write_among(among: Mapping[str, Any]) -> str:
    """Return the text that `read_among` reads back.

    >>> write_among({"letters": "a-z", "longest": 12, "share": "1/3"})
    'found among a-z up to 12 letters, share 1/3'
    """
    return f"found among {write_rule(among)}"


def write_rule(among: Mapping[str, Any]) -> str:
    """Return the text that `read_rule` reads back.

    >>> write_rule({"pattern": ["@##", "@##.#"]})
    '@## or @##.#'
    """
    if among.get("from") is not None:
        rule = f"{among['from']} to {among['to']}"
    elif among.get("letters"):
        rule = f"{among['letters']} up to {among['longest']} letters"
    else:
        patterns = among.get("pattern", "")
        rule = patterns if isinstance(patterns, str) else " or ".join(patterns)
    options = {"at most": among.get("most"), "share": among.get("share"), "chance": among.get("chance")}
    stated = (f", {word} {value}" for word, value in options.items() if value is not None)
    return f"{rule}{''.join(stated)}"
