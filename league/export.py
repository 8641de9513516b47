"""Everything that a league has found out, as files that other programs read: CSV, JSON and replays.

What nobody else may read is left out: codes, passwords, uploads and standard error. A backup has them.
"""

from __future__ import annotations

import contextlib
import csv
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, select

from spielleiter.league import schema
from spielleiter.league.challenges import all_challenges
from spielleiter.league.database import Database
from spielleiter.league.errors import LeagueDiskError, LeagueFileError
from spielleiter.league.games import all_games, list_pairs, pairing_results
from spielleiter.league.helpers import list_helpers
from spielleiter.league.log import all_log_entries, list_messages
from spielleiter.league.rating_history import all_ratings, ratings_before
from spielleiter.league.settings import SECRETS, load_settings
from spielleiter.league.standings import compute_standings
from spielleiter.league.static_pages import write_static_pages
from spielleiter.league.teams import list_teams
from spielleiter.league.versions import list_versions
from spielleiter.match.reports.rendering import escape_cell

REPLAYS: Final = "replays"
PAGES: Final = "pages"
"""The folder for the web site of the school."""
_MESSAGES: Final = 1_000_000
_PER_FOLDER: Final = 1000
"""Replays in one folder: file managers of school PCs show no more in reasonable time."""


def write_export(database: Database, folder: Path, day: str) -> None:
    """Write the files to `folder`, which must not exist or be empty; `day` is today (``2027-01-31``).

    Blocks, for some minutes with a large league. Raises LeagueFileError if there is something in the folder, and
    LeagueDiskError; then what was written is removed.
    """
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise LeagueFileError(f"{folder}: there is something in this folder; choose another one")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LeagueFileError(f"{folder}: {error.strerror or error}; choose another folder") from None
    try:
        database.read_now(_write_tables, folder, day)
        database.read_now(_write_replays, folder / REPLAYS)
        database.read_now(_write_pages, folder / PAGES, day)
    except OSError as error:
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
        raise LeagueDiskError(f"{folder}: {error.strerror or error}; is the disk full?") from None


def _write_tables(db: Connection, folder: Path, day: str) -> None:
    settings = {name: value for name, value in msgspec.to_builtins(load_settings(db)).items() if name not in SECRETS}
    versions = list_versions(db)
    standings = compute_standings(versions, pairing_results(db), ratings_before(db, day))
    small: Mapping[str, Sequence[Any]] = {
        "table": standings.rows,
        "teams": list_teams(db, with_removed=True),
        "versions": versions,
        "ratings": all_ratings(db),
        "results": pairing_results(db),
        "challenges": all_challenges(db),
    }
    for name, rows in small.items():
        _write_csv(folder / f"{name}.csv", rows)
    helpers = [{**msgspec.to_builtins(each), "code_hash": None} for each in list_helpers(db)]
    whole = {
        "settings": settings,
        **{name: [_plain(row) for row in rows] for name, rows in small.items()},
        "messages": msgspec.to_builtins(list_messages(db, _MESSAGES)),
        "helpers": helpers,
    }
    (folder / "league.json").write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    _write_csv(folder / "pairs.csv", list_pairs(db))
    _write_csv(folder / "log.csv", all_log_entries(db))
    with (folder / "games.jsonl").open("w", encoding="utf-8", newline="\n") as lines:
        _write_csv(folder / "games.csv", _copied_to(lines, all_games(db)))


def _write_pages(db: Connection, folder: Path, day: str) -> None:
    standings = compute_standings(list_versions(db), pairing_results(db), ratings_before(db, day))
    write_static_pages(db, folder, standings, day)


def _copied_to(lines: Any, rows: Iterable[msgspec.Struct]) -> Iterator[msgspec.Struct]:
    """The rows, each of which is also written as a line of JSON."""
    for row in rows:
        lines.write(json.dumps(_plain(row), ensure_ascii=False) + "\n")
        yield row


def _plain(row: msgspec.Struct) -> Any:
    return msgspec.to_builtins(row)


def _write_csv(path: Path, rows: Iterable[msgspec.Struct]) -> None:
    # with a byte order mark, without which Excel shows no umlauts
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        columns: tuple[str, ...] | None = None
        for row in rows:
            if columns is None:
                columns = row.__struct_fields__
                writer.writerow(columns)
            writer.writerow(_cell(getattr(row, name)) for name in columns)


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return escape_cell(value)
    if isinstance(value, bool):
        return int(value)
    return json.dumps(msgspec.to_builtins(value)) if isinstance(value, dict | list | tuple) else value


def _write_replays(db: Connection, folder: Path) -> None:
    """Write each replay as ``replays/0/42.xml.gz``, by the id of its game."""
    wanted = select(schema.recordings.c.game_id, schema.recordings.c.replay)
    for game_id, replay in db.execute(wanted.execution_options(yield_per=100)):
        if replay is not None:
            place = folder / str(game_id // _PER_FOLDER)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{game_id}.xml.gz").write_bytes(replay)
