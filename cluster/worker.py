"""The functions that Dask runs on the workers of a cluster, and the site process that they start there.

A match opens a site on each worker (`open_site`), sends it what it needs (`receive`, `prepare`), lets it play pairs
(`play_pair`), and closes it (`close_sites`).

Invariants: a site lives as long as the lease of the match, a Dask task whose result the client holds. When the client
is gone, the scheduler forgets that task, and the site is closed. When it forgets the task of a pair, the pair is cut
off. Answers are bytes, and are decoded where the match was started.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from spielleiter.cluster.dask_engine import CORES
from spielleiter.cluster.shipment import incoming
from spielleiter.cluster.site_messages import (
    HEAD,
    CancelPair,
    FromSite,
    PairPlayed,
    PairRefused,
    PlayPair,
    Prepare,
    Ready,
    ToSite,
    decode_from_site,
    decode_to_site,
    encode,
    framed,
)
from spielleiter.common.own_python import own_python
from spielleiter.common.process import hide_this_process
from spielleiter.programs.temporary_folders import remove_folder
from spielleiter.programs.this_platform import PLATFORM

if TYPE_CHECKING:
    from distributed import Worker

SCRATCH_PREFIX: Final = "spielleiter-site-"
CLOSE_TIMEOUT: Final = 15.0
"""Seconds for the process to end its programs before it is killed."""
POLL_INTERVAL: Final = 0.2
"""Seconds between two checks whether the lease and the pairs still exist."""

_READY, _PREPARED = "ready", "prepared"
_ENDED: Final = frozenset({"cancelled", "released", "forgotten"})
"""The states of a Dask task that is not wanted any more."""


class SiteGoneError(Exception):
    """The site process has ended."""


class SiteProcess:
    """A running site process, and the answers that it owes."""

    def __init__(self) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX))
        self._answers: dict[str, Future[FromSite]] = {}
        """By key of a pair; those to having been started and to `prepare` have keys of their own."""
        self._lock = threading.Lock()
        self._is_gone = False
        self._tag = ""
        self.ready = self._expect(_READY)
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [*own_python(), "-P", "-m", "spielleiter.cluster.site_process", str(self.scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl+C in the terminal is meant for the match, which ends its sites itself
        )
        self._reader = threading.Thread(target=self._read, name="spielleiter-site", daemon=True)
        self._reader.start()

    def prepare(self, message: Prepare) -> Future[FromSite]:
        """Let the process get ready for a match. Its programs are tagged, so that `close` finds them."""
        self._tag = f"{message.setup.get('run_id', '')}-{secrets.token_hex(4)}"
        answer = self._expect(_PREPARED)
        self._send(msgspec.structs.replace(message, setup={**message.setup, "run_id": self._tag}))
        return answer

    def play(self, message: PlayPair) -> Future[FromSite]:
        """Let the process play a pair."""
        answer = self._expect(message.key)
        self._send(message)
        return answer

    def cancel(self, key: str) -> None:
        """Cut off a pair; its answer then is a refusal."""
        self._send(CancelPair(key))

    @property
    def is_running(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, and everything that it has started. Blocks for up to CLOSE_TIMEOUT."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(CLOSE_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(CLOSE_TIMEOUT)
        if self._tag:  # a process that was killed has left its programs running
            PLATFORM.kill(PLATFORM.find_tagged(f"{self._tag}/"))
        remove_folder(self.scratch)

    def _expect(self, key: str) -> Future[FromSite]:
        """What will be the answer with this key; SiteGoneError if the process ends before."""
        answer: Future[FromSite] = Future()
        answer.set_running_or_notify_cancel()  # so that it can be set for somebody who waits no more
        with self._lock:
            self._answers[key] = answer
            if self._is_gone:
                self._give_up()
        return answer

    def _give_up(self) -> None:
        while self._answers:
            self._answers.popitem()[1].set_exception(SiteGoneError("the process that plays the games has ended"))

    def _send(self, message: ToSite) -> None:
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):  # `_read` notices that the process is gone
            self._process.stdin.write(framed(message))
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with self._process.stdout as answers:
                while len(head := answers.read(HEAD.size)) == HEAD.size:
                    (size,) = HEAD.unpack(head)
                    if len(data := answers.read(size)) < size:
                        break
                    message = decode_from_site(data)
                    if isinstance(message, PairPlayed | PairRefused):
                        key = message.key
                    else:
                        key = _READY if isinstance(message, Ready) else _PREPARED
                    with self._lock:
                        answer = self._answers.pop(key)
                    answer.set_result(message)
        finally:
            with self._lock:
                self._is_gone = True
                self._give_up()


class _Lease:
    """A site, which lives as long as the Dask task `key`, and the tasks of its pairs."""

    def __init__(self, name: str, key: str, worker: Worker) -> None:
        self.site = SiteProcess()
        self.key = key
        self.pairs: set[str] = set()
        self.closed = threading.Event()
        self._name = name
        self._worker = worker
        _LEASES[name] = self
        threading.Thread(target=self._watch, name="spielleiter-lease", daemon=True).start()

    def _watch(self) -> None:
        """Cut off pairs that are not wanted any more, and close the site at the end of its lease."""
        while self.site.is_running and self._is_wanted(self.key):
            for key in tuple(self.pairs):
                if not self._is_wanted(key):
                    self.site.cancel(key)
                    self.pairs.discard(key)
            self.closed.wait(POLL_INTERVAL)
        try:
            self.site.close()
        finally:
            _LEASES.pop(self._name, None)
            self.closed.set()

    def _is_wanted(self, key: str) -> bool:
        """Whether the scheduler still wants the result of a task."""
        task = self._worker.state.tasks.get(key)
        return bool(key) and task is not None and task.state not in _ENDED


_LEASES: Final[dict[str, _Lease]] = {}
"""The sites of this worker process, by name."""


def _lease_of(name: str) -> _Lease:
    lease = _LEASES.get(name)
    if lease is None:
        raise SiteGoneError("this worker does not know the match")
    return lease


async def open_site(name: str, key: str) -> tuple[str, float, bytes]:
    """Open the site `name`, which lives as long as the Dask task `key`, which this is.

    Returns the worker's name, the number of cores that its pairs may take together, and the site's message `Ready`.
    Raises OSError and SiteGoneError.
    """
    from distributed import get_worker

    hide_this_process()  # it has all variables, so that programs can be given some of them
    worker = get_worker()
    if CORES not in worker.state.total_resources:
        await worker.set_resources(**{CORES: worker.state.nthreads})
    lease = await asyncio.to_thread(_Lease, name, key, worker)
    ready = await asyncio.wrap_future(lease.site.ready)
    slots = min(worker.state.nthreads, worker.state.total_resources[CORES])
    return str(worker.name), slots, encode(ready)


async def receive(name: str, number: int, chunk: bytes) -> None:
    """Append `chunk` to a shipped file in the scratch folder of the site. Raises OSError, SiteGoneError."""
    path = incoming(_lease_of(name).site.scratch, number)

    def append() -> None:
        with path.open("ab") as out:
            out.write(chunk)

    await asyncio.to_thread(append)


async def prepare(name: str, message: bytes) -> bytes:
    """Prepare the site for the match, and return its answer. Raises SiteGoneError."""
    request = decode_to_site(message)
    assert isinstance(request, Prepare)
    answer = await asyncio.wrap_future(_lease_of(name).site.prepare(request))
    return encode(answer)


async def play_pair(name: str, key: str, message: bytes) -> bytes:
    """Play a pair at the site `name` of this worker, and return its answer. `key` is that of this Dask task."""
    request = decode_to_site(message)
    assert isinstance(request, PlayPair)
    try:
        lease = _lease_of(name)
        lease.pairs.add(key)
        try:
            answer = await asyncio.wrap_future(lease.site.play(request))
        except asyncio.CancelledError:
            lease.site.cancel(key)
            raise
        finally:
            lease.pairs.discard(key)
    except SiteGoneError as error:
        answer = PairRefused(request.key, str(error), is_site_gone=True)
    return encode(answer)


async def close_sites(prefix: str) -> None:
    """Close the sites whose names begin with `prefix`, and return once nothing of them is left."""
    for name, lease in tuple(_LEASES.items()):
        if name.startswith(prefix):
            lease.key = ""
            await asyncio.to_thread(lease.closed.wait)
