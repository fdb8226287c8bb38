"""A finished release: chart, numbers as a table, downloads, and the owner's private view."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from functools import partial

import streamlit as st

from dpengine import LedgerError, replicates
from dpengine.accounting.composition import posterior
from dpengine.bundle.guide import model_errors
from dpengine.bundle.promises import file_names
from dpengine.bundle.workbook import tables_that_fit, workbook
from dpengine.exact import exactly
from dpengine.release import Release
from dpengine.results.published_columns import measures
from dpengine.spec.counted_wording import counted_noun, rows_counted
from dpengine.spec.domain import Amount
from dpengine.spec.plan import Plan
from dpengine.spec.wording import capitalised, certainty, heading_of
from dpengine.translation.catalogue import _, day, number
from pages.parts.release import chart
from pages.parts.release.owner_view import show_truth
from pages.parts.release.percentages import offer_percentages
from pages.parts.release.quote import offer_quotation
from pages.parts.release.synthetic_rows import show_rows
from pages.parts.shared.glossary.help import term
from pages.parts.shared.made_on_click import OCTETS, offer_file
from pages.parts.shared.wording import edge_or_day, plain
from pages.parts.visit.state import visit

__all__ = ["show_release"]

REPLICATES, WORKBOOK = "replicates.zip", "tables.xlsx"
MAX_STEM = 60  # letters of a title in the name of a file


def show_release(release: Release) -> None:
    """Show the page of a finished release."""
    plan = release.plan
    st.success(
        _(
            "Published on {day} at {time} UTC. ε = {epsilon} of the budget of {dataset} is spent; looking and "
            "downloading cost nothing.",
            day=day(release.created[:10]),
            time=release.created[11:16],
            epsilon=exactly(plan.epsilon),
            dataset=plain(plan.dataset),
        )
        + _left(plan.dataset),
        icon=":material/task_alt:",
    )
    head, side = st.columns([6, 4], gap="large")
    with head:
        with st.container(key="release-title"):
            st.title(plain(plan.title) or _("Release"), anchor=False)
        with st.container(border=True):
            shown, measure = chart.figure_with_choice(release, key="release")
            offer_percentages(release, shown, release.release_id, key="release")
            offer_quotation(release, shown, release.manifest, key="release")
    with side:
        _offer_downloads(release)
        _say_what_it_says(release)
    show_rows(release)
    show_truth(release, shown, measure)
    st.button(_("Start another release"), icon=":material/add:", on_click=_leave)
    st.caption(_("For next year's table, *Project* on Publish copies this plan, with a new title and period."))


def _left(dataset: str) -> str:
    """Say what the cap of a dataset leaves of its budget; "" without a cap."""
    with suppress(LedgerError):
        left = visit().ledger.left(dataset)
        return "" if left is None else " " + _("Under its cap, ε = {left} is left.", left=exactly(left))
    return ""


def _single_file(release: Release, name: str) -> bytes:
    if name == REPLICATES:
        return replicates.pack(release)
    if name == WORKBOOK:
        return workbook(release, release.release_id)
    with zipfile.ZipFile(io.BytesIO(release.bundle)) as bundle:
        return bundle.read(name)


def _offer_downloads(release: Release) -> None:
    """Offer the whole bundle, and then each of its files, or the replicates, by itself."""
    with st.container(border=True):
        _offer_bundle(release)
        files, workbooks = file_names(release.plan), [WORKBOOK] if tables_that_fit(release.plan) != [()] else []
        names = ["report.html", *workbooks, *(each for each in files if each != "report.html"), REPLICATES]
        name = st.selectbox(
            _("Or a single file"), names, key="single-file",
            format_func=lambda each: _("tables.xlsx, all tables for a spreadsheet") if each == WORKBOOK else each,
        )  # fmt: skip
        if name == REPLICATES and not _can_be_replicated(release):
            return
        file_name = name.split("/")[-1]
        offer_file(
            _("Download {file}", file=file_name),
            lambda: _single_file(release, name),
            file_name,
            OCTETS,
            key="single-file-download",
            icon=":material/description:",
            width="stretch",
        )


def _offer_bundle(release: Release) -> None:
    """Show the button for the whole bundle, and which key signed it."""
    name = release.plan.title or release.plan.dataset  # years of a dataset differ in their titles
    stem = "".join(c if c.isalnum() else "-" for c in name[:MAX_STEM]).strip("-").lower() or "release"
    zip_name = f"{stem}-{release.release_id[:8]}.zip"
    offer_file(
        _("Download everything"),
        lambda: release.bundle,  # it may be large
        zip_name,
        "application/zip",
        key="bundle-download",
        type="primary",
        icon=":material/download:",
        width="stretch",
        help=_("One file with the tables, synthetic rows, a report that opens offline, and the guarantee."),
    )
    if release.signed_by is not None:
        st.caption(
            ":material/verified: " + _("Signed with key `{key}`", key=release.signed_by),
            help=term(
                "signature",
                _(
                    "The key of this ledger. Give readers its fingerprint by another route, such as your own "
                    "site: then they see that the file is yours, and unchanged."
                ),
            ),
        )


def _can_be_replicated(release: Release) -> bool:
    """Explain replicates; return whether this release can have them, and say why if not."""
    st.caption(
        _(
            "All tables, drawn {draws} times with fresh errors, so that readers can give intervals for their "
            "own sums, differences and regressions. A guide is inside. They reveal nothing new and cost "
            "nothing.",
            draws=number(replicates.DRAWS),
        ),
        help=term("replicates"),
    )
    if release.plan.has_distinct:
        st.caption(_("This release counts distinct people: replicates are made of tables of rows only."))
        return False
    if not replicates.fits(release):
        st.caption(
            _(
                "This release has more than {cells} cells: too many to draw at once.",
                cells=number(replicates.MAX_CELLS),
            )
        )
        return False
    return True


def _say_what_it_says(release: Release) -> None:
    """Show the total and the numbers of all people together, what ε promises, and how to read counts."""
    total = release.tables[()].iloc[0]
    with st.container(border=True):
        st.markdown(
            _(
                "**What it says.** {count} {unit} in all (95 %: {low} to {high}). Someone who is 50 % sure that a "
                "person is in the table can become {belief}.",
                count=number(int(total["count"])),
                unit=counted_noun(release.plan),
                low=number(int(total["low"])),
                high=number(int(total["high"])),
                belief=certainty(posterior(0.5, release.plan.epsilon)),
            ),
            help=term("interval"),
        )
        if counted := rows_counted(release.plan, partial(heading_of, release.plan)):
            st.markdown(_("**What is counted.** {text}", text=plain(counted)))
        for line in _of_everybody(release):
            st.markdown(line)
        for line in _bounds_found(release.plan):
            st.markdown(line, help=term("found-bound"))
        _say_how_to_read(release)


def _say_how_to_read(release: Release) -> None:
    """Say which number to use for what, and what the intervals allow for."""
    if modelled := model_errors(release):
        st.caption(
            _(
                "Counts are those of the synthetic rows, so all tables add up; *estimate* is what the model behind "
                "them expects. Its error was measured privately: {errors}. The intervals follow from that; they "
                "are meant to contain the true count 95 times in 100.",
                errors=modelled,
            ),
            help=term("estimate"),
        )
    elif release.measured.boxes is None or release.plan.in_parts:
        st.caption(
            _(
                "Use *count* for tables that add up, and *estimate* if you add up cells yourself. Always read the "
                "interval: it contains the true count 95 times in 100. Cells marked *mostly noise* cannot be "
                "distinguished from empty ones."
            ),
            help=term("mostly-noise"),
        )
    if release.measured.boxes is not None:
        st.caption(
            _(
                "{tables}, measured for ranges: add up *count* over neighbouring cells. If a cell was measured only "
                "together with its neighbours, its true count may be anything from 0 to the sum of them all; its "
                "interval says so.",
                tables=", ".join(plain(heading_of(release.plan, table)) for table in release.plan.ranged),
            ),
            help=term("ranges"),
        )


def _of_everybody(release: Release) -> list[str]:
    """Return the means, sums and quantiles of all people together, with their intervals."""
    lines = []
    for measure in measures(release.plan, ()):
        for heading, interval in zip(
            measure.headings(release.plan), release.interval_estimates((), measure), strict=True
        ):
            value, low, high = (number(float(each), f",.{interval.digits}f") for each in interval.numbers)
            what = plain(capitalised(heading))
            lines.append(_("{what}: **{value}** (95 %: {low} to {high})", what=what, value=value, low=low, high=high))
    return lines


def _bounds_found(plan: Plan) -> list[str]:
    """Say which upper bounds of amounts were found."""
    found = (column for name in plan.found_columns if isinstance(column := plan.column(name), Amount))
    return [
        _(
            "**Upper bound of {column}.** {high}, found privately: larger values count as it.",
            column=plain(column.heading),
            high=edge_or_day(column.high),
        )
        for column in found
    ]


def _leave() -> None:
    visit().release = None
    st.query_params.clear()
