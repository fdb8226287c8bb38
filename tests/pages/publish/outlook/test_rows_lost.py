"""A bound that leaves out most rows is named before anything is published, and to the owner alone."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.visits import labelled, press, settled, texts, visit, visit_of


def loans(bound: int) -> AppTest:
    """A library's 20 readers with 12 loans each, of which so many are counted, up to the bill."""
    page = visit()
    rows = [f"R{reader},{'ab'[loan % 2]}" for reader in range(20) for loan in range(12)]
    page.get("file_uploader")[0].upload("loans.csv", "\n".join(["reader,genre", *rows, ""]).encode()).run()
    here = visit_of(settled(page))
    here.entries = here.entries.with_(
        chosen=("genre",),
        declared={"genre": {"name": "genre", "kind": "category", "values": ["a", "b"]}},
        several_rows=True, id_column="reader", rows=bound,
    )  # fmt: skip
    here.settle("columns", "domain", "unit")
    return settled(page.run())


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (1, "**At most 1 row of a person is counted: more than nine rows in ten are left out.** Only you see this."),
        (4, "**At most 4 rows of a person are counted: more than half of the rows are left out.**"),
        (8, "**At most 8 rows of a person are counted: more than a fifth of the rows is left out.**"),
    ],
)
def test_a_bound_that_leaves_out_much_is_named_before_the_button(bound: int, words: str) -> None:
    page = loans(bound)
    assert words in texts(page)
    assert "240" not in texts(page).replace("240 rows (only you see this number)", ""), "nothing exact is said"
    press(page, "Change the rows per person")
    assert visit_of(page).opened == "unit"


def test_a_bound_that_leaves_out_little_is_not_mentioned() -> None:
    assert "of a person are counted:" not in texts(loans(12))


def test_step_4_says_that_one_row_a_person_counts_persons_and_not_loans() -> None:
    page = loans(1)
    visit_of(page).open_step("unit")
    said = "So this counts persons, each in one of their rows. To count what the rows are, such as loans"
    assert said in texts(settled(page.run()))
    labelled(page.number_input, "Rows per person").set_value(5).run()
    assert said not in texts(page)


def test_the_rough_size_is_asked_of_the_rows_that_are_counted() -> None:
    page = loans(1)
    assert "Only one row of each person is counted: say roughly how many persons there are." in texts(page)
    visit_of(page).change(rows=4)
    assert "At most 4 rows of each person are counted: leave out the others in this number." in texts(page.run())
    visit_of(page).change(several_rows=False, id_column=None)
    assert "of each person" not in texts(page.run())
