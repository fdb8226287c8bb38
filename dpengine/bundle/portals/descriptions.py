"""The descriptions of a release for portals, as the files of its bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dpengine.bundle.portals.croissant import croissant
from dpengine.bundle.portals.data_package import data_package
from dpengine.bundle.portals.dcat import dcat
from dpengine.bundle.portals.described import described
from dpengine.bundle.promises import PORTALS
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import ENGLISH, speaking

__all__ = ["texts"]


@speaking(ENGLISH)  # what is compared is the same in every language
def texts(plan: Plan, manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the descriptions of the release of `plan` by their names; `manifest` lists the files before them."""
    release = described(plan, manifest)
    made = [make(release, plan.about) for make in (data_package, croissant, dcat)]
    return {name: (json.dumps(each, indent=1, ensure_ascii=False) + "\n").encode()
            for name, each in zip(PORTALS, made, strict=True)}  # fmt: skip
