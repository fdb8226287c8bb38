"""The operator's settings for sign-in and groups, read once and checked before anything is served."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator
from streamlit import config
from streamlit.auth_util import get_signing_secret, validate_auth_credentials
from streamlit.errors import StreamlitAuthError

from dpengine.settings import check_temporary_folder, settings, variable
from pages.parts.shared.demo import is_demo

__all__ = [
    "CONNECTIONS",
    "Access",
    "AccessError",
    "Group",
    "Header",
    "NoSignIn",
    "Oidc",
    "access",
    "check_start",
    "is_loopback",
]

VARIABLE = variable("sign_in")  # sets a way to sign in that needs no other settings
CONNECTIONS = "connections_for_release"  # the section with the databases that owners may use
SECRET_LETTERS = 32  # fewest letters of the secret that signs cookies
HELP = "docs/deploy.md says how"

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class AccessError(Exception):
    """The settings for sign-in and groups cannot be used, so nothing is served; `faults` lists all that is wrong."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NoSignIn(_Strict):
    """No sign-in: everybody who reaches the server is the same local person, who may do everything.

    With "none", only this machine reaches it. "open" is for a server whose surroundings decide who reaches it, such as
    a container of which the port is published to one machine only.
    """

    way: Literal["none", "open"] = "none"


class Oidc(_Strict):
    """People sign in at an OpenID Connect provider, through Streamlit, which has its settings in ``[auth]``.

    `claim` is the provider's name for a person that groups list; an e-mail address counts only if it is verified. A
    person and their own account are identified by issuer and subject, which a provider never gives to anyone else.
    """

    way: Literal["oidc"]
    claim: Name = "email"
    lasts: timedelta = Field(timedelta(hours=12), alias="hours", gt=timedelta(0), le=timedelta(days=30))
    personal: bool = True  # whether people in no group have an account of their own

    @field_validator("lasts", mode="before")
    @classmethod
    def _hours(cls, value: object) -> object:
        return timedelta(hours=value) if isinstance(value, int | float) and not isinstance(value, bool) else value


class Header(_Strict):
    """A proxy signs people in and names them in a header; only requests that come from its addresses are answered."""

    way: Literal["header"]
    header: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{3,60}$", to_lower=True)]
    proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], Field(min_length=1)]
    personal: bool = True

    @field_validator("header")
    @classmethod
    def _unused_elsewhere(cls, value: str) -> str:
        if value in ("host", "origin", "cookie", "connection", "upgrade", "forwarded") or value.startswith("sec-"):
            raise ValueError("name a header that nothing else uses, such as X-Release-Person")
        return value

    @field_validator("proxies")
    @classmethod
    def _not_everybody(cls, value: tuple[IPv4Network | IPv6Network, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
        if any(network.prefixlen == 0 for network in value):
            raise ValueError("name the addresses of the proxy, not all there are: anyone else could claim to be anyone")
        return value


class Group(_Strict):
    """People who share datasets, budgets and releases, listed by what they may do, and the databases they may use."""

    owners: tuple[Name, ...] = ()
    stewards: tuple[Name, ...] = ()
    viewers: tuple[Name, ...] = ()
    connections: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _can_work(self) -> Self:
        if not self.owners:
            raise ValueError("a group needs owners: they publish")
        return self


class Access(_Strict):
    """All settings: the way to sign in, and the groups by name."""

    sign_in: NoSignIn | Oidc | Header = Field(NoSignIn(), discriminator="way")
    groups: dict[Name, Group] = {}

    @model_validator(mode="after")
    def _somebody_to_be_in_them(self) -> Self:
        if self.groups and isinstance(self.sign_in, NoSignIn):
            raise ValueError("groups need a way to sign in: without one, the page does not know who is who")
        return self


_read: Access | None = None


def access() -> Access:
    """Return the settings, read once. Raises `AccessError` if they cannot be used."""
    global _read
    if _read is None:
        _read = read(_secrets(), settings().sign_in or "")
    return _read


def check_start() -> None:
    """Raise an error that says what to do if strangers could reach the server, or rows be written to the wrong disk."""
    check_temporary_folder()
    sign_in = access().sign_in
    if is_demo() and not isinstance(sign_in, NoSignIn):
        raise AccessError("A demonstration is for everybody who reaches it: serve it without sign-in.")
    if isinstance(sign_in, Oidc):
        _check_provider()
    if isinstance(sign_in, NoSignIn) and sign_in.way == "none" and not is_loopback(config.get_option("server.address")):
        raise AccessError(
            "Without sign-in this server may be reached from its own machine only, but server.address lets others in. "
            f"{_way_out()} ({HELP})."
        )


def read(secrets: Mapping[str, Any], variable: str = "") -> Access:
    """Return the settings of the secrets file and the environment. Raises `AccessError` with all that is wrong."""
    sign_in = dict(secrets.get("sign_in", {}))
    if variable and sign_in.setdefault("way", variable) != variable:
        raise AccessError(f"{VARIABLE} and [sign_in] of the secrets file name different ways; keep one of them.")
    sign_in.setdefault("way", "none")
    try:
        access = Access.model_validate({"sign_in": sign_in, "groups": secrets.get("groups", {})})
    except ValidationError as error:
        raise AccessError(*(_in_words(each["loc"], each["msg"]) for each in error.errors())) from None
    if ("auth" in secrets) != isinstance(access.sign_in, Oidc):
        raise AccessError(f'[auth] and way = "oidc" in [sign_in] of the secrets file belong together ({HELP}).')
    unknown = {
        (name, each)
        for name, group in access.groups.items()
        for each in group.connections
        if each not in secrets.get(CONNECTIONS, {})
    }
    if unknown:
        raise AccessError(*(f"[groups.{name}]: there is no [{CONNECTIONS}.{each}]" for name, each in sorted(unknown)))
    return access


def _way_out() -> str:
    if is_demo():
        return f"Set it to localhost. To let others in, set {VARIABLE}=open"
    return f"Set it to localhost, or switch sign-in on; if something else decides who gets here, set {VARIABLE}=open"


def is_loopback(address: object) -> bool:
    """Whether only the machine itself can reach this address.

    >>> [is_loopback(each) for each in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "10.0.0.7", "", None)]
    [True, True, True, False, False, False, False]
    """
    if address == "localhost":
        return True
    try:
        return ip_address(str(address)).is_loopback
    except ValueError:
        return False


def _secrets() -> dict[str, Any]:
    if st.secrets.load_if_toml_exists():
        return dict(st.secrets.to_dict())
    if any(Path(path).exists() for path in config.get_option("secrets.files")):  # else sign-in would be off unnoticed
        raise AccessError("The secrets file is there but cannot be read: it must be TOML that this account may read.")
    return {}


def _check_provider() -> None:
    if find_spec("authlib") is None or find_spec("httpx2") is None:
        raise AccessError('Sign-in needs two packages more: run pip install ".[page,sign-in]" in this folder')
    try:
        validate_auth_credentials("default")
    except StreamlitAuthError as error:
        raise AccessError(f"[auth] of the secrets file cannot be used: {error}") from None
    if len(get_signing_secret()) < SECRET_LETTERS:
        raise AccessError(
            f"The cookie_secret in [auth] signs who somebody is: give it at least {SECRET_LETTERS} random letters, "
            "such as those of: openssl rand -hex 32"
        )


def _in_words(place: tuple[int | str, ...], text: str) -> str:
    where = " → ".join(str(part) for part in place)
    return f"{where or 'settings'}: {text.removeprefix('Value error, ')}"
