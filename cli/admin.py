"""`spielleiter admin`: a command for each request of an administrator to a running server.

Codes and events go to standard output, messages for people to standard error.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from spielleiter.cli.options import (
    TEXT,
    admin_password_option,
    board_option,
    chosen_edition,
    edition_options,
    edition_options_of_server,
    json_option,
    recogniser,
    server_options,
    together,
)
from spielleiter.cli.output import json_text, print_line
from spielleiter.cli.running import SUBCOMMANDS, Failure, run_async
from spielleiter.common.text import count_text

if TYPE_CHECKING:
    from spielleiter.client.admin import AdminClient, ObserverEvent
    from spielleiter.client.transport import Tap
    from spielleiter.game.api import State


_Command: TypeAlias = Callable[..., None]
LAST_CLOSED: Final = 10
"""The number of closed connections that are shown individually."""


class _Server:
    """The server that a command connects to, and how to become its administrator.

    With `keeps_words`, refusals are shown in the server's own words, unchanged, for scripts.
    """

    def __init__(
        self, host: str, port: int, wait: float, password: str, game: str | None, edition: str | None, keeps_words: bool
    ) -> None:
        from spielleiter.client.admin import AdminClient

        self.edition: Final = chosen_edition(game, edition)
        self.is_edition_named: Final = edition is not None
        self._is_season_named = game is not None or edition is not None
        self._keeps_words = keeps_words
        self._seasons = recogniser(self.edition, is_sure=self.is_edition_named)
        self._connect = partial(
            AdminClient.connect, host, port, password, dialect=self._seasons.dialect, wait_timeout=wait
        )

    def run(self, act: Callable[[AdminClient], Awaitable[None]], tap: Tap | None = None) -> None:
        """Connect, run `act`, and disconnect. Raises Failure if the server cannot be reached or refuses something."""
        from spielleiter.cli.words import failure_text
        from spielleiter.client.client_errors import ClientError

        async def main() -> None:
            async with self._connect(tap=tap) as admin:
                await act(admin)

        try:
            run_async(main)
        except ClientError as error:
            is_known = self._is_season_named or self._seasons.has_recognised
            text = failure_text(error, keeps_words=self._keeps_words, is_season_known=is_known)
            raise Failure(text) from error


def _admin_command(
    function: _Command, which_game: Callable[[_Command], _Command] = edition_options_of_server
) -> _Command:
    """Decorate a command with the options for the server and `which_game`; it gets a _Server in their place."""

    @server_options
    @admin_password_option("Password for administrators")
    @which_game
    @json_option
    @wraps(function)
    def command(
        host: str, port: int, wait: float, password: str, game: str | None, edition: str | None, **options: Any
    ) -> None:
        function(_Server(host, port, wait, password, game, edition, options["as_json"]), **options)

    return command


def _echo_json(**value: Any) -> None:
    click.echo(json_text(value))


class _AdminGroup(click.Group):
    """Says where the options of its commands belong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            option = error.option_name
            for name, command in sorted(self.commands.items(), key=lambda each: each[0] != "status"):
                if any(option in parameter.opts for parameter in command.params):
                    where = f"{option} belongs behind the command, as in `{ctx.command_path} {name} {option} ...`"
                    raise click.UsageError(where, ctx) from None
            raise


@click.group(cls=_AdminGroup, invoke_without_command=True, subcommand_metavar=SUBCOMMANDS)
@click.pass_context
def admin(context: click.Context) -> None:
    """Prepare, observe, pause, step and cancel games on a running server, show its status, and follow all games.

    Each command connects, authenticates, sends one request and disconnects.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@admin.command(short_help="Open a room and print the codes of its seats.")
@partial(_admin_command, which_game=edition_options)
@click.option(
    "--slot",
    "slots",
    type=TEXT,
    multiple=True,
    metavar="NAME",
    help="Display name of a player; give this option twice.  [default: One, Two]",
)
@click.option("--pause/--no-pause", default=False, help="Request no moves until the game is resumed or stepped.")
@click.option(
    "--timeout/--no-timeout", "can_timeout", default=True, help="Whether the time limits apply to the players."
)
@click.option(
    "--reserved/--open", "is_reserved", default=True, help="Whether seats need a code, or are open to any join."
)
def prepare(
    server: _Server, slots: tuple[str, ...], pause: bool, can_timeout: bool, is_reserved: bool, as_json: bool
) -> None:
    """Open a room and print a reservation code for each of its seats, one per line.

    The id of the room goes to standard error. With --json, prints one object: roomId, reservations (a list of codes).
    """
    from spielleiter.protocol.messages import Slot

    if not is_reserved and "reserved" not in server.edition.dialect.slot_attributes:
        raise click.UsageError(f"--open: {server.edition.name} reserves every seat")

    async def act(client: AdminClient) -> None:
        described = [Slot(name, can_timeout, is_reserved) for name in slots or ("One", "Two")]
        room = await client.prepare(server.edition.game_type, described, pause=pause)
        if as_json:
            _echo_json(roomId=room.room_id, reservations=room.reservations)
            return
        print_line(f"room {room.room_id}", err=True)
        for code in room.reservations:
            print_line(code)

    server.run(act)


@admin.command(short_help="Observe a game until it ends.")
@_admin_command
@click.argument("room", type=TEXT)
@click.option("--raw", is_flag=True, help="Write exactly the bytes that the server sends.")
@board_option
def observe(server: _Server, room: str, raw: bool, board: bool | None, as_json: bool) -> None:
    """Observe a game: print a line for each position and for the result, until the game ends.

    The season is that of the room. The exit code is 1 if the room is closed without a result. If the positions of a
    season do not name the players (2027), they are called "player 1" and "player 2" until the result names them.

    With --json, each line is an object with event and roomId: event "state" with turn, round, points (by seat),
    lastMove (or null), names; "result" with winners (seats), points, causes, reasons, names; "paused" with paused;
    "error" with message; finally "left".
    """
    from spielleiter.cli.screen import Screen
    from spielleiter.cli.words import refusal_text, result_line, state_line
    from spielleiter.protocol.messages import Memento, Paused, Result

    form = "--raw" if raw else "--json"
    if raw and as_json:
        raise click.UsageError("--raw and --json exclude each other, expected one of them")
    if board and (raw or as_json):
        raise click.UsageError(f"--board and {form} exclude each other, expected one of them")
    out = sys.stdout.buffer
    results: list[Result] = []
    screen = Screen(board=False if raw or as_json else board)

    def write_raw(data: bytes) -> None:
        out.write(data)
        out.flush()

    async def act(client: AdminClient) -> None:
        names = ("", "")
        last: State | None = None
        async for event in await client.observe(room):
            # Some editions name the players in positions, others only in the result, and an observer gets no other
            # packet with names. The status of the room has them, but other servers end the connection on a status
            # request.
            if isinstance(event, Memento | Result):
                names = event.names[0] or names[0], event.names[1] or names[1]
            if isinstance(event, Result):
                results.append(event)
            if as_json:
                _echo_json(**_event_value(room, event, names))
                continue
            if raw or (isinstance(event, Memento) and event.state == last):
                continue  # the server repeats a position when it requests a move
            match event:
                case Memento():
                    last = event.state
                    screen.say(state_line(event))
                    screen.show(last, names)
                case Result():
                    screen.say(f"over: {result_line(event, names)}", below=True)
                case Paused(is_paused):
                    screen.say("paused" if is_paused else "resumed")
                case _:
                    screen.say(f"error: {refusal_text(event.message)}")
        if as_json:
            _echo_json(event="left", roomId=room)

    async def watch(client: AdminClient) -> None:
        async with screen.running():
            await act(client)

    server.run(watch, write_raw if raw else None)
    if not results:
        sure = f" that {server.edition.name} can read; leave out --edition" if server.is_edition_named else ""
        raise Failure(f"room {room} was closed without a result{sure}")


def _event_value(room: str, event: ObserverEvent, names: tuple[str, str]) -> dict[str, Any]:
    from spielleiter.cli.words import last_move_text, result_points, state_points
    from spielleiter.protocol.messages import Memento, Paused, Result

    match event:
        case Memento(state):
            what: dict[str, Any] = {
                "event": "state",
                "turn": state.turn,
                "round": state.round,
                "points": state_points(state),
                "lastMove": last_move_text(state),
                "names": names,
            }
        case Result():
            what = {
                "event": "result",
                "winners": event.winners,
                "points": result_points(event),
                "causes": [score.cause.value for score in event.scores],
                "reasons": [score.reason for score in event.scores],
                "names": names,
            }
        case Paused(is_paused):
            what = {"event": "paused", "paused": is_paused}
        case _:
            what = {"event": "error", "message": event.message}
    return {**what, "roomId": room}


def _add_request(
    name: str, short_help: str, text: str, ask: Callable[..., Awaitable[None]], *options: Callable[[_Command], _Command]
) -> None:
    """Add a command for a request that has no reply: it is accepted if it is not refused before the connection ends."""

    def act(server: _Server, room: str, as_json: bool, **values: Any) -> None:
        server.run(lambda client: ask(client, room, **values))
        if as_json:
            _echo_json(roomId=room, accepted=True)

    with_options = _admin_command(together(click.argument("room", type=TEXT), *options)(act))
    text += "\n\nWith --json, prints one object: roomId, accepted."
    admin.command(name, short_help=short_help, help=text)(with_options)


_add_request(
    "pause",
    "Pause a game.",
    "Pause a game: request no further moves. A move that is already requested is still accepted.",
    lambda client, room: client.pause(room),
)
_add_request("resume", "Resume a paused game.", "Resume a paused game.", lambda client, room: client.resume(room))
_add_request(
    "step",
    "Request one move in a paused game.",
    "Request one move in a paused game.",
    lambda client, room, forced: client.step(room, forced=forced),
    click.option("--forced", is_flag=True, help="Set the attribute forced of the request."),
)
_add_request(
    "cancel",
    "End a game immediately.",
    "End a game immediately, in most editions without a winner.",
    lambda client, room: client.cancel(room),
)


@admin.command(short_help="Show rooms and connections.")
@_admin_command
def status(server: _Server, as_json: bool) -> None:
    """Show rooms, connections, and how the last thousand connections ended. Other servers do not support this.

    With --json, prints one object: startedAt, now, roomCounts, connectionCount, queuedBytes, refusals (kind, reason,
    count), rooms, connections, closed (the oldest first).
    """

    async def act(client: AdminClient) -> None:
        report = await client.status()
        if as_json:
            _echo_json(**report)
        else:
            for line in status_lines(report):
                print_line(line)

    server.run(act)


@admin.command(short_help="Write everything that happens as JSON.")
@_admin_command
def follow(server: _Server, as_json: bool) -> None:  # noqa: ARG001 - its lines are JSON in any case
    """Write everything that happens in all rooms, until the server ends the connection: one JSON object per line.

    The first lines tell the present state, up to the event "current". docs/feed.md explains the events. Other servers
    do not support this. --json changes nothing.
    """

    async def act(client: AdminClient) -> None:
        from spielleiter.protocol.feed import encode_event

        async for event in await client.follow():
            click.echo(encode_event(event))

    server.run(act)


def status_lines(report: dict[str, Any]) -> Iterator[str]:
    """A heading and its lines for each part of the report, in the order of the server; empty parts are left out.

    The fields are explained in `spielleiter.server.status`. Closed connections are counted by reason.
    """
    rooms = ", ".join(f"{count} {phase}" for phase, count in report["roomCounts"].items())
    yield f"running since {report['startedAt']}"
    yield f"rooms: {rooms}"
    for room in report["rooms"]:
        seats = zip(room["names"], room["players"], strict=True)
        players = " : ".join(f"{name or 'unnamed'} ({player or 'free'})" for name, player in seats)
        watched = f", {count_text(room['observers'], 'observer')}" if room["observers"] else ""
        yield f"  {room['roomId']}  {room['edition']}  {room['phase']}, turn {room['turn']}  {players}{watched}"
    yield f"connections: {report['connectionCount']}, {count_text(report['queuedBytes'], 'byte')} not received yet"
    for connection in report["connections"]:
        parts = [f"{connection['connection']:6} {connection['address']:21}", f"since {connection['openedAt']}"]
        if connection["isAdmin"]:
            parts.append("administrator")
        if connection["seats"]:
            parts.append(count_text(connection["seats"], "seat") if connection["seats"] > 1 else "player")
        parts.append(count_text(connection["packets"], "packet"))
        if connection["queuedBytes"]:
            parts.append(f"{count_text(connection['queuedBytes'], 'byte')} not received yet")
        yield "  " + "  ".join(parts)
    if report["refusals"]:
        yield "refusals since the start:"
        yield from (f"  {count:6}  {reason} ({kind})" for kind, reason, count in report["refusals"])
    if closed := report["closed"]:
        count = len(closed)
        yield "the last closed connection:" if count == 1 else f"the last {count} closed connections:"
        reasons = Counter(each["reason"] for each in closed)
        yield from (f"  {times:6}  {reason}" for reason, times in reasons.most_common())
        if count > LAST_CLOSED:
            yield f"the last {LAST_CLOSED} of them:"
        elif count > 1:
            yield "individually:"
        for each in closed[-LAST_CLOSED:]:
            yield f"  {each['closedAt']}  {each['connection'] or '-':6} {each['address']:21}  {each['reason']}"
