"""The league's database keeps whole changes only, through kills, full disks and newer versions."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, func, insert, select

from spielleiter.league import schema
from spielleiter.league.database import FILE_NAME, Database, open_database
from spielleiter.league.errors import LeagueFileError


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(tmp_path / "league")
    yield database
    database.close()


def add_message(db: Connection, text: str) -> None:
    db.execute(insert(schema.messages).values(at=0.0, text=text))


def count_messages(db: Connection) -> int:
    return db.execute(select(func.count()).select_from(schema.messages)).scalar_one()


def test_the_migrations_make_the_tables_of_the_schema(database: Database) -> None:
    def differences(db: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(db), schema.metadata))

    assert database.read_now(differences) == []


def test_a_database_is_opened_again_as_it_was(database: Database) -> None:
    database.write_now(add_message, "kept")
    database.close()
    again = open_database(database.path.parent)
    assert again.read_now(count_messages) == 1
    again.close()


async def test_a_change_that_raises_changes_nothing(database: Database) -> None:
    def add_and_fail(db: Connection) -> None:
        add_message(db, "lost")
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await database.write(add_and_fail)
    assert await database.read(count_messages) == 0


async def test_changes_wait_for_each_other_and_readers_for_nobody(database: Database) -> None:
    is_inside, may_end = trio.Event(), trio.Event()

    def add_slowly(db: Connection) -> None:
        add_message(db, "slow")
        trio.from_thread.run_sync(is_inside.set)
        trio.from_thread.run(may_end.wait)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(database.write, add_slowly)
        await is_inside.wait()
        nursery.start_soon(database.write, add_message, "after")
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert await database.read(count_messages) == 0
        may_end.set()
    assert await database.read(count_messages) == 2


async def test_a_change_whose_caller_is_cancelled_is_whole(database: Database) -> None:
    is_inside = trio.Event()

    def add_two(db: Connection) -> None:
        add_message(db, "one")
        trio.from_thread.run_sync(is_inside.set)
        add_message(db, "two")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(database.write, add_two)
        await is_inside.wait()
        nursery.cancel_scope.cancel()
    assert await database.read(count_messages) in {0, 2}


def test_a_file_of_something_else_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE teams (id INTEGER)")
    other.close()
    for content in (path.read_bytes(), b"a letter " * 1000):
        path.write_bytes(content)
        with pytest.raises(LeagueFileError, match="no database of a league"):
            open_database(tmp_path)
        assert path.read_bytes() == content


def test_a_database_of_a_newer_version_is_refused(database: Database) -> None:
    def pretend(db: Connection) -> None:
        db.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")

    database.write_now(pretend)
    database.close()
    with pytest.raises(LeagueFileError, match="newer version"):
        open_database(database.path.parent)


def test_a_copy_is_one_whole_file(database: Database, tmp_path: Path) -> None:
    database.write_now(add_message, "kept")
    copy = tmp_path / "copy"
    copy.mkdir()
    database.copy_to(copy / FILE_NAME)
    assert [each.name for each in copy.iterdir()] == [FILE_NAME]
    again = open_database(copy)
    assert again.read_now(count_messages) == 1
    again.close()


FILL = """
import resource, sys
from pathlib import Path
from sqlalchemy import insert
from spielleiter.league import schema
from spielleiter.league.database import open_database
from spielleiter.league.errors import LeagueDiskError

def add(db, text):
    db.execute(insert(schema.messages).values(at=0.0, text=text))
    db.execute(insert(schema.log).values(at=0.0, actor="league", action="add", details={}))

database = open_database(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
done = 0
try:
    while True:
        database.write_now(add, "x" * 50_000)
        done += 1
except LeagueDiskError as error:
    print(done, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
database.write_now(add, "after")
"""
"""Adds rows until the file may not grow, then one more after that is over."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of a file")
@pytest.mark.slow
def test_a_full_disk_loses_no_finished_change_and_is_said(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-P", "-c", FILL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    done, _, text = run.stdout.partition(" ")
    assert "is the disk full?" in text
    assert int(done) > 0
    database = open_database(tmp_path)
    assert database.read_now(count_messages) == int(done) + 1
    assert database.read_now(lambda db: db.execute(select(func.count()).select_from(schema.log)).scalar_one()) == (
        int(done) + 1
    )
    database.close()


ADD = """
import sys
from pathlib import Path
from sqlalchemy import insert
from spielleiter.league import schema
from spielleiter.league.database import open_database

def add(db, text):
    db.execute(insert(schema.messages).values(at=0.0, text=text))
    db.execute(insert(schema.log).values(at=0.0, actor="league", action=text, details={}))

database = open_database(Path(sys.argv[1]))
for number in range(100_000):
    database.write_now(add, str(number))
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_killed_league_has_every_change_that_was_reported(tmp_path: Path) -> None:
    for wanted in (1, 7, 40):
        folder = tmp_path / str(wanted)
        with subprocess.Popen([sys.executable, "-P", "-c", ADD, str(folder)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(wanted):
                process.stdout.readline()
            process.kill()
            reported = wanted + len(process.stdout.read().split())
        database = open_database(folder)
        kept = database.read_now(count_messages)
        logged = database.read_now(lambda db: db.execute(select(func.count()).select_from(schema.log)).scalar_one())
        database.close()
        assert kept == logged
        assert kept in {reported, reported + 1}  # one may have been finished and not reported
