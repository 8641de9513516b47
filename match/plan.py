"""Which games a match consists of.

Law: games come in pairs that differ in nothing but who sits where; the same seed and openings give the same plan. A
plan with an odd number of games ends with half a pair.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from match.errors import SetupError
from server.editions import choose_editions
from server.errors import StartError
from server.replay import load_starting_states

SEED_BITS = 32


@dataclass(frozen=True, slots=True)
class Opening:
    """A position to start from: that of the replay `path` at `turn` (or the next one there is)."""

    name: str
    path: str
    turn: int = 0


@dataclass(frozen=True, slots=True)
class PlannedGame:
    """One game before it is played; the fields are those of a record."""

    game: int
    pair: int
    seed: int
    seats: tuple[int, int]
    opening: Opening | None = None

    def program_seed(self, program: int) -> int:
        """What a program may draw from, the same in both games of a pair."""
        return random.Random(f"{self.seed} program {program}").getrandbits(SEED_BITS)


def plan_games(count: int, seed: int, openings: Sequence[Opening] = ()) -> tuple[PlannedGame, ...]:
    """`count` games; each pair has a seed of its own and the next of `openings`, from the first again at the end."""
    return tuple(_planned(game, seed, openings) for game in range(1, count + 1))


def _planned(game: int, seed: int, openings: Sequence[Opening]) -> PlannedGame:
    pair = (game + 1) // 2
    return PlannedGame(
        game,
        pair,
        random.Random(f"{seed} pair {pair}").getrandbits(SEED_BITS),
        (0, 1) if game % 2 else (1, 0),
        openings[(pair - 1) % len(openings)] if openings else None,
    )


def load_openings(
    place: Path,
    turn: int,
    game_type: str,
    game_options: Mapping[str, str],
    editions: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Opening, ...]:
    """The openings at `place`: a replay, or a folder with replays, in the order of their names.

    `editions` by gameType: in which form replays are written, if it is not the usual one.

    Each is read and must hold a position of this game, at `turn` or later, from which a game can be played.
    Raises SetupError.
    """
    files = find_replays(place)
    try:
        edition = choose_editions(editions, game_options)[game_type]
        for file in files:
            load_starting_states(file, turn, {game_type: edition})
    except StartError as error:
        raise SetupError(f"openings {place}: {error}") from None
    return tuple(Opening(file.name, str(file.resolve()), turn) for file in files)


def find_replays(place: Path) -> list[Path]:
    """The replay `place`, or those in the folder `place`, in the order of their names. Raises SetupError."""
    try:
        files = sorted(each for each in place.iterdir() if _is_replay(each)) if place.is_dir() else [place]
    except OSError as error:
        raise SetupError(f"openings {place}: cannot be read ({error.strerror or error})") from None
    if not files:
        raise SetupError(f"openings {place}: holds no replay, expected files named *.xml or *.xml.gz")
    return files


def _is_replay(file: Path) -> bool:
    return file.is_file() and file.name.lower().endswith((".xml", ".xml.gz"))
