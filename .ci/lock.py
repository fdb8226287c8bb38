"""Write the hashes of all pinned packages into the requirements, and the bill of materials.

    pip install uv==0.13.9 cyclonedx-bom==7.5.0
    python .ci/lock.py

To add a package or change a version, edit its line in `requirements.txt` or `tests/requirements.txt` first; a new line
needs no hashes. The hashes are those of all files of that version on the package index, so that one file serves every
system and Python. The bill of materials lists what the first of the two files installs, in the form of CycloneDX.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BILL = ROOT / "docs" / "private-release.cdx.json"
PIN = re.compile(r"^(?P<pin>(?P<name>[a-z0-9-]+)==[^\s;]+(?: ; [^#\\]*[^#\\\s])?)")


def hashed(pins: list[str]) -> dict[str, str]:
    """Return each pin with the hashes of all its files, as the lines of a requirements file."""
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "pins.txt")
        asked.write_text("\n".join(pins))
        options = ["--no-deps", "--universal", "--python-version", "3.11", "--generate-hashes"]
        options += ["--no-header", "--no-annotate", "--quiet", "--no-config"]
        command = ["uv", "pip", "compile", str(asked), *options]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.split(r"(?m)^(?=[a-z0-9])", text)
    return {match["pin"]: lines.rstrip() for lines in found if (match := PIN.match(lines))}


def lock(file: Path) -> None:
    """Put hashes below each pin of a requirements file; comments stay."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("    --hash=")]
    new = hashed([match["pin"] for line in lines if (match := PIN.match(line))])
    written = []
    for line in lines:
        match = PIN.match(line)
        comment = line.partition(" # ")[2]
        written.append(new[match["pin"]] if match else line)
        if match and comment:
            written.append(f"    # {comment.strip()}")
    file.write_text("\n".join(written) + "\n", encoding="utf-8")


def bill_of_materials(requirements: Path) -> dict[str, Any]:
    """Return what `requirements` installs: versions, licences and dependencies as installed, hashes as pinned."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder, "bin", "python"))
        run("uv", "venv", "--quiet", "--python", sys.executable, folder)
        run("uv", "pip", "install", "--quiet", "--no-config", "--require-hashes", "--python", python, "-r",
            str(requirements))  # fmt: skip
        installed = cyclonedx("environment", "--pyproject", str(ROOT / "pyproject.toml"), python)
    pinned = cyclonedx("requirements", str(requirements))
    files = {component["purl"]: component["externalReferences"] for component in pinned["components"]}
    for component in installed["components"]:
        for reference in files[component["purl"]]:  # they are the same files wherever they are had from
            component.setdefault("externalReferences", []).append(reference | {"url": component["purl"]})
    (version,) = re.findall('VERSION = "(.+)"', (ROOT / "dpengine" / "version.py").read_text(encoding="utf-8"))
    installed["metadata"]["component"]["version"] = version
    return installed


def cyclonedx(*arguments: str) -> dict[str, Any]:
    options = ["--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON", "--output-file", "-"]
    bill: dict[str, Any] = json.loads(run("cyclonedx-py", arguments[0], *options, *arguments[1:]))
    return bill


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check(bill: str) -> None:
    """Raise unless a bill of materials has the form that CycloneDX demands."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill):
        raise ValueError(fault)


if __name__ == "__main__":
    for name in ("requirements.txt", "tests/requirements.txt"):
        lock(ROOT / name)
    text = json.dumps(bill_of_materials(ROOT / "requirements.txt"), indent=1, ensure_ascii=False) + "\n"
    check(text)
    BILL.write_text(text, encoding="utf-8")
