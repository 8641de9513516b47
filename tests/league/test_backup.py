"""A backup is the whole league in one file; a wrong file or a running league changes nothing."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from sqlalchemy import select

from spielleiter.league import schema
from spielleiter.league.accounts import begin_session, find_session
from spielleiter.league.backup import delete_league, held_folder, restore_backup, write_backup
from spielleiter.league.certificate import open_certificate
from spielleiter.league.database import FILE_NAME, open_database
from spielleiter.league.errors import LeagueDiskError, LeagueFileError
from spielleiter.league.games import get_recording, list_games
from spielleiter.league.teams import list_teams
from tests.league.leagues import NOON, League, league_in


def names_in(folder: Path) -> list[str]:
    with league_in(folder) as league:
        return [team.name for team in league(list_teams)]


def test_a_league_is_restored_from_its_backup_in_another_folder(league: League, tmp_path: Path) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    game = league.play(league.open_pair(first, second), 1, 0, replay=b"replay")
    assert game is not None
    session = league(begin_session, "team", first.team_id, NOON)
    backup = tmp_path / "backup.sqlite"
    write_backup(league.database, backup)
    league.add_team("Später")
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["backup.sqlite"]
    assert restore_backup(backup, tmp_path / "elsewhere") is None
    with league_in(tmp_path / "elsewhere") as restored:
        assert [team.name for team in restored(list_teams)] == ["Hasen", "Igel"]
        assert [each.winner for each in restored(list_games)] == [0]
        recording = restored(get_recording, game)
        assert recording is not None
        assert recording.replay == b"replay"
        assert restored(find_session, session.token, NOON) is None  # a logout after the backup is not undone
    with pytest.raises(LeagueFileError, match="is there already"):
        write_backup(league.database, backup)


def test_the_league_that_was_there_is_put_aside(league: League, tmp_path: Path) -> None:
    folder = league.database.path.parent
    league.add_team("Hasen")
    backup = tmp_path / "backup.sqlite"
    write_backup(league.database, backup)
    league.add_team("Igel")
    league.database.close()
    earlier = restore_backup(backup, folder)
    assert names_in(folder) == ["Hasen"]
    assert earlier is not None
    assert restore_backup(earlier, tmp_path / "again") is None
    assert names_in(tmp_path / "again") == ["Hasen", "Igel"]
    assert sorted(each.name for each in folder.iterdir()) == [".lock", earlier.name, FILE_NAME]


def test_helpers_pcs_know_a_restored_league(league: League, tmp_path: Path) -> None:
    certificate = open_certificate(league.database.path.parent)
    backup = tmp_path / "backup.sqlite"
    write_backup(league.database, backup)
    restore_backup(backup, tmp_path / "elsewhere")
    restored = open_certificate(tmp_path / "elsewhere")
    assert restored.fingerprint == certificate.fingerprint
    if sys.platform != "win32":
        assert restored.path.stat().st_mode & 0o077 == 0
        assert backup.stat().st_mode & 0o077 == 0
    with league_in(tmp_path / "elsewhere") as again:
        keys = again(lambda db: db.execute(select(schema.settings.c.key)).scalars().all())
        assert keys == []


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE teams (id INTEGER)")
    other.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")
    other.close()


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda path: path.unlink(), "no such file"),
        (lambda path: path.write_bytes(b"x" * 10_000), "no database of a league"),
        (foreign, "no database of a league"),
        (newer, "newer version"),
        (damaged, "damaged"),
    ],
    ids=["missing", "text", "foreign", "newer", "damaged"],
)
def test_a_wrong_backup_is_refused_and_the_league_stays(
    league: League, tmp_path: Path, spoil: object, text: str
) -> None:
    folder = league.database.path.parent
    league.add_team("Hasen")
    backup = tmp_path / "backup.sqlite"
    write_backup(league.database, backup)
    league.add_team("Igel")
    league.database.close()
    assert callable(spoil)
    spoil(backup)
    with pytest.raises(LeagueFileError, match=text) as caught:
        restore_backup(backup, folder)
    assert "being-restored" not in str(caught.value)
    assert names_in(folder) == ["Hasen", "Igel"]
    assert sorted(each.name for each in folder.iterdir()) in ([".lock", FILE_NAME], [FILE_NAME])


def test_a_running_league_is_neither_restored_nor_deleted(league: League, tmp_path: Path) -> None:
    folder = league.database.path.parent
    backup = tmp_path / "backup.sqlite"
    with held_folder(folder):
        write_backup(league.database, backup)
        with pytest.raises(LeagueFileError, match="is running"):
            restore_backup(backup, folder)
        with pytest.raises(LeagueFileError, match="is running"):
            delete_league(folder)


def test_a_backup_that_does_not_fit_leaves_no_part(league: League, tmp_path: Path) -> None:
    with pytest.raises((LeagueDiskError, LeagueFileError)):
        write_backup(league.database, tmp_path / "no" / "folder" / "backup.sqlite")
    assert not (tmp_path / "no").exists()


def test_nothing_of_a_deleted_league_stays(league: League, tmp_path: Path) -> None:
    folder = league.database.path.parent
    league.add_team("Hasen")
    write_backup(league.database, tmp_path / "backup.sqlite")
    league.database.close()
    restore_backup(tmp_path / "backup.sqlite", folder)
    (folder / "cache" / "42").mkdir(parents=True)
    (folder / "helpers.pem").write_text("key")
    (folder / "notes.txt").write_text("the teacher's own")
    assert delete_league(folder) == ["notes.txt"]
    assert [each.name for each in folder.iterdir()] == ["notes.txt"]
    with pytest.raises(LeagueFileError, match="no league"):
        delete_league(folder)
    open_database(tmp_path / "other").close()
    assert delete_league(tmp_path / "other") == []
    assert not (tmp_path / "other").exists()


def test_a_backup_that_is_stopped_leaves_no_file_and_shows_one_moment(league: League, tmp_path: Path) -> None:
    for number in range(4):
        league.upload(league.add_team(f"T{number}"), content=bytes([number]) * 9_000_000)
    shares: list[float] = []

    def change_and_note(share: float) -> None:
        league.add_team(f"Später {len(shares)}")
        shares.append(share)

    write_backup(league.database, tmp_path / "backup.sqlite", change_and_note)
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert shares[-1] == 1
    restore_backup(tmp_path / "backup.sqlite", tmp_path / "elsewhere")
    assert len(names_in(tmp_path / "elsewhere")) == 4

    def stop(_share: float) -> None:
        raise KeyboardInterrupt

    (tmp_path / "new").mkdir()
    with pytest.raises(KeyboardInterrupt):
        write_backup(league.database, tmp_path / "new" / "backup.sqlite", stop)
    assert list((tmp_path / "new").iterdir()) == []


def test_a_restore_that_cannot_write_leaves_the_league_as_it_was(league: League, tmp_path: Path) -> None:
    folder = league.database.path.parent
    open_certificate(folder)
    league.add_team("Hasen")
    backup = tmp_path / "backup.sqlite"
    write_backup(league.database, backup)
    league.add_team("Igel")
    league.database.close()
    (folder / "helpers.pem").unlink()
    (folder / "helpers.pem").mkdir()
    with pytest.raises(LeagueDiskError, match=r"helpers\.pem"):
        restore_backup(backup, folder)
    assert names_in(folder) == ["Hasen", "Igel"]
