"""A prediction of errors as a data frame that a notebook shows with a chart and its price."""

from __future__ import annotations

import pandas as pd

from dpengine.notebook import fragment, intervals
from dpengine.notebook.intervals import Interval
from dpengine.results.views.release_html import written
from dpengine.spec.views.plan_html import price
from dpengine.spec.wording import people
from dpengine.translation.catalogue import _

__all__ = ["Prediction"]

MAX_ROWS = 30
NEEDED = {"table", "cells", "mean_abs_error", "half_width_95"}


class Prediction(pd.DataFrame):
    """The result of `predict`: a data frame; selections from it are ordinary data frames."""

    def _repr_html_(self) -> str | None:
        """Return the display in a notebook; that of any data frame if its columns were changed."""
        if not {*self.columns} >= NEEDED or self.empty:
            return pd.DataFrame(self)._repr_html_()  # type: ignore[operator,no-any-return]
        shown = self.head(MAX_ROWS)
        several = "epsilon" in self.columns
        names = shown["table"].tolist()
        if several:
            names = [f"ε = {epsilon:g} · {name}" for epsilon, name in zip(shown["epsilon"], names, strict=True)]
        bars = [Interval(name, 0, -width, width) for name, width in zip(names, shown["half_width_95"], strict=True)]
        known = self.attrs
        simulated = known.get("simulated", False)
        facts = [price(known["epsilon"], known["dataset"])] if "epsilon" in known and not several else []
        facts += [_("errors simulated on a made-up table") if simulated else _("errors exact, from the plan alone")]
        return fragment.render(
            "prediction",
            facts=facts,
            chart=intervals.chart(
                bars, title=_("Errors of a count: 95 in 100 lie within the line"), axis=_("error of a count")
            ),
            head=[(name, name not in ("table", "counts")) for name in shown.columns],
            rows=[[_written(name, value) for name, value in zip(shown.columns, row, strict=True)]
                  for row in shown.itertuples(index=False)],
            more_rows=len(self) - len(shown),
        )  # fmt: skip


def _written(name: str, value: object) -> str:
    """Write a number of people as everywhere else, and any other cell of the table with the digits that matter."""
    counts = name in ("mean_abs_error", "half_width_95", "total_half_width_95")
    return people(value) if counts and isinstance(value, float) else written(value)
