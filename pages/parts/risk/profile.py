"""k, ℓ, t and who is alone in a table, in numbers and a figure: for the owner's table and the textbook's."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dpengine.lessons import syntactic
from dpengine.owner import Classes
from pages.parts.risk.charts import band_name, bands_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import percent, plural

__all__ = ["explain_measures", "show_profile"]

C = 3  # the c of recursive (c, ℓ)-diversity
BESIDE: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off", "border": True}


def show_profile(
    classes: Classes, people: int, unique: int, key: str, *, across: int = 4, private: bool = False
) -> None:
    """Show the numbers of the worst class, and people by size of class; `unique` of `people` are alone."""
    profile = syntactic.profile(classes, C)
    with st.grid(across, min_column_width=150):
        share = f"{percent(unique / people)} of people"
        st.metric("Alone", f"{unique:,}", share, help="People with whom no one else agrees on these columns.", **BESIDE)
        st.metric("Smallest class, k", f"{profile.k:,}", help=term("k-anonymity"), border=True)
        if profile.distinct is not None:
            note = "Different sensitive values in the class with the fewest; beside it, two stricter definitions."
            stricter = f"entropy {profile.entropy:.2g}, (c, ℓ) {profile.recursive}"
            st.metric("Fewest values in a class, ℓ", f"{profile.distinct:,}", stricter, help=note, **BESIDE)
            note = "The largest distance of a class's sensitive values from those of the whole table."
            ordered = f"ordered {profile.t_ordered:.2g}"
            st.metric("Class farthest from all, t", f"{profile.t_equal:.2g}", ordered, help=note, **BESIDE)
    bands = syntactic.size_bands(classes)
    classes_in_all = plural(profile.classes, "class", "classes")
    line = (
        f"{unique:,} of {plural(people, 'person', 'people')} {'is' if unique == 1 else 'are'} alone; {classes_in_all}"
    )
    st.markdown(f"**{line}**")
    draw(
        bands_figure(bands, people),
        f"People by how many agree with them: {line}.",
        f"bands-{key}",
        300,
        private=private,
    )
    rows = [{"agree": band_name(band), "classes": band.classes, "people": band.people} for band in bands]
    number = st.column_config.NumberColumn
    columns: dict[str, Any] = {"agree": "people who agree"}
    columns |= {name: number(name, format="%,d") for name in ("classes", "people")}
    twin(pd.DataFrame(rows), f"bands-{key}", columns, private=private)


def explain_measures() -> None:
    """Define k, ℓ and t for the curious."""
    with st.expander("For the curious", icon=":material/school:"):
        st.markdown(
            "People who agree on the chosen columns form a *class*.\n"
            "- **k-anonymity** (Sweeney 2002): k is the size of the smallest class.\n"
            "- **ℓ-diversity** (Machanavajjhala et al. 2007) is about the sensitive values in a class. *Distinct*: how "
            f"many different ones there are. *Entropy*: exp of their entropy. *Recursive (c, ℓ)*, here c = {C}: the "
            "most common value is rarer than c times all values from the ℓ-th most common on.\n"
            "- **t-closeness** (Li et al. 2007): the distance of a class's sensitive values from the whole table's. It "
            "is ½ Σ|p − q| if all values count as equally far apart; *ordered* takes their order into account.\n\n"
            "All numbers are those of the worst class. They describe a table's form and promise nothing: they leave "
            "out what a reader knows from elsewhere or learns from a second table."
        )
