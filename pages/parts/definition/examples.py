"""The worked examples of the Definition lab; each takes the ε that the page is at."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.exact import exact_text
from dpengine.lessons import definition as lesson
from pages.parts.definition.charts import belief_figure, trade_figure
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import percent

__all__ = ["EXAMPLES"]

MEN = (64, 65, 66, 66, 67, 67, 68, 68, 68, 69, 69, 69, 70, 70, 70, 71, 71, 72, 73, 75)
GIANT = 107  # Robert Wadlow, in inches
LOWER = 60


def one_man(epsilon: Fraction) -> None:
    """A database of one number, from the text; and what no privacy of data can prevent."""
    st.markdown(
        "A table holds one number, a man's height: 68 inches, or perhaps 67. What is published is that plus noise of "
        "scale 1/ε. How likely is an answer of at least so much?"
    )
    bound = st.slider("At least (inches)", 62, 76, 70, key="definition_height")
    tall, short = (lesson.tail_probability(height, 1 / epsilon, bound) for height in (68, 67))
    with st.grid(3, min_column_width=150):
        st.metric("If he is 68", percent(tall), border=True)
        st.metric("If he is 67", percent(short), border=True)
        st.metric("Ratio", f"{tall / short:.4g}", border=True)
    reached = "It is exactly e^ε from 68 on" if bound >= 68 else "Below 68 both are likely, and the ratio is smaller"
    st.markdown(
        f"{reached}; e^ε = {math.exp(epsilon):.4g}. That holds for every set of answers, not only for these.\n\n"
        "*“He is as tall as the average man of New Jersey.”* Whoever knows this learns his height from any survey of "
        "New Jersey, whether or not he took part in it. Differential privacy does not prevent that and does not claim "
        "to: it bounds what his *taking part* adds."
    )


def senator(epsilon: Fraction) -> None:
    """Who is the only one in a zip code is the whole count."""
    st.markdown(
        "A senator is the only person of her zip code in a hospital's table. The exact number of cancer patients there "
        "is 0 or 1, and so is the answer about her. With noise, readers come to believe this:"
    )
    prior = st.slider(
        "How sure a reader was before that she has cancer", 1, 99, 10, format="%d %%", key="definition_prior"
    )
    seen = lesson.compare(1, 0, 1, epsilon, np.arange(-8, 10))
    after = lesson.belief_after(prior / 100, seen)
    low, high = percent(float(after.min())), percent(float(after.max()))
    line = f"At ε = {exact_text(epsilon)}, {prior} % sure becomes {high} at the most and {low} at the least"
    st.markdown(f"**{line}.** The exact count would make it 0 % or 100 %.")
    figure = belief_figure(seen.answers.tolist(), after.tolist(), prior / 100, float(epsilon))
    draw(figure, f"{line}; a step from the least to the most between the answers 0 and 1.", "definition-belief", 320)
    with st.expander("The same as a table", icon=":material/table_rows:"):
        frame = pd.DataFrame({"published": seen.answers, "ill": seen.first, "well": seen.second, "after": after})
        columns = {
            "ill": st.column_config.NumberColumn("probability if she has cancer", format="%.3g"),
            "well": st.column_config.NumberColumn("if she has not", format="%.3g"),
            "after": st.column_config.NumberColumn("how sure after", format="percent"),
        }
        st.dataframe(frame, hide_index=True, column_config=columns)


def giant(epsilon: Fraction) -> None:
    """A mean needs bounds, since otherwise one person could move it anywhere."""
    st.markdown(
        f"The average height of {len(MEN)} men, and one giant of {GIANT} inches. A mean has no sensitivity until "
        f"heights have bounds: here from {LOWER} inches to yours. Too low a bound cuts the giant off, and with him "
        "some of the truth; too high a one buys noise for people who are not there."
    )
    upper = st.slider("Upper bound (inches)", 66, 120, 78, key="definition_upper")
    heights, bounds = [*MEN, GIANT], list(range(66, 121, 2))
    now = lesson.bounded_mean(heights, LOWER, upper, epsilon)
    with st.grid(3, min_column_width=150):
        st.metric("True mean", f"{now.true:.2f} in", border=True)
        st.metric("Within the bounds", f"{now.bounded:.2f} in", f"{now.bias:.2f}" if now.bias else None, border=True)
        st.metric("Noise, typically", f"± {now.noise:.2f} in", border=True)
    where = f"At ε = {exact_text(epsilon)} and a bound of {upper}"
    line = f"{where}, the cut is {abs(now.bias):.2f} and noise {now.noise:.2f} inches"
    st.markdown(f"**{line}.** Bounds must come from what is publicly known of men, never from this table.")
    trades = [lesson.bounded_mean(heights, LOWER, bound, epsilon) for bound in bounds]
    draw(
        trade_figure(bounds, trades, upper),
        f"{line}; a higher bound cuts less and costs more.",
        "definition-trade",
        320,
    )
    with st.expander("The same as a table", icon=":material/table_rows:"):
        frame = pd.DataFrame(
            {
                "upper bound": bounds,
                "cut off": [abs(trade.bias) for trade in trades],
                "typical noise": [trade.noise for trade in trades],
            }
        )
        st.dataframe(frame.round(3), hide_index=True)


EXAMPLES: dict[str, Callable[[Fraction], None]] = {
    "The height of one man": one_man,
    "The senator's zip code": senator,
    "An average with a giant": giant,
}
