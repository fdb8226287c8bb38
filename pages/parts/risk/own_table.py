"""The owner's table in the Risk lab: exact numbers that only the owner may see.

They are kept only in the session, with the table, and no file has them.
"""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import streamlit as st

from dpengine import owner
from dpengine.owner import Classes, Uniqueness
from dpengine.sources.table import Table
from dpengine.spec.wording import percent, percent_at_most
from dpengine.translation.catalogue import _, plural
from pages.parts.risk.charts import alone_figure
from pages.parts.risk.profile import explain_measures, show_profile
from pages.parts.server.jobs import Progress
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["show_own_table"]

MAX_COLUMNS = 8
ALL_SUBSETS = 5  # for more columns, only single ones, pairs, and all together are counted
MAX_BARS = 10

# The classes of the chosen columns, unique people by each set of columns, and the number of all people.
Counted = tuple[Classes, dict[tuple[str, ...], Uniqueness], int]


@st.fragment
def show_own_table(table: Table) -> None:
    """Show who stands out in the owner's table by the chosen columns."""
    entries = visit().entries
    names = [column.name for column in table.columns]
    person = entries.id_column if entries.several_rows and entries.id_column in names else None
    columns, sensitive = _choose_columns([name for name in names if name != person])
    if not columns:
        st.caption(_("Choose at least one column."))
        return
    with st.container(border=True, key="private"):
        st.markdown(
            _(
                ":material/visibility_lock: **For your eyes only.** These are exact numbers of your table, without "
                "noise. Showing even k to others is a disclosure. The numbers are saved nowhere and cannot be "
                "downloaded."
            )
        )
        if not st.toggle(_("Show them: only I see this screen"), key=visit().key("risk_show")):
            return
        if (counted := _counted(table, columns, sensitive, person)) is None:
            return
        classes, alone, people = counted
        if not people:
            st.markdown(_("There is nobody in this table."))
            return
        show_profile(classes, people, alone[tuple(columns)].people, "own", private=True)
        if len(columns) > 1:
            _show_combinations(alone, people)
        if person is not None:
            st.caption(
                _(
                    "Rows belong to one person by {column}; someone with several rows may be in several classes.",
                    column=plain(person),
                )
            )
    explain_measures()


def _choose_columns(names: list[str]) -> tuple[list[str], str | None]:
    """Ask for the columns that others may know, and for one that should stay unknown."""
    left, right = st.columns(2)
    columns = left.multiselect(
        _("What might a neighbour know?"),
        names,
        default=[name for name in visit().entries.chosen if name in names][:3],
        max_selections=MAX_COLUMNS,
        key=visit().key("risk_columns"),
        placeholder=_("such as age, sex, postcode"),
        help=_("Quasi-identifiers: columns that others may know about a person from elsewhere."),
    )
    sensitive = right.selectbox(
        _("What should stay unknown?"),
        [name for name in names if name not in columns],
        index=None,
        key=visit().key("risk_sensitive"),
        placeholder=_("a sensitive column; optional"),
        help=_("ℓ and t are about this column's values."),
    )
    return columns, sensitive


def _counted(table: Table, columns: list[str], sensitive: str | None, person: str | None) -> Counted | None:
    """Count classes and unique people by these columns, in the background; None until that is done."""
    sizes = range(1, len(columns) + 1) if len(columns) <= ALL_SUBSETS else (1, 2, len(columns))
    sets = [each for size in sizes for each in combinations(columns, size)]

    def work(progress: Progress) -> Counted:
        progress("classes")
        classes = owner.class_sizes(table, columns, sensitive, person=person)
        progress("combinations")
        alone = owner.unique_people(table, sets, person=person)
        progress("people")
        people = owner.people_count(table, person)
        owner.check_unchanged(table)
        return classes, alone, people

    return background_read.read("risk", work, table, question=(*columns, None, sensitive, person))


def _show_combinations(alone: dict[tuple[str, ...], Uniqueness], people: int) -> None:
    """Show which columns, alone or together, single people out."""
    ranked = sorted(alone.items(), key=lambda item: (-item[1].people, len(item[0])))
    named = {" × ".join(names): each for names, each in ranked}
    top = list(named.items())[:MAX_BARS]
    singly = max(each.people for names, each in alone.items() if len(names) == 1)
    together = plural(
        "{n} column together single out {share}",
        "{n} columns together single out {share}",
        max(map(len, alone)),
        share=percent(ranked[0][1].people / people),
    )
    line = (
        _(
            "One column alone singles out at most {share} of people; {together}",
            share=percent_at_most(singly / people),
            together=together,
        )
        if singly
        else _("One column alone singles out nobody; {together}", together=together)
    )
    if not ranked[0][1].people:
        line = _("These columns single out nobody, neither alone nor together")
    st.markdown(f"**{line}**")
    if not ranked[0][1].people:
        return
    figure = alone_figure([name for name, _ in top], [each.people / people for _, each in top])
    draw(figure, f"{line}.", "risk-alone", 90 + 28 * len(top), private=True)
    rows = [
        {"columns": name, "alone": each.people, "of all": each.people / people, "classes": each.classes}
        for name, each in named.items()
    ]
    number = st.column_config.NumberColumn
    columns = {
        "columns": _("columns"),
        "alone": number(_("alone"), format="%,d"),
        "of all": number(_("of all"), format="percent"),
        "classes": number(_("classes"), format="%,d"),
    }
    twin(pd.DataFrame(rows), "risk-alone", columns, private=True)
