"""The process on a machine of a cluster that plays the games there.

A Dask worker starts one for each match, as ``python -m spielleiter.cluster.site_process``, and talks to it over
standard input and output.

Invariants: the process ends when its input ends, however the worker has ended; then no program that it has started is
running any more, and its scratch folder is removed. A pair is answered once: played, or refused with a reason. What
fails on this machine is a refusal and never a result.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, Final

import trio

from spielleiter.cluster.pair_files import collect_files
from spielleiter.cluster.shipment import setup_at, unpack_item
from spielleiter.cluster.site_messages import (
    HEAD,
    PROTOCOL,
    CancelPair,
    FromSite,
    PairPlayed,
    PairRefused,
    PlayPair,
    Prepare,
    Ready,
    SitePrepared,
    ToSite,
    Unable,
    decode_to_site,
    framed,
)
from spielleiter.common.errors import MatchError, first_error, os_error_text
from spielleiter.common.files import write_whole
from spielleiter.common.process import hide_this_process
from spielleiter.contest.calibration import MAX_SPEED, MIN_SPEED, measure_speed
from spielleiter.match.game_folder import KeepPolicy
from spielleiter.match.match_server import MatchServer, open_match_server
from spielleiter.match.plan import MatchSetup, Opening, PlannedGame
from spielleiter.match.preparation import require_playable, unpacked_programs
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import play_game
from spielleiter.match.runner import Conditions, Cores, allocate_cores
from spielleiter.match.verdict import Verdict
from spielleiter.programs.persistent_programs import open_persistent_programs
from spielleiter.programs.temporary_folders import remove_folder
from spielleiter.programs.this_platform import PLATFORM

INTERVAL: Final = 0.25
"""Seconds between two measurements of the event loop's lag."""
MEMORY: Final = 3.0
"""For how many seconds a lag counts."""
CATCH_UP_TIMEOUT: Final = 6.0
"""Seconds for a machine to catch up before it refuses a pair; more than MEMORY, so that a single lag is waited for."""
MAX_LAG: Final = 0.2
"""The lag in seconds from which a machine refuses pairs: a tenth of the time limit of the contest."""

SPEED_VARIABLE: Final = "SPIELLEITER_SPEED"
"""The environment variable that gives the speed of a machine, which is measured otherwise."""

_READ_SIZE: Final = 64 * 1024  # bytes


class LoopLag:
    """The largest lag of the event loop in the last seconds, while `run` runs."""

    def __init__(self) -> None:
        self._lags: list[tuple[float, float]] = []

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            deadline = trio.current_time() + INTERVAL
            await trio.sleep_until(deadline)
            now = trio.current_time()
            self.add(now, now - deadline)

    def add(self, now: float, lag: float) -> None:
        """Add a measurement."""
        self._lags = [(at, seconds) for at, seconds in self._lags if at > now - MEMORY]
        self._lags.append((now, lag))

    async def catch_up(self) -> float:
        """Wait until the lag is low again, for at most CATCH_UP_TIMEOUT. Returns the lag if it is still too high, or 0.

        `run` must be running.
        """
        deadline = trio.current_time() + CATCH_UP_TIMEOUT
        while True:
            now = trio.current_time()
            lag = max((seconds for at, seconds in self._lags if at > now - MEMORY), default=0.0)
            if lag <= MAX_LAG:
                return 0.0
            if now >= deadline:
                return lag
            await trio.sleep(INTERVAL)


class PairSite:
    """Plays pairs of games on this machine. `scratch` is its scratch folder; answers are sent to `answers`."""

    def __init__(self, scratch: Path, answers: trio.MemorySendChannel[FromSite]) -> None:
        self.lag = LoopLag()
        self._scratch = scratch
        self._answers = answers
        self._pairs, self._queue = trio.open_memory_channel[PlayPair](1024)
        self._scopes: dict[str, trio.CancelScope] = {}
        """By key: the scope of each pair that is waiting or being played."""
        self._unable: set[int] = set()

    async def run(self, requests: trio.MemoryReceiveChannel[ToSite]) -> None:
        """Handle requests until there are no more; then everything that is running is cut off."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.lag.run)
            async for request in requests:
                match request:
                    case Prepare():
                        await nursery.start(self._serve, request)
                    case PlayPair():
                        self._scopes[request.key] = trio.CancelScope()
                        self._pairs.send_nowait(request)
                    case CancelPair(key):
                        if key in self._scopes:
                            self._scopes[key].cancel()
            nursery.cancel_scope.cancel()

    async def _serve(self, request: Prepare, task_status: trio.TaskStatus[None]) -> None:
        """Prepare the match, and play its pairs until cancelled."""
        run_id = str(request.setup.get("run_id", ""))
        try:
            async with AsyncExitStack() as stack:
                try:
                    setup = await trio.to_thread.run_sync(self._prepare, request, run_id)
                    playable = await stack.enter_async_context(unpacked_programs(setup))
                    # raises SetupError if there are too few
                    cores = allocate_cores(
                        Conditions(request.slots, is_pinned=request.is_pinned, cores_per_game=request.cores_per_game),
                        PLATFORM.usable_cores()[request.first_core :] or PLATFORM.usable_cores(),
                    )
                    server = await stack.enter_async_context(open_match_server(playable))
                    nursery = await stack.enter_async_context(trio.open_nursery())
                except (MatchError, OSError) as error:
                    text = os_error_text(error) if isinstance(error, OSError) else str(error)
                    await self._answers.send(Unable(text))
                    task_status.started()
                    return
                for each in cores:
                    nursery.start_soon(self._work, playable, request, each, server)
                await self._answers.send(SitePrepared())
                task_status.started()
        finally:
            PLATFORM.kill(PLATFORM.find_tagged(f"{run_id}/"))

    def _prepare(self, request: Prepare, run_id: str) -> MatchSetup:
        """Unpack what was shipped, and check that this machine can start the programs. Raises OSError, SetupError."""
        for number, item in enumerate(request.items):
            unpack_item(item, number, self._scratch)
        setup = setup_at(MatchSetup.from_json(request.setup), self._scratch, run_id)
        require_playable(setup)
        return setup

    async def _work(self, setup: MatchSetup, request: Prepare, cores: tuple[Cores, Cores], server: MatchServer) -> None:
        """Play one pair after the other. After a pair that was cut off, programs are started anew."""
        keep = KeepPolicy(request.keep)
        while True:
            programs = (
                nullcontext() if request.is_restarting else open_persistent_programs(self._unable, setup.timeouts.exit)
            )
            async with programs as persistent:

                async def play(planned: PlannedGame, folder: Path) -> GameRecord:
                    return await play_game(setup, planned, folder, cores, server, keep, persistent)

                async for job in self._queue:
                    answer = await self._answer(job, play)
                    await self._answers.send(answer)
                    if isinstance(answer, PairRefused):
                        break

    async def _answer(
        self, job: PlayPair, play: Callable[[PlannedGame, Path], Awaitable[GameRecord]]
    ) -> PairPlayed | PairRefused:
        """Play the games of a pair with `play`, unless this machine is busy or fails, or the pair is called off."""
        answer: PairPlayed | PairRefused = PairRefused(job.key, "the pair was called off")
        try:
            with self._scopes[job.key]:
                if lag := await self.lag.catch_up():
                    return PairRefused(job.key, f"its event loop was {lag:.1f} s late", is_overloaded=True)
                folder = Path(tempfile.mkdtemp(prefix="pair-", dir=self._scratch))
                try:
                    opening = await trio.to_thread.run_sync(self._opening_of, job)
                    records = []
                    for game, seats in job.games:
                        record = await play(PlannedGame(game, job.pair, job.seed, seats, opening), folder)
                        if record.verdict == Verdict.SERVER_FAILED:
                            return PairRefused(job.key, record.reason)
                        records.append(record)
                    files, omitted = await trio.to_thread.run_sync(collect_files, folder, records)
                finally:
                    with trio.CancelScope(shield=True):
                        await trio.to_thread.run_sync(remove_folder, folder)
                answer = PairPlayed(job.key, tuple(record.to_json() for record in records), files, omitted)
        except* (MatchError, OSError) as group:
            error = first_error(group)
            answer = PairRefused(job.key, os_error_text(error) if isinstance(error, OSError) else str(error))
        finally:
            del self._scopes[job.key]
        return answer

    def _opening_of(self, job: PlayPair) -> Opening | None:
        """The opening of a pair, whose replay is written to the scratch folder once."""
        if job.opening is None:
            return None
        name, turn, suffix, content = job.opening
        path = self._scratch / f"opening-{hashlib.sha256(content).hexdigest()}{suffix}"
        if not path.exists():
            write_whole(path, content)  # another pair may read the file at the same time
        return Opening(name, str(path), turn)


def describe_machine() -> Ready:
    """What the match needs to know about this machine. Takes a few tenths of a second."""
    try:
        speed = float(os.environ.get(SPEED_VARIABLE, ""))
    except ValueError:
        speed = 0.0
    if not MIN_SPEED <= speed <= MAX_SPEED:
        speed = measure_speed().factor
    return Ready(version("spielleiter"), PROTOCOL, socket.gethostname(), len(PLATFORM.usable_cores()), speed)


async def main(scratch: Path, requests: BinaryIO, answers: BinaryIO) -> None:
    """Read requests and write answers until the input ends."""
    to_site, from_reader = trio.open_memory_channel[ToSite](0)
    to_writer, from_site = trio.open_memory_channel[FromSite](64)

    async def write() -> None:
        async for message in from_site:
            await trio.to_thread.run_sync(_write, answers, framed(message))

    async def read() -> None:
        buffer = bytearray()
        # in a thread, since Windows cannot wait for pipes in an event loop; it ends with the process
        async with to_site:
            while data := await trio.to_thread.run_sync(requests.read, _READ_SIZE, abandon_on_cancel=True):
                buffer += data
                while len(buffer) >= HEAD.size and len(buffer) >= (end := HEAD.size + HEAD.unpack_from(buffer)[0]):
                    message = decode_to_site(bytes(buffer[HEAD.size : end]))
                    del buffer[:end]
                    await to_site.send(message)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        site = PairSite(scratch, to_writer)
        await to_writer.send(await trio.to_thread.run_sync(describe_machine))
        nursery.start_soon(read)
        await site.run(from_reader)
        nursery.cancel_scope.cancel()


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()


def run(scratch: Path) -> None:
    """Run the site process. What programs' libraries print goes to standard error."""
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb", 0)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    hide_this_process()
    tempfile.tempdir = str(scratch)  # if this process is killed, the worker removes the scratch folder
    try:
        trio.run(main, scratch, requests, answers)
    except* BrokenPipeError:  # the worker has ended
        pass
    finally:
        remove_folder(scratch)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
