"""The seats of persons: opening games for them, joining rooms, and finding a seat again.

Invariants: the number of seats is bounded, in all and for each address. The id of a seat is a secret, since whoever
knows it can play there. A request either opens a seat completely or changes nothing. In a room that is opened for a
person, the person has no clock unless it asks for one. Everybody else has the clock of the server, also a person in
somebody else's room, who could otherwise keep the opponent waiting for ever.
"""

from __future__ import annotations

import random
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import trio

from spielleiter.client.client_errors import ClientError
from spielleiter.client.player import Player
from spielleiter.client.strategies import STRATEGIES
from spielleiter.game.api import GameError, Move, Seat, State
from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Room
from spielleiter.server.errors import RequestError
from spielleiter.viewer.web.command_lines import CommandLine, joining_commands
from spielleiter.viewer.web.errors import WebError, unknown_game_type, unknown_room
from spielleiter.viewer.web.loopback import Loopback
from spielleiter.viewer.web.seat import PersonSeat
from spielleiter.viewer.web.shares import may_take

MOST_SEATS: Final = 32
"""The maximum number of seats of persons in games that are not over; the persons at one address get half of them."""
MOST_ENDED_SEATS: Final = 32
"""The number of seats in games that are over of which a page still gets the state."""


@dataclass(frozen=True, slots=True)
class SeatWish:
    """What a person asks for.

    - `game_type`: the game; None together with `state`, which is of one game only.
    - `name`: the person's name in the game.
    - `player`: the seat, 0 or 1.
    - `has_clock`: whether the server's time limits apply to the person in a room of its own.
    - `start`: the edition and the position from which the game starts; None: that of a new game.
    - `address`: the address of the person's browser.
    """

    game_type: str | None
    name: str
    player: Seat
    has_clock: bool
    start: tuple[Edition, State] | None
    address: str


class Seats:
    """The seats of persons at `server`, which they reach by `loopback`; programs reach its game port at `address`."""

    def __init__(
        self,
        server: Server,
        loopback: Loopback,
        address: tuple[str, int],
        new_rng: Callable[[], random.Random] = random.Random,
    ) -> None:
        self._server = server
        self._loopback = loopback
        self._address = address
        self._new_rng = new_rng
        self._seats: OrderedDict[str, PersonSeat] = OrderedDict()
        self._count = 0
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Own the tasks of all seats; runs until cancelled."""
        async with trio.open_nursery() as self._nursery:
            await trio.sleep_forever()

    def find(self, seat_id: str) -> PersonSeat:
        """Return a seat. Raises WebError if there is none."""
        seat = self._seats.get(seat_id)
        if seat is None:
            raise WebError(404, "Diesen Platz gibt es nicht (mehr).", "There is no such seat (any more).")
        return seat

    # -- opening a seat ---------------------------------------------------------------------------------------------

    async def play_builtin(self, wish: SeatWish, strategy: str) -> str:
        """Open a game against the built-in player `strategy`; return the id of the seat. Raises WebError."""
        edition, state = self._game(wish)
        kind = STRATEGIES.get(strategy)
        if kind is None or kind.choose is None or kind.is_bad or not kind.plays(edition.game):
            raise WebError(
                400,
                f"Den eingebauten Spieler {strategy} gibt es für dieses Spiel nicht.",
                f"There is no built-in player {strategy} for this game.",
            )
        self._require_place(wish.address)
        room = self._open(edition, wish, Slot(strategy), state)
        codes = [slot.reservation or "" for slot in room.player_slots]
        seat_id = self._add(edition, wish, room, codes[wish.player], [])
        choose, rng = kind.choose, self._new_rng()

        def choose_move(position: State) -> Move:  # a plain function: it runs in a thread, not in the server's loop
            return choose(position, rng)

        assert self._nursery is not None
        self._nursery.start_soon(self._contained, self._play_opponent, edition, codes[1 - wish.player], choose_move)
        return seat_id

    async def wait_for_program(self, wish: SeatWish) -> str:
        """Open a game whose other seat any program may take; return the id of the seat. Raises WebError."""
        edition, state = self._game(wish)
        self._require_place(wish.address)
        room = self._open(edition, wish, Slot(None, is_reserved=False), state)
        code = room.player_slots[wish.player].reservation or ""
        return self._add(edition, wish, room, code, joining_commands(*self._address, edition.game_type))

    async def join_room(self, room_id: str, address: str) -> str:
        """Take the free seat of a room, with the clock of the server; return the id of the seat. Raises WebError."""
        room = self._server.lobby.rooms.get(room_id)
        if room is None:
            raise unknown_room(room_id)
        self._require_place(address)
        slot = room.free_slot()
        if slot is None:
            raise WebError(409, "In diesem Raum ist kein Platz frei.", "There is no free seat in this room.")

        async def take(player: Player) -> str | None:
            return await player.join_room(room_id)

        seat = PersonSeat(
            self._server,
            self._loopback,
            room.edition,
            take,
            room_id=room_id,
            seat=slot.seat,
            owns_room=False,
            commands=[],
            address=address,
        )
        seat_id = self._start(seat)
        await seat.is_settled.wait()
        if seat.failure is not None:
            del self._seats[seat_id]
            raise WebError(
                409, f"Der Server lehnt das ab ({seat.failure}).", f"The server refuses this ({seat.failure})."
            )
        return seat_id

    # -- parts of these ---------------------------------------------------------------------------------------------

    def _game(self, wish: SeatWish) -> tuple[Edition, State | None]:
        """Return the edition and the position of a new game. Raises WebError."""
        editions: Mapping[str, Edition] = self._server.editions
        if wish.start is None:
            edition = editions.get(wish.game_type or "")
            if edition is None:
                raise unknown_game_type(wish.game_type or "", editions)
            return edition, None
        found, state = wish.start
        edition = editions.get(found.game_type)
        if edition is None:
            raise unknown_game_type(found.game_type, editions)
        try:
            resumed = edition.game.resume(state)
        except GameError:
            raise _cannot_resume() from None
        if resumed.outcome() is not None:
            raise WebError(409, "In dieser Stellung ist das Spiel schon zu Ende.", "The game is over in this position.")
        return edition, resumed

    def _open(self, edition: Edition, wish: SeatWish, opponent: Slot, state: State | None) -> Room:
        own = Slot(wish.name, can_timeout=wish.has_clock)
        slots = (own, opponent) if wish.player == 0 else (opponent, own)
        try:
            return self._server.lobby.open_prepared(edition, slots, state)
        except RequestError as error:
            raise WebError(429, f"Der Server lehnt das ab ({error}).", f"The server refuses this ({error}).") from None

    def _add(self, edition: Edition, wish: SeatWish, room: Room, code: str, commands: Sequence[CommandLine]) -> str:
        async def take(player: Player) -> str | None:
            return await player.join_prepared(code)

        seat = PersonSeat(
            self._server,
            self._loopback,
            edition,
            take,
            room_id=room.id,
            seat=wish.player,
            owns_room=True,
            commands=commands,
            address=wish.address,
        )
        return self._start(seat)

    def _start(self, seat: PersonSeat) -> str:
        self._count += 1
        seat_id = secrets.token_urlsafe(16)
        self._seats[seat_id] = seat
        assert self._nursery is not None, "the seats are opened while `run` runs"
        self._nursery.start_soon(self._contained, seat.run, f"person-{self._count}")
        return seat_id

    async def _contained(self, play: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """Run the task of one player; an exception that is a bug ends this player only."""
        try:
            await play(*arguments)
        except Exception as error:
            self._server.stream.publish(events.InternalError.of(error))

    async def _play_opponent(self, edition: Edition, code: str, choose_move: Callable[[State], Move]) -> None:
        async with self._loopback.connect(edition.dialect, f"builtin-{self._count}") as player:
            try:
                await player.join_prepared(code)
                await player.play(choose_move)
            except ClientError:
                pass  # the person has left before the game began, or the server ends

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


def _cannot_resume() -> WebError:
    return WebError(
        409,
        "Aus dieser Stellung lässt sich hier nicht weiterspielen.",
        "No game can be started from this position here.",
    )
