"""A virtual clock for tests in which threads work, whose time no test depends on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import trio
from trio.testing import MockClock, wait_all_tasks_blocked


async def jump_when_idle() -> None:
    """Let the test's MockClock jump to the next deadline whenever all tasks wait, and none of them for a thread.

    Runs until cancelled. The automatic jump of the clock does not wait for threads.
    """
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, MockClock)
    while True:
        await wait_all_tasks_blocked()
        seconds = trio.lowlevel.current_statistics().seconds_to_next_deadline
        if any(map(_waits_for_thread, _all_tasks())) or seconds == math.inf:
            await trio.to_thread.run_sync(time.sleep, 0.001)
        else:
            clock.jump(max(seconds, 0.0))


def _all_tasks() -> Iterator[trio.lowlevel.Task]:
    tasks = [trio.lowlevel.current_root_task()]
    while tasks:
        if (task := tasks.pop()) is not None:
            yield task
            tasks += [child for nursery in task.child_nurseries for child in nursery.child_tasks]


def _waits_for_thread(task: trio.lowlevel.Task) -> bool:
    return any(frame.f_code.co_name == "to_thread_run_sync" for frame, _ in task.iter_await_frames())
