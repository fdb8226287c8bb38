"""Verify page: whether a release file is complete and consistent, which key signed it, and what it promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine.accounting.composition import posterior
from dpengine.bundle.isolated import examine_apart
from dpengine.bundle.promises import purpose_in_words
from dpengine.bundle.signature import MEANING, read_key
from dpengine.bundle.verify import PROSE, Verified
from dpengine.bundle.workbook import fitting, workbook
from dpengine.charts.style import join_names
from dpengine.errors import ReleaseError
from dpengine.exact import rational
from dpengine.export import Published, of_verified
from dpengine.translation.catalogue import _, language, localised, mark
from pages.parts.shared.code.show import show_code
from pages.parts.shared.demo import file_box, is_demo
from pages.parts.shared.glossary.help import term
from pages.parts.shared.made_on_click import OCTETS, offer_file
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import bound, exactly, name_of, people, plain, sure
from pages.parts.verify.comparison import offer_comparison
from pages.parts.visit.state import require_entry

READABLE = 680
MAX_SHOWN = 20_000  # cells of a table whose numbers are shown
MEASURED = {  # headings of the list of measurements, by their names in a manifest
    "table": mark("table"),
    "epsilon": mark("epsilon"),
    "mechanism": mark("mechanism"),
    "sensitivity": mark("sensitivity"),
    "scale": mark("scale"),
    "cells": mark("cells"),
    "purpose": mark("purpose"),
    "cells_per_person": mark("cells per person"),
}


def promise(promised: dict[str, Any]) -> None:
    """Show in plain words what the release promises."""
    guarantee = promised["guarantee"]
    epsilon = rational(guarantee["epsilon"])
    st.header(_("What it promises"), help=term("differential-privacy"))
    st.markdown(
        _(
            "**ε = {epsilon}**: someone who is 50 % sure that a person is in the table can become {belief} by seeing "
            "these files, whatever else they know.",
            epsilon=exactly(epsilon),
            belief=sure(posterior(0.5, epsilon)),
        )
    )
    facts = {
        _("Whom it protects"): guarantee["unit"]["text"],
        _("Neighbouring tables"): guarantee["neighbours"],
        _("Who must be trusted"): guarantee["trust_model"],
        _("Technical term"): f"{guarantee['definition']}, δ = {guarantee['delta']}",
    }
    st.markdown("\n".join(f"- **{name}**: {plain(text)}" for name, text in facts.items()))
    st.markdown(_("**What it does not protect**"))
    st.markdown(_bullets(promised["not_protected"]))


def contents(
    manifest: dict[str, Any], headings: Mapping[str, str], promised: Mapping[str, Any], content: bytes
) -> None:
    """Show what the bundle contains, and how it was measured; tables are called by their `headings`."""
    st.header(_("What it contains"), help=term("bundle"))
    tables = [
        {
            "table": headings[name_of(tuple(each["columns"]))],
            "cells": each["cells"],
            "within": people(each["half_width_95"]),
        }
        for each in manifest["tables"]
    ]
    text = st.column_config.TextColumn
    columns = {
        "table": text(_("table")),
        "cells": st.column_config.NumberColumn(_("cells"), format="%,d"),
        "within": text(_("95 in 100 counts within ±"), alignment="right"),
    }
    show_numbers(pd.DataFrame(tables), columns, alt=_("Published tables and their error"))
    numbers(manifest, headings, content)
    offer_workbook(of_verified(manifest, content))
    offer_comparison(of_verified(manifest, content), headings, checked, MAX_SHOWN)
    with st.expander(_("What was measured, at what price"), icon=":material/straighten:"):
        measured = [_measured(each, headings) for each in manifest["measurements"]]
        named = {key: text(_(name)) for key, name in MEASURED.items()}
        alt = _("Measurements with their noise and their part of ε")
        st.dataframe(measured, hide_index=True, column_config=named, alt=alt)
        st.markdown(_bullets(promised["post_processing"]))
    with st.expander(_("Files and their SHA-256"), icon=":material/folder_zip:"):
        listed = [{"file": name, "SHA-256": facts["sha256"]} for name, facts in sorted(manifest["files"].items())]
        st.dataframe(listed, hide_index=True, column_config={"file": text(_("file"))})


def numbers(manifest: dict[str, Any], headings: Mapping[str, str], content: bytes) -> None:
    """Show the numbers of one table, once it is chosen."""
    tables = [(*each["columns"],) for each in manifest["tables"] if each["cells"] <= MAX_SHOWN]
    table = st.selectbox(
        _("Look at a table"),
        tables,
        index=None,
        format_func=lambda each: headings[name_of(each)],
        placeholder=_("choose a table to see its numbers"),
        key=f"verify_table_{manifest['release_id']}",
        help=_("Larger tables are in the file, for a spreadsheet or a program."),
    )
    if table is None:
        return
    # with the drawing, which takes a while
    from pages.parts.release.chart import counts_or_percentages, in_readers_words, number_columns

    release = of_verified(manifest, content)
    frame = in_readers_words(release.tables[table].round({"estimate": 1}), release.plan, table)
    frame, columns = counts_or_percentages(release, table, frame, number_columns(), key="verify-as")
    show_numbers(frame, columns, alt=_("The numbers of {table}", table=headings[name_of(table)]))


def offer_workbook(release: Published) -> None:
    """Offer all tables as a workbook, in the reader's language."""
    if fitting(release.plan) == [()]:
        return
    release_id = release.manifest["release_id"]
    name = f"tables-{release_id[:8]}.xlsx"
    offer_file(
        _("All tables for a spreadsheet"), lambda: workbook(release, release_id), name, OCTETS,
        icon=":material/table_view:", key="verify_workbook",
    )  # fmt: skip


def _measured(entry: Mapping[str, Any], headings: Mapping[str, str]) -> dict[str, Any]:
    """Return a measurement for readers: its table by its heading, its fractions with their decimal value."""
    exact = {key: localised(f"{float(Fraction(entry[key])):.4g} ({entry[key]})" if "/" in entry[key] else entry[key])
             for key in ("epsilon", "scale")}  # fmt: skip
    words = {key: write(entry[key]) for key, write in (("mechanism", _), ("purpose", purpose_in_words)) if key in entry}
    table = headings[name_of(tuple(entry["columns"]))]
    return {"table": table} | {key: value for key, value in entry.items() if key != "columns"} | words | exact


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines)


def checked(file: UploadedFile, kept_as: str = "verify_outcome") -> Verified | ReleaseError:
    """Return the result of verifying a file or what is wrong with it; each file is verified once, not at each rerun."""
    key = file.file_id, language()
    known: tuple[tuple[str, str], Verified | ReleaseError] | None = st.session_state.get(kept_as)
    if known is not None and known[0] == key:
        return known[1]
    outcome: Verified | ReleaseError
    try:
        outcome = examine_apart(file.getvalue())
    except ReleaseError as refused:
        outcome = refused
    st.session_state[kept_as] = (key, outcome)
    return outcome


def ask_for_key() -> tuple[str | None, bool]:
    """Ask for the publisher's key; return its fingerprint or None, and whether the typed text is no key."""
    text = st.text_area(
        _("The publisher's key, if you know it"),
        key="verify_key",
        placeholder=_("for example 3f2a-91c0-…"),
        height=68,
        help=term(
            "signature",
            _(
                "Its fingerprint or its text, from the publisher's own site or letter. Then a file that is unsigned, "
                "or signed by another key, is refused."
            ),
        ),
    )
    if not text.strip():
        return None, False
    try:
        return read_key(text), False
    except ReleaseError as refused:
        st.warning(plain(f"{str(refused)[:1].upper()}{str(refused)[1:]}."), icon=":material/edit:")
        return None, True


def examine(outcome: Verified | ReleaseError, name: str, content: bytes, expected: str | None, unread: bool) -> None:
    """Show what a release file promises and holds, or why it is refused."""
    if isinstance(outcome, ReleaseError):
        with st.container(border=True):
            st.markdown(_(":material/rule: **{name} is not a complete release.**", name=plain(name)))
            st.markdown(_bullets(map(str, outcome.faults)))
            st.markdown(_("Get the file again from its source, and do not rely on the numbers in this one."))
        return
    manifest, signer, headings, promised = outcome
    if expected is not None and signer != expected:
        with st.container(border=True):
            st.markdown(
                _(":material/gpp_bad: **{name} is not signed.**", name=plain(name))
                if signer is None
                else _(
                    ":material/gpp_bad: **{name} is signed by another key, `{signer}`.**",
                    name=plain(name),
                    signer=signer,
                )
            )
            st.markdown(
                _(
                    "It was to be signed by the key `{expected}`. So it is not what the holder of that key published, "
                    "or its signature was taken away. Get the file again from its source.",
                    expected=expected,
                )
            )
        return
    with st.container(border=True):
        st.markdown(
            _(
                ":material/key_off: **{name} is complete and consistent, but the key that you typed was not checked: "
                "it cannot be read.**",
                name=plain(name),
            )
            if unread
            else _(":material/task_alt: **{name} is complete and consistent.**", name=plain(name))
        )
        st.markdown(
            _(
                "Every file is there and matches its checksum; the tables agree with each other and with the "
                "synthetic rows. The text in {files} is not compared with the numbers.",
                files=join_names(PROSE),
            )
        )
        st.markdown(_signature(signer, expected))
        st.caption(
            " · ".join(
                [
                    *([plain(manifest["title"])] if manifest["title"] else []),
                    _("dataset {name}", name=plain(manifest["dataset"])),
                    _("published on {day}", day=bound(manifest["created"][:10])),
                    _("release {id}", id=manifest["release_id"]),
                ]
            )
        )
    promise(promised)
    contents(manifest, headings, promised, content)


def _signature(signer: str | None, expected: str | None) -> str:
    """Say whether the file is signed, and what follows from that."""
    if signer is None:
        return _(
            ":material/draft: **Not signed.** An earlier version made this file, or its signature was taken away; "
            "nothing shows who made it, or whether it was changed with care. Get it from a source that you trust."
        )
    signed = (
        _(":material/verified: **Signed by the key that you expect**, `{signer}`.", signer=signer)
        if signer == expected
        else _(":material/key: **Signed by the key `{signer}`**, which was not compared with another.", signer=signer)
    )
    return f"{signed} {_(MEANING)}"


require_entry()
with st.container(horizontal_alignment="center"), st.container(width=READABLE):
    st.title(_("Verify"))
    st.markdown(
        _(
            "See whether a release file is complete and consistent, who signed it, and what it promises to the people "
            "in it."
        )
    )
    bundle = file_box(
        _("Release file"),
        type="zip",
        key="verify_file",
        help=_("The zip file that Publish gives under “Download everything”."),
    )
    wanted, unreadable = None, False
    if not is_demo():
        st.caption(_("The file is read here and not kept. It goes nowhere else, and nothing is spent."))
        wanted, unreadable = ask_for_key()
    if bundle is not None:
        examine(checked(bundle), bundle.name, bundle.getvalue(), wanted, unreadable)
    show_code("verify", lambda: {"bundle": "release.zip" if bundle is None else bundle.name, "key": wanted})
