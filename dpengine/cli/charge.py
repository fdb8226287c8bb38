"""The common part of commands that charge a ledger: their options, and their statement of what was charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from dpengine.cli.options import LedgerPart, part_options, reading_options
from dpengine.cli.output import exact_or_none, likeness, say
from dpengine.exact import exact_text

if TYPE_CHECKING:
    from dpengine.accounting.ledger import Ledger

__all__ = ["Charging", "charge_of", "charging_options", "say_charge"]

other_people_option = click.option(
    "--other-people",
    is_flag=True,
    help="State, for the record, that a table like an earlier one is of other people and shares no budget.",
)


@dataclass(frozen=True, slots=True)
class Charging:
    """How a command reads its table, and which part of a ledger pays: the values of `charging_options`.

    `reading` holds the arguments of `open_table`.
    """

    reading: dict[str, Any]
    part: LedgerPart
    other_people: bool


def charging_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command that reads a table and charges a ledger; a command gets them as `charging`."""

    @wraps(command)
    def collected(
        *arguments: Any, reading: dict[str, Any], part: LedgerPart, other_people: bool, **options: Any
    ) -> None:
        command(*arguments, charging=Charging(reading, part, other_people), **options)

    return reading_options(part_options(other_people_option(collected)))


def charge_of(ledger: Ledger, charged_id: str) -> dict[str, Any]:
    """Return the dataset that a release or an answer was charged to, its budget, and what it was recognised as.

    The dataset may have another name than in the plan, if the same data was published under that name before.
    """
    entry = ledger.entry(charged_id)
    assert entry is not None
    left = ledger.left(entry.dataset)
    return {
        "dataset": entry.dataset,
        "spent": exact_text(ledger.spent(entry.dataset)),
        "left": exact_or_none(left),
        "recognised": [asdict(each) for each in entry.recognised],
    }


def say_charge(charge: dict[str, Any], *, err: bool = False) -> None:
    """Print what `charge_of` returned, a line for each statement."""
    dataset, left = charge["dataset"], charge["left"]
    say(f"{dataset}: spent {charge['spent']} in all, {'no cap is set' if left is None else f'left {left}'}", err=err)
    for each in charge["recognised"]:
        say(f"{dataset}: {likeness(**each)}", err=err)
