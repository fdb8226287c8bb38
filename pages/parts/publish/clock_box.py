"""Ask once by which clock all columns of dates and times count that may have a zone.

Each column can differ, by its card in step 3.
"""

from __future__ import annotations

import streamlit as st

from dpengine.sources.mixed import ZONED, may_have_zone
from dpengine.spec.zones import zone_names
from dpengine.translation.catalogue import _, some_of
from pages.parts.publish.column_forms.boxes import change_columns
from pages.parts.shared.wording import plain, plain_name
from pages.parts.visit.plan.tables import used
from pages.parts.visit.plan.times_entry import table_column
from pages.parts.visit.state import visit

__all__ = ["ask_clock"]


def ask_clock() -> None:
    """Ask for the clock of all times with a zone, and say so if they count in UTC, which nobody would notice.

    Texts may have an offset in each cell, which only the rows can tell: they are asked about once a zone is stated.
    """
    entries, table = visit().entries, visit().table
    types = {field.name: field.type for field in table.columns} if table is not None else {}
    stored = {
        name: types.get(table_column(entries.declared, name), "")
        for name in used(entries)
        if entries.declared[name]["kind"] in ("date", "time")
    }
    names = [name for name, kind in stored.items() if may_have_zone(kind)]
    stated = {name: entries.declared[name].get("zone") or "" for name in names}
    in_utc = [name for name in names if stored[name] == ZONED and not stated[name]]
    if not in_utc and (len(names) < 2 or not any(stated.values())):
        return
    if in_utc:
        text = _(
            "Times of {columns} have a zone, and count in UTC. For a local clock, choose it here, or for one of them "
            "on its card below.",
            columns=some_of(map(plain_name, in_utc)),
        )
        st.caption(f":material/schedule: {text}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _ask_for_all(stated)
        _suggest(stated)


def _ask_for_all(stated: dict[str, str]) -> None:
    """Show the clock that all columns have, or that they differ, and take another one for all of them."""
    zones = ("", *zone_names())
    (common,) = {*stated.values()} if len({*stated.values()}) == 1 else (None,)
    key = visit().key(f"clock-{common}-{len(stated)}")
    st.selectbox(
        _("Clock of all times with a zone or an offset"),
        zones,
        index=zones.index(common) if common in zones else None,
        format_func=lambda zone: zone or _("UTC; or type a zone, such as Europe/Berlin"),
        placeholder=_("The columns differ; choose one clock for all"),
        key=key,
        on_change=visit().while_shown(lambda: change_columns(stated, {"zone": st.session_state[key] or ""}, "card")),
    )


def _suggest(stated: dict[str, str]) -> None:
    """Offer the clock of the plan's other columns, of the plan before, or of the browser, for columns without one."""
    without = [name for name, zone in stated.items() if not zone]
    zone, why = _likely_zone()
    if without and zone in zone_names():
        st.button(
            _("Take {zone}", zone=plain(zone)),
            key=visit().key(f"clock-of-{zone}"),
            icon=":material/schedule:",
            help=why,
            on_click=change_columns,
            args=(without, {"zone": zone}, "card"),
        )


def _likely_zone() -> tuple[str, str]:
    """Return the zone that is most likely meant, or "", and where it is from."""
    declared, earlier = visit().entries.declared, visit().earlier
    for name, column in declared.items():
        if zone := column.get("zone"):
            return str(zone), _("{column} counts by this clock.", column=plain_name(name))
    for column in {} if earlier is None else earlier.entries.declared.values():
        if zone := column.get("zone"):
            return str(zone), _("Times in the plan before count by this clock.")
    return st.context.timezone or "", _("This is the clock of your browser.")
