"""Standard lists: values that everyone knows, such as the weekdays, under names that a plan can use."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from dpengine.spec import strict_yaml

__all__ = ["standard_lists"]


@cache
def standard_lists() -> dict[str, tuple[str, ...]]:
    """Return the values of each standard list.

    >>> standard_lists()["weekdays"][:2]
    ('Monday', 'Tuesday')
    """
    text = files("dpengine.spec").joinpath("standard_lists.yaml").read_text(encoding="utf-8")
    return {name: tuple(values) for name, values in strict_yaml.mapping(text, "a list of values").items()}
