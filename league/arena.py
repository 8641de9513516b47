"""The arena: the process that plays the games of a league, ``python -m spielleiter.league.arena``.

It is a process of its own so that no page, no upload and no visitor delays a clock. All pairs are played at one server,
to which the pages connect over a port of this machine.

Invariants: the process ends when its input ends; then no program that it has started is running any more. Each game of
a pair is reported once, and each attempt ends with one answer. What fails on this machine is never a result. Nobody
reaches the server over its port without the ticket, and with it only as the pages do: programs play over ports of their
own.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

from spielleiter.cluster.site_process import LoopLag
from spielleiter.common.errors import MatchError, first_error, os_error_text
from spielleiter.league.arena_messages import (
    ArenaReady,
    CancelPair,
    FromArena,
    GamePlayed,
    PairFailed,
    PairPlayed,
    PlayPair,
    StartArena,
    ToArena,
    decode_to_arena,
)
from spielleiter.league.child_process import open_parent, run_child
from spielleiter.match.game_folder import REPLAY
from spielleiter.match.match_server import MatchServer, open_match_server
from spielleiter.match.plan import Entrant, MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import output_files, play_game
from spielleiter.match.runner import GAMES_PER_CORE, fair_concurrency
from spielleiter.match.verdict import UNCOUNTED_VERDICTS, Verdict
from spielleiter.programs.sandbox.choice import choose_sandbox
from spielleiter.programs.temporary_folders import new_folder, remove_folder, remove_stale_folders
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.server.app import Server
from spielleiter.server.net.sockets import accept, listen
from spielleiter.server.net.wire import SocketWire

ATTEMPTS: Final = 3
"""How often a game is played until it counts, if only this machine has spoiled it."""
MAX_ERRORS: Final = 256 * 1024
"""Bytes of a program's standard error that are kept of a game: its beginning and its end."""
TICKET_TIMEOUT: Final = 5.0
"""Seconds in which a connection has to send the ticket."""
MAX_UNKNOWN: Final = 16
"""The maximum number of connections that have not sent it yet."""

_HOST: Final = "127.0.0.1"


class Arena:
    """Plays pairs at `match_server`. The files of a game are in `scratch` while it is played."""

    def __init__(self, start: StartArena, match_server: MatchServer, scratch: Path) -> None:
        self.lag = LoopLag()
        self._start = start
        self._match_server = match_server
        self._scratch = scratch
        self._scopes: dict[int, trio.CancelScope] = {}
        """By key: the scope of each attempt."""

    async def run(self, requests: AsyncIterator[ToArena], answers: trio.MemorySendChannel[FromArena]) -> None:
        """Handle requests until there are no more; then everything that is running is cut off."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.lag.run)
            async for request in requests:
                match request:
                    case PlayPair():
                        self._scopes[request.key] = trio.CancelScope()
                        nursery.start_soon(self._play_pair, request, answers)
                    case CancelPair(key):
                        if key in self._scopes:
                            self._scopes[key].cancel()
                    case StartArena():
                        raise AssertionError("it is the first message")
            nursery.cancel_scope.cancel()

    async def _play_pair(self, job: PlayPair, answers: trio.MemorySendChannel[FromArena]) -> None:
        answer: FromArena = PairFailed(job.key, "the pair was called off")
        folder = Path(tempfile.mkdtemp(prefix="pair-", dir=self._scratch))
        try:
            with self._scopes[job.key]:
                match_server = self._match_server.for_match(setup_of(self._start, job))
                for number in job.numbers:
                    if lag := await self.lag.catch_up():
                        answer = PairFailed(job.key, f"the event loop was {lag:.1f} s late", is_overloaded=True)
                        break
                    record = await self._play_game(job, number, match_server, folder)
                    if record.verdict == Verdict.SERVER_FAILED:
                        answer = PairFailed(job.key, record.reason)
                        break
                    played = await trio.to_thread.run_sync(_report, job.key, number, record, folder)
                    with trio.CancelScope(shield=True):  # what is finished is reported
                        await answers.send(played)
                else:
                    answer = PairPlayed(job.key)
        except* (MatchError, OSError) as group:
            error = first_error(group)
            answer = PairFailed(job.key, os_error_text(error) if isinstance(error, OSError) else str(error))
        finally:
            del self._scopes[job.key]
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(remove_folder, folder)
        await answers.send(answer)

    async def _play_game(self, job: PlayPair, number: int, match_server: MatchServer, folder: Path) -> GameRecord:
        """Play a game, and again if only this machine has spoiled it. Raises MatchError."""
        seats = (0, 1) if number % 2 else (1, 0)
        # no two games that are played at the same time have the same number
        planned = PlannedGame(job.pair * 2 + number - 1, job.pair, job.seed, seats)
        attempt = 1
        while True:
            record = await play_game(match_server.setup, planned, folder, match_server=match_server)
            if attempt == ATTEMPTS or record.verdict not in UNCOUNTED_VERDICTS:
                return record
            attempt += 1


def setup_of(start: StartArena, job: PlayPair) -> MatchSetup:
    """The match that consists of this pair. Raises SetupError."""
    return MatchSetup(
        entrants=job.entrants,
        game_type=start.game_type,
        games=2,
        seed=job.seed,
        run_id=start.run_id,
        timeouts=job.timeouts,
        edition=start.edition,
    )


def _report(key: int, number: int, record: GameRecord, folder: Path) -> GamePlayed:
    """Read what the league keeps of a game, then remove its folder. Blocks. Raises OSError."""
    place = folder / record.folder
    replay = (place / REPLAY).read_bytes() if record.replay else None
    errors = [_shortened(output_files(place, program)[1]) for program in (0, 1)]
    remove_folder(place)
    return GamePlayed(key, number, record.to_json(), replay, (errors[0], errors[1]))


def _shortened(path: Path) -> bytes | None:
    """The beginning and the end of a file; None if it is not there."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_ERRORS // 2)
            size = path.stat().st_size
            if size > MAX_ERRORS:
                file.seek(size - MAX_ERRORS // 2)
                data += b"\n[...]\n"
            return data + file.read(MAX_ERRORS // 2)
    except FileNotFoundError:
        return None


# -- the pages' connections -------------------------------------------------------------------------------------------


async def serve_pages(server: Server, listening: socket.socket, ticket: bytes) -> None:
    """Serve the connections to `listening` that begin with the `ticket`, until cancelled."""
    unknown = trio.CapacityLimiter(MAX_UNKNOWN)
    async with trio.open_nursery() as nursery:
        while True:
            sock, *_ = await accept(listening)
            if unknown.available_tokens:
                sock.setblocking(False)
                await nursery.start(_serve_page, server, sock, ticket, unknown)
            else:
                sock.close()


async def _serve_page(
    server: Server,
    sock: socket.socket,
    ticket: bytes,
    unknown: trio.CapacityLimiter,
    task_status: trio.TaskStatus[None],
) -> None:
    received = b""
    try:
        async with unknown:
            task_status.started()
            with suppress(OSError), trio.move_on_after(TICKET_TIMEOUT):
                while len(received) < len(ticket):
                    await trio.lowlevel.wait_readable(sock)
                    with suppress(BlockingIOError):
                        data = sock.recv(len(ticket) - len(received))
                        if not data:
                            break
                        received += data
        if received == ticket:
            await server.serve_wire(SocketWire(sock), "", label="pages")
    finally:
        sock.close()


# -- the process ------------------------------------------------------------------------------------------------------


async def serve() -> None:
    """Play what the parent process asks for, until its end."""
    async with open_parent(decode_to_arena) as parent:
        requests = aiter(parent)
        start = await anext(requests)
        assert isinstance(start, StartArena), "it is the first message"
        PLATFORM.kill(PLATFORM.find_tagged(f"{start.run_id}/"))  # left by an arena that was killed
        await trio.to_thread.run_sync(remove_stale_folders)
        scratch = await trio.to_thread.run_sync(new_folder)
        [listening] = listen(_HOST, 0)
        answers, to_send = trio.open_memory_channel[FromArena](0)

        async def serve_viewers(server: Server, task_status: trio.TaskStatus[None]) -> None:
            server.lobby.viewer_secret = start.viewer_secret
            task_status.started()
            await serve_pages(server, listening, start.ticket)

        async def send() -> None:
            async for answer in to_send:
                await parent.send(answer)

        try:
            async with trio.open_nursery() as nursery, open_match_server(_any_match(start), serve_viewers) as server:
                nursery.start_soon(send)
                sandbox = await trio.to_thread.run_sync(choose_sandbox)
                most_pairs, _ = fair_concurrency(GAMES_PER_CORE * len(PLATFORM.usable_cores()))
                port = listening.getsockname()[1]
                await answers.send(ArenaReady(port, sandbox.name, tuple(sandbox.gaps.values()), most_pairs))
                await Arena(start, server, scratch).run(requests, answers)
                nursery.cancel_scope.cancel()
        finally:
            listening.close()
            PLATFORM.kill(PLATFORM.find_tagged(f"{start.run_id}/"))
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(remove_folder, scratch)


def _any_match(start: StartArena) -> MatchSetup:
    """A match that starts the server; it is never played."""
    players = Entrant("", "builtin:random"), Entrant("", "builtin:random")
    return MatchSetup(players, start.game_type, 2, 0, start.run_id, edition=start.edition)


if __name__ == "__main__":
    run_child(serve)
