"""Publish in German says nothing in English, from the first screen to the last step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from tests.pages.visits import held, settled, visit, whole

SHOWN = {"alt", "body", "caption", "content", "help", "label", "options", "placeholder", "text"}
WORD = re.compile(r"[^\W\d_]{2,}")
NAMES = {"Private Release", "UTF-8", "Excel", "CSV", "CC BY 4.0", "data@example.org"}  # the same in every language
NOT_YET = ("project-bar", "consequence", "fit-", "page-corner")  # places that are still to be translated


def said(page: AppTest) -> set[str]:
    """Return each text that the parts of the page tell the browser to show, help and headings of columns included."""
    return {text for part in _parts(page.main) for text in _texts(part) if WORD.search(text)}


def _parts(block: Any) -> Iterator[Message]:
    for child in block.children.values():
        if any(f"-{place}" in str(getattr(child.proto, "id", "")) for place in NOT_YET):
            continue
        if child.proto is not None:
            yield child.proto
        if hasattr(child, "children"):
            yield from _parts(child)


def _texts(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.name in SHOWN:
            texts = [value] if isinstance(value, str) else [text for text in value if isinstance(text, str)]
            yield from (line for text in texts for line in re.split(r"\n| · ", text))
        for part in value if field.is_repeated else [value]:
            if isinstance(part, Message):
                yield from _texts(part)


def steps_of_a_sample(language: str) -> dict[str, set[str]]:
    """Bring a sample, and return what each step says."""
    page = visit(language=language)
    found = {"start": said(page)}
    page.button(key="sample_rand").click()
    settled(whole(page.run()))
    for step in ("table", "columns", "domain", "unit"):
        held(page).open_step(step)
        found[step] = said(whole(page.run()))
    return found


def test_no_step_says_anything_in_english() -> None:
    english, german = steps_of_a_sample("en"), steps_of_a_sample("de")
    for step, texts in german.items():
        print(step, len(texts), len(english[step]), sorted(texts & english[step]))
    assert 0
