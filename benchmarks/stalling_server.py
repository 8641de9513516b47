"""A server whose event loop is blocked on purpose from time to time.

Run this file with the argument CONFIG_JSON. The JSON object has the fields of the server's `Config`
and the keys ``stall`` and ``stall_interval``, both in seconds.

Apart from the stalls, this is the real server. When it listens, and whenever it receives SIGUSR1, it writes
its resource usage to standard output: tasks, file descriptors, bytes of memory, and the pauses of the garbage
collector. SIGTERM stops it.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import trio

from spielleiter.server.app import Listening, serve
from spielleiter.server.config import Config
from spielleiter.server.garbage import PauseMeter


def resident_bytes() -> int:
    """Return the resident memory of this process, in bytes."""
    if sys.platform != "linux":
        raise NotImplementedError
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def resource_usage() -> dict[str, Any]:
    """Collect garbage, and return the current resource usage.

    ``pauses`` does not include this collection, and ``collected`` is the number of objects that it found.
    """
    meter = next(each for each in gc.callbacks if isinstance(each, PauseMeter))
    pauses = {"count": meter.count, "total": meter.total, "longest": meter.longest}
    return {
        "tasks": trio.lowlevel.current_statistics().tasks_living,
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "bytes": resident_bytes(),
        "collected": gc.collect(),
        "pauses": pauses,
    }


async def stall(longest: float, interval: float, seed: int) -> None:
    """Block the whole event loop for up to `longest` seconds, about every `interval` seconds."""
    rng = random.Random(seed)
    while True:
        await trio.sleep(rng.uniform(0.5, 1.5) * interval)
        time.sleep(rng.uniform(0.1, 1.0) * longest)  # noqa: ASYNC251 - blocking is the purpose


async def main(options: dict[str, Any]) -> None:
    """Serve until SIGTERM. For `options` see the docstring of the module."""
    settings: dict[str, Any] = {
        key: Path(value) if key.endswith(("_file", "_directory")) else value for key, value in options.items()
    }
    longest, interval = settings.pop("stall"), settings.pop("stall_interval")
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        listening: Listening = await nursery.start(partial(serve, Config(**settings), stop=stop))
        with trio.CancelScope() as stalling:
            await nursery.start(_watch, stop, stalling)
            print(json.dumps({"port": listening.addresses[0][1], **resource_usage()}), flush=True)
            if longest:
                await stall(longest, interval, 1)
            await trio.sleep_forever()


async def _watch(
    stop: trio.Event, stalling: trio.CancelScope, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Write the resource usage on SIGUSR1, and stop on SIGTERM."""
    if sys.platform != "linux":
        raise NotImplementedError
    with trio.open_signal_receiver(signal.SIGUSR1, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            if number == signal.SIGTERM:
                stalling.cancel()
                stop.set()
                return
            print(json.dumps(resource_usage()), flush=True)


if __name__ == "__main__":
    trio.run(main, json.loads(sys.argv[1]))
