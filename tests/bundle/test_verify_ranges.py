"""What `verify` finds in changed files of releases with a table for ranges, alone and beside others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from dpengine import Plan, preview, verify
from dpengine.bundle import write
from dpengine.exact import exact_text
from dpengine.marginals.box_strata import fewest_boxes, most_boxes
from tests.bundles import ESTIMATE, Members, cell, faults_of, manifest_in, members_of, rows_of, zipped
from tests.measure.test_box_strategy import AGES, plan_of

BESIDE = plan_of([AGES, ["sex", "land"], {"columns": ["land"], "mean": ["pay"]}])
ALONE = plan_of([AGES])
Told = dict[str, Any]


@pytest.fixture(scope="module")
def bundles() -> dict[str, bytes]:
    return {name: write.pack(preview(plan), None) for name, plan in (("beside", BESIDE), ("alone", ALONE))}


def priced(entry: Told, epsilon: Fraction) -> None:
    entry |= {"epsilon": exact_text(epsilon), "scale": exact_text(entry["sensitivity"] / epsilon)}


def costs_also(entry: Told, other: Told) -> None:
    priced(entry, Fraction(entry["epsilon"]) + Fraction(other["epsilon"]))


def without_a_table(manifest: Told, _members: Members) -> None:
    measured = manifest["measurements"]
    left_out = next(each for each in measured if each["columns"] == ["land", "sex"])
    measured.remove(left_out)
    costs_also(measured[-1], left_out)


def without_boxes(manifest: Told, _members: Members) -> None:
    boxes = manifest["measurements"].pop()
    costs_also(manifest["measurements"][0], boxes)


def in_boxes_of_another(manifest: Told, _members: Members) -> None:
    manifest["measurements"][-1]["columns"] = ["land"]


def for_a_larger_bound(manifest: Told, _members: Members) -> None:
    boxes = manifest["measurements"][-1]
    boxes["sensitivity"] = 7
    priced(boxes, Fraction(boxes["epsilon"]))


def twice_in_boxes(manifest: Told, _members: Members) -> None:
    boxes = manifest["measurements"][-1]
    priced(boxes, Fraction(boxes["epsilon"]) / 2)
    manifest["measurements"].append(dict(boxes))


def of_boxes(cells: int) -> Callable[[Told, Members], None]:
    def change(manifest: Told, _members: Members) -> None:
        manifest["measurements"][-1]["cells"] = cells

    return change


def surer_than_it_is(manifest: Told, _members: Members) -> None:
    next(each for each in manifest["tables"] if each["columns"] == ["sex", "land"])["half_width_95"] /= 10


def narrower(manifest: Told, members: Members) -> None:
    file = next(each["file"] for each in manifest["tables"] if each["columns"] == ["sex", "land"])
    head, *rows = rows_of(members[file])
    count, low, high = (head.index(name) for name in ("count", "low", "high"))
    for row in rows:
        row[low] = row[high] = row[count]
    members[file] = "".join(",".join(row) + "\n" for row in [head, *rows]).encode()


def of_a_column_that_is_not_there(manifest: Told, _members: Members) -> None:
    manifest["measurements"][0]["columns"] = ["nobody's"]


def with_another_total(_manifest: Told, members: Members) -> None:
    head, row = rows_of(members["tables/total.csv"])
    row[head.index("low")] = "0"
    members["tables/total.csv"] = "".join(",".join(each) + "\n" for each in (head, row)).encode()


def said_to_be_narrower(manifest: Told, _members: Members) -> None:
    manifest["tables"][0]["half_width_95"] /= 9


def estimated(
    file: str, line: int, change: Callable[[float], float], place: int = ESTIMATE
) -> Callable[[Told, Members], None]:
    """Change the estimate in a line of a table, at a `place` from the right, and nothing else."""
    edit = cell(file, line, place, lambda text: f"{round(change(float(text)), 3):.12g}")
    return lambda _manifest, members: edit(members)


def in_no_boxes(_manifest: Told, members: Members) -> None:
    members["plan.yaml"] = members["plan.yaml"].replace(b"ranges: true", b"ranges: false")


BOXES = "exactly table age must be measured in boxes, once"


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("beside", without_a_table, "table sex × land lies within no measured marginal"),
        ("beside", without_boxes, BOXES),
        ("beside", in_boxes_of_another, BOXES),
        ("beside", for_a_larger_bound, BOXES),
        ("alone", for_a_larger_bound, BOXES),
        ("alone", twice_in_boxes, BOXES),
        ("alone", of_boxes(0), "the number of noisy numbers, or the columns, do not fit this purpose"),
        ("alone", of_boxes(10_000), "the number of noisy numbers, or the columns, do not fit this purpose"),
        (
            "alone",
            of_boxes(fewest_boxes([ALONE.column("age")]) - 1),
            "the number of noisy numbers, or the columns, do not fit this purpose",
        ),
        (
            "alone",
            of_boxes(most_boxes([ALONE.column("age")]) + 1),
            "the number of noisy numbers, or the columns, do not fit this purpose",
        ),
        ("beside", surer_than_it_is, "half_width_95 of tables/02-sex-x-land.csv does not follow"),
        ("beside", of_a_column_that_is_not_there, "its columns are not all in plan.yaml"),
        ("beside", with_another_total, "tables/total.csv: an interval does not lie around its estimate"),
        ("alone", said_to_be_narrower, "tables/01-age.csv: intervals are not as wide as half_width_95 says"),
        ("alone", estimated("tables/01-age.csv", 3, lambda _: -1.0), "tables/01-age.csv: an estimate is negative"),
        ("alone", estimated("tables/01-age.csv", 3, lambda _: 1e6), "an estimate lies far outside its interval"),
        ("alone", estimated("tables/total.csv", 1, lambda total: 1.01 * total), "disagree on the estimates in all"),
        ("beside", estimated("tables/01-age.csv", 3, lambda _: 1e6), "an estimate lies far outside its interval"),
        (
            "beside",
            estimated("tables/total.csv", 1, lambda total: 1.1 * total, ESTIMATE + 3),
            "does not lie around its estimate",
        ),
        ("alone", in_no_boxes, "half_width_95 of tables/total.csv does not follow from the measurements"),
        ("beside", narrower, "an interval is not the estimate ± half_width_95"),
    ],
)
@pytest.mark.by_day(3)
def test_every_change_is_found(
    bundles: dict[str, bytes], name: str, change: Callable[[Told, Members], None], fault: str
) -> None:
    verify(bundles[name])
    members = members_of(bundles[name])
    with manifest_in(members) as manifest:
        change(manifest, members)
    assert any(fault in each for each in faults_of(zipped(members)))


@pytest.mark.parametrize(("names", "edges"), [(["a\u00a0b", "c", "d"], 40), ([f"c{k}" for k in range(9)], 4)])
def test_the_sentence_on_a_strategy_may_list_many_tables_for_ranges(names: list[str], edges: int) -> None:
    """So it may be long, and have a name many times, with spaces of any kind in it."""
    columns = [{"name": name, "kind": "number", "edges": list(range(edges))} for name in names]
    tables = [{"columns": pair, "ranges": True} for pair in combinations(names, 2)]
    plan = Plan.model_validate(
        {"dataset": "d", "epsilon": 1, "columns": columns, "tables": tables, "strategy": "adaptive"}
    )
    verify(write.pack(preview(plan)))
