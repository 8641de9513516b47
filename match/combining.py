"""One result from several matches of the same two programs, such as parts that were played on different machines.

Invariants: the matches' folders are only read. Matches are combined only if their games could have been those of one
match: the same programs under the same conditions, and no pair of games twice.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, MatchSetup
from spielleiter.match.records import GameRecord, load_setup, mirrored, read_journal
from spielleiter.programs.command import BUILTIN
from spielleiter.server.editions import choose_editions

_CONDITIONS: Final[Mapping[str, Callable[[MatchSetup], object]]] = MappingProxyType(
    {
        "game": lambda setup: setup.game_type,
        "edition": lambda setup: choose_editions(setup.editions, {})[setup.game_type].name,
        "server": lambda setup: setup.server,
        "time limits or rules": lambda setup: (dict(setup.server_options), setup.timeouts),
        "book": lambda setup: bool(setup.openings),
    }
)
"""What the matches must have in common besides their programs, in words."""


@dataclass(frozen=True, slots=True)
class CombinedMatch:
    """The games of several matches as if they were those of one; program 0 is the first program of the first match."""

    setup: MatchSetup
    """That of the first match, with the number of games that all of them have, and without a test."""
    records: tuple[GameRecord, ...]
    """Numbered anew. Their folders are relative to the one that was named."""
    doubts: tuple[str, ...]
    """Why the result may say less than it seems to, in sentences."""


def combine_matches(folders: Sequence[str | os.PathLike[str]], target: str | os.PathLike[str]) -> CombinedMatch:
    """Put the matches in `folders` together; `target` is the folder that the reports are to be written to.

    Raises JournalError if one cannot be read, and SetupError if they cannot be compared; the text says why.
    """
    match_folders = [Path(folder) for folder in folders]
    setups = [MatchSetup.from_json(load_setup(match_folder)) for match_folder in match_folders]
    first, records = setups[0], list[GameRecord]()
    played: dict[tuple[int, str | None], Path] = {}
    """By seed and opening of a pair: the match that it is in."""
    for match_folder, setup in zip(match_folders, setups, strict=True):
        is_swapped = _require_comparable(match_folders[0], first, match_folder, setup)
        last = max((record.pair for record in records), default=0)
        own = read_journal(match_folder)
        for record in own:
            other = played.setdefault((record.seed, record.start), match_folder)
            if other is not match_folder:
                raise SetupError(
                    f"{other} and {match_folder} hold the same games (seed {setup.seed}), expected different ones"
                )
        records += [
            dataclasses.replace(
                mirrored(record) if is_swapped else record,
                game=record.game + 2 * last,
                pair=record.pair + last,
                names=first.names,
                folder=_seen_from(Path(target), match_folder, record.folder),
            )
            for record in own
        ]
    games = sum(setup.games for setup in setups)
    doubts = []
    if any(setup.sprt is not None or setup.significance is not None for setup in setups):
        doubts.append("a test could end some of these matches early, which makes the interval of all games too narrow")
    if len({(opening.path, opening.turn) for setup in setups for opening in setup.openings}) < sum(
        min(len(setup.openings), (setup.games + 1) // 2) for setup in setups
    ):
        doubts.append("openings occur in several matches; programs that play them alike make the interval too narrow")
    doubts += [
        f"whether {entrant.name} was the same program in all matches is not known: its command line names no file"
        for entrant in first.entrants
        if not entrant.content and not entrant.command.startswith(BUILTIN)
    ]
    setup = dataclasses.replace(first, games=games, sprt=None, significance=None, min_games=0)
    return CombinedMatch(setup, tuple(records), tuple(doubts))


def _require_comparable(match_folder: Path, first: MatchSetup, other_folder: Path, other: MatchSetup) -> bool:
    """Return whether the second match has the two programs in the other order. Raises SetupError."""
    for name, of in _CONDITIONS.items():
        if of(first) != of(other):
            raise SetupError(f"{match_folder} and {other_folder} cannot be combined: they differ in {name}")
    if all(map(Entrant.is_same, first.entrants, other.entrants)):
        return False
    if all(map(Entrant.is_same, first.entrants, other.entrants[::-1])):
        return True
    for own, theirs in itertools.product(first.entrants, other.entrants):
        if own.name == theirs.name and not own.is_same(theirs):
            why = f"{own.name} is another program there, or has other settings"
            raise SetupError(f"{match_folder} and {other_folder} cannot be combined: {why}")
    names = " and ".join(other.names)
    raise SetupError(f"{match_folder} and {other_folder} cannot be combined: the latter is a match of {names}")


def _seen_from(target: Path, match_folder: Path, game_folder: str) -> str:
    """The path of a game's folder relative to `target`; empty if it was not kept."""
    if not game_folder:
        return ""
    try:
        return Path(os.path.relpath(match_folder / game_folder, target)).as_posix()
    except ValueError:  # on another drive of Windows
        return (match_folder / game_folder).absolute().as_posix()
