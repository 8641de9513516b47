"""The functions that Dask runs on the workers of a cluster, for the process that started the match.

A match opens a site on each worker (`open_site`), sends it what it needs (`receive`, `prepare`), lets it play pairs
(`play_pair`), and closes it (`close_sites`).

Invariants: a site lives as long as the lease of the match, a Dask task whose result the client holds. When the client
is gone, the scheduler forgets that task, and the site is closed. When it forgets the task of a pair, the pair is cut
off. Answers are bytes, and are decoded where the match was started.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spielleiter.cluster.messages import FromSite, PairRefused, PlayPair, Prepare, decode_to_site, encode
from spielleiter.cluster.site import Site, SiteGoneError
from spielleiter.common.process import hide_this_process

if TYPE_CHECKING:
    from distributed import Worker


CORES: Final = "cores"
"""The Dask resource that pairs take; a worker without it is given as many as it has threads."""
POLL_INTERVAL: Final = 0.2
"""Seconds between two checks whether the lease and the pairs still exist."""
_ENDED: Final = frozenset({"cancelled", "released", "forgotten"})
"""The states of a Dask task that is not wanted any more."""


@dataclass
class _Lease:
    """A site and the Dask tasks that it depends on."""

    site: Site
    key: str
    pairs: set[str] = field(default_factory=set)
    closed: threading.Event = field(default_factory=threading.Event)


_LEASES: Final[dict[str, _Lease]] = {}
"""The sites of this worker process, by name."""


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
    site = await asyncio.to_thread(Site)
    lease = _LEASES[name] = _Lease(site, key)
    threading.Thread(target=_watch, args=(worker, name, lease), name="spielleiter-lease", daemon=True).start()
    ready = await asyncio.wrap_future(site.ready)
    slots = min(worker.state.nthreads, worker.state.total_resources[CORES])
    return str(worker.name), slots, encode(ready)


async def receive(name: str, file: str, chunk: bytes) -> str:
    """Append `chunk` to a file in the scratch folder of the site; return its path. Raises OSError, SiteGoneError."""
    path = _lease_of(name).site.scratch / f"incoming-{file}"
    await asyncio.to_thread(_append, path, chunk)
    return str(path)


async def prepare(name: str, message: bytes) -> bytes:
    """Prepare the site for the match, and return its answer. Raises SiteGoneError."""
    request = decode_to_site(message)
    assert isinstance(request, Prepare)
    answer: FromSite = await asyncio.wrap_future(_lease_of(name).site.prepare(request))
    return encode(answer)


async def play_pair(name: str, key: str, message: bytes) -> bytes:
    """Play a pair at the site `name` of this worker, and return its answer. `key` is that of this Dask task."""
    request = decode_to_site(message)
    assert isinstance(request, PlayPair)
    try:
        lease = _lease_of(name)
        lease.pairs.add(key)
        try:
            answer: FromSite = await asyncio.wrap_future(lease.site.play(request))
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


def _lease_of(name: str) -> _Lease:
    lease = _LEASES.get(name)
    if lease is None:
        raise SiteGoneError("this worker does not know the match")
    return lease


def _append(path: Path, chunk: bytes) -> None:
    with path.open("ab") as file:
        file.write(chunk)


def _watch(worker: Worker, name: str, lease: _Lease) -> None:
    """Cut off pairs that are not wanted any more, and close the site at the end of its lease."""
    while lease.site.is_running and _is_wanted(worker, lease.key):
        for key in tuple(lease.pairs):
            if not _is_wanted(worker, key):
                lease.site.cancel(key)
                lease.pairs.discard(key)
        lease.closed.wait(POLL_INTERVAL)
    lease.site.close()
    _LEASES.pop(name, None)
    lease.closed.set()


def _is_wanted(worker: Worker, key: str) -> bool:
    """Whether the scheduler still wants the result of a task."""
    task = worker.state.tasks.get(key)
    return bool(key) and task is not None and task.state not in _ENDED
