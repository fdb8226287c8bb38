"""Read YAML as texts only: no type is guessed, no object is made, and no key may occur twice.

Every scalar stays the text that was typed, such as No, 012, 1e3 or 2024-01-01. The field that receives it decides what
it means.
"""

from __future__ import annotations

import os
import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from dpengine.errors import PlanError
from dpengine.translation.catalogue import _, number

__all__ = ["dump", "mapping", "path_of", "read", "write"]

MAX_BYTES = 20_000_000
MAX_VALUES = 1_100_000  # texts, lists and mappings of one file: a column may list a million edges
MAX_KEYS = 100_000  # of all mappings of one file
MAX_DEPTH = 20
MAX_WRITTEN = 4  # texts that are kept
MAX_KEPT = 10**6  # letters of each

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # in C if the library has it: twenty times as fast


def mapping(text: str, what: str) -> dict[str, Any]:
    """Read the top-level mapping of a YAML text, all scalars as text; `what` names it in errors. Raises `PlanError`.

    >>> mapping("region: No\\nedges: [0, 1e3]", "a plan")
    {'region': 'No', 'edges': ['0', '1e3']}
    """
    if not isinstance(text, str):
        raise PlanError(_("this is not {what}: write a YAML mapping such as 'title: …'", what=_(what)))
    if len(text) > MAX_BYTES:
        raise PlanError(_("this is too long for {what}: {limit}", what=_(what), limit=_limit()))
    try:
        content = _value(_Loader(text))
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        raise PlanError(
            _("this is not {what}: it holds a control character or half a character", what=_(what))
        ) from None
    # ValueError and OverflowError come from an escape that is no character, such as "\U99999999".
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or _("an escape that is no character")
        if mark is None:
            raise PlanError(_("this is not readable YAML ({problem})", problem=problem)) from None
        raise PlanError(
            _("line {line}: this is not readable YAML ({problem})", line=mark.line + 1, problem=problem)
        ) from None
    if not isinstance(content, dict):
        raise PlanError(_("this is not {what}: write a YAML mapping such as 'title: …'", what=_(what)))
    return content


def _limit() -> str:
    return _(
        "at most {size} MB, {values} values and {keys} keys are read; "
        "declare equal bins by from, to and bins, or publish fewer columns",
        size=MAX_BYTES // 10**6,
        values=number(MAX_VALUES),
        keys=number(MAX_KEYS),
    )


def _value(loader: Any) -> Any:
    """Read the single value of a YAML text within limits. Raises `yaml.YAMLError` with the place of a fault.

    The value is made from the parser's events, so that no tree of a million nodes is built first.
    """
    top: list[Any] = []
    opened: list[_Opened] = [_Opened(top)]
    values = keys = documents = 0
    while loader.check_event():
        event = loader.get_event()
        if isinstance(event, yaml.ScalarEvent):
            keys += opened[-1].add(event.value, event)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            inner: Any = [] if isinstance(event, yaml.SequenceStartEvent) else {}
            opened[-1].add(inner, event)
            opened.append(_Opened(inner))
            if len(opened) > MAX_DEPTH:
                raise _fault(_("too deep"), event)
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            opened.pop()
            continue
        elif isinstance(event, yaml.AliasEvent):
            raise _fault(_("references (*name) are not used here"), event)
        else:
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                raise _fault(_("expected a single document in the stream"), event)
            continue
        values += 1
        if values > MAX_VALUES or keys > MAX_KEYS:
            raise _fault(_("too long: {limit}", limit=_limit()), event)
    return top[0] if top else None


class _Opened:
    """A list or mapping that is being read; of a mapping, the key whose value comes next."""

    def __init__(self, content: list[Any] | dict[str, Any]) -> None:
        self._content = content
        self._key: str | None = None

    def add(self, value: Any, event: yaml.Event) -> bool:
        """Take the next value of a list, or the next key or value of a mapping. Return whether it was a key."""
        if isinstance(self._content, list):
            self._content.append(value)
        elif self._key is not None:
            self._content[self._key] = value
            self._key = None
        elif not isinstance(value, str):
            raise _fault(_("a key must be a plain text"), event)
        elif value in self._content:
            raise _fault(_("the key {value!r} occurs twice", value=value), event)
        else:
            self._key = value
            return True
        return False


def _fault(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, problem, event.start_mark)


class _Dumper(yaml.SafeDumper):
    """Writes numbers without quotes, as they were typed, and lists of plain values in one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True  # the reader above refuses references, so a repeated value is written twice

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        plain = all(not isinstance(item, dict | list | tuple) for item in sequence)
        return super().represent_sequence(tag, sequence, flow_style=plain)

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_decimal(dumper: _Dumper, number: Decimal) -> yaml.ScalarNode:
    text = f"{number:f}"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{'float' if '.' in text else 'int'}", text)


_Dumper.add_representer(Decimal, _represent_decimal)


_written: dict[str, str] = {}  # a cache of the latest texts by content: a release writes its plan several times


def dump(content: dict[str, Any]) -> str:
    """Write YAML that reads back to the same texts here, and to the natural types in other readers."""
    known = repr(content)
    text = _written.get(known)
    if text is None:
        text = str(yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))
        if len(_written) >= MAX_WRITTEN:
            _written.clear()
        if len(text) <= MAX_KEPT:
            _written[known] = text
    return text


def path_of(given: object, what: str) -> Path:
    """Return the path that a caller gives; `what` names the kind of file. Raises `PlanError` for anything else."""
    if not isinstance(given, str | Path):
        raise PlanError(_("the {what} file is given as its path", what=_(what)))
    return Path(given)


def write(path: str | Path, text: str, what: str) -> None:
    """Write a UTF-8 file; `what` names its kind. Raises `PlanError`, which names the file but not its folder."""
    path = path_of(path, what)
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or _("this is no name of a file")
        raise PlanError(
            _("the {what} file {name} cannot be written ({problem}): name another place", what=_(what), name=path.name,
              problem=problem)
        ) from None  # fmt: skip


def read(path: Path, what: str) -> str:
    """Read a small UTF-8 file; `what` names its kind. Raises `PlanError`, which names the file but not its folder."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise PlanError(
                    _("{name} is not a file, so no {what} can be read from it", name=path.name, what=_(what))
                )
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PlanError(
            _("the {what} file {name} cannot be read: {problem}", what=_(what), name=path.name, problem=error.strerror)
        ) from None
    except ValueError:  # for example NUL, which no path may hold
        raise PlanError(_("the {what} file cannot be read: this is no name of a file", what=_(what))) from None
    if len(content) > MAX_BYTES:
        raise PlanError(
            _("the {what} file {name} is larger than {most} MB", what=_(what), name=path.name, most=MAX_BYTES // 10**6)
        )
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise PlanError(
            _("the {what} file {name} is not UTF-8 text; save it as UTF-8", what=_(what), name=path.name)
        ) from None


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
