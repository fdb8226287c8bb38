"""Means, sums and quantiles of a bundle are checked, also against its rows, and its manifest speaks of them."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, release, verify
from dpengine.bundle.checks.width_check import AmountWidths
from dpengine.bundle.promises import promises
from dpengine.estimate.amounts import _solve, mean_reach
from dpengine.measure.strategy import decide
from tests.bundles import Members, cell, faults_of, members_of, rows_of, stated, zipped

SEX, TOTAL = "tables/01-sex.csv", "tables/total.csv"
PAY = {"name": "pay", "kind": "amount", "from": 0, "to": 100, "step": "0.5", "knots": [0, 20, 40, 60, 80, 100]}
ROWS = pd.DataFrame({"sex": ["f", "m"] * 150, "age": ["old", "young", "young"] * 100, "pay": np.arange(300) % 101})
ROWS.loc[::7, "pay"] = np.nan


def plan_of(tables: list[object], **more: object) -> Plan:
    words = {"sex": ["f", "m"], "age": ["young", "old"]}
    columns = [
        {"name": name, "kind": "category", "values": values, "other": False, "missing": False}
        for name, values in words.items()
    ]
    columns.append(PAY)
    return Plan(dataset="d", epsilon=20, columns=columns, tables=tables, **more)  # type: ignore[arg-type]


def well_within(plan: Plan) -> bytes:
    """A bundle whose first mean and sum lie well within their intervals.

    So they do in 93 of 100 releases (of 2,000; means in all of them): none of 20 has a probability below 10⁻²⁰. Then
    nothing is left to chance: an end that is moved by half of at least a tenth of the width of a sum, or three tenths
    of that of a mean, changes the width by more than verify's slack, of a fiftieth and a tenth.
    """
    for _ in range(20):
        made = release(ROWS, plan).bundle
        of = spans_of(made)
        mean, total = (
            (of[f"{kind}_pay"] - of[f"{kind}_pay_low"]) / (of[f"{kind}_pay_high"] - of[f"{kind}_pay_low"])
            for kind in ("mean", "sum")
        )
        if 0.3 < mean < 0.7 and 0.1 < total < 0.9:
            return made
    raise AssertionError("means and sums lie at the ends of their intervals")


def spans_of(made: bytes) -> dict[str, float]:
    """The numbers of the first cell of the table by sex."""
    header, row = rows_of(members_of(made)[SEX])[:2]
    return {name: float(text) for name, text in zip(header[1:], row[1:], strict=True)}


@pytest.fixture(scope="module")
def bundle() -> bytes:
    table = {"mean": ["pay"], "sum": ["pay"], "quantiles": {"pay": [0.25, 0.5]}}
    return well_within(plan_of([{"columns": ["sex"], **table}]))


def in_row(line: int, change: Callable[[str], str]) -> Callable[[Members], None]:
    """Change the pay of a synthetic row."""
    return cell("synthetic.csv", line, 1, change)


def with_value(text: str) -> Callable[[str], str]:
    return lambda _: text


def moved_between_rows(members: Members) -> None:
    """Move one step of pay from a man to a woman: the total stays."""
    header, *lines = members["synthetic.csv"].decode().splitlines()
    rows = [line.split(",") for line in lines]
    for sex, change in (("f", 0.5), ("m", -0.5)):
        row = next(row for row in rows if row[0] == sex and row[1] and 1 < float(row[1]) < 99)
        row[1] = f"{float(row[1]) + change:g}"
    members["synthetic.csv"] = "\r\n".join([header, *map(",".join, rows), ""]).encode()


def falling(members: Members) -> None:
    """Put the median of women to the lowest value."""
    for place in (2, 3):
        cell(SEX, 1, place, with_value("0"))(members)


def narrow(members: Members) -> None:
    """Let the interval of a median end at the median itself and one knot further."""
    for place, text in ((1, "60"), (2, "40"), (3, "40")):
        cell(SEX, 2, place, with_value(text))(members)


def lost(members: Members) -> None:
    """Make a known amount missing."""
    header, *lines = members["synthetic.csv"].decode().splitlines()
    place = next(k for k, line in enumerate(lines) if line.split(",")[1] not in ("", "0.0"))
    lines[place] = lines[place].split(",")[0] + ","
    members["synthetic.csv"] = "\r\n".join([header, *lines, ""]).encode()


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (in_row(5, with_value("0.3")), "has a text in the column pay that is no declared cell"),
        (in_row(5, with_value("100.5")), "has a text in the column pay that is no declared cell"),
        (moved_between_rows, f"{SEX}: sum_pay is not what synthetic.csv gives"),
        (moved_between_rows, f"{SEX}: mean_pay is not what synthetic.csv gives"),
        (lost, f"{SEX}: known_pay is not what synthetic.csv gives when counted"),
        (lost, f"{TOTAL}: sum_pay is not what synthetic.csv gives"),
        (cell(SEX, 1, 11, with_value("-50")), f"{SEX}: mean_pay lies outside the declared bounds"),
        (cell(SEX, 1, 12, lambda mean: f"{float(mean) + 1:g}"), f"{SEX}: mean_pay and sum_pay disagree"),
        (cell(SEX, 1, 13, with_value("9999")), f"{SEX}: known_pay is not a whole number of the people counted"),
        (cell(SEX, 1, 3, with_value("50.3")), f"{SEX}: quantile_0.5_pay is not on the declared steps"),
        (cell(TOTAL, 1, 1, with_value("100.5")), f"{TOTAL}: quantile_0.5_pay is not on the declared steps"),
        (cell(SEX, 2, 1, with_value("0")), f"{SEX}: quantile_0.5_pay lies outside its interval"),
        (cell(SEX, 2, 1, with_value("90")), f"{SEX}: quantile_0.5_pay has an interval that does not end at knots"),
        (narrow, f"{SEX}: quantile_0.5_pay has an interval that does not end at knots, two or more apart"),
        (falling, f"{SEX}: quantile_0.5_pay is below the quantile of a smaller fraction"),
        (stated("domain", "pay", "to", value="90"), "domain → pay is not what plan.yaml says"),
        (stated("schema_version", value=3), "post_processing is not what plan.yaml says"),
        (stated("measurements", 0, "purpose", value="something else"), "and for no other purpose"),
        (stated("measurements", 0, "merged_to", value=[2, 3]), "and for no other purpose"),
    ],
)  # fmt: skip
@pytest.mark.by_day(3)
def test_every_change_is_found(bundle: bytes, edit: Callable[[Members], None], fault: str) -> None:
    members = members_of(bundle)
    edit(members)
    assert any(fault in each for each in faults_of(zipped(members))), faults_of(zipped(members))


def test_a_bundle_of_the_version_before_still_verifies(bundle: bytes) -> None:
    """Bundles of version 3 have amounts, but no sentences about them."""
    members = members_of(bundle)
    manifest = json.loads(members["manifest.json"])
    assert [each.split(":")[0] for each in manifest["post_processing"][-3:]] == [
        "mean and sum", "quantile", "amounts in synthetic.csv",
    ]  # fmt: skip
    assert "of a quantile" in manifest["intervals"]
    earlier = promises(Plan.loads(members["plan.yaml"].decode()), 3)
    assert not any("mean" in each for each in earlier["post_processing"])
    assert "step" not in earlier["domain"]["pay"]
    members["manifest.json"] = json.dumps(manifest | earlier | {"schema_version": 3}).encode()
    assert verify(zipped(members))["schema_version"] == 3


@pytest.mark.parametrize(("missing", "left_out"), [(True, False), (False, True)])
def test_it_is_said_where_rows_without_an_amount_are_left_out(missing: bool, left_out: bool) -> None:
    """What `verify` compares is made by the same lines, so it cannot notice that these say the opposite."""
    plan = plan_of([{"columns": ["sex"], "mean": ["pay"]}])
    columns = [each | {"missing": missing} if each["name"] == "pay" else each for each in plan.to_dict()["columns"]]
    said = promises(Plan(**plan.to_dict() | {"columns": columns}))["coverage"]
    assert ("rows whose pay is missing or no number" in said) == left_out


@pytest.mark.parametrize("strategy", ["direct", "adaptive"])
def test_rows_need_not_agree_with_several_tables_of_an_amount_at_once(strategy: str) -> None:
    tables = [{"columns": [name], "mean": ["pay"], "sum": ["pay"]} for name in ("sex", "age")]
    assert verify(release(ROWS, plan_of(tables, strategy=strategy)).bundle)


@pytest.fixture(scope="module")
def without_missing() -> bytes:
    plan = plan_of([{"columns": ["sex"], "mean": ["pay"], "sum": ["pay"]}])
    columns = [each | {"missing": False} if each["name"] == "pay" else each for each in plan.to_dict()["columns"]]
    return well_within(Plan(**plan.to_dict() | {"columns": columns}))


@pytest.mark.parametrize("kind", ["mean", "sum"])
@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("factor", [0.5, 2])
@pytest.mark.by_day(3)
def test_intervals_of_means_and_sums_are_as_wide_as_their_noise(
    without_missing: bytes, kind: str, end: str, factor: float
) -> None:
    """An end is moved, away from the number or nearer to it; everything else stays as it was."""
    members = members_of(without_missing)
    names = rows_of(members[SEX])[0]
    place, number = names.index(f"{kind}_pay_{end}") - len(names), names.index(f"{kind}_pay") - len(names)
    middle = float(rows_of(members[SEX])[1][number])
    cell(SEX, 1, -place, lambda text: f"{round(middle + factor * (float(text) - middle), 2):.12g}")(members)
    assert f"{SEX}: intervals of {kind}_pay are not as wide as its noise" in faults_of(zipped(members))


@pytest.mark.parametrize("kind", ["mean", "sum"])
def test_intervals_of_means_and_sums_lie_around_the_same_sums(without_missing: bytes, kind: str) -> None:
    """An interval is moved by a part of its width; it holds its number, and is as wide as before."""
    members = members_of(without_missing)
    middle, low, high = (spans_of(without_missing)[f"{kind}_pay{end}"] for end in ("", "_low", "_high"))
    header, part = rows_of(members[SEX])[0], 0.3 if middle - low > high - middle else -0.3
    for end in ("low", "high"):
        place = header.index(f"{kind}_pay_{end}") - len(header)
        cell(SEX, 1, -place, lambda text: f"{round(float(text) + part * (high - low), 3):.12g}")(members)
    assert any("_pay have other middles than those of other tables" in each for each in faults_of(zipped(members)))


@pytest.mark.parametrize("factor", [0.2, 5])
@pytest.mark.parametrize("end", ["low", "high"])
def test_intervals_of_means_are_about_as_wide_as_their_noise_if_values_may_be_missing(
    bundle: bytes, end: str, factor: float
) -> None:
    members = members_of(bundle)
    header, row = rows_of(members[SEX])[:2]
    middle, place = float(row[header.index("mean_pay")]), header.index(f"mean_pay_{end}") - len(header)
    cell(SEX, 1, -place, lambda text: f"{round(middle + factor * (float(text) - middle), 4):.12g}")(members)
    assert f"{SEX}: intervals of mean_pay are not as wide as its noise" in faults_of(zipped(members))


def test_an_interval_of_a_mean_fits_a_number_of_people_that_was_rounded_to_whole_ones() -> None:
    """At hardly any noise, two fifths of a person are published as none; their interval is as wide as their noise."""
    plan = plan_of([{"columns": ["sex"], "mean": ["pay"]}]).at(60)
    widths, amount = AmountWidths(plan, decide(plan).allocations, counts=True), plan.amount("pay")
    people, scale = np.full(plan.shape(("sex",)), 0.4), float(amount.high - amount.low)
    ends = _solve(0.3 * people, people, mean_reach(amount, ("sex",), widths))
    low, high = (np.round(float(amount.low) + scale * end, 4) for end in ends)
    numbers = {"mean_pay_low": low, "mean_pay": (low + high) / 2, "mean_pay_high": high, "known_pay": 0 * people}
    assert (high - low < scale / 2).all()
    assert not list(widths.faults(("sex",), people, people, numbers))
    narrow = numbers | {"mean_pay_low": numbers["mean_pay"] - 1, "mean_pay_high": numbers["mean_pay"] + 1}
    assert list(widths.faults(("sex",), people, people, narrow))


def test_an_interval_of_a_mean_fits_a_count_that_was_moved_far_from_its_estimate() -> None:
    """Counts of larger tables in a ring follow their pairs: 15 people may be published as 2, or 6 as 21."""
    plan = plan_of([{"columns": ["sex"], "mean": ["pay"]}])
    widths, amount = AmountWidths(plan, decide(plan).allocations, counts=True), plan.amount("pay")
    people, published = np.array([15.0, 6.0]), np.array([2, 21])
    reach, scale = mean_reach(amount, ("sex",), widths), float(amount.high - amount.low)
    low, high = (np.round(float(amount.low) + scale * end, 4) for end in _solve(0.5 * people, people, reach))
    numbers = {"mean_pay_low": low, "mean_pay": (low + high) / 2, "mean_pay_high": high, "known_pay": published}
    assert not list(widths.faults(("sex",), published, people, numbers))
    assert list(widths.faults(("sex",), published, published, numbers))
