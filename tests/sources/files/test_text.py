"""Text tables: how long a line may be, wherever the pieces in which it is read begin and end."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.errors import TableError
from dpengine.sources.files import text
from dpengine.sources.open import open_table

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


def test_where_all_names_stand_in_single_quotes_cells_may_too(tmp_path: Path) -> None:
    (quoted := tmp_path / "quoted.tsv").write_text("'TVnews'\t'place'\n1\t'Paris\tTX'\n2\t'the ''old'' \"one\"'\n")
    with open_table(quoted) as table:
        assert [field.name for field in table.columns] == ["TVnews", "place"]
        with table.connection() as rows:
            assert rows.execute("SELECT c1 FROM rows ORDER BY c0").fetchall() == [
                ("Paris\tTX",),
                ("the 'old' \"one\"",),
            ]
    (plain := tmp_path / "plain.csv").write_text("'a',b\n'1,2\n")
    with open_table(plain) as table:
        assert [field.name for field in table.columns] == ["'a'", "b"]
    (open_one := tmp_path / "open.csv").write_text("'a','b'\n1,'2\n")
    with pytest.raises(TableError, match="line 2 of the file opens a quote"):
        open_table(open_one)
