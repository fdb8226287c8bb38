"""The container file and the systemd units, as far as they can be tested without a container engine."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser
from packaging.specifiers import SpecifierSet

from dpengine import Ledger
from tests.plans import CLINIC
from tests.serving import served

ROOT = Path(__file__).parent.parent
STEPS = DockerfileParser(fileobj=io.BytesIO((ROOT / "Dockerfile").read_bytes())).structure
UNITS = sorted((ROOT / "docs" / "jobs").glob("*.*er*"))
HARDENED = {
    "NoNewPrivileges=true", "ProtectSystem=strict", "ProtectHome=true", "PrivateTmp=true", "CapabilityBoundingSet=",
    "UMask=0077", "RestrictSUIDSGID=true",
}  # fmt: skip


def values(instruction: str) -> list[str]:
    return [step["value"] for step in STEPS if step["instruction"] == instruction]


def test_the_container_s_file_has_no_known_weakness() -> None:
    checker = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([checker, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_it_takes_along_what_the_page_needs_and_nothing_private() -> None:
    copied = {source for value in values("COPY") for source in value.split()[:-1]}
    installed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {path.partition("/")[0] if path.startswith("data") else path for path in installed["force-include"]}
    assert needed | {"dpengine", "requirements.txt"} <= copied
    assert ".streamlit/secrets.toml" not in copied
    assert ".streamlit" not in copied


def test_it_runs_without_rights_on_a_python_that_the_package_allows() -> None:
    (image,), (user,) = values("FROM"), values("USER")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert image.removeprefix("python:").removesuffix("-slim") in SpecifierSet(project["requires-python"])
    assert user == "1000"
    assert f"--uid {user} release" in values("RUN")[0]


@pytest.mark.parametrize("unit", [path for path in UNITS if path.suffix == ".service"], ids=lambda path: path.name)
def test_services_have_few_rights(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    assert {*text.splitlines()} > HARDENED
    assert "DynamicUser=true" in text or "User=release" in text


@pytest.mark.nightly  # it needs systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_understands_its_units(unit: Path, tmp_path: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    if unit.suffix == ".service":
        (program,) = [line.partition("=")[2].split()[0] for line in text.splitlines() if line.startswith("ExecStart=")]
        text = text.replace(program, shutil.which("true") or "")  # which is there, unlike the program
    for beside in (*UNITS, unit):
        (tmp_path / beside.name).write_text(text if beside == unit else "[Service]\nExecStart=/bin/true\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / unit.name], capture_output=True, text=True, check=False
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if unit.name in line]) == (0, [])


@pytest.mark.nightly
def test_a_release_needs_only_the_folders_of_ledger_notes_temporary_files_and_output(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    writable = [tmp_path / name for name in ("ledger", "state", "spool", "out")]
    for folder in writable:
        folder.mkdir()
    environment = os.environ | {
        "PRIVATE_RELEASE_LEDGER": f"sqlite:///{tmp_path}/ledger/l.db", "PRIVATE_RELEASE_STATE": f"{tmp_path}/state",
        "TMPDIR": f"{tmp_path}/spool", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    files = [str(tmp_path / name) for name in ("plan.yaml", "t.csv")]

    def release(output: Path) -> subprocess.CompletedProcess[str]:
        publish = [sys.executable, "-m", "dpengine", "release", *files, "-o", str(output)]
        command = [sys.executable, str(ROOT / "tests" / "read_only.py"), *map(str, writable), "--", *publish]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    done = release(tmp_path / "r.zip")
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)
    done = release(tmp_path / "out" / "r.zip")
    assert (done.returncode, (tmp_path / "out" / "r.zip").exists()) == (0, True), done.stderr


SHIMS = {
    "useradd": '#!/bin/sh\necho "$@" > "$IMAGE/users"\n',
    "install": '#!/bin/sh\nfor each; do shift; case $each in -o|release) ;; /*) set -- "$@" "$IMAGE$each" ;; '
    '*) set -- "$@" "$each" ;; esac; done\nPATH=/usr/bin:/bin exec install "$@"\n',
}


def built(image: Path) -> tuple[Path, dict[str, str]]:
    """Take the steps of the container's file in a folder; return the working folder and the environment at its end.

    Accounts are only noted, and folders have no other owner: these take root.
    """
    (image / "shims").mkdir(parents=True)
    for name, script in SHIMS.items():
        (image / "shims" / name).write_text(script)
        (image / "shims" / name).chmod(0o755)
    venv.create(image / "python", with_pip=True)
    cwd = image
    known = {key: value for key, value in os.environ.items() if not key.startswith(("PRIVATE_RELEASE_", "PYTHON"))}
    environment = known | {"IMAGE": str(image), "PATH": f"{image}/shims:{image}/python/bin:{os.environ['PATH']}"}
    for step in STEPS:
        value = step["value"]
        match step["instruction"]:
            case "WORKDIR":
                cwd = image / value.removeprefix("/")
                cwd.mkdir(parents=True)
            case "COPY":
                *sources, target = value.split()
                for source in map(ROOT.joinpath, sources):
                    if source.is_dir():
                        skipped = shutil.ignore_patterns("__pycache__")
                        shutil.copytree(source, cwd / target, dirs_exist_ok=True, ignore=skipped)
                    else:
                        (cwd / target).mkdir(exist_ok=True)
                        shutil.copy(source, cwd / target)
            case "RUN":
                subprocess.run(["sh", "-ec", value], cwd=cwd, env=environment, check=True)
            case "ENV":
                pairs = (each.split("=", 1) for each in shlex.split(value))
                environment |= {name: text.replace("/var/", f"{image}/var/") for name, text in pairs}
    return cwd, environment


@pytest.mark.nightly
@pytest.mark.timeout(900)  # all that the page needs is installed anew
def test_the_steps_of_the_container_s_file_lead_to_a_page_on_a_read_only_system(tmp_path: Path) -> None:
    image = tmp_path / "image"
    cwd, environment = built(image)
    assert (image / "users").read_text().split()[-1] == "release"
    volumes = [f"{image}{volume}" for volume in values("VOLUME")[0].split()]
    assert all(Path(volume).stat().st_mode & 0o777 == 0o700 for volume in volumes)
    command = json.loads(values("CMD")[0])
    refused = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert (refused.returncode != 0, "PRIVATE_RELEASE_SIGN_IN=open" in refused.stderr + refused.stdout) == (True, True)
    health = json.loads(values("HEALTHCHECK")[0].partition("CMD")[2].strip())
    program = [sys.executable, str(ROOT / "tests" / "read_only.py"), *volumes, "--", *command]
    ours = {name: text for name, text in environment.items() if name.startswith(("PRIVATE_RELEASE", "TMPDIR", "PATH"))}
    ours |= {"PRIVATE_RELEASE_SIGN_IN": "open", "PRIVATE_RELEASE_SETTINGS": os.devnull, "HOME": "/nonexistent"}
    with served(tmp_path, program=program, cwd=cwd, **ours) as page:
        port = page.address.rpartition(":")[2]
        check = [each.replace("8501", port) for each in health]

        def is_healthy() -> bool:
            return subprocess.run(check, env=environment, capture_output=True, check=False).returncode == 0

        assert is_healthy()
        ledger = environment["PRIVATE_RELEASE_LEDGER"]
        assert Ledger(ledger).datasets() == [], "the page has begun it"
        Path(ledger.removeprefix("sqlite:///")).unlink()
        assert not is_healthy()
    assert not is_healthy()
