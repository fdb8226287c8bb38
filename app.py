"""The entry. A server imports it for its routes; each visit runs it for the page settings and the navigation."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

LOOK = Path(__file__).parent / "pages" / "parts" / "shared"


def main() -> None:
    """Draw the page that the visitor has chosen."""
    from dpengine.translation.catalogue import _, speaking
    from pages.parts.access.person import person
    from pages.parts.server import lifespan
    from pages.parts.shared import demo, language
    from pages.parts.visit import background_read, samples, sign_in, tour

    st.set_page_config(page_title="Private Release", page_icon=LOOK / "logo.svg", layout="wide")

    language.speak_the_visitors()
    admitted = sign_in.is_admitted()
    st.logo(LOOK / "logo.svg", size="large")
    st.html(LOOK / "look.css")

    approval = st.Page("pages/approval.py", title=_("Approval"), icon=":material/how_to_reg:", url_path="approval")
    page = st.navigation(
        {
            "": [
                st.Page(
                    "pages/publish.py", title=_("Publish"), icon=":material/publish:", url_path="publish", default=True
                ),
                st.Page("pages/accuracy.py", title=_("Accuracy"), icon=":material/show_chart:", url_path="accuracy"),
                st.Page(
                    "pages/budget.py", title=_("Budget"), icon=":material/account_balance_wallet:", url_path="budget"
                ),
                st.Page("pages/ask.py", title=_("Ask"), icon=":material/contact_support:", url_path="ask"),
                st.Page("pages/verify.py", title=_("Verify"), icon=":material/verified:", url_path="verify"),
                *([approval] if admitted and sign_in.approves() else []),
                st.Page("pages/glossary.py", title=_("Glossary"), icon=":material/dictionary:", url_path="glossary"),
            ],
            _("Labs"): [
                st.Page(
                    "pages/labs/definition.py",
                    title=_("Definition"),
                    icon=":material/balance:",
                    url_path="definition",
                ),
                st.Page("pages/labs/attacks.py", title=_("Attacks"), icon=":material/swords:", url_path="attacks"),
                st.Page("pages/labs/risk.py", title=_("Risk"), icon=":material/group_search:", url_path="risk"),
                st.Page("pages/labs/survey.py", title=_("Survey"), icon=":material/ballot:", url_path="survey"),
                st.Page("pages/labs/choose.py", title=_("Choose"), icon=":material/how_to_vote:", url_path="choose"),
                st.Page("pages/labs/learn.py", title=_("Learn"), icon=":material/school:", url_path="learn"),
            ],
        },
        position="top" if admitted else "hidden",
    )
    if lifespan.is_served():
        from pages.parts.server.request_guard import claim_session
        from pages.parts.visit import focus, tab_storage  # their components need a running server

        claim_session(st.context.cookies, person())
        if not admitted:
            tab_storage.forget()
    language.show_choice(background_read.drop_all)
    if not admitted:
        sign_in.show_door()
        return
    if lifespan.is_served():
        tab_storage.recall()
    sign_in.show_corner()
    demo.show_banner(short=tour.is_under_way())
    samples.bring_sample()
    tour.show(page.url_path)
    spoken = language.spoken_on(page.url_path)
    with speaking(spoken):
        page.run()
    if lifespan.is_served():
        focus.follow(page.url_path)
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
