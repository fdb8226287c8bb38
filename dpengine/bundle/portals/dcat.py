"""Describe a release in DCAT-AP, the profile in which open data portals in Europe exchange their catalogues.

Source: DCAT-AP 3.0 (semiceu.github.io/DCAT-AP/releases/3.0.1), written in JSON-LD. Addresses of files are relative to
that of the description, so they hold wherever the unpacked bundle is put.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from dpengine.bundle.portals.content import FileContent, ReleaseContent, licence_address
from dpengine.spec.declared import About

__all__ = ["dcat"]

CONTEXT = {
    "adms": "http://www.w3.org/ns/adms#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcatap": "http://data.europa.eu/r5r/",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_EU = "http://publications.europa.eu/resource/authority"
_IANA = "https://www.iana.org/assignments/media-types"
_CSV = ("CSV", f"{_IANA}/text/csv")
_PARQUET = ("PARQUET", f"{_IANA}/application/vnd.apache.parquet")
_DAY = r"\d{4}(?:-\d\d(?:-\d\d)?)?"
_PERIOD = re.compile(rf"\s*({_DAY})(?:\s*(?:to|and|until|bis|und|/|–|—| - )\s*({_DAY}))?\s*")
_DATES = {4: "gYear", 7: "gYearMonth", 10: "date"}


def dcat(release: ReleaseContent, about: About) -> dict[str, Any]:
    """Return the description of a release, for `dcat.jsonld`."""
    return {
        "@context": CONTEXT,
        "@id": release.identifier,
        "@type": "dcat:Dataset",
        "dct:identifier": release.identifier,
        "dct:title": release.title,
        "dct:description": release.text,
        "dct:issued": _typed(release.time, "dateTime"),
        "dct:language": _node("dct:LinguisticSystem", f"{_EU}/language/ENG"),
        "dcat:keyword": list(release.keywords),
        "dcat:version": "1.0.0",
        **_stated(about),
        "dcat:distribution": [each for file in release.files for each in _distributions(file, release, about)],
    }


def _stated(about: About) -> dict[str, Any]:
    """Return what the publisher stated about the release, and nothing else."""
    stated: dict[str, Any] = {}
    if about.publisher:
        stated["dct:publisher"] = _node("foaf:Agent") | {"foaf:name": about.publisher}
    if about.contact:
        stated["dcat:contactPoint"] = _node("vcard:Kind") | {
            "vcard:fn": about.publisher or about.contact,
            **_contact_address(about.contact),
        }
    if about.source:
        stated["dct:provenance"] = _node("dct:ProvenanceStatement") | {"rdfs:label": about.source}
    if about.period:
        stated["dct:temporal"] = _node("dct:PeriodOfTime") | {"rdfs:label": about.period, **_dates(about.period)}
    return stated


def _contact_address(contact: str) -> dict[str, Any]:
    plain = " " not in contact
    if plain and contact.startswith(("http://", "https://")):
        return {"vcard:hasURL": {"@id": _quoted(contact)}}
    return {"vcard:hasEmail": {"@id": f"mailto:{_quoted(contact)}"}} if plain and contact.count("@") == 1 else {}


def _dates(period: str) -> dict[str, Any]:
    """Return the first and the last day of a period that is written as one or two dates; otherwise nothing.

    >>> _dates("1994 and 1995")["dcat:endDate"], _dates("since the war")
    ({'@type': 'xsd:gYear', '@value': '1995'}, {})
    """
    if not (match := _PERIOD.fullmatch(period)):
        return {}
    first, last = match[1], match[2] or match[1]
    return {
        "dcat:startDate": _typed(first, _DATES[len(first)]),
        "dcat:endDate": _typed(last, _DATES[len(last)]),
    }


def _distributions(file: FileContent, release: ReleaseContent, about: About) -> list[dict[str, Any]]:
    """Describe the CSV file of a table, and the Parquet file, if there is one."""
    paths = {file.path: _CSV} | ({file.parquet: _PARQUET} if file.parquet else {})
    distributions = []
    for path, (form, media) in paths.items():
        sealed, place = release.sealed[path], quote(path)
        document = _node("dct:LicenseDocument", _quoted(licence_address(about.licence))) | {"rdfs:label": about.licence}
        distributions.append({
            "@type": "dcat:Distribution",
            "@id": f"#{place}",
            "dct:title": f"{file.title} ({form})",
            "dct:description": file.text,
            "dcat:accessURL": _node("rdfs:Resource", place),
            "dcat:downloadURL": _node("rdfs:Resource", place),
            "dct:format": _node("dct:MediaTypeOrExtent", f"{_EU}/file-type/{form}"),
            "dcat:mediaType": _node("dct:MediaType", media),
            "dcat:byteSize": _typed(str(sealed["bytes"]), "nonNegativeInteger"),
            "spdx:checksum": _node("spdx:Checksum") | {
                "spdx:algorithm": _node("spdx:ChecksumAlgorithm", CONTEXT["spdx"] + "checksumAlgorithm_sha256"),
                "spdx:checksumValue": _typed(sealed["sha256"], "hexBinary"),
            },
            **({"dct:license": document} if about.licence else {}),
        })  # fmt: skip
    return distributions


def _node(type_: str, address: str = "") -> dict[str, Any]:
    return ({"@id": address} if address else {}) | {"@type": type_}


def _typed(text: str, type_: str) -> dict[str, str]:
    return {"@type": f"xsd:{type_}", "@value": text}


def _quoted(address: str) -> str:
    """Return an address with all characters quoted that are not allowed in one; it may hold words of any language.

    >>> _quoted("https://example.org/a|b?c=1")
    'https://example.org/a%7Cb?c=1'
    """
    return quote(address, safe=":/?#[]@!$&'()*+,;=%-._~")
