"""A site process, as seen by the Dask worker that started it.

Invariants: `close` returns when the process has ended and its scratch folder is removed, or cannot be. If the process
ends by itself, all its requests fail with `SiteGoneError`. All methods may be called from any thread.
"""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from spielleiter.cluster.messages import (
    HEAD,
    CancelPair,
    FromSite,
    PairAnswer,
    PairPlayed,
    PairRefused,
    PlayPair,
    Prepare,
    Ready,
    ToSite,
    decode_from_site,
    framed,
)
from spielleiter.common.own_python import own_python
from spielleiter.programs.platforms import PLATFORM
from spielleiter.programs.temporary_folders import remove_folder

SCRATCH_PREFIX: Final = "spielleiter-site-"
CLOSE_TIMEOUT: Final = 15.0
"""Seconds for the process to end its programs before it is killed."""

_COMMAND: Final = (*own_python(), "-P", "-m", "spielleiter.cluster.site_process")


class SiteGoneError(Exception):
    """The site process has ended."""


class Site:
    """A running site process. `ready` and `prepared` are its answers to having been started and to `prepare`."""

    def __init__(self) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX))
        self.ready: Future[FromSite] = _pending()
        self.prepared: Future[FromSite] = _pending()
        self._pairs: dict[str, Future[PairAnswer]] = {}
        self._lock = threading.Lock()
        self._is_gone = False
        self._tag = ""
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [*_COMMAND, str(self.scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl+C in the terminal is meant for the match, which ends its sites itself
        )
        self._reader = threading.Thread(target=self._read, name="spielleiter-site", daemon=True)
        self._reader.start()

    def prepare(self, message: Prepare) -> Future[FromSite]:
        """Let the process get ready for a match. Its programs are tagged, so that `close` finds them."""
        self._tag = f"{message.setup.get('run_id', '')}-{secrets.token_hex(4)}"
        self._send(msgspec.structs.replace(message, setup={**message.setup, "run_id": self._tag}))
        return self.prepared

    def play(self, message: PlayPair) -> Future[PairAnswer]:
        """Let the process play a pair."""
        answer: Future[PairAnswer] = _pending()
        with self._lock:
            if self._is_gone:
                answer.set_exception(_gone())
                return answer
            self._pairs[message.key] = answer
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

    def _send(self, message: ToSite) -> None:
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):  # `_read` notices that the process is gone
            self._process.stdin.write(framed(message))
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with self._process.stdout as answers:
                while (message := _receive(answers)) is not None:
                    self._handle(message)
        finally:
            with self._lock:
                self._is_gone = True
                waiting: list[Future[Any]] = [self.ready, self.prepared, *self._pairs.values()]
                self._pairs.clear()
            for each in waiting:
                if not each.done():
                    each.set_exception(_gone())

    def _handle(self, message: FromSite) -> None:
        match message:
            case Ready():
                self.ready.set_result(message)
            case PairPlayed(key) | PairRefused(key):
                with self._lock:
                    answer = self._pairs.pop(key)
                answer.set_result(message)
            case _:
                self.prepared.set_result(message)


def _pending() -> Future[Any]:
    """A future that cannot be cancelled, so that an answer to somebody who has gone can be set as well."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


def _gone() -> SiteGoneError:
    return SiteGoneError("the process that plays the games has ended")


def _receive(file: IO[bytes]) -> FromSite | None:
    """Read a message; None at the end of the file."""
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    (size,) = HEAD.unpack(head)
    data = file.read(size)
    return decode_from_site(data) if len(data) == size else None
