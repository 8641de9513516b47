"""The database of a league: one SQLite file, which functions read and change in worker threads.

A function gets a `Connection` as its first argument and is plain synchronous code. `Database.write` runs one function
at a time in a transaction of its own: when it returns, the change is on the disk as a whole; when it raises, nothing of
it is. Readers see the state of the last finished change and wait for nobody.

Invariants: after `kill -9` or a power failure the file holds every change that `write` has returned from, and no part
of another one. A file of something else, or of a newer version, is refused and not changed.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import msgspec
import trio
from sqlalchemy import Connection, Select, Table, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from spielleiter.league.errors import LeagueDiskError, LeagueFileError

FILE_NAME: Final = "league.sqlite"
APPLICATION_ID: Final = 0x534C4C47
"""Marks the file as ours, in a field of SQLite's for that; `file` and this module read it."""
BUSY_TIMEOUT: Final = 30.0
"""Seconds for which a change waits for that of another process, such as a command of the teacher."""
_READERS: Final = 4
_CACHE_KIBIBYTES: Final = 16 * 1024
_LARGEST_EMPTY_LOG: Final = 64 * 1024 * 1024
"""Bytes of the write-ahead log that are kept for the next changes."""

_PAGES_AT_ONCE: Final = 4000
"""Pages that are copied between two calls about the progress."""

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

_DISK_ERRORS: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY})
_FILE_ERRORS: Final = {
    sqlite3.SQLITE_CORRUPT: "is damaged: restore a backup (spielleiter league --restore)",
    sqlite3.SQLITE_NOTADB: "is no database of a league",
    sqlite3.SQLITE_BUSY: "is used by another program: end that first",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the folder and its permissions",
}


class Database:
    """The open database in the file `path`. `open_database` makes one; `close` closes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = create_engine(
            URL.create("sqlite", database=str(path)),
            connect_args={"timeout": BUSY_TIMEOUT},
            pool_size=_READERS + 1,
            max_overflow=-1,  # commands and tests call `read_now` in threads of their own
        )
        event.listen(self._engine, "connect", _prepare_connection)
        event.listen(self._engine, "begin", _begin)
        self._write_lock = trio.Lock()
        self._read_limiter = trio.CapacityLimiter(_READERS)

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Return ``function(connection, …)``, called in a thread. Raises what it raises, LeagueFileError too."""
        call = partial(self.read_now, function, *args, **options)
        return await trio.to_thread.run_sync(call, limiter=self._read_limiter)

    async def write(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Return ``function(connection, …)``, called in a thread as one change, which is on the disk then.

        A caller that is cancelled while the change is being made waits for its end. If `function` raises, nothing is
        changed. Raises LeagueDiskError if the disk is full or fails, and LeagueFileError.
        """
        async with self._write_lock:
            return await trio.to_thread.run_sync(partial(self.write_now, function, *args, **options))

    def read_now(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """The same as `read`, for code that is in a thread or a command."""
        with file_errors(self.path), self._engine.connect() as connection:
            return function(connection, *args, **options)

    def write_now(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """The same as `write`, for code that is in a thread or a command."""
        with file_errors(self.path), self._engine.execution_options(changes=True).begin() as connection:
            return function(connection, *args, **options)

    def migrate(self, revision: str | None = None) -> None:
        """Bring the tables to a revision, the newest by default. Raises LeagueFileError if it or theirs is unknown."""
        from alembic import command
        from alembic.config import Config
        from alembic.runtime.migration import MigrationContext
        from alembic.script import ScriptDirectory

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        script = ScriptDirectory.from_config(config)

        def upgrade(db: Connection) -> None:
            current = MigrationContext.configure(db).get_current_revision()
            wanted = revision or script.get_current_head()
            if not {current, wanted} <= {None, *(each.revision for each in script.walk_revisions())}:
                raise LeagueFileError(f"{self.path}: is of a newer version of spielleiter: install that one")
            if current != wanted:
                config.attributes["connection"] = db
                command.upgrade(config, wanted or "head")
            db.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")

        self.write_now(upgrade)

    def copy_to(self, path: Path, on_progress: Callable[[float], object] = lambda _share: None) -> None:
        """Write a consistent copy to `path` while others read and change the database.

        `on_progress` is called with the share that is done; what it raises ends the copying. Raises LeagueDiskError.
        """

        def tell(_status: int, remaining: int, total: int) -> None:
            on_progress(1 - remaining / max(total, 1))

        with file_errors(self.path), self._engine.connect() as connection, file_errors(path):
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            connection.rollback()
            # without a transaction, the copying would begin anew after each change that others make meanwhile
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            try:
                with contextlib.closing(sqlite3.connect(path)) as target:
                    target.execute("PRAGMA synchronous = OFF")  # a copy that is not complete is thrown away
                    target.execute("PRAGMA journal_mode = OFF")  # a full disk would leave the journal
                    source.backup(target, pages=_PAGES_AT_ONCE, progress=tell)
                    target.execute("PRAGMA journal_mode = DELETE")  # so that the copy is one file
            finally:
                source.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; the write-ahead log is merged into it."""
        self._engine.dispose()


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Raise LeagueDiskError or LeagueFileError for the database in `path` where SQLite fails for such a reason."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # without the detail in the upper bits
        if code in _DISK_ERRORS:
            text = f"{path.parent}: cannot be written ({cause}); is the disk full? Nothing of the change was kept"
            raise LeagueDiskError(text) from error
        if code in _FILE_ERRORS:
            raise LeagueFileError(f"{path}: {_FILE_ERRORS[code]}") from error
        raise


def open_database(folder: Path) -> Database:
    """Open the database of the league in `folder`, which is made if it is not there; its tables become the newest ones.

    Raises LeagueFileError and LeagueDiskError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # uploads and standard error are nobody else's business
    except OSError as error:
        raise LeagueDiskError(f"{folder}: {error.strerror or error}; choose another folder") from None
    require_own(folder / FILE_NAME)
    database = Database(folder / FILE_NAME)
    try:
        database.migrate()
    except BaseException:
        database.close()
        raise
    return database


def uri_of(path: Path, *, is_immutable: bool = False) -> str:
    """Return an address by which SQLite only reads a file; if `is_immutable`, without its log and its journal."""
    return f"{path.absolute().as_uri()}?mode=ro&immutable={int(is_immutable)}"


def require_own(path: Path, *, is_immutable: bool = False) -> None:
    """Raise LeagueFileError if there is a database of something else, without a change of it."""
    if not path.exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(uri_of(path, is_immutable=is_immutable), uri=True)) as connection:
            is_empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            is_own = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    except sqlite3.DatabaseError as error:
        reason = _FILE_ERRORS.get(error.sqlite_errorcode & 0xFF, str(error))
        raise LeagueFileError(f"{path}: {reason}") from None
    if not is_own and not is_empty:  # it is empty if the first start was killed
        raise LeagueFileError(f"{path}: {_FILE_ERRORS[sqlite3.SQLITE_NOTADB]}")


def _prepare_connection(connection: sqlite3.Connection, _record: object) -> None:
    # transactions begin where we say so, not where the module guesses
    connection.isolation_level = None
    for setting in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        f"cache_size = -{_CACHE_KIBIBYTES}",
        f"journal_size_limit = {_LARGEST_EMPTY_LOG}",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin(connection: Connection) -> None:
    # a change that began as a reader could not become a writer after another process's change
    is_change = connection.get_execution_options().get("changes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_change else "BEGIN")


# -- rows as values -------------------------------------------------------------------------------------------------


def columns_of(kind: type[msgspec.Struct], table: Table) -> list[Any]:
    """The columns of `table` that the fields of `kind` are named after."""
    return [table.c[name] for name in kind.__struct_fields__]


def all_rows(db: Connection, kind: type[S], query: Select[Any]) -> list[S]:
    """The rows of `query` as values of `kind`, whose fields are named as the columns."""
    return [kind(**row) for row in db.execute(query).mappings()]


def one_row(db: Connection, kind: type[S], query: Select[Any], parameters: Mapping[str, Any] | None = None) -> S | None:
    """The first row of `query` as a value of `kind`; None if there is none."""
    row = db.execute(query, parameters).mappings().first()
    return None if row is None else kind(**row)


def in_portions(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values in portions of `size` at most: a statement has a limited number of parameters."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
