"""A translated page shows no sentence that the files of translations do not know, by a look at its code.

Two words with a blank between them are taken for a sentence wherever they stand. A single word is, where a widget shows
it: as its label or help. A text in an f-string is not found by the tool that collects texts, even inside ``_()``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.parts.visit.project.file import HEAD

ROOT = Path(__file__).parent.parent.parent
# Of what pages share: what is read but never shown.
ELSEWHERE = {"picture_buttons.py", "search.py"}
LABS = ("attacks", "choose", "definition", "learn", "risk", "survey")
PAGES = ("publish", "budget", "verify", "approval", "ask", "accuracy", *(f"labs/{lab}" for lab in LABS))
FOLDERS = ("publish", "budget", "ask", "accuracy", "release", "visit", *LABS)
FILES = [*(f"pages/{page}.py" for page in PAGES), *(
    str(file.relative_to(ROOT)) for folder in FOLDERS for file in sorted((ROOT / "pages/parts" / folder).rglob("*.py"))
), *(
    str(file.relative_to(ROOT)) for file in sorted((ROOT / "pages/parts/shared").rglob("*.py"))
    if file.name not in ELSEWHERE
), "pages/parts/server/drop_zone.py", "pages/parts/access/accounts.py", "app.py"]  # fmt: skip

# The same in every language; and what nobody is shown as it stands, such as columns of a frame with other headings.
NAMES = {"Private Release", "UTF-8", "CC BY 4.0", "Mac OS"}
EXCEPT = {
    "app.py": {"private-release: …"},
    "pages/parts/visit/plan/column_entry.py": {"yes, no"},
    "pages/approval.py": {"sent by", "decided by"},
    "pages/parts/accuracy/charts.py": {"true size of the cell"},
    "pages/parts/accuracy/tabs.py": {"true size of the cell"},
    "pages/parts/definition/examples.py": {"upper bound", "cut off", "typical noise"},
    "pages/parts/budget/history.py": {r"one choice among ([\d,]+) candidates"},
    "pages/parts/publish/rows_kept.py": {"at most", "rows kept", "of all"},
    "pages/parts/publish/progress.py": {"recognising the data", "checking the plan"},
    "pages/parts/publish/project/menu.py": {"private-release ledger approval send plan.yaml"},
    "pages/parts/risk/attacks.py": {
        "one table",
        "both tables",
        "exact date",
        "with the person",
        "without the person",
        "names removed",
        "our release",
        "films known",
    },
    "pages/parts/risk/own_table.py": {"of all"},
    "pages/labs/survey.py": {
        "Randomized response",
        "Unary encoding",
        "Local hashing",
        "Hadamard response",
        "Count-mean sketch",
        "Hadamard sketch",
    },
    "pages/parts/learn/charts.py": {"top left"},
    "pages/parts/shared/wording.py": {"… min"},
    "pages/parts/survey/tabs.py": {"yes to", "report …"},
    "pages/parts/release/chart.py": {"mostly noise", "all values", "(all values)"},
    "pages/parts/release/owner_view.py": {
        "true (private)",
        "rows (private)",
        "off by",
        "off on average",
        "off at most",
        "like a sample of",
    },
    "pages/parts/visit/tour.py": {"True counts"},
    "pages/parts/visit/project/file.py": {HEAD},
    "pages/parts/publish/words_for_readers.py": {"name for readers", "what it says", "whole numbers"},
}

TRANSLATES = {"_", "mark", "plural"}
SHOWS = {
    "Column", "CheckboxColumn", "NumberColumn", "SelectboxColumn", "TextColumn", "button", "caption", "checkbox",
    "data_editor", "dataframe", "date_input", "download_button", "drop_zone", "error", "expander", "file_box",
    "file_uploader", "form_submit_button", "header", "info", "link_button", "markdown", "metric", "multiselect",
    "number_input", "page_link", "pills", "popover", "radio", "segmented_control", "select_slider", "selectbox",
    "slider", "spinner", "status", "subheader", "success", "text", "text_area", "text_input", "title", "toast",
    "toggle", "warning", "write",
}  # fmt: skip
SHOWN_AS = {"alt", "body", "caption", "delta", "doing", "help", "label", "placeholder", "text", "title"}
WORD = r"(?<![\w:/.])[^\W\d_]{2,}(?![\w/=])"
SENTENCE, SINGLE = re.compile(rf"{WORD}[^\s\w]*\s+[^\s\w]*{WORD}"), re.compile(WORD)
ICON = re.compile(r":material/\w+:")


def bare(code: str) -> list[str]:
    """Return each text in this code that would be shown, or may be, as it stands there.

    >>> bare("st.button('Go on', help=_('It is free'))"), bare("st.button('Go')"), bare("x = 'go'")
    (['1: Go on'], ['1: Go'], [])
    """
    return [f"{line}: {text}" for line, text in _bare(ast.parse(code), shown=False)]


def _bare(node: ast.AST, *, shown: bool) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in TRANSLATES:
            for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
                if not _is_text(value):
                    yield from _bare(value, shown=False)
        case ast.Call():
            label = _name(node.func) in SHOWS
            yield from _bare(node.func, shown=False)
            for place, value in enumerate(node.args):
                yield from _bare(value, shown=label and place == 0)
            for keyword in node.keywords:
                yield from _bare(keyword.value, shown=keyword.arg in SHOWN_AS)
        case ast.Expr(value=ast.Constant()) | ast.Assert():  # docstrings, and what only we see
            return
        case ast.Constant(value=str(text)):
            if _reads_as_text(text, shown=shown):
                yield node.lineno, text
        case ast.JoinedStr():
            pieces = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            text = "".join(map(str, pieces))
            if any(map(_translates_a_text, ast.walk(node))) or _reads_as_text(text, shown=shown or " " in text):
                yield node.lineno, text
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _bare(part.value, shown=" " in text)
        case ast.IfExp():
            yield from _bare(node.test, shown=False)
            yield from _bare(node.body, shown=shown)
            yield from _bare(node.orelse, shown=shown)
        case ast.BinOp() | ast.BoolOp():
            for child in ast.iter_child_nodes(node):
                yield from _bare(child, shown=shown)
        case ast.arg() | ast.AnnAssign(value=None):  # what a name is, for the checker of types
            return
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _bare(child, shown=False)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _translates_a_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) in TRANSLATES and any(map(_is_text, node.args))


def _name(function: ast.AST) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _reads_as_text(text: str, *, shown: bool) -> bool:
    return bool((SINGLE if shown else SENTENCE).search(ICON.sub("", text)))


@pytest.mark.parametrize("file", FILES)
def test_every_sentence_on_these_pages_can_be_translated(file: str) -> None:
    known = NAMES | EXCEPT.get(file, set())
    untranslated = [each for each in bare((ROOT / file).read_text()) if each.split(": ", 1)[1] not in known]
    assert not untranslated, f"{file}: put these into _(), mark() or plural() of dpengine.translation.catalogue"


@pytest.mark.parametrize(
    "code",
    [
        "st.caption('Two words')",
        "place.button('Go')",
        "st.button(label if ready else 'Wait')",
        "st.caption(f'{n} rows')",
        "st.caption(f'{_(\"rows\")}: {n}')",
        "st.text_input(_('Name'), placeholder='detected')",
        "background_read.read('rows', work, table, doing='Counting')",
        "def summary():\n    'Return it.'\n    return 'no table yet'",
        "LAYOUTS = {'pairs': 'Every pair of them'}",
        "_('fine {who}', who=named('not so fine'))",
        "st.markdown(':material/report: ' + 'Nothing')",
    ],
)
def test_the_check_finds_texts_that_would_stay_english(code: str) -> None:
    assert len(bare(code)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "st.caption(_('Two words'))",
        "st.button(_('Go'), key='go', icon=':material/done:', type='primary')",
        "st.caption(f':material/report: **{plain(name)}**: {plain(fault)}')",
        "'''Two words of a docstring.'''",
        "assert table is not None, 'two words'",
        "st.text_input(_('From'), '0', placeholder='0, 18, 65')",
        "plural('{n} row', '{n} rows', 3)",
        "here.turn(f'card-{name}')",
    ],
)
def test_the_check_passes_texts_that_are_translated_or_never_shown(code: str) -> None:
    assert bare(code) == []
