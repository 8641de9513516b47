"""How many PCs the gate of a league carries, and how soon a pair is played again after the plug of its PC was pulled.

Run it as `python -m benchmarks.league_gate`. First, one gate serves more and more PCs over TLS. Each PC plays a pair of
games: its two programs get every position, and one of them answers at once. The PCs are one process, and know no games.
Then a league plays on two PCs, `spielleiter help-league` each. The one that is playing is cut off: nothing of what it
sends or gets is forwarded any more, and no connection is closed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

import psutil
import trio

from spielleiter.common.own_python import own_python
from spielleiter.common.quantile import nearest_rank
from spielleiter.league.arena_client import ArenaClient
from spielleiter.league.certificate import client_context, open_certificate
from spielleiter.league.database import open_database
from spielleiter.league.director import Director, open_arena_client
from spielleiter.league.frames import FrameStream
from spielleiter.league.games import list_games
from spielleiter.league.gate_client import GateClient, Lease, RemoteProgram
from spielleiter.league.gate_messages import (
    MAX_RUN_MESSAGE,
    PROTOCOL,
    SEAT_VARIABLE,
    BeginRun,
    Bytes,
    Connected,
    FromRun,
    JoinLeague,
    LeasePrepared,
    Ping,
    Pong,
    PrepareLease,
    StartRun,
    TakeSeat,
    Welcome,
    decode_from_run,
    decode_to_helper,
    decode_to_run,
)
from spielleiter.league.helper_code import HelperCode, new_secret, secret_hash
from spielleiter.league.helpers import add_helper, set_runs_without_sandbox
from spielleiter.league.package_needs import PYTHON, Machine
from spielleiter.league.settings import change_settings
from spielleiter.league.teams import add_teams, set_allows_helpers
from spielleiter.league.versions import add_upload, finish_check
from tests.contest.packages import Planted, make_package
from tests.league.remote_league import LOOPBACK, Cable, RemoteLeague, open_remote_league

POSITION: Final = 8 * 1024
"""Bytes of a position: those of Blokus have 4 to 15 KiB."""
MOVE: Final = 700
ASKED: Final = b"!"
"""Begins a position that is answered."""
IDLE_SECONDS: Final = 3.0
EDITION: Final = "blokus-2027"


# -- how many PCs -----------------------------------------------------------------------------------------------------


async def be_pcs(port: int, secrets: Sequence[str]) -> None:
    """Be that many PCs at the gate, until killed."""

    async def connect() -> trio.SSLStream[trio.SocketStream]:
        raw = await trio.open_tcp_stream(LOOPBACK, port)
        return trio.SSLStream(raw, client_context(), server_hostname=None, https_compatible=True)

    async def be_program(secret: str, run: int) -> None:
        frames = FrameStream(await connect(), decode_to_run, MAX_RUN_MESSAGE)
        await frames.send(BeginRun(secret, run))
        await frames.send(Connected(0))
        while (message := await frames.receive()) is not None:
            if isinstance(message, Bytes) and message.data.startswith(ASKED):
                await frames.send(Bytes(0, b"m" * MOVE))

    async def be_pc(secret: str, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        frames = FrameStream(await connect(), decode_to_helper, MAX_RUN_MESSAGE)
        machine = Machine("pc", "linux", "x86_64", 4, 1.0, "bubblewrap", "", {PYTHON: "3"}, "0")
        await frames.send(JoinLeague(PROTOCOL, secret, machine, 1))
        while (message := await frames.receive()) is not None:
            match message:
                case Welcome():
                    task_status.started()
                case Ping(number):
                    await frames.send(Pong(number))
                case PrepareLease(lease):
                    await frames.send(LeasePrepared(lease))
                case StartRun(run):
                    nursery.start_soon(be_program, secret, run)

    async with trio.open_nursery() as nursery:
        for secret in secrets:
            await nursery.start(be_pc, secret)


async def take_seat(lease: Lease, number: int) -> FrameStream[FromRun]:
    """Do what the process does that stands for a program; return its connection once that of the program is there."""
    entrant = lease.entrants[number]
    assert entrant is not None
    port, _, ticket = entrant.environment[SEAT_VARIABLE].partition(":")
    seat = FrameStream(await trio.open_tcp_stream(LOOPBACK, int(port)), decode_from_run, MAX_RUN_MESSAGE)
    await seat.send(TakeSeat(ticket, "r", "1", "game"))
    await seat.receive()
    return seat


class Load:
    """Plies through the gate for a while, `rate` a second for each PC."""

    def __init__(self, rate: float, seconds: float) -> None:
        self.waits: list[float] = []
        """The seconds from each position to its answer."""
        self._rate = rate
        self._seconds = seconds

    async def play(self, lease: Lease, share: float) -> None:
        """Play a pair; `share` of a ply is waited first, so that the PCs do not play in step."""
        seats = [await take_seat(lease, number) for number in range(2)]
        begin = trio.current_time() + share / self._rate
        for ply in range(int(self._rate * self._seconds)):
            await trio.sleep_until(begin + ply / self._rate)
            mover, other = seats[ply % 2], seats[1 - ply % 2]
            since = trio.current_time()
            await mover.send(Bytes(0, ASKED.ljust(POSITION)))
            await other.send(Bytes(0, b"?".ljust(POSITION)))
            await mover.receive()
            self.waits.append(trio.current_time() - since)
        for seat in seats:
            await seat.stream.aclose()


async def measure_pcs(league: RemoteLeague, count: int, rate: float, seconds: float) -> str:
    """Return the row of the table for this number of PCs."""
    [gate] = [each for each in psutil.Process().children() if "spielleiter.league.gate" in each.cmdline()]
    secrets = [league.add_code(f"pc{number}").secret for number in range(count)]
    await trio.sleep(1)  # until the gate knows the codes
    words = [*own_python(), "-m", "benchmarks.league_gate", "--be-pcs", str(league.gate.port)]
    pcs = await trio.lowlevel.open_process(words, stdin=subprocess.PIPE)
    assert pcs.stdin is not None
    await pcs.stdin.send_all("\n".join(secrets).encode())
    await pcs.stdin.aclose()
    try:
        await league.wait_until(lambda: len(league.gate.helpers()) == count)
        before = _processor(gate)
        await trio.sleep(IDLE_SECONDS)
        idle = (_processor(gate) - before) / IDLE_SECONDS / count
        load = Load(rate, seconds)
        program: RemoteProgram = league.program("bot")
        async with AsyncExitStack() as stack:
            leases = [
                await stack.enter_async_context(league.gate.lease(each.id, [program, program]))
                for each in league.gate.helpers()
            ]
            before, since = _processor(gate), time.perf_counter()
            async with trio.open_nursery() as nursery:
                for number, lease in enumerate(leases):
                    nursery.start_soon(load.play, lease, number / count)
            used, passed = _processor(gate) - before, time.perf_counter() - since
            lost = sum(bool(each.problem) for each in leases)
    finally:
        pcs.kill()
        await pcs.wait()
    await league.wait_until(lambda: not league.gate.helpers())
    plies, waits = len(load.waits), sorted(load.waits)
    return (
        f"| {count} | {plies / passed:.0f} | {1000 * idle:.1f} ms | {100 * used / passed:.0f} % | "
        f"{1000 * (used - idle * count * passed) / plies:.2f} ms | {1000 * nearest_rank(waits, 0.5):.1f} / "
        f"{1000 * nearest_rank(waits, 0.99):.0f} ms | {gate.memory_info().rss / 1024**2:.0f} MiB | {lost} |"
    )


def _processor(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def measure_gate(counts: Sequence[int], rate: float, seconds: float) -> None:
    """Print the table."""
    print(f"one pair on each PC, {rate:g} plies a second in it")
    print("| PCs | plies/s | a PC in a second | gate | a ply | answer, median / p99 | memory | lost |")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            async with open_remote_league(Path(folder)) as league:
                print(await measure_pcs(league, count, rate, seconds))


# -- a pulled plug ----------------------------------------------------------------------------------------------------


class Attempt:
    """A pair that is being played, or was: its id, the PC, and when it began and ended."""

    def __init__(self, pair: int, pc: int | None) -> None:
        self.pair = pair
        self.pc = pc
        self.begin, self.end = trio.current_time(), math.inf


_pc: ContextVar[int | None] = ContextVar("_pc", default=None)


class WatchedGate:
    """A gate that notes which PC a pair is played on."""

    def __init__(self, gate: GateClient) -> None:
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gate, name)

    @asynccontextmanager
    async def lease(self, helper_id: int, programs: Sequence[RemoteProgram | None]) -> AsyncIterator[Lease]:
        """As that of the gate."""
        async with self._gate.lease(helper_id, programs) as lease:
            _pc.set(helper_id)
            yield lease


class WatchedArena:
    """An arena that notes when it plays what."""

    def __init__(self, arena: ArenaClient, attempts: list[Attempt]) -> None:
        self._arena = arena
        self._attempts = attempts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arena, name)

    async def play(self, pair: int, *others: Any) -> None:
        """As that of the arena."""
        attempt = Attempt(pair, _pc.get())
        self._attempts.append(attempt)
        try:
            await self._arena.play(pair, *others)
        finally:
            attempt.end = trio.current_time()


async def measure_plug(times: int) -> None:
    """Print how long it takes until the pair of a PC that was cut off is played again."""
    ended, again = [], []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = stack.enter_context(closing(open_database(folder)))
        write = database.write_now
        settings = write(change_settings, edition=EDITION, uses_helpers=True, is_paused=False)
        secrets = [new_secret() for _ in range(2)]
        for number, secret in enumerate(secrets):
            helper = write(add_helper, f"pc{number}", secret_hash(secret), time.time())
            write(set_runs_without_sandbox, helper.id, True, time.time())
        package = make_package(folder / "bot.zip", Planted(move="time.sleep(0.05)")).read_bytes()
        for number, new in enumerate(write(add_teams, ["A", "B"], time.time())):
            write(set_allows_helpers, new.team.id, True, time.time(), by="team")
            version = write(add_upload, new.team.id, "bot.zip", package + bytes(number), time.time())
            write(finish_check, version.id, None, time.time())
        certificate = open_certificate(folder)
        gate = GateClient(LOOPBACK, 0, certificate, lambda: director.note_helpers())  # noqa: PLW0108 - defined below
        arena = open_arena_client(settings, folder, lambda reason: director.note_arena(reason))  # noqa: PLW0108 - as above
        attempts: list[Attempt] = []
        director = Director(database, WatchedArena(arena, attempts), folder, gate=WatchedGate(gate))
        nursery = await stack.enter_async_context(trio.open_nursery())
        stack.callback(nursery.cancel_scope.cancel)
        nursery.start_soon(director.run)
        await _until(lambda: not gate.problem)
        cables = {number: Cable(gate.port) for number in (1, 2)}
        for cable, secret in zip(cables.values(), secrets, strict=True):
            await nursery.start(cable.run)
            code = HelperCode(secret, certificate.fingerprint).text
            words = [
                *own_python(),
                "-m",
                "spielleiter",
                "help-league",
                f"{LOOPBACK}:{cable.port}",
                code,
                "--pairs",
                "1",
            ]
            helping = await trio.lowlevel.open_process(words, stdout=subprocess.DEVNULL)
            stack.callback(helping.kill)
        await _until(lambda: len(gate.helpers()) == len(cables))
        for _ in range(times):
            await _until(lambda: any(_runs_for(each, 1.5) for each in attempts))
            cut = next(each for each in attempts if _runs_for(each, 1.5))
            assert cut.pc is not None
            since, known = trio.current_time(), len(attempts)
            cables[cut.pc].cut()
            ended.append(await _end_of(cut) - since)
            again.append(await _begin_of(cut.pair, attempts, known) - since)
            cables[cut.pc].plug()
            await _until(
                lambda: len(gate.helpers()) == len(cables) and not any(each.problem for each in gate.helpers())
            )
        played = [(each.pair_id, each.number) for each in database.read_now(list_games, limit=10_000)]
    assert len(played) == len(set(played)), "a game was recorded twice"
    for name, seconds in (("the games of the PC were ended", ended), ("the pair was played again", again)):
        print(f"{name} after {statistics.median(seconds):.1f} s (median), {max(seconds):.1f} s (longest of {times})")


def _runs_for(attempt: Attempt, seconds: float) -> bool:
    return attempt.pc is not None and attempt.end == math.inf and trio.current_time() - attempt.begin > seconds


async def _end_of(attempt: Attempt) -> float:
    await _until(lambda: attempt.end < math.inf)
    return attempt.end


async def _begin_of(pair: int, attempts: Sequence[Attempt], known: int) -> float:
    """Return when a pair is played again, in an attempt after those that are known."""
    await _until(lambda: any(each.pair == pair for each in attempts[known:]))
    return next(each.begin for each in attempts[known:] if each.pair == pair)


async def _until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(300):
        while not condition():  # noqa: ASYNC110 - nobody says so
            await trio.sleep(0.01)


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pcs", type=int, nargs="*", default=[1, 8, 20, 40])
    parser.add_argument("--rate", type=float, default=20.0, help="plies of a pair in a second")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--plugs", type=int, default=10, help="how often a plug is pulled")
    parser.add_argument("--be-pcs", type=int, metavar="PORT", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.be_pcs is not None:
        trio.run(be_pcs, arguments.be_pcs, sys.stdin.read().split())
        return
    if arguments.pcs:
        trio.run(measure_gate, arguments.pcs, arguments.rate, arguments.seconds)
    if arguments.plugs:
        trio.run(measure_plug, arguments.plugs)


if __name__ == "__main__":
    main()
