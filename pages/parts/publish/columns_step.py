"""Step 2: which columns are published, and in which tables."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine import Plan, PlanError, owner
from dpengine.sources.table import Table
from dpengine.spec import strict_yaml
from dpengine.spec.limits import MAX_TABLE_CELLS, MAX_TABLE_COLUMNS, MAX_TABLES
from dpengine.spec.published_table import PublishedTable
from dpengine.translation.catalogue import _, language, mark, number, plural, some_of
from pages.parts.publish import renamed_columns
from pages.parts.publish.noun_box import ask_noun
from pages.parts.publish.person_ids import ids_by_rows, published_ids, unsuspected
from pages.parts.publish.table_questions import offer_to_skip_a_row
from pages.parts.publish.tables import levels_box
from pages.parts.publish.tables.own_tables import ask_of_amounts, ask_own_tables
from pages.parts.shared.demo import file_box
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import plain, plain_name
from pages.parts.visit import background_read, saved_draft
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.column_checks import sizes_of
from pages.parts.visit.plan.column_entry import suggestion, texts_from_file
from pages.parts.visit.plan.entries import LAYOUTS, Draft
from pages.parts.visit.plan.table_measures import PERSONS, in_words, named
from pages.parts.visit.plan.tables import (
    as_list,
    counting_rows,
    has_ranges,
    published,
    rows_and_persons,
    too_many,
    too_many_pairs,
)
from pages.parts.visit.plan.times_entry import offered_times
from pages.parts.visit.state import STEPS, visit

__all__ = ["all_tables", "choose_columns", "summary"]

_MAY_WEIGHT = re.compile(
    r"(?i)(?<![a-z])(p|f|design|survey|sampling|hh|person)?_?(weights?|wgt|gewichtung|gewicht)(?![a-z])"
)
MAX_SHOWN = 8
MAX_NAMED = 4  # letters of the list of tables in the folded step


def choose_columns() -> None:
    """Ask for the columns and how they are combined into tables, and list these tables."""
    saved_draft.show_what_waits()
    renamed_columns.ask()
    saved_draft.offer_earlier()
    _load_plan()
    _ask_which_matter()
    _ask_how_published()
    _ask_for_more()
    ask_noun("rows")
    tables = published(visit().entries)
    _warn(tables)
    _sizes(tables)
    go_on, both = _("Go on to what is known"), rows_and_persons(visit().entries)
    for columns in both:
        text = _(
            "**{table}** is listed twice: to count rows, and to count each person once. A release has one table of the "
            "same columns, which counts either. Remove one of both here; the other can be published by itself later, "
            "from the same budget.",
            table=plain_name(" × ".join(columns)),
        )
        st.warning(text, icon=":material/group:")
    if st.button(go_on, type="primary", key=visit().key("columns-done"), disabled=not tables or bool(both)):
        visit().settle("columns")
        st.rerun()


def _ask_which_matter() -> None:
    """Ask for the columns; of a new one, its name, its type and the texts in the file suggest what it holds."""
    table, entries = visit().table, visit().entries
    assert table is not None
    fields = {field.name: field for field in table.columns}
    if len(fields) == 1:
        text = _(
            "This table has one column. If the file has more, *Reading options* under *Change the table* say how they "
            "are separated, and how many rows stand above the names."
        )
        st.caption(f":material/info: {text}")
        if visit().source is not None:
            offer_to_skip_a_row()
    times = offered_times(table.columns, entries.declared)
    chosen = st.multiselect(
        _("Columns that matter"),
        [*fields, *times],
        default=[name for name in entries.chosen if name in fields or name in times],
        key=visit().key("chosen"),
        placeholder=_("Choose columns"),
        help=_("Only these are read. Fewer columns mean fewer cells, and more people in each."),
    )
    fresh = [fields[name] for name in chosen if name in fields and name not in entries.declared]
    declared = (
        entries.declared
        | {name: times[name] for name in chosen if name in times}
        | {
            field.name: suggestion(
                field.name, field.kind_hint, stored_as=field.type, codes=[code for code, _word in field.words]
            )
            for field in fresh
        }
    )
    texts = entries.texts | {
        field.name: known for field in fresh if (known := texts_from_file(field.label, field.words))
    }
    visit().change(chosen=tuple(chosen), declared=declared, texts=texts)
    if weight := next(filter(_MAY_WEIGHT.search, fields), None):
        text = _(
            "If **{column}** is a survey weight: counts are of rows, not weighted. For weighted numbers, publish the "
            "sum of this column under *Averaged or added up*.",
            column=plain_name(weight),
        )
        st.caption(f":material/balance: {text}", help=term("survey-weights"))


def _ask_how_published() -> None:
    """Ask how the columns are combined into tables, and what the tables publish of amounts."""
    entries = visit().entries
    layout = st.radio(
        _("Published as"),
        list(LAYOUTS),
        index=list(LAYOUTS).index(entries.layout),
        format_func=lambda key: _(LAYOUTS[key]),
        horizontal=True,
        key=visit().key("layout"),
        help=term("table"),
    )
    returns = entries.several_rows is not None  # from later steps, to change some of the tables and not to lose all
    if layout == "own" != entries.layout and not entries.own and (returns or entries.layout == "pairs"):
        listed = as_list(entries, published(entries))  # the tables so far, to which others can be added
        visit().change(own=listed.own, more=listed.more, margins=listed.margins)
    visit().change(layout=layout)
    if layout == "own":
        levels_box.show(list(entries.chosen))  # placed before the tables, which can then use these levels
        entries = ask_own_tables(visit().entries)
    else:
        entries = ask_of_amounts(visit().entries)
        if entries.chosen:
            text = _("To publish a column also coarsely, such as ages in tens, chapters of codes, or years beside "
                     "months, list the tables yourself: *Levels* are there.")  # fmt: skip
            st.caption(f":material/account_tree: {text}")
    visit().change(declared=entries.declared, own=entries.own, more=entries.more, of_amounts=entries.of_amounts)


def _ask_for_more() -> None:
    """Ask whether single columns are published too, and whether sums over ranges matter."""
    entries = visit().entries
    if entries.layout != "single":
        margins = st.checkbox(
            _("Also each column by itself, at no extra cost"),
            value=entries.margins,
            key=visit().key("margins"),
            help=_(
                "These are sums of a table that is published anyway. Their intervals are narrower than those of "
                "cells added up."
            ),
        )
        visit().change(margins=margins)
    if has_ranges(visit().entries):
        ranges = st.checkbox(
            _("Sums over ranges matter, such as all ages up to 40"),
            value=entries.ranges,
            key=visit().key("ranges"),
            help=term("ranges", _("Neighbouring cells with few people are then measured together.")),
        )
        visit().change(ranges=ranges)


def _warn(tables: Sequence[PublishedTable]) -> None:
    """Warn of more columns than a table can have, of measures that exclude each other, and of columns with names."""
    if most := too_many(visit().entries):
        text = _("These are {n} columns. One table has at most {most}: publish them in pairs, or choose fewer.",
                 n=number(most), most=number(MAX_TABLE_COLUMNS))  # fmt: skip
        st.warning(text, icon=":material/report:")
    pairs, most = too_many_pairs(visit().entries)
    if pairs:
        text = _("These are {n} tables; a plan has at most {limit}, such as the pairs of {most} columns. Choose fewer "
                 "columns, or list the pairs that matter under *A list of my own*.",
                 n=number(pairs), limit=number(MAX_TABLES), most=number(most))  # fmt: skip
        st.warning(text, icon=":material/report:")
    if torn := _with_squares_and_quantiles(tables):
        text = _("A standard deviation, slope or correlation cannot stand beside a median or quartiles of the same "
                 "column ({columns}). Take one of them out here, and publish it in a plan of its own.",
                 columns=plain(some_of(torn)))  # fmt: skip
        st.warning(text, icon=":material/report:")
    if ids := published_ids():
        text = _("{columns} may say who a person is. Such a column belongs in no table, so leave it out here; if a "
                 "person has several rows, step 4 asks for it.", columns=plain(some_of(ids)))  # fmt: skip
        st.warning(text, icon=":material/badge:")
        _offer_to_leave_out("names", ids)
    if seen := _ids_seen():
        text = _("{columns} has another value in nearly every row. Only you see this. If it numbers the rows or says "
                 "who a person is, leave it out: its values are no cells of a table.",
                 columns=plain(some_of(seen)))  # fmt: skip
        st.warning(text, icon=":material/badge:")
        _offer_to_leave_out("rows", seen)


def _with_squares_and_quantiles(tables: Sequence[PublishedTable]) -> list[str]:
    """Return the amounts with two measures that exclude each other: one needs squares, the other knots.

    >>> _with_squares_and_quantiles([
    ...     PublishedTable(columns=("sex",), standard_deviation=("pay",), quantiles={"pay": ("0.5",), "age": ("0.5",)})
    ... ])
    ['pay']
    """
    squared = {name for table in tables for each in table.associations for name in each.squared}
    return sorted(squared & {name for table in tables for name in table.quantiles})


def _ids_seen() -> list[str]:
    """Return the undeclared columns whose values differ in nearly every row, once this is known."""
    table, names = visit().table, unsuspected()
    if table is None or not names:
        return []
    return (
        background_read.glance("ids", lambda _progress: ids_by_rows(table, names), table, question=names, patient=False)
        or []
    )


def _offer_to_leave_out(why: str, names: list[str]) -> None:
    """Offer to leave columns out by a click; those of one's own list of tables are taken out there."""
    if visit().entries.layout != "own":
        st.button(
            plural("Leave it out", "Leave them out", len(names)),
            key=visit().key(f"leave-out-{why}"),
            icon=":material/backspace:",
            on_click=_leave_out,
            args=(names,),
        )


def _leave_out(names: list[str]) -> None:
    rest = tuple(name for name in visit().entries.chosen if name not in names)
    st.session_state[visit().key("chosen")] = list(rest)
    visit().change(chosen=rest)


def _sizes(tables: tuple[PublishedTable, ...]) -> None:
    """Show how many cells each table has, if that is known, and warn of too many."""
    sizes = sizes_of({name for table in tables for name in table.columns})
    lines = [f"{plain_name(named(each))}: {_size(each, sizes)}" for each in tables[:MAX_SHOWN]]
    if len(tables) > MAX_SHOWN:
        lines.append(plural("… {n} more table", "… {n} more tables", len(tables) - MAX_SHOWN))
    known = {name: size for name, size in sizes.items() if size is not None}
    if len(tables) > 1 and len(known) == len(sizes):
        total = sum(math.prod(known[name] for name in each.columns) for each in tables)
        lines.append(plural("all tables together: {n} cell", "all tables together: {n} cells", total))
    st.caption("  \n".join(lines))


def _size(table: PublishedTable, sizes: Mapping[str, int | None]) -> str:
    """Say how many cells a table has, as far as the `sizes` of its columns are known."""
    known = [size for name in table.columns if (size := sizes[name]) is not None]
    cells = math.prod(known)
    if cells > MAX_TABLE_CELLS:
        return _(
            "**{cells} cells are too many** (at most {most}): take a column out, or use wider bins",
            cells=number(cells),
            most=number(MAX_TABLE_CELLS),
        )
    if len(known) == len(table.columns):
        return plural("{n} cell", "{n} cells", cells)
    return _("size known after the next step")


def _load_plan() -> None:
    """Offer a box for a plan file that was saved earlier; it fills in every step if the table has its columns."""
    with st.popover(_("Load a plan"), icon=":material/upload_file:", key=visit().key("plan-box"), on_change="rerun"):
        file = file_box(
            _("A plan file for this table"),
            type=["yaml", "yml"],
            key=visit().key("plan-file"),
            max_upload_size=strict_yaml.MAX_BYTES // 10**6,
        )
        table = visit().table
        if file is None or table is None:
            return
        plan = _plan_in(file)
        if isinstance(plan, PlanError):
            st.warning(all_faults(plan), icon=":material/report:")
            return
        draft = Draft(plan.title or plan.dataset, "", tuple(STEPS), plan_form.from_plan(plan), visit().account.owner)
        if not saved_draft.fits(draft) and saved_draft.lacking(draft) != saved_draft.needed(draft):
            saved_draft.take_over(draft)  # and ask which columns have other names
            st.rerun()
        doing = mark("Checking")
        if background_read.read("fits", lambda _job: _fits(table, plan), table, question=plan.key, doing=doing) is None:
            return
        visit().refresh(plan_form.from_plan(plan), lambda: _("load a plan"))
        visit().made_before = True
        visit().settle(*STEPS)
        st.rerun()


def _plan_in(file: UploadedFile) -> Plan | PlanError:
    """Return the plan in a file, or what is wrong with it; each file is read once, not at each rerun."""

    def read() -> Plan | PlanError:
        try:
            return Plan.loads(file.getvalue().decode("utf-8-sig", "replace"))
        except PlanError as error:
            return error

    return visit().once("plan-read", file.file_id, read)


def _fits(table: Table, plan: Plan) -> bool:
    owner.check(table, plan)
    return True


def summary(plan: Plan | None) -> str:
    """Return what a folded step shows, in one line."""
    tables = published(visit().entries)
    names = _in_short(tables)
    if plan is None:
        return names or _("nothing chosen yet")
    cells = sum(plan.cells(table) for table in plan.marginals)
    return f"{names} · " + plural("{n} cell", "{n} cells", cells)


def _in_short(tables: Sequence[PublishedTable]) -> str:
    """Name the first tables; say only once that each of them counts persons once."""
    once = len(tables) > 1 and all(table.distinct and table.cells_per_person == 1 for table in tables)
    shown = map(counting_rows, tables) if once else tables
    names = some_of((plain_name(named(table)) for table in shown), MAX_NAMED, "; ")
    return f"{names} · {in_words(PERSONS)}" if once else names


def all_tables() -> str | None:
    """Return all tables, one on each line; `summary` names only some."""
    entries, tables = visit().entries, published(visit().entries)
    if len(tables) <= MAX_NAMED:
        return None
    return entries.once(f"named-{language()}", lambda: "\n".join(f"- {plain(named(table))}" for table in tables))
