"""Write how this software is cited: `CITATION.cff` and `codemeta.json`, from `pyproject.toml` and the version.

    python .ci/citation.py

GitHub, Zotero and Zenodo read the first one, and Zenodo makes the metadata of a DOI from it; archives of software and
catalogues of research read the second one. Neither is edited by hand, so version and licence stand in one place only.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
TITLE = "Private Release"


def made() -> dict[str, str]:
    """Return the text of both files by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (version,) = re.findall('VERSION = "(.+)"', (ROOT / "dpengine" / "version.py").read_text(encoding="utf-8"))
    head = "# Written by .ci/citation.py from pyproject.toml: change it there.\n"
    cff = yaml.safe_dump(citation(project, version), sort_keys=False, allow_unicode=True, width=118)
    return {
        "CITATION.cff": head + cff,
        "codemeta.json": json.dumps(codemeta(project, version), indent=2, ensure_ascii=False) + "\n",
    }


def citation(project: dict[str, Any], version: str) -> dict[str, Any]:
    """Return the software in the Citation File Format 1.2.0."""
    return {
        "cff-version": "1.2.0",
        "message": "If you use this software, please cite it as below. A release is cited as its report says.",
        "type": "software",
        "title": TITLE,
        "abstract": project["description"],
        "authors": [{"name": each["name"]} for each in project["authors"]],
        "version": version,
        "license": project["license"],
        "keywords": project["keywords"],
    }


def codemeta(project: dict[str, Any], version: str) -> dict[str, Any]:
    """Return the software in CodeMeta 3.0."""
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": TITLE,
        "identifier": project["name"],
        "description": project["description"],
        "author": [{"@type": "Organization", "name": each["name"]} for each in project["authors"]],
        "version": version,
        "license": f"https://spdx.org/licenses/{project['license']}",
        "keywords": project["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
    }


if __name__ == "__main__":
    for name, text in made().items():
        (ROOT / name).write_text(text, encoding="utf-8")
