"""Accepting a connection: errors that are ignored, retried or raised."""

from __future__ import annotations

import errno
import socket

import pytest
import trio
import trio.testing

from spielleiter.server.net.accepting import ACCEPT_PAUSE, accept
from tests.timeouts import HANG_TIMEOUT


class Listening:
    """A listening socket that raises errors first."""

    def __init__(self, *errors: int) -> None:
        self._errors = list(errors)
        self.peer = socket.socketpair()

    def accept(self) -> tuple[socket.socket, str]:
        if self._errors:
            raise OSError(self._errors.pop(0), "no")
        return self.peer[0], "somewhere"

    def close(self) -> None:
        for sock in self.peer:
            sock.close()


async def test_the_failure_of_one_connection_does_not_affect_the_next(autojump_clock: object) -> None:
    listening, reported = Listening(errno.ECONNABORTED, errno.EPERM), list[OSError]()
    start = trio.current_time()
    accepted = await accept(listening, reported.append)  # type: ignore[arg-type]
    assert (accepted.socket, accepted.address, accepted.has_waited) == (listening.peer[0], "somewhere", False)
    assert (trio.current_time() - start, reported) == (0, [])
    listening.close()


async def test_a_lack_of_descriptors_is_retried_and_reported_once(autojump_clock: object) -> None:
    listening, reported = Listening(errno.EMFILE, errno.EMFILE, errno.ENOBUFS), list[OSError]()
    start = trio.current_time()
    await accept(listening, reported.append)  # type: ignore[arg-type]
    assert trio.current_time() - start == pytest.approx(3 * ACCEPT_PAUSE)
    assert [error.errno for error in reported] == [errno.EMFILE]
    listening.close()


async def test_any_other_error_is_raised() -> None:
    listening = Listening(errno.EBADF)
    with pytest.raises(OSError, match="no"):
        await accept(listening)  # type: ignore[arg-type]
    listening.close()


async def test_accept_waits_for_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as caller:
        listening.setblocking(False)
        with trio.fail_after(HANG_TIMEOUT):
            async with trio.open_nursery() as nursery:

                async def take() -> None:
                    sock, address, has_waited = await accept(listening)
                    sock.close()
                    assert address == caller.getsockname()
                    assert has_waited

                nursery.start_soon(take)
                await trio.testing.wait_all_tasks_blocked()
                caller.connect(listening.getsockname())
