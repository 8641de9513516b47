"""The arena as the league sees it: pairs are played there, and the pages connect to its server.

The process is started again when it ends; then everything that it was playing has failed, and is ordered again by who
wanted it.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

import trio

from spielleiter.client.client_errors import CannotConnectError
from spielleiter.client.transport import Transport
from spielleiter.league.arena_messages import (
    ArenaReady,
    CancelPair,
    FromArena,
    GamePlayed,
    PairFailed,
    PairPlayed,
    PlayPair,
    StartArena,
    decode_from_arena,
)
from spielleiter.league.child_process import ChildProcess, own_module
from spielleiter.match.plan import Entrant, ProgramTimeouts
from spielleiter.protocol.dialect import Dialect

_HOST: Final = "127.0.0.1"
_TICKET_BYTES: Final = 32


class NotPlayedError(Exception):
    """The rest of a pair was not played, which is no fault of a program; the text says why."""

    def __init__(self, reason: str, *, is_overloaded: bool = False) -> None:
        super().__init__(reason)
        self.is_overloaded = is_overloaded
        """Whether the machine is only busy at the moment."""


class ArenaClient:
    """Plays pairs in a process of its own, which is there while `run` runs.

    - `game_type`, `edition`: the season of all games.
    - `run_id`: marks all processes of programs; that of a league does not change.
    - `on_change`: called when the arena can play, and when it no longer can: with the reason, empty in the first case.
    - `command`: the command line that starts the process.
    """

    def __init__(
        self,
        game_type: str,
        edition: str | None,
        run_id: str,
        on_change: Callable[[str], object] = lambda _reason: None,
        command: Sequence[str] | None = None,
    ) -> None:
        self.viewer_secret = secrets.token_urlsafe(32)
        """With it, pages may see the games at the arena's server."""
        self.ready: ArenaReady | None = None
        """What the arena says of itself; None while it cannot play."""
        self._start = StartArena(game_type, edition, run_id, self.viewer_secret, secrets.token_bytes(_TICKET_BYTES))
        self._on_change = on_change
        self._attempts: dict[int, trio.MemorySendChannel[FromArena]] = {}
        self._keys = itertools.count(1)
        self._process = ChildProcess(
            own_module("spielleiter.league.arena") if command is None else command,
            decode=decode_from_arena,
            on_message=self._receive,
            on_start=lambda: self._process.send_nowait(self._start),
            on_end=self._note_end,
        )

    async def run(self) -> None:
        """Keep the process running until cancelled. Raises OSError if it cannot be started."""
        await self._process.run()

    async def play(
        self,
        pair: int,
        seed: int,
        numbers: Sequence[int],
        entrants: tuple[Entrant, Entrant],
        timeouts: ProgramTimeouts,
        on_game: Callable[[GamePlayed], Awaitable[object]],
    ) -> None:
        """Play the games with these `numbers` (1, 2) of a pair; `on_game` is awaited with each finished one, in order.

        If this is cancelled, or `on_game` raises, the running game is cut off. Raises NotPlayedError.
        """
        if self.ready is None:
            raise NotPlayedError("the arena is not running")
        key = next(self._keys)
        attempt, answers = trio.open_memory_channel[FromArena](len(numbers) + 1)
        self._attempts[key] = attempt
        is_running = True
        try:
            if not self._process.send_nowait(PlayPair(key, pair, seed, tuple(numbers), entrants, timeouts)):
                raise NotPlayedError("the arena is not running")
            async for answer in answers:
                match answer:
                    case GamePlayed():
                        await on_game(answer)
                    case PairFailed(_, reason, is_overloaded):
                        is_running = False
                        raise NotPlayedError(reason, is_overloaded=is_overloaded)
                    case PairPlayed():
                        is_running = False
                        return
        finally:
            del self._attempts[key]
            if is_running:
                self._process.send_nowait(CancelPair(key))

    async def connect_viewer(self, dialect: Dialect) -> Transport:
        """Connect to the arena's server, for the pages. Raises CannotConnectError."""
        if self.ready is None:
            raise CannotConnectError("the arena is not running")
        try:
            stream = await trio.open_tcp_stream(_HOST, self.ready.port)
        except OSError as error:
            raise CannotConnectError(f"the arena cannot be reached ({error})") from None
        try:
            await stream.send_all(self._start.ticket)
        except trio.BrokenResourceError as error:
            raise CannotConnectError(f"the arena cannot be reached ({error})") from None
        return Transport(stream, dialect)

    # -- the process ------------------------------------------------------------------------------------------------

    def _receive(self, message: FromArena) -> None:
        if isinstance(message, ArenaReady):
            self.ready = message
            self._on_change("")
        elif (attempt := self._attempts.get(message.key)) is not None:  # nobody waits for one that was cancelled
            attempt.send_nowait(message)

    def _note_end(self, reason: str, _pause: float) -> None:
        self.ready = None
        for key, attempt in self._attempts.items():
            # the channel has a place for it: an attempt that was answered is no longer there, or about to be
            with suppress(trio.WouldBlock):
                attempt.send_nowait(PairFailed(key, f"the arena ended: {reason}"))
        self._on_change(reason)
