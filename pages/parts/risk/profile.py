"""k, ℓ, t and who is alone in a table, in numbers and a figure: for the owner's table and the textbook's."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dpengine.lessons import syntactic
from dpengine.owner import Classes
from dpengine.spec.wording import percent
from dpengine.translation.catalogue import _, number, plural
from pages.parts.risk.charts import band_name, bands_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term

__all__ = ["explain_measures", "show_profile"]

C = 3  # the c of recursive (c, ℓ)-diversity
BESIDE: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off", "border": True}


def show_profile(
    classes: Classes, people: int, unique: int, key: str, *, across: int = 4, private: bool = False
) -> None:
    """Show the numbers of the worst class, and people by size of class; `unique` of `people` are alone."""
    profile = syntactic.profile(classes, C)
    with st.grid(across, min_column_width=150):
        share = _("{share} of people", share=percent(unique / people))
        note = _("People with whom no one else agrees on these columns.")
        st.metric(_("Alone"), number(unique), share, help=note, **BESIDE)
        st.metric(_("Smallest class, k"), number(profile.k), help=term("k-anonymity"), border=True)
        if profile.distinct is not None:
            _diversity(profile)
    bands = syntactic.size_bands(classes)
    line = plural(
        "{n} of {people} is alone; {classes}",
        "{n} of {people} are alone; {classes}",
        unique,
        people=plural("{n} person", "{n} people", people),
        classes=plural("{n} class", "{n} classes", profile.classes),
    )
    st.markdown(f"**{line}**")
    draw(
        bands_figure(bands, people),
        _("People by how many agree with them: {line}.", line=line),
        f"bands-{key}",
        300,
        private=private,
    )
    rows = [{"agree": band_name(band), "classes": band.classes, "people": band.people} for band in bands]
    column = st.column_config.NumberColumn
    columns: dict[str, Any] = {
        "agree": _("people who agree"),
        "classes": column(_("classes"), format="%,d"),
        "people": column(_("people"), format="%,d"),
    }
    twin(pd.DataFrame(rows), f"bands-{key}", columns, private=private)


def _diversity(profile: syntactic.Profile) -> None:
    """Show ℓ and t of the worst class."""
    note = _("Different sensitive values in the class with the fewest; beside it, two stricter definitions.")
    stricter = _(
        "entropy {entropy}, (c, ℓ) {recursive}",
        entropy=number(profile.entropy or 0, ".2g"),
        recursive=profile.recursive,
    )
    st.metric(_("Fewest values in a class, ℓ"), number(profile.distinct or 0), stricter, help=note, **BESIDE)
    note = _("The largest distance of a class's sensitive values from those of the whole table.")
    ordered = _("ordered {distance}", distance=number(profile.t_ordered or 0, ".2g"))
    st.metric(_("Class farthest from all, t"), number(profile.t_equal or 0, ".2g"), ordered, help=note, **BESIDE)


def explain_measures() -> None:
    """Define k, ℓ and t for the curious."""
    with st.expander(_("For the curious"), icon=":material/school:"):
        st.markdown(
            _(
                "People who agree on the chosen columns form a *class*.\n"
                "- **k-anonymity** (Sweeney 2002): k is the size of the smallest class.\n"
                "- **ℓ-diversity** (Machanavajjhala et al. 2007) is about the sensitive values in a class. *Distinct*: "
                "how many different ones there are. *Entropy*: exp of their entropy. *Recursive (c, ℓ)*, here c = {c}: "
                "the most common value is rarer than c times all values from the ℓ-th most common on.\n"
                "- **t-closeness** (Li et al. 2007): the distance of a class's sensitive values from the whole "
                "table's. It is ½ Σ|p − q| if all values count as equally far apart; *ordered* takes their order into "
                "account.\n\n"
                "All numbers are those of the worst class. They describe a table's form and promise nothing: they "
                "leave out what a reader knows from elsewhere or learns from a second table.",
                c=C,
            )
        )
