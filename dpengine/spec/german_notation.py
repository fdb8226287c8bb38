"""Translate the short text of a column between English and German, as people type and read it on a German page.

Only texts that no list of values is likely to be are changed: a span of numbers or days and its steps, or a part of
times.
"""

from __future__ import annotations

import re

__all__ = ["BIS", "in_english", "in_german"]

BIS = r"\s*\bbis\b\s*"
_WORDS = {
    "bis": "to", "je": "by", "pro": "by", "nach": "by", "geschrieben": "written", "klassen": "bins", "teilen": "parts",
    "tag": "day", "woche": "week", "monat": "month", "quartal": "quarter", "jahr": "year",
    "stunde": "hour", "wochentag": "weekday",
    "obergrenze gefunden": "upper bound found", "obere grenze gefunden": "upper bound found", "anteil": "share",
}  # fmt: skip
_GERMAN = {
    "to": "bis", "by": "je", "written": "geschrieben", "bins": "Klassen", "parts": "Teilen",
    "day": "Tag", "week": "Woche", "month": "Monat", "quarter": "Quartal", "year": "Jahr",
    "hour": "Stunde", "weekday": "Wochentag", "upper bound found": "Obergrenze gefunden", "share": "Anteil",
}  # fmt: skip
_ENGLISH_WORD = re.compile(rf"\b(?:{'|'.join(_GERMAN)})\b")
_PERIOD = "tag|woche|monat|quartal|jahr|day|week|month|quarter|year"
_TO = r"\s*\b(?:bis|to)\b\s*"
_NUMBER = r"[0-9][0-9.,-]*"
_SPAN = re.compile(
    rf"[^\"a-z]*{_NUMBER}(?:{_TO}{_NUMBER})?\s+(?:(?:je|pro|nach|by)\s+(?:{_PERIOD})\b|in\s+[0-9]+\s+klassen\b).*"
    rf"|[^\"a-z]*{_NUMBER}{_TO}{_NUMBER}\s+(?:je|pro|by)\s+[0-9].*"
    rf"|[^\"a-z]*{_NUMBER}{_TO}{_NUMBER}[,;]?\s+ober(?:e\s)?grenze\s+gefunden\b.*"
    r"|(?:je|nach)\s+(?:stunde|wochentag)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)


def in_english(text: str) -> str:
    """Return a span or a part of times with its German words in English; any other text as it is.

    >>> in_english("01.10.2025 bis 31.12.2025 je Monat, geschrieben 31.12.2024")
    '01.10.2025 to 31.12.2025 by month, written 31.12.2024'
    >>> in_english("2020 to 2024 by month, geschrieben 31.12.2024")
    '2020 to 2024 by month, written 31.12.2024'
    >>> in_english("0, 18 bis 65 je 5, 120"), in_english("18 bis 90 in 12 Klassen"), in_english("je Wochentag")
    ('0, 18 to 65 by 5, 120', '18 to 90 in 12 bins', 'by weekday')
    >>> in_english("0 bis 90000 je 100, Obergrenze gefunden, Anteil 1/5")
    '0 to 90000 by 100, upper bound found, share 1/5'
    >>> in_english("Tag, Nacht"), in_english("1 bis 2, 3 bis 4")
    ('Tag, Nacht', '1 bis 2, 3 bis 4')
    """
    return _WORD.sub(lambda word: _WORDS[word[0].lower()], text) if _SPAN.fullmatch(text) else text


def in_german(text: str) -> str:
    """Return the text of numbers, dates or times with its words in German, where `in_english` reads it as the same.

    A text with "of" names a column, or a clock, and stays as it is.

    >>> in_german("2020 to 2024 by month, written 31.12.2024"), in_german("0 to 900 by 10 in 40 parts")
    ('2020 bis 2024 je Monat, geschrieben 31.12.2024', '0 bis 900 je 10 in 40 Teilen')
    >>> in_german("0 to 90000 by 100, upper bound found, share 1/5")
    '0 bis 90000 je 100, Obergrenze gefunden, Anteil 1/5'
    >>> in_german("by hour of day"), in_german("0, 18, 65")
    ('by hour of day', '0, 18, 65')
    """
    german = _ENGLISH_WORD.sub(lambda word: _GERMAN[word[0]], text)
    return german if in_english(german) == text and " of " not in text else text
