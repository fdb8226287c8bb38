"""The base of all values that a person declares: frozen, and checked on construction with plain messages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from inspect import Parameter, Signature
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, FailFast, Field, ValidationError
from pydantic_core import PydanticKnownError

from dpengine.errors import Fault, PlanError
from dpengine.exact import exact_text
from dpengine.translation.catalogue import ENGLISH, _, language, languages, mark, number, plural

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = [
    "KINDS", "NEEDED", "About", "Declared", "Language", "Line", "Name", "Nouns", "NumberFormat", "Text", "Texts",
    "Whole", "as_kind", "at_most", "changed", "close_match", "readable_faults",
]  # fmt: skip

Value = TypeVar("Value", bound="Declared")

KINDS = ("number", "category", "yesno", "date", "time", "amount")
STATISTICS = ("count", "proportion", "sum", "mean", "variance", "quantile", "mode")
_KINDS_ELSEWHERE = {
    **dict.fromkeys(("bool", "boolean", "binary", "logical"), "yesno"),
    **dict.fromkeys(("int", "integer", "float", "double", "numeric", "decimal"), "number"),
    **dict.fromkeys(("str", "string", "text", "enum", "factor", "nominal", "object"), "category"),
    **dict.fromkeys(("datetime", "timestamp", "day", "month"), "date"),
}
MAX_FAULTS = 100
MAX_TYPED, MAX_ALIKE = 60, 500  # letters of a name, and names, among which a similar one is looked for
ALIKE = 0.75  # how much a name resembles another, from 0 to 1, if that was most likely meant
NEEDED = mark("this is needed and is not given")
A_TEXT = mark("this must be a text; a number is written in quotes, such as '0'")  # frames of pandas number columns


def _without(characters: str, message: str) -> AfterValidator:
    """Return a validator that refuses texts with one of the characters."""
    search = re.compile(f"[{characters}\x7f-\x9f\ud800-\udfff]").search

    def check(text: str) -> str:
        if search(text):
            raise ValueError(_(message))
        return text

    return AfterValidator(check)


def at_most(length: int) -> AfterValidator:
    """Return a validator that refuses longer texts."""

    def check(text: str) -> str:
        if len(text) > length:
            raise ValueError(_("this text is longer than {length} characters, the limit here", length=number(length)))
        return text

    return AfterValidator(check)


def _has_a_catalogue(code: str) -> str:
    if code != ENGLISH and code not in languages():  # English needs no catalogue
        raise ValueError(
            _("reports are written in {listed}; there is no {code!r}", listed=", ".join(languages()), code=code)
        )
    return code


def _no_truth(value: object) -> object:
    if isinstance(value, bool):  # in a file: yes, no, on or off
        raise PydanticKnownError("int_type")
    return value


Whole = Annotated[int, BeforeValidator(_no_truth)]  # a whole number; `rows: yes` is none
# Headers and cells of real tables hold line breaks and tabs; names of budgets, files and formats do not.
Line = Annotated[
    str,
    _without(
        "\x00-\x1f", mark("this text holds a control character, such as a tab or a line break, or half a character")
    ),
]
_PLAIN = _without(
    "\x00-\x08\x0b\x0c\x0e-\x1f",
    mark("this text holds a control character or half a character; only line breaks and tabs are allowed"),
)
Text = Annotated[str, _PLAIN]
Language = Annotated[str, AfterValidator(_has_a_catalogue)]
# A name is repeated in every table of its column, and a value in every row of a table, so both are bounded.
Name = Annotated[Text, at_most(2_000)]
# Formats of numbers in texts: the decimal mark, and whether there is a thousands separator.
NumberFormat = Literal["1234.5", "1,234.5", "1.234,5"]
Texts = Annotated[tuple[Annotated[Text, at_most(10_000)], ...], FailFast()]


def readable_faults(
    error: ValidationError, given: Mapping[str, Any] | None = None, model: type[BaseModel] | None = None
) -> Iterator[Fault]:
    """Yield each fault in plain words, with its place in what was given, and after `MAX_FAULTS` how many more.

    With the `model` of which `given` were to be the fields, its keys are known: those of Python, such as `first` and
    not ``from``, unless one of a file was given.
    """
    keys = {} if model is None else {field.alias or name: name for name, field in model.model_fields.items()}
    if any(key != name and key in (given or {}) for key, name in keys.items()):
        keys = {key: key for key in keys}
    faults = error.errors(include_url=False, include_input=False)
    for fault in faults[:MAX_FAULTS]:
        if fault["type"] == "model_type" and fault["loc"][-1:] == ("Each",):
            continue  # a list of tables reports its own faults; not being an `Each` is none
        place = _place(fault["loc"], keys)
        text = _sentence(fault, tuple(keys.values()) if len(place) == 1 else ())
        yield Fault(place, text, missing=fault["type"] == "missing", column=_column_at(place, given or {}))
    if len(faults) > MAX_FAULTS:
        yield Fault((), _("and {rest} more", rest=number(len(faults) - MAX_FAULTS)))


def _place(steps: Sequence[str | int], keys: Mapping[str, str]) -> tuple[str | int, ...]:
    """Return the place of a fault as people count, without steps inside the model; `keys` are those of the fields."""
    known = [step for step in steps if str(step) not in KINDS and "[" not in str(step) and step != "Each"]
    place = tuple(step + 1 if isinstance(step, int) else step[:200] for step in known)
    return (keys.get(str(place[0]), place[0]), *place[1:]) if place else ()


def _column_at(place: tuple[str | int, ...], given: Mapping[str, Any]) -> str:
    """Return the name of the column at a fault's place, if it has one: people do not count entries.

    >>> _column_at(("columns", 2, "kind"), {"columns": [{"name": "age"}, {"name": "visit", "kind": "day"}]})
    'visit'
    """
    match place, given.get("columns"):
        case ("columns", int(position), *_rest), [*entries]:
            entry = entries[position - 1]
            name = entry.get("name") if isinstance(entry, Mapping) else getattr(entry, "name", None)
            return name[:200] if isinstance(name, str) else ""
    return ""


# Sentences of the validation library by its names for faults; all others stay English.
_TYPES = {
    "bool_parsing": mark("Input should be a valid boolean, unable to interpret input"),
    "bool_type": mark("Input should be a valid boolean"),
    "date_from_datetime_inexact": mark("Datetimes provided to dates should have zero time - e.g. be exact dates"),
    "date_from_datetime_parsing": mark("Input should be a valid date or datetime, {error}"),
    "date_parsing": mark("Input should be a valid date in the format YYYY-MM-DD, {error}"),
    "date_type": mark("Input should be a valid date"),
    "decimal_parsing": mark("Input should be a valid decimal"),
    "dict_type": mark("Input should be a valid dictionary"),
    "greater_than_equal": mark("Input should be greater than or equal to {ge}"),
    "int_from_float": mark("Input should be a valid integer, got a number with a fractional part"),
    "int_parsing": mark("Input should be a valid integer, unable to parse string as an integer"),
    "int_type": mark("Input should be a valid integer"),
    "less_than_equal": mark("Input should be less than or equal to {le}"),
    "literal_error": mark("Input should be {expected}"),
    "model_type": mark("Input should be a valid dictionary or instance of {class_name}"),
    "string_unicode": mark("Input should be a valid string, unable to parse raw data as a unicode string"),
}


# What to write in a question instead of the name of a column.
_EXAMPLES = {
    "Grid": "{name: age, low: 0, high: 120, step: 1}",
    "Condition": "{column: {name: smokes, kind: yesno}, labels: [yes]}",
}


def _sentence(fault: ErrorDetails, keys: Sequence[str]) -> str:
    """Describe the finding of a validator in the current language; `keys` are those of its place, if known."""
    place, context = fault["loc"], dict(fault.get("ctx", {}))
    of_question = place[-1:] == ("statistic",)
    match fault["type"]:
        case "extra_forbidden":
            kind = next((step for step in place[-2:-1] if step in KINDS), None)
            return _unknown_key(str(place[-1]), keys or ([] if kind is None else _keys(Declared, kind)))
        case "missing":
            return _(NEEDED)
        case "tuple_type":
            return _("this must be a list, such as [a, b]")
        case "model_type" if example := _EXAMPLES.get(context.get("class_name", "")):
            return _("a name alone does not say enough; write what is publicly known with it, such as {example}",
                     example=example)  # fmt: skip
        case "model_type" if place[-1:] == ("unit",):
            return _("this is stated by its parts, such as {example}", example="{id: patient_id, rows: 3}")
        case "model_attributes_type" if {"columns", "of", "by"} & {*place}:
            return _("a column is declared with its name, its kind and what is known of it, such as {example}",
                     example="{name: smokes, kind: yesno}")  # fmt: skip
        case "model_attributes_type" if of_question:
            return _("a statistic is declared with its kind, and with what is known of its column, such as {example}",
                     example=f"{{kind: mean, of: {_EXAMPLES['Grid']}}}")  # fmt: skip
        case "union_tag_invalid" | "union_tag_not_found":
            return _kind_needed(str(context.get("tag", "")), STATISTICS if of_question else KINDS)
        case "too_short":
            least = context["min_length"]
            return plural("at least {n} entry is needed here", "at least {n} entries are needed here", least)
        case "too_long":
            most = context["max_length"]
            return plural("at most {n} entry is allowed here", "at most {n} entries are allowed here", most)
        case known if known in _TYPES and language() != ENGLISH:
            listed, either, last = str(context.get("expected", "")).rpartition(" or ")
            if either:
                context["expected"] = _("{listed} or {last}", listed=listed, last=last)
            return _(_TYPES[known], **context)
    return _(A_TEXT) if fault["type"] == "string_type" else fault["msg"].removeprefix("Value error, ")


def _kind_needed(given: str, kinds: Sequence[str]) -> str:
    """Describe a kind that is none of those known; other programs have other names for them."""
    plain = re.sub(r"[\W_]", "", given).lower()
    named = plain if plain in kinds else _KINDS_ELSEWHERE.get(plain)
    meant = named if named in kinds else close_match(plain, kinds)
    if meant:
        return _("kind must be one of {kinds}; did you mean {meant!r}?", kinds=", ".join(kinds), meant=meant)
    return _("kind must be one of {kinds}", kinds=", ".join(kinds))


def _unknown_key(key: str, known: Sequence[str]) -> str:
    """Describe a key that is none of those `known`; without these, any key of a plan may be meant."""
    if key.lower() == "median":
        return _("this key is not known here; a median is written {example}", example="quantiles: {income: [0.5]}")
    if meant := close_match(key, known or _keys(Declared, None)):
        return _("this key is not known here; did you mean {meant!r}?", meant=meant)
    if known:
        return _("this key is not known here; there are {listed}", listed=", ".join(known))
    return _("this key is not known here; check its spelling")


def close_match(name: str, names: Collection[str]) -> str | None:
    """Return the closest match of `name` among `names`, if there is one that differs; long texts are not searched.

    >>> close_match("epsylon", ["epsilon", "dataset"]), close_match("epsilon", ["epsilon"])
    ('epsilon', None)
    """
    if len(name) > MAX_TYPED or len(names) > MAX_ALIKE:
        return None
    others = [each for each in names if each != name and len(each) <= MAX_TYPED]
    return next(iter(get_close_matches(name, others, n=1, cutoff=ALIKE)), None)


def _keys(model: type[BaseModel], kind: object) -> list[str]:
    """Return the keys in a file of a model and its subclasses; with a kind, only those of columns of that kind."""
    fields = model.model_fields
    asked = kind is None or ("kind" in fields and fields["kind"].default == kind)
    keys = [field.alias or name for name, field in fields.items() if asked]
    return [*dict.fromkeys(chain(keys, *(_keys(each, kind) for each in model.__subclasses__())))]


def _listed(value: Any) -> Any:
    """Return arrays of NumPy and columns of pandas and polars as lists, which hold plain numbers and texts."""
    as_list = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    return value if as_list is None or isinstance(value, type) else as_list()


def _as_written(value: Any) -> Any:
    """Return exact numbers and days, also within a tuple or a dictionary, as whole numbers and texts."""
    if isinstance(value, tuple):
        return tuple(map(_as_written, value))
    if isinstance(value, dict):
        return {name: _as_written(each) for name, each in value.items()}
    if isinstance(value, Decimal | Fraction):
        return int(value) if value == int(value) else exact_text(Fraction(value))
    return value.isoformat() if isinstance(value, date) else value


class _Signature:
    """The signature of a declared class in help and notebooks.

    That of the library shows validators among the types, and where the key of a file is ``to``, not the name in Python.
    """

    def __get__(self, _instance: object, model: type[BaseModel]) -> Signature:
        types = get_type_hints(model)
        return Signature([
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=types[name],
                      default=Parameter.empty if field.is_required() else field.default)
            for name, field in model.model_fields.items()
        ])  # fmt: skip


class Declared(BaseModel):
    """A frozen value, checked on construction, which is shown by what differs from the defaults.

    Raises `PlanError` with every fault found. A class that accepts more types than it stores lists them in an
    `__init__` for type checkers; at run time there is only this one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, ignored_types=(cached_property,))

    if not TYPE_CHECKING:

        def __init__(self, /, *unnamed: Any, **fields: Any) -> None:
            if unnamed:
                names = ", ".join(type(self).model_fields)
                raise TypeError(f"{type(self).__name__} takes named arguments only: {names}")
            fields = {name: _listed(value) for name, value in fields.items()}
            try:
                self.__pydantic_validator__.validate_python(fields, self_instance=self)
            except ValidationError as error:
                raise PlanError(readable_faults(error, fields, type(self))) from None

        # Marks __init__ as equal to the library's own, so that a nested value reports its faults
        # with the path to it (plan → column 3 → edges) instead of stopping at the first.
        __init__.__pydantic_base_init__ = True

        # A model of the library yields its fields, so one column in place of a list of columns would be taken for a
        # list: of texts, each with a fault of its own.
        __iter__ = None

        @classmethod
        def __pydantic_init_subclass__(cls, **_more: Any) -> None:
            cls.__signature__ = _Signature()

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the fields that differ from their defaults, with numbers and days as a person writes them."""
        fields = type(self).model_fields
        for name, value in super().__repr_args__():
            if name not in fields or value != fields[name].default:
                yield name, _as_written(value)

    def __dir__(self) -> list[str]:
        """Return the names that a notebook completes to, without those that pydantic adds."""
        return sorted({*super().__dir__()} - {*dir(BaseModel)} | {"model_copy"})

    def __str__(self) -> str:
        return repr(self)

    # Fields from which nothing follows that an instance remembers (its cached properties)
    apart: ClassVar[frozenset[str]] = frozenset()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with changed fields, which are not checked; it forgets what followed from the old ones."""
        made = super().model_copy(update=update, deep=deep)
        other = {name for name, value in (update or {}).items() if value is not getattr(self, name, None)}
        if not other <= self.apart:
            for name in made.__dict__.keys() - type(self).model_fields.keys():
                del made.__dict__[name]
        return made


def changed(value: Value, **changes: Any) -> Value:
    """Return a copy with changed fields, which are not checked, and nothing that followed from the old ones."""
    return as_kind(type(value), value, **changes)


def as_kind(kind: type[Value], value: Declared, **changes: Any) -> Value:
    """Return a value of another class with the fields of this one, or with changed ones, which are not checked."""
    construct: Any = kind.model_construct
    made: Value = construct(**{name: getattr(value, name) for name in type(value).model_fields} | changes)
    return made


ShortLine = Annotated[Line, at_most(1_000)]


class About(Declared):
    """Information for readers about the publisher of a release and the data."""

    publisher: ShortLine = ""
    contact: ShortLine = Field(default="", description="where questions go: an address or a page")
    source: ShortLine = Field(default="", description="where the data come from, such as a survey or a register")
    period: ShortLine = Field(default="", description="the time that the data describe")
    licence: ShortLine = ""
    cite_as: ShortLine = ""


MAX_NOUN = 40
_IN_NOUNS = " -'’/()"


def _a_noun(text: str) -> str:
    """Return a noun without blanks around it. No sign is allowed that marks up a text on pages or in charts."""
    noun = text.strip()
    if noun and not (noun[0].isalpha() and all(c in _IN_NOUNS or unicodedata.category(c)[0] in "LMN" for c in noun)):
        raise ValueError(_("a noun has letters, digits, blanks and {signs} only, and begins with a letter: {example}",
                           signs=" ".join(_IN_NOUNS[1:]), example=_("visits")))  # fmt: skip
    return noun


Noun = Annotated[Line, at_most(MAX_NOUN), AfterValidator(_a_noun)]


class Nouns(Declared):
    """What is counted, in the owner's words and in the plural: what the rows are, and whom the ID column identifies.

    >>> Nouns(rows="visits", people="patients")
    Nouns(rows='visits', people='patients')
    """

    rows: Noun = ""
    people: Noun = ""
