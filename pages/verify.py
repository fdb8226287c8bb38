"""Verify page: whether a release file is complete and consistent, which key signed it, and what it promises."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.bundle.signature import MEANING, read_key
from dpengine.bundle.verify import PROSE, Verified
from dpengine.charts.style import join_names
from dpengine.errors import ReleaseError
from dpengine.exact import exactly, rational
from dpengine.spec.wording import capitalised, certainty
from dpengine.translation.catalogue import _, day
from pages.parts.shared.code.show import show_code
from pages.parts.shared.demo import file_box, is_demo
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import bullets, plain
from pages.parts.verify.charge import key_of_the_ledger, show_charge
from pages.parts.verify.contents import show_contents
from pages.parts.verify.verified_file import verified
from pages.parts.visit.state import require_entry

READABLE = 680  # pixels: the width of a column of text


def show_promise(promised: dict[str, Any]) -> None:
    """Show in plain words what the release promises."""
    guarantee = promised["guarantee"]
    epsilon = rational(guarantee["epsilon"])
    st.header(_("What it promises"), help=term("differential-privacy"))
    st.markdown(
        _(
            "**ε = {epsilon}**: someone who is 50 % sure that a person is in the table can become {belief} by seeing "
            "these files, whatever else they know.",
            epsilon=exactly(epsilon),
            belief=certainty(posterior(0.5, epsilon)),
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
    st.markdown(bullets(promised["not_protected"]))


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
        st.warning(plain(f"{capitalised(str(refused))}."), icon=":material/edit:")
        return None, True


def show_outcome(
    outcome: Verified | ReleaseError, name: str, content: bytes, expected: str | None, *, unreadable_key: bool
) -> None:
    """Show what a release file promises and holds, or why it is refused.

    `expected` is the fingerprint of the publisher's key, if one was typed that could be read.
    """
    if isinstance(outcome, ReleaseError):
        show_faults(outcome, name)
        return
    manifest, signer, headings, promised = outcome
    if expected is not None and signer != expected:
        show_wrong_key(name, signer, expected)
        return
    with st.container(border=True):
        verdict = st.warning if unreadable_key else st.success  # read out as soon as it is known
        verdict(
            _(
                ":material/key_off: **{name} is complete and consistent, but the key that you typed was not checked: "
                "it cannot be read.**",
                name=plain(name),
            )
            if unreadable_key
            else _(":material/task_alt: **{name} is complete and consistent.**", name=plain(name))
        )
        st.markdown(
            _(
                "Every file is there and matches its checksum; the tables agree with each other and with the "
                "synthetic rows. The text in {files} is not compared with the numbers.",
                files=join_names(PROSE),
            )
        )
        own = key_of_the_ledger()
        st.markdown(_signature(signer, expected, own))
        show_charge(manifest, signer, own)
        facts = [
            *([plain(manifest["title"])] if manifest["title"] else []),
            _("dataset {name}", name=plain(manifest["dataset"])),
            _("published on {day}", day=day(manifest["created"][:10])),
            _("release {id}", id=manifest["release_id"]),
        ]
        st.caption(" · ".join(facts))
    show_promise(promised)
    show_contents(manifest, headings, promised, content)


def show_faults(refusal: ReleaseError, name: str) -> None:
    """Show what is wrong with a release file, and what to do."""
    with st.container(border=True):
        st.error(_(":material/rule: **{name} is not a complete release.**", name=plain(name)))
        st.markdown(bullets(map(str, refusal.faults)))
        st.markdown(_("Get the file again from its source, and do not rely on the numbers in this one."))


def show_wrong_key(name: str, signer: str | None, expected: str) -> None:
    """Say that a release file is not signed by the expected key, and what that means."""
    with st.container(border=True):
        st.error(
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


def _signature(signer: str | None, expected: str | None, own: str | None) -> str:
    """Say whether the file is signed, and what follows from that; `own` is the key of the visitor's ledger."""
    if signer is None:
        return _(
            ":material/draft: **Not signed.** An earlier version made this file, or its signature was taken away; "
            "nothing shows who made it, or whether it was changed with care. Get it from a source that you trust."
        )
    if signer == own and expected is None:
        return _(":material/verified: **Signed by the key of your own ledger**, `{signer}`.", signer=signer)
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
        outcome = verified(bundle, "verify_outcome")
        show_outcome(outcome, bundle.name, bundle.getvalue(), wanted, unreadable_key=unreadable)
    show_code("verify", lambda: {"bundle": "release.zip" if bundle is None else bundle.name, "key": wanted})
