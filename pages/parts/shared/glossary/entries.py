"""All terms of the glossary by their keys."""

from __future__ import annotations

from pages.parts.shared.glossary import numbers, privacy, publishing, tables
from pages.parts.shared.glossary.term import Term

__all__ = ["GLOSSARY"]

GLOSSARY: dict[str, Term] = {**privacy.TERMS, **numbers.TERMS, **tables.TERMS, **publishing.TERMS}
