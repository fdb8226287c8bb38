"""Every language has every text, with the same places for values, and what is stored stays English."""

from __future__ import annotations

import ast
import importlib.util
import re
import string
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from dpengine.translation import catalogue
from dpengine.translation.catalogue import _, language, languages, number, plural, speaking

ROOT = Path(__file__).parent.parent.parent
MORE_CODE = "| Kind | Write |"  # how this begins: in other languages it adds which words of the notation stay English
OTHERS = [code for code in languages() if code != "en"]


@cache
def tool() -> ModuleType:
    """Return the tool that collects texts, which does so once for all tests here."""
    spec = importlib.util.spec_from_file_location("texts", ROOT / ".ci" / "texts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    collected = list(module.texts())
    module.texts = lambda: iter(collected)
    return module


def places(text: str) -> set[tuple[str, str | None, str | None]]:
    parsed = string.Formatter().parse(text)
    return {(name, form, conversion) for _text, name, form, conversion in parsed if name is not None}


def marks(text: str) -> Counter[str]:
    """Return what Markdown and the page read as more than words."""
    return Counter(re.findall(r"\*\*|:material/\w+:|<br>|\]\([^)]*\)|https?://[^\s)]+", text))


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_translated_with_its_places(code: str) -> None:
    for message in tool().updated(code):
        if not message.id:
            continue
        english = message.id if isinstance(message.id, tuple) else (message.id,)
        texts = message.string if isinstance(message.string, tuple) else (message.string,)
        assert all(texts), f"not translated: {message.id!r}; python .ci/texts.py lists all"
        for form in texts:
            assert marks(form) == marks(english[-1]), message.id
            assert form.count("`") == english[-1].count("`") or english[-1].startswith(MORE_CODE), message.id
            assert places(form) <= places(english[-1]), message.id
            assert places(form) | {("n", "", None)} >= places(english[-1]), message.id


@pytest.mark.parametrize("code", OTHERS)
def test_no_file_holds_texts_that_are_gone(code: str) -> None:
    from babel.messages.pofile import read_po

    with (catalogue.FOLDER / f"{code}.po").open("rb") as file:
        texts = {message.id for message in read_po(file, locale=code) if message.id}
    assert texts == {message.id for message in tool().updated(code) if message.id}, (
        "python .ci/texts.py brings it up to date"
    )


def test_the_collected_catalogue_misses_no_text() -> None:
    """In an f-string, a text is not found: it must have a name before."""
    tools, overlooked = tool(), []
    known = {text if isinstance(text, str) else text[0] for text in tools.texts()}
    for file in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "dpengine").rglob("*.py")]:
        if "translation.catalogue" not in (code := file.read_text()):
            continue
        for call in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call) and node.args):
            name, text = call.func.id if isinstance(call.func, ast.Name) else "", call.args[0]
            if name in tools.KEYWORDS and isinstance(text, ast.Constant) and text.value not in {*known, ""}:
                overlooked.append(f"{file.relative_to(ROOT)}:{call.lineno}")
    assert overlooked == []


def test_a_block_speaks_its_language_and_no_longer() -> None:
    with speaking("de"):
        assert (language(), number(1234.5, ",.1f")) == ("de", "1.234,5")
        with speaking("en"):
            assert number(1234.5, ",.1f") == "1,234.5"
        assert language() == "de"
    assert language() == "en"


def test_a_text_without_translation_stays_english_and_takes_its_values() -> None:
    with speaking("de"):
        assert _("No such text: {what}", what="{this}") == "No such text: {this}"
        assert plural("{n} zzz", "{n} zzzs", 1200) == "1.200 zzzs"
