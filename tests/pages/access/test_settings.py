"""The operator's settings: a setting that would let in the wrong people is refused before anything is served."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path

import pytest
from streamlit import config

from pages.parts.access import settings
from pages.parts.access.settings import Access, AccessError, Header, NoSignIn, Oidc, check_start, read
from tests.pages.people import PROVIDER, set_rules
from tests.serving import served

HEADER = '[sign_in]\nway = "header"\nheader = "X-Release-Person"\nproxies = ["127.0.0.1"]\n'
GROUP = '[groups.clinic]\nowners = ["ann@example.org"]\n'
DATABASE = '[connections_for_release.registry]\nurl = "duckdb://"\n'


def of(text: str, variable: str = "") -> Access:
    return read(tomllib.loads(text), variable)


def test_without_settings_nobody_signs_in_and_only_this_machine_is_served() -> None:
    assert of("").sign_in == NoSignIn(way="none")
    assert of("", "open").sign_in == NoSignIn(way="open")


def test_each_way_to_sign_in_is_recognised() -> None:
    assert isinstance(of(PROVIDER).sign_in, Oidc)
    proxy = of(HEADER).sign_in
    assert isinstance(proxy, Header)
    assert proxy.header == "x-release-person"
    found = of(PROVIDER.replace('"oidc"', '"oidc"\nclaim = "sub"\nhours = 2')).sign_in
    assert isinstance(found, Oidc)
    assert (found.claim, found.lasts) == ("sub", timedelta(hours=2))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[sign_in]\nway = "saml"', "way"),
        ('[sign_in]\nwya = "none"', "wya"),
        ('[sign_in]\nway = "none"\nheader = "X-A-B"', "header"),
        ('[sign_in]\nway = "header"\nproxies = ["127.0.0.1"]', "header"),
        ('[sign_in]\nway = "header"\nheader = "X-Person"', "proxies"),
        (HEADER.replace('["127.0.0.1"]', "[]"), "proxies"),
        (HEADER.replace("127.0.0.1", "0.0.0.0/0"), "anyone else could claim to be anyone"),
        (HEADER.replace("127.0.0.1", "::/0"), "anyone else could claim to be anyone"),
        (HEADER.replace("127.0.0.1", "proxy.example.org"), "proxies"),
        (HEADER.replace("X-Release-Person", "Host"), "nothing else uses"),
        (HEADER.replace("X-Release-Person", "Sec-Fetch-Site"), "nothing else uses"),
        (HEADER.replace("X-Release-Person", "X Person:"), "header"),
        ('[sign_in]\nway = "oidc"', "[auth]"),
        (PROVIDER.replace('way = "oidc"', 'way = "none"'), "[auth]"),
        (PROVIDER.replace('[sign_in]\nway = "oidc"', ""), "[auth]"),
        (PROVIDER.replace('"oidc"', '"oidc"\nhours = 0'), "hours"),
        (PROVIDER.replace('"oidc"', '"oidc"\nhours = 10000'), "hours"),
        (GROUP, "groups need a way to sign in"),
        (PROVIDER + "[groups.clinic]\nviewers = ['v']", "needs owners"),
        (PROVIDER + GROUP + 'manager = "m"', "manager"),
        (PROVIDER + GROUP + 'connections = ["registry"]', "there is no"),
        (PROVIDER + '[groups." "]\nowners = ["a"]', "groups"),
    ],
)
def test_contradictory_settings_are_refused_and_named(text: str, told: str) -> None:
    with pytest.raises(AccessError) as refused:
        of(text)
    assert told in str(refused.value)
    assert "of the test" not in str(refused.value), "no secret is repeated"


def test_groups_may_use_the_connections_that_exist() -> None:
    group = of(PROVIDER + GROUP + 'connections = ["registry"]\n' + DATABASE).groups["clinic"]
    assert group.connections == ("registry",)


def test_the_variable_and_the_file_must_agree() -> None:
    with pytest.raises(AccessError, match="keep one"):
        of(HEADER, "open")


@pytest.mark.parametrize("address", ["", None, "0.0.0.0", "::", "10.0.0.7", "release.example.org", "127.0.0.1.example"])
def test_without_sign_in_no_other_machine_is_let_in(monkeypatch: pytest.MonkeyPatch, address: str | None) -> None:
    monkeypatch.setattr(config, "get_option", {"server.address": address}.__getitem__)
    set_rules(monkeypatch, "")
    with pytest.raises(AccessError, match="PRIVATE_RELEASE_SIGN_IN=open"):
        check_start()
    for allowed in ('[sign_in]\nway = "open"', HEADER):
        set_rules(monkeypatch, allowed)
        check_start()


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "127.0.0.9", "::1"])
def test_this_machine_may_always_be_served(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(config, "get_option", {"server.address": address}.__getitem__)
    set_rules(monkeypatch, "")
    check_start()


def test_a_secrets_file_that_cannot_be_read_does_not_switch_sign_in_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secrets.toml").write_text('[sign_in\nway = "oidc"')
    monkeypatch.setattr(config, "get_option", {"secrets.files": [str(tmp_path / "secrets.toml")]}.__getitem__)
    monkeypatch.setattr(settings.st.secrets, "load_if_toml_exists", lambda: False)
    with pytest.raises(AccessError, match="cannot be read"):
        settings._secrets()


def test_a_server_that_would_be_open_says_so_and_does_not_start(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="private-release: Without sign-in") as refused,
        served(tmp_path, STREAMLIT_SERVER_ADDRESS="0.0.0.0"),
    ):
        pass
    assert "Traceback" not in str(refused.value)
