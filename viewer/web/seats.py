"""The seats of persons: opening games for them, joining rooms, finding a seat again, moving and leaving.

A person is a client of the protocol whose moves come from a page; the server knows it as a player like any other.

Invariants: the number of seats is bounded, in all and for each address. The id of a seat is a secret, since whoever
knows it can play there. A request either opens a seat completely or changes nothing. At most one move is expected at a
time, and only legal moves are sent. In a room that is opened for a person, the person has no clock unless it asks for
one. Everybody else has the clock of the server, also a person in somebody else's room, who could otherwise keep the
opponent waiting for ever.
"""

from __future__ import annotations

import math
import os
import random
import secrets
import socket
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, Final, Literal

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.client.client_errors import ClientError
from spielleiter.client.player import Player
from spielleiter.client.transport import Transport
from spielleiter.game.api import GameError, Move, Seat, State
from spielleiter.players.strategies import STRATEGIES
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import RoomData, Slot, WelcomeMessage
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.errors import RequestError
from spielleiter.server.net.wire import SocketWire
from spielleiter.viewer.positions.describe import MOST_LEGAL_MOVES, describe_legal_moves, skip_move
from spielleiter.viewer.web.answers import (
    EventStreamResponse,
    SendFrame,
    Versions,
    WebError,
    frame,
    json_response,
    printable,
    read_json,
    refused_by_server,
    single_frame,
    unknown_game_type,
    unknown_room,
)
from spielleiter.viewer.web.guard import client_share, may_take
from spielleiter.viewer.web.live_games import Hub

MOST_SEATS: Final = 32
"""The maximum number of seats of persons in games that are not over; the persons at one address get half of them."""
MOST_ENDED_SEATS: Final = 32
"""The number of seats in games that are over of which a page still gets the state."""
ABANDON_TIMEOUT: Final = 300.0
"""Seconds without a page until a seat is given up, so that an opponent does not wait for ever."""
ADDRESS: Final = "viewer"
"""The address of persons in the log and in the status."""

CommandLine = dict[str, str]
"""A line to copy: the ``kind`` of program that it starts (java, python, executable, builtin), and its ``text``."""
FindReplayState = Callable[[str, int], Awaitable[tuple[Edition, State]]]
"""Returns the edition and the position of a replay by its name and the ply. Raises WebError."""

_Text = Annotated[str, msgspec.Meta(max_length=300)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class _Opponent(msgspec.Struct):
    """Exactly one of them."""

    room: _Text | None = None
    strategy: _Text | None = None
    program: bool = False


class _Start(msgspec.Struct):
    """The position of a replay or of a room from which a game starts."""

    ply: _Number
    replay: _Text | None = None
    room: _Text | None = None


class SeatForm(msgspec.Struct, rename="camel"):
    """What a person asks for: `clock` says whether the server's time limits apply to it in a room of its own."""

    opponent: _Opponent
    game_type: _Text | None = None
    clock: bool = False
    player: Literal[0, 1] | None = None
    start: _Start | None = msgspec.field(default=None, name="from")
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=50)] = "Mensch"


class _MoveForm(msgspec.Struct):
    ply: _Number
    index: _Number | None = None
    skip: bool = False


def joining_commands(
    host: str, port: int, game_type: str, reservation: str | None = None, *, is_windows: bool = os.name == "nt"
) -> list[CommandLine]:
    """Return command lines to copy, with which a program, or a built-in player, takes a seat.

    Every line works as it is on the machine of the server, once the name of the program is right.

    - `host`, `port`: where the programs reach the server.
    - `game_type`: the game; a built-in player is told it, unless its reservation says which game it is.
    - `reservation`: the code of a reserved seat; None for a seat that anyone may take.
    - `is_windows`: whether the lines are for the shells of Windows.
    """
    given = {
        "--host": None if host == DEFAULT_HOST else host,
        "--port": None if port == DEFAULT_PORT else port,
        "--reservation": reservation,
    }
    arguments = " ".join(f"{option} {value}" for option, value in given.items() if value is not None)
    builtin = arguments if reservation is not None else f"--game {game_type} {arguments}"
    python, executable = ("python", ".\\program.exe") if is_windows else ("python3", "./program")
    starts = {
        "java": f"java -jar program.jar {arguments}",
        "python": f"{python} program.py {arguments}",
        "executable": f"{executable} {arguments}",
        "builtin": f"spielleiter play --strategy greedy {builtin}",
    }
    return [{"kind": kind, "text": text.rstrip()} for kind, text in starts.items()]


class Loopback:
    """Connects players in this process with its own `server` while `run` runs: by pairs of connected sockets.

    The server serves them as any other ones. Its session outlives the client's task, so a client that is cancelled has
    left like a client whose program has ended, and its opponent wins.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Own the tasks of the players and the server's side of their connections; runs until cancelled."""
        async with trio.open_nursery() as self._nursery:
            await trio.sleep_forever()

    def start_soon(self, play: Callable[[str], Awaitable[None]], label: str) -> None:
        """Start a task, whose bugs end it only. Raises RuntimeError if `run` has ended."""

        async def contained() -> None:
            try:
                await play(label)
            except Exception as error:
                self._server.stream.publish(events.InternalError.of(error, label))

        assert self._nursery is not None, "players are connected while `run` runs"
        self._nursery.start_soon(contained)

    @asynccontextmanager
    async def connect(self, dialect: Dialect, label: str) -> AsyncIterator[Player]:
        """Connect a player that speaks `dialect`; `label` is the connection's name in the log."""
        near, far = socket.socketpair()
        near.setblocking(False)

        async def serve(label: str) -> None:
            with far:
                await self._server.serve_wire(SocketWire(far), ADDRESS, label=label)

        try:
            self.start_soon(serve, label)
        except RuntimeError:  # `run` has ended, so the server stops, which cancels this task as well
            near.close()
            far.close()
            await trio.sleep_forever()
        transport = Transport(trio.SocketStream(trio.socket.from_stdlib_socket(near)), dialect)
        try:
            yield Player(transport)
        finally:
            await transport.aclose()


class PersonSeat:
    """The seat number `seat` of a person in `room`.

    The seat is given up when the person leaves it, or when no page has looked at it for `ABANDON_TIMEOUT` seconds.

    - `join`: sends the request that takes the seat.
    - `owns_room`: whether the room was opened for this seat; if its game has not begun, it is closed with the seat.
    - `commands`: command lines for the program that the person waits for.
    - `address`: the address from which the seat was taken.
    """

    def __init__(
        self,
        room: Room,
        seat: Seat,
        join: Callable[[Player], Awaitable[object]],
        address: str,
        *,
        owns_room: bool,
        commands: Sequence[CommandLine] = (),
    ) -> None:
        self.address = address
        self.state = "waiting"
        self.failure: ClientError | None = None
        """Why the seat could not be taken."""
        self.is_settled = trio.Event()
        """Set once the seat is taken or refused."""
        self._room = room
        self._player = seat
        self._join = join
        self._owns_room = owns_room
        self._commands = commands
        self._request: tuple[int, State] | None = None
        self._request_data: dict[str, Any] = {"ply": 0, "moves": None}
        self._send_move, self._moves = trio.open_memory_channel[Move](1)
        self._versions = Versions()
        self._pages = 0
        self._scope = trio.CancelScope(deadline=trio.current_time() + ABANDON_TIMEOUT)

    async def run(self, loopback: Loopback, label: str) -> None:
        """Take the seat and play the game; `label` is the connection's name in the log."""
        try:
            with self._scope:
                async with loopback.connect(self._room.edition.dialect, label) as player:
                    player.watch = self._note
                    try:
                        await self._join(player)
                        self.is_settled.set()
                        await player.play_with(self._respond)
                    except ClientError as error:
                        self.failure = error
        finally:
            self.state = "over"
            self._withdraw()
            self.is_settled.set()
            if self._owns_room and self._room.phase is Phase.OPEN:
                self._room.cancel()

    def _note(self, data: RoomData) -> None:
        if isinstance(data, WelcomeMessage):
            self._player = data.seat
            self.state = "playing"
            self._versions.publish()

    async def _respond(self, player: Player, state: State) -> None:
        self._request = self._room.ply, state
        self._request_data = describe_legal_moves(state, self._room.ply)
        self._versions.publish()
        await player.send_move(await self._moves.receive())

    def _withdraw(self) -> None:
        """Take back the request, which is answered or void."""
        self._request, self._request_data = None, {"ply": self._request_data["ply"], "moves": None}
        self._versions.publish()

    # -- requests of the page

    def choose(self, ply: int, index: int) -> None:
        """Play the legal move number `index`, in the order of the request. Raises WebError."""
        state = self._requested(ply)
        for number, move in enumerate(state.generate_legal_moves()):
            if number == index < MOST_LEGAL_MOVES:
                self._answer(move)
                return
        raise WebError(400, f"Den Zug Nummer {index} gibt es nicht.", f"There is no move number {index}.")

    def skip(self, ply: int) -> None:
        """Place nothing this turn. Raises WebError if that is not allowed."""
        move = skip_move(self._requested(ply))
        if move is None:
            raise WebError(409, "Aussetzen ist hier nicht erlaubt.", "You may not skip here.")
        self._answer(move)

    def leave(self) -> None:
        """Give up the seat."""
        self._scope.cancel()

    def _requested(self, ply: int) -> State:
        if self._request is None or self._request[0] != ply:
            raise WebError(409, "Du bist gerade nicht am Zug.", "It is not your turn.")
        return self._request[1]

    def _answer(self, move: Move) -> None:
        self._withdraw()  # so that there is never a second answer to the same request
        self._send_move.send_nowait(move)

    # -- pages that look at the seat

    def describe(self) -> dict[str, Any]:
        """Return the seat as a JSON object."""
        return {"room": self._room.id, "player": self._player, "state": self.state, "commands": list(self._commands)}

    def watch(self, on_close: Callable[[], None]) -> EventStreamResponse:
        """Return a stream of the seat and of its request for one page; `on_close` is called when it has left."""
        self._pages += 1
        self._scope.deadline = math.inf

        async def write(send_frame: SendFrame) -> None:
            version = -1
            while True:
                version = await self._versions.newer_than(version, send_frame)
                await send_frame(frame("seat", self.describe()) + frame("request", self._request_data))

        def close() -> None:
            self._pages -= 1
            if not self._pages:
                self._scope.deadline = trio.current_time() + ABANDON_TIMEOUT
            on_close()

        return EventStreamResponse(write, close)


class Seats:
    """The seats of persons at `server`, which they reach by `loopback`; programs reach its game port at `address`."""

    def __init__(self, server: Server, loopback: Loopback, address: tuple[str, int]) -> None:
        self._server = server
        self._loopback = loopback
        self._address = address
        self._seats: OrderedDict[str, PersonSeat] = OrderedDict()
        self._count = 0

    def find(self, seat_id: str) -> PersonSeat:
        """Return a seat. Raises WebError if there is none."""
        seat = self._seats.get(seat_id)
        if seat is None:
            raise WebError(404, "Diesen Platz gibt es nicht (mehr).", "There is no such seat (any more).")
        return seat

    async def take(self, form: SeatForm, start: tuple[Edition, State] | None, address: str) -> str:
        """Open or join a game; return the id of the seat. Raises WebError.

        - `start`: the edition and the position from which a game is opened; None: that of a new game.
        - `address`: the address of the person's browser.
        """
        match form.opponent:
            case _Opponent(room=str(room_id), strategy=None, program=False):
                return await self._join_room(room_id, address)
            case _Opponent(room=None, strategy=str(strategy), program=False):
                return self._play_builtin(form, strategy, start, address)
            case _Opponent(room=None, strategy=None, program=True):
                # the other seat is for any program
                edition, state = self._game(form, start)
                commands = joining_commands(*self._address, edition.game_type)
                slot = Slot(None, is_reserved=False)
                return self._open_room(edition, form, slot, state, address, commands)[1]
        raise WebError(
            400,
            "Als Gegner ist genau eines von room, strategy und program erlaubt.",
            "The opponent must be exactly one of room, strategy and program.",
        )

    def _play_builtin(self, form: SeatForm, strategy: str, start: tuple[Edition, State] | None, address: str) -> str:
        """Open a game against the built-in player `strategy`."""
        edition, state = self._game(form, start)
        kind = STRATEGIES.get(strategy)
        if kind is None or kind.choose is None or kind.is_bad or not kind.plays(edition.game):
            raise WebError(
                400,
                f"Den eingebauten Spieler {strategy} gibt es für dieses Spiel nicht.",
                f"There is no built-in player {strategy} for this game.",
            )
        choose, rng = kind.choose, random.Random()
        room, seat_id = self._open_room(edition, form, Slot(strategy), state, address)
        code = room.player_slots[1 - (form.player or 0)].reservation or ""

        def choose_move(position: State) -> Move:  # a plain function: it runs in a thread, not in the server's loop
            return choose(position, rng)

        async def play(label: str) -> None:
            async with self._loopback.connect(edition.dialect, label) as player:
                with suppress(ClientError):  # the person has left before the game began, or the server ends
                    await player.join_prepared(code)
                    await player.play(choose_move)

        self._loopback.start_soon(play, f"builtin-{self._count}")
        return seat_id

    async def _join_room(self, room_id: str, address: str) -> str:
        """Take the free seat of a room, with the clock of the server."""
        room = self._server.lobby.rooms.get(room_id)
        if room is None:
            raise unknown_room(room_id)
        self._require_place(address)
        slot = room.free_slot()
        if slot is None:
            raise WebError(409, "In diesem Raum ist kein Platz frei.", "There is no free seat in this room.")

        async def join(player: Player) -> None:
            await player.join_room(room_id)

        seat = PersonSeat(room, slot.seat, join, address, owns_room=False)
        seat_id = self._add(seat)
        await seat.is_settled.wait()
        if seat.failure is not None:
            del self._seats[seat_id]
            raise refused_by_server(409, seat.failure)
        return seat_id

    def _game(self, form: SeatForm, start: tuple[Edition, State] | None) -> tuple[Edition, State | None]:
        """Return the edition and the position of a new game. Raises WebError."""
        editions = self._server.editions
        game_type = (form.game_type or "") if start is None else start[0].game_type
        edition = editions.get(game_type)
        if edition is None:
            raise unknown_game_type(game_type, editions)
        if start is None:
            return edition, None
        try:
            resumed = edition.game.resume(start[1])
        except GameError:
            raise WebError(
                409,
                "Aus dieser Stellung lässt sich hier nicht weiterspielen.",
                "No game can be started from this position here.",
            ) from None
        if resumed.outcome() is not None:
            raise WebError(409, "In dieser Stellung ist das Spiel schon zu Ende.", "The game is over in this position.")
        return edition, resumed

    def _open_room(
        self,
        edition: Edition,
        form: SeatForm,
        opponent: Slot,
        state: State | None,
        address: str,
        commands: Sequence[CommandLine] = (),
    ) -> tuple[Room, str]:
        """Open a room for a person; return it, and the id of the person's seat."""
        self._require_place(address)
        own = Slot(form.name, can_timeout=form.clock)
        number = form.player or 0
        try:
            room = self._server.lobby.open_prepared(edition, (own, opponent) if number == 0 else (opponent, own), state)
        except RequestError as error:
            raise refused_by_server(429, error) from None
        code = room.player_slots[number].reservation or ""

        async def join(player: Player) -> None:
            await player.join_prepared(code)

        return room, self._add(PersonSeat(room, number, join, address, owns_room=True, commands=commands))

    def _add(self, seat: PersonSeat) -> str:
        self._count += 1
        seat_id = secrets.token_urlsafe(16)
        self._seats[seat_id] = seat
        self._loopback.start_soon(lambda label: seat.run(self._loopback, label), f"person-{self._count}")
        return seat_id

    def _require_place(self, address: str) -> None:
        """Forget seats of games that are over; raise WebError if there are too many others, or many of this address."""
        over = [seat_id for seat_id, seat in self._seats.items() if seat.state == "over"]
        for seat_id in over[: max(0, len(over) - MOST_ENDED_SEATS)]:
            del self._seats[seat_id]
        taken = Counter(seat.address for seat in self._seats.values() if seat.state != "over")
        if not may_take(taken, address, MOST_SEATS):
            count, own = taken.total(), taken[address]
            raise WebError(
                429,
                f"Es sind schon {count} Plätze von Menschen besetzt, {own} davon von deiner Adresse, mehr erlaubt der "
                "Server nicht.",
                f"There are {count} seats of persons taken already, {own} of them from your address, as many as is "
                "allowed.",
            )


def seat_routes(seats: Seats, hub: Hub, find_replay_state: FindReplayState) -> list[BaseRoute]:
    """Return the routes of persons' seats: taking one, its events, moving, and leaving."""

    async def take(request: Request) -> Response:
        form = await read_json(request, SeatForm)
        printable(form.name)
        start = None if form.start is None else await find_start(form.start)
        seat_id = await seats.take(form, start, client_share(request))
        return json_response({"seat": seat_id, **seats.find(seat_id).describe()})

    async def find_start(start: _Start) -> tuple[Edition, State]:
        if start.replay is not None:
            return await find_replay_state(start.replay, start.ply)
        watched = hub.game(start.room or "")
        return watched.game.edition, watched.position(start.ply)

    async def seat_events(request: Request) -> Response:
        try:
            seat = seats.find(request.path_params["seat"])
        except WebError as error:  # a page with an event stream cannot read the body of a refusal
            return single_frame(frame("gone", error.as_json()))
        address = client_share(request)
        hub.open_stream(address)
        return seat.watch(lambda: hub.close_stream(address))

    async def move(request: Request) -> Response:
        seat = seats.find(request.path_params["seat"])
        form = await read_json(request, _MoveForm)
        if form.skip:
            seat.skip(form.ply)
        elif form.index is not None:
            seat.choose(form.ply, form.index)
        else:
            raise WebError(400, "Der Zug fehlt (index oder skip).", "The move is missing (index or skip).")
        return json_response({})

    async def leave(request: Request) -> Response:
        seats.find(request.path_params["seat"]).leave()
        return json_response({})

    return [
        Route("/api/seat", take, methods=["POST"]),
        Route("/api/seat/{seat}/events", seat_events),
        Route("/api/seat/{seat}/move", move, methods=["POST"]),
        Route("/api/seat/{seat}/leave", leave, methods=["POST"]),
    ]
