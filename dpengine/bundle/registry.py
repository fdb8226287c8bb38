"""A draft entry for the public registry of differential privacy deployments, filled in as far as a release knows.

The form is that of the registry's own files (tiers 1 to 3, in the order of its entries). What only a
person can say is left empty.
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


def draft_entry(result: Result, told: Mapping[str, Any]) -> str:
    """The entry as YAML; ``told`` is the manifest of ``result``."""
    promised = told["guarantee"]
    measured = "; ".join(
        f"{what}: {entry['mechanism']}, scale {entry['scale']}, ε {entry['epsilon']}"
        for entry in told["measurements"]
        if (what := entry.get("purpose") or " × ".join(entry["columns"]) or "total")
    )
    cells = "; ".join(f"{name}: {column['cells']} cells, {column['source']}" for name, column in told["domain"].items())
    versions = ", ".join(f"{name} {version}" for name, version in told["software"].items())
    deployment = {
        "product": {
            "name": told["title"],
            "data_curators": [""],
            "intended_use": "",
            "data_product_type": ["Summary statistics", "Synthetic data"],
            "data_product_region": "",
            "description": result.plan.notes,
            "publication_date": told["created"][:10],
            "data_product_sector": "",
        },
        "dp_flavor": {
            "name": "Pure DP",
            "data_domain": f"{cells}. {told['coverage']}",
            "unprotected_quantities": " ".join(told["not_protected"]),
        },
        "privacy_loss": {
            "privacy_unit": "Row-level" if result.plan.unit.id is None else "Person-level",
            "privacy_unit_description": f"{promised['unit']['text']}. Neighbouring: {promised['neighbours']}.",
            "privacy_parameters": {key: _bare(promised[key]) for key in ("epsilon", "delta")},
            "privacy_parameters_description": "The whole release; other releases about the same people add to it.",
        },
        "model": {
            "model_name": "Central",
            "model_name_description": promised["trust_model"],
            "actors": "",
            "release_type": "One release",
            "release_type_description": "",
            "data_source_type": "Static",
            "data_source_type_description": "",
            "access_type": "Non-interactive",
            "access_type_description": "",
        },
        "accounting": {
            "post_processing": "; ".join(told["post_processing"]),
            "composition": "Basic composition: the shares of ε of the measurements add up to ε exactly, as rationals.",
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


def _bare(exact: str) -> Decimal | str:
    """A decimal that stands without quotes; a fraction stays a text."""
    return exact if "/" in exact else Decimal(exact)
