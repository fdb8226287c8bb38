"""A provider of sign-in on this machine, with a button for each of its people."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress

__all__ = ["provided", "secrets_for"]

PATIENCE = 20.0


@contextmanager
def provided(people: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Run an OpenID Connect provider with these claims about people, and yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    claims = [f"--user-claims={json.dumps(each)}" for each in people]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), *claims]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError), closing(http.client.HTTPConnection("localhost", port, timeout=1)) as connection:
            connection.request("GET", "/.well-known/openid-configuration")
            if connection.getresponse().status == 200:
                break
        time.sleep(0.1)
    try:
        yield f"http://localhost:{port}"
    finally:
        process.terminate()
        process.wait()


def secrets_for(provider: str, groups: str) -> str:
    """Return the secrets file of an operator whose people sign in at this provider."""
    return f"""
    [sign_in]
    way = "oidc"
    [auth]
    redirect_uri = "http://localhost:{{port}}/oauth2callback"
    cookie_secret = "0123456789abcdef0123456789abcdef"
    client_id = "release"
    client_secret = "of the test"
    server_metadata_url = "{provider}/.well-known/openid-configuration"
    {groups}
    """
