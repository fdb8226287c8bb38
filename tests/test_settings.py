"""Settings: the command line before the environment before the file before the default, and errors with their place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dpengine import Ledger, SettingsError
from dpengine.settings import FILE, PREFIX, Settings, check_temporary_folder, origin, settings, variable
from pages.parts.access.settings import check_start
from tests.command import run
from tests.test_docs import rows

ROOT = Path(__file__).parent.parent


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file of its own, which is there once it is written; nothing is set in the environment."""
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
    monkeypatch.setenv(FILE, str(tmp_path / "settings.toml"))
    monkeypatch.setenv(variable("state"), str(tmp_path / "state"))
    return tmp_path / "settings.toml"


def place(*arguments: str) -> str:
    """Where a new ledger is begun."""
    done = run("ledger", "--json", *arguments)
    assert done.exit_code == 0, done.stderr
    return str(json.loads(done.stderr)["warning"])


def test_the_command_line_goes_before_environment_file_and_default(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def at(name: str) -> str:
        return f"sqlite:///{file.parent / name}"

    file.write_text(f'ledger = "{at("file.db")}"\nmax_upload_mb = 20\n')
    assert place().endswith("/file.db")
    assert (origin("ledger"), origin("max_upload_mb"), origin("demo")) == (str(file), str(file), "default")
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", at("environment.db"))
    assert place().endswith("/environment.db")
    assert (origin("ledger"), settings().max_upload_mb) == ("PRIVATE_RELEASE_LEDGER", 20)
    assert place("--ledger", at("option.db")).endswith("/option.db")
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", "")  # as if it were not set
    assert origin("ledger") == str(file)


def test_without_settings_there_are_defaults(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILE, "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(file.parent))
    monkeypatch.delenv(variable("state"))
    assert settings() == Settings.model_construct(max_upload_mb=8000, demo=False)
    (file.parent / "private-release").mkdir()
    (file.parent / "private-release" / "settings.toml").write_text("demo = true\n")
    monkeypatch.setenv(variable("sign_in"), "open")  # a process reads the file once
    assert (settings().demo, settings().sign_in) == (True, "open")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('leger = "x"', [("leger", "there is no such setting")]),
        ("max_upload_mb = 0\ndemo = 7", [("max_upload_mb", "greater than 0"), ("demo", "boolean")]),
        ('sign_in = "badge"', [("sign_in", "'none', 'open', 'oidc' or 'header'")]),
        ("ledger = 5", [("ledger", "string")]),
        ('ledger = "postgresql://a:geheim', [("", "no TOML")]),
    ],
)
def test_an_invalid_setting_is_reported_with_its_place(text: str, places: list[tuple[str, str]], file: Path) -> None:
    file.write_text(text)
    done = run("settings")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "geheim" not in done.stderr
    for line, (name, said) in zip(done.stderr.splitlines(), places, strict=True):
        assert line.startswith(f"private-release: {file}{f' → {name}' if name else ''}: ")
        assert said in line


def test_a_wrong_variable_is_named_and_its_value_is_not(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("max_upload_mb = 5")
    monkeypatch.setenv("PRIVATE_RELEASE_MAX_UPLOAD_MB", "geheim")
    with pytest.raises(SettingsError) as caught:
        Ledger()
    assert [fault.path for fault in caught.value.faults] == [("PRIVATE_RELEASE_MAX_UPLOAD_MB",)]
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        ("PRIVATE_RELEASE_LEDGR", "LEDGER"),
        ("PRIVATE_RELEASE_LEDGER_URL", "LEDGER"),
        ("PRIVATE_RELASE_STATE", "STATE"),
        ("private_release_signin", "SIGN_IN"),
        ("PRIVATE_RELEASE_UPLOAD_MB", "MAX_UPLOAD_MB"),
        ("PRIVATE_RELEASE_SETTING", "SETTINGS"),
    ],
)
def test_a_mistyped_variable_is_not_passed_over(
    mistyped: str, meant: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.touch()
    monkeypatch.setenv(mistyped, "geheim")
    done = run("ledger")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"private-release: {mistyped}: there is no such setting; did you mean {PREFIX}{meant}?\n"
    with pytest.raises(SettingsError, match="did you mean"):
        Ledger()


def test_variables_of_scripts_and_clusters_are_left_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("max_upload_mb = 5")
    names = (
        "COMMAND",
        "SERVICE_HOST",
        "SERVICE_PORT",
        "PORT",
        "CHROMIUM",
        "NIGHTLY",
        "ENGINES",
        "EXAMPLES",
        "LOOKS",
        "PLANS",
    )
    for name in names:
        monkeypatch.setenv(PREFIX + name, "x")
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGR", "")  # as if it were not set
    assert settings().max_upload_mb == 5


def test_a_file_that_is_named_and_is_not_there_is_not_passed_over(file: Path) -> None:
    with pytest.raises(SettingsError, match="there is no file"):
        settings()
    file.mkdir()
    assert settings().ledger is None, "only what can be read is read"


def test_a_file_that_cannot_be_read_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILE, "/proc/self/mem")  # not even root reads its beginning
    with pytest.raises(SettingsError, match="cannot be read"):
        settings()


def test_the_command_shows_what_applies_and_hides_passwords(file: Path) -> None:
    file.write_text('ledger = "postgresql+psycopg://a:geheim@h/db?sslpassword=geheim"\n')
    lines = run("settings").stdout.splitlines()
    assert lines[:2] == [f"settings file: {file}", f"ledger = postgresql+psycopg://a:***@h/db   ({file})"]
    assert lines[3:] == ["max_upload_mb = 8000   (default)", "sign_in = none   (default)", "demo = false   (default)"]
    done = run("settings", "--json")
    answer = json.loads(done.stdout)
    assert [each["setting"] for each in answer["settings"]] == list(Settings.model_fields)
    assert "geheim" not in done.output + repr(settings()) + "".join(lines)


def test_the_command_says_where_an_account_keeps_its_ledger(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(file.parent / "data"))
    assert f"ledger = sqlite:///{file.parent / 'data/private-release/ledger.db'}   (default)" in run("settings").stdout
    assert not (file.parent / "data").exists()


def test_an_account_without_a_folder_for_its_ledger_is_told_to_name_another(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("")
    (file.parent / "no_folder").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(file.parent / "no_folder"))
    done = run("ledger")
    assert done.exit_code == 2, done.exception
    assert "set PRIVATE_RELEASE_LEDGER to another place" in done.stderr


def test_the_guide_lists_every_setting_as_the_model_says() -> None:
    guide = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    model = [
        [f"`{variable(name)}`", f"`{name}`", field.description, field.title or str(field.default).lower()]
        for name, field in Settings.model_fields.items()
    ]
    assert list(rows(guide, "variable")) == model


def test_the_page_takes_no_other_folder_for_uploads_than_the_named_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)  # it is looked for anew
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    check_temporary_folder()
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "mistyped"))
    with pytest.raises(SettingsError, match=r"^TMPDIR: uploads cannot be written to .*mistyped"):
        check_start()


def test_the_environment_is_read_in_one_place() -> None:
    """Besides, it is handed on to other processes, and one variable is the web server's own."""
    allowed = {"dpengine/settings.py", "dpengine/isolation/run.py", "dpengine/installed.py",
               "pages/parts/access/person.py"}  # fmt: skip
    sources = [ROOT / "app.py", *(ROOT / "dpengine").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    reading = {str(path.relative_to(ROOT)) for path in sources if re.search(r"\benviron\b|getenv", path.read_text())}
    assert reading == allowed


def test_the_help_and_what_needs_no_setting_do_not_load_them() -> None:
    code = "import sys, dpengine.cli; print('pydantic_settings' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\n"
