"""YAML read as texts only: no type is guessed, no object is made, and no key may occur twice.

Every scalar stays the text that was typed, such as No, 012, 1e3 or 2024-01-01. The field that takes it decides what
it means.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from dpengine.errors import PlanError

__all__ = ["dump", "mapping", "read"]

MAX_BYTES = 20_000_000


class _TextLoader(yaml.BaseLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a plain text", key.start_mark)
            if key.value in seen:
                problem = f"the key {key.value!r} occurs twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "references (*name) are not used here", mark)
        return super().compose_node(parent, index)


def mapping(text: str, what: str) -> dict[str, Any]:
    """Read the top-level mapping of a YAML text, all scalars as text; `what` names it in errors. Raises `PlanError`.

    >>> mapping("region: No\\nedges: [0, 1e3]", "a plan")
    {'region': 'No', 'edges': ['0', '1e3']}
    """
    try:
        content = yaml.load(text, Loader=_TextLoader)  # noqa: S506 (a BaseLoader makes only texts)
    except yaml.reader.ReaderError:
        raise PlanError(f"this is not {what}: it holds a control character or half a character") from None
    # ValueError and OverflowError come from an escape that is no character, such as "\U99999999".
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise PlanError(f"{where}this is not readable YAML ({_problem(error)})") from None
    if not isinstance(content, dict):
        raise PlanError(f"this is not {what}: write a YAML mapping such as 'title: …'")
    return content


def _problem(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "too deep"
    return getattr(error, "problem", None) or "an escape that is no character"


class _Dumper(yaml.SafeDumper):
    """Writes numbers bare, as they were typed, and lists of plain values in one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True  # the reader above refuses references, so a value that occurs twice is written twice

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        plain = all(not isinstance(item, dict | list | tuple) for item in sequence)
        return super().represent_sequence(tag, sequence, flow_style=plain)

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_decimal(dumper: _Dumper, number: Decimal) -> yaml.ScalarNode:
    text = f"{number:f}"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{'float' if '.' in text else 'int'}", text)


_Dumper.add_representer(Decimal, _represent_decimal)


def dump(content: dict[str, Any]) -> str:
    """Write YAML that reads back to the same texts here, and to the natural types in other readers."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def read(path: Path, what: str) -> str:
    """Read a small UTF-8 file; `what` names its kind. Raises `PlanError`, which names the file but not its folder."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise PlanError(f"the {what} file {path.name} is larger than {MAX_BYTES // 10**6} MB")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise PlanError(f"the {what} file {path.name} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise PlanError(f"the {what} file {path.name} cannot be read: {error.strerror}") from None
