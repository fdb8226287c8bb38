"""Write what a page does as code: in Python, on the command line, as a notebook.

The templates are in `templates`: for each page a Python script, with cells that begin with `# %%`, and, if the command
line can do the same, its lines. What people have typed enters them as literals, never as code.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from pprint import pformat
from typing import Any

import jinja2

from dpengine.sources.several_answers import write_answers

__all__ = ["TEMPLATES", "as_notebook", "notebook", "python", "shell"]

TEMPLATES = Path(__file__).with_name("templates")
MARK = re.compile(r"(?m)^# %%( \[markdown\])?\n")


def python(page: str, **values: Any) -> str:
    """Return what `page` does as Python code.

    >>> print(python("verify", bundle="it's.zip").splitlines()[-1])
    print("signed by", dpe.signed_by("it's.zip"))
    """
    return re.sub(r"(?m)^# # ", "# ", MARK.sub("", _script(page, values)))


def shell(page: str, **values: Any) -> str:
    """Return what `page` does as command lines; "" if the command line cannot do it.

    >>> shell("verify", bundle="it's.zip", key=None)
    'private-release verify \\'it\\'"\\'"\\'s.zip\\'\\n'
    """
    template = f"{page}.sh.j2"
    known = (TEMPLATES / template).is_file() and not values.get("database")
    return _render(template, values) if known else ""


def notebook(page: str, **values: Any) -> str:
    """Return what `page` does as a Jupyter notebook without outputs, in JSON.

    >>> [cell["cell_type"] for cell in json.loads(notebook("verify", bundle="a.zip"))["cells"]]
    ['markdown', 'code']
    """
    return as_notebook(_script(page, values))


def as_notebook(script: str) -> str:
    """Return a script, in cells that begin with `# %%`, as a Jupyter notebook without outputs, as JSON."""
    cells = [_cell(number, *cell) for number, cell in enumerate(_cells(script), start=1)]
    content = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _script(page: str, values: dict[str, Any]) -> str:
    return _render(f"{page}.py.j2", values)


def _cells(script: str) -> Iterator[tuple[bool, str]]:
    """Yield the cells of a script, and whether each is text."""
    _, *parts = MARK.split(script)
    for marked, body in zip(parts[::2], parts[1::2], strict=True):
        text = bool(marked)
        yield text, (re.sub(r"(?m)^# ?", "", body) if text else body).strip()


def _cell(number: int, text: bool, body: str) -> dict[str, Any]:
    lines = body.splitlines(keepends=True)
    cell: dict[str, Any] = {
        "cell_type": "markdown" if text else "code",
        "id": f"cell-{number}",
        "metadata": {},
        "source": lines,
    }
    return cell if text else cell | {"execution_count": None, "outputs": []}


def _render(name: str, values: dict[str, Any]) -> str:
    return _TEMPLATES.get_template(name).render(values).rstrip("\n") + "\n"


def _literal(value: object) -> str:
    """Write a value as Python does, texts in double quotes where they can be.

    >>> _literal("a"), _literal('"'), _literal(None)
    ('"a"', '\\'"\\'', 'None')
    """
    if isinstance(value, str) and not re.search(r'["\\]', value) and value.isprintable():
        return f'"{value}"'
    return repr(value)


def _data(value: object) -> str:
    return pformat(value, sort_dicts=False, width=100)


def _comment(value: str) -> str:
    """Write a text as part of a comment, on one line."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in value).split())


_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, keep_trailing_newline=True,
    autoescape=False,  # not HTML: each value is written as a literal of its language
)  # fmt: skip
_TEMPLATES.filters |= {"py": _literal, "sh": shlex.quote, "data": _data, "comment": _comment, "answers": write_answers}
