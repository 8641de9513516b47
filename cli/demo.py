"""`spielleiter demo`: a server, two players and the board, in one process and over real sockets."""

from __future__ import annotations

import click

from spielleiter.cli.options import WholeNumber, board_option, chosen_edition, edition_options
from spielleiter.cli.output import print_line
from spielleiter.cli.play import complete_strategies
from spielleiter.cli.running import Failure, run_async


@click.command()
@edition_options
@click.option("--seed", type=WholeNumber(0), metavar="N", help="Play the same game in every run.")
@click.option(
    "--first",
    default="greedy",
    show_default=True,
    metavar="NAME",
    shell_complete=complete_strategies,
    help="Strategy of the first player, as for `spielleiter play`.",
)
@click.option(
    "--second",
    default="random",
    show_default=True,
    metavar="NAME",
    shell_complete=complete_strategies,
    help="Strategy of the second player.",
)
@board_option
def demo(game: str | None, edition: str | None, seed: int | None, first: str, second: str, board: bool | None) -> None:
    """Start a server on a free port, let two built-in players play one game, and show the board and the result.

    If the output is not a terminal, only the last position is drawn.
    """
    import trio

    from spielleiter.cli.screen import Screen
    from spielleiter.cli.words import refusal_text, report_line, result_line
    from spielleiter.client.admin import AdminClient
    from spielleiter.client.client_errors import ClientError
    from spielleiter.client.player import GameReport, Player
    from spielleiter.client.responders import make_responder
    from spielleiter.players.strategies import STRATEGIES, seconds_problem, strategy_called
    from spielleiter.protocol.messages import Memento, RoomData
    from spielleiter.server.app import serve
    from spielleiter.server.config import Config
    from spielleiter.server.errors import StartError
    from spielleiter.server.setting import suggestion

    chosen = chosen_edition(game, edition)
    names = (first, second)
    is_late = False
    for name in names:
        kind = strategy_called(name)
        if kind is None:
            known = f"expected {', '.join(STRATEGIES)}{suggestion(name, STRATEGIES)}"
            raise click.UsageError(f"the strategy {name!r} is not known, {seconds_problem(name) or known}")
        if not kind.plays(chosen.game):
            raise click.UsageError(kind.refusal(chosen.game, chosen.game_type))
        is_late = is_late or kind.is_late
    editions = {chosen.game_type: chosen.name}
    config = Config(
        port=0,
        seed=seed,
        log_level="warning",
        log_format="console",
        editions=editions,
        # no time limits, so that the demo does not fail on a busy machine, except for players that are late on purpose
        has_timeouts=is_late,
    )
    reports: dict[int, GameReport] = {}
    screen = Screen(board=board)

    def watch(data: RoomData) -> None:
        if isinstance(data, Memento):
            screen.show(data.state, names)

    async def play(port: int, reservation: str, seat: int) -> None:
        async with Player.connect(port=port, dialect=chosen.dialect) as player:
            if seat == 0:
                player.watch = watch
            await player.join_prepared(reservation)
            player_seed = None if seed is None else seed + seat
            reports[seat] = await player.play_with(make_responder(names[seat], seed=player_seed))

    async def main() -> None:
        stop = trio.Event()
        async with screen.running(), trio.open_nursery() as nursery:

            async def run_server(task_status: trio.TaskStatus[int]) -> None:
                async with trio.open_nursery() as serving:
                    listening = await serving.start(
                        lambda task_status: serve(config, stop=stop, task_status=task_status)
                    )
                    task_status.started(listening.addresses[0][1])

            port = await nursery.start(run_server)
            screen.say(f"server on 127.0.0.1:{port}; {first} against {second}")
            async with AdminClient.connect(port=port, password=config.password, dialect=chosen.dialect) as admin:
                room = await admin.prepare(chosen.game_type, names)
            async with trio.open_nursery() as players:
                for seat, reservation in enumerate(room.reservations):
                    players.start_soon(play, port, reservation, seat)
            stop.set()
            last = reports[0].state
            if board is None and last is not None:
                screen.show(last, names, always=True)

    try:
        run_async(main)
    except (ClientError, StartError) as error:
        raise Failure(refusal_text(str(error))) from error
    report = reports[0]
    print_line(result_line(report.result, names) if report.result else report_line(report))
