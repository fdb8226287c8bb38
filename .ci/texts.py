"""Bring the files of translations up to date with the code, and tell what is not translated yet.

    python .ci/texts.py

New texts are added without a translation, texts that are gone are left out, and every file is sorted by the English
text, so that two people's changes rarely meet in one place. A new language: `python .ci/texts.py fr` begins it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "dpengine" / "translation"
KEYWORDS = {"_": None, "mark": None, "plural": (1, 2)}


def texts() -> Iterator[str | tuple[str, str]]:
    """Yield each text that the code and the templates mark for translation; one of a number with its plural."""
    places = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "dpengine").rglob("*.py")]
    for file in places:
        for _line, text, _comments, _context in extract_from_file("python", file, KEYWORDS):
            yield text
    for file in (ROOT / "dpengine").rglob("*.j2"):
        for _line, text, _comments, _context in extract_from_file("jinja2.ext:babel_extract", file, KEYWORDS):
            yield text


def updated(language: str) -> Catalog:
    """Return the texts in a language: those of the code, with the translations that its file holds."""
    file = FOLDER / f"{language}.po"
    old = read_po(file.read_bytes().decode().splitlines(True), locale=language) if file.exists() else Catalog(language)
    new = Catalog(language, project="Private Release", header_comment=f"# Private Release in {language}.")
    for text in texts():
        held = old.get(text[0] if isinstance(text, tuple) else text)
        key = text if isinstance(text, tuple) else (text,)
        flags = ["python-brace-format"] if any("{" in form for form in key) else []
        new.add(text, held.string if held and held.id == text else None, flags=flags)
    return new


def main(begun: list[str]) -> None:
    """Write every language's file anew."""
    for language in [*sorted(file.stem for file in FOLDER.glob("*.po")), *begun]:
        catalog = updated(language)
        with (FOLDER / f"{language}.po").open("wb") as file:
            write_po(file, catalog, width=0, sort_output=True, omit_header=True, no_location=True)
        missing = [message.id for message in catalog if message.id and not all(strings(message.string))]
        sys.stdout.write(
            "\n  ".join([f"{language}: {len(catalog)} texts, {len(missing)} not translated", *map(str, missing)]) + "\n"
        )


def strings(translation: object) -> tuple[object, ...]:
    return translation if isinstance(translation, tuple) else (translation,)


if __name__ == "__main__":
    main(sys.argv[1:])
