"""Universes: all possible values of a column, ordered and given by a public rule instead of a list.

The keys of a universe are texts of limited length, texts by patterns such as five digits, or whole numbers of
a range. They are numbered from 0, and a key and its place follow from each other: nothing has to be listed, so 26^12
keys are as easy as ten.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, field_serializer, field_validator, model_validator

from dpengine.exact import ExactLike, exact_text, rational
from dpengine.noise.threshold import MAX_KEYS
from dpengine.spec.declared import Declared, Line, Whole
from dpengine.spec.limits import MAX_FOUND
from dpengine.spec.numeric.found_bins import Share
from dpengine.translation.catalogue import _, number

__all__ = ["NONE_FOUND", "Universe"]

NONE_FOUND = "(none found)"
MARKS = {"#": "0123456789", "@": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}  # in a pattern
_PUNCTUATION = "-_./+&'"
_MAX_LETTERS, _MAX_LENGTH, _MAX_PATTERNS = 200, 60, 50
_MAX_WHOLE = 10**17


Chance = Annotated[Fraction, BeforeValidator(lambda value: rational(value)), PlainSerializer(exact_text)]


class Universe(Declared):
    """The keys among which the values of a column are found privately, and the parameters of finding.

    They are given by one of three rules. `pattern`, or several of them: ``#`` is a digit, ``@`` a capital letter from A
    to Z, and everything else stands for itself. `letters`, such as ``a-zäöüß``, with the maximum length `longest`. Or
    whole numbers `first` to `last`, ``from`` and ``to`` in plan files.

    At most the `most` keys with the largest noisy counts become values. `share` is the share of ε that finding costs,
    and `chance` the probability that at least one key is found that nobody has. `found` are the values, once a release
    has found them.

    >>> codes = Universe(pattern="@##")
    >>> codes.keys, codes.key(0), codes.key(2599), codes.place("B07"), codes.place("b07")
    (2600, 'A00', 'Z99', 107, None)
    """

    pattern: tuple[Line, ...] = Field(default=(), description="such as ##### for five digits, @ for a capital letter")
    letters: Line = Field(default="", description="the letters of texts, such as a-z")
    longest: Whole | None = Field(default=None, ge=1, le=_MAX_LENGTH, description="the most letters of a text")
    first: Whole | None = Field(default=None, alias="from", ge=-_MAX_WHOLE, le=_MAX_WHOLE)
    last: Whole | None = Field(default=None, alias="to", ge=-_MAX_WHOLE, le=_MAX_WHOLE)
    most: Whole = Field(default=1_000, ge=1, le=MAX_FOUND, description="the most values that are kept")
    share: Share = Field(default=Fraction(1, 4), description="the part of ε that finding values costs")
    chance: Chance = Field(default=Fraction(1, 1_000), description="that a value is found which nobody has")
    found: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self, *, pattern: str | Sequence[str] = ..., letters: str = ..., longest: int | None = ...,
            first: int | None = ..., last: int | None = ..., most: int = ..., share: ExactLike = ...,
            chance: ExactLike = ..., found: Sequence[str] = ...,
        ) -> None: ...  # fmt: skip

    @field_validator("pattern", mode="before")
    @classmethod
    def _read_pattern(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @field_serializer("pattern", when_used="json")
    def _write_pattern(self, pattern: tuple[str, ...]) -> str | list[str]:
        return pattern[0] if len(pattern) == 1 else list(pattern)

    @field_validator("chance")
    @classmethod
    def _check_chance(cls, chance: Fraction) -> Fraction:
        if not Fraction(1, 10**9) <= chance <= Fraction(1, 10) or chance.denominator > 10**9:
            raise ValueError(_("the chance that a value is found which nobody has lies between 1e-9 and 1/10"))
        return chance

    @model_validator(mode="after")
    def _check_rule(self) -> Universe:
        rules = [bool(self.pattern), bool(self.letters), self.first is not None]
        if sum(rules) != 1 or (self.longest is None) == bool(self.letters) or (self.first is None) != (
            self.last is None
        ):  # fmt: skip
            raise ValueError(
                _(
                    "say by one rule which values are possible: a 'pattern' such as #####, 'letters' such as a-z with "
                    "the 'longest' number of them, or 'from' and 'to' of whole numbers"
                )
            )
        if self.first is not None and self.last is not None and self.first > self.last:
            raise ValueError(_("'from' ({first}) is after 'to' ({last})", first=self.first, last=self.last))
        self._check_letters()
        self._check_patterns()
        if any(self.place(value) is None for value in self.found) and self.found != (NONE_FOUND,):
            raise ValueError(_("a value that was found is not possible here"))
        if not 1 <= self.keys <= MAX_KEYS:
            raise ValueError(
                _(
                    "there are about {keys} possible values, more than the {most} that can be told apart: allow fewer "
                    "letters",
                    keys=number(float(min(self.keys, 10**300)), ".1g"),
                    most=number(float(MAX_KEYS), ".1g"),
                )
            )
        return self

    def _check_letters(self) -> None:
        alphabet = self._alphabet
        for letter in alphabet:
            if not (letter.isalnum() or letter in _PUNCTUATION):
                raise ValueError(
                    _("{letter!r} is no letter, digit or one of {marks}", letter=letter, marks=_PUNCTUATION)
                )
        if len({*alphabet}) < len(alphabet):
            raise ValueError(_("a letter is named twice in {letters!r}", letters=self.letters))
        if len(alphabet) > _MAX_LETTERS:
            raise ValueError(_("at most {most} letters are possible", most=_MAX_LETTERS))
        # Texts are compared in composed form, so each text of these letters must be its own composed form.
        if any(not unicodedata.is_normalized("NFC", a + b) for a, b in product(alphabet, repeat=2)):
            raise ValueError(_("some of these letters join to others when they stand side by side: leave them out"))

    def _check_patterns(self) -> None:
        if len(self.pattern) > _MAX_PATTERNS:
            raise ValueError(_("at most {most} patterns are possible", most=_MAX_PATTERNS))
        for pattern in self.pattern:
            plain = all(letter in MARKS or letter in f"{_PUNCTUATION} " or (letter.isascii() and letter.isalnum())
                        for letter in pattern)  # fmt: skip
            if not plain or not pattern or pattern != pattern.strip() or len(pattern) > _MAX_LENGTH:
                raise ValueError(
                    _(
                        "{pattern!r} is no pattern: # stands for a digit, @ for a capital letter, and plain letters, "
                        "digits, blanks within and {marks} for themselves",
                        pattern=pattern,
                        marks=_PUNCTUATION,
                    )
                )
        for one, other in combinations(self._slots, 2):
            if len(one) == len(other) and all({*a} & {*b} for a, b in zip(one, other, strict=True)):
                raise ValueError(_("a text could fit two of these patterns: leave one out"))

    @cached_property
    def _alphabet(self) -> str:
        """The letters in the given order, with ranges such as a-z expanded."""
        letters = ""
        for low, high, single in re.findall(r"([^-])-([^-])|(.)", self.letters):
            within = "".join(map(chr, range(ord(low), ord(high) + 1))) if low else single
            if low and not (within and low.isalnum() and high.isalnum() and len(within) <= _MAX_LETTERS):
                raise ValueError(_("{letters!r} is no range of letters", letters=f"{low}-{high}"))
            letters += within
        return letters

    @cached_property
    def _slots(self) -> list[list[str]]:
        """For each pattern, the letters that are possible at each position."""
        return [[MARKS.get(letter, letter) for letter in pattern] for pattern in self.pattern]

    @cached_property
    def _subtrees(self) -> list[int]:
        """The number of texts with at most 0, 1, … letters, the empty one included."""
        sizes = [1]
        for _length in range(self.longest or 0):
            sizes.append(1 + len(self._alphabet) * sizes[-1])
        return sizes

    @cached_property
    def keys(self) -> int:
        """The number of keys."""
        if self.first is not None and self.last is not None:
            return self.last - self.first + 1
        if self.letters:
            return self._subtrees[-1] - 1
        return sum(prod(map(len, slots)) for slots in self._slots)

    def key(self, place: int) -> str:
        """Return the key at a place, from 0 to one below the number of keys.

        >>> [Universe(letters="ab", longest=2).key(place) for place in range(6)]
        ['a', 'aa', 'ab', 'b', 'ba', 'bb']
        """
        if not 0 <= place < self.keys:
            raise IndexError(place)
        if self.first is not None:
            return str(self.first + place)
        if self.letters:
            return self._text(place)
        for slots in self._slots:
            size = prod(map(len, slots))
            if place < size:
                return self._of_slots(slots, place)
            place -= size
        raise AssertionError("every place lies in one of the patterns")

    def place(self, key: str) -> int | None:
        """Return the place of a key; None for a text that is no key.

        >>> Universe(first=-5, last=5).place("-3"), Universe(first=-5, last=5).place("-0")
        (2, None)
        """
        if self.first is not None and self.last is not None:
            if not re.fullmatch("0|-?[1-9][0-9]{0,17}", key) or not self.first <= int(key) <= self.last:
                return None
            return int(key) - self.first
        if self.letters:
            places = [self._places.get(letter) for letter in key]
            if not 1 <= len(places) <= len(self._subtrees) - 1 or None in places:
                return None
            below = reversed(self._subtrees[:-1][-len(places) :])
            return sum(each * size for each, size in zip(places, below, strict=True) if each) + len(places) - 1
        start = 0
        for slots in self._slots:
            if len(slots) == len(key) and all(map(str.__contains__, slots, key)):
                place = 0
                for letters, letter in zip(slots, key, strict=True):
                    place = place * len(letters) + letters.index(letter)
                return start + place
            start += prod(map(len, slots))
        return None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {letter: place for place, letter in enumerate(self._alphabet)}

    def _text(self, place: int) -> str:
        """Return the text at a place in lexicographic order: each is followed by those that begin with it."""
        text = ""
        for size in reversed(self._subtrees[:-1]):
            letter, place = divmod(place, size)
            text += self._alphabet[letter]
            if not place:
                break
            place -= 1
        return text

    @staticmethod
    def _of_slots(slots: list[str], place: int) -> str:
        text = ""
        for letters in reversed(slots):
            place, letter = divmod(place, len(letters))
            text = letters[letter] + text
        return text

    @cached_property
    def regular_expression(self) -> str:
        """A regular expression that matches exactly the keys; for whole numbers, also some other texts.

        >>> Universe(pattern="@#-#").regular_expression
        '([A-Z][0-9][-][0-9])'
        """
        if self.first is not None:
            return "0|-?[1-9][0-9]{0,17}"
        if self.letters:
            others = "".join(letter for letter in self._alphabet if letter != "-")
            return f"[{others}{'-' if '-' in self._alphabet else ''}]{{1,{self.longest}}}"
        sets = {"#": "[0-9]", "@": "[A-Z]"}
        return "|".join("(" + "".join(sets.get(each, f"[{each}]") for each in text) + ")" for text in self.pattern)

    @property
    def has_points(self) -> bool:
        """Whether keys may contain points, so that 7.0 is not just another spelling of 7."""
        return "." in self._alphabet or any("." in pattern for pattern in self.pattern)

    @property
    def values(self) -> tuple[str, ...]:
        """The values that were found; before that, the maximum number of keys as placeholders."""
        return self.found or self._first_keys

    @cached_property
    def _first_keys(self) -> tuple[str, ...]:
        return tuple(map(self.key, range(min(self.most, self.keys))))

    def values_at(self, places: Iterable[int]) -> tuple[str, ...]:
        """Return the keys at these places, in increasing order, as values of a column.

        If there are none, one value says so, so that a table has a cell.

        >>> Universe(first=1, last=99).values_at([2, 79]), Universe(first=1, last=99).values_at([])
        (('3', '80'), ('(none found)',))
        """
        return tuple(map(self.key, places)) or (NONE_FOUND,)
