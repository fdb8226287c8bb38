"""The help beside a term: its meaning in a sentence, and a link to the glossary."""

from __future__ import annotations

from dpengine.translation.catalogue import _
from pages.parts.shared.glossary.entries import GLOSSARY

__all__ = ["term"]


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
