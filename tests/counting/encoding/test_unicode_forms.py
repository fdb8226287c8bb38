"""All spellings of a text in Unicode, and only these."""

import unicodedata

import pytest

from dpengine.counting.encoding.unicode_forms import spellings
from dpengine.errors import TableError


@pytest.mark.parametrize("text", ["é", "K;", "Việt", "한국", "Å", "ệ", "ড়", "日本", "Ǖ", "ﬁ", "A", "", "가"])
def test_spellings_are_the_same_text_composed_and_none_twice(text):
    forms = spellings(text)
    assert {unicodedata.normalize("NFC", each) for each in forms} == {unicodedata.normalize("NFC", text)}
    assert len(forms) == len(set(forms))
    for form in ("NFC", "NFD"):
        assert unicodedata.normalize(form, text) in forms


def test_every_letter_of_one_sign_is_among_the_spellings_of_what_it_composes_to():
    """The whole of Unicode, one sign at a time."""
    signs = [chr(code) for code in range(0x80, 0x30000) if unicodedata.normalize("NFD", chr(code)) != chr(code)]
    picked = signs[::37]
    assert len(picked) > 300
    for sign in picked:
        assert sign in spellings(unicodedata.normalize("NFC", sign)), hex(ord(sign))


def test_marks_of_different_kinds_come_in_any_order():
    assert {"a\u0323\u0302", "a\u0302\u0323", "\u00e2\u0323", "\u1ea1\u0302", "\u1ead"} == set(spellings("ậ"))


def test_too_many_spellings_are_refused():
    with pytest.raises(TableError, match="too many ways"):
        spellings("ế" * 8)
