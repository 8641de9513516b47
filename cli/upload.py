"""`spielleiter upload`: a program becomes a version of a team in a league."""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import select
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import click

from spielleiter.cli.options import TEXT
from spielleiter.cli.output import changing_line, print_line
from spielleiter.cli.running import EXIT_FAULT, Failure, Misuse
from spielleiter.common.text import escaped

PAUSES: Final = (3.0, 10.0)
"""Seconds before an upload is sent again."""
SECONDS_BETWEEN: Final = 1.0
TIMEOUT: Final = 30.0
"""Seconds for an answer of the league."""
_LONGEST_ANSWER: Final = 1_000_000
_PORTION: Final = 256 * 1024
_LONGEST_SILENCE: Final = 300.0
"""Seconds after which a league that does not answer is given up; it may be started again meanwhile."""
_CREATED: Final = 201


@click.command()
@click.argument("package", metavar="ZIP", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--league",
    "url",
    type=TEXT,
    required=True,
    envvar="SPIELLEITER_LEAGUE",
    metavar="URL",
    help="The address of the league's pages, such as http://10.0.0.5:13090.",
)
@click.option(
    "--code",
    type=TEXT,
    required=True,
    envvar="SPIELLEITER_LEAGUE_CODE",
    metavar="CODE",
    help="The code of the team. Other users of this PC cannot see it if it is in the variable SPIELLEITER_LEAGUE_CODE.",
)
@click.option("--main", type=TEXT, default="", metavar="FILE", help="The main file in ZIP, if it is not found.")
@click.option("--parameters", type=TEXT, default="", metavar="TEXT", help="What the program is called with.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the check of the program.")
@click.option("--german", is_flag=True, help="Say what is wrong with the program in German.")
def upload(package: Path, url: str, code: str, main: str, parameters: str, no_wait: bool, german: bool) -> None:
    """Upload the program in the file ZIP to a league, and say whether it was accepted.

    The exit code is 0 if it plays now, and 3 if it was refused.
    """
    language = "de" if german else "en"
    try:
        content = package.read_bytes()
    except OSError as error:
        raise Misuse(f"{package}: {error.strerror or error}") from None
    service = _Service(url)
    query = urlencode({"name": package.name, "main": main, "parameters": parameters})
    status, answer = _send(service, f"/api/upload?{query}", code, content)
    if status != _CREATED:
        raise Failure(_error_text(status, answer, language))
    version, token = answer["version"], answer["token"]
    with changing_line() as show:
        show(f"{version['label']}: uploaded, {len(content) / 1e6:.1f} MB")
        if no_wait:
            return
        version = _wait(service, version, token, show, language)
    fault = version.get("fault") or {}
    if version["state"] == "accepted":
        verb = "plays now" if version.get("isActive") else "is accepted, but another version of the team plays"
        print_line(f"{version['label']} {verb}; the full check follows")
    else:
        print_line(f"{version['label']} is {version['state']}: {escaped(str(fault.get(language, '')))}", err=True)
        raise click.exceptions.Exit(EXIT_FAULT)


def _send(service: _Service, path: str, code: str, content: bytes) -> tuple[int, Any]:
    """Send the upload, and again if the league ends meanwhile: it begins anew when its teacher changes its game."""
    attempt = secrets.token_urlsafe(16)  # the league may have kept the upload although its answer was lost
    for pause in PAUSES:
        try:
            return service.ask("POST", path, code, content, attempt)
        except NoAnswer as failure:
            if not failure.was_connected:
                raise
            time.sleep(pause)
    return service.ask("POST", path, code, content, attempt)


def _wait(
    service: _Service, version: dict[str, Any], token: str, show: Callable[[str], None], language: str
) -> dict[str, Any]:
    """Ask until the short check has ended, and return what the league says about the version then."""
    heard = time.monotonic()
    while version["state"] in {"waiting", "checking"}:
        time.sleep(SECONDS_BETWEEN)
        try:
            status, answer = service.ask("GET", f"/api/versions/{version['id']}", token)
        except NoAnswer:
            if time.monotonic() - heard > _LONGEST_SILENCE:
                raise
            continue  # it may have been started again; an upload that it has confirmed is not lost
        if status != http.client.OK:
            raise Failure(_error_text(status, answer, language))
        heard = time.monotonic()
        version = answer["version"]
        show(f"{version['label']}: {_waiting_text(version)}")
    return version


def _waiting_text(version: dict[str, Any]) -> str:
    queue = version.get("queue")
    if version["state"] != "waiting" or not queue:
        return str(version["state"])
    text = f"waiting, place {queue['position']} in the queue"
    return text if queue.get("seconds") is None else f"{text}, about {queue['seconds']:.0f} s"


def _error_text(status: int, answer: Any, language: str) -> str:
    error = answer.get("error") if isinstance(answer, dict) else None
    text = error.get(language) or error.get("en") if isinstance(error, dict) else None
    return escaped(str(text)) if text else f"the league answered with status {status}; is this its address?"


def _portions(connection: http.client.HTTPConnection, content: bytes) -> Iterator[bytes]:
    """Yield the content, until the league answers, which it does at once if it does not take the upload."""
    for start in range(0, len(content), _PORTION):
        # below TLS there may be something to read that is no answer
        can_look = connection.sock is not None and not isinstance(connection.sock, ssl.SSLSocket)
        if can_look and select.select([connection.sock], [], [], 0)[0]:
            return
        yield content[start : start + _PORTION]


class NoAnswer(Failure):
    """The league did not answer; `was_connected` says whether it was there at first."""

    def __init__(self, text: str, *, was_connected: bool) -> None:
        super().__init__(text)
        self.was_connected = was_connected


class _Service:
    """Requests to the league at `url`. Raises Misuse if it is no address of pages."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise Misuse(f"--league {url}: expected the address of the league's pages, such as http://10.0.0.5:13090")
        try:
            port = parts.port
        except ValueError:
            raise Misuse(f"--league {url}: the port must be a number from 1 to 65535") from None
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connect: Callable[[], http.client.HTTPConnection] = lambda: kind(
            parts.hostname or "", port, timeout=TIMEOUT
        )
        self._prefix = parts.path.rstrip("/")
        self._url = url

    def ask(self, method: str, path: str, key: str, content: bytes | None = None, attempt: str = "") -> tuple[int, Any]:
        """Send a request and return status and answer. Raises Failure if there is no answer, or none of a league.

        The league takes several requests with the same `attempt` for one.
        """
        headers = {"Authorization": f"Bearer {key.strip()}"}
        if content is not None:
            headers |= {"Content-Type": "application/octet-stream", "Idempotency-Key": attempt}
            headers["Content-Length"] = str(len(content))
        connection = self._connect()
        was_connected = False
        try:
            connection.connect()
            was_connected = True
            body = None if content is None else _portions(connection, content)
            # it may be refused before all of it is there; the answer says why
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, self._prefix + path, body, headers)
            response = connection.getresponse()
            data = response.read(_LONGEST_ANSWER)
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            text = f"{self._url}: no answer ({error}); is the league running, and is this its address?"
            raise NoAnswer(text, was_connected=was_connected) from None
        finally:
            connection.close()
        try:
            return response.status, json.loads(data)
        except (ValueError, RecursionError):
            raise Failure(_error_text(response.status, None, "en")) from None
