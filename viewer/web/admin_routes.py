"""The addresses for administrators: logging in and out, and preparing, pausing, stepping, resuming, cancelling games.

Invariants: each request is decided like the one on the game port that it corresponds to, in one synchronous call.
Nothing but logging in is done without a session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.protocol.messages import PrepareRequest, Slot
from spielleiter.server.app import Server
from spielleiter.server.core.dispatch import complete_request
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Peer, Room, SentCallback
from spielleiter.server.errors import RequestError
from spielleiter.viewer.web.admin_sessions import AdminSessions
from spielleiter.viewer.web.answers import json_response, read_json
from spielleiter.viewer.web.command_lines import joining_commands
from spielleiter.viewer.web.errors import WebError, unknown_game_type, unknown_room

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Id = Annotated[str, msgspec.Meta(max_length=100)]


class _Login(msgspec.Struct):
    password: Annotated[str, msgspec.Meta(max_length=1000)]


class _Player(msgspec.Struct, rename="camel"):
    name: _Name
    can_timeout: bool = True


class _Preparation(msgspec.Struct, rename="camel"):
    game_type: _Name
    players: tuple[_Player, _Player]
    is_paused: bool = False


class _RoomRequest(msgspec.Struct):
    room: _Id


class _NoSink:
    """The sink of administrators in the browser, who are not sent packets."""

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Drop the packet."""

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        """Do nothing."""

    def has_unread_input(self) -> bool:
        """Return False: there is no input."""
        return False


def admin_routes(server: Server, sessions: AdminSessions, address: tuple[str, int]) -> list[BaseRoute]:
    """Return the routes; `address` is where programs reach the game port of `server`."""
    lobby = server.lobby
    peer = Peer("viewer", _NoSink(), lobby.default_edition)

    async def show(request: Request) -> Response:
        token = sessions.token_of(request)
        return json_response({"isLoggedIn": token is not None, "token": token})

    async def log_in(request: Request) -> Response:
        form = await read_json(request, _Login)
        return await sessions.log_in(request, form.password, lambda token: json_response({"token": token}))

    async def log_out(request: Request) -> Response:
        sessions.require(request)
        sessions.log_out(request)
        return json_response({})

    async def prepare(request: Request) -> Response:
        sessions.require(request)
        form = await read_json(request, _Preparation)
        edition = server.editions.get(form.game_type)
        if edition is None:
            raise unknown_game_type(form.game_type, server.editions)
        room = _open(form, edition)
        codes = [slot.reservation for slot in room.player_slots if slot.reservation is not None]
        lines = [joining_commands(*address, edition.game_type, code) for code in codes]
        commands = [[line.as_json() for line in each] for each in lines]
        return json_response({"room": room.id, "reservations": codes, "commands": commands})

    def _open(form: _Preparation, edition: Edition) -> Room:
        slots = tuple(Slot(printable(player.name), can_timeout=player.can_timeout) for player in form.players)
        try:
            asked = complete_request(PrepareRequest(edition.game_type, slots, form.is_paused), edition)
            return lobby.open_prepared(edition, asked.slots, is_paused=form.is_paused)
        except RequestError as error:
            raise WebError(409, f"Der Server lehnt das ab ({error}).", f"The server refuses this ({error}).") from None

    def on_room(act: Callable[[Room], None]) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            sessions.require(request)
            form = await read_json(request, _RoomRequest)
            room = lobby.rooms.get(form.room)
            if room is None:
                raise unknown_room(form.room)
            act(room)
            return json_response({})

        return answer

    actions: dict[str, Callable[[Room], None]] = {
        "pause": lambda room: room.pause(peer, is_paused=True),
        "resume": lambda room: room.pause(peer, is_paused=False),
        "step": lambda room: room.step(peer),
        "cancel": lambda room: room.cancel(),
    }
    return [
        Route("/api/admin", show),
        Route("/api/admin/login", log_in, methods=["POST"]),
        Route("/api/admin/logout", log_out, methods=["POST"]),
        Route("/api/admin/prepare", prepare, methods=["POST"]),
        *(Route(f"/api/admin/{name}", on_room(act), methods=["POST"]) for name, act in actions.items()),
    ]


def printable(name: str) -> str:
    """Return `name`, which becomes the name of a player. Raises WebError if it contains control characters."""
    if not name.isprintable():
        raise WebError(400, "Der Name enthält Steuerzeichen.", "The name contains control characters.")
    return name
