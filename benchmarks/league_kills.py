"""A league whose processes are killed at random moments: no finished game and no confirmed upload may be lost.

Run it as `python -m benchmarks.league_kills FOLDER --kills 50`. Teams upload programs over HTTP all the time, while the
league checks and plays them. Each life of the league ends after some seconds by SIGKILL: of the command alone, of all
its processes, or first of the arena alone. After each, the database is examined from outside: it is sound, every upload
that was confirmed is there, every game that was seen is there as it was, and the results are the sum of the games.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import io
import json
import random
import socket
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import psutil
from sqlalchemy import Connection, text

from spielleiter.common.own_python import own_python
from spielleiter.league.database import open_database
from spielleiter.league.games import all_games, pairing_results
from spielleiter.league.settings import Anchor, change_settings
from spielleiter.league.teams import add_teams
from spielleiter.league.versions import add_upload, finish_check, list_versions, set_anchors
from tests.contest.packages import program_text

SHORTEST_LIFE: Final = 10.0
LONGEST_LIFE: Final = 45.0
"""Seconds from the first answer of the pages to the kill."""
UPLOAD_PAUSE: Final = 8.0
START_TIMEOUT: Final = 120.0
CREATED: Final = 201


class Seen:
    """What was confirmed or seen so far, and has to stay."""

    def __init__(self) -> None:
        self.uploads: set[int] = set()
        self.games: dict[int, Any] = {}
        self.refused = 0

    def upload(self, port: int, code: str, number: int) -> int:
        """Upload the program of this number; return the status of the answer."""
        status, answer = upload(port, code, package(number))
        if status == CREATED:
            self.uploads.add(answer["version"]["id"])
        else:
            self.refused += 1
        return status

    def examine(self, folder: Path) -> str:
        """Return what is wrong with the database in `folder`; empty if nothing is."""
        with contextlib.closing(open_database(folder)) as database:
            sound = database.read_now(lambda db: db.execute(text("PRAGMA integrity_check")).scalar_one())
            versions = {version.id for version in database.read_now(list_versions)}
            games = {game.id: game for game in database.read_now(lambda db: list(all_games(db)))}
            results = database.read_now(pairing_results)
            different = database.read_now(_sums) != Counter(
                {(each.first, each.second): each.games for each in results if each.games}
            )
        if sound != "ok":
            return f"the database is damaged: {sound}"
        if missing := self.uploads - versions:
            return f"uploads are missing: {sorted(missing)}"
        for game_id, game in self.games.items():
            if games.get(game_id) != game:
                return f"game {game_id} was {game} and is {games.get(game_id)}"
        # labels change with the names of teams only, and nobody renames one here
        self.games = games
        return "the results are not the sum of the games" if different else ""


def _sums(db: Connection) -> Counter[tuple[int, int]]:
    """The number of games that count, by pairing, as the games themselves say it."""
    found: Counter[tuple[int, int]] = Counter()
    for game in all_games(db):
        if game.is_counted and not game.is_void and game.purpose != "check":
            found[min(game.first, game.second), max(game.first, game.second)] += 1
    return found


def package(number: int) -> bytes:
    """Return a sound program, which differs from others by its number."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("start.sh", '#!/bin/sh\nexec python3 -IS player.py "$@"\n')
        archive.writestr("player.py", f"# {number}\n{program_text()}")
    return file.getvalue()


def upload(port: int, code: str, content: bytes) -> tuple[int, Any]:
    """Upload a program; return status and answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        headers = {"Authorization": f"Bearer {code}", "Content-Type": "application/octet-stream"}
        connection.request("POST", "/api/upload?name=bot.zip&main=&parameters=", content, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def wait_for_pages(port: int) -> None:
    """Return once the league listens."""
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def end_league(process: subprocess.Popen[bytes], how: str) -> None:
    """End the league; what is below it has to end by itself, unless `how` is to kill everything."""
    below = psutil.Process(process.pid).children(recursive=True)
    if how == "arena":
        for each in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                if "spielleiter.league.arena" in " ".join(each.cmdline()):
                    each.kill()
        time.sleep(1)
    process.kill()
    if how == "everything":
        for each in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    process.wait()
    _, alive = psutil.wait_procs(below, timeout=30)
    if alive:
        print(f"outlived the league by 30 s: {[each.name() for each in alive]}")
        for each in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


def make_league(folder: Path, teams: int) -> list[str]:
    """Make a league whose teams have programs that play; return their codes."""
    with contextlib.closing(open_database(folder)) as database:
        values = {"name": "kills", "game_type": "swc_2027_blokus", "edition": "blokus-2027"}
        database.write_now(change_settings, **values, uploads_per_hour=1000, runs_without_sandbox=True)
        database.write_now(set_anchors, [Anchor("builtin:random", 0.0)], time.time())
        made = database.write_now(add_teams, [f"Team {number}" for number in range(1, teams + 1)], time.time())
        for each in made:  # so that games are played from the first life on
            version = database.write_now(add_upload, each.team.id, "bot.zip", package(each.team.id), time.time())
            database.write_now(finish_check, version.id, None, time.time())
        return [each.code for each in made]


def free_port() -> int:
    """Return a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def start_league(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start a league, with its pages at this port."""
    command = [*own_python(), "-P", "-m", "spielleiter", "league", str(folder), "--port", str(port)]
    return subprocess.Popen([*command, "--helpers-port", "0"], stdout=subprocess.DEVNULL)


def _live(folder: Path, codes: Sequence[str], seen: Seen, chance: random.Random, port: int, how: str) -> None:
    """Run the league for some seconds, upload meanwhile, and kill it."""
    process = start_league(folder, port)
    try:
        wait_for_pages(port)
        end = time.monotonic() + chance.uniform(SHORTEST_LIFE, LONGEST_LIFE)
        while time.monotonic() < end:
            number = chance.getrandbits(40)
            seen.upload(port, chance.choice(codes), number)
            time.sleep(min(UPLOAD_PAUSE, max(0.0, end - time.monotonic())))
    finally:
        end_league(process, how)


def main(arguments: Sequence[str] | None = None) -> None:
    """Kill a league and examine what is left, again and again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a folder that does not exist")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--teams", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    codes = make_league(options.folder, options.teams)
    port = free_port()
    seen = Seen()
    for kill in range(1, options.kills + 1):
        how = chance.choice(("the command", "everything", "arena"))
        _live(options.folder, codes, seen, chance, port, how)
        wrong = seen.examine(options.folder)
        print(f"kill {kill} ({how}): {len(seen.games)} games, {len(seen.uploads)} uploads, {wrong or 'all there'}")
        if wrong:
            sys.exit(1)
    print(f"{options.kills} kills, {len(seen.games)} games, {len(seen.uploads)} uploads: nothing lost, nothing doubled")


if __name__ == "__main__":
    main()
