"""Which worker computes which move: one queue for all built-in players of a match.

Invariants: a worker has one request at a time. No request waits while a worker is idle. Waiting requests are served in
the order of their arrival; one whose worker has ended is served before them, since its clock is running. A player has
at most one request, so no player is served twice while another one waits. An idle worker that has computed the player's
last move is preferred, because it still has the player's generator.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar

_R = TypeVar("_R")
_R_contra = TypeVar("_R_contra", contravariant=True)


class Thinker(Protocol[_R_contra]):
    """A worker, as the queue sees it."""

    def begin(self, request: _R_contra, /) -> None:
        """Begin to compute the move of `request`."""
        ...


class ThinkingQueue(Generic[_R]):
    """The idle workers and the requests that wait for one."""

    def __init__(self) -> None:
        self._idle: list[Thinker[_R]] = []
        self._waiting: deque[_R] = deque()

    @property
    def has_idle(self) -> bool:
        """Whether a worker has nothing to do."""
        return bool(self._idle)

    @property
    def has_waiting(self) -> bool:
        """Whether a request waits for a worker."""
        return bool(self._waiting)

    def add(self, request: _R, preferred: Thinker[_R] | None = None) -> None:
        """Give `request` to an idle worker, if possible to `preferred`, or let it wait for one."""
        if not self._idle:
            self._waiting.append(request)
            return
        worker = preferred if preferred is not None and preferred in self._idle else self._idle[0]
        self._idle.remove(worker)
        worker.begin(request)

    def add_first(self, request: _R) -> None:
        """Give `request` to an idle worker, or let it wait for one before all others."""
        if self._idle:
            self._idle.pop(0).begin(request)
        else:
            self._waiting.appendleft(request)

    def discard(self, request: _R) -> None:
        """Forget `request` if it still waits."""
        if request in self._waiting:
            self._waiting.remove(request)

    def set_idle(self, worker: Thinker[_R]) -> None:
        """Note that `worker` is ready for the next request, and give it the one that has waited longest."""
        if self._waiting:
            worker.begin(self._waiting.popleft())
        else:
            self._idle.append(worker)

    def remove(self, worker: Thinker[_R]) -> None:
        """Give no more requests to `worker`."""
        if worker in self._idle:
            self._idle.remove(worker)

    def take_waiting(self) -> list[_R]:
        """Return the requests that wait, and forget them."""
        waiting, self._waiting = list(self._waiting), deque()
        return waiting
