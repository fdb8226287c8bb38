"""How the rows of an opened table stream by, once for all that is to be known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpengine.counting.batches import worked_through
from dpengine.counting.contribution_bounding import bounded, coded, make_known
from dpengine.counting.encode_numpy import Streamed, Totals, as_it_is, of_frame, query, streamed
from dpengine.counting.encode_sql import Coding, code_of, family_of, identity
from dpengine.counting.fingerprint import Sums, Told, told
from dpengine.counting.joint_tables import covering
from dpengine.sources.table import LocalTable
from dpengine.spec.plan import Plan

__all__ = ["Joints", "counted", "counted_and_summed", "knowing", "summed"]

_BATCH = 1 << 15
_CELLS = 1 << 15  # of a joint table: what fits in a processor's nearer caches


class Joints:
    """The joint tables that some marginals of a plan are counted in."""

    def __init__(self, plan: Plan, marginals: Sequence[tuple[str, ...]]) -> None:
        # In an order of their own, for the codes decide which rows of a person are kept.
        self.columns = [plan.column(name) for name in sorted(plan.used)]
        self.names = [column.name for column in self.columns]
        self.sizes = [column.size for column in self.columns]
        self.joints = covering(marginals, dict(zip(self.names, self.sizes, strict=True)), _CELLS)
        self.places = [[self.names.index(name) for name in joint] for joint in self.joints]
        self._marginals = marginals

    def streamed(self, table: LocalTable) -> list[Streamed]:
        place = {column.name: i for i, column in enumerate(table.columns)}
        return [streamed(own, place[own.name], table.columns[place[own.name]].type) for own in self.columns]

    def margins(self, totals: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """Of the counts of the joint tables, those of the marginals."""
        counted = {frozenset(joint): total for joint, total in zip(self.joints, totals, strict=True)}
        return [_margin(counted, self.names, marginal) for marginal in self._marginals]


def counted(
    table: LocalTable, plan: Plan, tables: Joints, truncation_key: bytes, tell: Callable[[float], None]
) -> list[NDArray[np.int64]]:
    """Exact counts of the joint tables; of a person at most ``plan.unit.rows`` rows, chosen by ``truncation_key``."""
    place = {column.name: i for i, column in enumerate(table.columns)}
    if plan.unit.id is None:
        totals = Totals(tables.streamed(table), tables.places, tables.sizes)
        batches = None
        if table.frame is not None:
            places = [place[name] for name in tables.names]
            batches, totals.columns = of_frame(table.frame, totals.columns, places, _BATCH, partial(knowing, table))
        _stream(table, totals.columns, [totals], tell, batches)
        return totals.counts
    # Which rows of a person count depends on the codes, so the engine needs them all.
    codings = [code_of(own, place[own.name], table.columns[place[own.name]].type) for own in tables.columns]
    number = place[plan.unit.id]
    person = identity(number, family_of(table.columns[number].type) or "text")
    sql = bounded(coded(codings, person), len(codings), plan.unit.rows, truncation_key)
    totals = Totals([as_it_is(coding) for coding in codings], tables.places, tables.sizes)
    _stream(table, totals.columns, [totals], tell, sql)
    return totals.counts


def summed(table: LocalTable) -> Sums:
    """The sums of all rows that tell the table's content."""
    sums = Sums(_told(table))
    _stream(table, sums.columns, [sums])
    return sums


def counted_and_summed(table: LocalTable, tables: Joints) -> tuple[list[NDArray[np.int64]], Sums]:
    """Both in one pass, where no person's rows are to be chosen."""
    totals, sums = Totals(tables.streamed(table), tables.places, tables.sizes), Sums(_told(table))
    _stream(table, [*totals.columns, *sums.columns], [totals, sums])
    return totals.counts, sums


def _told(table: LocalTable) -> list[Told]:
    order = sorted(range(len(table.columns)), key=lambda i: table.columns[i].name)
    return [told(i, table.columns[i].type) for i in order]


@contextmanager
def knowing(table: LocalTable, columns: Sequence[Coding | Streamed | Told]) -> Iterator[Any]:
    """The table's connection, to which all that is known that the columns name."""
    with table.connection() as connection, ExitStack() as scratch:
        for column in columns:
            if not isinstance(column, Told):
                make_known(connection, column, scratch)
        yield connection


def _stream(
    table: LocalTable,
    columns: Sequence[Streamed | Told],
    adding: Sequence[Totals | Sums],
    tell: Callable[[float], None] = lambda part: None,
    rows: Iterator[Any] | str | None = None,
) -> None:
    """All rows stream by once; each of ``adding`` adds up what its own columns show, one after the other.

    ``rows`` are batches of what all ``columns`` show, or SQL for it; by default it is what they say themselves.
    """
    sql, places = query(columns)
    if rows is not None:
        places = list(range(len(places)))

    def add(batch: Any) -> None:
        shown = iter([batch.column(place) for place in places])
        for each in adding:
            each.add(list(islice(shown, sum(len(column.shown) for column in each.columns))), batch.num_rows)

    def done(number: int) -> None:
        tell(min(1.0, number / table.rows) if table.rows else 0.0)

    if rows is not None and not isinstance(rows, str):  # no engine is needed
        worked_through(rows, add, done)
        return
    with knowing(table, columns) as connection:
        worked_through(connection.sql(rows or sql).to_arrow_reader(_BATCH), add, done)


def _margin(
    counted: Mapping[frozenset[str], NDArray[np.int64]], order: Sequence[str], marginal: tuple[str, ...]
) -> NDArray[np.int64]:
    """The table of ``marginal``, its columns in the order asked for, from the smallest joint that holds it."""
    joint = min((joint for joint in counted if joint >= set(marginal)), key=lambda joint: counted[joint].size)
    held = [name for name in order if name in joint]
    summed = counted[joint].sum(axis=tuple(k for k, name in enumerate(held) if name not in marginal), dtype=np.int64)
    left = [name for name in held if name in marginal]
    return np.array(summed.transpose([left.index(name) for name in marginal]), dtype=np.int64, order="C")
