"""The server stops in an orderly way: games get a grace period, all streams are ended, and nothing is left open."""

from __future__ import annotations

import io
import json
import re
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.server import events
from spielleiter.server.app import CLOSING_TIME, RESULTS_NAME, STOPPING, serve
from spielleiter.server.config import Config
from tests.server.harness import END, GAME_TYPE, PASSWORD, PATIENT, START, ServerHarness, open_harness, sample
from tests.server.serving import open_descriptors, read_all, replays_in, serving

# -- over real sockets ------------------------------------------------------------------------------------------------


async def test_a_stopping_server_ends_all_streams_and_accepts_nobody() -> None:
    async with serving() as harness:
        silent, joined = await harness.connect(), await harness.connect()
        async with silent, joined:
            await joined.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            received = bytes(await joined.receive_some())
            harness.stop.set()
            assert await read_all(silent) == b"<protocol/>"
            received += await read_all(joined)
    room_id = re.findall(rb'roomId="([^"]*)"', received)[0].decode()
    beginning, end = START + sample("joined", room_id), sample("left", room_id) + END
    assert received.startswith(beginning)
    assert received.endswith(end)
    assert b'<data class="result">' in received[len(beginning) : -len(end)]
    assert harness.logged("server_stopped")[0]["games_cut"] == 0
    with pytest.raises(OSError, match="all attempts to connect"):
        await harness.connect()


async def test_a_server_that_is_cancelled_closes_everything(tmp_path: Path) -> None:
    before = open_descriptors()
    async with trio.open_nursery() as nursery:
        config = Config(port=0, replay_directory=tmp_path)
        listening = await nursery.start(partial(serve, config, log_file=io.StringIO()))
        streams = [await trio.open_tcp_stream(*listening.addresses[0]) for _ in range(3)]
        for stream in streams:
            await stream.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            await stream.receive_some()
        nursery.cancel_scope.cancel()
    for stream in streams:
        await stream.aclose()
    assert len(replays_in(tmp_path)) == 1  # the game of the first two clients; the third one waits
    assert open_descriptors() == before
    game_result = json.loads((tmp_path / RESULTS_NAME).read_text(encoding="utf-8"))
    assert (game_result["causes"], game_result["winners"]) == (["REGULAR", "REGULAR"], []), (
        "none of the players has left"
    )


# -- the grace period, in virtual time --------------------------------------------------------------------------------


async def stop(harness: ServerHarness) -> trio.Event:
    """Stop a harness's server, which has no sockets; return the event that is set when it has stopped."""
    stopping, is_over = trio.Event(), trio.Event()
    stopping.set()

    async def run() -> None:
        await harness.server.run([], stopping)
        is_over.set()

    harness.nursery.start_soon(run)
    await wait_all_tasks_blocked()
    return is_over


async def test_a_running_game_has_a_grace_period(autojump_clock: object) -> None:
    async with open_harness(grace=5.0) as harness:
        game = await harness.game()
        await stop(harness)
        await trio.sleep(1.0)
        await game.play(1)
        assert b'turn="1"' in await game.two.receive()
        await trio.sleep(3.9)
        assert (await game.one.receive()).endswith(b"</room>")
        assert harness.happened(events.ServerStopped) == []
        await trio.sleep(0.2)
        for caller in game.callers:
            assert (await caller.receive()).endswith(sample("left", game.id) + END)
        assert harness.happened(events.ServerStopped)[0].games_cut == 1


async def test_the_server_stops_as_soon_as_the_last_game_is_over(autojump_clock: object) -> None:
    async with open_harness(grace=1000.0) as harness:
        games = [await harness.game() for _ in range(2)]
        before = trio.current_time()
        is_over = await stop(harness)
        await games[0].one.close()
        still_running = not is_over.is_set()
        await games[1].one.close()
        assert (still_running, is_over.is_set()) == (True, True)
        assert trio.current_time() == before
        assert harness.happened(events.ServerStopped)[0].games_cut == 0
        assert games[0].admin.is_ended


async def test_waiting_rooms_do_not_delay_the_end(autojump_clock: object) -> None:
    async with open_harness(grace=1000.0) as harness:
        admin = await harness.admin()
        room_id, codes = await harness.prepare(admin)
        one = await harness.take_seat(codes[0])
        await one.receive()
        is_over = await stop(harness)
        assert is_over.is_set()
        result, left, end = (await one.receive()).partition(sample("left", room_id))
        assert b'<data class="result">' in result
        assert left + end == sample("left", room_id) + END


async def test_peers_that_never_read_delay_the_end_by_one_second_at_most(autojump_clock: object) -> None:
    """This holds for any amount of queued data. A peer that reads receives everything within that second."""
    async with open_harness(grace=3.0, outbox_timeout=60.0, **PATIENT) as harness:
        game = await harness.game()
        deaf, wire = await harness.call_throttled(
            0, f'<authenticate password="{PASSWORD}"/><observe roomId="{game.id}"/>'
        )
        await game.play(1)
        await stop(harness)
        await trio.sleep(3.0 + CLOSING_TIME - 0.1)
        assert not wire.has_closed()
        for caller in game.callers:
            assert (await caller.receive()).endswith(sample("left", game.id) + END)
        await trio.sleep(0.2)
        assert wire.has_closed()
        (closed,) = harness.happened(events.ConnectionClosed, deaf.label)
        assert closed.reason == STOPPING


async def test_a_peer_that_connects_at_the_last_moment_gets_the_end_too(autojump_clock: object) -> None:
    async with open_harness(grace=0.0) as harness:
        await stop(harness)
        late = await harness.call()
        assert (await late.receive(), late.is_ended) == (b"<protocol/>", True)
        await late.close()
        assert harness.happened(events.ConnectionClosed, late.label)[0].reason == "the server stops"
