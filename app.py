"""The entry: page settings and navigation; nothing else."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts import state

PARTS = Path(__file__).parent / "pages" / "parts"

st.set_page_config(page_title="Private Release", page_icon=PARTS / "logo.svg", layout="wide")

state.enter()
st.logo(PARTS / "logo.svg", size="large")
st.html(PARTS / "look.css")

st.navigation(
    [
        st.Page("pages/publish.py", title="Publish", icon=":material/publish:", url_path="publish", default=True),
        st.Page("pages/accuracy.py", title="Accuracy", icon=":material/show_chart:", url_path="accuracy"),
        st.Page("pages/budget.py", title="Budget", icon=":material/account_balance_wallet:", url_path="budget"),
        st.Page("pages/verify.py", title="Verify", icon=":material/verified:", url_path="verify"),
    ],
    position="top",
).run()
