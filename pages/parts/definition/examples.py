"""Worked examples of the Definition lab; each takes the ε of the page."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.exact import exactly
from dpengine.lessons import definition as lesson
from dpengine.spec.wording import percent, percent_at_least, percent_at_most
from dpengine.translation.catalogue import _, mark, number
from pages.parts.definition.charts import belief_figure, bounds_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw

__all__ = ["EXAMPLES"]

MEN = (64, 65, 66, 66, 67, 67, 68, 68, 68, 69, 69, 69, 70, 70, 70, 71, 71, 72, 73, 75)
GIANT = 107  # Robert Wadlow, in inches
LOWER = 60


def one_man(epsilon: Fraction) -> None:
    """Compare the answers on a table of one number, and say what differential privacy does not prevent."""
    st.markdown(
        _(
            "A table holds one number, a man's height: 68 inches, or perhaps 67. The height is published with noise of "
            "scale 1/ε. How likely is a published height at or above the value below?"
        )
    )
    bound = st.slider(_("At least (inches)"), 62, 76, 70, key="definition_height")
    tall, short = (lesson.tail_probability(height, 1 / epsilon, bound) for height in (68, 67))
    with st.grid(3, min_column_width=150):
        st.metric(_("If he is 68"), percent(tall), border=True)
        st.metric(_("If he is 67"), percent(short), border=True)
        st.metric(_("Ratio"), number(tall / short, ".4g"), border=True)
    ratio = (
        _("From 68 inches on, the ratio is exactly e^ε")
        if bound >= 68
        else _("Below 68 inches both are likely, so the ratio is less than e^ε")
    )
    every = _("The ratio is at most e^ε for every set of answers, not only for these.")
    limit = _(
        "*“He is as tall as the average man of New Jersey.”* Whoever knows this learns his height from any survey of "
        "New Jersey, whether he took part or not. Differential privacy does not prevent that. It limits what his "
        "*taking part* adds."
    )
    st.markdown(f"{ratio} = {number(math.exp(epsilon), '.4g')}. {every}\n\n{limit}")


def senator(epsilon: Fraction) -> None:
    """Show what readers can conclude about someone who is the only person in a zip code."""
    st.markdown(
        _(
            "A senator is the only person of her zip code in a hospital's table. The exact number of cancer patients "
            "there is 0 or 1, which is the answer about her. With noise, this is what readers can conclude:"
        )
    )
    prior = st.slider(
        _("How sure a reader was before that she has cancer"), 1, 99, 10, format="%d %%", key="definition_prior"
    )
    seen = lesson.compare(1, 0, 1, epsilon, np.arange(-8, 10))
    after = lesson.belief_after(prior / 100, seen)
    low, high = percent_at_least(float(after.min())), percent_at_most(float(after.max()))
    line = _(
        "At ε = {epsilon}, {prior} % sure becomes at most {high} and at least {low}",
        epsilon=exactly(epsilon),
        prior=prior,
        high=high,
        low=low,
    )
    st.markdown(f"**{line}.** " + _("The exact count would make it 0 % or 100 %."))
    figure = belief_figure(seen.answers.tolist(), after.tolist(), prior / 100, float(epsilon))
    alt = _("{line}; it steps up between the answers 0 and 1.", line=line)
    draw(figure, alt, "definition-belief", 320)
    frame = pd.DataFrame({"published": seen.answers, "ill": seen.first, "well": seen.second, "after": after})
    columns = {
        "published": st.column_config.NumberColumn(_("published"), format="%d"),
        "ill": st.column_config.NumberColumn(_("probability if she has cancer"), format="%.3g"),
        "well": st.column_config.NumberColumn(_("if she has not"), format="%.3g"),
        "after": st.column_config.NumberColumn(_("how sure after"), format="percent"),
    }
    twin(frame, "definition-belief", columns)


def giant(epsilon: Fraction) -> None:
    """Show why a mean needs bounds, and what their choice costs."""
    st.markdown(
        _(
            "The average height of {men} men and one giant of {giant} inches. Without bounds on height, one person "
            "could move the average by any amount. Here heights count as at least {low} inches and at most your bound. "
            "A low bound cuts the giant off, which makes the average wrong. A high bound needs more noise.",
            men=len(MEN),
            giant=GIANT,
            low=LOWER,
        )
    )
    upper = st.slider(_("Upper bound (inches)"), 66, 120, 78, key="definition_upper")
    now = lesson.bounded_mean([*MEN, GIANT], LOWER, upper, epsilon)
    with st.grid(3, min_column_width=150):
        st.metric(_("True mean"), _inches(now.true), border=True)
        cut = number(now.bias, ".2f") if now.bias else None
        st.metric(_("Within the bounds"), _inches(now.bounded), cut, border=True)
        st.metric(_("Noise, typically"), f"± {_inches(now.noise)}", border=True)
    line = _(
        "At ε = {epsilon} and a bound of {upper}, cutting changes the average by {cut} inches, and noise by about "
        "{noise}",
        epsilon=exactly(epsilon),
        upper=upper,
        cut=number(abs(now.bias), ".2f"),
        noise=number(now.noise, ".2f"),
    )
    st.markdown(f"**{line}.** " + _("Bounds must come from public knowledge about men, never from this table."))
    _draw_bounds(epsilon, upper, _("{line}; a higher bound cuts less and needs more noise.", line=line))


def _draw_bounds(epsilon: Fraction, upper: int, alt: str) -> None:
    """Draw what is cut off and the typical noise over all upper bounds; `upper` is the chosen one."""
    bounds = list(range(66, 121, 2))
    means = [lesson.bounded_mean([*MEN, GIANT], LOWER, bound, epsilon) for bound in bounds]
    draw(bounds_figure(bounds, means, upper), alt, "definition-bounds", 320)
    frame = pd.DataFrame(
        {
            "upper bound": bounds,
            "cut off": [abs(mean.bias) for mean in means],
            "typical noise": [mean.noise for mean in means],
        }
    )
    column = st.column_config.NumberColumn
    columns = {
        "upper bound": column(_("upper bound"), format="%d"),
        "cut off": column(_("cut off by the bound"), format="%.3f"),
        "typical noise": column(_("typical noise"), format="%.3f"),
    }
    twin(frame.round(3), "definition-bounds", columns)


def _inches(length: float) -> str:
    return _("{length} in", length=number(length, ".2f"))


EXAMPLES: dict[str, Callable[[Fraction], None]] = {
    mark("The height of one man"): one_man,
    mark("The senator's zip code"): senator,
    mark("An average with a giant"): giant,
}
