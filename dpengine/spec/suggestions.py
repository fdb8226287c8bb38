"""Suggest first declarations of columns from a column's name and declared type alone.

No row is read, since the rows of a table must not decide its cells (law 7). A suggestion is the usual content of such a
column, for a person to confirm or correct.
"""

from __future__ import annotations

import re

__all__ = ["NO_ANSWERS", "spellings", "suggested", "suggested_amount"]

_AGES = "0, 18, 30, 45, 65, 120"
_FLAG = (
    r"(current|ever|former)?_?smok(er|es|ing|ed)|pregnan(t|cy)|alive|dead|died|deceased|death|vaccinated|"
    r"diabet(es|ic)|hypertens(ion|ive)|asthma|(un)?employed|retired|disabled|disability|insured|veteran|consent(ed)?|"
    r"readmitted|hospitali[sz]ed|voted|(is|has|was|did|had|ever)_.+|.+_(flag|yn|yesno|ind)"
)
_PAY = "(einkommen|gehalt|lohn|verdienst|entgelt|bezuege)"
# Suggestions in the notation of a person, by the name in lower case with underscores; the first match wins.
_BY_NAME = (
    (r"(.*_)?(sex|gender|sexe|sexo)", "female, male|1..2"),
    (r"(.*_)?geschlecht", "männlich, weiblich, divers|1..2"),
    (r"(.*_)?(age|alter)(_(in_)?(years|yrs))?|age_at_.+", _AGES),
    (_FLAG, "yes, no"),
    (r"(.*_)?(birth_?year|year_of_birth|yob|geburtsjahr)", "1900 to {year} by 10"),
    (r"dob|(.*_)?(birth_?(date|day)|date_of_birth|geburtsdatum|geburtstag)", "1900 to {year} by year"),
    (r"((reporting|reference|survey)_)?year|(bezugs|berichts|erhebungs)?jahr", "{first}..{year}"),
    (r"(.*_)?(weekday|day_of_week|dow|wochentag)", "weekdays|1..7"),
    (r"(.*_)?(month|monat)(_name)?", "months|1..12"),
    (r"(us_)?state(_name)?", "us-states"),
    (r"(us_)?state_(code|abbr|abbreviation)", "us-state-codes"),
    (r"bundesland|german_state|federal_state", "german-states"),
    (r"eu_(country|member(_state)?)", "eu-countries"),
    (r"(.*_)?(country|nationality|citizenship|iso2)(_(code|iso|iso2|of_.+))?", "country-codes"),
    (r"blood_?(group|type)", "A+, A-, AB+, AB-, B+, B-, O+, O-"),
    (r"(.*_)?(pct|percent|percentage)", "0 to 100 by 10"),
    (r"bmi|body_mass_index", "10 to 60 by 5"),
    (r"(.*_)?(height|koerpergroesse)_(in_)?cm", "50 to 220 by 10"),
    (r"(.*_)?(weight|koerpergewicht)_(in_)?kg", "0 to 200 by 10"),
    (r"(.*_)?(hours_per_week|weekly_hours|hours_week)", "0 to 80 by 10"),
)
# Usual ways to write the values of a column, in the same notation.
_SPELLINGS = (
    (
        r"(.*_)?(sex|gender|sexe|sexo|geschlecht)",
        ("female, male", "weiblich, männlich, divers", "Female, Male", "f, m", "F, M", "w, m, d", "W, M, D", "1..2"),
    ),
    (r"(us_)?state(_(name|code|abbr|abbreviation))?", ("us-states", "us-state-codes")),
)
# Amounts of money or hours, which are averaged and added up; the bounds are a first guess to confirm or correct.
_AMOUNTS = (
    (r"(.*_)?(hours_per_week|weekly_hours|hours_week|hours_worked|work_hours|wochenstunden)", "0 to 80 by 1"),
    (r"(.*_)?(hourly_(wage|pay|rate)|(wage|pay|rate)_(per_)?hour|stundenlohn)", "0 to 200 by 1"),
    (
        r"(.*_)?(monthly_(wage|pay|salary|income)|(wage|pay|salary|income)_(per_)?month|rent|[a-z]*miete)",
        "0 to 20000 by 10",
    ),
    (rf"(.*_)?([a-z]*monats{_PAY}|{_PAY}_(im|pro|je)_monat)", "0 to 20000 by 10"),
    (
        r"(.*_)?(income|earnings?|wages?|salary|salaries|pay|pension|[a-z]*umsatz)"
        r"(_(per_year|annual|yearly|usd|eur|gross|net))?",
        "0 to 200000 by 100",
    ),
    (rf"(.*_)?[a-z]*{_PAY}(_(im_jahr|pro_jahr|je_jahr|jaehrlich|eur|brutto|netto))?", "0 to 200000 by 100"),
    (r"(.*_)?(costs?|charges?|expenses?|expenditures?|spending|kosten|ausgaben)(_(usd|eur))?", "0 to 100000 by 10"),
    (r"(.*_)?(prices?|preis|fees?|gebuehr)(_(usd|eur))?", "0 to 1000 by 1"),
    (r"(.*_)?(hours|stunden)", "0 to 100 by 1"),
)

_SCALE = re.compile(r"[(\[]\s*([0-9]{1,2})\s*(?:-|–|\.\.|\bbis\b|\bto\b)\s*([0-9]{1,2})\s*[)\]]\s*$", re.IGNORECASE)

# What surveys and programs usually write for no answer.
NO_ANSWERS = (
    "k. A.", "k.A.", "k. A", "k.A", "keine Angabe", "Keine Angabe", "keine Antwort", "Keine Antwort", "ohne Angabe",
    "n/a", "N/A", "n.a.", "N.A.", "NA", "#N/A", "NULL", "null", "None", "no answer", "No answer", "not stated",
    "Not stated", "not answered", "refused", "Refused", "missing", "Missing", "fehlend", "-", "–", "--", ".", "?",
    "-9", "-99", "-999", "-77", "-88",
)  # fmt: skip

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


def suggested_amount(name: str) -> str:
    """Return the bounds and the step that an amount of this name could have; "" if the name suggests none.

    >>> suggested_amount("annualIncome"), suggested_amount("hours_per_week"), suggested_amount("age")
    ('0 to 200000 by 100', '0 to 80 by 1', '')
    """
    plain = _plain(name)
    return next((text for pattern, text in _AMOUNTS if re.fullmatch(pattern, plain)), "")


def spellings(name: str) -> tuple[str, ...]:
    """Return the usual ways to write the values of a column of this name, as `notation.read` reads them, if known.

    >>> spellings("state"), spellings("region")
    (('us-states', 'us-state-codes'), ())
    """
    plain = _plain(name)
    return next((ways for pattern, ways in _SPELLINGS if re.fullmatch(pattern, plain)), ())


def suggested(name: str, kind: str, *, year: int, as_text: bool = True) -> str:
    """Return the usual content of a column of this name and kind, as `notation.read` reads it; "" if unknown.

    `kind` follows from the declared type, or else from the name; `as_text` says that the table holds it as text. `year`
    is the last one that dates run to.

    >>> suggested("Sex", "category", year=2026), suggested("birthMonth", "number", year=2026, as_text=False)
    ('female, male', '1..12')
    >>> suggested("visit_date", "date", year=2026), suggested("region", "category", year=2026)
    ('2017 to 2026 by year', '')
    >>> suggested("Berichtsjahr", "category", year=2026), suggested("Satisfied with buses (1–5)", "category", year=2026)
    ('2017..2026', '1..5')
    """
    plain = _plain(name)
    scale = _SCALE.search(name)
    if (
        scale and kind != "date" and int(scale[1]) <= 1 < int(scale[2]) <= 12
    ):  # the heading of a survey's question says its scale
        return f"{scale[1]}..{scale[2]}"
    content = next((text for pattern, text in _BY_NAME if re.fullmatch(pattern, plain)), "")
    if kind == "date" and "by year" not in content and not (as_text and content):  # a date by its type, or by its name
        content = "{first} to {year} by year"
    if content == _AGES and kind != "number":  # groups of ages, as texts
        content = ""
    if not content and kind == "yesno":
        content = "yes, no"
    words, _, codes = content.partition("|")
    return (codes if codes and kind == "number" else words).format(first=year - 9, year=year)


def _plain(name: str) -> str:
    """Return a name in lower case, with words separated by underscores."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip().translate(_UMLAUTS))
    return re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
