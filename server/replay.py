"""Replays: files of finished games, and games that start from a position in one.

Invariants: a replay has the official releases' format and name. It is written completely or not at all: a thread writes
a temporary file, flushes it to the disk, and then renames it. Every position occurs once, with the hints of the move
that led to it. An unreadable replay raises ReplayError with one clear line.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import re
import secrets
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from spielleiter.common.files import FORBIDDEN, cut_to, portable_name, write_all
from spielleiter.game.api import State
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role
from spielleiter.protocol.dialect import Dialect, RoomWriter
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import Memento, RoomData, RoomMessage, UnreadableData
from spielleiter.server.core.policy import Edition
from spielleiter.server.errors import StartError

_MAX_NAME: Final = 90  # bytes of a player's name in a file name; common systems allow 255 in all
_DIRECTIONS: Final = r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_TEMPORARY: Final = ".replay-"
_PREFIX: Final = "replay_"
_PROCESS: Final = secrets.token_hex(8)  # another process may write to the same directory
_numbers: Final = itertools.count(1)
REPLAY_INDENT: Final = "\n"
"""What the official releases write before each packet of a replay: a line feed, no blanks."""


class ReplayError(StartError):
    """A replay cannot be read, or has no position to start from."""


def encode_replay(dialect: Dialect, room_id: str, record: Sequence[RoomData]) -> bytes:
    """Return the bytes of a replay: a document of room packets, each on lines of its own and not indented."""
    return b"".join(replay_pieces(dialect, room_id, record))


def replay_pieces(
    dialect: Dialect, room_id: str, record: Sequence[RoomData], indent: str = REPLAY_INDENT
) -> Iterator[bytes]:
    """Yield the bytes of a replay, one packet at a time, so that the caller can let other tasks run in between.

    `indent` is written before each packet: a line feed and blanks.
    """
    writer = RoomWriter(dialect, room_id, indent)
    yield b"<protocol>"
    yield from map(writer.encode, record)
    yield b"\n</protocol>"


REPLAY_SUFFIX: Final = ".xml"
COMPRESSED_SUFFIX: Final = ".xml.gz"


def replay_name(game_type: str, names: Sequence[str], now: datetime) -> str:
    """Return the file name that the official releases use: ``replay_<gameType>_<date>_<time>_<name>_<name>.xml``.

    Characters that systems refuse, or that make a list of files show a name in another order, become underscores.
    """
    replaced = f"{FORBIDDEN}|{_DIRECTIONS}| "
    players = "_".join(cut_to(re.sub(replaced, "_", name), _MAX_NAME) for name in names)
    return portable_name(f"{_PREFIX}{game_type}_{now:%Y-%m-%d_%H-%M-%S}_{players}{REPLAY_SUFFIX}")


def require_writable(directory: Path) -> None:
    """Check before the first game that replays can be written to `directory`. Raises StartError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = _new_temporary(directory)
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise StartError(f"saveReplay {directory}: cannot be written to ({error.strerror or error})") from None


def remove_leftovers(directory: Path, before: float) -> None:
    """Remove the temporary files of killed servers that are older than `before`, in seconds since the epoch.

    Newer ones may belong to a running server.
    """
    for leftover in directory.glob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError):  # not ours, or removed already
            if leftover.stat().st_mtime < before:
                leftover.unlink()


def free_path(path: Path, reserved: Collection[Path] = ()) -> Path:
    """Return `path`, or its first numbered alternative that neither exists nor is `reserved` for another game."""
    return next(each for each in _alternatives(path) if each not in reserved and not each.exists())


def _alternatives(path: Path) -> Iterator[Path]:
    yield path
    stem, suffix = _parts(path)
    yield from (path.with_name(f"{stem}_{number}{suffix}") for number in itertools.count(2))


def _parts(replay: Path) -> tuple[str, str]:
    """Return the name of a replay without its suffix, and the suffix, which says whether it is compressed."""
    suffix = COMPRESSED_SUFFIX if replay.name.endswith(COMPRESSED_SUFFIX) else replay.suffix
    return replay.name.removesuffix(suffix), suffix


def save_replay(path: Path, content: bytes | bytearray) -> Path:
    """Write `content` to the file at `path`, or to its first free alternative; return the path. Raises OSError.

    It makes few system calls, since each of them passes the interpreter from this thread to the event loop and back.
    """
    temporary = _new_temporary(path.parent)
    try:
        _write_file(temporary, content, is_synced=True)
        for free in _alternatives(path):
            try:
                free.hardlink_to(temporary)  # unlike a rename, it fails if somebody has just made a file of that name
            except FileExistsError:
                continue
            except OSError:  # a file system without hard links
                if free.exists():
                    continue
                temporary.replace(free)
            return free
        raise AssertionError("there is always another name")
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def save_beside(replay: Path, content: bytes) -> None:
    """Write `content` to the ``.json`` file beside a replay, completely or not at all; a link is replaced.

    Raises OSError.
    """
    temporary = _new_temporary(replay.parent)
    try:
        _write_file(temporary, content, is_synced=False)
        temporary.replace(beside(replay))
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def beside(replay: Path) -> Path:
    """Return the path of the ``.json`` file beside a replay."""
    return replay.with_name(f"{_parts(replay)[0]}.json")


def remove_oldest(directory: Path, most_games: int, most_bytes: int) -> None:
    """Remove compressed replays, and the files beside them, until those that are left fit both limits.

    The newest ones are left. Nothing else in the directory is touched. Raises OSError.
    """
    sizes: dict[str, int] = {}
    replays: list[tuple[int, str]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                sizes[entry.name] = status.st_size
                if entry.name.startswith(_PREFIX) and entry.name.endswith(COMPRESSED_SUFFIX):
                    replays.append((status.st_mtime_ns, entry.name))
    total = 0
    for number, (_, name) in enumerate(sorted(replays, reverse=True), 1):
        replay = directory / name
        total += sizes[name] + sizes.get(beside(replay).name, 0)
        if number > most_games or total > most_bytes:
            # first the names, so that none is left without its replay
            beside(replay).unlink(missing_ok=True)
            replay.unlink(missing_ok=True)


def _write_file(path: Path, content: bytes | bytearray, *, is_synced: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileNotFoundError:  # the directory was removed while the server was running
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
    try:
        write_all(partial(os.write, descriptor), content)
        if is_synced:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _new_temporary(directory: Path) -> Path:
    """Return a new path for a temporary file; other users could not read a file made by `tempfile`."""
    return directory / f"{_TEMPORARY}{_PROCESS}-{next(_numbers)}"


def load_starting_states(
    path: Path, turn: int, editions: Mapping[str, Edition], ply: int | None = None
) -> dict[str, State]:
    """Return the first position of a replay whose turn is at least `turn`, by the name of its edition.

    - `path`: the file, which may be compressed with gzip.
    - `editions`: the editions that are offered, by gameType; the replay's season must be among them.
    - `ply`: the number of moves before the position, instead of `turn`; None for none. Where colours that are out are
      passed over, the two differ.

    Raises ReplayError if the file is not a replay, or has no such position from which a game can continue.
    """
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except OSError as error:
        raise ReplayError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (EOFError, zlib.error):
        raise ReplayError(f"{path}: the compressed file is damaged") from None
    problems: dict[str, None] = {}  # each text once, in order: most problems are the same in every season
    readings: list[tuple[int, Edition, list[State]]] = []
    for edition in editions.values():
        try:
            states, unreadable_count = _read_states(content, edition.dialect)
        except RemoteProtocolError as error:
            problems[str(error)] = None
            continue
        if states:
            readings.append((unreadable_count, edition, states))
    if not readings:
        problem = f"is no replay ({'; '.join(problems)})" if problems else "holds no position of a game"
        raise ReplayError(f"{path}: {problem}")
    # seasons resemble each other, so a replay may be partly readable in another season's dialect
    _, edition, states = min(readings, key=lambda reading: reading[0])
    if ply is None:
        state = next((state for state in states if state.turn >= turn), None)
        if state is None:
            raise ReplayError(f"{path}: ends at turn {states[-1].turn}, before turn {turn}")
    else:
        plies = [state for state, _ in itertools.groupby(states)]  # a replay may hold a position twice
        if ply >= len(plies):
            raise ReplayError(f"{path}: ends at ply {len(plies) - 1}, before ply {ply}")
        state = plies[ply]
    state = edition.game.resume(state)
    if state.outcome() is not None:
        raise ReplayError(f"{path}: the game is over at turn {state.turn}, no game can start from there")
    return {edition.name: state}


def _read_states(content: bytes, dialect: Dialect) -> tuple[list[State], int]:
    """Return the positions, and the number of room packets that this dialect cannot read."""
    connection = Connection(Role.CLIENT, dialect)
    connection.receive_data(content)
    connection.receive_data(b"")
    states: list[State] = []
    unreadable_count = 0
    while True:
        event = connection.next_event()
        if event is None or isinstance(event, ConnectionClosed):
            return states, unreadable_count
        if isinstance(event, RoomMessage):
            if isinstance(event.data, Memento):
                states.append(event.data.state)
            unreadable_count += isinstance(event.data, UnreadableData)
