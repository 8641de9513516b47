"""The server, with an event loop that is stalled on purpose now and then: `python -m bench.stalling CONFIG_JSON`.

Law: everything else is the real server. When it is told to stop it says on standard output how many tasks, descriptors
and bytes were left while no game was running.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import trio

from server.config import Config
from server.listener import Listening, serve


def resident_bytes() -> int:
    """Memory this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def left_over() -> dict[str, int]:
    gc.collect()
    return {
        "tasks": trio.lowlevel.current_statistics().tasks_living,
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "bytes": resident_bytes(),
    }


async def stall(longest: float, interval: float, seed: int) -> None:
    """Block the whole loop, for up to `longest` seconds, about every `interval` seconds."""
    rng = random.Random(seed)
    while True:
        await trio.sleep(rng.uniform(0.5, 1.5) * interval)
        time.sleep(rng.uniform(0.1, 1.0) * longest)  # noqa: ASYNC251 - that is what is tried


async def main(told: dict[str, Any]) -> None:
    settings: dict[str, Any] = {
        key: Path(value) if key.endswith(("_file", "_directory")) else value for key, value in told.items()
    }
    longest, interval = settings.pop("stall"), settings.pop("stall_interval")
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        listening: Listening = await nursery.start(_serve, Config(**settings), stop)
        print(json.dumps({"port": listening.addresses[0][1], **left_over()}), flush=True)
        with trio.CancelScope() as stalling:
            nursery.start_soon(_watch, stop, stalling)
            if longest:
                await stall(longest, interval, 1)
            await trio.sleep_forever()


async def _serve(
    config: Config, stop: trio.Event, task_status: trio.TaskStatus[Listening] = trio.TASK_STATUS_IGNORED
) -> None:
    await serve(config, stop=stop, task_status=task_status)


async def _watch(stop: trio.Event, stalling: trio.CancelScope) -> None:
    """SIGUSR1: say what is there; SIGTERM: stop."""
    with trio.open_signal_receiver(signal.SIGUSR1, signal.SIGTERM) as signals:
        async for number in signals:
            print(json.dumps(left_over()), flush=True)
            if number == signal.SIGTERM:
                stalling.cancel()
                stop.set()
                return


if __name__ == "__main__":
    trio.run(main, json.loads(sys.argv[1]))
