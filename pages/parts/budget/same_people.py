"""Other datasets with the same data: how they were recognised, and what their owner stated about their people."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.accounting.entry import Entry, Resemblance
from dpengine.accounting.ledger import Ledger
from dpengine.exact import exactly
from dpengine.spec.wording import certainty
from dpengine.translation.catalogue import _, day, number, plural
from pages.parts.shared.wording import plain
from pages.parts.visit.same_people import alike_in_words

__all__ = ["show_other_names"]


def show_other_names(ledger: Ledger, dataset: str, history: list[Entry], every: list[Entry]) -> None:
    """Name other datasets under which the same data was published, how it was recognised, and what its owner stated."""
    others = sorted({entry.dataset for entry in history} - {dataset})
    if others:
        names = ", ".join(f"**{plain(name)}**" for name in others)
        st.info(
            _(
                "The same data was also published as {names}. These names share one account, since the people are the "
                "same: what one spends counts for all, and the smallest of their caps holds.",
                names=names,
            ),
            icon=":material/link:",
        )
    ids = {entry.release_id for entry in history}
    recognised = [
        (entry, each) for entry in every for each in entry.recognised if ids & {entry.release_id, each.release_id}
    ]
    _warn_of_statements(ledger, dataset, ids, [(entry, each) for entry, each in recognised if each.other_people])
    if recognised:
        label = _("Tables recognised by their rows ({n})", n=number(len(recognised)))
        with st.expander(label, icon=":material/group:"):
            st.markdown("\n".join(f"- {_in_words(entry, each)}" for entry, each in recognised))


def _warn_of_statements(ledger: Ledger, dataset: str, ids: set[str], stated: list[tuple[Entry, Resemblance]]) -> None:
    """Say what follows if the owner's statement that tables are of other people turns out to be wrong."""
    far = [
        replace(each, release_id=entry.release_id, dataset=entry.dataset) if each.release_id in ids else each
        for entry, each in stated
    ]
    elsewhere = {each.dataset: each for each in far if each.release_id not in ids}
    if not elsewhere:
        return
    tables = ", ".join(f"**{plain(name)}** ({alike_in_words(each)})" for name, each in elsewhere.items())
    together = ledger.spent(dataset, alike=list(elsewhere.values()))
    st.warning(
        plural(
            "A table that looks like this one was stated to be of other people: {tables}. The account below does not "
            "count what was spent there. If the people are the same, ε = {together} was spent on them in all, and "
            "someone who is 50 % sure that a person is in this data can become {belief}.",
            "Tables that look like this one were stated to be of other people: {tables}. The account below does not "
            "count what was spent there. If the people are the same, ε = {together} was spent on them in all, and "
            "someone who is 50 % sure that a person is in this data can become {belief}.",
            len(elsewhere),
            tables=tables,
            together=exactly(together),
            belief=certainty(posterior(0.5, together)),
        ),
        icon=":material/group:",
    )


def _in_words(entry: Entry, like: Resemblance) -> str:
    rows = _("its rows and those of **{other}** are {alike}", other=plain(like.dataset), alike=alike_in_words(like))
    statement = (
        _("stated to be other people: no shared account") if like.other_people else _("the same people: one account")
    )
    return f"{day(entry.created[:10])}, **{plain(entry.dataset)}**: {rows}; {statement}."
