"""Preparing a match: from two command lines to a `MatchSetup` whose problems are found before the first game.

A setup that cannot be played is refused with a text that says what to change. Nothing is started here, and nothing is
written but the packages among the programs, which are unpacked once for all games.
"""

from __future__ import annotations

import dataclasses
import os
import random
import re
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import trio

from spielleiter.common.errors import MachineError, SetupError, os_error_text
from spielleiter.match.builtin_players import builtin_strategy
from spielleiter.match.defaults import DEFAULT_GAMES, DEFAULT_MIN_GAMES, ORDERS, RANDOM, SEQUENTIAL
from spielleiter.match.game_folder import GAMES, REPLAY
from spielleiter.match.match_server import limits_of, match_server_config
from spielleiter.match.plan import (
    SEED_BITS,
    Entrant,
    MatchSetup,
    Opening,
    ProgramTimeouts,
)
from spielleiter.match.records import SETUP, load_setup
from spielleiter.match.statistics import MIN_PAIRS
from spielleiter.match.stopping import sprt_of
from spielleiter.players.strategies import strategy_called
from spielleiter.programs.command import BUILTIN, Command, content_of, join_command, names_of
from spielleiter.programs.environment import require_set
from spielleiter.programs.packages.faults import PackageError
from spielleiter.programs.packages.package import Inspection, inspect_package, unpack_package
from spielleiter.programs.sandbox.choice import choose_sandbox
from spielleiter.programs.startable import require_startable
from spielleiter.programs.temporary_folders import new_folder, remove_folder, remove_stale_folders
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.server.config import limits_problem
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS, choose_editions, game_option_problem
from spielleiter.server.errors import StartError
from spielleiter.server.replay import load_starting_states
from spielleiter.server.setting import MAX_WHOLE_NUMBER

_REPLAYS: Final = (".xml", ".xml.gz")
_TURN: Final = re.compile(r"^(?P<path>.*\S)\s+(?P<turn>\d+)$")
_RULES: Final = {"start_piece": "startPiece", "game_end": "gameEnd"}
"""By setting of the server: the option of the rules."""
_LONGEST_LIST: Final = 16 << 20  # bytes; a list of 100,000 replays is much shorter


def openings_of(
    book: Path,
    turn: int,
    game_type: str,
    *,
    edition: str | None = None,
    server_options: Mapping[str, Any] = MappingProxyType({}),
    order: str = SEQUENTIAL,
    seed: int = 0,
) -> tuple[Opening, ...]:
    """The openings of `book` for a match with these settings, all of which are read; none is repeated.

    A book is a replay, a folder of replays, the folder of a match, or a list: a text file with the path of a replay on
    each line, which the turn to begin from may follow. `turn` is the turn to begin from where the book does not name
    one. `order` is one of `defaults.ORDERS`; the other settings mean the same as in `MatchSetup`.

    Raises SetupError if a replay has no position of this game, at its turn or later, from which a game can be played.
    """
    openings = list(read_book(book, turn))
    options = {_RULES[name]: str(value) for name, value in server_options.items() if name in _RULES}
    try:
        chosen = choose_editions({} if edition is None else {game_type: edition}, options)[game_type]
        for opening in openings:
            load_starting_states(Path(opening.path), opening.turn, {game_type: chosen})
    except StartError as error:
        raise SetupError(f"openings {book}: {error}") from None
    if order == RANDOM:
        random.Random(f"{seed} openings").shuffle(openings)
    return tuple(openings)


def read_book(book: Path, turn: int) -> tuple[Opening, ...]:
    """The openings that `book` names, in its order; the replays themselves are not read. Raises SetupError."""
    try:
        if book.is_dir():
            if (book / SETUP).is_file():  # the folder of a match, whose junit.xml is no replay
                files = [each for each in (book / GAMES).glob(f"*/{REPLAY}") if each.is_file()]
            else:
                files = [each for each in book.iterdir() if each.is_file() and _is_replay(each)]
            files.sort()
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
    # the replays of a match are named after the folders of their games
    return tuple(
        Opening(f"game {file.parent.name}" if file.name == REPLAY else file.name, str(file.resolve()), turn)
        for file in files
    )


def _is_replay(file: Path) -> bool:
    return file.name.lower().endswith(_REPLAYS)


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


def inspect_program(entrant: Entrant, cwd: str) -> Inspection | None:
    """Inspect the package that an entrant names; None if its command does not name one.

    `cwd` is the directory that relative paths start from. Raises SetupError if the package cannot be started, or if
    there are settings that contradict it.
    """
    command = Command.parse(entrant.command, cwd)
    if not command.is_package:
        if entrant.main:
            raise SetupError(f"{entrant.command}: expected no main file, since this is not a ZIP file")
        return None
    if entrant.cwd:
        raise SetupError(f"{entrant.command}: a package is started in its own folder, expected no directory for it")
    path = _path_of(command, cwd)
    inspection = inspect_package(path, entrant.main or None)
    if not inspection.is_startable:
        raise PackageError(Path(command.words[0]), inspection.red)
    return inspection


@asynccontextmanager
async def unpacked_programs(setup: MatchSetup) -> AsyncIterator[MatchSetup]:
    """Unpack the packages of a match; the result is the same match, whose commands start the unpacked programs.

    Raises PackageError if a package cannot be started, and MachineError if it cannot be unpacked here.
    """
    if not any(each.is_package for each in _commands_of(setup)):
        yield setup
        return
    try:
        await trio.to_thread.run_sync(remove_stale_folders)
        scratch = await trio.to_thread.run_sync(new_folder)
    except OSError as error:
        raise MachineError(os_error_text(error)) from None
    try:
        yield await trio.to_thread.run_sync(_unpacked, setup, scratch)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(remove_folder, scratch)


def _unpacked(setup: MatchSetup, scratch: Path) -> MatchSetup:
    entrants = list(setup.entrants)
    for program, command in enumerate(_commands_of(setup)):
        if not command.is_package:
            continue
        folder, entrant = scratch / f"program{program + 1}", entrants[program]
        try:
            package = unpack_package(_path_of(command, setup.cwd), folder, entrant.main or None, command.parameters)
        except OSError as error:
            raise MachineError(os_error_text(error)) from None
        entrants[program] = dataclasses.replace(entrant, command=join_command(package.words), cwd=str(folder), main="")
    return dataclasses.replace(setup, entrants=(entrants[0], entrants[1]))


def _commands_of(setup: MatchSetup) -> list[Command]:
    return [Command.parse(each.command, setup.cwd_of(program)) for program, each in enumerate(setup.entrants)]


def _path_of(command: Command, cwd: str) -> Path:
    return Path(cwd, command.words[0])


def prepare_match(
    player1: str | Entrant,
    player2: str | Entrant,
    *,
    games: int = DEFAULT_GAMES,
    game_type: str | None = None,
    edition: str | None = None,
    seed: int | None = None,
    book: str | os.PathLike[str] | None = None,
    order: str = SEQUENTIAL,
    opening_turn: int = 0,
    soft_timeout: float | None = None,
    hard_timeout: float | None = None,
    start_piece: str | None = None,
    game_end: str | None = None,
    timeouts: ProgramTimeouts | None = None,
    server: tuple[str, int] | None = None,
    password: str = "",
    sprt: str | None = None,
    significance: float | None = None,
    min_games: int = DEFAULT_MIN_GAMES,
    cwd: str | os.PathLike[str] | None = None,
    is_played_elsewhere: bool = False,
) -> MatchSetup:
    """Set up a match of two programs, for `play_match` or `run_match`; nothing is started yet.

        setup = prepare_match("./new", "builtin:greedy", games=20)
        setup = prepare_match(Entrant("new", "./bot --fast", memory=512), "java -jar old.jar", sprt="elo0=0 elo1=50")

    `player1` and `player2` are command lines, paths of programs, .jar files or contest packages (.zip), or
    ``builtin:NAME``; an `Entrant` holds a command with settings of its own, and an empty name means that the program is
    named after its file. `games` is the number of games, which come in pairs with the sides swapped. `game_type` and
    `edition` choose the season; None means the current one, or the default edition of that game. `seed` determines the
    starting positions and seeds of all games; None draws one. `book` holds the positions to start from: a replay, a
    folder of replays, or a list of them. They are used in `order` (``"sequential"`` or ``"random"``); `opening_turn` is
    the turn to begin from where the book does not name one.

    `soft_timeout` and `hard_timeout` are the limits for a move in seconds; None means those of the contest.
    `start_piece` and `game_end` are options of the rules. `timeouts` says how long the match waits for programs; None
    means 30 s for a start, 5 s for an exit and 600 s for a game. `server` is host and port of a running server, with
    the administrators' `password`; None means that the match starts a server of its own. Limits, rules and books cannot
    be set for a running server.

    `sprt`, such as ``"elo0=0 elo1=50"``, ends the match as soon as that sequential test has decided. `significance`
    ends it as soon as one program is better, with that probability of error at most, but not before `min_games` games
    have counted. `cwd` is the directory that programs are started in; None means the current one. With
    `is_played_elsewhere`, the match is for the machines of a cluster, and it is left to them whether a program can be
    started.

    Raises SetupError if the match cannot be played as described: an unknown game, a program that cannot be started
    here, a book without replays, and so on.
    """
    chosen = _chosen_edition(game_type, edition)
    directory = os.fspath(Path.cwd() if cwd is None else Path(cwd).absolute())
    given = [Entrant("", player) if isinstance(player, str) else player for player in (player1, player2)]
    commands = [Command.parse(each.command, str(Path(directory, each.cwd))) for each in given]
    names = names_of(commands[0], commands[1], (given[0].name, given[1].name))
    options = {
        "soft_timeout": soft_timeout,
        "hard_timeout": hard_timeout,
        "start_piece": start_piece,
        "game_end": game_end,
    }
    server_options = {name: value for name, value in options.items() if value is not None}
    if server is not None and (server_options or book is not None):
        raise SetupError("time limits, rules and openings are set by the running server, expected none of them here")
    if order not in ORDERS:
        raise SetupError(f"order {order!r}: expected {' or '.join(ORDERS)}")
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    openings: tuple[Opening, ...] = ()
    if book is not None:
        openings = openings_of(
            Path(book),
            opening_turn,
            chosen.game_type,
            edition=edition,
            server_options=server_options,
            order=order,
            seed=seed,
        )
    setup = MatchSetup(
        entrants=(
            with_content(dataclasses.replace(given[0], name=names[0]), directory),
            with_content(dataclasses.replace(given[1], name=names[1]), directory),
        ),
        game_type=chosen.game_type,
        games=games,
        seed=seed,
        run_id=secrets.token_hex(8),
        openings=openings,
        opening_order=order,
        server=server,
        password=password,
        server_options=server_options,
        timeouts=timeouts or ProgramTimeouts(),
        sprt=sprt,
        significance=significance,
        min_games=0 if significance is None else min_games,
        edition=edition,
        cwd=directory,
    )
    require_playable(setup, is_played_elsewhere=is_played_elsewhere)
    return setup


def load_match(
    folder: str | os.PathLike[str],
    password: str = "",
    *,
    games: int | None = None,
    is_played_elsewhere: bool = False,
) -> MatchSetup:
    """The setup of the match in `folder`, to resume it with `play_match(load_match(folder), folder)`.

    `password` is the administrators' password of the server that the match is played at, if it does not start its own;
    it is not saved in the folder. `games` extends the match to this number of games in all; None means as many as
    before. `is_played_elsewhere` is the same as for `prepare_match`.

    Raises JournalError if there is no match or its file cannot be read, and SetupError if it cannot be played here: for
    example if a program is not the one that the match was begun with, or if the match has more games already.
    """
    setup = MatchSetup.from_json(load_setup(Path(folder)), password)
    if games is not None and games < setup.games:
        raise SetupError(f"{folder}: the match has {setup.games} games, which cannot become {games}, only more")
    setup = dataclasses.replace(setup, games=games or setup.games)
    require_playable(setup, is_played_elsewhere=is_played_elsewhere)
    if not is_played_elsewhere:
        for entrant in setup.entrants:
            if not entrant.is_same(with_content(entrant, setup.cwd)):
                raise SetupError(
                    f"{entrant.name}: {entrant.command} has changed since the match in {folder} was begun, and the "
                    "result would be that of two programs; put the earlier version back, or begin a new match"
                )
    return setup


def with_content(entrant: Entrant, cwd: str) -> Entrant:
    """The entrant with what its file contains now; `cwd` is the directory of the match. Raises SetupError."""
    return dataclasses.replace(entrant, content=content_of(entrant.command, str(Path(cwd, entrant.cwd))))


def _chosen_edition(game_type: str | None, edition: str | None) -> Edition:
    defaults = choose_editions({}, {})
    if edition is None:
        if game_type is None:
            return next(iter(defaults.values()))
        if game_type not in defaults:
            raise SetupError(f"game_type {game_type!r}: expected {' or '.join(defaults)}")
        return defaults[game_type]
    if edition not in EDITIONS:
        raise SetupError(f"edition {edition!r}: expected {' or '.join(EDITIONS)}")
    chosen = EDITIONS[edition]
    if game_type not in {None, chosen.game_type}:
        raise SetupError(f"edition {edition} is of {chosen.game_type}, not of {game_type}")
    return chosen


def require_playable(setup: MatchSetup, *, is_played_elsewhere: bool = False) -> None:
    """Raise SetupError for every problem of `setup` that can be found before the first game.

    With `is_played_elsewhere`, problems that depend on the machine are left to the machines that play the games.
    """
    sprt_of(setup)
    if setup.significance is not None and not 0 < setup.significance <= 0.5:
        raise SetupError(f"significance {setup.significance:g}: expected more than 0 and at most 0.5")
    if is_played_elsewhere and setup.server is not None:
        raise SetupError("on a cluster each machine has a server of its own, expected no other server")
    if setup.cwd and not is_played_elsewhere and not Path(setup.cwd).is_dir():
        raise SetupError(f"{setup.cwd}: the directory that the programs are started in does not exist")
    try:
        config = match_server_config(setup)
    except TypeError as error:
        raise SetupError(str(error)) from None
    edition = choose_editions(setup.editions, {})[setup.game_type]
    for program in (0, 1):
        entrant = setup.entrants[program]
        kind = strategy_called(entrant.command.removeprefix(BUILTIN)) if entrant.command.startswith(BUILTIN) else None
        if kind is not None and not kind.plays(edition.game):
            raise SetupError(f"{entrant.command}: {kind.refusal(edition.game, edition.game_type)}")
        if not is_played_elsewhere:
            _require_playable_program(setup, program)
        limits = limits_of(setup, config, program)
        assert limits.soft_timeout is not None
        assert limits.hard_timeout is not None
        problem = limits_problem(limits.soft_timeout, limits.hard_timeout)
        if problem and entrant.can_timeout:
            raise SetupError(f"{entrant.name}: {problem}" if entrant.has_own_limits else problem)
    for name, value in config.game_options.items():
        if problem := game_option_problem(edition, name, value):
            raise SetupError(problem)


def _require_playable_program(setup: MatchSetup, program: int) -> None:
    entrant, cwd = setup.entrants[program], setup.cwd_of(program)
    is_builtin = setup.server is None and builtin_strategy(entrant.command) is not None
    if is_builtin and (entrant.cwd or entrant.environment or entrant.passed_variables or entrant.memory):
        raise SetupError(
            f"{entrant.command} plays without a process of its own, expected no directory, environment or memory for it"
        )
    try:
        require_set(entrant.passed_variables)
    except SetupError as error:
        raise SetupError(f"{entrant.name}: {error}") from None
    if entrant.cwd and not Path(cwd).is_dir():
        raise SetupError(f"{cwd}: the directory that {entrant.name} is started in does not exist")
    if entrant.sandbox is not None:
        _require_sandbox(setup, entrant)
    elif inspect_program(entrant, cwd) is None:
        require_startable(Command.parse(entrant.command, cwd), cwd)
    if entrant.memory is not None and not PLATFORM.can_limit_memory:
        raise SetupError(f"{entrant.name}: {PLATFORM.name} cannot limit the memory of a program, expected no limit")
    if setup.server is not None and entrant.has_own_limits:
        raise SetupError(f"{entrant.name}: time limits are set by the running server, expected none for a program")


def _require_sandbox(setup: MatchSetup, entrant: Entrant) -> None:
    """Raise SetupError if the program cannot be confined; what it is started with may be inside the sandbox only."""
    assert entrant.sandbox is not None
    if setup.server is not None:
        raise SetupError(f"{entrant.name}: a program in a sandbox plays on the match's own server only")
    if entrant.command.startswith(BUILTIN):
        raise SetupError(f"{entrant.command}: a built-in player has no sandbox, expected a program in a folder")
    if not entrant.cwd:
        raise SetupError(f"{entrant.name}: expected the program's own folder, of which the sandbox gets a copy")
    if entrant.memory is not None:
        raise SetupError(f"{entrant.name}: the sandbox limits its memory, expected no other limit")
    choose_sandbox(entrant.sandbox.image, entrant.sandbox.kind, entrant.sandbox.python_version)


def require_enough_games(setup: MatchSetup, requirement: str) -> None:
    """Raise SetupError if the match has too few games for the test that the option `requirement` asks for."""
    if setup.games < 2 * MIN_PAIRS:
        raise SetupError(
            f"{requirement}: {setup.games} games cannot show which program is better, "
            f"expected at least -n {2 * MIN_PAIRS}"
        )
