"""Choices to try, with made-up scores that are nobody's secret."""

from __future__ import annotations

from dataclasses import dataclass

from dpengine.translation.catalogue import mark

__all__ = ["OWN", "SAMPLES", "Sample"]

OWN = mark("My own")


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
    mark("Best price"): Sample(
        mark("Which one price earns most?"),
        mark("the total that all bidders who accept the price pay; 300 would pay up to 1.00, and 100 up to 3.01"),
        "3.02",
        mark("one bidder adds at most the highest price on the list"),
        True,
        ("1.00", "1.01", "2.00", "3.00", "3.01", "3.02"),
        ("400", "101", "200", "300", "301", "0"),
    ),
    mark("Best day"): Sample(
        mark("On which day can most people come?"),
        mark("how many can come on that day"),
        "1",
        mark("one person counts once a day"),
        True,
        (
            mark("Monday"),
            mark("Tuesday"),
            mark("Wednesday"),
            mark("Thursday"),
            mark("Friday"),
            mark("Saturday"),
            mark("Sunday"),
        ),
        ("112", "131", "127", "96", "74", "58", "12"),
    ),
    mark("Best threshold"): Sample(
        mark("Above which reading should a test be positive?"),
        mark("minus the number of people whom the test would then misjudge"),
        "1",
        mark("one person is misjudged at most once"),
        True,
        ("4.0", "4.5", "5.0", "5.5", "6.0", "6.5", "7.0", "7.5", "8.0"),
        ("-148", "-103", "-71", "-54", "-51", "-58", "-84", "-121", "-160"),
    ),
    OWN: Sample(
        mark("Which is best?"),
        mark("the higher the better"),
        "1",
        mark("for you to decide"),
        False,
        (mark("first"), mark("second")),
        ("0", "0"),
    ),
}
