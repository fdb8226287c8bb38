"""The ways to write one text in Unicode: all that are canonically equivalent to it.

For engines that cannot compose Unicode: a text there is equal to a declared one where it is one of its
spellings (Unicode Standard Annex 15). Letters without marks have one, letters with marks a few.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from itertools import product

from dpengine.errors import TableError

__all__ = ["spellings"]

MOST = 4096


def spellings(text: str) -> list[str]:
    """Every text whose composed form is that of ``text``. Raises `TableError` for more than 4,096."""
    if text.isascii() and not set(text) & set("K;`"):  # most are; these three have signs of their own
        return [text]
    pieces = [_closure(piece) for piece in _pieces(unicodedata.normalize("NFD", text))]
    count = 1
    for piece in pieces:
        count *= len(piece)
        if count > MOST:
            raise TableError(
                f"the declared value {text!r} can be written in more ways in Unicode than an engine elsewhere can "
                "be asked for; write the column in plainer letters"
            )
    return ["".join(parts) for parts in product(*pieces)]


@cache
def _steps() -> dict[str, list[str]]:
    """Letters by what one step of decomposition makes of them."""
    composed: dict[str, list[str]] = {}
    for code in range(0x80, sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code))
        if parts and not parts.startswith("<"):
            composed.setdefault("".join(chr(int(part, 16)) for part in parts.split()), []).append(chr(code))
    return composed


@cache
def _joining() -> frozenset[str]:
    """Letters that may be composed with one before them."""
    return frozenset(letter for parts in _steps() for letter in parts[1:])


def _pieces(text: str) -> list[str]:
    """A decomposed text cut where nothing on the left can join with anything on the right."""
    pieces: list[str] = []
    for letter in text:
        jamo = "\u1161" <= letter <= "\u1175" or "\u11a8" <= letter <= "\u11c2"
        if pieces and (unicodedata.combining(letter) or letter in _joining() or jamo):
            pieces[-1] += letter
        else:
            pieces.append(letter)
    return pieces


def _closure(piece: str) -> list[str]:
    """All that decomposes to the piece: marks of different classes in any order, and letters composed."""
    found, new = {piece}, [piece]
    while new:
        text = new.pop()
        for other in _nearby(text):
            if other not in found:
                found.add(other)
                new.append(other)
                if len(found) > MOST:
                    return list(found)
    return sorted(found)


def _nearby(text: str) -> list[str]:
    found = []
    for k, letter in enumerate(text):
        found += [text[:k] + composed + text[k + 1 :] for composed in _steps().get(letter, ())]
        pair = text[k : k + 2]
        if len(pair) == 2:
            found += [text[:k] + composed + text[k + 2 :] for composed in _steps().get(pair, ())]
            hangul = unicodedata.normalize("NFC", pair)
            if len(hangul) == 1 and "\uac00" <= hangul <= "\ud7a3":
                found.append(text[:k] + hangul + text[k + 2 :])
            first, second = map(unicodedata.combining, pair)
            if first and second and first != second:
                found.append(text[:k] + pair[::-1] + text[k + 2 :])
    return found
