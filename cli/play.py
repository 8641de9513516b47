"""`spielleiter play`: a built-in player, started like every client of the contest."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from spielleiter.cli.commands import Failure, print_line, run_async
from spielleiter.cli.completion import complete_strategies
from spielleiter.cli.encoding import TEXT, json_text
from spielleiter.cli.gtp_engine import (
    check_engine_options,
    engine_options,
    playing_strategies,
    running_bridged_player,
)
from spielleiter.cli.numbers import Number, WholeNumber, port_number, whole_number
from spielleiter.cli.options import (
    board_option,
    chosen_edition,
    edition_of,
    edition_options,
    json_option,
    recogniser,
    server_options,
)
from spielleiter.server.setting import MAX_SECONDS, suggestion

if TYPE_CHECKING:
    from spielleiter.game.api import Seat
    from spielleiter.protocol.messages import RoomData
    from spielleiter.server.core.policy import Edition


def _known_strategy(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    known = list(playing_strategies())
    if value not in known:
        raise click.BadParameter(f"{value!r} is not known, expected {', '.join(known)}{suggestion(value, known)}")
    return value


class _PlayCommand(click.Command):
    """Lists the strategies below the options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, is_bad in (("Strategies", False), ("Strategies that misbehave, for tests", True)):
            with formatter.section(title):
                kinds = playing_strategies().values()
                formatter.write_dl([(kind.name, kind.description) for kind in kinds if kind.is_bad == is_bad])
        super().format_epilog(ctx, formatter)


def _sides(names: tuple[str, str], seat: Seat | None) -> tuple[str, str]:
    """The names of the players next to the board; the player of this process is `you`."""
    if seat is None:
        return names
    own, other = (f"you ({names[seat]})" if names[seat] else "you"), names[1 - seat] or "opponent"
    return (own, other) if seat == 0 else (other, own)


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
@engine_options
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
        _play_once(**{**options, **_options_from_line(line, options["seed"])})


def _options_from_line(line: str, seed: int | None) -> dict[str, Any]:
    """The options in a line of standard input: HOST PORT RESERVATION, and SEED if the first game had a seed."""
    words = line.split()
    port = port_number(words[1]) if len(words) > 2 else None
    if port is None:
        raise Failure(f"standard input: expected HOST PORT RESERVATION, found {line.strip()!r}")
    named = {"host": words[0], "port": port, "reservation": words[2], "room": None}
    next_seed = whole_number(words[3]) if seed is not None and len(words) > 3 else None
    return named if next_seed is None else {**named, "seed": next_seed}


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
    check_engine_options(strategy, engine, engine_timeout)

    from contextlib import AsyncExitStack

    import trio

    from spielleiter.cli.refusals import failure_text
    from spielleiter.cli.screen import Screen
    from spielleiter.cli.waiting import Waiting
    from spielleiter.cli.words import outcome_word, report_line, result_points
    from spielleiter.client.client_errors import ClientError
    from spielleiter.client.player import GameEnd, GameReport, Player, Responder, respond_with
    from spielleiter.client.strategies import DEFAULT_DELAY, make_responder
    from spielleiter.protocol.messages import Memento, Result

    kind = playing_strategies()[strategy]
    has_room = reservation is not None or room is not None
    chosen = chosen_edition(game, edition, lambda each: has_room or kind.plays(each.game))
    if not kind.plays(chosen.game) and not (has_room and game is None and edition is None):
        raise click.UsageError(kind.refusal(chosen.game, chosen.game_type))
    seasons = recogniser(chosen, is_sure=edition is not None)
    screen = Screen(board=False if as_json and board is None else board, err=True)

    async def play_with(player: Player, responder: Responder) -> GameReport:
        def season() -> Edition:
            return edition_of(seasons.of_room(player.room_id) or chosen.dialect)

        def watch(data: RoomData) -> None:
            if isinstance(data, Memento):
                if not kind.plays(season().game):
                    raise Failure(kind.refusal(season().game, f"{season().game_type}, the game of this room"))
                screen.show(data.state, _sides(data.names, player.seat))
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
