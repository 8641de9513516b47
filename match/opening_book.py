"""Opening books: the positions that the games of a match begin from.

A book is a replay, a folder of replays, the folder of a match, or a list. A list is a text file with the path of a
replay on each line, which the turn to begin from may follow.

Invariants: every position is read before the first game. The same book, order and seed give the same openings.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import RANDOM, Opening
from spielleiter.match.records.game_files import GAMES, REPLAY
from spielleiter.match.records.journal import SETUP
from spielleiter.server.editions import choose_editions
from spielleiter.server.errors import StartError
from spielleiter.server.replay import load_starting_states
from spielleiter.server.setting import MAX_WHOLE_NUMBER

_REPLAYS: Final = (".xml", ".xml.gz")
_TURN: Final = re.compile(r"^(?P<path>.*\S)\s+(?P<turn>\d+)$")
_LONGEST_LIST: Final = 16 << 20  # bytes; a list of 100,000 replays is much shorter


def load_openings(
    book: Path,
    turn: int,
    game_type: str,
    game_options: Mapping[str, str],
    editions: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Opening, ...]:
    """The openings of `book`, in its order.

    `turn` is the turn to begin from where the book does not name one. `game_options` are the options of the rules.
    `editions` maps a gameType to the edition of its replays; the default edition can be left out.

    Raises SetupError if a replay has no position of this game, at its turn or later, from which a game can be played.
    """
    openings = read_book(book, turn)
    try:
        edition = choose_editions(editions, game_options)[game_type]
        for opening in openings:
            load_starting_states(Path(opening.path), opening.turn, {game_type: edition})
    except StartError as error:
        raise SetupError(f"openings {book}: {error}") from None
    return openings


def read_book(book: Path, turn: int) -> tuple[Opening, ...]:
    """The openings that `book` names, in its order; the replays themselves are not read. Raises SetupError."""
    try:
        if book.is_dir():
            files = _replays_in(book)
        elif _is_list(book):
            return _read_list(book, turn)
        else:
            files = [book]
    except OSError as error:
        raise SetupError(f"openings {book}: cannot be read ({error.strerror or error})") from None
    if not files:
        raise SetupError(
            f"openings {book}: holds no replay, expected files named *.xml or *.xml.gz, or the folder of a match"
        )
    return tuple(Opening(_name_of(file), str(file.resolve()), turn) for file in files)


def _replays_in(folder: Path) -> list[Path]:
    """The replays in a folder, sorted; in that of a match, those of its games. Raises OSError."""
    if (folder / SETUP).is_file():  # its junit.xml is no replay
        return sorted(each for each in (folder / GAMES).glob(f"*/{REPLAY}") if each.is_file())
    return sorted(each for each in folder.iterdir() if each.is_file() and _is_replay(each))


def _is_replay(file: Path) -> bool:
    return file.name.lower().endswith(_REPLAYS)


def _name_of(file: Path) -> str:
    """The name of an opening; the replays of a match are named after the folders of their games."""
    return f"game {file.parent.name}" if file.name == REPLAY else file.name


def _is_list(file: Path) -> bool:
    """Whether neither the name of the file nor its first bytes (XML or gzip) are those of a replay."""
    if _is_replay(file):
        return False
    with file.open("rb") as opened:
        head = opened.read(512)
    return not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\x1f\x8b"))


def _read_list(file: Path, turn: int) -> tuple[Opening, ...]:
    """The openings of a list. Paths are relative to its folder; lines that begin with ``#`` are comments."""
    with file.open("rb") as opened:
        content = opened.read(_LONGEST_LIST + 1)
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise SetupError(f"openings {file}: is neither a replay nor a list of replays in UTF-8") from None
    if len(content) > _LONGEST_LIST:
        raise SetupError(f"openings {file}: is too long for a list, expected {_LONGEST_LIST >> 20} MiB at most")
    openings = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        named = _TURN.match(text)
        path = file.parent / (named["path"] if named else text)
        at = int(named["turn"]) if named else turn
        if at > MAX_WHOLE_NUMBER:
            raise SetupError(f"openings {file}:{number}: turn {at}, expected {MAX_WHOLE_NUMBER} at most")
        if not path.is_file():
            raise SetupError(f"openings {file}:{number}: there is no file {path}")
        openings.append(Opening(f"{path.name} {at}" if named else path.name, str(path.resolve()), at))
    if not openings:
        raise SetupError(f"openings {file}: names no replay, expected a path in each line")
    return tuple(openings)


def order_openings(openings: Sequence[Opening], order: str, seed: int) -> tuple[Opening, ...]:
    """The openings in the order (one of `plan.ORDERS`) in which pairs of games begin from them; none is repeated."""
    ordered = list(openings)
    if order == RANDOM:
        random.Random(f"{seed} openings").shuffle(ordered)
    return tuple(ordered)
