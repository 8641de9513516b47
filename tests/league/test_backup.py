"""A backup is the whole league in one file; a wrong file or a running league changes nothing."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Connection, insert

from spielleiter.league import schema
from spielleiter.league.accounts import begin_session, find_session
from spielleiter.league.backup import delete_league, held_folder, league_certificate, restore_backup, write_backup
from spielleiter.league.certificate import open_certificate
from spielleiter.league.database import FILE_NAME, open_database
from spielleiter.league.errors import LeagueDiskError, LeagueFileError
from spielleiter.league.export import write_export, write_export_zip
from spielleiter.league.games import get_recording, list_games, pairing_results
from spielleiter.league.settings import load_settings
from spielleiter.league.teams import list_teams
from tests.league.leagues import NOON, League, league_in, write_old_league


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
    certificate = league_certificate(league.database)
    assert league_certificate(league.database) == certificate
    backup = tmp_path / "backup.sqlite"
    write_backup(league.database, backup)
    restore_backup(backup, tmp_path / "elsewhere")
    with league_in(tmp_path / "elsewhere") as again:
        restored = league_certificate(again.database)
    assert restored.fingerprint == certificate.fingerprint
    if sys.platform != "win32":
        assert restored.path.stat().st_mode & 0o077 == 0
        assert backup.stat().st_mode & 0o077 == 0


def test_certificate_of_an_earlier_version_goes_into_the_database(league: League) -> None:
    """It was only in the file then, which may be lost now."""
    before = open_certificate(league.database.path.parent)
    assert league_certificate(league.database) == before
    before.path.unlink()
    assert league_certificate(league.database) == before


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


@pytest.mark.slow
def test_restore_that_is_stopped_leaves_the_league_as_it_was(league: League, tmp_path: Path) -> None:
    def add_messages(db: Connection) -> None:
        db.execute(insert(schema.messages), [{"at": 0.0, "text": "x" * 100}] * 30_000)

    league(add_messages)
    write_backup(league.database, tmp_path / "backup.sqlite")
    shares: list[float] = []
    restore_backup(tmp_path / "backup.sqlite", tmp_path / "new", shares.append)
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert shares[-1] <= 1

    def stop(_share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore_backup(tmp_path / "backup.sqlite", tmp_path / "other", stop)
    assert [each.name for each in (tmp_path / "other").iterdir()] == [".lock"]


# -- faults and kills at every step -----------------------------------------------------------------------------------


class Steps:
    """Counts what is done to files below a folder, and calls `fault` once, before the step with this number.

    An audit hook sees every such step of Python and can only be added, so there is one for all tests.
    """

    folder = ""
    left = 0
    fault: Callable[[], None] | None = None

    @classmethod
    def see(cls, event: str, arguments: tuple[object, ...]) -> None:
        """Look at an audit event."""
        if cls.fault is None or not event.startswith(("os.", "open", "sqlite3.connect", "shutil.")):
            return
        if any(cls.folder in os.fsdecode(each) for each in arguments if isinstance(each, str | bytes | os.PathLike)):
            cls.left -= 1
            if not cls.left:
                cls.fault()


sys.addaudithook(Steps.see)


def restore_with_fault(backup: Path, folder: Path, number: int, fault: Callable[[], None]) -> bool:
    """Restore a backup, with a fault before the step with this number; return whether there were so many steps."""
    Steps.folder, Steps.left, Steps.fault = str(folder), number, fault
    try:
        restore_backup(backup, folder)
    finally:
        Steps.fault = None
    return Steps.left <= 0


def two_leagues(tmp_path: Path) -> tuple[Path, Path, bytes]:
    """The backup of a league, and the folder of another one, whose certificate has this fingerprint."""
    with league_in(tmp_path / "other") as league:
        league.add_team("Hasen")
        league_certificate(league.database)
        write_backup(league.database, tmp_path / "backup.sqlite")
    folder = tmp_path / "league"
    with league_in(folder) as league:
        league.add_team("Igel")
        return tmp_path / "backup.sqlite", folder, league_certificate(league.database).fingerprint


def state_of(folder: Path) -> tuple[list[str], bytes]:
    with league_in(folder) as league:
        return [team.name for team in league(list_teams)], league_certificate(league.database).fingerprint


@pytest.mark.slow
def test_restore_that_fails_at_any_step_leaves_the_league_as_it_was(tmp_path: Path) -> None:
    backup, folder, fingerprint = two_leagues(tmp_path)

    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    failed = 0
    for number in itertools.count(1):
        names = {each.name for each in folder.iterdir()}
        try:
            has_fault = restore_with_fault(backup, folder, number, fail)
        except (LeagueDiskError, LeagueFileError):
            failed += 1
            assert state_of(folder) == (["Igel"], fingerprint)
            assert {each.name for each in folder.iterdir()} <= names | {"being-restored", ".lock"}
        else:
            assert state_of(folder)[0] == ["Hasen"]
            if not has_fault:
                break
            # what is only tidied up may fail; the league that was there is the next one
            restore_backup(folder / "earlier-1.sqlite", folder)
            for path in folder.glob("earlier-*"):
                path.unlink()
    assert failed > 5


def kill_at_every_step(folder: Path) -> None:
    """Let processes restore a backup, each of which is killed one step later."""
    if sys.platform == "win32":
        raise NotImplementedError
    backup, league, fingerprint = two_leagues(folder)
    there = now = state_of(league)
    assert there == (["Igel"], fingerprint)
    number = 0
    while now == there:
        number += 1
        process = os.fork()
        if not process:
            with contextlib.suppress(BaseException):
                restore_with_fault(backup, league, number, lambda: os._exit(9))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        now = state_of(league)
        assert now != there or os.waitstatus_to_exitcode(status) == 9
    assert now[0] == ["Hasen"]
    assert now[1] != fingerprint
    assert number > 5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.slow
def test_restore_that_is_killed_at_any_step_leaves_one_league_or_the_other(tmp_path: Path) -> None:
    script = f"import sys, pathlib, {__name__} as here; here.kill_at_every_step(pathlib.Path(sys.argv[1]))"
    run = subprocess.run(  # a process without threads, which can be forked
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_backup_of_an_earlier_version_gets_the_newest_tables(tmp_path: Path) -> None:
    write_old_league(tmp_path / "backup.sqlite")
    restore_backup(tmp_path / "backup.sqlite", tmp_path / "restored")
    with league_in(tmp_path / "restored") as restored:
        assert [team.name for team in restored(list_teams)] == ["T1", "T2", "T3"]
        assert restored(load_settings).final_after == 13
        assert [each.wins for each in restored(pairing_results)] == [5, 3, 6]


def test_disk_without_room_is_said_before_anything_is_written(
    league: League, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_backup(league.database, tmp_path / "backup.sqlite")
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=50_000_000))
    writes: list[Callable[[], object]] = [
        lambda: write_backup(league.database, tmp_path / "empty" / "backup.sqlite"),
        lambda: write_export(league.database, tmp_path / "empty" / "export", "2027-01-15"),
        lambda: write_export_zip(league.database, tmp_path / "empty" / "export.zip", "2027-01-15"),
        lambda: restore_backup(tmp_path / "backup.sqlite", tmp_path / "empty"),
    ]
    for write in writes:
        with pytest.raises(LeagueDiskError, match="50 MB free, and 67 MB are needed"):
            write()
        assert {each.name for each in (tmp_path / "empty").iterdir()} <= {".lock"}


FILL = """
import resource, sys
from pathlib import Path
from spielleiter.league.backup import restore_backup, write_backup
from spielleiter.league.database import open_database
from spielleiter.league.errors import LeagueDiskError
from spielleiter.league.export import write_export, write_export_zip

folder = Path(sys.argv[1])
database = open_database(folder / "league")
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
for write in (
    lambda: write_backup(database, folder / "new" / "backup.sqlite"),
    lambda: write_export(database, folder / "new" / "export", "2027-01-15"),
    lambda: write_export_zip(database, folder / "new" / "export.zip", "2027-01-15"),
    lambda: restore_backup(folder / "backup.sqlite", folder / "new"),
):
    try:
        write()
    except LeagueDiskError as error:
        print(error)
"""
"""Writes a backup and exports to a disk that becomes full, and restores a league there."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of a file")
@pytest.mark.slow
def test_disk_that_becomes_full_is_said_and_nothing_stays(league: League, tmp_path: Path) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    league.play(league.open_pair(first, second), 1, 0, replay=bytes(100_000))
    write_backup(league.database, tmp_path / "backup.sqlite")
    new = tmp_path / "new"
    new.mkdir()
    run = subprocess.run([sys.executable, "-P", "-c", FILL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 4
    assert all(line.startswith(str(new)) and "is the disk full?" in line for line in lines)
    assert [each.name for each in new.iterdir()] == [".lock"]


FILL_DISK = """
import sys
from pathlib import Path
from spielleiter.league.backup import write_backup
from spielleiter.league.database import open_database
from spielleiter.league.errors import LeagueDiskError

disk = Path(sys.argv[2])

def fill(_share):
    with (disk / "other").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1_000_000))
        except OSError:
            pass

try:
    write_backup(open_database(Path(sys.argv[1])), disk / "backup.sqlite", fill)
except LeagueDiskError as error:
    print(error)
print(*(each.name for each in disk.iterdir()))
"""
"""Writes a backup to a disk that another program fills meanwhile."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has small disks for a single process")
@pytest.mark.slow
def test_disk_that_another_program_fills_keeps_nothing_of_a_backup(league: League, tmp_path: Path) -> None:
    """SQLite takes this for something else than a file that may not grow."""
    for number in range(2):
        league.upload(league.add_team(f"T{number}"), content=bytes([number]) * 18_000_000)
    disk = tmp_path / "disk"
    disk.mkdir()
    own_mounts = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*own_mounts, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount disks for a single process")
    mount = 'mount -t tmpfs -o size=110m tmpfs "$4" && exec "$1" -P -c "$2" "$3" "$4"'
    run = subprocess.run(
        [*own_mounts, "sh", "-c", mount, "sh", sys.executable, FILL_DISK, str(league.database.path.parent), str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said, left = run.stdout.splitlines()
    assert said.startswith(f"{disk}: ")
    assert "is the disk full?" in said
    assert left == "other"
