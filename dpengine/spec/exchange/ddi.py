"""Codebooks in DDI Codebook, the XML in which data archives describe the variables of a survey.

Only variables are read: names, labels, questions, codes with their words, codes for missing values, and the range of
valid values. Frequencies and statistics in the same file are refused.

The file may come from a stranger. So it is read as a stream, by the parser of Python's standard library, and refused if
it has a document type: its entities could name files of this computer, or expand without limit.

Source: DDI Codebook 2.5 (ddialliance.org).
"""

from __future__ import annotations

import xml.parsers.expat
from collections.abc import Mapping
from typing import Any

from dpengine.errors import PlanError
from dpengine.spec.exchange.draft import BOUNDS, Draft, ReadCodebook, number_between
from dpengine.translation.catalogue import _, mark

__all__ = ["read"]

MAX_DEPTH = 100
MAX_TEXT = 10_000
_MEASURED = {
    "catStat": mark("how often its values occur"),
    "sumStat": mark("statistics of its values"),
    "caseQnty": mark("the number of rows"),
}
_TEXTS = {"labl", "txt", "qstnLit", "catValu", "titl", *_MEASURED}


def read(content: bytes) -> ReadCodebook:
    """Return the codebook in a DDI Codebook file. Raises `PlanError` for other files, or if it is not safe to read.

    >>> found = read(b"<codeBook><dataDscr><var name='q1'><labl>Sex</labl><catgry><catValu>1</catValu>"
    ...              b"<labl>male</labl><catStat type='freq'>12</catStat></catgry></var></dataDscr></codeBook>")
    >>> found.codebook.columns[0].words, found.refused
    ({'1': 'male'}, ('q1: how often its values occur, which only the rows can tell',))
    """
    reader = _Reader()
    parser = xml.parsers.expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(content, True)
    except xml.parsers.expat.ExpatError as error:
        raise PlanError(_("line {line}: this is not readable XML", line=error.lineno)) from None
    except (ValueError, LookupError):  # an encoding that is not known
        raise PlanError(_("this is not readable XML")) from None
    if reader.root != "codeBook":
        raise PlanError(_("this is XML, but no DDI Codebook: its first element is to be codeBook"))
    return reader.finish()


def _refuse_doctype(*_ignored: object) -> None:
    raise PlanError(_("this XML has a document type (DOCTYPE), which is not read: take that line out"))


class _Reader:
    """Collects variables from the events of a parser."""

    def __init__(self) -> None:
        self.root = ""
        self._path: list[str] = []
        self._texts: list[list[str]] = []
        self._variable: dict[str, Any] | None = None
        self._category: dict[str, str] | None = None
        self._variables: list[dict[str, Any]] = []
        self._refused: list[tuple[str, str]] = []
        self._title = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take the beginning of an element. Raises `PlanError` if it lies too deep."""
        name = tag.rpartition(" ")[2]
        self.root = self.root or name
        self._path.append(name)
        self._texts.append([])
        if len(self._path) > MAX_DEPTH:
            raise PlanError(_("this XML is nested too deeply"))
        if name == "var":
            self._variable = {"name": attributes.get("name", ""), "categories": [], "missing": []}
            self._variables.append(self._variable)
        if self._variable is None:
            return
        if name == "catgry":
            self._category = {"missing": attributes.get("missing", "")}
            self._variable["categories"].append(self._category)
        elif name == "varFormat":
            self._variable["type"] = attributes.get("type", "")
        elif name == "range" and "valrng" in self._path:
            self._variable["range"] = (attributes.get("min"), attributes.get("max"))
        elif name == "item" and "invalrng" in self._path:
            self._variable["missing"].append(attributes.get("VALUE", ""))

    def text(self, text: str) -> None:
        """Take a piece of the text of an element, as far as it is wanted and not too long."""
        if self._path and self._path[-1] in _TEXTS and sum(map(len, self._texts[-1])) < MAX_TEXT:
            self._texts[-1].append(text)

    def end(self, tag: str) -> None:
        """Take the end of an element, whose text is then complete."""
        name, text = self._path.pop(), " ".join("".join(self._texts.pop()).split())[:MAX_TEXT]
        variable, category = self._variable, self._category
        if name in _MEASURED and text:
            self._refused.append((variable["name"] if variable else "", _MEASURED[name]))
        elif name == "titl" and not self._title and "stdyDscr" in self._path:
            self._title = text
        elif name == "var":
            self._variable = None
        elif name == "catgry":
            self._category = None
        elif variable is not None and name in ("labl", "txt", "qstnLit", "catValu"):
            (variable if category is None else category).setdefault(name, text)

    def finish(self) -> ReadCodebook:
        """Return the codebook of all variables."""
        draft = Draft(title=self._title)
        for place, what in self._refused:
            draft.refuse(place, what)
        doubtful = bool(draft.refused)
        for variable in self._variables:
            if variable["name"]:
                _add(draft, variable, doubtful=doubtful)
        return draft.finish()


def _add(draft: Draft, variable: Mapping[str, Any], *, doubtful: bool) -> None:
    """Add public knowledge about a variable; in a `doubtful` file, its range may be that of the rows."""
    coded = [each for each in variable["categories"] if each.get("catValu")]
    missing = [*(each["catValu"] for each in coded if each["missing"] == "Y"), *filter(None, variable["missing"])]
    marks = dict.fromkeys(missing)  # each once, in order
    valid = {each["catValu"]: each.get("labl", "") for each in coded if each["catValu"] not in marks}
    fields: dict[str, Any] = {}
    if valid:
        words = {code: word for code, word in valid.items() if word and word != code}
        fields = {"kind": "category", "values": list(valid)} | ({"words": words} if words else {})
    elif variable.get("range") and variable.get("type", "numeric") == "numeric":
        if doubtful:
            draft.refuse(variable["name"], BOUNDS)
        else:
            fields = number_between(*variable["range"], whole=False)
    if "kind" in fields and marks:
        fields |= {"missing_as": list(marks)}
    draft.add(variable["name"], fields, label=variable.get("labl", ""), text=variable.get("qstnLit") or
              variable.get("txt", ""))  # fmt: skip
