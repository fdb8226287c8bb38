"""The common interface of a release and its bundle: published tables in the forms that analysts use.

A table is a pandas data frame (`tables`), an Arrow table (`arrow`) or plain arrays (`cells`). All tables together are a
stream of Arrow data: polars, pyarrow, DuckDB and pandas read the whole release as one long table, since it has the
method `__arrow_c_stream__` of Arrow's PyCapsule interface. None of these libraries is loaded before it is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns
from dpengine.exact import exact_text
from dpengine.results.published_columns import cell_codes, number_columns, published_name
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import mark, some_of, speaking

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["PublishedTables", "no_table"]

MAX_KEPT = 100_000  # cells of a table that is kept once made

Made = TypeVar("Made")


class PublishedTables(ABC):
    """The published tables of `plan`; subclasses supply their numbers."""

    what: ClassVar[str] = mark("Preview on a made-up table")
    plan: Plan

    @abstractmethod
    def numbers(self, table: Columns) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of numbers of a published table by name, one entry a cell in declared order."""

    @abstractmethod
    def half_width(self, table: Columns) -> float:
        """Return the 95 % half-width of a cell of `table`, the widest if they differ."""

    def cells(self, table: Columns) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of a published table, one entry a cell of the declared cross-product in declared order.

        - The label of each of its columns;
        - `count`: whole, never negative, and in agreement with every other table;
        - `estimate`: unbiased, so it may be negative or fractional; in an adaptive release the expected count of its
          model;
        - `low`, `high`: they hold the true count with a probability of 95 % at least; in an adaptive release, as its
          audit of cells of that size says;
        - `known_pay` and so on, if the amount `pay` may be missing: the people with a value;
        - the statistics that were asked for, such as `mean_pay`, each with its `_low` and `_high`.
        """
        plan = self.plan
        names = number_columns(plan, table)
        labels = {
            published_name(name, names): np.array(plan.column(name).labels, dtype=object)[code]
            for name, code in zip(table, cell_codes(plan, table), strict=True)
        }
        return labels | self.numbers(table)

    @cached_property
    def tables(self) -> Mapping[Columns, pd.DataFrame]:
        """Each published table by its column names, and the total by `()`, with the columns of `cells`."""
        return _Tables(self.plan, self._frame)

    @cached_property
    def arrow(self) -> Mapping[Columns, pa.Table]:
        """The published tables in Arrow, without pandas: labels as ordered dictionaries, numbers without nulls.

        `polars.DataFrame(release.arrow["age", "sex"])` converts one to polars.
        """
        from dpengine.results.views.arrow_tables import arrow_table

        return _Tables(self.plan, lambda table: arrow_table(self, table))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a stream of all tables, one after the other, as rows of one long table, for other libraries.

        `table` names the table (`age × sex`, `total`), a column each of its columns, and then come the numbers. If a
        table lacks a column, its entries are null, as with GROUPING SETS in SQL.
        """
        from dpengine.results.views.arrow_tables import stream

        return stream(self).__arrow_c_stream__(requested_schema)

    def _frame(self, table: Columns) -> pd.DataFrame:
        import pandas as pd  # only if data frames are used: importing it takes longer than making a release

        return pd.DataFrame(self.cells(table))

    def __repr__(self) -> str:
        n, epsilon = len(self.plan.marginals), exact_text(self.plan.epsilon)
        return f"<{type(self).__name__} of {self.plan.dataset!r}: {n} table{'s'[: n != 1]}, ε = {epsilon}>"

    def _repr_html_(self) -> str:
        """Return the display in a notebook: the price, the first table with intervals and a chart, and the others."""
        from dpengine.results.views import release_html

        with speaking(self.plan.language):
            return release_html.render(self)


def no_table(table: object, names: Iterable[Columns]) -> KeyError:
    """Return the error for a table that is not published, which names those that are."""
    return KeyError(f"{table!r}: tables are named by tuples of columns: {some_of(map(repr, names))}")


class _Tables(Mapping[Columns, Made]):
    """All published tables, each made on demand, since together they may not fit into memory."""

    def __init__(self, plan: Plan, make: Callable[[Columns], Made]) -> None:
        self._plan = plan
        self._make = make
        self._kept: dict[Columns, Made] = {}
        self._names = dict.fromkeys(plan.published)

    def __getitem__(self, table: Columns) -> Made:
        if table not in self._names:
            raise no_table(table, self._names)
        if table in self._kept:
            return self._kept[table]
        made = self._make(table)
        if self._plan.cells(table) <= MAX_KEPT:
            self._kept[table] = made
        return made

    def __contains__(self, table: object) -> bool:
        return table in self._names

    def __iter__(self) -> Iterator[Columns]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<tables {list(self._names)}>"
