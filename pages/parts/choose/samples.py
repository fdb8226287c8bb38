"""Choices to try, with made-up scores that are nobody's secret."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OWN", "SAMPLES", "Sample"]

OWN = "My own"


@dataclass(frozen=True, slots=True)
class Sample:
    """A question with scored candidates; `sensitivity` is how far one person can move a score, `why` the reason for it.

    In a `monotone` choice one person moves all scores in the same direction.
    """

    question: str
    scored: str
    sensitivity: str
    why: str
    monotone: bool
    names: tuple[str, ...]
    scores: tuple[str, ...]


SAMPLES = {
    "Best price": Sample(
        "Which one price earns most?",
        "the total that all bidders who accept the price pay; 300 would pay up to 1.00, and 100 up to 3.01",
        "3.02",
        "one bidder adds at most the highest price on the list",
        True,
        ("1.00", "1.01", "2.00", "3.00", "3.01", "3.02"),
        ("400", "101", "200", "300", "301", "0"),
    ),
    "Best day": Sample(
        "On which day can most people come?",
        "how many can come on that day",
        "1",
        "one person counts once a day",
        True,
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        ("112", "131", "127", "96", "74", "58", "12"),
    ),
    "Best threshold": Sample(
        "Above which reading should a test be positive?",
        "minus the number of people whom the test would then misjudge",
        "1",
        "one person is misjudged at most once",
        True,
        ("4.0", "4.5", "5.0", "5.5", "6.0", "6.5", "7.0", "7.5", "8.0"),
        ("-148", "-103", "-71", "-54", "-51", "-58", "-84", "-121", "-160"),
    ),
    OWN: Sample(
        "Which is best?", "the higher the better", "1", "for you to decide", False, ("first", "second"), ("0", "0")
    ),
}
