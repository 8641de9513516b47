"""PCs that go away, or do not answer for a moment, in each phase of a pair: no game is lost, and none is doubled."""

from __future__ import annotations

import math
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio

from spielleiter.league.frames import FrameStream
from spielleiter.league.gate import SILENCE_TIMEOUT
from spielleiter.league.gate_client import PREPARE_TIMEOUT, Lease, PairLostError
from spielleiter.league.gate_messages import (
    MAX_RUN_MESSAGE,
    SEAT_VARIABLE,
    BeginRun,
    Connected,
    Exited,
    FromRun,
    LeasePrepared,
    Ping,
    Pong,
    PrepareLease,
    StartRun,
    TakeSeat,
    Welcome,
    decode_from_run,
)
from tests.league.remote_league import (
    LOOPBACK,
    RemoteLeague,
    Stranger,
    joined_stranger,
    open_remote_league,
    play_pair,
    stranger_at,
)
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow  # real processes


async def lost_before_start(league: RemoteLeague, going: Stranger) -> str:
    """Lease the first PC, which is `going` away as soon as it is told of that; return why the pair is lost."""

    async def go() -> None:
        assert isinstance(await going.receive(answers=True), PrepareLease)
        await trio.aclose_forcefully(going.stream)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(go)
        with pytest.raises(PairLostError) as caught:
            async with league.gate.lease(1, [league.program("bot"), None]):
                pass
    return str(caught.value)


async def test_a_pc_that_goes_away_while_it_fetches_does_not_keep_the_pair(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (going, _):
        with trio.fail_after(PREPARE_TIMEOUT / 2):
            assert "lost" in await lost_before_start(league, going)


async def test_a_pc_whose_place_another_one_takes_does_not_keep_the_pair(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (former, secret):

        async def replace() -> None:
            assert isinstance(await former.receive(answers=True), PrepareLease)
            async with stranger_at(league) as second:
                await second.join(secret)
                assert isinstance(await second.receive(), Welcome)
                with trio.fail_after(PREPARE_TIMEOUT / 2):
                    await is_lost.wait()

        is_lost = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(replace)
            with pytest.raises(PairLostError, match="another PC"):
                async with league.gate.lease(1, [league.program("bot"), None]):
                    pass
            is_lost.set()


@pytest.mark.parametrize("delay", [0.0, 2.1])
async def test_a_game_counts_only_if_the_pc_was_never_silent(tmp_path: Path, delay: float) -> None:
    async with (
        open_remote_league(tmp_path, max_stall=2.0) as league,
        joined_stranger(league) as (pc, secret),
        stranger_at(league) as run,
        trio.open_nursery() as nursery,
    ):

        async def answer_late(number: int) -> None:
            await trio.sleep(delay)
            await pc.frames.send(Pong(number))

        async def help_league() -> None:
            while (message := await pc.frames.receive()) is not None:
                match message:
                    case Ping(number):
                        nursery.start_soon(answer_late, number)
                    case PrepareLease(key):
                        await pc.frames.send(LeasePrepared(key))
                    case StartRun(number):
                        await run.send(BeginRun(secret, number))
                        await run.send(Connected(0))
                        await run.send(Exited(1))

        nursery.start_soon(help_league)
        reason = ""
        try:
            async with league.gate.lease(1, [league.program("bot"), None]) as lease:
                await play_pair(lease, tmp_path, games=1)
        except PairLostError as error:
            reason = str(error)
        assert ("interrupted" in reason) == bool(delay)
        nursery.cancel_scope.cancel()


async def test_a_game_of_a_silent_pc_is_given_up_before_the_pc_is(tmp_path: Path) -> None:
    async with (
        open_remote_league(tmp_path, max_stall=2.0) as league,
        joined_stranger(league) as (pc, secret),
        stranger_at(league) as run,
        trio.open_nursery() as nursery,
    ):
        silent_since = math.inf

        async def help_league() -> None:
            nonlocal silent_since
            while (message := await pc.receive(answers=True)) is not None:
                match message:
                    case PrepareLease(key):
                        await pc.send(LeasePrepared(key))
                    case StartRun(number):
                        await run.send(BeginRun(secret, number))
                        silent_since = trio.current_time()
                        return

        nursery.start_soon(help_league)
        with pytest.raises(PairLostError, match="interrupted"):
            async with league.gate.lease(1, [league.program("bot"), None]) as lease:
                await play_pair(lease, tmp_path, games=1)
        assert trio.current_time() - silent_since < SILENCE_TIMEOUT
        assert league.gate.helpers()


async def test_all_programs_of_a_large_pc_may_connect_at_once(tmp_path: Path) -> None:
    async with (
        open_remote_league(tmp_path) as league,
        joined_stranger(league, places=8) as (pc, secret),
        AsyncExitStack() as stack,
        trio.open_nursery() as nursery,
    ):

        async def begin(number: int, has_connected: trio.Event) -> None:
            async with stranger_at(league) as run:
                await is_known.wait()
                await run.send(BeginRun(secret, number))
                await run.send(Connected(0))
                await has_connected.wait()

        async def help_league() -> None:
            while (message := await pc.frames.receive()) is not None:
                match message:
                    case Ping(number):
                        await pc.frames.send(Pong(number))
                    case PrepareLease(key):
                        await pc.frames.send(LeasePrepared(key))
                    case StartRun(number):
                        nursery.start_soon(begin, number, is_over)

        is_known, is_over = trio.Event(), trio.Event()
        nursery.start_soon(help_league)
        bot = league.program("bot")
        leases = [await stack.enter_async_context(league.gate.lease(1, [bot, bot])) for _ in range(8)]
        seats = [seat for lease in leases for seat in await take_seats(lease)]
        is_known.set()
        with trio.fail_after(HANG_TIMEOUT):
            for seat in seats:
                assert await seat.receive() == Connected(0)
        for seat in seats:
            await seat.stream.aclose()
        is_over.set()
        nursery.cancel_scope.cancel()


async def take_seats(lease: Lease) -> list[FrameStream[FromRun]]:
    """Do what the processes do that stand for the programs of a lease."""
    seats = []
    for entrant in lease.entrants:
        assert entrant is not None
        port, _, ticket = entrant.environment[SEAT_VARIABLE].partition(":")
        seat = FrameStream(await trio.open_tcp_stream(LOOPBACK, int(port)), decode_from_run, MAX_RUN_MESSAGE)
        await seat.send(TakeSeat(ticket, "r", "1", "game"))
        seats.append(seat)
    return seats
