"""Connections from the server's own process: what happens to one that comes when the server stops."""

from __future__ import annotations

import gc

import trio

from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.web.loopback import Loopback
from tests.server.harness import open_harness


async def test_a_connection_that_comes_too_late_is_cancelled_and_leaves_nothing_open(autojump_clock: object) -> None:
    async with open_harness() as harness:
        loopback = Loopback(harness.server)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(loopback.run)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        with trio.move_on_after(1) as scope:
            async with loopback.connect(EDITIONS["blokus-2027"].dialect, "late"):
                raise AssertionError("connected to a server that has stopped")
        assert scope.cancelled_caught
    gc.collect()  # a socket that is still open is a warning, which is an error
