"""Usual texts for no answer, such as *k. A.*, that the owner's rows hold where nothing declares them as missing.

They fall in *(other)*, beside answers that nobody expected, and readers take them for such. Only the owner sees it, and
nothing is read otherwise before a click.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dpengine import owner
from dpengine.sources.mixed import holds_texts
from dpengine.sources.table import Table
from dpengine.spec.domain import Category, Column, Number
from dpengine.spec.suggestions import NO_ANSWERS
from dpengine.translation.catalogue import _, plural
from pages.parts.publish.column_forms.boxes import change_columns
from pages.parts.shared.wording import plain, plain_name
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["offer_missing_texts"]

LEAST = 0.01  # share of the rows, from which on such a text is named


def offer_missing_texts(table: Table, columns: Sequence[Column], in_other: Mapping[str, float]) -> None:
    """Name the usual texts for no answer that count in *(other)*, and offer to count them as missing."""
    of_texts = {field.name for field in table.columns if holds_texts(field.type)}
    doubtful = [
        column
        for column in columns
        if column.name in of_texts and isinstance(column, Category | Number) and in_other.get(column.name, 0) >= LEAST
    ]
    if not doubtful:
        return
    found = background_read.glance(
        "missing-texts", lambda _progress: _missing_texts(table, doubtful), table, question=repr(doubtful)
    )
    for name, texts in (found or {}).items():
        with st.container(key=f"missing-texts-{name}"):
            listed = ", ".join(_("“{text}”", text=plain(text)) for text in texts)
            text = _(
                "**{column}**: rows with {texts} fall in *(other)*. Only you see this. If it means that there is no "
                "answer, count it as missing; the published plan names it.",
                column=plain_name(name), texts=listed,
            )  # fmt: skip
            st.warning(text, icon=":material/rule:")
            st.button(
                plural("Count it as missing", "Count them as missing", len(texts)),
                key=visit().key(f"missing-texts-of-{name}"),
                on_click=_mark_missing,
                args=(name, texts),
            )


def _missing_texts(table: Table, columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return, by column, the usual texts for no answer that a share of the rows holds, unless they are declared."""
    asked = [
        Category(name=c.name, values=[text for text in NO_ANSWERS if text not in {*c.labels, *c.missing_as}])
        for c in columns
    ]
    counted = owner.rows_by_cell(table, asked)
    found: dict[str, list[str]] = {}
    for column in asked:
        rows = counted[column.name]
        least = LEAST * rows.sum()
        texts = [text for text, n in zip(column.values, rows, strict=False) if n >= least]
        found |= {column.name: texts} if texts else {}
    return found


def _mark_missing(name: str, texts: Sequence[str]) -> None:
    markers = list(dict.fromkeys([*visit().entries.declared[name].get("missing_as", ()), *texts]))
    change_columns([name], {"missing_as": markers}, "markers")
