"""`spielleiter play`: a built-in player, or one that asks a GTP engine, started like every client of the contest."""

from __future__ import annotations

import random
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from spielleiter.cli.options import (
    TEXT,
    Number,
    WholeNumber,
    board_option,
    chosen_edition,
    edition_options,
    json_option,
    port_number,
    recogniser,
    server_options,
    whole_number,
)
from spielleiter.cli.output import json_text, print_line
from spielleiter.cli.running import Failure, Misuse, run_async
from spielleiter.server.setting import MAX_SECONDS, suggestion

if TYPE_CHECKING:
    from spielleiter.client.gtp_player import BridgedPlayer
    from spielleiter.client.player import GameReport, Player, Responder
    from spielleiter.players.strategies import StrategyKind
    from spielleiter.protocol.messages import RoomData
    from spielleiter.server.core.policy import Edition

GTP: Final = "gtp"
"""The name of the strategy that asks an engine."""


def playing_strategies() -> dict[str, StrategyKind]:
    """Return the strategies of `play` by name: the built-in ones, and gtp."""
    from spielleiter.players.strategies import STRATEGIES, StrategyKind

    description = "the moves of another program, named by --engine (Blokus only)"
    return {**STRATEGIES, GTP: StrategyKind(GTP, description, package="blokus")}


def _strategy(name: str) -> StrategyKind | None:
    from spielleiter.players.strategies import strategy_called

    return playing_strategies().get(name) or strategy_called(name)


def complete_strategies(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer strategies with their descriptions, which some shells show."""
    kinds = playing_strategies().values()
    return [CompletionItem(kind.name, help=kind.description) for kind in kinds if kind.name.startswith(incomplete)]


def _known_strategy(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if _strategy(value) is None:
        from spielleiter.players.strategies import seconds_problem

        known = list(playing_strategies())
        expected = seconds_problem(value) or f"expected {', '.join(known)}{suggestion(value, known)}"
        raise click.BadParameter(f"{value!r} is not known, {expected}")
    return value


class _PlayCommand(click.Command):
    """Lists the strategies below the options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, is_bad in (("Strategies", False), ("Strategies that misbehave, for tests", True)):
            with formatter.section(title):
                kinds = playing_strategies().values()
                formatter.write_dl([(kind.name, kind.description) for kind in kinds if kind.is_bad == is_bad])
        super().format_epilog(ctx, formatter)


@click.command(cls=_PlayCommand)
@click.option(
    "-s",
    "--strategy",
    default="greedy",
    show_default=True,
    metavar="NAME",
    callback=_known_strategy,
    shell_complete=complete_strategies,
    help="How to play; see below.",
)
@server_options
@click.option("-r", "--reservation", type=TEXT, metavar="CODE", help="Take the seat that this code reserves.")
@click.option("--room", type=TEXT, metavar="ROOM", help="Take the free seat in this room.")
@edition_options
@click.option("--seed", type=WholeNumber(), metavar="N", help="Choose the same moves in every run.")
@click.option(
    "--delay",
    type=Number(0, MAX_SECONDS),
    metavar="SECONDS",
    help="After how many seconds the strategy slow answers.  [default: 3]",
)
@click.option(
    "--engine",
    type=TEXT,
    metavar="COMMAND",
    help="The command that starts the engine of the strategy gtp: a program that speaks GTP, such as Pentobi's "
    "pentobi-gtp.",
)
@click.option(
    "--engine-timeout",
    type=Number(0, MAX_SECONDS, min_open=True),
    metavar="SECONDS",
    help="How long the engine may think about a move before greedy chooses it.  [default: 1.5]",
)
@click.option(
    "--stay",
    is_flag=True,
    help="Afterwards play the games named on standard input, one per line: HOST PORT RESERVATION.",
)
@board_option
@json_option
def play(*, stay: bool, **options: Any) -> None:
    """Play one game with a built-in strategy and print how it ended.

    Without --reservation or --room the player joins any open game, or waits for an opponent in a new one. With one of
    these options it plays the season of the room. The id of the room, what the player is waiting for and the board go
    to standard error.

    The exit code is 0 for a game that was played to its end, even if it was lost; 1 if the connection or the server
    failed, or if the room was closed without a result. -h means --host, as for every client of the contest.

    The strategy gtp asks another program, the engine, for its moves. When the engine has no legal move in time, the
    strategy greedy chooses one, and the player says why, and at the end how often.

    With --stay the player afterwards plays the games that are named on standard input, until the input ends or a game
    fails; `spielleiter match --restart never` uses this.

    With --json, prints one object for each game: outcome (won, lost, draw, none), seat (0, 1 or null), roomId, end
    (result, left, refused, ended, lost, abandoned), cause, reason, points (by seat, or null), movesPlayed, errors.
    """
    _play_once(**options)
    while stay and (line := sys.stdin.readline()):
        words = line.split()
        port = port_number(words[1]) if len(words) > 2 else None
        if port is None:
            raise Failure(f"standard input: expected HOST PORT RESERVATION, found {line.strip()!r}")
        options |= {"host": words[0], "port": port, "reservation": words[2], "room": None}
        # a fourth word is the seed, if the first game had one
        if options["seed"] is not None and len(words) > 3 and (seed := whole_number(words[3])) is not None:
            options["seed"] = seed
        _play_once(**options)


def _play_once(
    strategy: str,
    host: str,
    port: int,
    wait: float,
    reservation: str | None,
    room: str | None,
    game: str | None,
    edition: str | None,
    seed: int | None,
    delay: float | None,
    engine: str | None,
    engine_timeout: float | None,
    board: bool | None,
    as_json: bool,
) -> None:
    if reservation is not None and room is not None:
        raise click.UsageError("--reservation and --room exclude each other, expected one of them")
    if strategy == GTP and engine is None:
        raise click.UsageError('the strategy gtp needs --engine, such as --engine "pentobi-gtp --game classic_2"')
    if strategy != GTP and (engine is not None or engine_timeout is not None):
        raise click.UsageError(f"the strategy {strategy} has no engine; add --strategy gtp")

    import trio

    from spielleiter.cli.screen import Screen, Waiting
    from spielleiter.cli.words import failure_text, outcome_word, report_line, result_points
    from spielleiter.client.client_errors import ClientError
    from spielleiter.client.player import GameEnd, Player, respond_with
    from spielleiter.client.responders import DEFAULT_DELAY, make_responder
    from spielleiter.protocol.messages import Memento, Result
    from spielleiter.server.editions import EDITIONS

    kind = _strategy(strategy)
    assert kind is not None  # the option has looked
    has_room = reservation is not None or room is not None
    chosen = chosen_edition(game, edition, lambda each: has_room or kind.plays(each.game))
    if not kind.plays(chosen.game) and not (has_room and game is None and edition is None):
        raise click.UsageError(kind.refusal(chosen.game, chosen.game_type))
    seasons = recogniser(chosen, is_sure=edition is not None)
    screen = Screen(board=False if as_json and board is None else board, err=True)

    async def play_with(player: Player, responder: Responder) -> GameReport:
        def season() -> Edition:
            dialect = seasons.of_room(player.room_id) or chosen.dialect
            return EDITIONS[dialect.name]

        def watch(data: RoomData) -> None:
            if isinstance(data, Memento):
                if not kind.plays(season().game):
                    raise Failure(kind.refusal(season().game, f"{season().game_type}, the game of this room"))
                names = list(data.names)
                if player.seat is not None:  # the player of this process is called "you"
                    own, other = player.seat, 1 - player.seat
                    names[own] = f"you ({names[own]})" if names[own] else "you"
                    names[other] = names[other] or "opponent"
                screen.show(data.state, (names[0], names[1]))
            elif isinstance(data, Result):
                screen.write_immediately()
            waiting.note(data)

        def say(line: str) -> None:
            if screen.is_in_foreground:  # in the background it would overwrite another player's board
                screen.say(line)

        def awaited() -> str:
            if reservation is not None:
                return "the other reserved seat"
            return "an opponent" if player.room_id is None else f"an opponent in room {player.room_id}"

        waiting = Waiting(say, lambda: season().dialect.team_names)
        player.watch = watch
        async with trio.open_nursery() as nursery:
            nursery.start_soon(waiting.run, awaited)
            if reservation is not None:
                joined = await player.join_prepared(reservation)
            elif room is not None:
                joined = await player.join_room(room)
            else:
                joined = await player.join(chosen.game_type)
            screen.say(f"room {joined}")
            report = await player.play_with(responder)
            nursery.cancel_scope.cancel()
        return report

    async def main() -> GameReport:
        async with screen.running(), AsyncExitStack() as stack:
            if engine is None:
                bridged = None
                responder = make_responder(strategy, seed=seed, delay=DEFAULT_DELAY if delay is None else delay)
            else:
                # started before the server is asked for a seat, so an engine that cannot be used takes none
                bridged = await stack.enter_async_context(
                    running_bridged_player(engine, screen.say, move_timeout=engine_timeout, seed=seed)
                )
                responder = respond_with(bridged.choose)
            connecting = Player.connect(host, port, dialect=seasons.dialect, wait_timeout=wait)
            report = await play_with(await stack.enter_async_context(connecting), responder)
            if bridged is not None:
                screen.say(bridged.summary(), below=True)
            return report

    try:
        report = run_async(main)
    except ClientError as error:
        is_known = game is not None or edition is not None or seasons.has_recognised
        raise Failure(failure_text(error, keeps_words=as_json, is_season_known=is_known)) from error
    if as_json:
        result, seat = report.result, report.seat
        score = result.score_of(seat) if result else None
        value = {
            "outcome": outcome_word(report),
            "seat": seat,
            "roomId": report.room_id,
            "end": report.end.value,
            "cause": score.cause.value if score else None,
            "reason": score.reason if score else None,
            "points": result_points(result) if result else None,
            "movesPlayed": report.moves_played,
            "errors": report.errors,
        }
        click.echo(json_text(value))
    if report.end is not GameEnd.RESULT:
        raise Failure(report_line(report))
    if not as_json:
        print_line(report_line(report))


@asynccontextmanager
async def running_bridged_player(
    engine: str, say: Callable[[str], None], *, move_timeout: float | None, seed: int | None
) -> AsyncIterator[BridgedPlayer]:
    """Start the engine and make the player that asks it. Raises Misuse if the engine cannot be used."""
    from spielleiter.client.gtp_engine import EngineStartError, running_engine
    from spielleiter.client.gtp_player import DEFAULT_ENGINE_TIMEOUT, BridgedPlayer
    from spielleiter.common.errors import SetupError
    from spielleiter.programs.command import BUILTIN, Command
    from spielleiter.programs.startable import require_startable
    from spielleiter.programs.windows_command import command_line

    if engine.startswith(BUILTIN):
        raise Misuse(f"--engine {engine}: a built-in strategy is no engine; choose it with --strategy")
    try:
        command = Command.parse(engine)
        require_startable(command)
        words = [command.words[0], *command.parameters]
        started = command_line(words) if sys.platform == "win32" else words
    except (SetupError, ValueError) as error:
        raise Misuse(f"--engine: {error}") from error
    try:
        async with running_engine(started) as process:
            player = BridgedPlayer(
                process,
                say,
                timeout=DEFAULT_ENGINE_TIMEOUT if move_timeout is None else move_timeout,
                rng=random.Random(seed),
            )
            await player.prepare()
            yield player
    except EngineStartError as error:
        raise Misuse(f"--engine {engine}: {error}") from error
