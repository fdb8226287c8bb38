"""The descriptions of a release for portals, as the files of its bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring as _text
from typing import Any

from dpengine.bundle.portals.content import content_of
from dpengine.bundle.portals.croissant import croissant
from dpengine.bundle.portals.data_package import data_package
from dpengine.bundle.portals.dcat import dcat
from dpengine.bundle.promises import PORTALS
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import ENGLISH, speaking

__all__ = ["json_text", "texts"]


@speaking(ENGLISH)  # what is compared is the same in every language
def texts(plan: Plan, manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the descriptions of the release of `plan` by their names; `manifest` lists the files before them."""
    release = content_of(plan, manifest)
    made = [make(release, plan.about) for make in (data_package, croissant, dcat)]
    return {name: json_text(each, 1).encode() for name, each in zip(PORTALS, made, strict=True)}


def json_text(value: Any, indent: int) -> str:
    """Return the lines of ``json.dumps(value, indent=indent, ensure_ascii=False)``, in half the time.

    The keys of `value` are texts. A description of thousands of tables has millions of lines.

    >>> print(json_text({"tables": [{"cells": 4}], "notes": []}, 1), end="")
    {
     "tables": [
      {
       "cells": 4
      }
     ],
     "notes": []
    }
    """
    return _indented(value, " " * indent, "\n") + "\n"


def _indented(value: Any, step: str, outer: str) -> str:
    """Return a value as JSON, with a line for each entry; `outer` begins a line of the enclosing value."""
    if isinstance(value, str):
        return _text(value)
    inner = outer + step
    # Most entries are texts: they are written here, without a call for each.
    if value and isinstance(value, dict):
        entries = [
            f"{_text(name)}: {_text(each) if type(each) is str else _indented(each, step, inner)}"
            for name, each in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(entries)}{outer}}}"
    if value and isinstance(value, list | tuple):
        entries = [_text(each) if type(each) is str else _indented(each, step, inner) for each in value]
        return f"[{inner}{f',{inner}'.join(entries)}{outer}]"
    return str(value) if type(value) is int else json.dumps(value)
