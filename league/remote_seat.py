"""The process that the referee starts in place of a program that runs on a helper's PC.

The command is ``python -m spielleiter.league.remote_seat HOST PORT RESERVATION SEED GAME``. It asks the gate for the
program, makes the connections to the match server that the program makes on its PC, writes what the program writes,
and ends as the program does. So the match sees the program, and nothing in it knows about PCs.

If the connection to the PC is lost, this process ends with an error. The gate then says that the game does not count.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, Final

import trio

from spielleiter.common.process import hide_this_process
from spielleiter.league.frames import FrameStream
from spielleiter.league.gate_messages import (
    MAX_CHUNK,
    MAX_RUN_MESSAGE,
    SEAT_VARIABLE,
    Bytes,
    Closed,
    Connected,
    Exited,
    FromRun,
    TakeSeat,
    Written,
    decode_from_run,
)

EXIT_LOST: Final = 70
"""The exit code if the program is lost with its PC (EX_SOFTWARE of sysexits.h)."""
_LOCAL: Final = "127.0.0.1"


class RemoteSeat:
    """Does for the program on a PC what it does there; `server` is host and port of the match server."""

    def __init__(self, gate: FrameStream[FromRun], server: tuple[str, int], nursery: trio.Nursery) -> None:
        self._gate = gate
        self._server = server
        self._nursery = nursery
        self._connections: dict[int, trio.SocketStream | None] = {}
        """By number; None: the match server has refused it."""

    async def run(self) -> int | None:
        """Return the exit code of the program; None if it was lost."""
        while (message := await self._gate.receive()) is not None:
            match message:
                case Connected(number):
                    await self._connect(number)
                case Bytes(number, data):
                    if (stream := self._connections[number]) is not None:
                        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                            await stream.send_all(data)
                case Closed(number):
                    if (stream := self._connections[number]) is not None:
                        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                            await stream.send_eof()
                case Written(data, is_error):
                    with suppress(OSError):  # nobody reads it any more
                        _write(2 if is_error else 1, data)
                case Exited(code):
                    return code
                case _:
                    return None
        return None

    async def _connect(self, number: int) -> None:
        self._connections[number] = None
        try:
            stream = await trio.open_tcp_stream(*self._server)
        except OSError:
            await self._tell(Closed(number))
            return
        self._connections[number] = stream
        self._nursery.start_soon(self._read, number, stream)

    async def _read(self, number: int, stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await stream.receive_some(MAX_CHUNK):
                await self._tell(Bytes(number, bytes(data)))
        await self._tell(Closed(number))

    async def _tell(self, message: Bytes | Closed) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # `run` notices that the gate is gone
            await self._gate.send(message)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


async def play(gate_port: int, ticket: str, server: tuple[str, int], words: tuple[str, str, str]) -> int | None:
    """Have the program of `ticket` play; return its exit code, None if it was lost.

    `words` are the reservation code, the seed and the gameType.
    """
    try:
        stream = await trio.open_tcp_stream(_LOCAL, gate_port)
    except OSError:
        return None
    async with stream:
        gate: FrameStream[Any] = FrameStream(stream, decode_from_run, MAX_RUN_MESSAGE)
        try:
            await gate.send(TakeSeat(ticket, *words))
        except trio.BrokenResourceError:
            return None
        async with trio.open_nursery() as nursery:
            code = await RemoteSeat(gate, server, nursery).run()
            nursery.cancel_scope.cancel()
        return code


def main() -> None:
    """Play, and end as the program does."""
    hide_this_process()
    host, port, reservation, seed, game = sys.argv[1:]
    gate_port, _, ticket = os.environ.pop(SEAT_VARIABLE).partition(":")
    code = trio.run(play, int(gate_port), ticket, (host, int(port)), (reservation, seed, game))
    if code is None:
        print("the PC that ran this program is not there any more", file=sys.stderr)  # noqa: T201
        sys.exit(EXIT_LOST)
    if code < 0 and sys.platform != "win32":  # Windows has no signals
        with suppress(OSError):  # SIGKILL has no handler that could be reset
            signal.signal(-code, signal.SIG_DFL)
        with suppress(OSError, ValueError):
            os.kill(os.getpid(), -code)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
