"""Draft an entry for the public registry of differential privacy deployments.

It follows the registry's schema of 15 July 2026 (opendp/deployments-registry-data, commit 3e9c812). An entry that
only a person can know is marked ``[to fill in: …]``; a field that takes one of a list of values is left out instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpengine.bundle.promises import readable_slug
from dpengine.results.result import Result
from dpengine.spec import strict_yaml
from dpengine.spec.counted_wording import persons_counted
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import ENGLISH, speaking

__all__ = ["draft_entry"]

HEADING = """\
# Draft entry for the public registry of differential privacy deployments.
# Replace each text that begins with "[to fill in", and check the others.
# Left out: data_product_sector; add Technology, Healthcare, Education, Government, Energy or Finance if one fits.
"""


@speaking(ENGLISH)  # the registry is in English, and the file is the same whatever page made it
def draft_entry(result: Result, manifest: Mapping[str, Any]) -> str:
    """Return the draft entry of `result`, which `manifest` describes, as YAML."""
    plan = result.plan
    deployment = {
        "basic": _basic(result, manifest),
        "dp_variant": _variant(manifest),
        "privacy_loss": _privacy_loss(plan, manifest["guarantee"]),
        "deployment_model": _deployment_model(manifest["guarantee"]),
        "accounting": {
            "post_processing": " ".join(manifest["post_processing"]),
            "composition": "Basic composition: the ε of all measurements adds up exactly, as rational numbers.",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _blank("how columns, bins and ε were chosen; not from the data"),
            "mechanisms": _mechanisms(manifest),
            "justification": _blank("why these choices fit the use and the people"),
        },
        "administrative": {
            "sources": _blank("links to the release and to documents about it"),
            "registry_authors": [_blank("who wrote this entry")],
        },
    }
    name = readable_slug(plan.title) or readable_slug(plan.dataset) or "release"
    entry = {"url_slug": name, "status": "Draft", "tier": 3}
    return HEADING + strict_yaml.dump(entry | {"deployment": deployment})


def _basic(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    plan = result.plan
    return {
        "name": manifest["title"],
        "data_curators": [plan.about.publisher or _blank("who publishes this")],
        "intended_use": _blank("what the numbers are meant for"),
        "data_product_type": "Summary statistics",
        "data_product_region": _blank("the region that the data describe"),
        "description": f"{plan.notes} {_tables(result)}".strip(),
        "publication_date": manifest["created"][:10],
    }


def _variant(manifest: Mapping[str, Any]) -> dict[str, Any]:
    cells = "; ".join(f"{name}: {each['cells']} cells, {each['source']}" for name, each in manifest["domain"].items())
    return {
        "variant_name": "Pure DP",
        "data_domain": f"{cells}. {manifest['coverage']}",
        "unprotected_quantities": " ".join(manifest["not_protected"]),
    }


def _privacy_loss(plan: Plan, guarantee: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "privacy_unit": "Row-level" if plan.unit.id is None else "Person-level",
        "privacy_unit_details": f"{guarantee['unit']['text']}. Neighbouring: {guarantee['neighbours']}.",
        "privacy_parameters": {"epsilon": _number(plan.epsilon), "delta": 0},
        "privacy_parameters_details": f"ε is exactly {guarantee['epsilon']}, for the whole release. Other releases "
        "about the same people add to it.",
    }


def _deployment_model(guarantee: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": guarantee["trust_model"],
        "actors": _blank("who sees the data, who sees the release, and whom each of them must trust"),
        "release_type": "One release",
        "release_type_details": _blank("whether more releases about the same people are planned"),
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }


def _blank(what: str) -> str:
    return f"[to fill in: {what}]"


def _tables(result: Result) -> str:
    tables = [" × ".join(table) for table in result.plan.marginals]
    more = f" and {len(tables) - 10} more" if len(tables) > 10 else ""
    counted = f" {persons_counted(result.plan)}" if result.plan.has_distinct else ""
    return f"Counts by {'; '.join(tables[:10])}{more}, with synthetic rows that agree with them.{counted}"


def _mechanisms(manifest: Mapping[str, Any]) -> str:
    measured = "; ".join(
        f"{what}: {entry['mechanism']}, scale {entry['scale']}, ε {entry['epsilon']}"
        for entry in manifest["measurements"]
        if (what := entry.get("purpose") or " × ".join(entry["columns"]) or "total")
    )
    versions = ", ".join(f"{name} {version}" for name, version in manifest["software"].items())
    return (
        f"{measured}. Noise is drawn as whole numbers from the exact distribution, from a cryptographic generator "
        "seeded by the operating system; no floating point numbers are involved. Running time is not constant. "
        f"Software: {versions}."
    )


def _number(epsilon: Fraction) -> float | int:
    """Return ε as a number that is not below it.

    >>> _number(Fraction(2)), _number(Fraction(1, 10)), _number(Fraction(1, 3)) >= Fraction(1, 3)
    (2, 0.1, True)
    """
    if epsilon.denominator == 1:
        return epsilon.numerator
    near = float(epsilon)
    return near if epsilon == Fraction(repr(near)) or near >= epsilon else math.nextafter(near, math.inf)
