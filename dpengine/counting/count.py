"""Turn rows into exact integer tables. Nothing else in the engine reads rows.

`count` needs one pass over the table, in constant memory, whatever the number of marginals; or one for each tally of a
plan that counts persons beside rows (`spec.tallies`), and one more if quantiles are chosen
(`spec.numeric.amount_steps`). Each used column becomes cell codes (`encoding`), the codes are added up in a few joint
tables (`joint_tables`), and the marginals are sums of these. Rows in another engine are encoded and added up there
(`pushdown`), in the same cells. With an ID column, each person keeps a bounded number of rows
(`contribution_bounding`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpengine.array_types import Columns, Ints
from dpengine.counting.compatibility import column_faults, missing_columns
from dpengine.counting.contribution_bounding import row_limit_of
from dpengine.counting.joint_tables import JointTables
from dpengine.counting.pushdown import RemoteRows
from dpengine.counting.scan import LocalRows
from dpengine.errors import TableError
from dpengine.sources.databases.remote import RemoteTable
from dpengine.sources.table import LocalTable, Table
from dpengine.spec.domain import Category
from dpengine.spec.numeric.amount_steps import Stepped
from dpengine.spec.plan import Plan

__all__ = [
    "check", "check_unchanged", "count", "count_keys", "count_unchanged", "digest", "digest_and_count",
    "digest_of_texts", "distinct_texts", "row_count",
]  # fmt: skip


def _reader_of(table: Table) -> LocalRows | RemoteRows:
    """Decide, in one place, whether rows are read here or in their own engine."""
    if isinstance(table, RemoteTable):
        return RemoteRows(table)
    assert isinstance(table, LocalTable), "tables are of these two kinds"
    return LocalRows(table)


def check(table: Table, plan: Plan) -> None:
    """Raise `TableError` with every reason why `table` cannot be counted by `plan`; reads no row."""
    columns = [plan.column(name) for name in plan.used]
    if faults := column_faults(table.columns, columns, plan.unit, table.index) + _reader_of(table).faults(columns):
        raise TableError(list(dict.fromkeys(faults)))


def count(
    table: Table,
    plan: Plan,
    marginals: Sequence[Columns],
    *,
    truncation_key: bytes,
    tallies: Sequence[int] | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Ints]:
    """Return the exact counts of each of `marginals`, an array of shape ``plan.shape(marginal)``.

    A row with a value that has no cell (``other: false``) in any used column counts nowhere; nor does a row without
    an ID, if the plan names persons by one. `truncation_key` decides which rows are kept of persons with more than
    ``plan.unit.rows``; equal keys on equal tables keep equal rows. `tallies` says for each marginal which of
    ``plan.tallies`` counts it: rows or persons; by default the one that publishes it. `progress` receives the part done
    so far, from 0 to 1; an exception it raises aborts the counting.

    Marginals that are `Stepped` have the bins of the amount's steps along their last axis, and are counted in a
    separate pass. Raises `TableError` as `check` does, and if the table turns out to be damaged.
    """
    check(table, plan)
    report = progress or (lambda part: None)
    tally_of = _tallies(plan, marginals, tallies)
    pass_of_marginal = [(tally, isinstance(each, Stepped)) for tally, each in zip(tally_of, marginals, strict=True)]
    tables_by_place: dict[int, Ints] = {}
    report(0.0)
    for done, (tally, stepped) in enumerate(passes := sorted({*pass_of_marginal})):
        places = [place for place, each in enumerate(pass_of_marginal) if each == (tally, stepped)]
        joints = JointTables(plan, [marginals[place] for place in places])
        limit = row_limit_of(plan, tally)
        counts = _reader_of(table).count(plan, joints, limit, truncation_key, _report_pass(report, done, passes))
        tables_by_place |= dict(zip(places, joints.marginals(counts), strict=True))
    report(1.0)
    return [tables_by_place[place] for place in range(len(pass_of_marginal))]


def _tallies(plan: Plan, marginals: Sequence[Columns], tallies: Sequence[int] | None) -> list[int]:
    return [plan.tally_index(each) for each in marginals] if tallies is None else list(tallies)


def count_unchanged(
    table: Table, plan: Plan, marginals: Sequence[Columns], *, truncation_key: bytes, tallies: Sequence[int] | None
) -> list[Ints]:
    """Count like `count`, and make sure that these are the rows from which the table's `digest` was computed.

    In another engine, one statement counts the rows and digests them again if all marginals belong to one tally of
    rows; otherwise they are counted first and digested afterwards. Raises `TableError` as `count` and `check_unchanged`
    do.
    """
    reader = _reader_of(table)
    stepped = any(isinstance(each, Stepped) for each in marginals)
    tallies_used = {*_tallies(plan, marginals, tallies)}
    if isinstance(reader, RemoteRows) and len(tallies_used) == 1 and not stepped:
        check(table, plan)
        joints = JointTables(plan, marginals)
        counts = reader.count_unchanged(plan, joints, row_limit_of(plan, tallies_used.pop()), truncation_key)
        if counts is not None:
            return joints.marginals(counts)
    exact = count(table, plan, marginals, truncation_key=truncation_key, tallies=tallies)
    reader.check_unchanged()
    return exact


def count_keys(table: Table, plan: Plan, name: str, *, truncation_key: bytes) -> tuple[Ints, Ints]:
    """Return the keys of a column's universe that have rows, as places in increasing order, and their numbers of rows.

    `name` is a column whose values are found privately. `truncation_key` decides which rows are kept of persons with
    more than ``plan.unit.rows``, among those with a key. Raises `TableError` as `count` does.
    """
    column = plan.column(name)
    assert isinstance(column, Category), "only values of category columns are found"
    check(table, plan)
    return _reader_of(table).count_keys(column, plan.unit, truncation_key)


def _report_pass(progress: Callable[[float], None], done: int, passes: Sequence[object]) -> Callable[[float], None]:
    """Return a callback that reports progress of one of the `passes`, after `done` others, as progress of all."""
    return lambda part: progress((done + part) / len(passes))


def digest(table: Table) -> bytes:
    """Return 32 bytes that identify the table's content, whatever the order of its rows and columns.

    Files and frames of all formats have the same digest if the texts of their cells agree. In another engine the same
    rows have another digest, their `digest_of_texts`. The rows are read for the first call only; `check_unchanged`
    checks that they are still the same. See `counting.fingerprint`.
    """
    if table.digest is None:
        table.digest = _reader_of(table).digest()
    return table.digest


def digest_of_texts(table: Table) -> bytes:
    """Return the digest that the same rows have in another engine; for local rows it takes several times as long."""
    if table.digest_of_texts is None:
        table.digest_of_texts = _reader_of(table).digest_of_texts()
    return table.digest_of_texts


def digest_and_count(table: Table, plan: Plan, marginals: Sequence[Columns]) -> tuple[bytes, list[Ints] | None]:
    """Return the table's `digest` and, if one pass over the rows serves both, the counts of `count`; else None.

    One pass serves both if the unit is a row and none of `marginals` is `Stepped`: choosing a person's rows takes a key
    that depends on the digest. Raises `TableError` as `count` does.
    """
    reader = _reader_of(table)
    one_pass = plan.unit.id is None and not any(isinstance(each, Stepped) for each in marginals)
    if table.digest or not one_pass:
        return digest(table), None
    check(table, plan)
    joints = JointTables(plan, marginals)
    table.digest, counts = reader.digest_and_count(joints)
    return table.digest, joints.marginals(counts)


def check_unchanged(table: Table, *, read_once: bool = False) -> None:
    """Raise `TableError` if the rows have changed since their digest was taken; call it after reading.

    With `read_once`, they were counted by `digest_and_count` or `count_unchanged`, and by nothing else. In another
    engine those read one state of the rows, so they are not read again.
    """
    reader = _reader_of(table)
    if not (read_once and isinstance(reader, RemoteRows)):
        reader.check_unchanged()


def row_count(table: Table) -> int:
    """Return the exact number of rows, for the eyes of the table's owner only."""
    return _reader_of(table).row_count()


def distinct_texts(table: Table, column: str, *, limit: int) -> list[str]:
    """Return up to `limit` different texts of a column, in alphabetical order, for the eyes of the owner only.

    Each is private until the owner declares it to be publicly known. Raises `TableError` if there is no such column.
    """
    places = table.places
    if column not in places:
        raise TableError(missing_columns([column], list(places)))
    return _reader_of(table).distinct_texts(places[column], limit)
