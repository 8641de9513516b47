"""The addresses of files to keep: a game as a replay, as one page that holds everything, as a picture or an animation.

Invariants: pictures and pages are made in a process of its own, which gets the game and nothing else. One is made at a
time, a few requests wait, at most half of the free places for one address, and no process runs for more than `TIMEOUT`
seconds. A browser never shows such a file as a page of this server, since it would then be one: it is kept as a file.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.common.own_python import own_python
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.exports import INSTALL_PICTURES, PICTURES_MISSING
from spielleiter.viewer.replay_files import MOST_POSITIONS
from spielleiter.viewer.web.answers import WebError, unknown_ply, whole_number
from spielleiter.viewer.web.guard import client_share, may_take
from spielleiter.viewer.web.live_games import Hub, LiveGame
from spielleiter.viewer.web.replay_store import ReplayStore

MOST_MAKING: Final = 8
"""The number of requests for which a file is being made, or that wait for that."""
TIMEOUT: Final = 60.0
"""Seconds after which the making of a file is given up."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""The maximum size of a file."""
COMMAND: Final = (*own_python(), "-P", "-m", "spielleiter.viewer.exports")

_GZIP: Final = b"\x1f\x8b"
_TYPES: Final = {"html": "text/html; charset=utf-8", "png": "image/png", "gif": "image/gif"}
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME: Final = 80


def download_routes(
    store: ReplayStore, hub: Hub, command: tuple[str, ...] = COMMAND, *, makes_files: bool = True
) -> list[BaseRoute]:
    """Return the routes of the files of rooms and of replays.

    - `command`: starts the process that makes a file.
    - `makes_files`: whether there are any but the replays.
    """
    making = trio.CapacityLimiter(1)
    makers: Counter[str] = Counter()

    async def room_file(request: Request) -> Response:
        """A game that is over as a file: `replay`, `html`, `gif`, or `png` (`?ply=N`: of this position)."""
        room_id = request.path_params["room"]

        async def make() -> Response:
            if request.path_params["form"] == "replay":
                return _replay_file(room_id, await replay_of_room(hub, room_id))
            _ended(hub, room_id)
            check_form(request)
            return await _made_file(command, request, room_id, msgspec.json.encode(await hub.whole_game(room_id)))

        return await within_bounds(client_share(request), make)

    async def replay_file(request: Request) -> Response:
        """The same for a replay."""
        name = request.path_params["name"]

        async def make() -> Response:
            if request.path_params["form"] == "replay":
                return _replay_file(name, await store.content(name))
            check_form(request)
            return await _made_file(command, request, name, (await store.find(name)).game)

        return await within_bounds(client_share(request), make)

    def check_form(request: Request) -> None:
        form = request.path_params["form"]
        if form not in _TYPES or not makes_files:
            raise WebError(404, f"Als {form[:20]} gibt es Spiele nicht.", f"There are no games as {form[:20]}.")

    async def within_bounds(address: str, make: Callable[[], Awaitable[Response]]) -> Response:
        if not may_take(makers, address, MOST_MAKING):
            raise WebError(
                429,
                "Es werden gerade zu viele Dateien erstellt; versuche es gleich noch einmal.",
                "Too many files are being made; try again in a moment.",
            )
        makers[address] += 1
        try:
            async with making:
                with trio.move_on_after(TIMEOUT):
                    return await make()
        finally:
            makers[address] -= 1
            if not makers[address]:
                del makers[address]
        raise WebError(503, "Die Datei zu erstellen hat zu lange gedauert.", "Making the file took too long.")

    return [
        Route("/api/rooms/{room}/file/{form}", room_file),
        Route("/api/replays/{name}/file/{form}", replay_file),
    ]


class _Positions(msgspec.Struct):
    positions: list[msgspec.Raw]


async def replay_of_room(hub: Hub, room_id: str) -> bytes:
    """Return the game in a room as a replay. Raises WebError if there is none, or if it is not over."""
    game = _ended(hub, room_id)
    return await trio.to_thread.run_sync(encode_replay, game.edition.dialect, game.id, game.record)


def _ended(hub: Hub, room_id: str) -> LiveGame:
    game = hub.game(room_id).game
    if game.phase != "over":
        raise WebError(409, "Dieses Spiel ist noch nicht zu Ende.", "This game is not over yet.")
    return game


async def _made_file(command: tuple[str, ...], request: Request, name: str, game: bytes) -> Response:
    """Return the file that a process makes of a game. Raises WebError if it fails."""
    form = request.path_params["form"]
    count = len(msgspec.json.decode(game, type=_Positions).positions)
    ply = whole_number(request, "ply") if form == "png" and "ply" in request.query_params else count - 1
    if not 0 <= ply < count:
        raise unknown_ply(ply)
    if count > MOST_POSITIONS:  # only a server of somebody else has such games
        raise WebError(413, "Dieses Spiel ist zu lang für eine Datei.", "This game is too long for a file.")
    done = await trio.run_process(
        (*command, form, str(ply)),
        stdin=game,
        capture_stdout=True,
        stderr=subprocess.DEVNULL,
        check=False,
        deliver_cancel=_kill,
    )
    if done.returncode == PICTURES_MISSING:
        raise WebError(
            501,
            f"Bilder brauchen eine Erweiterung, die auf dem Rechner des Servers fehlt. Dort hilft: {INSTALL_PICTURES}",
            f"Pictures need an extra that is missing on the server's machine. There, this helps: {INSTALL_PICTURES}",
        )
    if done.returncode or not 0 < len(done.stdout) <= MOST_BYTES:
        raise WebError(500, "Die Datei ließ sich nicht erstellen.", "The file could not be made.")
    suffix = f"-{ply}" if form == "png" else ""
    return _as_file(f"{_plain(name)}{suffix}.{form}", done.stdout, _TYPES[form])


async def _kill(process: trio.Process) -> None:
    process.kill()


def _replay_file(name: str, content: bytes) -> Response:
    suffix = ".xml.gz" if content.startswith(_GZIP) else ".xml"
    return _as_file(f"{_plain(name)}{suffix}", content, "application/octet-stream")


def _plain(name: str) -> str:
    """Return a name of a room or a replay as the beginning of the name of a file, without its suffix."""
    stem = name.removesuffix(".gz").removesuffix(".xml")
    return _NOT_IN_NAMES.sub("_", stem)[-_LONGEST_NAME:].strip("._") or "game"


def _as_file(name: str, content: bytes, media_type: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-security-policy": "sandbox"}
    return Response(content, media_type=media_type, headers=headers)
