"""Search for terms and pages by words, without regard to case and accents, in the reader's language and in English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from dpengine.translation.catalogue import _
from pages.parts.shared.glossary.help import GLOSSARY
from pages.parts.shared.glossary.places import PLACES
from pages.parts.shared.glossary.term import Term

__all__ = ["Found", "alphabetical", "search"]

NAME, ALSO, MEANING, EXAMPLE = 8, 4, 2, 1  # weight of a word by the field in which it was found
WHOLE = 4  # factor on the weight if one text has all words
SHORT = 3  # longer words match without their endings, so that "averages" finds "averaging"
ENDINGS = re.compile(r"(?:ungen|ung|ings|ing|ness|ies|ed|es|en|er|e|s|n|y)$")
WORD = re.compile(r"[^\W_]+|±")
# Words that English and German questions use whatever they are about.
EMPTY = frozenset(
    word
    for words in (
        "a about an and are as at be by can do does find for from how i in is it me my of on or say see should show so",
        "that the there this to was what when where which who whom why will with you your",
        "aus auf bei das dass dem den der des die dies ein eine einem einen einer eines es fur hat ich im ist kann man",
        "mit oder sagt sehe sehen sich sind und vom von wann warum was welche wenn wer wie wird wo zum zur",
    )
    for word in words.split()
)


@dataclass(frozen=True, slots=True)
class Found:
    """The keys of the terms and pages that were found, the best first; `whole` if at least one has all words."""

    terms: tuple[str, ...]
    places: tuple[str, ...]
    whole: bool


def search(text: str) -> Found:
    """Return the terms and pages with all words of `text`; if no term has all, terms with some; likewise for pages.

    >>> search("confidence intervals").terms[0]
    'interval'
    >>> search("where do I see how averaging breaks it?").places[0]
    'attacks'
    >>> search("zebra").terms
    ()
    """
    wanted = [_stem(word) for word in _words(text) if word not in EMPTY]
    terms = {key: _fields_of_term(term) for key, term in GLOSSARY.items()}
    places = {
        key: {(_bilingual(p.title)): NAME, _bilingual(p.also): ALSO, _bilingual(p.subject): MEANING}
        for key, p in PLACES.items()
    }
    all_terms, all_places = (_best(wanted, texts, whole=True) for texts in (terms, places))
    whole = bool(all_terms or all_places)
    return Found(
        all_terms or _best(wanted, terms, whole=False),
        all_places if whole else _best(wanted, places, whole=False),
        whole,
    )


def _fields_of_term(term: Term) -> dict[str, int]:
    return {
        _bilingual(term.name): NAME,
        _bilingual(term.also): ALSO,
        _bilingual(term.meaning): MEANING,
        _bilingual(term.example): EXAMPLE,
    }


def _bilingual(text: str) -> str:
    """Return a text in the reader's language and in English."""
    shown = _(text)
    return text if shown == text else f"{shown} {text}"


def _best(wanted: list[str], texts: Mapping[str, Mapping[str, int]], *, whole: bool) -> tuple[str, ...]:
    """Return the keys of the texts with all `wanted` words, or with some, the best first."""
    scores = {key: _score(wanted, fields, whole=whole) for key, fields in texts.items()}
    return tuple(sorted((key for key, score in scores.items() if score), key=lambda key: -scores[key]))


def _score(wanted: list[str], fields: Mapping[str, int], *, whole: bool) -> int:
    matches = {field: [word for word in wanted if _holds(field, word)] for field in fields}
    matched = set().union(*matches.values())
    if not matched or (whole and len(matched) < len(set(wanted))):
        return 0
    best = sum(max(fields[field] for field, words in matches.items() if word in words) for word in matched)
    together = max((fields[field] for field, words in matches.items() if len(set(words)) == len(matched)), default=0)
    return best + WHOLE * together


def _holds(field: str, word: str) -> bool:
    """Whether a word of `field` begins with `word`; a short one must be the whole word."""
    return any(each.startswith(word) if len(word) >= SHORT else each == word for each in _words(field))


def _words(text: str) -> list[str]:
    """Return the words of a text without case and accents."""
    spelled = unicodedata.normalize("NFKD", text.casefold())
    return WORD.findall("".join(c for c in spelled if not unicodedata.combining(c)))


def _stem(word: str) -> str:
    """Return a word without its ending.

    >>> _stem("averages"), _stem("averaging"), _stem("bins"), _stem("noise")
    ('averag', 'averag', 'bin', 'nois')
    """
    cut = ENDINGS.sub("", word)
    return cut if len(cut) >= SHORT else word


def alphabetical(name: str) -> str:
    """Return the sort key of a name: its letters, without case, accents and brackets.

    >>> sorted(["Zero", "(missing)", "Änderung"], key=alphabetical)
    ['Änderung', '(missing)', 'Zero']
    """
    return " ".join(_words(name))
