"""A term as the glossary and the help on pages explain it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Term"]


@dataclass(frozen=True, slots=True)
class Term:
    """A term, its meaning, and an example in numbers. All texts are in English, and translated where they are shown."""

    name: str
    also: str  # other words for it, which a search finds too
    meaning: str  # one sentence
    example: str
    see: tuple[str, ...]  # the keys of related terms
    places: tuple[str, ...]  # the addresses of pages that use it or let one try it
