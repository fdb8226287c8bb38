"""Text tables: how long a line may be, wherever the pieces in which it is read begin and end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.errors import TableError
from dpengine.sources.files import text

PIECES = st.lists(st.text("ab\n", max_size=30).map(str.encode), max_size=8)


@given(PIECES)
def test_a_line_is_too_long_however_it_is_cut_into_pieces(pieces):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "MAX_LINE", 10)
        assert is_refused(pieces) == any(len(line) > 10 for line in b"".join(pieces).split(b"\n"))


def is_refused(pieces):
    lines = text._Lines()
    try:
        for piece in pieces:
            lines.check(piece)
    except TableError:
        return True
    return False
