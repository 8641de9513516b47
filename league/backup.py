"""A league as one file, a league from such a file, and the end of a league: nothing of it stays.

A backup holds everything: results, replays, uploads, settings, hashes of codes, the certificate. It is made while the
league runs. For a league to be restored or deleted, no `spielleiter league` may run in its folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, delete, select

from spielleiter.common.files import LOCK_NAME, FolderLock, LockedError, remove_tree
from spielleiter.league import schema
from spielleiter.league.certificate import CERTIFICATE, write_secretly
from spielleiter.league.database import FILE_NAME, Database, open_database
from spielleiter.league.errors import LeagueDiskError, LeagueFileError

CACHE: Final = "cache"
"""The folder of files that can be made again from the database."""
_PARTS: Final = (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", CERTIFICATE, CACHE)
"""All that a league keeps in its folder, beside earlier databases and the lock."""
_CERTIFICATE_KEY: Final = "certificate"
"""The row of the settings in which only a backup has the certificate."""
_EARLIER: Final = "earlier-{number}.sqlite"
_SCRATCH: Final = "being-restored"
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
        database.copy_to(incomplete, on_progress)
        _add_certificate(incomplete, database.path.with_name(CERTIFICATE))
        _write_through(incomplete)
        incomplete.rename(path)
    except OSError as error:
        raise LeagueDiskError(f"{path}: {error.strerror or error}; choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            incomplete.unlink(missing_ok=True)


def _write_through(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def restore_backup(path: Path, folder: Path) -> Path | None:
    """Make the league in `folder` the one of the backup; return where its own database is now, None if it had none.

    The tables of an older backup become the newest ones. Whoever was logged in has to log in again. Raises
    LeagueFileError if the file is damaged, of a newer version or of something else, or if a league is running in the
    folder, and LeagueDiskError; then the league is as it was.
    """
    if not path.is_file():
        raise LeagueFileError(f"{path}: there is no such file")
    with held_folder(folder):
        scratch = folder / _SCRATCH
        try:
            if scratch.exists():
                remove_tree(scratch)
            scratch.mkdir()
            shutil.copyfile(path, scratch / FILE_NAME)
        except OSError as error:
            raise LeagueDiskError(f"{scratch}: {error.strerror or error}; is the disk full?") from None
        try:
            database = open_database(scratch)  # refuses what is no database of a league
            try:
                certificate = database.write_now(_made_ready)
            finally:
                database.close()
            # there is always a database under its name: without one, the next start would make a new league
            if certificate is not None:
                write_secretly(folder / CERTIFICATE, certificate)
            earlier = _put_aside(folder)
            (scratch / FILE_NAME).replace(folder / FILE_NAME)
        except LeagueFileError as error:
            raise LeagueFileError(str(error).replace(str(scratch / FILE_NAME), str(path))) from None
        except OSError as error:
            raise LeagueDiskError(f"{error.filename or folder}: {error.strerror or error}; is the disk full?") from None
        finally:
            with contextlib.suppress(OSError):
                remove_tree(scratch)
        with contextlib.suppress(OSError):
            remove_tree(folder / CACHE)
    return earlier


def _add_certificate(copy: Path, certificate: Path) -> None:
    """Put the certificate of the league into a backup, since the codes of helpers' PCs hold its fingerprint."""
    if certificate.is_file():
        row = (_CERTIFICATE_KEY, json.dumps(certificate.read_text(encoding="ascii")))
        with contextlib.closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", row)


def _made_ready(db: Connection) -> str | None:
    """Examine a restored database, log everybody out, and return the certificate that was put into it."""
    if db.exec_driver_sql("PRAGMA quick_check(1)").scalar_one() != "ok":
        raise LeagueFileError("the backup is damaged: choose an older one")
    db.execute(delete(schema.sessions))
    key = schema.settings.c.key == _CERTIFICATE_KEY
    certificate = db.execute(select(schema.settings.c.value).where(key)).scalar_one_or_none()
    db.execute(delete(schema.settings).where(key))
    return certificate if isinstance(certificate, str) else None


def _put_aside(folder: Path) -> Path | None:
    """Give the database in `folder` a second name that is free."""
    if not (folder / FILE_NAME).exists():
        return None
    numbers = iter(range(1, 10_000))
    earlier = next(path for number in numbers if not (path := folder / _EARLIER.format(number=number)).exists())
    with contextlib.suppress(LeagueFileError):  # a damaged one is put aside as it is
        open_database(folder).close()  # merges the write-ahead log into the file
    try:
        earlier.hardlink_to(folder / FILE_NAME)
    except OSError:  # not every file system has links
        incomplete = earlier.with_name(_SCRATCH) / earlier.name
        shutil.copyfile(folder / FILE_NAME, incomplete)
        incomplete.rename(earlier)
    for suffix in ("-wal", "-shm"):
        (folder / f"{FILE_NAME}{suffix}").unlink(missing_ok=True)
    return earlier


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
