"""Lender and borrower over real sockets, with programs that are one line of Python."""

from __future__ import annotations

import json
import shlex
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio

from spielleiter.match.programs.program import PLACES as PLACES_OF_COMMANDS
from spielleiter.match.programs.program import Command
from spielleiter.match.programs.remote import PLACE_FORMS, LendingError, RefusedError, borrow, lend
from tests.patience import PATIENCE

PLACES = {"host": "127.0.0.1", "port": "13050", "reservation": "abc-1", "seed": "7", "game": "swc_2021_blokus"}


def python(code: str, *arguments: str) -> Command:
    return Command.parse(shlex.join([sys.executable, "-c", code, *(arguments or ("{reservation}",))]))


@asynccontextmanager
async def lender(command: Command) -> AsyncIterator[int]:
    async with trio.open_nursery() as nursery:
        yield await nursery.start(lend, command, "127.0.0.1", 0)
        nursery.cancel_scope.cancel()


async def have(lender_port: int, /, **changes: str) -> tuple[int, dict[str, bytes]]:
    written: defaultdict[str, bytes] = defaultdict(bytes)

    def write(name: str, data: bytes) -> None:
        written[name] += data

    code = await borrow("127.0.0.1", lender_port, {**PLACES, **changes}, write)
    return code, dict(written)


async def answer_to(port: int, request: bytes) -> bytes:
    """All bytes of the lender's answer to these bytes."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(request)
        await stream.send_eof()
        return b"".join([bytes(chunk) async for chunk in stream])


# -- what comes back --------------------------------------------------------------------------------------------

ECHO = "import sys; print(*sys.argv[1:]); print('oh', file=sys.stderr); sys.exit(3)"


@pytest.mark.slow
async def test_output_and_exit_code_come_back() -> None:
    async with lender(python(ECHO, "{host}", "{port}", "{reservation}", "{seed}")) as port:
        code, written = await have(port, reservation="r-2")
    assert code == 3
    assert written == {"stdout": b"127.0.0.1 13050 r-2 7\n", "stderr": b"oh\n"}


@pytest.mark.slow
async def test_a_signal_comes_back() -> None:
    async with lender(python("import os; os.kill(os.getpid(), 9)")) as port:
        assert await have(port) == (-signal.SIGKILL, {})


@pytest.mark.slow
async def test_much_output_comes_back_whole() -> None:
    async with lender(python("print('x' * 1_000_000)")) as port:
        code, written = await have(port)
    assert (code, len(written["stdout"])) == (0, 1_000_001)


@pytest.mark.slow
async def test_everybody_gets_a_process_of_his_own() -> None:
    codes: list[int] = []

    async def borrow_one(port: int, seed: int) -> None:
        codes.append((await have(port, seed=str(seed)))[0])

    async def borrow_all(port: int) -> None:
        async with trio.open_nursery() as nursery:
            for seed in range(4):
                nursery.start_soon(borrow_one, port, seed)

    async with lender(python("import sys; sys.exit(int(sys.argv[1]))", "{seed}", "{reservation}")) as lender_port:
        await borrow_all(lender_port)
    assert sorted(codes) == [0, 1, 2, 3]


# -- who is gone ------------------------------------------------------------------------------------------------

TALK_TO = "import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"


@asynccontextmanager
async def witness() -> AsyncIterator[tuple[int, trio.MemoryReceiveChannel[str]]]:
    """A port to connect to, and what happened there: ``here`` and ``gone``."""
    told, heard = trio.open_memory_channel[str](10)

    async def see(stream: trio.SocketStream) -> None:
        told.send_nowait("here")
        async for _ in stream:
            pass
        told.send_nowait("gone")

    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, see, 0, host="127.0.0.1"))
        yield listener.socket.getsockname()[1], heard
        nursery.cancel_scope.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["borrower", "lender"])
async def test_the_process_goes_with_either_end(whose: str) -> None:
    lending, borrowing, complaints = trio.CancelScope(), trio.CancelScope(), list[str]()

    async def run_lender(*, task_status: trio.TaskStatus[int]) -> None:
        with lending:
            await lend(python(TALK_TO, "{port}", "{reservation}"), "127.0.0.1", 0, task_status=task_status)

    async def run_borrower(port: int, witness_port: int) -> None:
        with borrowing:
            try:
                await have(port, port=str(witness_port))
            except LendingError as error:
                complaints.append(str(error))

    with trio.fail_after(PATIENCE):
        async with witness() as (witness_port, heard), trio.open_nursery() as nursery:
            port: int = await nursery.start(run_lender)
            nursery.start_soon(run_borrower, port, witness_port)
            assert await heard.receive() == "here"
            (borrowing if whose == "borrower" else lending).cancel()
            assert await heard.receive() == "gone"
            lending.cancel()
    assert complaints == ([] if whose == "borrower" else [f"the lender at 127.0.0.1:{port} has broken off"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there are keepers on Linux only")
@pytest.mark.parametrize("how", ["", ", env={}, start_new_session=True"])
async def test_children_are_named_and_ended(how: str) -> None:
    child = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {TALK_TO!r}, sys.argv[1]]{how})"
    async with witness() as (witness_port, heard), lender(python(child, "{port}", "{reservation}")) as port:
        code, written = await have(port, port=str(witness_port))
        with trio.fail_after(PATIENCE):
            assert [await heard.receive(), await heard.receive()] == ["here", "gone"]
    assert code == 0
    assert written["stderr"].startswith(b"spielleiter lend: outlived the program: python")


# -- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("host", "-oProxyCommand=x"), ("host", "a b"), ("host", ""), ("port", "1;2"), ("port", "123456"),
        ("reservation", "-x"), ("reservation", "a\nb"), ("reservation", "$(x)"), ("seed", "-1"), ("seed", "x"),
        ("game", "--json"), ("game", "a b"),
    ],
)  # fmt: skip
def test_values_that_could_be_more_than_values_are_refused(name: str, text: str) -> None:
    assert not PLACE_FORMS[name].fullmatch(text)


def test_every_place_of_a_command_can_be_filled() -> None:
    assert set(PLACE_FORMS) == set(PLACES_OF_COMMANDS) == set(PLACES)


@pytest.mark.parametrize(
    "request_",
    [
        b"\n",
        b"GET / HTTP/1.1\r\n",
        b"[]\n",
        b'"host"\n',
        b"{}\n",
        json.dumps({**PLACES, "command": "x"}).encode() + b"\n",
        json.dumps({**PLACES, "reservation": "--help"}).encode() + b"\n",
        json.dumps({**PLACES, "port": 13050}).encode() + b"\n",
        b"x" * 5000,
        b"x" * 1_000_000,
        b"\xff\n",
    ],
)
async def test_other_requests_start_nothing(request_: bytes) -> None:
    async with lender(python("raise SystemExit")) as port:
        answer = json.loads(await answer_to(port, request_))
    assert set(answer) == {"refused"}


async def test_who_says_nothing_hears_nothing() -> None:
    async with lender(python("raise SystemExit")) as port:
        assert await answer_to(port, b"") == b""
        assert await answer_to(port, b"half a line") == b""


async def test_a_program_that_cannot_be_started_is_refused() -> None:
    async with lender(Command("nothing", ("/nowhere/nothing",))) as port:
        with pytest.raises(RefusedError, match="nothing: No such file"):
            await have(port)
        with pytest.raises(RefusedError, match="expected one line of JSON"):
            await have(port, reservation="-x")


async def test_a_lender_that_is_not_there_is_named() -> None:
    async with lender(python("raise SystemExit")) as port:
        pass
    with pytest.raises(LendingError, match=f"there is no lender at 127.0.0.1:{port}"):
        await have(port)


@pytest.mark.slow
async def test_a_lender_is_waited_for() -> None:
    async with lender(python("raise SystemExit")) as port:
        pass
    codes: list[int] = []

    async def wait() -> None:
        codes.append(await borrow("127.0.0.1", port, PLACES, lambda _name, _data: None, 10))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked(0.05)
        async with trio.open_nursery() as lending:
            await lending.start(lend, python("raise SystemExit(5)"), "127.0.0.1", port)
            while not codes:
                await trio.testing.wait_all_tasks_blocked(0.01)
            lending.cancel_scope.cancel()
    assert codes == [5]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "has broken off"),
        (b'{"stdout": "eA=="}\n', "has broken off"),
        (b"<protocol>\n", "no lender"),
        (b'{"exit": "0"}\n', "no lender"),
        (b'{"exit": 0, "more": 1}\n', "no lender"),
        (b'{"stdout": 1}\n', "no lender"),
        (b'{"stderr": "?"}\n', "no lender"),
        (b'{"hello": 1}\n', "no lender"),
        (b"[1]\n", "no lender"),
        (b"x" * (1024 * 1024 + 1), "no lender"),
    ],
)
async def test_an_answer_that_is_none_is_no_exit_code(answer: bytes, why: str) -> None:
    async def pretend(stream: trio.SocketStream) -> None:
        request = b""
        while not request.endswith(b"\n"):  # with unread input, the end of this side would overtake the answer
            request += await stream.receive_some(4096)
        await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, pretend, 0, host="127.0.0.1"))
        with pytest.raises(LendingError, match=why):
            await have(listener.socket.getsockname()[1])
        nursery.cancel_scope.cancel()
