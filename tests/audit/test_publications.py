"""An audit of published numbers: evidence is a log-likelihood ratio of at most ε, and a broken promise is found."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from click.testing import CliRunner

from dpengine.audit import publications
from dpengine.audit.exact_checks import Check, checks
from dpengine.audit.publications import (
    PUBLICATIONS,
    audit_publications,
    claimed_epsilon,
    empirical_bound,
    evidence,
    evidence_of_counts,
)
from dpengine.cli import main
from dpengine.errors import PlanError
from dpengine.marginals.measurement import Allocation, Measurement, Measurements


@pytest.mark.parametrize("publication", PUBLICATIONS)
@pytest.mark.by_day(3)
def test_no_output_has_a_log_likelihood_ratio_above_epsilon(publication: str) -> None:
    for present in (True, False):
        ratios = evidence(publication, Fraction(1, 2), present=present, runs=2)
        assert ratios.size == 2
        assert np.abs(ratios).max() <= 0.5 + 1e-9


def test_evidence_is_the_log_of_how_many_times_as_likely_the_noisy_counts_are() -> None:
    """Computed by hand for two marginals: three people share the person's cell of a, and none that of a and b."""
    setting = publications._direct(Fraction(1))
    values = {("a",): np.array([0, 8]), ("a", "b"): np.array([[3, 3], [3, 3]])}
    marginals = tuple(Measurement(Allocation(name, Fraction(1, 2), 1), value) for name, value in values.items())
    alone = [evidence_of_counts(Measurements((one,)), setting) for one in marginals]
    without = [int((setting.rows["a"] == 1).sum()), int(((setting.rows["a"] == 1) & (setting.rows["b"] == 0)).sum())]
    by_hand = [(abs(8 - without[0]) - abs(8 - without[0] - 1)) / 2, (abs(3 - without[1]) - abs(3 - without[1] - 1)) / 2]
    assert alone == by_hand
    assert evidence_of_counts(Measurements(marginals), setting) == sum(by_hand)


def test_a_bound_follows_from_how_often_outputs_speak_for_the_person() -> None:
    bound = empirical_bound(
        "direct", Fraction(1), np.repeat([1.0, -1.0], [730, 270]), np.repeat([1.0, -1.0], [270, 730])
    )
    assert (bound.hits, bound.hits_without, bound.runs, bound.holds) == (730, 270, 1000, True)
    assert 0.8 < bound.least_epsilon < math.log(0.73 / 0.27)
    assert not empirical_bound("direct", Fraction(1, 2), np.ones(400), -np.ones(400)).holds
    assert empirical_bound("direct", Fraction(1), np.zeros(9), np.zeros(9)).least_epsilon == 0


@pytest.mark.nightly
def test_a_quarter_of_the_noise_is_detected_in_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A miss has a probability below 1e-8: it takes ten wrong sides of sixty, each with a chance of 0.018."""
    monkeypatch.setattr(Allocation, "scale", property(lambda self: self.sensitivity / self.epsilon / 4))
    assert not audit_publications("direct", Fraction(1), 60).holds


@pytest.mark.nightly
def test_exact_checks_pass_and_detect_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [check.what for check in checks(Fraction(1, 2)) if not check.holds] == []
    # Planted fault: scores are read by their first 12 digits.
    monkeypatch.setattr("dpengine.choose.exact_number", lambda value, *_: Fraction(f"{float(value):.12g}"))
    (broken,) = [check for check in islice(checks(Fraction(1, 2)), 6) if not check.holds]
    assert "scores far from 0" in broken.what


def test_the_command_says_what_is_claimed_beside_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpengine.audit.exact_checks.checks", lambda epsilon: islice(checks(epsilon), 1))
    done = CliRunner().invoke(main, ["audit", "--runs", "3", "--way", "choice", "--epsilon", "0.5"])
    assert done.exit_code == 0, done.output
    assert "choice: at least 0 of 0.5" in done.output
    assert "noise: log of the largest ratio" in done.output
    done = CliRunner().invoke(main, ["audit", "--runs", "3", "--way", "question: count", "--json"])
    report = json.loads(done.output)
    assert [line["claimed"] for line in report["shown"]] == ["1"]
    assert all(line["kept"] for line in report["exact"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", "100"], "from 0.01 to 10"),
        (["--epsilon", "much"], "ε must be"),
        (["--way", "another"], "no way to publish"),
        (["--runs", "0"], "runs"),
    ],
)
def test_an_audit_of_anything_unknown_is_refused(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpengine.audit.exact_checks.checks", lambda epsilon: iter(()))
    done = CliRunner().invoke(main, ["audit", *options])
    assert done.exit_code == 2
    assert said in done.stderr


def test_the_command_fails_where_a_promise_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpengine.audit.exact_checks.checks", lambda epsilon: iter(()))
    monkeypatch.setitem(PUBLICATIONS, "choice", lambda epsilon, present, runs: np.full(runs, 1.0 if present else -1.0))
    done = CliRunner().invoke(main, ["audit", "--way", "choice", "--runs", "100"])
    assert done.exit_code == 1
    assert "BROKEN" in done.output
    assert "more than the ε that is claimed was found: choice" in done.stderr


def test_an_epsilon_is_read_exactly() -> None:
    assert claimed_epsilon("1/3") == Fraction(1, 3)
    with pytest.raises(PlanError, match=r"from 0\.01 to 10"):
        claimed_epsilon("0.001")


@pytest.mark.parametrize(("largest", "holds"), [(0.5, True), (1 + 1e-12, True), (1.0001, False), (2.0, False)])
def test_an_exact_check_holds_up_to_what_floats_round(largest: float, holds: bool) -> None:
    assert Check("noise", Fraction(1), largest, 1).holds == holds
