"""`spielleiter play`: one built-in player, one game, started like every client of the contest."""

from __future__ import annotations

import click

from server.setting import MAX_SECONDS, suggestion
from spielleiter.commands import EXIT_FAILURE, Failure, run_async
from spielleiter.completion import complete_strategies
from spielleiter.encoding import TEXT, json_text
from spielleiter.options import chosen_edition, edition_options, json_option, server_options


def _known_strategy(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    from client.strategies import STRATEGIES

    if value not in STRATEGIES:
        raise click.BadParameter(
            f"{value!r} is not known, expected {', '.join(STRATEGIES)}{suggestion(value, STRATEGIES)}"
        )
    return value


class _PlayCommand(click.Command):
    """Lists the strategies below its options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from client.strategies import STRATEGIES

        for title, is_bad in (("Strategies", False), ("Strategies that misbehave, for tests", True)):
            with formatter.section(title):
                formatter.write_dl(
                    [(name, kind.description) for name, kind in STRATEGIES.items() if kind.is_bad == is_bad]
                )
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
@click.option("--seed", type=int, metavar="N", help="Makes the choice among moves the same in every run.")
@click.option(
    "--delay",
    type=click.FloatRange(0, MAX_SECONDS),
    metavar="SECONDS",
    help="How late the strategy slow answers.  [default: 3]",
)
@json_option
def play(
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
    as_json: bool,
) -> None:
    """Play one game and say how it ended.

    Without --reservation or --room the player joins any open game, or waits in a new one for its opponent. The room's
    id goes to standard error.

    The exit code is 0 for a game that was played to its end, also when it was lost; 1 when the connection or the
    server failed. -h is --host, as for every client of the contest.

    With --json one object is written: outcome (won, lost, draw, none), seat (0, 1 or null), roomId, end (result,
    left, refused, ended, lost, abandoned), cause, reason, points (by seat, or null), movesPlayed, errors.
    """
    if reservation is not None and room is not None:
        raise click.UsageError("--reservation and --room name two seats, expected one of them")

    from client.errors import ClientError
    from client.player import GameEnd, GameReport, Player
    from client.strategies import DEFAULT_DELAY, STRATEGIES, make_responder
    from spielleiter.refusals import failure_text
    from spielleiter.words import outcome_word, report_line, result_points

    kind = STRATEGIES[strategy]
    chosen = chosen_edition(game, edition, lambda each: kind.plays(each.game))
    if not kind.plays(chosen.game):
        raise click.UsageError(f"the strategy {strategy} does not play {chosen.game_type}")

    async def main() -> GameReport:
        async with Player.connect(host, port, dialect=chosen.dialect, wait_timeout=wait) as player:
            if reservation is not None:
                joined = await player.join_prepared(reservation)
            elif room is not None:
                joined = await player.join_room(room)
            else:
                joined = await player.join(chosen.game_type)
            click.echo(f"room {joined}", err=True)
            return await player.play_with(
                make_responder(strategy, seed=seed, delay=DEFAULT_DELAY if delay is None else delay)
            )

    try:
        report = run_async(main)
    except ClientError as error:
        raise Failure(failure_text(error, keeps_words=as_json)) from error
    if as_json:
        result, seat = report.result, report.seat
        score = result.scores[seat] if result and seat is not None else None
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
        if report.end not in {GameEnd.RESULT, GameEnd.LEFT}:
            raise click.exceptions.Exit(EXIT_FAILURE)
    elif report.end in {GameEnd.RESULT, GameEnd.LEFT}:
        click.echo(report_line(report))
    else:
        raise Failure(report_line(report))
