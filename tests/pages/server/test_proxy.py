"""People whom a proxy names: against the app as it is served, by requests as a proxy and as others send them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus

from tests.pages.bare_tab import ask, cookie_of, opened
from tests.serving import Served, served

WHO = "X-Release-Person"
ANN, BEA = {WHO: "ann@example.org"}, {WHO: "bea@example.org"}
SECRETS = f"""
[sign_in]
way = "header"
header = "{WHO}"
proxies = ["127.0.0.1"]
[groups.clinic]
owners = ["ann@example.org"]
"""

ELSEWHERE = "127.0.0.2"  # another address of loopback, which is not the proxy's
pytestmark = pytest.mark.xdist_group("proxy")  # its server is started once


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("proxied"), SECRETS) as running:
        yield running


def test_through_the_proxy_a_person_works_for_their_group(app: Served) -> None:
    with opened(app, headers=ANN) as tab:
        said = "".join(tab.run().received)
        assert "ann" in said
        assert "clinic" in said
        assert tab.upload("a.csv", b"a,b\n1,2\n").status == 204


@pytest.mark.parametrize("headers", [{}, {WHO: ""}, {WHO: " "}, ANN | {"X-Forwarded-For": "127.0.0.1"}])
def test_nothing_is_served_to_nobody(app: Served, headers: dict[str, str]) -> None:
    for path in ("/", "/budget", "/_stcore/host-config", "/static/x.js", "/media/x"):
        assert ask(app, path, headers=headers).status == 403
    assert ask(app, "/upload", "PUT", headers).status == 403
    with pytest.raises(InvalidStatus) as refused, opened(app, headers=headers):
        pass
    assert refused.value.response.status_code == 403
    assert ask(app, "/health").text == "ok"


def test_who_is_not_the_proxy_names_nobody(app: Served) -> None:
    for headers in (ANN, ANN | {"X-Forwarded-For": "127.0.0.1"}, ANN | {"Forwarded": "for=127.0.0.1"}):
        assert ask(app, "/", headers=headers, sender=ELSEWHERE).status == 403
        with pytest.raises(InvalidStatus), opened(app, headers=headers, sender=ELSEWHERE):
            pass


def test_a_session_stays_with_the_person_who_began_it(app: Served) -> None:
    cookie = cookie_of(app)
    with opened(app, headers=ANN, cookie=cookie) as own:
        session = own.run().session
        with opened(app, headers=BEA, cookie=cookie, session=session) as thief:
            assert thief.run().session != session
            own.headers = BEA
            assert own.upload("a.csv", b"a,b\n1,2\n").status == 403, "the token of another person's page"
            own.headers = ANN
            assert own.upload("a.csv", b"a,b\n1,2\n").status == 204
            assert own.put(f"/_stcore/upload_file/{session}/file", BEA).status == 403
    with opened(app, headers=ANN, cookie=cookie, session=session) as again:
        assert again.run().session == session
