"""Whether the owner's rows fit what was declared: how many fall in *(other)*, or outside the bounds of an amount.

Only the owner sees it, since what is read here is not protected. It is kept in the session alone, goes with the table,
and enters no file. It reveals formats, spellings and bounds that were declared wrong, before a release spends ε on
useless counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from dpengine import PlanError, owner
from dpengine.sources.table import Table
from dpengine.spec import notation
from dpengine.spec.date_text import DATE_FORMATS
from dpengine.spec.declared import NumberFormat
from dpengine.spec.domain import Amount, Category, Column, Date, Number
from dpengine.spec.numeric.affixes import MAX_AFFIXES
from dpengine.spec.plan import Plan
from dpengine.spec.suggestions import spellings
from dpengine.spec.wording import percent
from dpengine.translation.catalogue import _, mark, some_of
from pages.parts.publish.outlook.missing_texts import offer_missing_texts
from pages.parts.server.jobs import Progress
from pages.parts.shared.wording import edge_or_day, plain, plain_name
from pages.parts.visit import background_read
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.plan import plan_form
from pages.parts.visit.state import visit

__all__ = ["show_on_request", "warn"]

# Without a request, only coarse shares are shown: there is a sentence for the first of these limits that is reached.
LIMITS = (0.95, 0.5, 0.2, 0.05)
MANY, SOME = LIMITS[2:]  # rows that do not fit, from which on their numbers are read in other ways on trial
IN_OTHER = (
    mark("**{column}**: nearly all rows fall in *(other)*. Only you see this."),
    mark("**{column}**: more than half of the rows fall in *(other)*. Only you see this."),
    mark("**{column}**: more than a fifth falls in *(other)*. Only you see this."),
    mark("**{column}**: more than one row in twenty falls in *(other)*. Only you see this."),
)
LEFT_OUT = (  # of columns without *(other)*
    mark("**{column}**: nearly all rows hold a value without a cell, and are left out of every table. Only you see "
         "this."),
    mark("**{column}**: more than half of the rows hold a value without a cell, and are left out of every table. Only "
         "you see this."),
    mark("**{column}**: more than a fifth of the rows holds a value without a cell, and is left out of every table. "
         "Only you see this."),
    mark("**{column}**: more than one row in twenty holds a value without a cell, and is left out of every table. "
         "Only you see this."),
)  # fmt: skip
UNREAD = (
    mark("**{column}**: nearly all rows hold no number as declared, and count as missing. Only you see this."),
    mark("**{column}**: more than half of the rows hold no number as declared, and count as missing. Only you see "
         "this."),
    mark("**{column}**: more than a fifth of the rows holds no number as declared, and counts as missing. Only you see "
         "this."),
    mark("**{column}**: more than one row in twenty holds no number as declared, and counts as missing. Only you see "
         "this."),
)  # fmt: skip
OUTSIDE = (
    mark("**{column}**: nearly all rows lie outside its bounds. Only you see this."),
    mark("**{column}**: more than half of the rows lie outside its bounds. Only you see this."),
    mark("**{column}**: more than a fifth of the rows lies outside its bounds. Only you see this."),
)
FORMATS: tuple[NumberFormat, ...] = ("1234.5", "1,234.5", "1.234,5")
FEW = 0.01  # share of rows: if fewer lie in the upper half of a range, the range is too wide

Shares = dict[str, float]
Better = dict[str, dict[str, Any]]  # by column, the fields of its entry that say how its values are written


def warn(plan: Plan) -> None:
    """Warn, before the button to publish, of columns whose rows do not fit, and offer a format in which they do."""
    table = visit().table
    assert table is not None
    columns, amounts = _with_other(plan.columns), _amounts(plan)
    found = [column for column in plan.columns if isinstance(column, Category) and column.share]
    names_found = {column.name for column in found}
    question = repr((columns, amounts, found))
    facts = background_read.glance(
        "misfits", lambda _progress: _misfits(table, columns, amounts, found), table, question=question
    )
    if facts is None:
        return
    shares, better, beyond = facts
    offer_missing_texts(table, columns, shares)
    for name, each in beyond.items():
        _warn_of_bounds(name, each)
    numbers, left_out = {column.name for column in columns if isinstance(column, Number)}, _without_other(plan)
    warned: set[str] = set()
    for name, share in shares.items():
        # One row in twenty may be meant as *(other)*, except of numbers. A new file may have a category more.
        in_other = IN_OTHER if name in numbers or visit().made_before else IN_OTHER[:-1]
        words = UNREAD if name in beyond else LEFT_OUT if name in left_out else in_other
        if (how_many := _coarse(words, share)) is None:
            continue
        advice = (
            _("What is possible, *Found among* in step 3, does not fit: correct it, or list the values.")
            if name in names_found
            else _advice(is_amount=name in beyond, is_number=name in numbers, how=better.get(name))
        )
        warned.add(name)
        with st.container(key=f"misfit-{name}"):
            st.warning(f"{_(how_many, column=plain_name(name))} {advice}", icon=":material/rule:")
            if name in better:
                _offer_to_read(name, better[name])
            else:
                st.button(_("Change {column} in step 3", column=plain_name(name)), key=visit().key(f"correct-{name}"),
                          on_click=_open_in_step_3, args=(name,))  # fmt: skip
    for name in better.keys() - warned:
        _ask_about_thousands(name, better[name])


def _open_in_step_3(name: str) -> None:
    st.session_state[visit().key("detail")] = name
    visit().open_step("domain")


def _ask_about_thousands(name: str, how: dict[str, Any]) -> None:
    """Ask whether a declared decimal mark groups thousands instead, which nobody would notice otherwise."""
    declared, asked = visit().entries.declared[name], f"decimals-{name}"
    if visit().recall(asked, declared):
        return
    read, meant = ("1.200", "1.2") if how["format"] == "1.234,5" else ("1,200", "1,2")
    with st.container(key=f"thousands-{name}"):
        text = _(
            "**{column}**: as declared, {read} is read as {meant}. But the numbers look as if that mark groups "
            "thousands: three digits always follow it. Only you see this.",
            column=plain_name(name), read=read, meant=meant,
        )  # fmt: skip
        st.warning(text, icon=":material/rule:")
        with st.container(horizontal=True):
            _offer_to_read(name, how)
            st.button(
                _("They are decimals"),
                key=visit().key(f"decimals-of-{name}"),
                on_click=lambda: visit().keep(asked, declared, True),
            )


def _warn_of_bounds(name: str, beyond: owner.BeyondBounds) -> None:
    """Warn if many rows lie outside the bounds of an amount."""
    how_many = _coarse(OUTSIDE, (beyond.below + beyond.above) / max(beyond.rows, 1))
    if how_many is None:
        return
    todo = _("They count as the nearer bound, which distorts averages and totals: see *Check the fit* in step 3.")
    with st.container(key=f"beyond-{name}"):
        st.warning(f"{_(how_many, column=plain_name(name))} {todo}", icon=":material/rule:")


def _advice(*, is_amount: bool, is_number: bool, how: dict[str, Any] | None) -> str:
    """Say what to do about a column whose rows do not fit; `how` is a better way to read its numbers, if there is one.

    A column is an amount, a number that is put into bins, or neither.
    """
    if how is not None and "affixes" in how:
        return _(
            "These numbers carry {texts}. Only that text is left out: 85+ is read as 85, 12 % as 12. The "
            "published plan names it.",
            texts=_listed(how),
        )
    if how is not None and (is_amount or is_number):
        return _("If this is not intended, numbers are written in another way than declared.")
    if how is not None and "format" in how:
        return _("If this is not intended, dates are written in another way than declared.")
    if how is not None:
        return _("If this is not intended, its values are written in another way than declared.")
    if not (is_amount or is_number):
        return _(
            "If this is not intended, look in step 3 for another format or spelling, or for values that the list "
            "lacks, such as new ones in a later year."
        )
    text = _(
        "A cell must hold a number alone, not 5 days, 85+ or >90. Name such texts in step 3, under *Texts "
        "beside the numbers*, and the numbers are read without them."
    )
    return text if is_amount else f"{text} " + _("Or the bins in step 3 leave out numbers that occur.")


def _coarse(words: Sequence[str], share: float) -> str | None:
    """Return a sentence with the first limit that the share of the rows reaches; None if it reaches none."""
    return next((text for least, text in zip(LIMITS, words, strict=False) if share >= least), None)


def _amounts(plan: Plan) -> list[Amount]:
    return [column for column in plan.columns if isinstance(column, Amount)]


def _offer_to_read(name: str, how: dict[str, Any]) -> None:
    """Offer to read the values of a column as `how` says; nothing is read so before its owner clicks."""
    entries = visit().entries
    column, written = plain_name(name), how.get("format", "")
    if "values" in how:
        words = _("The values of {column} are: {values}", column=column, values=some_of(how["values"]))
    elif "affixes" not in how:
        example = DATE_FORMATS[written] if entries.declared[name]["kind"] == "date" else written
        words = _("Read {column} as written like {example}", column=column, example=example)
    elif written:
        words = _("Read {column} without {texts}, and as written like {example}", column=column, texts=_listed(how),
                  example=written)  # fmt: skip
    else:
        words = _("Read {column} without {texts}", column=column, texts=_listed(how))
    st.button(
        words,
        key=visit().key(f"format-of-{name}"),
        on_click=visit().change,
        kwargs={"declared": entries.declared | {name: entries.declared[name] | how}},
    )


def _listed(how: dict[str, Any]) -> str:
    return ", ".join(_("“{text}”", text=plain(text)) for text in how["affixes"])


def _misfits(
    table: Table, columns: Sequence[Column], amounts: Sequence[Amount] = (), found: Sequence[Category] = ()
) -> tuple[Shares, Better, dict[str, owner.BeyondBounds]]:
    """Return the share of rows that do not fit, how to read columns better, if at all, and what is out of bounds.

    Such rows fall in *(other)*; those of an amount hold no number. Columns whose rows fit are read better if a mark
    that is taken for the decimal mark seems to group thousands.
    """
    beyond = owner.beyond_bounds(table, amounts)
    shares = _shares(table, columns)
    shares |= {name: rows / max(of, 1) for name, (rows, of) in owner.rows_not_findable(table, found).items()}
    shares |= {name: each.unread / max(each.rows + each.unread, 1) for name, each in beyond.items()}
    numbers = [*(column for column in columns if isinstance(column, Number)), *map(owner.around_bounds, amounts)]
    grouped = owner.thousands_found(table, numbers)
    better: Better = {name: {"format": written} for name, written in grouped.items()}
    better |= _read_better(table, numbers, shares, grouped)
    better |= _dates_read_better(table, columns, shares) | _values_read_better(table, columns, shares)
    return shares, better, beyond


def _dates_read_better(table: Table, columns: Sequence[Column], shares: Shares) -> Better:
    """Return, by column, the format of its first dates if with it at most half as many rows do not fit."""
    doubtful = {c.name: c for c in columns if isinstance(c, Date) and shares[c.name] >= MANY}
    found = owner.date_formats_found(table, doubtful) if doubtful else {}
    tried = [doubtful[name].model_copy(update={"format": pattern or None}) for name, pattern in found.items()]
    after = _shares(table, tried)
    return {c.name: {"format": c.format or ""} for c in tried if after[c.name] < shares[c.name] / 2}


def _values_read_better(table: Table, columns: Sequence[Column], shares: Shares) -> Better:
    """Return, by column, the usual list of values for its name with which the fewest rows do not fit.

    The lists are public; which one fits says no more than how the column is written.
    """
    doubtful = [c for c in columns if isinstance(c, Category) and not c.levels and shares[c.name] >= MANY]
    least = {column.name: shares[column.name] / 2 for column in doubtful}
    better: Better = {}
    for column in doubtful:
        for way in spellings(column.name):
            how = {"values": notation.read(way, "category")["values"], "source": "standard"}
            share = _shares(table, [column.model_copy(update={"values": tuple(how["values"]), "codebook": None})])
            if share[column.name] < least[column.name]:
                better[column.name], least[column.name] = how, share[column.name]
    return better


def _read_better(
    table: Table, columns: Sequence[Number], shares: Shares, grouped: Mapping[str, NumberFormat]
) -> Better:
    """Return, by column, the best way to read its numbers if with it at most half as many rows do not fit.

    Of columns in `grouped`, that is their format.
    """
    doubtful = [column for column in columns if shares[column.name] >= SOME]
    beside = owner.affixes_found(table, [column.name for column in doubtful]) if doubtful else {}
    least = {column.name: shares[column.name] / 2 for column in doubtful}
    ways = {c.name: [*_ways_to_read(c, shares[c.name], beside.get(c.name), grouped.get(c.name))] for c in doubtful}
    better: Better = {}
    for k in range(max(map(len, ways.values()), default=0)):  # each scan of the table tries a way of every column
        tried = [c.model_copy(update=ways[c.name][k]) for c in doubtful if k < len(ways[c.name])]
        for name, share in _shares(table, tried).items():
            if share < least[name]:
                better[name], least[name] = ways[name][k], share
    return better


def _ways_to_read(
    column: Number, share: float, texts: Sequence[str] | None, grouped: NumberFormat | None
) -> Iterator[dict[str, Any]]:
    """Yield the ways to read a column of which this share does not fit: in other formats, and then without `texts`."""
    formats = FORMATS if grouped is None else (grouped,)
    if share >= MANY:
        yield from ({"format": written} for written in formats)
    if texts is not None:
        affixes = list(dict.fromkeys([*column.affixes, *texts]))[:MAX_AFFIXES]
        for written in formats:
            yield ({} if column.format == written else {"format": written}) | {"affixes": affixes}


def _shares(table: Table, columns: Sequence[Column], progress: Progress | None = None) -> Shares:
    if not columns:
        return {}
    counts = owner.rows_by_cell(table, columns, None if progress is None else partial(progress, "counting"))
    return {c.name: int(counts[c.name][c.other_code]) / max(int(counts[c.name].sum()), 1) for c in columns}


def _without_other(plan: Plan) -> set[str]:
    """Return the columns whose rows are left out of every table if they hold a value that is not declared."""
    return {column.name for column in plan.columns if not column.other}


def _with_other(columns: Sequence[Column]) -> list[Column]:
    """Return the columns with a cell *(other)*, except amounts and those whose values only the release finds."""
    cells = {"other": True, "missing": True}
    counted = (c for c in columns if not isinstance(c, Amount) and (isinstance(c, Number) or not c.share))
    return [column.model_copy(update=cells) for column in counted]


def show_on_request(used: list[str]) -> None:
    """Show the owner, on request, how much of the data falls outside the declared cells; this is not kept."""
    box = st.popover(_("Check the fit"), icon=":material/fact_check:", key=visit().key("fit"), on_change="rerun")
    if not box.open:
        return
    with box:
        st.markdown(
            _(
                "This reads your real rows and shows, **to you alone**, how many of them fall outside what you "
                "declared. So you notice dates read in the wrong format. The result is not protected; it is not kept, "
                "and enters no file. Use it to correct formats and spellings, not to extend the list of values."
            )
        )
        entries, table = visit().entries, visit().table
        assert table is not None
        alone = entries.with_(chosen=tuple(used), layout="single", several_rows=False, epsilon="1", dataset="fit")
        try:
            plan = plan_form.to_plan(alone)
        except PlanError as error:
            st.caption(all_faults(error, used))
            return
        columns, amounts = _with_other(plan.columns), _amounts(plan)
        clicked = st.button(_("Look at my real data"), key=visit().key("fit-look"))
        if not clicked and background_read.job_for("fit", plan.key) is None:
            return
        facts = background_read.read("fit", partial(_looked_at, table, columns, amounts), table, question=plan.key)
        if facts is None:
            return
        shares, beyond = facts
        background_read.drop("fit")  # the result is not kept
        left_out = _without_other(plan)
        for name, share in shares.items():
            named = {"column": plain_name(name), "share": percent(share)}
            if name in left_out:
                text = _("**{column}**: {share} of the rows hold a value without a cell, and are left out", **named)
            else:
                text = _("**{column}**: {share} of the rows fall in *(other)*", **named)
            st.markdown(text)
        for amount in amounts:
            _say_beyond(amount, beyond[amount.name])


def _looked_at(
    table: Table, columns: Sequence[Column], amounts: Sequence[Amount], progress: Progress
) -> tuple[Shares, dict[str, owner.BeyondBounds]]:
    beyond = owner.beyond_bounds(table, amounts)
    return _shares(table, columns, progress), beyond


def _say_beyond(amount: Amount, beyond: owner.BeyondBounds) -> None:
    """Say how many rows lie outside the bounds of an amount, and whether its range is much wider than they need."""
    rows = max(beyond.rows, 1)
    low, high = plain(edge_or_day(f"{amount.low:f}")), plain(edge_or_day(f"{amount.high:f}"))
    st.markdown(
        _(
            "**{column}**: {below} of the rows lie below {low}, {above} above {high}. They count as that bound. "
            "Readers see the bounds alone.",
            column=plain_name(amount.name),
            below=percent(beyond.below / rows),
            low=low,
            above=percent(beyond.above / rows),
            high=high,
        )
    )
    if beyond.unread:
        share = percent(beyond.unread / (beyond.rows + beyond.unread))
        st.markdown(_("{share} hold no number as declared, and count as missing.", share=share))
    if beyond.upper <= FEW * rows and amount.upper is None:
        st.caption(
            _(
                "Almost no rows lie in the upper half of the range. With half the range, averages are about twice as "
                "exact. Bounds are published: narrow them only if public knowledge allows it."
            )
        )
