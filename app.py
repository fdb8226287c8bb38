"""The entry of the page: a server imports this file for its routes, and each visit runs it to draw the chosen page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage

SHARED = Path(__file__).parent / "pages" / "parts" / "shared"


def main() -> None:
    """Draw the page that the visitor has chosen."""
    from pages.parts.access.person import person
    from pages.parts.server import lifespan
    from pages.parts.shared import language
    from pages.parts.visit import background_read, sign_in

    st.set_page_config(page_title="Private Release", page_icon=SHARED / "logo.svg", layout="wide")

    language.use_visitors_language()
    admitted = sign_in.is_admitted()
    st.logo(SHARED / "logo.svg", size="large")
    st.html(SHARED / "look.css")

    page = st.navigation(_menu(approval=admitted and sign_in.approves()), position="top" if admitted else "hidden")
    if lifespan.is_served():
        from pages.parts.server.request_guard import claim_session
        from pages.parts.visit import tab_storage  # its component needs a running server

        claim_session(st.context.cookies, person())
        if not admitted:
            tab_storage.forget()
    language.show_choice(background_read.drop_all)
    if admitted:
        _run(page)
    else:
        sign_in.show_sign_in()


def _menu(*, approval: bool) -> dict[str, list[StreamlitPage]]:
    """Return the pages by section; the page of approvals is for those who approve."""
    from dpengine.translation.catalogue import _

    def page(name: str, title: str, icon: str, folder: str = "pages", *, first: bool = False) -> StreamlitPage:
        return st.Page(f"{folder}/{name}.py", title=title, icon=f":material/{icon}:", url_path=name, default=first)

    labs = "pages/labs"
    return {
        "": [
            page("publish", _("Publish"), "publish", first=True),
            page("accuracy", _("Accuracy"), "show_chart"),
            page("budget", _("Budget"), "account_balance_wallet"),
            page("ask", _("Ask"), "contact_support"),
            page("verify", _("Verify"), "verified"),
            *([page("approval", _("Approval"), "how_to_reg")] if approval else []),
            page("glossary", _("Glossary"), "dictionary"),
        ],
        _("Labs"): [
            page("definition", _("Definition"), "balance", labs),
            page("attacks", _("Attacks"), "swords", labs),
            page("risk", _("Risk"), "group_search", labs),
            page("survey", _("Survey"), "ballot", labs),
            page("choose", _("Choose"), "how_to_vote", labs),
            page("learn", _("Learn"), "school", labs),
        ],
    }


def _run(page: StreamlitPage) -> None:
    """Draw a page below what stands above every page, and tell the visitor's tab which page it is."""
    from dpengine.translation.catalogue import speaking
    from pages.parts.server import lifespan
    from pages.parts.shared import demo, language
    from pages.parts.visit import samples, sign_in, tour

    if lifespan.is_served():
        from pages.parts.visit import page_script, tab_storage  # their components need a running server

        tab_storage.recall()
    sign_in.show_account()
    demo.show_banner(short=tour.is_under_way())
    samples.bring_sample()
    tour.show(page.url_path)
    spoken = language.chosen()
    with speaking(spoken):  # otherwise each text would look up the language in the session
        page.run()
    if lifespan.is_served():
        page_script.run(page.url_path)
        tab_storage.remember(spoken)


if __name__ == "__main__":  # Streamlit runs the script of a visit under this name
    main()
else:
    import sys

    from starlette.middleware import Middleware
    from streamlit.runtime.pages_manager import PagesManager

    from dpengine import SettingsError
    from pages.parts.access import settings
    from pages.parts.server import front_end, health_route, lifespan, request_guard, tab_route, upload_route

    try:
        settings.check_start()
    except (settings.AccessError, SettingsError) as refusal:
        sys.exit("\n".join(f"private-release: {fault}" for fault in refusal.faults))
    # Until a visit has run this file, Streamlit would know only the files that lie directly in `pages`: a first visitor
    # who follows a link to a lab would read that there is no such page.
    PagesManager.uses_pages_directory = False
    routes = [*upload_route.routes(), *tab_route.routes(), *health_route.routes()]
    app = st.App(
        __file__,
        routes=routes,
        middleware=[Middleware(request_guard.RequestGuard), Middleware(front_end.FrontEnd)],
        exception_handlers={Exception: request_guard.failure},
        lifespan=lifespan.lifespan,
    )
