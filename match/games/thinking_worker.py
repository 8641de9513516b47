"""A worker: a process that computes the moves of built-in players, and the tasks that talk to it.

Invariants: the process runs `thinking_process.py`. It has one request at a time, which it takes from the queue. It is a
single thread, so it never uses more than one core. Whatever ends a worker, its process is killed and waited for. A
process that closes its input or output, or writes anything but answers, is ended.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import psutil
import trio

from spielleiter.common.own_python import own_python
from spielleiter.game.api import Move
from spielleiter.match.games.thinking_messages import BadMessageError, Decoder, encode
from spielleiter.match.games.thinking_queue import ThinkingQueue
from spielleiter.match.games.thinking_request import ChosenMove, PoolPlayer, Request
from spielleiter.match.games.verdict import exit_text
from spielleiter.programs.environment import own_variables

_READ_SIZE: Final = 64 * 1024
_KILL_TIMEOUT: Final = 5.0  # seconds after which killing a worker is given up
_EXIT_TIMEOUT: Final = 1.0  # seconds in which a process must exit after it has closed its output
ABANDONED_TIMEOUT: Final = 10.0
"""Seconds after which a worker is ended that computes a move for which nobody waits any more."""
# Ctrl+C in the terminal is meant for the match, which ends its workers itself
if sys.platform == "win32":
    _OWN_SESSION: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _OWN_SESSION: Final[dict[str, Any]] = {"start_new_session": True}


class Worker:
    """A worker that serves `queue`: call `start`, then `run`."""

    def __init__(self, queue: ThinkingQueue[Request]) -> None:
        self.has_answered = False
        self.process: trio.Process | None = None
        self._usage: psutil.Process | None = None
        self._queue = queue
        self._outgoing, self._messages = trio.open_memory_channel[tuple[Any, ...]](math.inf)
        self._request: Request | None = None
        self._is_ready = False
        self._is_gone = False
        self._problem = ""
        """Why the process was ended; empty if it ended by itself."""

    @property
    def unanswered(self) -> Request | None:
        """The request that it computes or has left unanswered; None if nobody waits for the answer."""
        return None if self._request is None or self._request.is_abandoned else self._request

    @property
    def end_text(self) -> str:
        """How the process has ended, such as "ended with exit code 3"."""
        code = None if self.process is None else self.process.returncode
        return self._problem or ("could not be ended" if code is None else exit_text(code))

    def begin(self, request: Request) -> None:
        """Send `request` to the process."""
        player = request.player
        self._request = request
        if player.worker is self:
            generator = None
        else:
            generator = player.generator
            if player.worker is not None:
                player.worker.forget(player)
            player.worker = self
        self._send("move", player.key, player.strategy, generator, request.state, player.wait)
        request.begin(self._cpu_stopwatch())

    def forget(self, player: PoolPlayer) -> None:
        """Tell the process to forget `player`."""
        self._send("end", player.key)

    def is_computing(self, request: Request) -> bool:
        """Return whether the process has `request` and may still answer it."""
        return self._request is request and not self._is_gone

    async def end_unless_answered(self, request: Request) -> None:
        """End the process if it has not answered `request` after ABANDONED_TIMEOUT seconds."""
        with trio.move_on_after(ABANDONED_TIMEOUT):
            await request.is_done.wait()
        if self.is_computing(request) and self.process is not None:
            self._problem = f"did not answer for {ABANDONED_TIMEOUT:g} s"
            self.process.kill()

    def _send(self, *message: Any) -> None:
        if not self._is_gone:
            self._outgoing.send_nowait(message)

    def _cpu_stopwatch(self) -> Callable[[], float | None]:
        """Return a function that returns the processor time in seconds that the process has spent since now."""
        before = self._cpu_seconds()

        def elapsed() -> float | None:
            now = self._cpu_seconds()
            return None if now is None or before is None else now - before

        return elapsed

    def _cpu_seconds(self) -> float | None:
        if self.process is None:
            return None
        try:
            if self._usage is None:  # kept: making it costs more than asking it, and it is asked for every move
                self._usage = psutil.Process(self.process.pid)
            times = self._usage.cpu_times()
        except psutil.Error:  # it has ended
            return None
        return times.user + times.system

    async def start(self) -> None:
        """Start the process. Raises OSError. If this succeeds, `run` must be called next."""
        self.process = await trio.lowlevel.open_process(
            # -P: the working directory may contain a module with the name of one that we import
            [*own_python(), "-P", "-m", "spielleiter.match.games.thinking_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=own_variables(),  # a program can read them
            **_OWN_SESSION,
        )

    async def run(self) -> None:
        """Talk to the process until it ends, or end it when cancelled. Its unanswered request is interrupted."""
        process = self.process
        assert process is not None
        has_closed_output = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write, process)
                has_closed_output = await self._read(process)
                nursery.cancel_scope.cancel()
        finally:
            self._is_gone = True
            self._queue.remove(self)
            if self.unanswered is not None:
                # first of all: from now on, the processor time of the process is unknown
                self.unanswered.interrupt()
            with trio.CancelScope(shield=True):
                if has_closed_output:
                    with trio.move_on_after(_EXIT_TIMEOUT):
                        await process.wait()
                    if process.returncode is None:
                        self._problem = "closed its output"
                process.kill()
                with trio.move_on_after(_KILL_TIMEOUT):
                    await process.wait()
                for stream in (process.stdin, process.stdout):
                    assert stream is not None
                    await stream.aclose()

    async def _write(self, process: trio.Process) -> None:
        assert process.stdin is not None
        async for message in self._messages:
            try:
                await process.stdin.send_all(encode(message))
            except trio.BrokenResourceError:
                process.kill()  # it cannot get another request, but what it has written is still read
                return

    async def _read(self, process: trio.Process) -> bool:
        """Take the answers of the process; return whether it has closed its output, not written something else."""
        assert process.stdout is not None
        decoder = Decoder()
        while data := await _receive(process.stdout):
            try:
                for message in decoder.feed(data):
                    self._take(message)
                    self._queue.set_idle(self)
            except BadMessageError:
                self._problem = "wrote something that is not an answer"
                return False
        return True

    def _take(self, message: object) -> None:
        """Take a message of the process. Raises BadMessageError if it is not the one that is expected now."""
        match message:
            case None if not self._is_ready:
                self._is_ready = True
            case (
                (move, float() as seconds, float() as cpu_seconds, str() as problem, bool() as was_cut),
                bytes() as generator,
            ) if self._request is not None:
                self._answer(self._request, (move, seconds, cpu_seconds, problem, was_cut), generator)
            case _:
                raise BadMessageError

    def _answer(self, request: Request, thought: tuple[Move | None, float, float, str, bool], generator: bytes) -> None:
        move, seconds, cpu_seconds, problem, was_cut = thought
        assert request.started_at is not None
        self._request = None
        self.has_answered = True
        request.player.generator = generator
        request.player.cut_searches += was_cut
        request.finish(ChosenMove(move, request.started_at, seconds, cpu_seconds, problem))


async def _receive(stream: trio.abc.ReceiveStream) -> bytes | bytearray:
    """Return what a worker has written; nothing if it has ended."""
    try:
        return await stream.receive_some(_READ_SIZE)
    except trio.BrokenResourceError:  # how Windows reports the end of a killed process
        return b""
