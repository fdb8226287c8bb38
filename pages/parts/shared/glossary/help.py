"""All terms of the glossary, and the help that other pages show of one: its meaning, and a link to the glossary."""

from __future__ import annotations

from dpengine.translation.catalogue import _
from pages.parts.shared.glossary import numbers, privacy, publishing, tables
from pages.parts.shared.glossary.term import Term

__all__ = ["GLOSSARY", "term"]

GLOSSARY: dict[str, Term] = {**privacy.TERMS, **numbers.TERMS, **tables.TERMS, **publishing.TERMS}


def term(key: str, note: str = "") -> str:
    """Return the `help` of the widget or text that first uses a term on its page, after a `note` on the widget.

    The link opens another tab, so that nothing entered on the page is lost.

    >>> print(term("interval"))
    **Interval.** The range around a published number that contains the true one 95 times in 100.
    <BLANKLINE>
    [More in the glossary](glossary?term=interval)
    """
    entry = GLOSSARY[key]
    meaning = f"**{_(entry.name)}.** {_(entry.meaning)}"
    more = _("More in the glossary")
    return "\n\n".join(filter(None, (note, meaning, f"[{more}](glossary?term={key})")))
