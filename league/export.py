"""Everything that a league has found out, as files that other programs read: CSV, JSON and replays.

What nobody else may read is left out: codes, passwords, uploads and standard error. A backup has them.
"""

from __future__ import annotations

import contextlib
import csv
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import msgspec
from sqlalchemy import Connection, func, select

from spielleiter.common.files import remove_tree
from spielleiter.league import schema
from spielleiter.league.backup import require_space
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
PER_ZIP: Final = 10_000
"""Games whose replays are in one ZIP file."""
INCOMPLETE: Final = "incomplete"
"""The folder in which the files are until all are complete."""
_BETWEEN: Final = 500
"""Rows between two calls about the progress."""
_SHARE_OF_FILES: Final = 0.8
"""The share of the files in the time for a ZIP of them."""

_BYTES_OF_A_GAME: Final = 1000
"""About the size of a game in all tables together."""

Row = TypeVar("Row")


class _Progress:
    """Counts what is written, and tells the share that is done now and then."""

    def __init__(self, total: int, tell: Callable[[float], object]) -> None:
        self._done = 0
        self._total = total
        self._tell = tell

    def counted(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows, each of which counts when the next one is wanted."""
        for row in rows:
            yield row
            self._done += 1
            if self._done % _BETWEEN == 0:
                self._tell(min(self._done / self._total, 1.0))


def write_export(
    database: Database, folder: Path, day: str, on_progress: Callable[[float], object] = lambda _share: None
) -> None:
    """Write the files to `folder`, which must not exist or be empty; `day` is today (``2027-01-31``).

    Blocks, for a minute or two with a large league; all files show the same moment. `on_progress` is called with the
    share that is done; what it raises ends the export. Raises LeagueFileError if there is something in the folder, and
    LeagueDiskError. Whatever ends it, no file that is not complete stays under its name.
    """
    incomplete = folder / INCOMPLETE
    is_new = not folder.exists()
    try:
        if not is_new and any(each.name != INCOMPLETE for each in folder.iterdir()):
            raise LeagueFileError(f"{folder}: there is something in this folder; choose another one")
        folder.mkdir(parents=True, exist_ok=True)
        if incomplete.exists():  # an export was killed
            remove_tree(incomplete)
        incomplete.mkdir()
    except OSError as error:
        raise LeagueFileError(f"{folder}: {error.strerror or error}; choose another folder") from None
    try:
        database.read_now(_write_all, incomplete, day, on_progress)
        for path in sorted(incomplete.iterdir()):
            path.rename(folder / path.name)
        incomplete.rmdir()
    except BaseException as error:
        with contextlib.suppress(OSError):
            remove_tree(incomplete)
            if is_new:
                folder.rmdir()
        if isinstance(error, OSError):
            raise LeagueDiskError(f"{folder}: {error.strerror or error}; is the disk full?") from None
        raise


def write_export_zip(
    database: Database, path: Path, day: str, on_progress: Callable[[float], object] = lambda _share: None
) -> None:
    """Write the same files to the ZIP `path`, which must not exist; the folder of that is used meanwhile.

    For the other arguments and exceptions see `write_export`.
    """
    folder = path.with_name(f"{path.name}.files")
    incomplete = path.with_name(f"{path.name}.incomplete")
    write_export(database, folder, day, lambda share: on_progress(share * _SHARE_OF_FILES))
    try:
        files = sorted(each for each in folder.rglob("*") if each.is_file())
        sizes = {each: each.stat().st_size for each in files}
        total, done = sum(sizes.values()), 0
        with zipfile.ZipFile(incomplete, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in files:
                kind = zipfile.ZIP_STORED if each.suffix == ".zip" else zipfile.ZIP_DEFLATED
                archive.write(each, each.relative_to(folder).as_posix(), kind)
                each.unlink()  # so that the disk need not hold all of it twice
                done += sizes[each]
                on_progress(_SHARE_OF_FILES + (1 - _SHARE_OF_FILES) * done / max(total, 1))
        incomplete.rename(path)
    except OSError as error:
        raise LeagueDiskError(f"{path}: {error.strerror or error}; is the disk full?") from None
    finally:
        with contextlib.suppress(OSError):
            remove_tree(folder)
        with contextlib.suppress(OSError):
            incomplete.unlink(missing_ok=True)


def _write_all(db: Connection, folder: Path, day: str, on_progress: Callable[[float], object]) -> None:
    count = select(func.count())
    games = db.execute(count.select_from(schema.games)).scalar_one()
    recordings = db.execute(count.select_from(schema.recordings)).scalar_one()
    replays = db.execute(select(func.sum(func.length(schema.recordings.c.replay)))).scalar_one() or 0
    require_space(folder, replays + games * _BYTES_OF_A_GAME)
    progress = _Progress(games + recordings + 1, on_progress)
    _write_tables(db, folder, day, progress)
    _write_replays(db, folder / REPLAYS, progress)
    _write_pages(db, folder / PAGES, day)


def _write_tables(db: Connection, folder: Path, day: str, progress: _Progress) -> None:
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
    with (folder / "games.jsonl").open("wb") as lines:
        _write_csv(folder / "games.csv", _copied_to(lines, progress.counted(all_games(db))))


def _write_pages(db: Connection, folder: Path, day: str) -> None:
    standings = compute_standings(list_versions(db), pairing_results(db), ratings_before(db, day))
    write_static_pages(db, folder, standings, day)


def _copied_to(lines: BinaryIO, rows: Iterable[msgspec.Struct]) -> Iterator[msgspec.Struct]:
    """The rows, each of which is also written as a line of JSON."""
    for row in rows:
        lines.write(msgspec.json.encode(row) + b"\n")
        yield row


def _plain(row: msgspec.Struct) -> Any:
    return msgspec.to_builtins(row)


def _write_csv(path: Path, rows: Iterable[msgspec.Struct]) -> None:
    # with a byte order mark, without which Excel shows no umlauts
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        is_first = True
        for row in rows:
            if is_first:
                writer.writerow(row.__struct_fields__)
                is_first = False
            writer.writerow([v if type(v) in _AS_THEY_ARE else _cell(v) for v in msgspec.structs.astuple(row)])


_AS_THEY_ARE: Final = frozenset({int, float, type(None)})
_text: Final = lru_cache(10_000)(escape_cell)
"""Labels and reasons come again and again."""


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return int(value)
    return json.dumps(msgspec.to_builtins(value)) if isinstance(value, dict | list | tuple) else value


def _write_replays(db: Connection, folder: Path, progress: _Progress) -> None:
    """Write the replays of games 1 to 10,000 to ``replays/0000001-0010000.zip``, as ``42.xml.gz`` by the game's id.

    A file for each game would take several times as long, and be too much for file managers.
    """
    folder.mkdir()
    columns = schema.recordings.c
    wanted = select(columns.game_id, columns.replay).order_by(columns.game_id).execution_options(yield_per=100)
    kept = (row for row in progress.counted(db.execute(wanted)) if row.replay is not None)
    for number, rows in groupby(kept, lambda row: (row.game_id - 1) // PER_ZIP):
        name = f"{number * PER_ZIP + 1:07}-{(number + 1) * PER_ZIP:07}.zip"
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_STORED) as archive:  # replays are compressed
            for game_id, replay in rows:
                archive.writestr(zipfile.ZipInfo(f"{game_id}.xml.gz"), replay)
