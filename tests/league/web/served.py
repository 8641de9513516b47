"""The pages of a league on a real socket, in a thread of their own, for a real browser."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import trio

from spielleiter.server.net.sockets import listen
from tests.league.leagues import League
from tests.league.web.sites import Pages, pages_of
from tests.timeouts import HANG_TIMEOUT


@dataclass
class ServedLeague:
    """The pages of `league` at `url`."""

    league: League
    url: str
    pages: Pages
    _token: trio.lowlevel.TrioToken

    def call(self, function: Callable[[], Any]) -> Any:
        """Call a function where the pages run."""
        return trio.from_thread.run_sync(function, trio_token=self._token)

    def wake(self) -> None:
        """Tell the pages that something has changed."""
        self.call(self.pages.director.wake)


@contextmanager
def served_league(league: League, **options: Any) -> Iterator[ServedLeague]:
    """Serve the pages of a league until the context is left."""
    started: queue.Queue[ServedLeague] = queue.Queue()
    stop = trio.Event()

    async def serve() -> None:
        sockets = listen("127.0.0.1", 0, option="--port")
        pages = pages_of(league, **options)
        url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pages.site.serve, sockets)
            started.put(ServedLeague(league, url, pages, trio.lowlevel.current_trio_token()))
            await stop.wait()
            nursery.cancel_scope.cancel()
        for sock in sockets:
            sock.close()

    thread = threading.Thread(target=trio.run, args=(serve,))
    thread.start()
    served = started.get(timeout=HANG_TIMEOUT)
    try:
        yield served
    finally:
        served.call(stop.set)
        thread.join(HANG_TIMEOUT)
    assert served.pages.bugs == []
