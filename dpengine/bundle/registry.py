"""Draft an entry for the public registry of differential privacy deployments.

It has the form of the registry's own files (tiers 1 to 3, in their order). Values that only a person can know are
empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dpengine.results.result import Result
from dpengine.spec import strict_yaml

__all__ = ["draft_entry"]

HEADING = """\
# Draft entry for the public registry of differential privacy deployments.
# Values that are '' are for a person to fill in; check the others.
"""


def draft_entry(result: Result, manifest: Mapping[str, Any]) -> str:
    """Return the draft entry of `result`, which `manifest` describes, as YAML."""
    guarantee = manifest["guarantee"]
    measured = "; ".join(
        f"{what}: {entry['mechanism']}, scale {entry['scale']}, ε {entry['epsilon']}"
        for entry in manifest["measurements"]
        if (what := entry.get("purpose") or " × ".join(entry["columns"]) or "total")
    )
    cells = "; ".join(f"{name}: {each['cells']} cells, {each['source']}" for name, each in manifest["domain"].items())
    versions = ", ".join(f"{name} {version}" for name, version in manifest["software"].items())
    deployment = {
        "product": {
            "name": manifest["title"],
            "data_curators": [""],
            "intended_use": "",
            "data_product_type": ["Summary statistics", "Synthetic data"],
            "data_product_region": "",
            "description": result.plan.notes,
            "publication_date": manifest["created"][:10],
            "data_product_sector": "",
        },
        "dp_flavor": {
            "name": "Pure DP",
            "data_domain": f"{cells}. {manifest['coverage']}",
            "unprotected_quantities": " ".join(manifest["not_protected"]),
        },
        "privacy_loss": {
            "privacy_unit": "Row-level" if result.plan.unit.id is None else "Person-level",
            "privacy_unit_description": f"{guarantee['unit']['text']}. Neighbouring: {guarantee['neighbours']}.",
            "privacy_parameters": {key: _unquoted(guarantee[key]) for key in ("epsilon", "delta")},
            "privacy_parameters_description": "For the whole release. Other releases about the same people add to it.",
        },
        "model": {
            "model_name": "Central",
            "model_name_description": guarantee["trust_model"],
            "actors": "",
            "release_type": "One release",
            "release_type_description": "",
            "data_source_type": "Static",
            "data_source_type_description": "",
            "access_type": "Non-interactive",
            "access_type_description": "",
        },
        "accounting": {
            "post_processing": " ".join(manifest["post_processing"]),
            "composition": "Basic composition: the ε of all measurements adds up exactly, as rational numbers.",
        },
        "implementation": {
            "pre_processing_eda_hyperparameter_tuning": "",
            "mechanisms": f"{measured}. "
            "Noise is drawn as whole numbers from the exact distribution, from a cryptographic generator seeded by "
            "the operating system; no floating point numbers are involved. Running time is not constant. "
            f"Software: {versions}.",
            "justification": "",
        },
        "resources": {"sources": "", "registry_authors": [""]},
    }
    return HEADING + strict_yaml.dump({"status": "Draft", "tier": 3, "deployment": deployment})


def _unquoted(exact: str) -> Decimal | str:
    """Return a decimal, which YAML writes without quotes; a fraction stays a text."""
    return exact if "/" in exact else Decimal(exact)
