"""A file that somebody else has made cannot run anything, write anything elsewhere, or hold the restoring up."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest

from spielleiter.league.backup import restore_backup, write_backup
from spielleiter.league.database import FILE_NAME
from spielleiter.league.errors import LeagueFileError
from spielleiter.league.helpers import add_helper, list_helpers, set_runs_without_sandbox
from spielleiter.league.settings import Anchor, change_settings, load_settings
from spielleiter.league.teams import list_teams
from spielleiter.league.versions import set_anchors
from tests.league.leagues import NOON, League, league_in

ENDLESS = "WITH RECURSIVE endless(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM endless)"


@pytest.fixture
def backup(league: League, tmp_path: Path) -> Path:
    """The backup of a league with a team, a package, an anchor and a PC, which are allowed to do without a sandbox."""
    league.accept(league.add_team("Hasen"))
    league(set_anchors, [Anchor("builtin:random", 0.0)], NOON)
    league(change_settings, runs_without_sandbox=True, anchors=[Anchor("builtin:random", 0.0)])
    helper = league(add_helper, "PC 1", "f" * 64, NOON)
    league(set_runs_without_sandbox, helper.id, True, NOON)
    write_backup(league.database, tmp_path / "backup.sqlite")
    return tmp_path / "backup.sqlite"


def change(path: Path, script: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def objects_in(path: Path) -> set[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return set(connection.execute("SELECT type, name, sql FROM sqlite_master"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "CREATE TRIGGER rich AFTER INSERT ON teams BEGIN UPDATE settings SET value = 'true'; END",
        f"CREATE TRIGGER slow BEFORE DELETE ON sessions BEGIN INSERT INTO log {ENDLESS} SELECT at FROM endless; END",
        "CREATE VIEW everything AS SELECT hex(zeroblob(1000000000))",
        "CREATE TABLE more (text CHECK (length(hex(zeroblob(400000000))) > 0)); INSERT INTO messages VALUES (1, 0, '')",
        "CREATE INDEX computed ON teams (hex(name || 'x'))",
    ],
    ids=["trigger", "endless trigger", "view", "table", "index"],
)
def test_only_rows_come_from_a_backup(league: League, backup: Path, tmp_path: Path, script: str) -> None:
    change(backup, script)
    restore_backup(backup, tmp_path / "restored")
    assert objects_in(tmp_path / "restored" / FILE_NAME) == objects_in(league.database.path)
    with league_in(tmp_path / "restored") as restored:
        assert [team.name for team in restored(list_teams)] == ["Hasen"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        f"DROP TABLE log; CREATE VIEW log AS {ENDLESS} SELECT at AS id, at, at AS actor, at AS action FROM endless",
        "DROP TABLE messages; CREATE VIRTUAL TABLE messages USING fts5 (id, at, text)",
        "ALTER TABLE messages RENAME COLUMN text TO old; ALTER TABLE messages ADD text AS (hex(zeroblob(400000000)))",
        "ALTER TABLE messages DROP COLUMN text",
        "DROP TABLE messages",
        "DROP TABLE alembic_version",
        "DELETE FROM alembic_version",
        "UPDATE alembic_version SET version_num = '../0003'",
        "DELETE FROM packages",
        "UPDATE packages SET sha256 = '../../evil'; UPDATE versions SET sha256 = '../../evil' WHERE team_id = 1",
        "UPDATE packages SET content = 'PK'",
        "UPDATE versions SET builtin = 'rm -r .' WHERE team_id IS NULL",
        """UPDATE settings SET value = '[{"builtin": "rm -r .", "rating": 0}]' WHERE key = 'anchors'""",
        "UPDATE settings SET value = '7' WHERE key = 'anchors'",
        "UPDATE settings SET value = '{' WHERE key = 'anchors'",
    ],
)
def test_what_no_league_has_written_is_refused(backup: Path, tmp_path: Path, script: str) -> None:
    change(backup, script)
    with pytest.raises(LeagueFileError, match=r"^\S*backup"):
        restore_backup(backup, tmp_path / "restored")
    assert {each.name for each in (tmp_path / "restored").iterdir()} <= {".lock"}
    assert not (tmp_path / "evil.zip").exists()


def test_nothing_runs_without_a_sandbox_because_a_backup_says_so(backup: Path, tmp_path: Path) -> None:
    restore_backup(backup, tmp_path / "restored")
    with league_in(tmp_path / "restored") as restored:
        assert not restored(load_settings).runs_without_sandbox
        assert [each.runs_without_sandbox for each in restored(list_helpers)] == [False]


def test_files_that_lie_beside_a_backup_are_neither_read_nor_made(backup: Path, tmp_path: Path) -> None:
    """SQLite would take a log or a journal of this name for what has to be undone or added."""
    change(backup, "PRAGMA journal_mode = WAL")
    planted = [backup.with_name(f"{backup.name}-{kind}") for kind in ("wal", "journal")]
    for path in planted:
        path.write_bytes(b"x" * 100)
    before = hashlib.sha256(backup.read_bytes()).digest()
    there = set(tmp_path.iterdir())
    restore_backup(backup, tmp_path / "restored")
    assert set(tmp_path.iterdir()) == {*there, tmp_path / "restored"}
    assert [path.read_bytes() for path in planted] == [b"x" * 100] * 2
    assert hashlib.sha256(backup.read_bytes()).digest() == before


def test_archive_is_no_backup(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as archive:
        archive.writestr("../league.sqlite", b"SQLite format 3\0")
    with pytest.raises(LeagueFileError, match="no database of a league"):
        restore_backup(tmp_path / "backup.zip", tmp_path / "restored")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_pipe_or_device_is_no_backup(tmp_path: Path) -> None:
    if sys.platform == "win32":
        raise NotImplementedError
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(LeagueFileError, match="no such file"):
            restore_backup(tmp_path / name, tmp_path / "restored")
