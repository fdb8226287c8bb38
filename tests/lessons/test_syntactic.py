"""k, ℓ and t follow their definitions on small tables, and take little work on large ones."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.counting.equivalence_classes import Classes
from dpengine.errors import PlanError
from dpengine.lessons import syntactic as lesson
from dpengine.lessons import textbook_patients
from tests.calls_and_memory import calls

ROWS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("abcde")), min_size=1, max_size=25)


def grouped(rows: list[tuple[str, str]]) -> tuple[Classes, list[Counter[str]]]:
    looks = list(dict.fromkeys(look for look, _ in rows))
    counts = [Counter(value for look, value in rows if look == each) for each in looks]
    return lesson.classes_of([look for look, _ in rows], [value for _, value in rows]), counts


def parts(count: Counter[str], values: tuple[str | None, ...]) -> list[float]:
    return [count[value] / count.total() for value in values if value is not None]


@given(ROWS)
def test_k_and_distinct_values_are_counted(rows: list[tuple[str, str]]) -> None:
    classes, counts = grouped(rows)
    assert lesson.k_anonymity(classes) == min(count.total() for count in counts)
    assert list(lesson.distinct_diversity(classes)) == [len(count) for count in counts]


@given(ROWS)
def test_entropy_is_that_of_each_class(rows: list[tuple[str, str]]) -> None:
    classes, counts = grouped(rows)
    spread = [-sum(p * math.log(p) for p in parts(count, classes.values) if p) for count in counts]
    assert lesson.entropy_diversity(classes) == pytest.approx(np.exp(spread))


@given(ROWS, st.fractions(min_value=Fraction(1, 4), max_value=5, max_denominator=6))
def test_recursive_diversity_is_the_largest_that_holds(rows: list[tuple[str, str]], c: Fraction) -> None:
    classes, counts = grouped(rows)
    for diversity, count in zip(lesson.recursive_diversity(classes, c), counts, strict=True):
        r = sorted(count.values(), reverse=True)
        holds = [ell for ell in range(1, len(r) + 1) if r[0] < c * sum(r[ell - 1 :])]
        assert diversity == max(holds, default=0)


@given(ROWS)
def test_distances_are_those_of_the_definitions(rows: list[tuple[str, str]]) -> None:
    classes, counts = grouped(rows)
    whole = parts(sum(counts, Counter()), classes.values)
    for k, count in enumerate(counts):
        gaps = [p - q for p, q in zip(parts(count, classes.values), whole, strict=True)]
        assert lesson.equal_distances(classes)[k] == pytest.approx(sum(map(abs, gaps)) / 2)
        moved = sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps))) / max(1, len(gaps) - 1)
        assert lesson.ordered_distances(classes)[k] == pytest.approx(moved, abs=1e-12)


def test_the_textbook_table_of_salaries_has_its_published_distances() -> None:
    """Li et al. 2007, section 4.1: {3k, 4k, 5k} of the salaries 3k to 11k is 0.375 away, {6k, 8k, 11k} is 0.167."""
    low, high = ["03", "04", "05"], ["06", "08", "11"]
    rest = ["07", "09", "10"]
    classes = lesson.classes_of(["a"] * 3 + ["b"] * 3 + ["c"] * 3, low + high + rest)
    distances = lesson.ordered_distances(classes)
    assert distances[:2] == pytest.approx([0.375, 0.1667], abs=1e-4)
    assert lesson.equal_distances(classes) == pytest.approx([2 / 3] * 3), "blind to which values are near"


def test_the_inpatient_table_is_4_anonymous_and_1_diverse() -> None:
    profile = lesson.profile(textbook_patients.classes(textbook_patients.FOUR_ANONYMOUS))
    assert (profile.people, profile.classes, profile.k, profile.unique) == (12, 3, 4, 0)
    assert profile.distinct == 1
    assert profile.entropy == pytest.approx(1)
    assert profile.recursive == 1
    assert profile.t_equal == pytest.approx(1 - 5 / 12), "all have cancer, as 5 of the 12 do"


def test_the_second_table_of_the_same_patients_is_3_diverse() -> None:
    profile = lesson.profile(textbook_patients.classes(textbook_patients.THREE_DIVERSE))
    assert (profile.k, profile.distinct) == (4, 3)
    assert profile.entropy == pytest.approx(math.exp(1.5 * math.log(2))), "2.8: a half and two quarters in each class"


def test_before_they_were_generalised_all_patients_were_unique() -> None:
    profile = lesson.profile(textbook_patients.classes(textbook_patients.PATIENTS))
    assert (profile.k, profile.unique) == (1, 12)


def test_people_are_counted_in_bands_by_size_of_their_class() -> None:
    bands = lesson.size_bands(lesson.classes_of("aabbbcdddddddddddd"))
    table = {(band.low, band.high): (band.classes, band.people) for band in bands if band.classes}
    assert table == {(1, 1): (1, 1), (2, 2): (1, 2), (3, 4): (1, 3), (10, 19): (1, 12)}
    assert sum(band.people for band in bands) == 18
    assert bands[-1].high is None


def test_without_a_sensitive_column_only_k_is_known() -> None:
    profile = lesson.profile(lesson.classes_of("aab"))
    assert (profile.k, profile.unique, profile.distinct, profile.t_equal) == (1, 1, None, None)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: lesson.profile(lesson.classes_of([])), "nobody"),
        (lambda: lesson.distinct_diversity(lesson.classes_of("aab")), "sensitive column"),
        (lambda: lesson.recursive_diversity(lesson.classes_of("ab", ["x", "y"]), 0), "above 0"),
        (lambda: lesson.classes_of("ab", ["x"]), "2 rows cannot have 1"),
    ],
)
def test_classes_and_settings_without_meaning_are_refused(wrong: object, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        wrong()  # type: ignore[operator]


@pytest.mark.nightly
@pytest.mark.parametrize("people", [10_000, 1_000_000])
def test_work_does_not_grow_with_people_in_many_classes(people: int) -> None:
    chance = np.random.default_rng(5)
    values = 5_000
    of = np.sort(chance.integers(0, 3 * people // 10, people))
    of = np.unique(of, return_inverse=True)[1]
    entries, count = np.unique(of * values + chance.integers(0, values, people), return_counts=True)
    labels = tuple(map(str, range(values)))
    classes = Classes(np.bincount(of), entries // values, entries % values, count, labels)
    assert calls(lambda: lesson.profile(classes)) < 2_000
    assert lesson.profile(classes).people == people
