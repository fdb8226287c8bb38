"""Publish in German says nothing in English, from the first screen to the last step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from dpengine.translation.catalogue import speaking
from pages.parts.visit.state import STEPS
from tests.pages.visits import settled, visit, visit_of, whole

SHOWN = {"alt", "body", "caption", "content", "help", "label", "options", "placeholder", "text"}
WORD = re.compile(r"[^\W\d_]{2,}")
NAMES = {  # the same in every language
    "Census income 1994–95", "RAND health insurance", "UTF-8", "Excel", "CSV", "CSVW-EO", "CC BY 4.0",
    "data@example.org",
}  # fmt: skip
WRITTEN = {"2020 to 2024 by year, written 31/12/2024"}  # by people, into a cell


def sentences(page: AppTest) -> set[str]:
    """Return each text that the parts of the page tell the browser to show, help and headings of columns included."""
    return {text for part in _parts(page.main) for text in _texts(part) if WORD.search(text)}


def _parts(block: Any) -> Iterator[Message]:
    for child in block.children.values():
        if "-language-box-" in str(getattr(child.proto, "id", "")):  # which names the language itself
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


def in_the_other_language(page: AppTest) -> set[str]:
    """Return what the page says in the language that is not its own by now, which it speaks from then on."""
    now = page.session_state["language"]
    page.session_state["language"] = "en" if now == "de" else "de"
    with speaking(now):  # in which the test still knows the options of each box
        return sentences(whole(page.run()))


def test_no_step_says_anything_in_english() -> None:
    page = visit()
    found = sentences(page) & in_the_other_language(page)
    with speaking("de"):
        page.button(key="sample_rand").click()
        settled(whole(page.run()))
    entries, names = visit_of(page).entries, {field.name for field in visit_of(page).table.columns}
    names |= {words["label"] for words in entries.texts.values()}
    for step in ("columns", "domain", "unit", ""):
        if step:
            visit_of(page).open_step(step)
        else:
            visit_of(page).settle(*STEPS)
        with speaking(page.session_state["language"]):
            page.run()
        here, there = sentences(page), in_the_other_language(page)
        assert abs(len(here) - len(there)) < 4, "the same, in other words"
        found |= here & there
    assert visit_of(page).entries == entries, "what was entered stays as it is"
    same = re.compile("|".join(map(re.escape, sorted(NAMES | WRITTEN | names, key=len, reverse=True))))
    assert [text for text in found if WORD.search(same.sub("", text.replace("\\", "")))] == []


def test_the_report_of_an_own_table_is_in_the_language_of_its_owner() -> None:
    page = visit(language="de")
    page.get("file_uploader")[0].upload("ort.csv", b"Ort,Alter\nNord,34\n").run()
    settled(page)
    assert visit_of(page).table is not None
    assert visit_of(page).entries.language == "de"
