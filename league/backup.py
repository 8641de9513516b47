"""A league as one file, a league from such a file, and the end of a league: nothing of it stays.

A backup holds everything: results, replays, uploads, settings, hashes of codes, the certificate. It is made while the
league runs. For a league to be restored or deleted, no `spielleiter league` may run in its folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

import msgspec
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import DBAPIError

from spielleiter.common.files import LOCK_NAME, FolderLock, LockedError, remove_tree
from spielleiter.league import schema
from spielleiter.league.certificate import CERTIFICATE, Certificate, open_certificate, write_secretly
from spielleiter.league.database import FILE_NAME, Database, file_errors, open_database, require_own, uri_of
from spielleiter.league.errors import LeagueDiskError, LeagueFileError
from spielleiter.league.settings import change_settings, load_settings
from spielleiter.match.builtin_players import builtin_strategy

CACHE: Final = "cache"
"""The folder of files that can be made again from the database."""
_PARTS: Final = (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", CERTIFICATE, CACHE)
"""All that a league keeps in its folder, beside earlier databases and the lock."""
_CERTIFICATE_KEY: Final = "certificate"
"""The row of the settings with the certificate, which no page and no export reads."""
_EARLIER: Final = "earlier-{number}.sqlite"
_SCRATCH: Final = "being-restored"
_LEFT_FREE: Final = 64 * 1024 * 1024
_CACHE_KIBIBYTES: Final = 128 * 1024
_STEPS_AT_ONCE: Final = 100_000
"""Steps of SQLite's machine between two calls about the progress."""
_DOWNLOADS: Final = ".keep-*"
"""Folders of backups that a browser was fetching when the league was killed."""


@contextlib.contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Hold the folder of a league, so that no other process runs, restores or deletes it. Raises LeagueFileError."""
    try:
        lock = FolderLock(folder)
    except LockedError:
        raise LeagueFileError(f"{folder}: a league is running in this folder; end it first (Ctrl-C)") from None
    except OSError as error:
        raise LeagueFileError(f"{folder}: {error.strerror or error}; choose another folder") from None
    with contextlib.closing(lock):
        yield


def write_backup(database: Database, path: Path, on_progress: Callable[[float], object] = lambda _share: None) -> None:
    """Write the state of this moment to the file `path`, which must not exist.

    Blocks, for a minute with a large league; others may read and change the league meanwhile. `on_progress` is called
    with the share that is done; what it raises ends the backup. Raises LeagueFileError if the file is there, and
    LeagueDiskError; then the file is not there.
    """
    incomplete = path.with_name(f"{path.name}.incomplete")
    if path.exists():
        raise LeagueFileError(f"{path}: is there already; choose another name")
    try:
        incomplete.unlink(missing_ok=True)
        # before it holds anything: others must not be able to read it, nor to have opened it
        os.close(os.open(incomplete, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        require_space(path.parent, database.read_now(_size_of))
        database.copy_to(incomplete, on_progress)
        _write_through(incomplete)
        incomplete.rename(path)
    except OSError as error:
        raise LeagueDiskError(f"{path}: {error.strerror or error}; choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            incomplete.unlink(missing_ok=True)


def _size_of(db: Connection) -> int:
    pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    return int(db.exec_driver_sql(pages).scalar_one())


def _write_through(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def league_certificate(database: Database) -> Certificate:
    """Return the certificate of a league, which the database keeps, so that a backup has it; the first time, make it.

    The file beside the database is for the TLS library. Blocks for a moment. Raises SetupError if the certificate is
    damaged, OSError, LeagueDiskError and LeagueFileError.
    """
    path = database.path.with_name(CERTIFICATE)
    key = schema.settings.c.key == _CERTIFICATE_KEY
    kept = database.read_now(lambda db: db.execute(select(schema.settings.c.value).where(key)).scalar_one_or_none())
    if kept is not None and (not path.exists() or path.read_bytes() != kept.encode()):
        write_secretly(path, kept)
    certificate = open_certificate(path.parent)
    if kept is None:
        row = insert(schema.settings).values(key=_CERTIFICATE_KEY, value=path.read_text(encoding="ascii"))
        database.write_now(lambda db: db.execute(row))
    return certificate


def require_space(folder: Path, size: int) -> None:
    """Raise LeagueDiskError if files of `size` bytes do not fit into the folder, beside what a running league needs."""
    free = shutil.disk_usage(folder).free
    if free < size + _LEFT_FREE:
        raise LeagueDiskError(
            f"{folder}: the disk has {free / 1e6:.0f} MB free, and {(size + _LEFT_FREE) / 1e6:.0f} MB are needed; make "
            "room or choose another disk"
        )


def restore_backup(
    path: Path, folder: Path, on_progress: Callable[[float], object] = lambda _share: None
) -> Path | None:
    """Make the league in `folder` the one of the backup; return where its own database is now, None if it had none.

    The tables of an older backup become the newest ones. Whoever was logged in has to log in again, and what may run
    without a sandbox has to be allowed again. `on_progress` is called with the share that is done.

    Raises LeagueFileError if the file is damaged, of a newer version or of something else, or if a league is running
    in the folder, and LeagueDiskError. Then, and if this process is killed, the league is as it was.
    """
    if not path.is_file():
        raise LeagueFileError(f"{path}: there is no such file")
    with held_folder(folder):
        scratch = folder / _SCRATCH
        try:
            require_space(folder, path.stat().st_size)
            if scratch.exists():
                remove_tree(scratch)
            scratch.mkdir()
            _rebuild(path, scratch, on_progress)
            earlier = _take_place(scratch / FILE_NAME, folder / FILE_NAME)
        except OSError as error:
            raise LeagueDiskError(f"{error.filename or folder}: {error.strerror or error}; is the disk full?") from None
        finally:
            with contextlib.suppress(OSError):
                remove_tree(scratch)
        with contextlib.suppress(OSError):
            remove_tree(folder / CACHE)
    return earlier


def _take_place(new: Path, database: Path) -> Path | None:
    """Let the new database take the place of the one in a folder, which gets a name that is free."""
    if not database.exists():
        new.rename(database)
        return None
    names = (database.with_name(_EARLIER.format(number=number)) for number in itertools.count(1))
    earlier = next(path for path in names if not path.exists())
    is_used = False
    with (
        contextlib.suppress(LeagueFileError),  # a damaged one is put aside as it is
        file_errors(database),
        contextlib.closing(sqlite3.connect(database)) as connection,
    ):
        is_used = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if is_used:
        raise LeagueFileError(f"{database}: is used by another program: end that first")
    try:
        # there is always a database under its name: without one, the next start would make a new league
        try:
            earlier.hardlink_to(database)
        except OSError:  # not every file system has links
            copy = new.with_name(earlier.name)
            shutil.copyfile(database, copy)
            copy.rename(earlier)
        for suffix in ("-wal", "-shm"):  # of a damaged one
            database.with_name(f"{FILE_NAME}{suffix}").unlink(missing_ok=True)
        new.replace(database)
    except OSError:
        earlier.unlink(missing_ok=True)
        raise
    return earlier


# -- the rows of a backup, and nothing else of it ---------------------------------------------------------------------
#
# Whoever has made the file may have put views, triggers, virtual tables and computed columns into it. So tables are
# made anew, and rows are read from plain tables only.


def _rebuild(path: Path, folder: Path, on_progress: Callable[[float], object]) -> None:
    """Make a database in `folder` with the rows of the backup. Raises LeagueFileError, LeagueDiskError and OSError."""
    require_own(path, is_immutable=True)
    made = folder / FILE_NAME
    size = path.stat().st_size

    def tell() -> None:
        on_progress(min(made.stat().st_size / size, 1.0))

    try:
        with file_errors(made), contextlib.closing(sqlite3.connect("file::memory:", uri=True)) as connection:
            connection.isolation_level = None
            for setting in ("trusted_schema = OFF", "cell_size_check = ON", "ignore_check_constraints = ON"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute("ATTACH ? AS backup", (uri_of(path, is_immutable=True),))
            _require_plain(connection, "alembic_version", {"version_num"})
            (revision,) = connection.execute("SELECT max(version_num) FROM backup.alembic_version").fetchone()
            with contextlib.closing(Database(made)) as database:
                database.migrate(str(revision))
            connection.execute("ATTACH ? AS made", (str(made),))
            connection.set_progress_handler(tell, _STEPS_AT_ONCE)
            _copy_rows(connection)
        with contextlib.closing(open_database(folder)) as database:
            database.write_now(_examine)
        _write_through(made)
    except LeagueFileError as error:
        raise LeagueFileError(str(error).replace(str(made), str(path))) from None
    except (sqlite3.Error, DBAPIError, ValueError, RecursionError, msgspec.ValidationError) as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None  # what `tell` raises, and so Ctrl-C, is lost in SQLite
        raise LeagueFileError(f"{path}: is damaged ({error}); choose another backup") from None


def _require_plain(connection: sqlite3.Connection, table: str, columns: Collection[str]) -> None:
    """Raise ValueError or sqlite3.Error if the backup has no plain, sound table with these columns."""
    found = connection.execute(
        "SELECT count(*) FROM backup.sqlite_master "
        "WHERE name = ? AND type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE %'",
        (table,),
    )
    if found.fetchone()[0] != 1:
        raise ValueError(f"{table} is no table")
    is_hidden = {name: hidden for _, name, *_, hidden in connection.execute(f"PRAGMA backup.table_xinfo({table})")}
    if any(is_hidden.values()) or not is_hidden.keys() >= set(columns):
        raise ValueError(f"{table} has other columns")
    (problem,) = connection.execute(f"PRAGMA backup.quick_check({table})").fetchone()
    if problem != "ok":
        raise ValueError(f"{table}: {problem}")


def _copy_rows(connection: sqlite3.Connection) -> None:
    """Copy the rows of all tables but that of the sessions: a logout after the backup is not undone."""
    connection.execute("PRAGMA made.journal_mode = OFF")  # what is not complete is thrown away
    connection.execute("PRAGMA made.synchronous = OFF")
    connection.execute(f"PRAGMA made.cache_size = -{_CACHE_KIBIBYTES}")  # holds the indices
    tables = connection.execute("SELECT name FROM made.sqlite_master WHERE type = 'table'").fetchall()
    connection.execute("BEGIN")
    for (table,) in tables:
        if table in {"alembic_version", "sessions"}:
            continue
        columns = [column for _, column, *_ in connection.execute(f"PRAGMA made.table_info({table})")]
        _require_plain(connection, table, columns)
        names = ", ".join(f'"{column}"' for column in columns)
        connection.execute(f"INSERT INTO made.{table} ({names}) SELECT {names} FROM backup.{table}")  # noqa: S608 - ours
    if connection.execute("PRAGMA made.foreign_key_check").fetchone():
        raise ValueError("rows that others refer to are missing")
    connection.execute("COMMIT")


def _examine(db: Connection) -> None:
    """Take back what is a risk, and raise ValueError if a value is none of ours that becomes a command or a path."""
    for digest, content in db.execute(select(schema.packages.c.sha256, schema.packages.c.content)):
        if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != digest:
            raise ValueError("a package is not the one that was uploaded")
    builtins = db.execute(select(schema.versions.c.builtin).where(schema.versions.c.builtin.is_not(None))).scalars()
    for command in (*builtins, *(anchor.builtin for anchor in load_settings(db).anchors)):
        if builtin_strategy(str(command)) is None:
            raise ValueError(f"{command} is no built-in player")
    change_settings(db, runs_without_sandbox=False)
    db.execute(update(schema.helpers).values(runs_without_sandbox=False))


def delete_league(folder: Path) -> list[str]:
    """Delete everything of the league in `folder`, and the folder itself if nothing else is in it.

    Returns the names of what is not the league's and stays. Raises LeagueFileError if a league is running there or
    never was, and LeagueDiskError if something cannot be deleted.
    """
    if not (folder / FILE_NAME).is_file():
        raise LeagueFileError(f"{folder}: there is no league in this folder")
    try:
        with held_folder(folder):
            doomed = [folder / name for name in (*_PARTS[1:], _SCRATCH)]
            doomed += [*folder.glob(_EARLIER.format(number="*")), *folder.glob(_DOWNLOADS)]
            # last, so that a deletion that was interrupted can be repeated
            for path in (*doomed, folder / FILE_NAME):
                if path.is_dir() and not path.is_symlink():
                    remove_tree(path)
                else:
                    path.unlink(missing_ok=True)
        (folder / LOCK_NAME).unlink(missing_ok=True)
        left = sorted(each.name for each in folder.iterdir())
        if not left:
            folder.rmdir()
    except OSError as error:
        raise LeagueDiskError(f"{error.filename}: {error.strerror or error}; delete the folder by hand") from None
    return left
