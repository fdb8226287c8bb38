"""Choices to try: made-up scores, of which nobody's are private."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OWN", "SAMPLES", "Sample"]

OWN = "My own"


@dataclass(frozen=True, slots=True)
class Sample:
    """A question, what the scores are, and how far a person moves them."""

    question: str
    scored: str
    sensitivity: str
    why: str
    monotone: bool
    names: tuple[str, ...]
    scores: tuple[float, ...]


SAMPLES = {
    "Best price": Sample(
        "Which one price earns most?",
        "what all bidders who would pay it bring in together: 300 would pay 1.00, and 100 would pay 3.01",
        "3.02",
        "one bidder adds at most the highest price on the list",
        True,
        ("1.00", "1.01", "2.00", "3.00", "3.01", "3.02"),
        (400.0, 101.0, 200.0, 300.0, 301.0, 0.0),
    ),
    "Best day": Sample(
        "On which day can most people come?",
        "how many can come on that day",
        "1",
        "one person counts once a day",
        True,
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        (112.0, 131.0, 127.0, 96.0, 74.0, 58.0, 12.0),
    ),
    "Best threshold": Sample(
        "From which reading on should a test say yes?",
        "how many people it would then misjudge, below zero",
        "1",
        "one person is misjudged once at most",
        True,
        ("4.0", "4.5", "5.0", "5.5", "6.0", "6.5", "7.0", "7.5", "8.0"),
        (-148.0, -103.0, -71.0, -54.0, -51.0, -58.0, -84.0, -121.0, -160.0),
    ),
    OWN: Sample("Which is best?", "the higher the better", "1", "yours to say", False, ("first", "second"), (0.0, 0.0)),
}
