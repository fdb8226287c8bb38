"""Describe a release as a Data Package: tables with typed columns, as Frictionless and CKAN read them.

Source: Data Package standard, version 2.0 (datapackage.org), with Table Schema. Beyond the standard, a field may say
its `unit`, the `interval` that it is an end of, and a table which Parquet file holds it too.
"""

from __future__ import annotations

from typing import Any

from dpengine.bundle.portals.content import Field, FileContent, ReleaseContent, licence_address
from dpengine.bundle.promises import slug
from dpengine.safe_csv import guard
from dpengine.spec.declared import About

__all__ = ["data_package"]

PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"


def data_package(release: ReleaseContent, about: About) -> dict[str, Any]:
    """Return the descriptor of a release, for `datapackage.json`."""
    return {
        "$schema": PROFILE,
        "name": slug(release.title) or "release",
        "id": release.identifier,
        "title": release.title,
        "description": release.text,
        "version": "1.0.0",
        "created": release.time,
        "keywords": list(release.keywords),
        **_stated(about),
        "resources": [_resource(file, release.sealed[file.path]) for file in release.files],
    }


def _stated(about: About) -> dict[str, Any]:
    """Return what the publisher stated about the release, and nothing else."""
    stated: dict[str, Any] = {}
    if about.licence:
        address = licence_address(about.licence)
        stated["licenses"] = [{"path": address or "README.txt", "title": about.licence}]
    if about.publisher or about.contact:
        roles = [role for role, name in (("publisher", about.publisher), ("contact", about.contact)) if name]
        reach = _reach(about.contact) if about.publisher else {}
        stated["contributors"] = [{"title": about.publisher or about.contact, **reach, "roles": roles}]
    if about.source:
        stated["sources"] = [{"title": about.source}]
    return stated


def _reach(contact: str) -> dict[str, str]:
    if contact.startswith(("http://", "https://")) and " " not in contact:
        return {"path": contact}
    return {"email": contact} if contact.count("@") == 1 and " " not in contact else {}


def _resource(file: FileContent, sealed: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"fields": [_field(field) for field in file.fields]}
    schema["missingValues"] = [] if file.table is not None else [""]
    if file.key:
        schema["primaryKey"] = [guard(name) for name in file.key]
    # A person without any value has a line of commas, which readers would take for an error of the file.
    blank = file.table is None and all("" in field.missing for field in file.fields)
    return {
        "name": file.name,
        "type": "table",
        "path": file.path,
        "title": file.title,
        "description": file.text,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": sealed["bytes"],
        "hash": f"sha256:{sealed['sha256']}",
        **({"dialect": {"skipBlankRows": True}} if blank else {}),
        "schema": schema,
        **({"parquet": file.parquet} if file.parquet else {}),
    }


def _field(field: Field) -> dict[str, Any]:
    """Describe a column as written in the CSV file, where texts that a spreadsheet would run are escaped."""
    limits: dict[str, Any] = {"required": True} if not field.missing else {}
    if field.least is not None:
        limits["minimum"] = field.least
    if field.labels:
        limits["enum"] = [guard(label) for label in field.labels]
    more: dict[str, Any] = {"format": field.form} if field.form else {}
    if field.kind == "boolean":
        more |= {"trueValues": ["yes"], "falseValues": ["no"]}
    if any(field.missing):
        more["missingValues"] = [guard(text) for text in field.missing]
    if field.unit:
        more["unit"] = field.unit
    if field.interval_of:
        more["interval"] = {"of": field.interval_of, "end": field.end, "confidence": 0.95}
    return {
        "name": guard(field.name),
        "title": field.title,
        "type": field.kind,
        **({"description": field.text} if field.text else {}),
        **more,
        **({"constraints": limits} if limits else {}),
    }
