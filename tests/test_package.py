"""The wheel, installed alone in an empty environment: the library, the command, the page and the samples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes
from email.message import Message
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from playwright.sync_api import expect, sync_playwright

from dpengine.version import VERSION
from tests.serving import QUIET, chromium, served

ROOT = Path(__file__).parent.parent
CALLER = ROOT / "tests" / "typing" / "caller.py"

pytestmark = pytest.mark.xdist_group("package")  # the environment is made once


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the engine and what it requires, and nothing else; its folder of programs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    pinned = folder / "pinned.txt"  # without hashes, which the wheel of this checkout cannot have
    pinned.write_text("\n".join(map(str, pins().values())))
    pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check")
    run(*pip, "install", "--no-compile", "--quiet", "-c", str(pinned), str(wheel))
    return folder / "bin"


def run(*command: str, cwd: Path | None = None, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command outside the checkout's reach and return what it printed."""
    outside = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=outside | variables, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def metadata(wheel: Path) -> Message:
    file = zipfile.ZipFile(wheel)
    (name,) = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
    return message_from_bytes(file.read(name))


def test_the_wheel_holds_types_templates_page_and_samples(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    page = "private_release_page"
    assert names >= {
        "dpengine/py.typed",
        "dpengine/bundle/templates/report.html.j2",
        "dpengine/bundle/templates/levels.css",
        f"{page}/app.py",
        f"{page}/.streamlit/config.toml",
        f"{page}/pages/publish.py",
        f"{page}/pages/parts/shared/look.css",
        f"{page}/data/census.parquet",
        f"{page}/data/rand.plan.yaml",
    }
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "dpengine").rglob("*.py")}
    pages = {f"{page}/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "pages").rglob("*.py")}
    assert metadata(wheel)["Version"] == VERSION
    assert {name for name in names if name.endswith(".py")} == modules | pages | {f"{page}/app.py"}


@pytest.mark.nightly
def test_the_engine_alone_publishes_and_verifies_a_sample(environment: Path, tmp_path: Path) -> None:
    command = str(environment / "private-release")
    assert "samples" in run(command, "--help", cwd=tmp_path).stdout
    run(command, "samples", "samples", cwd=tmp_path)
    plan, table = "samples/rand.plan.yaml", "samples/rand.csv.gz"
    assert run(command, "predict", plan, cwd=tmp_path).stdout
    run(command, "release", plan, table, "-o", "rand.zip", "--ledger", "sqlite:///b.db", cwd=tmp_path)
    verified = json.loads(run(command, "verify", "rand.zip", "--json", cwd=tmp_path).stdout)
    assert verified["faults"] == []
    assert "already in that folder" in run(command, "samples", "samples", cwd=tmp_path, status=2).stderr


# What follows needs an environment of its own. What is in the wheel and what it requires is read from the file itself,
# above and below; the library, the command and the page run in all other tests, from the checkout.
@pytest.mark.nightly
def test_the_version_is_the_package_s_own(environment: Path, wheel: Path, tmp_path: Path) -> None:
    version = run(
        str(environment / "python"), "-c", "import dpengine; print(dpengine.__version__)", cwd=tmp_path
    ).stdout
    assert f"-{version.strip()}-" in wheel.name


@pytest.mark.nightly
def test_without_the_page_s_packages_the_page_says_what_to_install(environment: Path, tmp_path: Path) -> None:
    refused = run(str(environment / "private-release"), "app", cwd=tmp_path, status=2)
    assert "pip install '.[page]'" in refused.stderr


@pytest.fixture(scope="module")
def with_page(environment: Path) -> Iterator[Path]:
    """The same environment, which now also finds this one's packages, those of the page among them."""
    site = Path(
        run(str(environment / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    )
    link = site / "tests.pth"
    link.write_text(sysconfig.get_path("purelib") + "\n")
    yield environment
    link.unlink()


@pytest.mark.nightly
def test_the_command_opens_the_page(with_page: Path, tmp_path: Path) -> None:
    program = [str(with_page / "private-release"), "app"]

    def visit(address: str) -> None:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=QUIET)
            page = browser.new_page()
            page.goto(address)
            page.locator(".st-key-sample_rand button").click(timeout=60_000)  # a sample of the wheel
            expect(page.get_by_text("doctor_visits").first).to_be_visible(timeout=60_000)
            browser.close()

    with served(tmp_path, program=program, cwd=tmp_path) as app, ThreadPoolExecutor(1) as pool:
        pool.submit(visit, app.address).result()  # a thread of its own, since others may drive a browser in this one


@pytest.mark.nightly
def test_programs_are_type_checked_against_the_wheel(with_page: Path, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(CALLER.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "wrong.py").write_text("import dpengine as dpe\ndpe.Plan(dataset='a', epsilons='1')\n")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(with_page / "python")]
    checked = run(*mypy, "right.py", "wrong.py", cwd=tmp_path, status=1)
    assert 'Unexpected keyword argument "epsilons"' in checked.stdout
    assert "right.py" not in checked.stdout


def test_tests_of_one_group_run_in_one_process(request: pytest.FixtureRequest) -> None:
    """Versions of pytest and its xdist that do not fit together drop groups in silence: each set-up is made twice."""
    assert os.environ.get("PYTEST_XDIST_WORKER") is None or request.node.nodeid.endswith("@package")


def pins() -> dict[str, Requirement]:
    """What requirements.txt installs, by name; comments tell which lines were chosen and which come with them."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    requirements = [Requirement(line.removesuffix(" \\")) for line in lines if line and line[0].isalnum()]
    return {canonicalize_name(each.name): each for each in requirements}


def test_requirements_pin_what_the_metadata_asks_for(wheel: Path) -> None:
    asked = [Requirement(each) for each in metadata(wheel).get_all("Requires-Dist", [])]
    wanted = {canonicalize_name(each.name): each for each in asked if "spark" not in str(each.marker)}
    pinned = pins()
    assert wanted.keys() <= pinned.keys()
    for name, requirement in wanted.items():
        (version,) = pinned[name].specifier
        assert Version(version.version) in requirement.specifier, name
    needed, todo = set(wanted), list(wanted)
    while todo:  # all else comes with these, and nothing is pinned that nothing needs
        for each in map(Requirement, requires(todo.pop()) or ()):
            name = canonicalize_name(each.name)
            if name in pinned and name not in needed:
                needed.add(name)
                todo.append(name)
    assert set(pinned) <= needed | {"psycopg-binary"}
