"""Columns that a table has under other names than a plan, such as after a year in which a source renamed some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpengine.errors import TableError
from dpengine.sources.relation import check_names, one_line, place_of
from dpengine.translation.catalogue import _, mark

__all__ = ["RENAMED", "read_names", "renamed", "write_name"]

RENAMED = mark("County = county")  # a line for `read_names`


def read_names(lines: Sequence[str]) -> dict[str, str]:
    """Read lines such as "County = county": the name that a column has in the file, and the one that it gets.

    >>> read_names(["County = county", "Yearly=income"])
    {'County': 'county', 'Yearly': 'income'}

    The first sign with blanks around it counts, if there is one. Raises `TableError` for a line of another form.
    """
    names = {}
    for line in lines:
        old, _sign, new = (part.strip() for part in line.partition(" = " if " = " in line else "="))
        if not (old and new):
            raise TableError(_("write the name in the file and the new one like this: {example}", example=_(RENAMED)))
        names[old] = new
    return names


def write_name(old: str, new: str) -> str:
    """Write a line for `read_names`.

    >>> write_name("County", "county")
    'County = county'
    """
    return f"{one_line(old)} = {one_line(new)}"


def renamed(names: Sequence[str], rename: Mapping[str, str]) -> list[str]:
    """Return the names of columns, some of them replaced; one that is gone may be there under its new name already.

    >>> renamed(["County", "sex"], {"County": "county", "gender": "sex"})
    ['county', 'sex']

    Raises `TableError` for a column that is there under neither name, and for names that are then used twice.
    """
    if not (isinstance(rename, Mapping) and all(isinstance(each, str) for pair in rename.items() for each in pair)):
        raise TableError(
            _("write new names by those in the source like this: {example}", example='{"County": "county"}')
        )
    after = [*names]
    for old, new in rename.items():
        if (place := place_of(names, old)) is not None:
            after[place] = new
        elif place_of(names, new) is None:
            raise TableError(_("there is no column {name!r} to be renamed", name=old))
    check_names(after)
    return after
