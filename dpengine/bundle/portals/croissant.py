"""Describe a release in Croissant: files, and tables of typed records, as programs for machine learning read them.

Source: Croissant format specification, version 1.0 (mlcommons.org/croissant/1.0).
"""

from __future__ import annotations

from typing import Any

from dpengine.bundle.portals.content import Field, FileContent, ReleaseContent, licence_address
from dpengine.safe_csv import guard
from dpengine.spec.declared import About

__all__ = ["croissant"]

CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
PARQUET = "application/x-parquet"
# A column of the synthetic rows is read as text if some of its values do not have its type.
_TYPES = {"string": "sc:Text", "integer": "sc:Integer", "number": "sc:Float"}


def croissant(release: ReleaseContent, about: About) -> dict[str, Any]:
    """Return the description of a release, for `croissant.json`."""
    who = {"@type": "Organization", "name": about.publisher}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": release.title,
        "description": release.text,
        "url": release.identifier,
        "version": "1.0.0",
        "datePublished": release.day,
        "citeAs": release.citation,
        "keywords": list(release.keywords),
        **({"creator": who, "publisher": who} if about.publisher else {}),
        **({"license": licence_address(about.licence) or about.licence} if about.licence else {}),
        "isLiveDataset": False,
        "distribution": [each for file in release.files for each in _objects(file, release)],
        "recordSet": [_records(file) for file in release.files],
    }


def _objects(file: FileContent, release: ReleaseContent) -> list[dict[str, Any]]:
    """Describe the CSV file of a table, and the Parquet file, if there is one."""
    paths = {file.path: ("text/csv", "CSV")} | ({file.parquet: (PARQUET, "Parquet")} if file.parquet else {})
    return [
        {
            "@type": "cr:FileObject",
            "@id": path,
            "name": path,
            "description": f"{file.text}, as {form}",
            "contentUrl": path,
            "contentSize": f"{release.sealed[path]['bytes']} B",
            "encodingFormat": media,
            "sha256": release.sealed[path]["sha256"],
        }
        for path, (media, form) in paths.items()
    ]


def _records(file: FileContent) -> dict[str, Any]:
    key = [{"@id": _identifier(file, name)} for name in file.key]
    return {
        "@type": "cr:RecordSet",
        "@id": file.name,
        "name": file.title,
        "description": file.text,
        **({"key": key if len(key) > 1 else key[0]} if key else {}),
        "field": [_field(file, field) for field in file.fields],
    }


def _field(file: FileContent, field: Field) -> dict[str, Any]:
    source, column = (file.parquet, field.name) if file.parquet else (file.path, guard(field.name))
    text = field.text or field.title
    return {
        "@type": "cr:Field",
        "@id": _identifier(file, field.name),
        "name": field.name,
        "description": f"{text} (in {field.unit})" if field.unit else text,
        "dataType": _TYPES.get(field.kind, "sc:Text") if file.parquet else "sc:Text",
        "source": {"fileObject": {"@id": source}, "extract": {"column": column}},
    }


def _identifier(file: FileContent, name: str) -> str:
    return f"{file.name}/{name}"
