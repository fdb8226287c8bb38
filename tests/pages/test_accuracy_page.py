"""The accuracy page shows what `predict` says of the visitor's plan, at any ε, and touches nothing else."""

from __future__ import annotations

import base64
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpengine import epsilon_for, predict
from dpengine.accounting.composition import posterior
from dpengine.exact import exact_text
from dpengine.measure.strategy import decide
from dpengine.results.alternatives import mostly_noise_shares
from dpengine.spec.plan import Plan
from dpengine.spec.wording import certainty, name_of, people, percent, percent_at_most
from pages.parts.accuracy import predictions
from pages.parts.accuracy.predictions import EPSILONS
from pages.parts.accuracy.tabs import why_measured
from pages.parts.shared.epsilon_ladder import rounded_up
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.plan.plan_form import from_plan
from tests.pages.visits import metrics, settled, texts, visit, visit_of
from tests.plans import CLINIC, category, survey

VIEWS = ["Every table", "Mostly noise", "Small and empty cells", "What is measured", "What ε means", "Strategies"]


def page(own: Plan | None = None, view: str | None = None) -> AppTest:
    at = visit()
    if own is not None:
        visit_of(at).plan = own
    if view is not None:
        at.session_state["accuracy_view"] = view
    at.switch_page("pages/accuracy.py").run()
    assert not at.exception
    return at


@pytest.mark.nightly
def test_a_first_visit_learns_where_to_start_and_gets_a_sample() -> None:
    at = page()
    assert "You have no plan yet" in texts(at)
    assert [link.proto.page for link in at.get("page_link")]
    assert "At ε = 1, someone who is 50\N{NO-BREAK SPACE}% sure that a person is in the table" in texts(at)
    first = metrics(at)["Typically off by"]
    at.get_by_key("accuracy_sample").set_value("Health insurance sample").run()
    assert not at.exception
    assert metrics(at)["Typically off by"] != first


@pytest.mark.nightly
def test_a_plan_that_waits_for_its_table_after_a_reload_is_the_visitors_own() -> None:
    own = survey()
    at = visit()
    entries = from_plan(own).with_(several_rows=False)
    visit_of(at).waiting = Draft("survey.csv", "", ("table", "columns", "domain", "unit"), entries)
    at.switch_page("pages/accuracy.py").run()
    assert "You have no plan yet" not in texts(at)
    assert metrics(at)["Typically off by"] == people(predict(own).iloc[0]["mean_abs_error"])
    visit_of(at).waiting = Draft("survey.csv", "", ("table",), entries.with_(several_rows=None))
    assert "Your plan for survey.csv is not complete yet" in texts(at.run())


def test_the_figures_are_those_of_predict_at_the_plans_own_epsilon() -> None:
    own = survey()
    expected = predict(own).iloc[0]
    shown = metrics(page(own))
    assert shown["Typically off by"] == people(expected["mean_abs_error"])
    assert shown["95 in 100 within"] == f"±{people(expected['half_width_95'])}"
    assert shown["Total within"] == f"±{people(expected['total_half_width_95'])}"
    assert shown["Mostly noise"] == percent(mostly_noise_shares(own, [own.marginals[0]])[own.marginals[0]])


def test_moving_epsilon_or_choosing_a_table_moves_the_figures_and_not_the_plan() -> None:
    own = survey()
    at = page(own)
    at.select_slider(key="accuracy_epsilon").set_value(Fraction(2)).run()
    at.selectbox(key="accuracy_table").select(own.marginals[1]).run()
    expected = predict(own.at(2)).iloc[1]
    assert metrics(at)["95 in 100 within"] == f"±{people(expected['half_width_95'])}"
    assert "the plan has ε = 0.5" in texts(at)
    assert visit_of(at).plan is own


def test_a_wanted_error_gives_the_least_epsilon_which_can_be_shown() -> None:
    own = survey()
    at = page(own)
    at.number_input(key="accuracy_within").set_value(25).run()
    at.selectbox(key="accuracy_confidence").select(0.99).run()
    answer = rounded_up(epsilon_for(own, 25, 0.99))
    assert f"ε = {exact_text(answer)}" in texts(at)
    assert f"can become {certainty(posterior(0.5, answer))}" in texts(at).replace("\N{NO-BREAK SPACE}", " ")
    assert "needs the most" in texts(at)
    at.button(key="accuracy_use").click().run()
    assert at.select_slider(key="accuracy_epsilon").value == answer
    assert not at.exception


@pytest.mark.nightly
def test_an_error_that_no_epsilon_reaches_is_explained() -> None:
    own = survey(unit={"id": "person", "rows": 1000})
    at = page(own)
    at.number_input(key="accuracy_within").set_value(0).run()
    assert not at.exception
    assert "no ε up to 1000" in texts(at)


@pytest.mark.nightly
def test_without_a_rough_size_the_page_asks_for_it_and_shows_odds_meanwhile() -> None:
    own = survey(rows_about=None)
    at = page(own)
    assert metrics(at)["50 % sure becomes"] == "≤ " + percent_at_most(posterior(0.5, own.epsilon))
    at.number_input(key="accuracy_rows").set_value(900).run()
    sized = survey(rows_about=900)
    assert metrics(at)["Mostly noise"] == percent(mostly_noise_shares(sized, [own.marginals[0]])[own.marginals[0]])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("rows", [None, 4000])
@pytest.mark.by_day(1)
def test_every_view_opens_with_and_without_a_rough_size(view: str, rows: int | None) -> None:
    page(survey(rows_about=rows), view)


def test_each_line_of_the_chart_is_the_error_that_its_name_says() -> None:
    own = survey()
    chart = json.loads(page(own).get("plotly_chart")[0].proto.spec)["data"]
    lines = {each["name"]: each["y"] for each in chart if each["mode"] == "lines"}
    expected = predict(own.at(1)).iloc[0]
    names = {"95 in 100 counts are within": "half_width_95", "typical error of a count": "mean_abs_error",
             "total is within (95 in 100)": "total_half_width_95"}  # fmt: skip
    assert lines.keys() == names.keys()
    for name, column in names.items():
        drawn = lines[name]
        y = np.frombuffer(base64.b64decode(drawn["bdata"])) if isinstance(drawn, dict) else np.array(drawn, dtype=float)
        assert y[EPSILONS.index(1)] == pytest.approx(expected[column]), name


@pytest.mark.nightly
def test_every_chart_has_a_description_and_a_table() -> None:
    for view, charts in (("Every table", 1), ("Mostly noise", 2), ("What ε means", 2)):
        at = page(survey(), view)
        drawn = at.get("plotly_chart")
        assert len(drawn) == charts
        assert all(chart.proto.alt for chart in drawn)
        assert len(at.dataframe) + len(at.table) >= charts


def test_epsilon_is_put_in_words_for_one_person_and_for_a_group() -> None:
    at = page(survey(epsilon="1"), "What ε means")
    assert "at most 73.2 % sure" in texts(at)
    at.number_input(key="accuracy_group").set_value(3).run()
    assert f"{math.exp(3):.3g}" in texts(at)
    assert percent_at_most(posterior(0.5, Fraction(3))) in texts(at)


def test_an_empty_cell_clipped_alone_reads_half_its_typical_error_too_high() -> None:
    own = survey()
    excess = predict(own).iloc[0]["mean_abs_error"] / 2
    at = page(own, "Small and empty cells")
    assert f"**{people(excess)}** too high" in texts(at)


def test_nothing_is_simulated_before_it_is_asked_for_and_then_it_says_so() -> None:
    at = page(survey(), "Small and empty cells")
    assert "Simulated" not in texts(at)
    at.button(key="accuracy_simulate").click().run()
    assert not at.exception
    assert "Simulated on a made-up table" in texts(at)
    at.select_slider(key="accuracy_epsilon").set_value(Fraction(2)).run()
    assert "Simulated" not in texts(at), "figures of another ε must not stay"


def test_the_page_opens_no_ledger_and_leaves_no_release() -> None:
    at = page(survey())
    assert "ledger" not in vars(visit_of(at))
    assert visit_of(at).release is None


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ([["age", "region"]], "There is one table"),
        ([["age", "region"], ["age"]], "One table contains all the others"),
        ([["age", "sex"], ["age"], ["sex"]], "One table contains all the others"),
        ([["age"], ["sex"]], "One table of all 2 columns"),
        ([["age", "region"], ["region", "sex"]], "One table of all 3 columns"),
    ],
)
def test_why_a_table_is_measured_follows_the_strategy(tables: list[list[str]], said: str) -> None:
    own = survey(tables=tables)
    shares = decide(own).allocations
    text = why_measured(own, shares)
    assert text.startswith(said if len(shares) == 1 else f"ε is split over {len(shares)} tables")


def test_numbers_claim_no_false_certainty() -> None:
    assert [percent(p) for p in (0.5, 0.99999, 0.00001)] == ["50 %", "over 99.9 %", "under 0.1 %"]
    assert [people(x) for x in (0.0, 0.03, 9.96, 1234.5)] == ["0", "under 0.1", "10", "1,234"]
    assert np.all(np.diff([float(e) for e in EPSILONS]) > 0)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("strategy", ["direct", "adaptive"])
def test_all_strategies_are_compared_over_epsilon_on_request(strategy: str) -> None:
    """Exact predictions are those of `predict`, simulations are called so, and nothing is simulated unasked."""
    own = survey(strategy=strategy)
    at = page(own, "Strategies")
    assert "has the smallest error" not in texts(at)
    settled(at.button(key="compare-strategies").click().run()).run()
    assert not at.exception
    shown = next(frame.value for frame in at.dataframe if "direct (exact prediction)" in frame.value.columns)
    assert list(shown.columns) == [
        "ε",
        "direct (exact prediction)",
        "optimised (exact prediction)",
        "adaptive (simulated)",
    ]
    assert list(shown["ε"]) == [0.1, 0.3, 1, 3, 10]
    for name in ("direct", "optimised"):
        exact = predict(own.model_copy(update={"strategy": name}).at("0.3"))[:-1]
        expected = (exact["mean_abs_error"] * exact["cells"]).mean() / 4000
        assert shown[f"{name} (exact prediction)"][1] == pytest.approx(expected)
    predicted = [name for name in shown.columns if name.endswith("(exact prediction)")]
    assert (shown[predicted].diff()[1:] < 0).all(axis=None), "more ε, fewer errors"
    # A single trial, in which pairs may be left unmeasured by chance: errors of 0.12 to 0.6, and of 0.008 to 0.08.
    assert shown["adaptive (simulated)"].iloc[-1] < shown["adaptive (simulated)"].iloc[0]
    assert "has the smallest error: " in texts(at)


@pytest.mark.nightly
def test_an_adaptive_plan_is_simulated_and_its_errors_are_shown() -> None:
    own = survey(strategy="adaptive")
    at = settled(page(own)).run()
    assert "tried out on made-up people" in texts(at)
    tables = at.dataframe[0].value
    assert list(tables["table"]) == ["age × region", "region × sex", "total"]
    assert (tables["mean_abs_error"] > 0).all()


@pytest.mark.nightly
def test_an_impossible_strategy_is_explained() -> None:
    ring = [{"columns": list(pair), "ranges": True} for pair in ("ab", "bc", "cd", "da")]
    columns = [category(name, 60) for name in "abcd"]
    at = page(survey(columns=columns, tables=ring, strategy="direct"), "Strategies")
    settled(at.button(key="compare-strategies").click().run()).run()
    assert not at.exception
    assert "*adaptive* is not possible for this plan" in texts(at)
    assert any("direct (exact prediction)" in frame.value.columns for frame in at.dataframe)


MONEY = [
    {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False},
    {"name": "pay", "kind": "amount", "label": "Pay", "from": 0, "to": 1000, "step": 1, "missing": False},
]
COUNTIES = [
    MONEY[0],
    {"name": "county", "kind": "category", "values": {"CA": ["Kern", "Napa"], "NY": ["Kings"]},
     "levels": ["state", "county"], "other": False, "missing": False},
]  # fmt: skip
WITH_MEANS = Plan(dataset="d", epsilon=1, rows_about=5000, columns=MONEY,
                  tables=[{"columns": ["sex"], "mean": ["pay"], "sum": ["pay"]}])  # fmt: skip
AT_LEVELS = Plan(dataset="d", epsilon=1, rows_about=5000, columns=COUNTIES,
                 tables=[["county", "sex"], ["county@state"]])  # fmt: skip


@pytest.mark.nightly
def test_errors_of_means_are_shown_in_the_unit_of_their_column() -> None:
    at = page(WITH_MEANS, "Every table")
    width = predict(WITH_MEANS).set_index("table")["mean_pay_half_width_95"]["sex"]
    assert f"mean Pay, sex: at ε = 1, within ±{width:,.2f} in a group of typical size" in texts(at)
    (every,) = (
        each.value for each in at.dataframe if "total_half_width_95" not in each.value and "table" in each.value
    )
    assert every["mean_pay_half_width_95"][0] == width
    at.selectbox(key="accuracy_measure").select("counts").run()
    assert "95 in 100 counts are within" in texts(at)


@pytest.mark.nightly
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("plan", [WITH_MEANS, AT_LEVELS], ids=["means", "levels"])
def test_every_view_can_be_had_of_means_and_of_levels(plan: Plan, view: str) -> None:
    at = settled(page(plan, view))
    assert not at.exception
    if plan is AT_LEVELS and view == "Every table":
        assert "Each level (state and county in state) has an error of its own" in texts(at)


def test_the_largest_error_is_that_of_the_table_whose_counts_are_furthest_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "all_errors", predict)  # a page's cache is for pages
    for tables in ([["age", "region"], ["visit"]], [["visit"], ["age", "region"]]):
        plan = Plan.loads(CLINIC[: CLINIC.index("tables:")] + f"tables: {json.dumps(tables)}\n")
        widths = predict(plan).set_index("table")["half_width_95"].drop("total")
        assert name_of(predictions.largest_error(plan)) == widths.idxmax()
        assert widths.nunique() == 2
