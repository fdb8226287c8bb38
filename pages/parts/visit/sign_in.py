"""Sign-in: the first screen with one sentence and one button, and later the account of who is signed in."""

from __future__ import annotations

import streamlit as st
from streamlit import runtime

from dpengine.translation.catalogue import _
from pages.parts.access import settings
from pages.parts.access.accounts import Account, May, accounts_of
from pages.parts.access.person import person
from pages.parts.access.settings import NoSignIn, Oidc
from pages.parts.server import lifespan, request_guard, session_resources
from pages.parts.shared.wording import plain
from pages.parts.visit.state import change_account, visit

__all__ = ["approves", "is_admitted", "show_account", "show_sign_in"]


def is_admitted() -> bool:
    """Whether the visitor is signed in and has an account."""
    who = person()
    return who is not None and bool(accounts_of(who))


def approves() -> bool:
    """Whether the visitor, in the current account, may decide on plans that others have sent for approval."""
    return May.APPROVE in visit().account.may


def show_sign_in() -> None:
    """Show how to sign in, or why the visitor who is signed in may not enter."""
    who = person()
    with st.container(key="sign-in-page", horizontal_alignment="center"):
        st.title("Private Release", anchor=False)
        if who is None:
            st.markdown(_("Publish tables about people without exposing anyone."))
            st.button(_("Sign in"), type="primary", icon=":material/login:", key="sign-in", on_click=st.login)
            return
        if who.name:
            st.markdown(_("You are signed in as **{name}**, and are in no group here yet.", name=plain(who.name)))
        else:
            claim = getattr(settings.access().sign_in, "claim", "name")
            st.markdown(
                _("You are signed in, but your sign-in service does not confirm your {claim}.", claim=plain(claim))
            )
        st.caption(_("Ask whoever runs this server."))
        _offer_sign_out()


def show_account() -> None:
    """Show who is signed in, a choice among their groups, and sign-out; show nothing on a server without sign-in."""
    who = person()
    if who is None or isinstance(settings.access().sign_in, NoSignIn):
        return
    accounts, here = accounts_of(who), visit().account
    with st.container(key="account", horizontal=True, horizontal_alignment="right"):
        name = who.name or _("Signed in")
        label = f"{plain(name)} · {plain(here.heading)}"
        with st.popover(label, icon=":material/account_circle:", type="tertiary"):
            if len(accounts) > 1:
                _ask_group(accounts, here)
            else:
                st.caption(_("Everything here belongs to {group}.", group=plain(here.heading)))
            _offer_sign_out()


def _ask_group(accounts: list[Account], here: Account) -> None:
    """Ask for another of the person's groups, and change to it."""
    titles = [plain(each.heading) for each in accounts]
    chosen = accounts[titles.index(st.radio(_("Group"), titles, index=accounts.index(here), key="group"))]
    st.caption(_("Another group has tables, budgets and releases of its own. The table at hand is closed."))
    if st.button(_("Change group"), key="change-group", disabled=chosen == here):
        change_account(chosen)
        st.rerun()


def _offer_sign_out() -> None:
    if isinstance(settings.access().sign_in, Oidc):
        st.button(_("Sign out"), icon=":material/logout:", key="sign-out", on_click=_sign_out)


def _sign_out() -> None:
    """End all sessions of this browser with all that they hold, and sign out at the provider too."""
    if lifespan.is_served():
        for session in request_guard.sessions_of_this_browser(st.context.cookies):
            runtime.get_instance().clear_user_info_for_session(session)
            session_resources.clear(session)
    st.logout()
