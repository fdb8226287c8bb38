"""A choice is read exactly, drawn from its distribution, charged before it is shown, and never drawn twice."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpengine.accounting.ledger import Ledger
from dpengine.choose import Candidates, Mechanism, draw_once, probabilities, published, reopen, sample
from dpengine.errors import BudgetError, LedgerError, PlanError

NAMES = ["1.00", "3.00", "3.02"]
BOTH = list(Mechanism)


def candidates(epsilon: str = "1/2", **changes: object) -> Candidates:
    given = {"names": NAMES, "scores": ["400", "300.5", "1/3"], "sensitivity": "3.02", "epsilon": epsilon}
    return Candidates.of(**(given | changes))  # type: ignore[arg-type]


def test_numbers_are_taken_exactly_as_they_are_given() -> None:
    read = candidates(scores=["0.1", "1/3", 7])
    assert read.scores == (Fraction(1, 10), Fraction(1, 3), Fraction(7))
    assert candidates(scores=[0.1, np.float32(0.1), np.int64(2**62)]).scores == (
        Fraction(0.1), Fraction(float(np.float32(0.1))), Fraction(2**62),
    )  # fmt: skip
    assert read.sensitivity == Fraction(302, 100)
    assert read.at(Fraction(2)).epsilon == 2


@pytest.mark.parametrize(("given", "least"), [(0.1, Fraction(0.1)), (0.3, Fraction(3, 10)), (np.float32(0.25), "1/4")])
def test_a_sensitivity_as_a_float_covers_both_what_it_is_and_what_it_is_written_as(given: float, least: object) -> None:
    assert candidates(sensitivity=given).sensitivity == Fraction(least)  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize(
    ("high", "step"),
    [
        (1e12 + 4.75, 0.5),
        (1e12, 0.25),
        (1e14 + 499.75, 0.5),
        (2.0**52, 1.0),
        (1e17, 16.0),
        (2.0**60, 256.0),
        (1.0, 2.0**-40),
    ],
)
def test_scores_that_move_by_the_sensitivity_move_no_chance_by_more_than_epsilon(
    mechanism: Mechanism, high: float, step: float
) -> None:
    """Scores as floats and as texts, far from 0 and with a small step: the step is what they move by, exactly.

    One person moves the first score up and the second down, which is the worst that there is.
    """
    for number in (float, lambda score: str(Fraction(score))):
        pairs = [
            candidates(
                scores=[number(high), number(score), number(low)], sensitivity=Fraction(high + step) - Fraction(high),
                mechanism=mechanism,
            )
            for score, low in ((high, high + step), (high + step, high))
        ]  # fmt: skip
        here, there = map(probabilities, pairs)
        assert 0.2 < float(np.abs(np.log(here / there)).max()) <= 0.5 + 1e-9


def test_scores_of_any_size_are_distinguished() -> None:
    """Beside a large score a small step still counts: the last two candidates are as likely as their scores say."""
    far = candidates(scores=[1e300, 0.001, "0.002"], sensitivity="0.001")
    assert list(probabilities(far)) == [1, 0, 0]
    near = candidates(scores=["1e30", "999999999999999999999999999999.9999999", "0.1"], sensitivity="0.0000001")
    plain = candidates(scores=[1, 0, "-1e37"], sensitivity=1)
    assert list(probabilities(near)) == list(probabilities(plain))
    assert sample(near) in NAMES[:2]


@pytest.mark.parametrize("mechanism", BOTH)
def test_scaling_scores_and_sensitivity_changes_nothing(mechanism: Mechanism) -> None:
    small = candidates(scores=["-0.5", "0.25", "1/3"], sensitivity="1/7", mechanism=mechanism)
    large = candidates(scores=["-42", "21", "28"], sensitivity="12", mechanism=mechanism)
    shifted = candidates(scores=["58", "121", "128"], sensitivity="12", mechanism=mechanism)
    assert list(probabilities(small)) == list(probabilities(large)) == list(probabilities(shifted))


@pytest.mark.parametrize("mechanism", BOTH)
def test_names_are_drawn_as_often_as_their_probabilities_say(mechanism: Mechanism) -> None:
    chosen = candidates(scores=["1", "0.5", "0"], sensitivity="0.5", mechanism=mechanism)
    drawn = [sample(chosen) for _ in range(5_000)]
    seen = [drawn.count(name) for name in NAMES]
    assert stats.chisquare(seen, probabilities(chosen) * 5_000).pvalue > 1e-9
    assert stats.chisquare(seen, probabilities(chosen.at(Fraction(1))) * 5_000).pvalue < 1e-9, "negative control"


def test_equal_scores_are_equally_likely() -> None:
    for mechanism in BOTH:
        assert probabilities(candidates(scores=[5, 5, 5], mechanism=mechanism)) == pytest.approx(1 / 3)


def test_a_draw_is_charged_once_and_remembered() -> None:
    book = Ledger.in_memory()
    book.set_cap("auction", "1")
    assert published(candidates(), "auction", book) is None
    first = draw_once(candidates(), "auction", book, "Which price?")
    assert first.name in NAMES
    assert book.spent("auction") == Fraction(1, 2)
    assert published(candidates(), "auction", book) == first
    assert draw_once(candidates(), " Auction", book, "Another question") == first
    order = candidates(names=NAMES[::-1], scores=["1/3", "300.5", "400"])
    assert draw_once(order, "auction", book) == first
    assert book.spent("auction") == Fraction(1, 2)
    (entry,) = book.history("auction")
    assert (entry.title, entry.summary) == ("Which price?", "one choice among 3 candidates")
    stored = book.payload(first.release_id)
    assert stored is not None
    assert reopen(stored) == first


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": "1/4"}, {"monotone": True}, {"mechanism": Mechanism.EXPONENTIAL}, {"scores": [400, 300, 0]},
     {"sensitivity": 3}, {"names": ["a", "b", "c"]}],
    ids=str,
)  # fmt: skip
def test_another_choice_is_another_charge(changes: dict[str, object]) -> None:
    book = Ledger.in_memory()
    draw_once(candidates(), "auction", book)
    other = candidates(**changes)  # type: ignore[arg-type]
    draw_once(other, "auction", book)
    assert book.spent("auction") == Fraction(1, 2) + other.epsilon


def test_equal_scores_of_other_people_do_not_share_a_budget() -> None:
    book = Ledger.in_memory()
    draw_once(candidates(), "auction", book)
    draw_once(candidates(), "school", book)
    assert book.spent("auction") == book.spent("school") == Fraction(1, 2)


def test_a_refused_draw_spends_nothing() -> None:
    book = Ledger.in_memory()
    book.set_cap("auction", "1/4")
    with pytest.raises(BudgetError, match="does not allow"):
        draw_once(candidates(), "auction", book)
    with pytest.raises(BudgetError, match="needs a name"):
        draw_once(candidates(), " ", book)
    assert book.spent("auction") == 0
    assert not book.history()


def test_a_draw_that_spends_another_epsilon_is_caught_before_anything_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    book = Ledger.in_memory()
    monkeypatch.setattr("dpengine.choose._draw", lambda candidates, _: (candidates.names[0], 2 * candidates.epsilon))
    with pytest.raises(BudgetError, match=r"did not spend exactly ε = 0\.5"):
        draw_once(candidates(), "auction", book)
    assert book.history() == []


def test_no_score_is_stored() -> None:
    book = Ledger.in_memory()
    drawn = draw_once(candidates(scores=["765432", "765431", "765430"]), "auction", book)
    stored = book.payload(drawn.release_id)
    assert stored is not None
    assert b"76543" not in stored
    assert set(json.loads(stored)) == {
        "kind", "name", "question", "names", "sensitivity", "epsilon", "mechanism", "monotone", "dataset",
        "release_id", "created",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"names": ["a"], "scores": [1]}, "two candidates"),
        ({"names": [], "scores": []}, "two candidates"),
        ({"scores": [1, 2]}, "needs a score"),
        ({"names": ["a", "", "c"]}, "candidate 2 has no name"),
        ({"names": ["a", None, "c"]}, "candidate 2 has no name"),
        ({"names": ["a", "b", "a "]}, "candidate 3 has the name"),
        ({"scores": [1, None, 3]}, "score of candidate 2 is missing"),
        ({"scores": [1, float("nan"), 3]}, "score of candidate 2 must be a finite number"),
        ({"scores": [1, "plenty", 3]}, "score of candidate 2 must be a number"),
        ({"scores": [1, True, 3]}, "score of candidate 2 must be a number"),
        ({"scores": [1, float("inf"), 3]}, "score of candidate 2 must be a finite number"),
        ({"scores": [f"1/{10**59 + k}" for k in range(40)], "names": [*map(str, range(40))]}, "denominators"),
        ({"sensitivity": 0}, "above 0"),
        ({"sensitivity": "-1"}, "above 0"),
        ({"sensitivity": ""}, "sensitivity must be a number"),
        ({"epsilon": "0"}, "above 0"),
        ({"epsilon": "none"}, "ε must be"),
    ],
)
def test_an_invalid_choice_is_refused_without_quoting_a_score(changes: dict[str, object], said: str) -> None:
    with pytest.raises(PlanError, match=said) as refused:
        candidates(**changes)  # type: ignore[arg-type]
    assert "plenty" not in str(refused.value)


@pytest.mark.parametrize("payload", [b"", b"PK\x03\x04", b"[]", b'{"kind": "other"}', b'{"kind": "choice"}', b"1"])
def test_another_kind_of_entry_is_not_opened_as_a_choice(payload: bytes) -> None:
    with pytest.raises(LedgerError, match="not a choice"):
        reopen(payload)
