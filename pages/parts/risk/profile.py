"""k, ℓ, t and who is alone, in numbers and a picture; of a table of the owner's or of a lesson's."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dpengine.lessons import syntactic
from dpengine.owner import Classes
from pages.parts.risk.charts import band_name, bands_figure
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import percent, plural

__all__ = ["C", "explained", "show_profile"]

C = 3  # of recursive (c, ℓ)-diversity
BESIDE: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off", "border": True}


def show_profile(
    classes: Classes, people: int, unique: int, key: str, *, across: int = 4, private: bool = False
) -> None:
    """The numbers of the worst class, and people by size of class; ``unique`` of ``people`` are alone."""
    found = syntactic.profile(classes, C)
    with st.grid(across, min_column_width=150):
        part = f"{percent(unique / people)} of people"
        st.metric("Alone", f"{unique:,}", part, help="People whom no one else looks like on these columns.", **BESIDE)
        st.metric("k", f"{found.k:,}", help="Everyone looks like at least k − 1 others.", border=True)
        if found.distinct is not None:
            least = "Different sensitive values in the class that has fewest; and two stricter readings."
            ells = f"entropy {found.entropy:.2g}, (c, ℓ) {found.recursive}"
            st.metric("ℓ", f"{found.distinct:,}", ells, help=least, **BESIDE)
            far = "How far a class's sensitive values are, at most, from those of the whole table."
            st.metric("t", f"{found.t_equal:.2g}", f"in order {found.t_ordered:.2g}", help=far, **BESIDE)
    bands = syntactic.size_bands(classes)
    classes_in_all = plural(found.classes, "class", "classes")
    line = (
        f"{unique:,} of {plural(people, 'person', 'people')} {'is' if unique == 1 else 'are'} alone; {classes_in_all}"
    )
    st.markdown(f"**{line}**")
    draw(bands_figure(bands), f"People by how many look like them: {line}.", f"bands-{key}", 300, private=private)
    with st.expander("The same as a table", icon=":material/table_rows:", key=f"bands-twin-{key}"):
        told = [{"look alike": band_name(band), "classes": band.classes, "people": band.people} for band in bands]
        numbers = {name: st.column_config.NumberColumn(name, format="localized") for name in ("classes", "people")}
        st.dataframe(pd.DataFrame(told), hide_index=True, column_config=numbers)


def explained() -> None:
    with st.expander("For the curious", icon=":material/school:"):
        st.markdown(
            "People who agree on the chosen columns form a *class*.\n"
            "- **k-anonymity** (Sweeney 2002): k is the size of the smallest class.\n"
            "- **ℓ-diversity** (Machanavajjhala et al. 2007), of the sensitive values in a class. *Distinct*: how many "
            f"there are. *Entropy*: exp of their entropy. *Recursive (c, ℓ)*, here c = {C}: the commonest is rarer "
            "than c times all from the ℓ-th commonest on.\n"
            "- **t-closeness** (Li et al. 2007): the distance from a class's sensitive values to the whole table's, "
            "½ Σ|p − q| where all values are equally far apart, or along their order, where they have one.\n\n"
            "All are of the worst class. They describe a table's form and promise nothing: what a reader knows beside "
            "it, or gets from a second table, is not in them."
        )
