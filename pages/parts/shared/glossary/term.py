"""A word of the field, as the glossary and the help beside it explain it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Term"]


@dataclass(frozen=True, slots=True)
class Term:
    """A word, what it means, and an example in numbers. All texts are marked, and translated where they are shown."""

    name: str
    also: str  # other words for it, by which it is found too
    meaning: str  # one sentence
    example: str
    see: tuple[str, ...]  # the keys of terms that belong to it
    places: tuple[str, ...]  # the addresses of pages where it matters or can be tried out
