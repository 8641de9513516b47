"""Writes traces into a folder, in a thread.

Invariants: nobody waits for the disk, or for the making of text: what is to be recorded is put into a queue that is
bounded in bytes, and what does not fit is counted and reported in the file. All traces together are bounded as well. An
error of the disk ends one trace and is reported once for it. Files are new: no trace overwrites another one. Nobody but
their owner can read them, since those of administrators have the reservation codes of games that have not begun.
"""

from __future__ import annotations

import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

from spielleiter.common.errors import os_error_text
from spielleiter.common.files import portable_name, write_all
from spielleiter.server.errors import StartError
from spielleiter.wire.conversation import MIB, TRACE_LIMITS, Conversation, TraceLimits

BATCH_DELAY: Final = 0.05  # seconds that an item waits for others: every wake-up of the thread delays the event loop
REST_FACTOR: Final = 6.0
"""The time that the thread rests after its work, as a multiple of the processor time of that work.

While it works, the event loop has to wait for the interpreter after each system call. If more is to be recorded than
the rest of the time is enough for, the queue fills up, and packets are missing in the files.
"""
LONGEST_REST: Final = 10.0
"""How many times as long it rests while the queue is full.

More is sent then than text can be made of, so that packets are missing however fast the thread works.
"""
BATCH_BYTES: Final = 32 * 1024  # bytes that become text before it is written; the text may be much longer
CLOSE_TIMEOUT: Final = 10.0  # seconds that `close` waits for what has not been written
SWITCH_INTERVAL: Final = 0.0002
"""Seconds after which the thread lets the event loop run. By default it is 5 ms, which would delay each packet."""
OWNER_ONLY: Final = stat.S_IRUSR | stat.S_IWUSR
"""The permissions of files; Windows has its own rights, which a file takes from its folder."""
OWNER_ONLY_FOLDER: Final = stat.S_IRWXU
_ITEM_BYTES: Final = 100  # the memory of an item beside its bytes, roughly


class Trace:
    """The recording side of one connection's trace. Its methods never wait and never raise."""

    def __init__(self, recorder: Recorder, path: Path, conversation: Conversation, lines: list[str]) -> None:
        self.path = path
        self._recorder = recorder
        self.conversation = conversation
        """What makes lines of it. Only the thread uses it."""
        self._missing: dict[str, tuple[float, int]] = {}
        """For each direction: since when bytes did not fit into the queue, and how many."""
        self.lines = lines
        """The lines that have not been written. Only the thread uses them."""
        self.has_file = False
        self.changed_at = 0.0
        """When the conversation has got something, on the clock of the thread."""
        self.has_failed = False

    def add(self, direction: str, instant: float, data: bytes) -> None:
        """Record bytes that were sent in `direction` at `instant`; ``b""``: the end of the stream."""
        if self.has_failed:
            return
        if not data:
            self._put("add", (direction, instant, data), is_urgent=True)
        elif not self._put("add", (direction, instant, data), len(data)):
            since, size = self._missing.get(direction, (instant, 0))
            self._missing[direction] = since, size + len(data)

    def event(self, direction: str, instant: float, text: str) -> None:
        """Record something that happened beside the packets."""
        self._put("event", (direction, instant, text))

    def note(self, instant: float, text: str, packet: int | None = None, position: int | None = None) -> None:
        """Record what the server says about a packet; see `Conversation.note`."""
        self._put("note", (instant, text, packet, position))

    def reset(self, direction: str, instant: float) -> None:
        """Record that the sender of `direction` has broken the connection."""
        self._put("reset", (direction, instant), is_urgent=True)

    def close(self, instant: float, why: str = "") -> None:
        """Record the end of the connection."""
        self._put("close", (instant, why), is_urgent=True)

    def _put(self, method: str, arguments: tuple[Any, ...], size: int = 0, *, is_urgent: bool = False) -> bool:
        """Queue an item, but nothing before what is missing is noted; return whether it fitted.

        An urgent item, the end of a direction or of the connection, must not be missing.
        """
        put = self._recorder.put
        while self._missing:
            direction, (since, missing) = next(iter(self._missing.items()))
            if not put(self, "missing", (direction, since, missing), _ITEM_BYTES, is_urgent=is_urgent):
                return False
            del self._missing[direction]
        return put(self, method, arguments, size + _ITEM_BYTES, is_urgent=is_urgent)


class Recorder:
    """The traces in one folder.

    `on_failure` is called in the thread, with a path and the reason, when a trace ends because it cannot be written.
    `now` is the wall clock. Raises StartError if nothing can be written in `folder`, with `option` in its text.
    """

    def __init__(
        self,
        folder: Path,
        on_failure: Callable[[str, str], None],
        limits: TraceLimits = TRACE_LIMITS,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        option: str = "trace",
    ) -> None:
        self._folder = folder
        self._on_failure = on_failure
        self._limits = limits
        self._now = now
        import tempfile  # only here, since it takes a while

        try:
            folder.mkdir(OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):  # a new one, whatever somebody has planted in the folder
                pass
        except OSError as error:
            why = error.strerror or str(error)
            raise StartError(f"{option} {folder}: traces cannot be written there ({why})") from None
        self._stamp = now().strftime("%Y-%m-%dT%H-%M-%S")
        self._base: tuple[datetime, float] | None = None
        """An instant on the wall clock, and the same on the clock of the connections."""
        self._files = 0
        self._written = 0
        self._is_full = False
        self._items: deque[tuple[Trace, str, tuple[Any, ...], int]] = deque()
        self._queued = 0
        self._lock = threading.Lock()
        self._has_items = threading.Event()
        self._is_closing = threading.Event()
        self._holding: dict[Trace, None] = {}
        self._previous_interval = sys.getswitchinterval()
        sys.setswitchinterval(min(self._previous_interval, SWITCH_INTERVAL))
        self._thread = threading.Thread(target=self._run, name="trace", daemon=True)
        self._thread.start()

    def open(self, name: str, title: Iterable[str], instant: float, *, holds: bool = False) -> Trace | None:
        """Begin the trace of a connection; None if there are too many. `title` are lines about it."""
        if self._files >= self._limits.files:
            self._fill(f"there are {self._files} already")
        if self._is_full:
            return None
        self._files += 1
        path = self._folder / portable_name(f"{self._stamp}_{name}.txt")
        lines: list[str] = []
        if self._base is None:
            self._base = self._now(), instant
        # from one reading of the wall clock, so that the lines of several files can be ordered
        began = (self._base[0] + timedelta(seconds=instant - self._base[1])).isoformat(timespec="microseconds")
        conversation = Conversation(name, (*title, f"began {began}"), instant, self._limits, lines.append, holds=holds)
        return Trace(self, path, conversation, lines)

    def close(self) -> None:
        """Write everything, and stop the thread; it gets CLOSE_TIMEOUT seconds for that."""
        if not self._is_closing.is_set():
            self._is_closing.set()
            self._has_items.set()
            self._thread.join(CLOSE_TIMEOUT)
            sys.setswitchinterval(self._previous_interval)

    def put(self, trace: Trace, method: str, arguments: tuple[Any, ...], size: int, *, is_urgent: bool = False) -> bool:
        """Queue an item; return whether it fitted. Urgent ones, of which there are few, are never refused."""
        if self._queued + size > self._limits.queue_bytes and not is_urgent:  # only the thread makes it smaller
            return False
        with self._lock:
            self._queued += size
            self._items.append((trace, method, arguments, size))
        if not self._has_items.is_set():
            self._has_items.set()
        return True

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            has_ended = self._is_closing.is_set()
            if not has_ended and not self._items:
                self._has_items.wait(self._limits.hold_time if self._holding else None)
                self._is_closing.wait(BATCH_DELAY)
            self._has_items.clear()
            started = time.thread_time()
            changed = self._apply_items()
            is_last = has_ended and not self._items
            self._holding |= {trace: None for trace in changed if trace.conversation.holds_packets}
            instant = time.monotonic()
            for trace in list(self._holding):
                is_due = is_last or instant - trace.changed_at >= self._limits.hold_time
                if is_due:
                    trace.conversation.release()
                    changed[trace] = None
                if is_due or not trace.conversation.holds_packets:
                    del self._holding[trace]
            for trace in changed:
                self._write(trace)
            if has_ended and not self._items:
                return
            if self._items:
                share = self._queued / self._limits.queue_bytes
                self._is_closing.wait(rest_after(time.thread_time() - started, share))

    def _apply_items(self) -> dict[Trace, None]:
        """Make text of some of what is queued; return the traces that have changed."""
        changed: dict[Trace, None] = {}
        taken = 0
        while self._items and taken < BATCH_BYTES:
            trace, method, arguments, size = self._items.popleft()
            taken += size
            if not trace.has_failed:
                try:
                    getattr(trace.conversation, method)(*arguments)
                except Exception as error:  # a bug must not end the other traces
                    self._fail(trace, f"{type(error).__name__}: {error}")
                trace.changed_at = time.monotonic()
                changed[trace] = None
            with self._lock:
                self._queued -= size
        return changed

    def _write(self, trace: Trace) -> None:
        if not trace.lines or trace.has_failed:
            return
        if self._is_full:
            trace.conversation.cut("all traces together have reached their limit")
        content = "".join(f"{line}\n" for line in trace.lines).encode("utf-8", "backslashreplace")
        trace.lines.clear()
        try:
            if not trace.has_file:
                for number in count(2):
                    try:
                        trace.path.touch(OWNER_ONLY, exist_ok=False)
                    except FileExistsError:  # then the next free number is added
                        stem = trace.path.stem
                        trace.path = trace.path.with_stem(f"{stem.rpartition('~')[0] or stem}~{number}")
                    else:
                        break
                trace.has_file = True
            with trace.path.open("ab", buffering=0) as file:
                write_all(file.write, content)
        except OSError as error:
            self._fail(trace, os_error_text(error))
            return
        self._written += len(content)
        if self._written > self._limits.total_bytes and not self._is_full:
            self._fill(f"they have reached {self._limits.total_bytes // MIB} MiB")

    def _fail(self, trace: Trace, why: str) -> None:
        trace.has_failed = True
        self._on_failure(str(trace.path), why)

    def _fill(self, why: str) -> None:
        """Record no further connection; report that once."""
        if not self._is_full:
            self._is_full = True
            self._on_failure(str(self._folder), f"no more traces are written: {why}")


def rest_after(work: float, share: float) -> float:
    """Return the seconds for which the thread rests after `work` seconds, if a `share` of the queue is in use."""
    return work * REST_FACTOR * (1 + (LONGEST_REST - 1) * min(1.0, share))
