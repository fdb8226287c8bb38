"""Why a table without names, or a k-anonymous one, is not private: with a textbook's patients and made-up people."""

from __future__ import annotations

from collections.abc import Callable

from dpengine.translation.catalogue import mark
from pages.parts.risk.attacks import films, names_back, two_tables
from pages.parts.risk.textbook import homogeneity, one_more

__all__ = ["LESSONS"]


LESSONS: dict[str, Callable[[], None]] = {
    mark("All the same"): homogeneity,
    mark("Two tables"): two_tables,
    mark("One more patient"): one_more,
    mark("Names come back"): names_back,
    mark("A few films"): films,
}
