"""HTML fragments for notebooks, made from templates: safe in any page, light or dark.

They hold no script and no style sheet, since nbviewer, GitHub and editors remove these. Text has the colour of the page
around it, and pictures are SVG within the fragment. Every value is escaped by the templates.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dpengine.translation.catalogue import _, number, plural

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render"]


def render(template: str, **values: object) -> str:
    """Return the fragment that a template makes of `values`, in the current language."""
    return _templates().get_template(f"{template}.html.j2").render(values)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # only a notebook needs them

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"_": _, "plural": plural, "number": number}
    return environment
