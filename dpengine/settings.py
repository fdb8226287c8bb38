"""Settings of the whole program: from the environment, otherwise a settings file, otherwise defaults.

Each setting is a variable such as `PRIVATE_RELEASE_LEDGER`, or a line such as ``ledger = "…"`` of the settings file,
which is TOML. Options of a command line override both. A process reads the file once: a change takes effect at the next
start.
"""

from __future__ import annotations

import os
import tempfile
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal

from platformdirs import user_config_path, user_data_path
from pydantic import Field, PositiveInt, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from dpengine.errors import Fault, SettingsError

__all__ = [
    "FILE",
    "Settings",
    "check_temporary_folder",
    "file_of_settings",
    "origin",
    "own_ledger",
    "settings",
    "variable",
]

PREFIX = "PRIVATE_RELEASE_"
FILE = PREFIX + "SETTINGS"
ALIKE = 0.9  # how much a variable's name resembles that of a setting, from 0 to 1, if it was most likely meant


class Settings(BaseSettings):
    """All settings of the program. `title` describes a default that has no fixed value."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    ledger: SecretStr | None = Field(
        None,
        title="a file in the account's data folder",
        description="Address of the ledger, as SQLAlchemy writes it: sqlite:////srv/ledger.db, "
        "postgresql+psycopg://user@host/database",
    )
    state: Path | None = Field(
        None,
        title="the account's state folder",
        description="Folder for notes of what was seen of the ledger; best on another disk than the ledger",
    )
    max_upload_mb: PositiveInt = Field(8000, description="Largest table that the page takes, in MB")
    sign_in: Literal["none", "open", "oidc", "header"] | None = Field(
        None,
        title="none",
        description="How people sign in to the page; oidc and header need more in .streamlit/secrets.toml",
    )
    demo: bool = Field(False, description="Whether the page is a demonstration: public samples only, nothing is kept")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of settings in order of precedence."""
        return env_settings, TomlConfigSettingsSource(settings_cls, file_of_settings())


def settings() -> Settings:
    """Return the settings of this process. Raises `SettingsError` for every setting that cannot be used."""
    given = sorted((name, text) for name, text in os.environ.items() if name.upper().startswith("PRIVATE"))
    return _read(file_of_settings(), tuple(given))


def file_of_settings() -> Path:
    """Return the path of the settings file, which need not exist."""
    return Path(os.environ.get(FILE) or user_config_path("private-release") / "settings.toml").absolute()


def own_ledger() -> Path:
    """Return the file of this account's own ledger, which is used if no other one is named; it need not exist."""
    return user_data_path("private-release") / "ledger.db"


def variable(setting: str) -> str:
    """Return the environment's name for a setting.

    >>> variable("max_upload_mb")
    'PRIVATE_RELEASE_MAX_UPLOAD_MB'
    """
    return PREFIX + setting.upper()


def origin(setting: str) -> str:
    """Return where the value of a setting comes from: a variable, the settings file, or "default"."""
    if any(name.upper() == variable(setting) and text for name, text in os.environ.items()):
        return variable(setting)
    return str(file_of_settings()) if setting in settings().model_fields_set else "default"


def check_temporary_folder() -> None:
    """Raise `SettingsError` if the system's folder of temporary files is another one than the operator named.

    Python silently takes the next one, such as /tmp, if a folder is missing, full or not writable: uploaded rows would
    lie on a disk that was not meant for them.
    """
    name = next((each for each in ("TMPDIR", "TEMP", "TMP") if os.environ.get(each)), None)
    if name and os.path.realpath(tempfile.gettempdir()) != os.path.realpath(folder := os.environ[name]):
        raise SettingsError(
            Fault(
                (name,),
                f"uploads cannot be written to {folder}: it must be a folder with room, where this account may write",
            )
        )


@lru_cache(maxsize=8)
def _read(file: Path, environment: tuple[tuple[str, str], ...]) -> Settings:
    """Read the settings; the arguments are cache keys, so that no file is read twice."""
    if mistyped := [fault for name, text in environment if text for fault in _mistyped(name)]:
        raise SettingsError(mistyped)
    if FILE in os.environ and os.environ[FILE] and not file.exists():
        raise SettingsError(Fault((FILE,), f"there is no file {file}"))
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsError([_fault(str(each["loc"][0]), each["msg"], file) for each in error.errors()]) from None
    except UnicodeDecodeError:
        raise SettingsError(Fault((str(file),), "the settings file is no UTF-8 text")) from None
    except ValueError as error:  # of TOML: it names line and column
        raise SettingsError(Fault((str(file),), f"the settings file is no TOML: {error}")) from None
    except OSError as error:
        text = f"the settings file cannot be read ({error.strerror}); name another one in {FILE}"
        raise SettingsError(Fault((str(file),), text)) from None


def _mistyped(name: str) -> list[Fault]:
    """Say which setting a variable means that is none, but resembles one; passed over, it would charge another ledger.

    Other names are left alone: scripts have variables of their own, and some clusters name services in this way.
    """
    known = [FILE, *map(variable, Settings.model_fields)]
    meant = [] if name.upper() in known else get_close_matches(name.upper(), known, n=1, cutoff=ALIKE)
    return [Fault((name,), f"there is no such setting; did you mean {each}?") for each in meant]


def _fault(setting: str, text: str, file: Path) -> Fault:
    """Say what is wrong with a setting, and where; never quote its value, which may be a password."""
    if setting not in Settings.model_fields:
        known = ", ".join(Settings.model_fields)
        return Fault((str(file), setting), f"there is no such setting; there are: {known}")
    in_environment = any(name.upper() == variable(setting) and given for name, given in os.environ.items())
    return Fault((variable(setting),) if in_environment else (str(file), setting), text)
