"""The help beside a term: what it means, in a sentence, and a link to the rest."""

from __future__ import annotations

from dpengine.translation.catalogue import _
from pages.parts.shared.glossary.entries import GLOSSARY

__all__ = ["term"]


def term(key: str, note: str = "") -> str:
    """Return the `help` of a widget or text that shows a term first on its page, after a `note` on the widget itself.

    The link opens another tab, so that nothing that was entered is left behind.

    >>> print(term("interval"))
    **Interval.** The range around a published number that contains the true one 95 times in 100.
    <BLANKLINE>
    [More in the glossary](glossary?term=interval)
    """
    found = GLOSSARY[key]
    said = f"**{_(found.name)}.** {_(found.meaning)}"
    more = _("More in the glossary")
    return "\n\n".join(filter(None, (note, said, f"[{more}](glossary?term={key})")))
