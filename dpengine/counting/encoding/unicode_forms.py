"""All Unicode spellings of a text, for engines that cannot compose Unicode.

A text in such an engine equals a declared one if it is one of its spellings. Letters without accents have one
spelling, letters with accents a few.

Source: Unicode Standard Annex 15 (canonical equivalence).
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from itertools import product

from dpengine.errors import TableError
from dpengine.translation.catalogue import _

__all__ = ["spellings"]

MAX_SPELLINGS = 4096


def spellings(text: str) -> list[str]:
    """Return every text that has the same composed form (NFC) as `text`.

    Raises `TableError` if there are more than `MAX_SPELLINGS`.

    >>> sorted(map(ascii, spellings("ö")))
    ["'\\\\xf6'", "'o\\\\u0308'"]
    """
    if text.isascii() and not set(text) & set("K;`"):  # these three have a second code point
        return [text]
    pieces = [_closure(piece) for piece in _pieces(unicodedata.normalize("NFD", text))]
    count = 1
    for piece in pieces:
        count *= len(piece)
        if count > MAX_SPELLINGS:
            raise TableError(
                _(
                    "the declared value {text!r} can be written in too many ways in Unicode for a query in a "
                    "database; write the column in plainer letters",
                    text=text,
                )
            )
    return ["".join(parts) for parts in product(*pieces)]


@cache
def _compositions() -> dict[str, list[str]]:
    """Return, by text, the letters that decompose to it in one step."""
    composed: dict[str, list[str]] = {}
    for code in range(0x80, sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code))
        if parts and not parts.startswith("<"):
            composed.setdefault("".join(chr(int(part, 16)) for part in parts.split()), []).append(chr(code))
    return composed


@cache
def _combining() -> frozenset[str]:
    """Return the code points that may be composed with the one before them."""
    return frozenset(letter for parts in _compositions() for letter in parts[1:])


def _pieces(text: str) -> list[str]:
    """Split a decomposed text where nothing on the left can be composed with anything on the right."""
    pieces: list[str] = []
    for letter in text:
        jamo = "\u1161" <= letter <= "\u1175" or "\u11a8" <= letter <= "\u11c2"
        if pieces and (unicodedata.combining(letter) or letter in _combining() or jamo):
            pieces[-1] += letter
        else:
            pieces.append(letter)
    return pieces


def _closure(piece: str) -> list[str]:
    """Return all texts that decompose to the piece: accents of different classes in any order, composed or not."""
    closure, new = {piece}, [piece]
    while new:
        text = new.pop()
        further = {*_nearby(text)} - closure
        closure |= further
        new += further
        if len(closure) > MAX_SPELLINGS:
            return list(closure)
    return sorted(closure)


def _nearby(text: str) -> list[str]:
    """Return the equivalent texts that are one step away: a composition, or two neighbouring accents exchanged."""
    texts = []
    for k, letter in enumerate(text):
        texts += [text[:k] + composed + text[k + 1 :] for composed in _compositions().get(letter, ())]
        pair = text[k : k + 2]
        if len(pair) == 2:
            texts += [text[:k] + composed + text[k + 2 :] for composed in _compositions().get(pair, ())]
            hangul = unicodedata.normalize("NFC", pair)
            if len(hangul) == 1 and "\uac00" <= hangul <= "\ud7a3":
                texts.append(text[:k] + hangul + text[k + 2 :])
            first, second = map(unicodedata.combining, pair)
            if first and second and first != second:
                texts.append(text[:k] + pair[::-1] + text[k + 2 :])
    return texts
