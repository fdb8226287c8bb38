"""The command that shows the current settings, and where each comes from."""

from __future__ import annotations

import json

import click

from dpengine.cli.options import reporting, shown_address
from dpengine.cli.output import say

__all__ = ["settings"]


@click.command()
@reporting
def settings(as_json: bool) -> None:
    """Show the settings that apply, and where each comes from. A password is not shown.

    An environment variable overrides the settings file, and an option of a command overrides both.
    """
    from dpengine.accounting.witness import folder_of_notes
    from dpengine.settings import Settings, file_of_settings, origin, own_ledger, variable
    from dpengine.settings import settings as read

    current, place = read(), file_of_settings()
    account = {"ledger": f"sqlite:///{own_ledger()}", "state": str(folder_of_notes())}  # where its own ones are
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(current, name)
        if name == "ledger" and value is not None:
            value = shown_address(value.get_secret_value())
        value = value if value is None or isinstance(value, bool | int) else str(value)
        rows.append({"setting": name, "value": value, "from": origin(name), "variable": variable(name),
                     "about": field.description,
                     "default": account.get(name, field.title or field.default)})  # fmt: skip
    if as_json:
        click.echo(json.dumps({"file": str(place), "file_exists": place.exists(), "settings": rows}))
        return
    say(f"settings file: {place}{'' if place.exists() else ' (there is none)'}")
    for row in rows:
        shown = row["default"] if row["value"] is None else row["value"]
        text = str(shown).lower() if isinstance(shown, bool) else shown
        say(f"{row['setting']} = {text}   ({row['from']})")
