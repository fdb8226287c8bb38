"""Levels of numbers: wider bins that are joined from those of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dpengine.exact import decimal
from dpengine.spec.categories.tree import MARK, MAX_LEVELS
from dpengine.spec.numeric.edges import check_edges, read_edges
from dpengine.translation.catalogue import _, localised

__all__ = ["bins_of", "nested_bins"]


def bins_of(edges: Sequence[Decimal], level: Decimal | Sequence[Decimal]) -> tuple[Decimal, ...]:
    """Return the edges of wider bins, given as edges or by their width; then the last bin may be narrower.

    >>> ages = tuple(map(Decimal, range(0, 91, 5)))
    >>> [str(edge) for edge in bins_of(ages, Decimal(20))]
    ['0', '20', '40', '60', '80', '90']
    """
    if not isinstance(level, Decimal):
        return tuple(level)
    steps = int((edges[-1] - edges[0]) / level)
    starts = [edges[0] + k * level for k in range(steps + 1)]
    return tuple(starts) if starts[-1] == edges[-1] else (*starts, edges[-1])


def read_bins(given: Any) -> Decimal | tuple[Decimal, ...]:
    """Read wider bins: their width, or their edges as for a column. Raises ValueError."""
    if isinstance(given, str | int | float | Decimal) and not isinstance(given, bool):
        width = decimal(given)
        if width <= 0:
            raise ValueError(_("the width of bins must be above 0"))
        return width
    return tuple(check_edges(read_edges(given)))


def nested_bins(edges: Sequence[Decimal], levels: Any) -> dict[str, Decimal | tuple[Decimal, ...]]:
    """Return wider bins by the name of their level, the widest first. Raises ValueError if bins do not nest.

    >>> nested_bins(tuple(map(Decimal, (0, 5, 10, 15, 20))), {"10-year": 10, "all": 20})
    {'all': Decimal('20'), '10-year': Decimal('10')}
    """
    if not isinstance(levels, Mapping):
        raise ValueError(
            _("levels of numbers are names with the width or the edges of their bins, such as {20-year: 20}")
        )
    if len(levels) >= MAX_LEVELS:
        raise ValueError(_("a column has at most {most} levels", most=MAX_LEVELS))
    by_level: dict[str, tuple[Decimal | tuple[Decimal, ...], tuple[Decimal, ...]]] = {}
    for name, given in levels.items():
        if not isinstance(name, str) or not name.strip() or MARK in name:
            raise ValueError(_("a level needs a name without {mark}; {level!r} is none", mark=MARK, level=str(name)))
        try:
            read = read_bins(given)
            if isinstance(read, Decimal) and (edges[-1] - edges[0]) / read >= len(edges) - 1:
                raise ValueError(_("its bins are not wider than those of the column"))
            by_level[name] = (read, bins_of(edges, read))
        except ValueError as error:
            raise ValueError(_("level {level!r}: {error}", level=name, error=error)) from None
    chain = sorted(by_level, key=lambda name: len(by_level[name][1]))
    inner = [*chain[1:], ""]
    for coarse, fine in zip(chain, inner, strict=True):
        wide, narrow = by_level[coarse][1], by_level[fine][1] if fine else edges
        _check_within(coarse, wide, fine, narrow)
    return {name: by_level[name][0] for name in chain}


def _check_within(coarse: str, wide: Sequence[Decimal], fine: str, narrow: Sequence[Decimal]) -> None:
    """Raise ValueError unless each wide bin consists of whole narrow ones, from end to end."""
    known = {*narrow}
    odd = [edge for edge in wide if edge not in known] or [
        end for end, other in ((narrow[0], wide[0]), (narrow[-1], wide[-1])) if end != other
    ]
    if odd:
        edge = localised(f"{odd[0]:f}")
        if fine:
            raise ValueError(
                _(
                    "the levels {coarse!r} and {fine!r} do not nest: {edge} is an edge of one of them only; every edge "
                    "of wider bins must be one of narrower bins, and both ends must be the same",
                    coarse=coarse,
                    fine=fine,
                    edge=edge,
                )
            )
        raise ValueError(
            _(
                "the bins of the level {coarse!r} do not nest in those of the column: {edge} is an edge of one of them "
                "only; every edge of wider bins must be one of the column's, and both ends must be the same",
                coarse=coarse,
                edge=edge,
            )
        )
    if len(wide) == len(narrow) and fine:
        raise ValueError(_("the levels {coarse!r} and {fine!r} have the same bins", coarse=coarse, fine=fine))
    if len(wide) == len(narrow):
        raise ValueError(_("its bins are not wider than those of the column"))
