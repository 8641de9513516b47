"""A week of a league in its database: 40 teams, 300 uploads, 200,000 games; how large and how fast it is then.

Run it as `python -m benchmarks.league_week FOLDER`. The games are not played: each version has a planted strength, the
league chooses the pairings as it does in earnest, and the results are drawn. Everything that a game leaves in the
database is there, in the usual sizes. The measurements follow: what a page has to wait for, how long it takes to record
a game, backup, export, how far the ratings are from the planted strengths, and the page with the table in a browser.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import http.client
import io
import random
import statistics
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import psutil
from sqlalchemy import Connection, text
from sqlalchemy.dialects.sqlite import insert

from benchmarks.league_kills import free_port, start_league, wait_for_pages
from benchmarks.league_ratings import draw_game
from spielleiter.league import schema
from spielleiter.league.accounts import new_spectator_link
from spielleiter.league.backup import write_backup
from spielleiter.league.database import Database, open_database
from spielleiter.league.export import write_export
from spielleiter.league.games import list_games, open_pair, pairing_results, record_game
from spielleiter.league.model import Fault, PlayedGame, RatingOfDay, Version
from spielleiter.league.rating_history import rating_history, ratings_before, save_ratings
from spielleiter.league.settings import Anchor, change_settings
from spielleiter.league.standings import Standings, compute_standings
from spielleiter.league.teams import add_teams
from spielleiter.league.versions import add_upload, finish_check, list_versions, playing_versions, set_anchors

BEGIN: Final = 1_800_000_000.0
WEEK: Final = 7 * 86_400.0
ANCHORS: Final = (Anchor("builtin:random", 0.0), Anchor("builtin:greedy", 400.0))
FAULTS: Final = 0.01
REPLAY_BYTES: Final = 5_000
STDERR_BYTES: Final = 800
AT_ONCE: Final = 1000
"""Games that are written in one transaction, as the driver only wants them to be there."""
REFUSED: Final = 0.2


class Week:
    """The league while the driver fills it; strengths are in Elo by version."""

    def __init__(self, database: Database, chance: random.Random) -> None:
        self.database = database
        self.chance = chance
        self.strengths: dict[int, float] = {}
        self.standings = Standings()

    def begin(self, teams: int) -> list[int]:
        """Make the league with its teams, and return their ids."""
        write = self.database.write_now
        write(change_settings, name="Woche", uploads_per_hour=1000, anchors=ANCHORS)
        write(set_anchors, ANCHORS, BEGIN)
        for version in self.database.read_now(playing_versions):
            assert version.anchor_rating is not None
            self.strengths[version.id] = version.anchor_rating
        return [each.team.id for each in write(add_teams, [f"Team {n}" for n in range(1, teams + 1)], BEGIN)]

    def upload(self, team_id: int, now: float, talent: float) -> None:
        """Upload a version of a team; most are a little better than the one before, and some are refused."""
        version = self.database.write_now(add_upload, team_id, "bot.zip", _package(self.chance), now)
        is_refused = version.number > 1 and self.chance.random() < REFUSED
        fault = Fault("no-main-file", "Die Hauptdatei fehlt.", "The main file is missing.") if is_refused else None
        self.database.write_now(finish_check, version.id, fault, now + 20)
        self.strengths[version.id] = talent + 30 * version.number + self.chance.gauss(0, 40)

    def draw_pairing(self, playing: Sequence[Version]) -> tuple[Version, Version]:
        """Choose two versions that the table says to be similar."""
        rows = {row.version_id: row.rating for row in self.standings.rows}
        first = self.chance.choice(playing)
        others = [each for each in playing if each is not first]
        near = sorted(others, key=lambda each: abs(rows.get(each.id, 0.0) - rows.get(first.id, 0.0)))
        return first, near[min(int(self.chance.expovariate(0.15)), len(near) - 1)]

    def play_pair(self, db: Connection, now: float) -> None:
        """Open a pair and record its games, as the league does it."""
        first, second = self.draw_pairing(playing_versions(db))
        seed = self.chance.getrandbits(32)
        pair = open_pair(db, first.id, second.id, purpose="league", stage="practice", seed=seed, now=now)
        for number in (1, 2):
            record_game(db, self.result(pair.id, number, first, second), now)

    def play(self, db: Connection, count: int, now: float, seconds: float) -> None:
        """Add `count` games, `seconds` apart, with the same rows as `play_pair`, but all at once."""
        playing = playing_versions(db)
        last = db.execute(text("SELECT coalesce(max(id), 0) FROM pairs")).scalar_one()
        game_id = db.execute(text("SELECT coalesce(max(id), 0) FROM games")).scalar_one()
        pairs, games, recordings = [], [], []
        results: dict[tuple[int, int], Counter[str]] = {}
        for pair_id in range(last + 1, last + 1 + count // 2):
            first, second = sorted(self.draw_pairing(playing), key=lambda version: version.id)
            row = {"id": pair_id, "first": first.id, "second": second.id, "seed": pair_id, "games": 2, "state": "done"}
            pairs.append(row | {"stage": "practice", "purpose": "league", "created_at": now})
            result = results.setdefault((first.id, second.id), Counter())
            halves = 0
            for number in (1, 2):
                game_id += 1
                played = msgspec.structs.asdict(self.result(pair_id, number, first, second))
                kept = {name: played.pop(name) for name in ("replay", "details", "stderr1", "stderr2")}
                recordings.append(kept | {"game_id": game_id})
                own = {"id": game_id, "first": first.id, "second": second.id, "finished_at": now}
                games.append(played | own | {"team1": first.team_id, "team2": second.team_id})
                winner, offender = played["winner"], played["offender"]
                half = 1 if winner is None else 2 - 2 * winner
                halves += half
                result[("losses", "draws", "wins")[half]] += 1
                result.update(points1=played["points1"], points2=played["points2"])
                if offender is not None:
                    result[("faults1", "faults2")[offender]] += 1
                now += seconds
            result[f"h{halves}"] += 1
        for table, rows in ((schema.pairs, pairs), (schema.games, games), (schema.recordings, recordings)):
            db.execute(table.insert(), rows)
        names = [column.name for column in schema.results.c if not column.primary_key]
        statement = insert(schema.results)
        added = {name: schema.results.c[name] + statement.excluded[name] for name in names}
        db.execute(
            statement.on_conflict_do_update(index_elements=["first", "second"], set_=added),
            [
                {"first": first, "second": second, **{name: counts[name] for name in names}}
                for (first, second), counts in results.items()
            ],
        )

    def result(self, pair_id: int, number: int, first: Version, second: Version) -> PlayedGame:
        """Draw the result of a game."""
        chance = self.chance
        half = draw_game(self.strengths[first.id] - self.strengths[second.id], chance)
        winner = None if half == 1 else int(half == 0)
        has_fault = winner is not None and chance.random() < FAULTS
        return PlayedGame(
            pair_id=pair_id,
            number=number,
            winner=winner,
            is_counted=True,
            verdict="crash" if has_fault else "regular",
            offender=1 - winner if has_fault and winner is not None else None,
            reason_en="it ended with exit code 1" if has_fault else "",
            reason_de="Es hat sich mit dem Code 1 beendet." if has_fault else "",
            points1=chance.randint(0, 60),
            points2=chance.randint(0, 60),
            plies=60,
            seconds=12.5,
            replay=chance.randbytes(REPLAY_BYTES),  # a compressed file looks like that
            details={"figures": [[1, 2], [3, 4]], "cpu_seconds": [1.5, 2.5], "think_times": [0.12] * 60},
            stderr1=gzip.compress(chance.randbytes(STDERR_BYTES)),
            stderr2=gzip.compress(chance.randbytes(STDERR_BYTES)),
        )

    def rate(self, day: str) -> None:
        """Compute the table and keep the ratings of the day."""
        self.standings = self.database.read_now(table, day, self.standings)
        rows = [
            RatingOfDay(row.version_id, day, row.rating, row.low, row.high, row.games) for row in self.standings.rows
        ]
        self.database.write_now(save_ratings, rows)


def table(db: Connection, day: str, before: Standings) -> Standings:
    """What the league computes after a result."""
    return compute_standings(list_versions(db), pairing_results(db), ratings_before(db, day), before)


def _package(chance: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("main.py", chance.randbytes(chance.choice((8_000, 30_000, 200_000, 900_000))))
    return file.getvalue()


def fill(database: Database, teams: int, uploads: int, games: int, chance: random.Random) -> Week:
    """Fill the league with a week."""
    week = Week(database, chance)
    ids = week.begin(teams)
    talents = {team: chance.gauss(200, 150) for team in ids}
    order = ids + [chance.choice(ids) for _ in range(uploads - teams)]
    batches = max(1, games // AT_ONCE)
    begin = time.monotonic()
    for batch in range(batches):
        now = BEGIN + WEEK * batch / batches
        while order and ((batch == 0 and len(order) > uploads - teams) or len(order) > uploads * (1 - batch / batches)):
            team = order.pop(0)
            week.upload(team, now, talents[team])
        if batch % max(1, batches // 70) == 0:
            week.rate(_day(now))
        database.write_now(week.play, AT_ONCE, now, WEEK / games)
        done = (batch + 1) * AT_ONCE
        rate = done / (time.monotonic() - begin)
        print(f"\r{done} games, {rate:.0f} a second, {(games - done) / rate:.0f} s left ", end="", file=sys.stderr)
    print(file=sys.stderr)
    week.rate(_day(BEGIN + WEEK))
    return week


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))


# -- measurements ---------------------------------------------------------------------------------------------------


def milliseconds(call: Callable[[], Any], times: int = 15) -> str:
    """The median and the longest time of some calls, and the processor time, which a busy machine changes less."""
    durations, busy = [], []
    for _ in range(times):
        begin, cpu = time.perf_counter(), time.process_time()
        call()
        durations.append(1000 * (time.perf_counter() - begin))
        busy.append(1000 * (time.process_time() - cpu))
    median = statistics.median
    return f"{median(durations):8.1f} ms, longest {max(durations):8.1f} ms, processor {median(busy):8.1f} ms"


def measure(week: Week, folder: Path) -> None:
    """Print the measurements."""
    database, read = week.database, week.database.read_now
    size = database.path.stat().st_size
    count = read(lambda db: db.execute(text("SELECT count(*) FROM games")).scalar_one())
    versions = read(list_versions)
    pairings = len(read(pairing_results))
    print(f"{count} games, {len(versions)} versions, {pairings} pairings, database {size / 1e6:.0f} MB")
    team = next(version.team_id for version in versions if version.team_id is not None)
    of_team = [version.id for version in versions if version.team_id == team]
    day = _day(BEGIN + WEEK)
    print(f"table, all of it anew       {milliseconds(lambda: read(table, day, Standings()))}")
    print(f"table after a result        {milliseconds(lambda: read(table, day, week.standings))}")
    print(f"the newest 50 games         {milliseconds(lambda: read(list_games))}")
    print(f"the newest 50 of a team     {milliseconds(lambda: read(list_games, team_id=team))}")
    print(f"a page in the middle        {milliseconds(lambda: read(list_games, team_id=team, before=count // 2))}")
    print(f"history of a team           {milliseconds(lambda: read(rating_history, of_team))}")
    print(f"recording a pair of games   {milliseconds(lambda: database.write_now(week.play_pair, BEGIN + WEEK), 100)}")
    for name, act in (("backup", _back_up), ("export", _export)):
        begin = time.monotonic()
        written = act(database, folder)
        print(f"{name}: {time.monotonic() - begin:.1f} s, {written / 1e6:.0f} MB")
    print(f"memory of this process      {psutil.Process().memory_info().rss / 2**20:.0f} MiB")
    _compare(week)


def measure_pages(folder: Path) -> None:
    """Print how long the page with the table takes, while the league in `folder` runs and plays nothing."""
    with contextlib.closing(open_database(folder)) as database:
        # the packages are none, so nothing of them may be started
        database.write_now(change_settings, is_paused=True, teacher_password_hash="-")
        database.write_now(lambda db: db.execute(schema.versions.update().values(full_check="passed")))
        token = database.write_now(new_spectator_link, BEGIN + WEEK)
    port = free_port()
    begin = time.monotonic()
    with start_league(folder, port) as league:
        try:
            wait_for_pages(port)
            cookie = _log_in(port, token)
            page, first = _get_table(port, cookie)
            while b'class="list standings"' not in page:
                time.sleep(0.1)
                page, first = _get_table(port, cookie)
            print(
                f"table in the browser {time.monotonic() - begin:.1f} s after the start, then in {1000 * first:.0f} ms"
            )
            print(f"the page with the table     {milliseconds(lambda: _get_table(port, cookie), 200)}")
            print(f"its size                    {len(page) / 1000:.0f} kB")
        finally:
            league.terminate()


def _log_in(port: int, token: str) -> str:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", f"/watch/{token}")
        return (connection.getresponse().getheader("Set-Cookie") or "").partition(";")[0]


def _get_table(port: int, cookie: str) -> tuple[bytes, float]:
    """The page with the table, by a connection of its own, and the seconds that it took."""
    begin = time.perf_counter()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/", headers={"Cookie": cookie})
        response = connection.getresponse()
        page = response.read()
    assert response.status == 200, response.status
    return page, time.perf_counter() - begin


def _back_up(database: Database, folder: Path) -> int:
    path = folder / "backup.sqlite"
    write_backup(database, path)
    return path.stat().st_size


def _export(database: Database, folder: Path) -> int:
    target = folder / "export"
    write_export(database, target, _day(BEGIN + WEEK))
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def _compare(week: Week) -> None:
    """Print how far the ratings of the active versions are from the planted strengths."""
    errors, outside, swaps = [], 0, 0
    rows = [row for row in week.standings.rows if row.team_id is not None]
    for row in rows:
        strength = week.strengths[row.version_id]
        errors.append(row.rating - strength)
        outside += not row.low <= strength <= row.high
    for index, better in enumerate(rows):
        swaps += any(week.strengths[row.version_id] > week.strengths[better.version_id] + 50 for row in rows[index:])
    print(
        f"ratings: mean error {statistics.mean(errors):+.1f}, greatest {max(map(abs, errors)):.1f} Elo; "
        f"{outside} of {len(rows)} strengths outside their 95 % interval; "
        f"{swaps} teams stand above one that is stronger by more than 50 Elo"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill a league and measure it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a folder that does not exist")
    parser.add_argument("--games", type=int, default=200_000)
    parser.add_argument("--teams", type=int, default=40)
    parser.add_argument("--uploads", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True)
    with contextlib.closing(open_database(options.folder / "league")) as database:
        week = fill(database, options.teams, options.uploads, options.games, random.Random(options.seed))
        measure(week, options.folder)
    measure_pages(options.folder / "league")


if __name__ == "__main__":
    main()
