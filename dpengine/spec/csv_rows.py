"""Read the rows of codebooks and sheets that people saved as CSV, in whichever form their program writes it."""

from __future__ import annotations

import csv
import io
import re

from dpengine.errors import PlanError
from dpengine.translation.catalogue import _

__all__ = ["csv_rows"]

_DELIMITERS = ",;\t"
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def csv_rows(text: str) -> list[list[str]]:
    """Return the rows of a CSV file, blank ones included. Raises `PlanError`.

    Cells are separated by the comma, semicolon or tab that its first line has most often, outside quotes.

    >>> csv_rows("county;state\\nKern;CA\\n")
    [['county', 'state'], ['Kern', 'CA']]
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    unquoted = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    try:
        return list(csv.reader(io.StringIO(text), delimiter=max(_DELIMITERS, key=unquoted.count)))
    except csv.Error:
        raise PlanError(_("this is not readable CSV")) from None
