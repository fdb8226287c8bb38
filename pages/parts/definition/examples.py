"""Worked examples of the Definition lab; each takes the ε of the page."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.exact import exact_text
from dpengine.lessons import definition as lesson
from pages.parts.definition.charts import belief_figure, bounds_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import percent, percent_at_least, percent_at_most

__all__ = ["EXAMPLES"]

MEN = (64, 65, 66, 66, 67, 67, 68, 68, 68, 69, 69, 69, 70, 70, 70, 71, 71, 72, 73, 75)
GIANT = 107  # Robert Wadlow, in inches
LOWER = 60


def one_man(epsilon: Fraction) -> None:
    """Compare the answers on a table of one number, and say what differential privacy does not prevent."""
    st.markdown(
        "A table holds one number, a man's height: 68 inches, or perhaps 67. The height is published with noise of "
        "scale 1/ε. How likely is a published height at or above the value below?"
    )
    bound = st.slider("At least (inches)", 62, 76, 70, key="definition_height")
    tall, short = (lesson.tail_probability(height, 1 / epsilon, bound) for height in (68, 67))
    with st.grid(3, min_column_width=150):
        st.metric("If he is 68", percent(tall), border=True)
        st.metric("If he is 67", percent(short), border=True)
        st.metric("Ratio", f"{tall / short:.4g}", border=True)
    ratio = (
        "From 68 inches on, the ratio is exactly e^ε"
        if bound >= 68
        else "Below 68 inches both are likely, so the ratio is less than e^ε"
    )
    st.markdown(
        f"{ratio} = {math.exp(epsilon):.4g}. The ratio is at most e^ε for every set of answers, not only for "
        "these.\n\n"
        "*“He is as tall as the average man of New Jersey.”* Whoever knows this learns his height from any survey of "
        "New Jersey, whether he took part or not. Differential privacy does not prevent that. It limits what his "
        "*taking part* adds."
    )


def senator(epsilon: Fraction) -> None:
    """Show what readers can conclude about someone who is the only person in a zip code."""
    st.markdown(
        "A senator is the only person of her zip code in a hospital's table. The exact number of cancer patients there "
        "is 0 or 1, which is the answer about her. With noise, this is what readers can conclude:"
    )
    prior = st.slider(
        "How sure a reader was before that she has cancer", 1, 99, 10, format="%d %%", key="definition_prior"
    )
    seen = lesson.compare(1, 0, 1, epsilon, np.arange(-8, 10))
    after = lesson.belief_after(prior / 100, seen)
    low, high = percent_at_least(float(after.min())), percent_at_most(float(after.max()))
    line = f"At ε = {exact_text(epsilon)}, {prior} % sure becomes at most {high} and at least {low}"
    st.markdown(f"**{line}.** The exact count would make it 0 % or 100 %.")
    figure = belief_figure(seen.answers.tolist(), after.tolist(), prior / 100, float(epsilon))
    draw(figure, f"{line}; it steps up between the answers 0 and 1.", "definition-belief", 320)
    frame = pd.DataFrame({"published": seen.answers, "ill": seen.first, "well": seen.second, "after": after})
    columns = {
        "ill": st.column_config.NumberColumn("probability if she has cancer", format="%.3g"),
        "well": st.column_config.NumberColumn("if she has not", format="%.3g"),
        "after": st.column_config.NumberColumn("how sure after", format="percent"),
    }
    twin(frame, "definition-belief", columns)


def giant(epsilon: Fraction) -> None:
    """Show why a mean needs bounds, and what their choice costs."""
    st.markdown(
        f"The average height of {len(MEN)} men and one giant of {GIANT} inches. Without bounds on height, one person "
        f"could move the average by any amount. Here heights count as at least {LOWER} inches and at most your bound. "
        "A low bound cuts the giant off, which makes the average wrong. A high bound needs more noise."
    )
    upper = st.slider("Upper bound (inches)", 66, 120, 78, key="definition_upper")
    heights, bounds = [*MEN, GIANT], list(range(66, 121, 2))
    now = lesson.bounded_mean(heights, LOWER, upper, epsilon)
    with st.grid(3, min_column_width=150):
        st.metric("True mean", f"{now.true:.2f} in", border=True)
        st.metric("Within the bounds", f"{now.bounded:.2f} in", f"{now.bias:.2f}" if now.bias else None, border=True)
        st.metric("Noise, typically", f"± {now.noise:.2f} in", border=True)
    where = f"At ε = {exact_text(epsilon)} and a bound of {upper}"
    line = f"{where}, cutting changes the average by {abs(now.bias):.2f} inches, and noise by about {now.noise:.2f}"
    st.markdown(f"**{line}.** Bounds must come from public knowledge about men, never from this table.")
    means = [lesson.bounded_mean(heights, LOWER, bound, epsilon) for bound in bounds]
    draw(
        bounds_figure(bounds, means, upper),
        f"{line}; a higher bound cuts less and needs more noise.",
        "definition-bounds",
        320,
    )
    frame = pd.DataFrame(
        {
            "upper bound": bounds,
            "cut off": [abs(mean.bias) for mean in means],
            "typical noise": [mean.noise for mean in means],
        }
    )
    twin(frame.round(3), "definition-bounds")


EXAMPLES: dict[str, Callable[[Fraction], None]] = {
    "The height of one man": one_man,
    "The senator's zip code": senator,
    "An average with a giant": giant,
}
