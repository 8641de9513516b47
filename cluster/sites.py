"""The sites of a match: opening one on each worker that joins, and calling functions there from trio.

Invariants: Dask is called in threads only, and every wait for it can be cancelled. A worker that cannot play is left
out with a reason, and costs nothing else.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import trio

from spielleiter.cluster import worker
from spielleiter.cluster.engine import Engine
from spielleiter.cluster.messages import PROTOCOL, Item, Prepare, Ready, Unable, decode_from_site, encode
from spielleiter.cluster.shipment import Shipped
from spielleiter.common.errors import ClusterError
from spielleiter.match.plan import MatchSetup
from spielleiter.match.runner import Conditions

if TYPE_CHECKING:
    from distributed import Future

CHUNK: Final = 8 * 1024 * 1024
"""Bytes of a shipped file that are sent at once."""


class Call:
    """A Dask task and the event that is set when it has ended in any way."""

    def __init__(self) -> None:
        self.has_ended = trio.Event()
        self.future: Future[Any] | None = None
        self._token = trio.lowlevel.current_trio_token()

    def end(self) -> None:
        """Set the event; called in a thread of Dask."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self.has_ended.set)


class Sites:
    """The sites of one match; `name` is the beginning of their names."""

    def __init__(
        self, engine: Engine, name: str, setup: MatchSetup, shipment: Sequence[Shipped], conditions: Conditions
    ) -> None:
        self.name = name
        self.cores = conditions.cores_per_game or (2 if conditions.is_pinned else 1)
        """The number of cores that a pair takes."""
        self.by_address: dict[str, str] = {}
        """By address of a worker: the name of its site."""
        self._engine = engine
        self._setup = setup
        self._shipment = shipment
        self._conditions = conditions
        self._leases: dict[str, Call] = {}
        self._numbers = itertools.count()

    async def open(self, address: str, offset: int, on_ready: Callable[[str, Ready], object]) -> int:
        """Open the site of a worker, and return the number of pairs that it plays at a time.

        `offset` is the number of workers on the same host that come before it. `on_ready` is called with the name of
        the machine and its description. Raises ClusterError, and whatever a function raises on that machine.
        """
        name = f"{self.name}-{next(self._numbers)}"
        lease = self._leases[address] = await self.submit(worker.open_site, name, name, key=name, workers=[address])
        label, slots, data = await self.result(lease)
        ready = decode_from_site(data)
        if not isinstance(ready, Ready) or ready.protocol != PROTOCOL or ready.version != version("spielleiter"):
            raise ClusterError(f"it has another version of spielleiter, expected {version('spielleiter')} as here")
        on_ready(label, ready)
        pairs = int(slots // self.cores)
        if pairs < 1:
            raise ClusterError(f"it offers {slots:g} cores, and a game needs {self.cores}")
        items = [
            Item(await self._send(address, name, number, each.content), each.target, each.digest, each.is_folder)
            for number, each in enumerate(self._shipment)
        ]
        request = Prepare(
            self._setup.to_json(),
            pairs,
            self._conditions.cores_per_game,
            self._conditions.is_pinned,
            offset * int(slots),
            self._conditions.keep.value,
            self._conditions.is_restarting,
            tuple(items),
        )
        answer = decode_from_site(await self._call(address, worker.prepare, name, encode(request)))
        if isinstance(answer, Unable):
            raise ClusterError(answer.reason)
        self.by_address[address] = name
        return pairs

    def forget(self, address: str) -> None:
        """Forget the site of a worker that has left."""
        self.by_address.pop(address, None)
        if lease := self._leases.pop(address, None):
            self.release(lease)

    def is_lost(self, address: str) -> bool:
        """Whether the lease of a site has ended, since the connection to the scheduler was lost in between."""
        lease = self._leases.get(address)
        return lease is not None and lease.future is not None and lease.future.status in {"cancelled", "lost"}

    def close_all(self) -> None:
        """Close all sites that can be reached. Blocks."""
        for lease in self._leases.values():
            self.release(lease)
        with contextlib.suppress(Exception):  # the workers close them as well when the leases have ended
            self._engine.call(tuple(self._leases), worker.close_sites, self.name)

    async def _send(self, address: str, name: str, number: int, content: bytes) -> str:
        """Send a shipped file to a site, and return its path there."""
        path = ""
        for start in range(0, max(1, len(content)), CHUNK):
            path = await self._call(address, worker.receive, name, str(number), content[start : start + CHUNK])
        return path

    async def _call(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        call = self._engine.call
        [answer] = await trio.to_thread.run_sync(call, [address], function, *arguments, abandon_on_cancel=True)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def submit(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        key: str,
        workers: Collection[str],
        resources: dict[str, float] | None = None,
    ) -> Call:
        """Let Dask call a function on one of `workers`. Raises ClusterError and whatever Dask raises."""
        call = Call()

        def submit() -> None:
            call.future = self._engine.submit(
                function, *arguments, key=key, workers=workers, resources=resources, on_done=call.end
            )

        await trio.to_thread.run_sync(submit)
        return call

    async def result(self, call: Call) -> Any:
        """Wait for the result of a task. Raises what it has raised, or CancelledError if it was lost."""
        await call.has_ended.wait()
        assert call.future is not None
        return await trio.to_thread.run_sync(call.future.result, abandon_on_cancel=True)

    def release(self, call: Call) -> None:
        """Let the scheduler forget a task, whether it has ended or not."""
        if call.future is not None:
            with contextlib.suppress(Exception):  # without a connection it is forgotten anyway
                call.future.release()


def machine_name(label: str, host: str, taken: Collection[str]) -> str:
    """The name of a machine: that of its Dask worker, or its host's if the worker is only numbered or has none.

    Further workers on the same host are numbered.
    """
    if not (label.isdecimal() or "://" in label):
        return label
    if host not in taken:
        return host
    return next(name for number in itertools.count(2) if (name := f"{host}-{number}") not in taken)
