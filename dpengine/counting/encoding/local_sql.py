"""SQL that encodes values in the engine of this process.

Values of typed columns are compared with their bin boundaries wherever these are few; texts of a category are looked
up in enumerations, which other engines lack (see `remote_sql`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from dpengine import arrow
from dpengine.counting.encoding.bin_boundaries import (
    NUMERAL,
    boundaries_of,
    family_of,
    missing_numbers,
)
from dpengine.counting.encoding.coding import (
    BLANKS,
    Coding,
    any_of,
    boundary_tree,
    can_read,
    code_of_boundaries,
    is_complete,
    plain_number,
    without_affixes,
    yes_or_no,
)
from dpengine.counting.encoding.declared_texts import NUMBERS, Family, codes_by_text, normalised
from dpengine.counting.encoding.local_dates import text_code, typed_coding
from dpengine.sources.databases.dialects import LOCAL
from dpengine.sources.mixed import member_types, members, text_of, text_of_member
from dpengine.spec.domain import Amount, Category, Column, Date, Number, Time, YesNo
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.numeric.number import number_codes
from dpengine.sql import literal

__all__ = ["LISTS", "code_of", "grid_code_of", "grouped", "identity", "is_marker", "key_text", "number_of"]

LISTS = ("raw_texts", "days")  # the cell place_{i} has the place of a text as it is in the list of this name and _{i}
_SHORT_LIST = 20  # texts: for fewer, looking twice would take longer than a failed cast
_MAX_CELLS = 1000  # with more cells, a lookup is faster than comparisons with boundaries


def code_of(column: Column, index: int, type_name: str) -> Coding:
    """Return the coding of the table's column ``c{index}``, which has the given DuckDB type, or a mixed one.

    The code of an amount is its place on its grid.
    """
    if isinstance(column, Amount):
        return grid_code_of(column.grid, index, type_name)
    tag = str(index)
    if isinstance(column, Time):  # another column of the plan may read this one otherwise
        tag = f"{index}_{column.by}"
    if member_types(type_name):
        cells, types_by_place = _readable_members(column, index, type_name, tag)
        return _by_member(column, cells, [_code_of(column, k, each) for k, each in types_by_place.items()])
    coding = _code_of(column, tag, type_name)
    return coding if tag == str(index) else replace(coding, layers=({f"c{tag}": f"c{index}"} | coding.layers[0],))


def grid_code_of(grid: Grid, index: int, type_name: str) -> Coding:
    """Return the coding of the table's column ``c{index}``, which has the given type, by its point on a grid."""
    if member_types(type_name):
        cells, types_by_place = _readable_members(grid, index, type_name, str(index))
        return _by_member(
            grid, cells, [_number(grid, k, family_of(each) or "text") for k, each in types_by_place.items()]
        )
    return _number(grid, str(index), family_of(type_name) or "text")


def _readable_members(
    column: Column | Grid, index: int, type_name: str, tag: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return SQL of the members of a mixed column, ``c{tag}_0`` and so on, and their types by ``{tag}_0``, ….

    Members that cannot be read as the column is declared are texts.
    """
    cells, readable = {}, {}
    for k, (cell, each) in enumerate(members(f"c{index}", type_name).items()):
        is_read = can_read(column, family_of(each) or "text")
        cells[f"c{tag}_{k}"] = cell if is_read else text_of_member(cell, each)
        readable[f"{tag}_{k}"] = each if is_read else "VARCHAR"
    return cells, readable


def _by_member(column: Column | Grid, cells: dict[str, str], codings: Sequence[Coding]) -> Coding:
    """Return the coding of a mixed column from those of its members."""
    lists: dict[str, list[str]] = {}
    functions: dict[str, Callable[[Any], Any]] = {}
    whens = " ".join(f"WHEN {cell} IS NOT NULL THEN {coding.code}" for cell, coding in zip(cells, codings, strict=True))
    for coding in codings:
        cells |= coding.layers[0]
        lists |= coding.lists
        functions |= coding.functions
    return Coding((cells,), f"CASE {whens} ELSE {column.missing_code} END", is_complete(column), lists, functions)


def _code_of(column: Column, index: str, type_name: str) -> Coding:
    family, complete = family_of(type_name) or "text", is_complete(column)
    cell, raw = f"c{index}", f"raw_{index}"
    boundaries = boundaries_of(column, type_name, _MAX_CELLS)
    if boundaries is not None:
        cast = {"float": "DOUBLE", "timestamp": "TIMESTAMP"}.get(family)
        value = f"CAST({raw} AS {cast})" if cast else raw
        return Coding(({raw: cell},), code_of_boundaries(boundaries, raw, value, type_name, LOCAL), complete)
    if isinstance(column, Date | Time) and family in ("date", "timestamp") and can_read(column, family):
        return typed_coding(column, index, family, type_name)
    if isinstance(column, Number):
        return _number(column, index, family)
    cells, form = _both_texts(index, family)
    match column:
        case Category():
            return _category(column, index, family, cells, form)
        case YesNo():
            code = _unless_missing(column, raw, form, family, yes_or_no(raw, LOCAL), yes_or_no(form, LOCAL))
        case Amount():
            raise AssertionError("an amount is encoded by its place on a grid")
        case Date() | Time():
            read, declared = text_code(column, index, raw, form)
            cells |= read
            code = _unless_missing(column, raw, form, family, declared)
    return Coding((cells,), code, complete)


def identity(index: int, type_name: str) -> str:
    """Write the person's ID in column ``c{index}`` as normalised text, null if it is blank.

    The same number is the same person in every type, and as text: 1, 1.0 and '1.0'.
    """
    texts = (_identity(cell, family_of(each) or "text") for cell, each in members(f"c{index}", type_name).items())
    return f"coalesce({', '.join(texts)})"


def _identity(cell: str, family: Family) -> str:
    text = _texts(cell, family)[1]
    if family == "text":
        whole = f"CASE WHEN regexp_full_match({text}, '-?[0-9]+[.]0+') THEN split_part({text}, '.', 1) ELSE {text} END"
        text = f"CASE WHEN contains({cell}::VARCHAR, '.0') THEN {whole} ELSE {text} END"
    return f"nullif({text}, '')"


def key_text(index: int, type_name: str, *, points: bool) -> str:
    """Write the value in column ``c{index}`` as the text that is compared with declared ones, null if it is missing.

    Without `points`, 7.0 is 7 in texts too, as for a column that declares 7 and not 7.0.
    """
    cells = members(f"c{index}", type_name).items()
    texts = (_key_text(cell, family_of(each) or "text", points) for cell, each in cells)
    return f"coalesce({', '.join(texts)})"


def _key_text(cell: str, family: Family, points: bool) -> str:
    text = _texts(cell, family)[1]
    if family == "text" and not points:
        whole = f"regexp_full_match({text}, '-?(0|[1-9][0-9]*)[.]0')"
        text = f"CASE WHEN {whole} THEN split_part({text}, '.', 1) ELSE {text} END"
    return f"nullif({text}, '')"


def grouped(index: int, type_name: str) -> str:
    """Write the text in column ``c{index}`` in normalised form, null if it is blank."""
    return f"nullif({_normalised(text_of(f'c{index}', type_name))}, '')"


def _normalised(text: str) -> str:
    # Trimming all of Unicode's blanks takes ten times as long as the rest, so only texts that may have some are
    # trimmed.
    bare = f"ord({text}) BETWEEN 33 AND 126 AND ord(right({text}, 1)) BETWEEN 33 AND 126"
    return f"nfc_normalize(CASE WHEN {bare} THEN {text} ELSE trim({text}, {literal(BLANKS)}) END)"


def _texts(cell: str, family: Family) -> tuple[str, str]:
    """Write a value as raw and as normalised text."""
    match family:
        case "text":
            return f"{cell}::VARCHAR", _normalised(f"{cell}::VARCHAR")
        case "decimal":
            raw = f"{cell}::VARCHAR"
            return raw, f"CASE WHEN contains({raw}, '.') THEN rtrim(rtrim({raw}, '0'), '.') ELSE {raw} END"
        case "float":
            raw = f"(CASE WHEN NOT isnan({cell}) THEN {cell} END)::VARCHAR"
            number = f"CASE WHEN typeof({cell}) = 'FLOAT' THEN {cell}::VARCHAR::DOUBLE ELSE {cell} END"
            whole = f"{number} = trunc({number}) AND abs({cell}) < 9223372036854775808"
            return raw, f"CASE WHEN {whole} THEN ({number})::BIGINT::VARCHAR ELSE {raw} END"
        case "boolean":
            return f"CASE WHEN {cell} THEN 'True' WHEN NOT {cell} THEN 'False' END", f"{cell}::VARCHAR"
        case "timestamp":
            time = f"{cell}::TIMESTAMP"
            midnight = f"{time} = date_trunc('day', {time})"
            iso = f"replace({time}::VARCHAR, ' ', 'T')"
            return f"{time}::VARCHAR", f"CASE WHEN {midnight} THEN ({time}::DATE)::VARCHAR ELSE {iso} END"
        case "integer" | "date":
            return f"{cell}::VARCHAR", f"{cell}::VARCHAR"


def _both_texts(index: str, family: Family) -> tuple[dict[str, str], str]:
    """Return cells with the raw text and, if need be, the normalised one; and SQL for the latter over them."""
    raw, form = f"raw_{index}", f"form_{index}"
    raw_text, normalised_text = _texts(f"c{index}", family)
    if family == "text":  # most texts are written as declared, so normalising only the others saves time
        return {raw: raw_text}, _normalised(raw)
    return {raw: raw_text, form: normalised_text}, form


def _unless_missing(column: Column | Grid, raw: str, form: str, family: Family, by_raw: str, by_form: str = "") -> str:
    """Write the code of a text, decided in turn by missing markers, the branches `by_raw`, blanks and `by_form`."""
    blank = f" OR lower({form}) = 'nan'" if isinstance(column, Number | Grid) else ""
    forms = [normalised(text, family) for text in column.missing_as]
    return (
        f"CASE WHEN {raw} IS NULL{any_of(raw, column.missing_as, form, forms, LOCAL)} THEN {column.missing_code} "
        f"{by_raw} WHEN {form} = ''{blank} THEN {column.missing_code} {by_form} ELSE {column.other_code} END"
    )


def _number(column: Number | Grid, index: str, family: Family) -> Coding:
    """Encode a text column, or one with many bins, by its 64-bit value."""
    cells, value, rest = number_of(column, index, family)
    marked = is_marker(column, value)
    marked = f"WHEN {marked} THEN {column.missing_code} " if marked else ""
    boundaries = None if isinstance(column, Grid) else boundaries_of(column, "DOUBLE", _MAX_CELLS)
    functions: dict[str, Callable[[Any], Any]] = {}
    if boundaries is None:
        functions = {f"bin_{index}": column.places if isinstance(column, Grid) else _binning(column)}
        code = f"bin_{index}({value})"
    else:
        code = boundary_tree(boundaries, value, "DOUBLE", LOCAL)
    code = f"CASE {marked}WHEN isfinite({value}) THEN {code} ELSE {rest} END"
    return Coding((cells,), code, is_complete(column), functions=functions)


def is_marker(column: Number | Grid, value: str) -> str:
    """Write whether a 64-bit number is one of the column's missing markers; nothing if none of these is a number."""
    markers = ", ".join(f"{number!r}::DOUBLE" for number in missing_numbers(column.missing_as))
    return f"{value} IN ({markers})" if markers else ""


def number_of(column: Number | Grid, index: str, family: Family) -> tuple[dict[str, str], str, str]:
    """Return a layer of cells as in `Coding`, the alias of the 64-bit number in it, and SQL for the code of the rest.

    The rest are cells without a finite number. A text has one if all of it is a numeral. The engine also reads
    underscores, exponents of any length, and +-5 as −5, so texts with such letters are matched against the pattern of a
    numeral.
    """
    cells, form = _both_texts(index, family)
    raw, value, bare = f"raw_{index}", f"value_{index}", f"bare_{index}"
    if family == "text" and column.affixes:
        cells[bare] = without_affixes(form, column.affixes, LOCAL)
    match family:
        case "text" if column.format != "1234.5":
            plain = [plain_number(text, column.format, LOCAL) for text in ((form, bare) if bare in cells else (form,))]
            cells[f"plain_{index}"] = f"coalesce({', '.join(plain)})"
            cells[value] = f"TRY_CAST(plain_{index} AS DOUBLE)"
        case "text":
            odd = " OR ".join(f"contains({raw}, '{letters}')" for letters in ("_", "e", "E", "+-"))
            sure, *slow = (
                f"CASE WHEN regexp_full_match({text}, {literal(NUMERAL)}) THEN TRY_CAST({text} AS DOUBLE) END"
                for text in ((raw, form, bare) if bare in cells else (raw, form))
            )
            first = f"CASE WHEN {odd} THEN {sure} ELSE TRY_CAST({raw} AS DOUBLE) END"
            cells[value] = f"coalesce({', '.join([first, *slow])})"
        case "boolean":
            cells[value] = f"c{index}::INTEGER::DOUBLE"
        case "integer":
            cells[value] = f"c{index}::DOUBLE"
        case _:
            # By way of text, 0.7 in 32 bits or as a decimal is the same number as 0.7 in a plan or a CSV file.
            cells[value] = f"({raw})::DOUBLE"
    return cells, value, _unless_missing(column, raw, form, family, "")


def _binning(column: Number) -> Callable[[Any], Any]:
    """Return a function of the engine from numbers to the codes of their bins."""
    codes_of = number_codes(column)
    return lambda batch: arrow.from_numpy(codes_of(arrow.to_numpy(batch)))


def _category(column: Category, index: str, family: Family, cells: dict[str, str], form: str) -> Coding:
    """Look a value up by its raw text, then by its normalised text if only one declared value has that.

    An enumeration is the engine's fastest lookup of texts. A text's place in it is its code, except for missing
    markers.
    """
    raw, raw_type, form_type = f"raw_{index}", f"raw_texts_{index}", f"forms_{index}"
    by_raw, by_form = codes_by_text(column, family)
    count = len(column.values)
    first: dict[int, str] = {}
    second: dict[int, str] = {}  # other spellings of some values, such as 2.0 for 2
    for text, code in by_form.items():
        if 0 <= code < count:
            (second if code in first else first)[code] = text
    rounds = [first, second] if second else [first]
    # Values that share a normalised text get a placeholder, which begins with a blank, as no normalised text does.
    forms = [texts.get(code, f" {nth}:{code}") for nth, texts in enumerate(rounds) for code in range(count)]
    forms += [text for text, code in by_form.items() if not 0 <= code < count]
    marked = [str(k) for k, value in enumerate(column.values) if by_raw.get(value, k) != k]
    missing = column.missing_code

    # A text is normalised only if its raw form is not declared.
    unknown = form if family in NUMBERS else f"CASE WHEN place_{index} IS NULL THEN {form} END"
    position = _place(unknown if len(forms) > _SHORT_LIST else form, form_type, len(forms))
    form_place = position if family not in NUMBERS else f"place_{index}"
    form_code = f"CASE WHEN {form_place} >= {len(rounds) * count} THEN {missing} ELSE {form_place} % {count} END"
    if family in NUMBERS:
        cells[form_place] = position
        code_sql = f"CASE WHEN {raw} IS NULL THEN {missing} ELSE coalesce({form_code}, {column.other_code}) END"
        return Coding((cells,), code_sql, is_complete(column), {form_type: _storable(forms)})
    cells[place := f"place_{index}"] = _place(raw, raw_type, len(by_raw))
    is_marker = f"{place} >= {count}" + (f" OR {place} IN ({', '.join(marked)})" if marked else "")
    code_sql = (
        f"CASE WHEN {place} IS NOT NULL THEN CASE WHEN {is_marker} THEN {missing} ELSE {place} END "
        f"WHEN {raw} IS NULL OR {form} = '' THEN {missing} "
        f"ELSE coalesce({form_code}, {column.other_code}) END"
    )
    lists = {raw_type: _storable(by_raw), form_type: _storable(forms)}
    return Coding((cells,), code_sql, is_complete(column), lists)


def _place(text: str, enumeration: str, texts: int) -> str:
    """Write the place of a text in an enumeration, null if it is not there.

    For each text that it cannot cast, the engine composes an error message from the whole list, which takes a
    millisecond for 10,000 texts. So with a long list, only texts in it are cast.
    """
    known = f"CASE WHEN {text} IN (SELECT unnest(enum_range(NULL::{enumeration}))) THEN {text} END"
    return f"enum_code(TRY_CAST({known if texts > _SHORT_LIST else text} AS {enumeration}))::INTEGER"


def _storable(texts: Iterable[str]) -> list[str]:
    return [text.encode("utf-8", "replace").decode() for text in texts]
