"""Texts from people stay text: nothing in them becomes a link, an icon, a list or other formatting."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from pages.parts.shared.wording import plain

# How GitHub's Markdown finds links in text, after all escapes are gone; and Streamlit its icons, emoji and arrows.
LIVELY = re.compile(
    r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)"
    r"|(?:^|(?<=\s)|(?<=[^\w\s])|(?<=_))([-.\w+]+)@([-\w]+(?:\.[-\w]+)+)"
    r"|:[\w+/-]+:|(?:^|\s)(<->|->|<-|--|>=|<=|~=)(?=\s|$)",
    re.IGNORECASE,
)
TEXTS = [
    "www.evil.example/x", "(WWW.evil.example)", "http://evil.example", "see HTTPS://evil.example/?a=1", "http\\://evil.example",
    "me@evil.example", "me+you@evil.example, him@evil.example", "mailto:me@evil.example", "xmpp:me@evil.example/x",
    ":smile:", "a:+1:b", ":material/delete:", ":streamlit:", ":a:b:c:", "a -> b", "-> b", "a <-", "a -- b >= c <-> d",
    "<https://evil.example>", "[a](http://evil.example)", "![a](x)", "[a]: http://evil.example", "<b>bold</b>",
    "&lt;b&gt;", "**bold**", "_it_", "`code`", "~~gone~~", "$x^2$", ":red[x]", "|a|b|", "# head", "> quote", "- item",
    "+ item", "* item", "1. item", "12) item", "---", "    code", "a\n\n# head", "a\n===", "a  \nb", "a\\", "age_group",
    "-5", "+1.5", "1.5", "", "A & B",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_shown_as_it_is(text: str) -> None:
    block = MarkdownIt("commonmark").parse(plain(text))
    assert [token.type for token in block] in ([], ["paragraph_open", "inline", "paragraph_close"])
    pieces = [piece for token in block for piece in token.children or ()]
    assert {piece.type for piece in pieces} <= {"text", "text_special"}
    shown = "".join(piece.content for piece in pieces)
    assert not LIVELY.search(shown)
    assert shown.replace("\N{WORD JOINER}", "") == " ".join(text.split())


def test_the_check_sees_what_is_lively() -> None:
    assert [text for text in TEXTS[:18] if not LIVELY.search(text)] == ["http\\://evil.example"]
