"""One person's seat at the board: a client of the protocol whose moves come from a page.

Invariants: the game is an ordinary one; the server knows the person as a player like any other. At most one move is
expected at a time, and only legal moves are sent. The seat is given up when the person leaves it, or when no page has
looked at it for `ABANDON_TIMEOUT` seconds, so that an opponent does not wait for ever. A room that was opened for this
seat, and whose game has not begun, is closed with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import trio

from spielleiter.client.client_errors import ClientError
from spielleiter.client.player import Player
from spielleiter.game.api import Move, Seat, State
from spielleiter.protocol.messages import RoomData, WelcomeMessage
from spielleiter.server.app import Server
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Phase
from spielleiter.viewer.positions.describe import MOST_LEGAL_MOVES, describe_legal_moves, skip_move
from spielleiter.viewer.web.command_lines import CommandLine
from spielleiter.viewer.web.errors import WebError
from spielleiter.viewer.web.loopback import Loopback
from spielleiter.viewer.web.server_sent_events import frame

ABANDON_TIMEOUT: Final = 300.0
"""Seconds without a page until a seat is given up."""

TakeSeat = Callable[[Player], Awaitable[str | None]]
"""Sends the request that takes the seat; returns the id of the room."""

_NOT_ON_TURN: Final = WebError(409, "Du bist gerade nicht am Zug.", "It is not your turn.")
_NO_SKIP: Final = WebError(409, "Aussetzen ist hier nicht erlaubt.", "You may not skip here.")


class PersonSeat:
    """The seat of a person in a game of `edition`.

    - `take_seat`: sends the request that takes it.
    - `room_id`, `seat`: where it is, as far as that is known before it is taken.
    - `owns_room`: whether the room was opened for this seat.
    - `commands`: command lines for the program that the person waits for.
    - `address`: the address from which the seat was taken.
    """

    def __init__(
        self,
        server: Server,
        loopback: Loopback,
        edition: Edition,
        take_seat: TakeSeat,
        *,
        room_id: str,
        seat: Seat | None,
        owns_room: bool,
        commands: Sequence[CommandLine],
        address: str,
    ) -> None:
        self.address = address
        self.room_id = room_id
        self.player: Seat | None = seat
        self.commands = commands
        self.state = "waiting"
        self.failure: ClientError | None = None
        """Why the seat could not be taken."""
        self.is_settled = trio.Event()
        """Set once the seat is taken, is refused, or belongs to a room of its own."""
        self._server = server
        self._loopback = loopback
        self._edition = edition
        self._take_seat = take_seat
        self._owns_room = owns_room
        self._scope = trio.CancelScope()
        self._request: tuple[int, State] | None = None
        self._request_data: dict[str, Any] = {"ply": 0, "moves": None}
        self._send_move, self._moves = trio.open_memory_channel[Move](1)
        self._changed = trio.Event()
        self._version = 0
        self._pages = 0
        self._pages_changed = trio.Event()
        if owns_room:
            self.is_settled.set()

    # -- the player's task ------------------------------------------------------------------------------------------

    async def run(self, label: str) -> None:
        """Take the seat and play the game; `label` is the connection's name in the log."""
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._give_up_if_abandoned)
                    await self._play(label)
                    nursery.cancel_scope.cancel()
        finally:
            self.state = "over"
            self._withdraw()
            self.is_settled.set()
            room = self._server.lobby.rooms.get(self.room_id)
            if self._owns_room and room is not None and room.phase is Phase.OPEN:
                room.cancel()

    async def _play(self, label: str) -> None:
        async with self._loopback.connect(self._edition.dialect, label) as player:
            player.watch = self._watch
            try:
                self.room_id = await self._take_seat(player) or self.room_id
                self.is_settled.set()
                self._publish()
                await player.play_with(self._respond)
            except ClientError as error:
                self.failure = error

    def _watch(self, data: RoomData) -> None:
        if isinstance(data, WelcomeMessage):
            self.player = data.seat
            self.state = "playing"
            self._publish()

    async def _respond(self, player: Player, state: State) -> None:
        room = self._server.lobby.rooms.get(self.room_id)
        ply = 0 if room is None else room.ply
        self._request = ply, state
        self._request_data = describe_legal_moves(state, ply)
        self._publish()
        await player.send_move(await self._moves.receive())

    def _withdraw(self) -> None:
        """Take back the request, which is answered or void."""
        ply = self._request_data["ply"]
        self._request, self._request_data = None, {"ply": ply, "moves": None}
        self._publish()

    async def _give_up_if_abandoned(self) -> None:
        while True:
            if not self._pages:
                with trio.move_on_after(ABANDON_TIMEOUT) as scope:
                    await self._pages_changed.wait()
                if scope.cancelled_caught:
                    self.leave()
                    return
            else:
                await self._pages_changed.wait()

    # -- requests of the page ---------------------------------------------------------------------------------------

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
            raise _NO_SKIP
        self._answer(move)

    def leave(self) -> None:
        """Give up the seat."""
        self._scope.cancel()

    def _requested(self, ply: int) -> State:
        if self._request is None or self._request[0] != ply:
            raise _NOT_ON_TURN
        return self._request[1]

    def _answer(self, move: Move) -> None:
        self._withdraw()  # so that there is never a second answer to the same request
        self._send_move.send_nowait(move)

    # -- pages that look at the seat --------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Return the seat as a JSON object."""
        return {
            "room": self.room_id,
            "player": self.player,
            "state": self.state,
            "commands": [line.as_json() for line in self.commands],
        }

    def _publish(self) -> None:
        self._version += 1
        self._changed.set()
        self._changed = trio.Event()

    def add_page(self) -> None:
        """Note that one more page looks at the seat."""
        self._pages += 1
        self._notice_pages()

    def remove_page(self) -> None:
        """Note that a page has left."""
        self._pages -= 1
        self._notice_pages()

    def _notice_pages(self) -> None:
        self._pages_changed.set()
        self._pages_changed = trio.Event()

    async def next_frames(self, version: int) -> tuple[bytes, int]:
        """Wait until there is something newer than `version`; return the seat and the request, and their version."""
        while self._version == version:
            await self._changed.wait()
        return frame("seat", self.describe()) + frame("request", self._request_data), self._version


class SeatSource:
    """The events of a seat for one page; `on_close` is called when the page has left."""

    def __init__(self, seat: PersonSeat, on_close: Callable[[], None]) -> None:
        self._seat = seat
        self._on_close = on_close
        self._version = -1
        seat.add_page()

    async def next_frame(self) -> bytes | None:
        data, self._version = await self._seat.next_frames(self._version)
        return data

    def close(self) -> None:
        self._seat.remove_page()
        self._on_close()
