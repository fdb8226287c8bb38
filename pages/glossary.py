"""Glossary: what the words on the pages mean, and which page or lab shows what."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from dpengine.translation.catalogue import _, plural
from pages.parts.shared.glossary.help import GLOSSARY
from pages.parts.shared.glossary.places import PLACES
from pages.parts.shared.glossary.search import alphabetical, search
from pages.parts.shared.wording import plain
from pages.parts.visit.state import require_entry, visit

READABLE = 760  # pixels: the width of a column of text
LONGEST = 200  # letters of a search
SEARCH = "glossary_search"
HERE = "pages/glossary.py"


@st.fragment
def look_up() -> None:
    """Show the search, the term that the address names, and what was found; typing redraws only these."""
    text = st.text_input(
        _("Search terms and pages"),
        key=SEARCH,
        type="search",
        placeholder=_("such as interval, anonymous or average"),
        live=True,
        on_change=_close,
    )
    opened = st.query_params.get("term", "")
    if opened in GLOSSARY:
        _show_opened(opened)
    if text and text.strip():
        _show_found(text.strip()[:LONGEST], opened)
    else:
        _list_terms(sorted(GLOSSARY, key=lambda key: alphabetical(_(GLOSSARY[key].name))), opened)
        _list_places(PLACES)


def _close() -> None:
    """Close the open term, because a new search begins."""
    st.query_params.pop("term", None)


def _show_opened(key: str) -> None:
    """Show one term in full."""
    with st.container(border=True, key=f"term-{key}"):
        st.header(_(GLOSSARY[key].name), anchor=False)
        st.markdown(f"**{_(GLOSSARY[key].meaning)}**")
        _show_rest(key)


def _show_rest(key: str) -> None:
    """Show the example of a term, the pages where it matters, and related terms."""
    term = GLOSSARY[key]
    st.markdown(_(term.example))
    st.caption(_("Where it matters"))
    with st.container(horizontal=True):
        for place in term.places:
            st.page_link(PLACES[place].file, label=_(PLACES[place].title), icon=PLACES[place].icon)
    st.caption(_("See also"))
    with st.container(horizontal=True):
        for other in term.see:
            st.page_link(HERE, label=_(GLOSSARY[other].name), query_params={"term": other})


def _show_found(text: str, opened: str) -> None:
    """Show the terms and pages that a search finds, or say that there are none and how to go on."""
    results = search(text)
    if not results.terms and not results.places:
        st.markdown(
            _("Nothing here mentions “{text}”. Try another word for it, or look through all terms.", text=plain(text))
        )
        st.button(_("Show all terms"), icon=":material/list:", on_click=_clear)
        return
    if not results.whole:
        st.caption(_("No entry has all of these words. These have some of them."))
    _list_terms(results.terms, opened)
    _list_places(results.places)


def _clear() -> None:
    st.session_state[SEARCH] = ""


def _list_terms(keys: Iterable[str], opened: str) -> None:
    """List terms with what they mean, the rest folded; a single one is shown in full."""
    rest = [key for key in keys if key != opened]
    if len(rest) == 1 and not opened:
        _show_opened(rest[0])
        return
    if rest:
        st.caption(plural("{n} term", "{n} terms", len(rest)))
    with st.container(gap=None):
        for key in rest:
            name, meaning = _(GLOSSARY[key].name), _(GLOSSARY[key].meaning)
            with st.expander(f"**{name}** · {meaning}", key=f"word-{key}", type="compact", on_change="rerun") as box:
                if box.open:
                    _show_rest(key)


def _list_places(keys: Iterable[str]) -> None:
    """List pages with their subjects."""
    if not (places := [PLACES[key] for key in keys]):
        return
    st.header(_("Pages and labs"), anchor=False)
    for place in places:
        with st.container(gap=None):
            st.page_link(place.file, label=f"**{_(place.title)}**", icon=place.icon)
            st.caption(_(place.subject))


require_entry()
with st.container(horizontal_alignment="center"), st.container(width=READABLE):
    st.title(_("Glossary"), anchor=False)
    st.markdown(_("What the words on these pages mean, each with an example in numbers, and where to see it at work."))
    if (wanted := st.query_params.get("term", "")) in GLOSSARY:
        visit().focus = f"term-{wanted}", False  # moves the focus of keyboards and screen readers to the term
        st.query_params["term"] = wanted  # a link to this page itself would not change the address
    look_up()
