"""Plan files that are odd, damaged or hostile: each is read, or refused with a message that holds a given part.

Those that would cause too much work are in `tests/spec/test_limits.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

HEAD = "dataset: d\nepsilon: 1\n"
GOOD = HEAD + "columns: [{name: a, kind: yesno}]\ntables: [[a]]\n"


def plan_of(columns: str, tables: str = "{each: 1}") -> str:
    return f"{HEAD}columns: [{columns}]\ntables: {tables}\n"


def columns(number: int, kind: str) -> str:
    return ", ".join(f"{{name: c{k}, kind: {kind}}}" for k in range(number))


BINS = "number, edges: {from: 0, to: 1, bins: 999990}"

# The text of the file, and a part of the message; an empty part where the plan is read.
PLANS: Mapping[str, tuple[bytes | Callable[[], str], str]] = {
    "a plan": (GOOD.encode(), ""),
    "with a mark of UTF-8": (b"\xef\xbb\xbf" + GOOD.encode(), ""),
    "with ends of Windows": (GOOD.replace("\n", "\r\n").encode(), ""),
    "empty": (b"", "not a plan"),
    "not UTF-8": (b"title: \xff", "not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), "not UTF-8"),
    "a list": (b"- a", "not a plan"),
    "an open list": (b"a: [", "not readable YAML"),
    "a control character": (b"title: a\0b", "control character"),
    "a bell": (b'dataset: "a\\u0007"', "control character"),
    "a reference": (b"a: &x 1\nb: *x", "references"),
    "laughs": (b"a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]", "references"),
    "itself": (b"a: &a [*a]", "references"),
    "a key twice": (b"a: 1\na: 2", "occurs twice"),
    "a key that is a list": (b"? [a]\n: b", "plain text"),
    "a Python object": (b"!!python/object/apply:os.system [id]", "not a plan"),
    "a tag for a dataset": (GOOD.replace("dataset: d", "dataset: !!int d").encode(), ""),
    "two plans": ((GOOD + "---\n" + GOOD).encode(), "single document"),
    "an escape that is no letter": (b'title: "\\U99999999"', "not readable YAML"),
    "deep": (lambda: "[" * 50_000, "too deep"),
    "thirty columns of a million bins": (lambda: plan_of(columns(30, BINS)), "cells in all, above the limit"),
    "too many cells": (lambda: plan_of(columns(12, "yesno"), str([[f"c{k}" for k in range(12)]])), "above the limit"),
    "a bin too many": (plan_of("{name: a, kind: number, edges: {from: 0, to: 1, bins: 1000001}}").encode(), "too many"),
    "bins without end": (plan_of("{name: a, kind: number, edges: {from: 0, to: 1, bins: 1e99}}").encode(), "too many"),
    "edges that fall": (plan_of("{name: a, kind: number, edges: [1, 0]}").encode(), "must increase"),
    "edges that are none": (plan_of("{name: a, kind: number, edges: [.nan, .inf]}").encode(), "not a number"),
    "edges beyond all": (plan_of("{name: a, kind: number, edges: [0, 1e999999999]}").encode(), "not a number"),
    "a date of no calendar": (
        plan_of("{name: a, kind: date, from: 2024-02-30, to: 2025-01-01, by: day}").encode(), "from"
    ),
    "no values": (plan_of("{name: a, kind: category, values: []}").encode(), "list the values"),
    "values that are lists": (lambda: plan_of(f"{{name: a, kind: category, values: [{'[], ' * 9_999}]}}"), "be a text"),
    "a codebook above": (plan_of("{name: a, kind: category, codebook: ../x.csv}").encode(), "folder of the plan"),
    "a codebook of no name": (plan_of('{name: a, kind: category, codebook: "a\\0.csv"}').encode(), "a"),
    "ε of nothing": (GOOD.replace("epsilon: 1", "epsilon: 0").encode(), "above 0"),
    "ε of everything": (GOOD.replace("epsilon: 1", "epsilon: 1e99").encode(), "between"),
    "ε of many digits": (lambda: GOOD.replace("epsilon: 1", f"epsilon: {'9' * 99_999}"), "must be a number"),
    "rows of many digits": (lambda: GOOD + f"rows_about: {'9' * 99_999}\n", "rows_about"),
    "unknown keys": (lambda: plan_of(f"{{name: a, kind: yesno, {', '.join(f'k{k}: 1' for k in range(999))}}}"), "more"),
}  # fmt: skip
