"""`spielleiter league` and `spielleiter upload`: a league as a process, from its first page to its end."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from spielleiter.league.database import open_database
from spielleiter.league.games import list_games
from spielleiter.league.settings import change_settings, load_settings
from spielleiter.league.versions import list_versions
from tests.cli.background import misuse, run
from tests.contest.packages import make_package, write_package
from tests.league.leagues import league_in
from tests.league.running import COMMAND, RunningLeague, running
from tests.league.web.served import served_league
from tests.timeouts import HANG_TIMEOUT

EDITION = "blokus-2027"
PASSWORD = "korrekt pferd batterie"


class Browser:
    """Sends forms as a browser does, with cookies and the form token of the last page."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._cookies: dict[str, str] = {}
        self._token = ""

    def get(self, path: str) -> str:
        """The page at `path`."""
        return self._ask("GET", path)

    def post(self, path: str, **fields: str) -> str:
        """The page that answers a form."""
        return self._ask("POST", path, urlencode(fields | {"form_token": self._token}))

    def _ask(self, method: str, path: str, body: str | None = None) -> str:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=HANG_TIMEOUT)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if body is not None:
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://{self._url.netloc}"}
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            for line in answer.headers.get_all("set-cookie") or ():
                name, _, rest = line.partition("=")
                self._cookies[name] = rest.partition(";")[0]
            page = answer.read().decode()
            if answer.status in {302, 303}:
                return self._ask("GET", answer.headers["location"])
        assert answer.status < 400, page
        if found := re.search(r'name="form_token" value="([^"]+)"', page):
            self._token = found[1]
        return page


def upload(league: RunningLeague, package: Path, code: str) -> subprocess.CompletedProcess[str]:
    arguments = ["upload", str(package), "--league", league.url, "--code", code]
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def wait_for_games(folder: Path, count: int) -> None:
    database = open_database(folder)
    with contextlib.closing(database):
        deadline = time.monotonic() + HANG_TIMEOUT
        while len(database.read_now(list_games)) < count:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.mark.extended
@pytest.mark.skipif(sys.platform == "win32", reason="the package is a shell script")
def test_a_league_from_its_first_page_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "league"
    with running(folder) as league:
        code = league.line().strip().rpartition("=")[2]
        browser = Browser(league.url)
        browser.get("/setup")
        names = "Hasen\nIgel"
        sheet = browser.post("/setup", code=code, password=PASSWORD, name="7b", edition=EDITION, names=names)
        codes = re.findall(r"\b[2-9A-Z]{4}(?:-[2-9A-Z]{4}){3}\b", sheet)
        assert len(codes) == 2
        database = open_database(folder)
        with contextlib.closing(database):  # as a teacher would on a machine without a sandbox
            database.write_now(change_settings, runs_without_sandbox=True)
        for number, each in enumerate(codes):
            package = make_package(tmp_path / "player.zip")
            package.write_bytes(package.read_bytes() + bytes(number))
            done = upload(league, package, each)
            assert done.returncode == 0, done.stderr
            assert "plays now" in done.stdout
        broken = write_package(tmp_path / "broken.zip", {"start.sh": "#!/bin/sh\nexit 1\n"})
        done = upload(league, broken, codes[0])
        assert done.returncode == 3
        assert "is refused: " in done.stderr
        wrong = upload(league, broken, "AAAA-AAAA-AAAA-AAAA")
        assert wrong.returncode == 1
        wait_for_games(folder, 2)
        port = league.port
        league.kill()
    with running(folder, port) as league:  # what was finished is there, and it goes on
        browser = Browser(league.url)
        database = open_database(folder)
        with contextlib.closing(database):
            there = len(database.read_now(list_games))
        wait_for_games(folder, there + 2)
        backup = tmp_path / "backup.sqlite"
        assert run("league", str(folder), "--backup", str(backup)).exit_code == 0
        assert "a league is running" in misuse("league", str(folder), "--restore", str(backup))
        assert "Traceback" not in league.end()
    exported = tmp_path / "export"
    assert run("league", str(folder), "--export", str(exported)).exit_code == 0
    assert json.loads((exported / "league.json").read_text())["settings"]["name"] == "7b"
    assert run("league", str(folder), "--delete-data", "--yes").exit_code == 0
    assert not folder.exists()
    assert run("league", str(folder), "--restore", str(backup)).exit_code == 0
    assert run("league", str(folder), "--new-teacher-password", input=f"{PASSWORD}!\n{PASSWORD}!\n").exit_code == 0


@pytest.mark.extended
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, 127.0.0.2 is not an address of the machine")
def test_a_league_that_cannot_be_opened_to_the_network_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "league"
    with running(folder) as league, socket.create_server(("127.0.0.2", league.port)):
        league.line()
        database = open_database(folder)
        with contextlib.closing(database):
            database.write_now(change_settings, is_open_to_network=True)
            assert "changed the settings" in league.line()
            assert league.line().startswith(league.url)
            assert not database.read_now(load_settings).is_open_to_network
        assert "Eine neue Liga" in Browser(league.url).get("/setup")
        assert "Other machines cannot reach the pages" in league.end()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--backup", "b"], "no league in this folder"),
        (["--export", "e"], "no league in this folder"),
        (["--delete-data", "--yes"], "no league in this folder"),
        (["--new-teacher-password"], "no league in this folder"),
        (["--restore", "missing.sqlite"], "no such file"),
        (["--backup", "b", "--export", "e"], "choose one of"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert text in misuse("league", "nowhere", *arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["ftp://10.0.0.5", "http://", "http://10.0.0.5:99999", "http://10.0.0.5:x"])
def test_an_address_that_is_none_is_said(tmp_path: Path, url: str) -> None:
    package = tmp_path / "bot.zip"
    package.write_bytes(b"PK")
    assert "--league" in misuse("upload", str(package), "--league", url, "--code", "AAAA")


def test_an_upload_whose_answer_is_lost_is_not_a_failure(tmp_path: Path) -> None:
    package = tmp_path / "bot.zip"
    package.write_bytes(b"PK")
    with league_in(tmp_path / "league") as league, served_league(league) as served, contextlib.ExitStack() as stack:
        league.add_team("Ada")
        url = urlsplit(served.url)
        relay = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def pass_on() -> None:
            for is_lost in (True, False):
                near, _ = relay.accept()
                with near, socket.create_connection((url.hostname or "", url.port or 0)) as far:
                    request = b""
                    while not request.endswith(b"PK"):
                        request += near.recv(65536)
                    far.sendall(request)
                    answer = http.client.HTTPResponse(far)
                    answer.begin()
                    content = answer.read()
                    if not is_lost:
                        near.sendall(f"HTTP/1.1 {answer.status} OK\r\nContent-Length: {len(content)}\r\n\r\n".encode())
                        near.sendall(content)

        thread = threading.Thread(target=pass_on, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{relay.getsockname()[1]}"
        done = run("upload", str(package), "--league", address, "--code", league.codes["Ada"], "--no-wait")
        thread.join(HANG_TIMEOUT)
        assert done.exit_code == 0, done.stderr
        assert [each.label for each in league(list_versions)] == ["Ada v1"]


def test_an_upload_that_is_refused_before_it_has_arrived_says_why(tmp_path: Path) -> None:
    package = tmp_path / "bot.zip"
    package.write_bytes(bytes(40_000_000))
    with league_in(tmp_path / "league") as league, served_league(league) as served:
        league.add_team("Ada")
        arguments = ["upload", str(package), "--league", served.url, "--code"]
        large = run(*arguments, league.codes["Ada"])
        assert large.exit_code == 1
        assert "20 MB" in large.stderr
        wrong = run(*arguments, "AAAA-AAAA-AAAA-AAAA")
        assert wrong.exit_code == 1
        assert "code is wrong" in wrong.stderr


def test_a_league_that_is_not_there_is_said(tmp_path: Path) -> None:
    package = tmp_path / "bot.zip"
    package.write_bytes(b"PK")
    done = run("upload", str(package), "--league", "http://127.0.0.1:1", "--code", "AAAA")
    assert done.exit_code == 1
    assert "is the league running" in done.stderr
    assert "bot2.zip" in misuse("upload", str(tmp_path / "bot2.zip"), "--league", "x", "--code", "AAAA")
