"""What a command says of its charge: the dataset, what is spent and left, and which earlier tables look alike."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpengine.cli.common import likeness, say
from dpengine.exact import exact_text

if TYPE_CHECKING:
    from dpengine.accounting.ledger import Ledger

__all__ = ["charge_of", "say_charge"]


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
        "left": None if left is None else exact_text(left),
        "recognised": [asdict(each) for each in entry.recognised],
    }


def say_charge(charge: dict[str, Any], *, err: bool = False) -> None:
    """Print what `charge_of` returned, a line for each statement."""
    dataset, left = charge["dataset"], charge["left"]
    say(f"{dataset}: spent {charge['spent']} in all, {'no cap is set' if left is None else f'left {left}'}", err=err)
    for each in charge["recognised"]:
        say(f"{dataset}: {likeness(**each)}", err=err)
