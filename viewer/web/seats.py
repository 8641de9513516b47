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
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.client.client_errors import ClientError
from spielleiter.client.player import Player
from spielleiter.game.api import GameError, Move, Seat, State
from spielleiter.players.strategies import STRATEGIES
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT
from spielleiter.protocol.messages import Memento, RoomData, Slot, WelcomeMessage
from spielleiter.server.core.policy import Edition
from spielleiter.viewer.positions.describe import MOST_LEGAL_MOVES, describe_legal_moves, skip_move
from spielleiter.viewer.web.answers import (
    EventStreamResponse,
    SendFrame,
    Versions,
    WebError,
    frame,
    json_response,
    printable,
    refused_by_server,
    single_frame,
    unknown_game_type,
    unknown_room,
)
from spielleiter.viewer.web.bodies import read_json
from spielleiter.viewer.web.followed_games import FollowedGames
from spielleiter.viewer.web.game_server import REQUEST_TIMEOUT, GameServer
from spielleiter.viewer.web.guard import client_share, may_take
from spielleiter.viewer.web.live_games import Hub

MOST_SEATS: Final = 32
"""The maximum number of seats of persons in games that are not over; the persons at one address get half of them."""
MOST_ENDED_SEATS: Final = 32
"""The number of seats in games that are over of which a page still gets the state."""
ABANDON_TIMEOUT: Final = 300.0
"""Seconds without a page until a seat is given up, so that an opponent does not wait for ever."""

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


class PersonSeat:
    """The seat number `seat` of a person in the room `room_id`, in which a game of `edition` is played.

    The seat is given up when the person leaves it, or when no page has looked at it for `ABANDON_TIMEOUT` seconds.

    - `join`: sends the request that takes the seat.
    - `commands`: command lines for the program that the person waits for.
    - `owns_room`: whether the room was opened for this seat; it is closed if the seat was not even asked for.
    - `address`: the address from which the seat was taken.
    """

    def __init__(
        self,
        room_id: str,
        edition: Edition,
        seat: Seat,
        join: Callable[[Player], Awaitable[object]],
        address: str,
        commands: Sequence[CommandLine] = (),
        *,
        owns_room: bool = False,
    ) -> None:
        self.address = address
        self.state = "waiting"
        self.failure: ClientError | None = None
        """Why the seat could not be taken."""
        self.is_settled = trio.Event()
        """Set once the seat is taken or refused."""
        self._room_id = room_id
        self._edition = edition
        self._player = seat
        self._join = join
        self._owns_room = owns_room
        self._has_asked = False
        self._has_begun = trio.Event()
        """Set once the pages can show the game."""
        self._position: State | None = None
        self._ply = 0
        self._commands = commands
        self._request: tuple[int, State] | None = None
        self._request_data: dict[str, Any] = {"ply": 0, "moves": None}
        self._send_move, self._moves = trio.open_memory_channel[Move](1)
        self._versions = Versions()
        self._pages = 0
        self._scope = trio.CancelScope(deadline=trio.current_time() + ABANDON_TIMEOUT)

    async def run(self, server: GameServer) -> None:
        """Take the seat and play the game."""
        try:
            with self._scope:
                try:
                    async with server.player(self._edition) as player:
                        player.watch = partial(self._note, server)
                        self._has_asked = True
                        await self._join(player)
                        self.is_settled.set()
                        await player.play_with(self._respond)
                except ClientError as error:
                    self.failure = error
        finally:
            self.state = "over"
            self._withdraw()
            self.is_settled.set()
        if self._owns_room and not self._has_asked:
            with suppress(WebError):  # it is closed already
                await server.cancel(self._room_id)

    async def _begin(self, games: FollowedGames) -> None:
        """Say that the game has begun, once the pages can show it: this connection knows it before they do."""
        with trio.move_on_after(REQUEST_TIMEOUT):
            await games.wait_for_start(self._room_id)
        self._has_begun.set()
        if self.state != "over":
            self.state = "playing"
            self._versions.publish()

    def _note(self, server: GameServer, data: RoomData) -> None:
        match data:
            case WelcomeMessage(seat):
                self._player = seat
                server.start_soon(partial(self._begin, server.games))
            case Memento(state=state) if state != self._position:  # it is repeated when a game is resumed
                self._ply += self._position is not None
                self._position = state
            case _:
                pass

    async def _respond(self, player: Player, state: State) -> None:
        await self._has_begun.wait()
        self._request = self._ply, state
        self._request_data = describe_legal_moves(state, self._ply)
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
        return {"room": self._room_id, "player": self._player, "state": self.state, "commands": list(self._commands)}

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
    """The seats of persons at `server`."""

    def __init__(self, server: GameServer) -> None:
        self._server = server
        self._seats: OrderedDict[str, PersonSeat] = OrderedDict()
        self._opening: Counter[str] = Counter()
        """The number of seats that are being opened, by address."""

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
                return await self._play_builtin(form, strategy, start, address)
            case _Opponent(room=None, strategy=None, program=True):
                edition, state = self._game(form, start)
                # for any program, where a season can say so
                is_reserved = "reserved" not in edition.dialect.slot_attributes
                return (await self._open_room(edition, form, Slot("", is_reserved=is_reserved), state, address))[0]
        raise WebError(
            400,
            "Als Gegner ist genau eines von room, strategy und program erlaubt.",
            "The opponent must be exactly one of room, strategy and program.",
        )

    async def _play_builtin(
        self, form: SeatForm, strategy: str, start: tuple[Edition, State] | None, address: str
    ) -> str:
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
        seat_id, code = await self._open_room(edition, form, Slot(strategy), state, address)

        def choose_move(position: State) -> Move:  # a plain function: it runs in a thread, not in the pages' loop
            return choose(position, rng)

        async def play() -> None:
            with suppress(ClientError):  # the person has left before the game began, or the server ends
                async with self._server.player(edition) as player:
                    await player.join_prepared(code or "")
                    await player.play(choose_move)

        self._server.start_soon(play)
        return seat_id

    async def _join_room(self, room_id: str, address: str) -> str:
        """Take the free seat of a room, with the clock of the server."""
        await self._server.look_for(room_id)
        game = self._server.games.find(room_id)
        if game is None:
            raise unknown_room(room_id)
        with self._opening_seat(address):
            if self._server.has_feed and not game.free_seats:
                raise WebError(409, "In diesem Raum ist kein Platz frei.", "There is no free seat in this room.")

            async def join(player: Player) -> None:
                await player.join_room(room_id)

            seat = PersonSeat(room_id, game.edition, 1, join, address)
            seat_id = self._add(seat)
            await seat.is_settled.wait()
        if seat.failure is not None:
            del self._seats[seat_id]
            raise refused_by_server(409, seat.failure)
        return seat_id

    def _game(self, form: SeatForm, start: tuple[Edition, State] | None) -> tuple[Edition, State | None]:
        """Return the edition and the position of a new game. Raises WebError."""
        editions = self._server.games.editions
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

    async def _open_room(
        self, edition: Edition, form: SeatForm, opponent: Slot, state: State | None, address: str
    ) -> tuple[str, str | None]:
        """Open a room for a person; return the id of the person's seat, and the code of the other one if it has one."""
        if state is not None and not self._server.has_feed:
            raise WebError(
                409,
                "Dieser Server kann ein Spiel nicht aus einer Stellung beginnen.",
                "This server cannot start a game from a position.",
            )
        own = Slot(form.name, can_timeout=form.clock)
        number = form.player or 0
        slots = (own, opponent) if number == 0 else (opponent, own)
        # if the page leaves meanwhile, there is no room without its seat
        with self._opening_seat(address), trio.CancelScope(shield=True):
            prepared = await self._server.prepare(edition, slots, state, refusal_status=429)
            codes = iter(prepared.reservations)
            by_seat = [next(codes, None) if slot.is_reserved else None for slot in slots]
            code, other = by_seat[number], by_seat[1 - number]
            commands: Sequence[CommandLine] = ()
            if form.opponent.program:
                commands = joining_commands(*self._server.address, edition.game_type, other)

            async def join(player: Player) -> None:
                await player.join_prepared(code or "")

            seat = PersonSeat(prepared.room_id, edition, number, join, address, commands, owns_room=True)
            seat_id = self._add(seat)
        return seat_id, other

    def _add(self, seat: PersonSeat) -> str:
        seat_id = secrets.token_urlsafe(16)
        self._seats[seat_id] = seat
        self._server.start_soon(lambda: seat.run(self._server))
        return seat_id

    @contextmanager
    def _opening_seat(self, address: str) -> Iterator[None]:
        """Count a seat that is being opened.

        Forgets seats of games that are over. Raises WebError if there are too many others, or many of this address.
        """
        over = [seat_id for seat_id, seat in self._seats.items() if seat.state == "over"]
        for seat_id in over[: max(0, len(over) - MOST_ENDED_SEATS)]:
            del self._seats[seat_id]
        taken = self._opening + Counter(seat.address for seat in self._seats.values() if seat.state != "over")
        if not may_take(taken, address, MOST_SEATS):
            count, own = taken.total(), taken[address]
            raise WebError(
                429,
                f"Es sind schon {count} Plätze von Menschen besetzt, {own} davon von deiner Adresse, mehr erlaubt der "
                "Server nicht.",
                f"There are {count} seats of persons taken already, {own} of them from your address, as many as is "
                "allowed.",
            )
        self._opening[address] += 1
        try:
            yield
        finally:
            self._opening[address] -= 1
            self._opening += Counter()  # drop addresses whose count is 0


def seat_routes(seats: Seats, hub: Hub, find_replay_state: FindReplayState) -> list[BaseRoute]:
    """Return the routes of persons' seats: taking one, its events, moving, and leaving."""

    async def take(request: Request) -> Response:
        """Takes a seat against `{"opponent": {"strategy": …}}`, `{"program": true}` or `{"room": …}`.

        `gameType` names the game. Optional are `clock` (in a room, the server's applies), `player`, `name` and `from`.
        """
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
        """Server-sent events: `seat`, `request` with the legal moves when it is the person's turn, or `gone`."""
        try:
            seat = seats.find(request.path_params["seat"])
        except WebError as error:  # a page with an event stream cannot read the body of a refusal
            return single_frame(frame("gone", error.as_json()))
        address = client_share(request)
        hub.open_stream(address)
        return seat.watch(lambda: hub.close_stream(address))

    async def move(request: Request) -> Response:
        """Plays a move: `{"ply": …, "index": …}` or `{"ply": …, "skip": true}`."""
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
        """Gives up the seat."""
        seats.find(request.path_params["seat"]).leave()
        return json_response({})

    return [
        Route("/api/seat", take, methods=["POST"]),
        Route("/api/seat/{seat}/events", seat_events),
        Route("/api/seat/{seat}/move", move, methods=["POST"]),
        Route("/api/seat/{seat}/leave", leave, methods=["POST"]),
    ]
