"""A league whose disk is full again and again: nothing is lost or doubled, and it goes on by itself.

Run it as `python -m benchmarks.league_full_disk FOLDER --rounds 5`. FOLDER is empty, on a small file system of its own:

    mount -t tmpfs -o size=24m tmpfs FOLDER

While programs are uploaded and play, a file takes up all that is left, and goes again after some seconds. Until
then, uploads must be refused with the reason; the teacher's page names it once a game cannot be recorded, for which
the file of SQLite's log may still have room. Afterwards, without a restart, uploads and games have to go on. Then the
database is examined as by `league_kills`.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import random
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from benchmarks.league_kills import (
    CREATED,
    Seen,
    end_league,
    free_port,
    make_league,
    start_league,
    wait_for_pages,
)
from spielleiter.league.accounts import set_password
from spielleiter.league.database import open_database
from spielleiter.league.games import list_games

PASSWORD: Final = "correct horse battery"
FULL_SECONDS: Final = 25.0
RECOVERY_SECONDS: Final = 180.0
LARGEST: Final = 200_000_000
"""Bytes of a file system that is taken for a small one."""
_FULL: Final = 507


class Teacher:
    """The teacher's browser."""

    def __init__(self, port: int) -> None:
        self._port = port
        form = {"content-type": "application/x-www-form-urlencoded"}
        _, headers, _ = self._request("POST", "/login", urlencode({"password": PASSWORD}), form)
        self._cookie = (headers["set-cookie"] or "").partition(";")[0]

    def page(self) -> str:
        """Return the overview as it is now."""
        _, _, text = self._request("GET", "/teacher", None, {"cookie": self._cookie})
        return text

    def _request(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[int, http.client.HTTPMessage, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, {"accept": "text/html", **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()


def fill_disk(folder: Path) -> Path:
    """Write a file that takes up all space that is left; return it."""
    path = folder / "ballast"
    with path.open("ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
    return path


def newest_game(folder: Path) -> int:
    """Return the id of the newest game, read from outside."""
    with contextlib.closing(open_database(folder)) as database:
        return max((game.id for game in database.read_now(list_games, limit=1)), default=0)


def one_round(folder: Path, codes: Sequence[str], seen: Seen, chance: random.Random, port: int) -> str:
    """Fill the disk of a running league for some seconds; return what was wrong, empty if nothing."""
    refused, is_named = 0, False

    def send() -> int:
        return seen.upload(port, chance.choice(codes), chance.getrandbits(40))

    teacher = Teacher(port)  # which could not log in on a full disk
    send()
    ballast = fill_disk(folder)
    try:
        end = time.monotonic() + FULL_SECONDS
        while time.monotonic() < end:
            fill_disk(folder)  # what was freed meanwhile
            refused += send() == _FULL
            is_named |= "is the disk full?" in teacher.page()
            time.sleep(1)
        played = newest_game(folder) if shutil.disk_usage(folder).free else 0
    finally:
        ballast.unlink()
    if not refused:
        return "no upload was refused"
    end = time.monotonic() + RECOVERY_SECONDS
    played = played or newest_game(folder)
    while newest_game(folder) < played + 2 or "is the disk full?" in teacher.page():
        if time.monotonic() > end:
            return "the league did not go on"
        time.sleep(1)
    if send() != CREATED:
        return "no upload was taken afterwards"
    print(f"{refused} uploads refused, the page has {'' if is_named else 'not '}named it, {newest_game(folder)} games")
    return ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill the disk of a league again and again, and examine what is left."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="an empty folder on a small file system of its own")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if shutil.disk_usage(options.folder).total > LARGEST:
        parser.error(f"{options.folder} is on a large file system, which would be filled: mount a small one there")
    folder, chance, seen = options.folder / "league", random.Random(options.seed), Seen()
    codes = make_league(folder, 4)
    with contextlib.closing(open_database(folder)) as database:
        database.write_now(set_password, PASSWORD, time.time())
    port = free_port()
    process = start_league(folder, port)
    try:
        wait_for_pages(port)
        time.sleep(20)
        for number in range(1, options.rounds + 1):
            if wrong := one_round(folder, codes, seen, chance, port):
                print(f"round {number}: {wrong}")
                sys.exit(1)
    finally:
        end_league(process, "the command")
    wrong = seen.examine(folder)
    print(f"{options.rounds} rounds, {len(seen.games)} games, {len(seen.uploads)} uploads: {wrong or 'all there'}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
