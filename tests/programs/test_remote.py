"""Remote programs over real sockets; the programs are one line of Python."""

from __future__ import annotations

import base64
import json
import os
import shlex
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio

from spielleiter.programs import remote
from spielleiter.programs.command import PLACEHOLDERS, Command
from spielleiter.programs.remote import (
    PLACEHOLDER_PATTERNS,
    RemoteProgramError,
    RemoteStartError,
    run_remote_program,
    serve_remote_program,
)
from tests.timeouts import HANG_TIMEOUT

VALUES = {"host": "127.0.0.1", "port": "13050", "reservation": "abc-1", "seed": "7", "game": "swc_2021_blokus"}


def python(code: str, *arguments: str) -> Command:
    return Command.parse(shlex.join([sys.executable, "-c", code, *(arguments or ("{reservation}",))]))


@asynccontextmanager
async def program_server(command: Command, **options: Any) -> AsyncIterator[int]:
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve_remote_program, command, "127.0.0.1", 0, **options))
        nursery.cancel_scope.cancel()


async def run_program(server_port: int, /, **changes: str) -> tuple[int, dict[str, bytes]]:
    written: defaultdict[str, bytes] = defaultdict(bytes)

    def write(name: str, data: bytes) -> None:
        written[name] += data

    code = await run_remote_program("127.0.0.1", server_port, {**VALUES, **changes}, write)
    return code, dict(written)


async def answer_to(port: int, request: bytes) -> bytes:
    """Return all bytes of the server's answer to these bytes."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(request)
        await stream.send_eof()
        return b"".join([bytes(chunk) async for chunk in stream])


# -- output and exit code ---------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_output_and_exit_code_are_returned_to_each_client() -> None:
    code = "import sys; print(*sys.argv[1:]); print('x' * 1_000_000, file=sys.stderr); sys.exit(int(sys.argv[4]))"
    seen: list[tuple[int, bytes]] = []

    async def run_one(port: int, seed: int) -> None:
        code, written = await run_program(port, seed=str(seed))
        assert len(written["stderr"].rstrip()) == 1_000_000
        seen.append((code, written["stdout"].strip()))

    command = python(code, "{host}", "{port}", "{reservation}", "{seed}")
    async with program_server(command) as port, trio.open_nursery() as nursery:
        for seed in range(3):
            nursery.start_soon(run_one, port, seed)
    assert sorted(seen) == [(seed, f"127.0.0.1 13050 abc-1 {seed}".encode()) for seed in range(3)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has nothing like it")
async def test_a_signal_is_returned() -> None:
    async with program_server(python("import os; os.kill(os.getpid(), 9)")) as port:
        assert await run_program(port) == (-9, {})


# -- the end of a connection ------------------------------------------------------------------------------------

CONNECT_TO = "import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"


@asynccontextmanager
async def connection_observer() -> AsyncIterator[tuple[int, trio.MemoryReceiveChannel[str]]]:
    """A port to connect to, and what happens there: ``connected`` and ``closed``."""
    sent, received = trio.open_memory_channel[str](10)

    async def observe(stream: trio.SocketStream) -> None:
        sent.send_nowait("connected")
        async for _ in stream:
            pass
        sent.send_nowait("closed")

    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, observe, 0, host="127.0.0.1"))
        yield listener.socket.getsockname()[1], received
        nursery.cancel_scope.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("closing", ["client", "server"])
async def test_the_process_ends_with_either_end_of_the_connection(closing: str) -> None:
    serving, calling, problems = trio.CancelScope(), trio.CancelScope(), list[str]()

    async def run_server(*, task_status: trio.TaskStatus[int]) -> None:
        with serving:
            await serve_remote_program(
                python(CONNECT_TO, "{port}", "{reservation}"), "127.0.0.1", 0, task_status=task_status
            )

    async def run_client(port: int, observer_port: int) -> None:
        with calling:
            try:
                await run_program(port, port=str(observer_port))
            except RemoteProgramError as error:
                problems.append(str(error))

    with trio.fail_after(HANG_TIMEOUT):
        async with connection_observer() as (observer_port, received), trio.open_nursery() as nursery:
            port: int = await nursery.start(run_server)
            nursery.start_soon(run_client, port, observer_port)
            assert await received.receive() == "connected"
            (calling if closing == "client" else serving).cancel()
            assert await received.receive() == "closed"
            serving.cancel()
    assert problems == ([] if closing == "client" else [f"the lender at 127.0.0.1:{port} has closed the connection"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
async def test_children_are_named_and_ended() -> None:
    words, options = f"[sys.executable, '-c', {CONNECT_TO!r}, sys.argv[1]]", "env={}, start_new_session=True"
    child = f"import subprocess, sys; subprocess.Popen({words}, {options})"
    async with (
        connection_observer() as (observer_port, received),
        program_server(python(child, "{port}", "{reservation}")) as port,
    ):
        code, written = await run_program(port, port=str(observer_port))
        with trio.fail_after(HANG_TIMEOUT):
            assert [await received.receive(), await received.receive()] == ["connected", "closed"]
    assert code == 0
    assert written["stderr"].startswith(b"spielleiter lend: outlived the program: python")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")
async def test_a_program_that_cannot_be_killed_is_reported_to_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    else:
        from spielleiter.programs.macos import MacPlatform
        from tests.programs.test_macos import Unkillable

        monkeypatch.setattr(remote, "PLATFORM", MacPlatform(Unkillable))
    send_warning, warnings = trio.open_memory_channel[str](1)
    async with trio.open_nursery() as nursery:
        # print may write the end of the line separately, after the pipe has been closed
        code = "import os, time; os.write(1, str(os.getpid()).encode()); time.sleep(500)"
        serve = partial(serve_remote_program, python(code), "127.0.0.1", 0, warn=send_warning.send_nowait)
        port: int = await nursery.start(lambda task_status: serve(task_status=task_status))
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(json.dumps(VALUES).encode() + b"\n")
            answer = json.loads(await stream.receive_some(4096))
            pid = int(base64.b64decode(answer["stdout"]))
            name = Path(psutil.Process(pid).cmdline()[0]).name  # on macOS, not always that of sys.executable
        with trio.fail_after(HANG_TIMEOUT):
            warning = await warnings.receive()
        nursery.cancel_scope.cancel()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)  # noqa: ASYNC222 - it was killed
    assert f"cannot be ended, not even by SIGKILL: {name} (" in warning


# -- what a stranger can do -------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_the_number_of_programs_at_a_time_is_limited() -> None:
    """Also if many clients ask at once; and a program that has ended makes room for another one."""
    started, refused = 0, list[str]()
    send, happened = trio.open_memory_channel[None](100)

    async def ask(port: int) -> None:
        try:
            await run_remote_program("127.0.0.1", port, VALUES, note)
        except RemoteStartError as error:
            refused.append(str(error))
            send.send_nowait(None)

    def note(_name: str, _data: bytes) -> None:
        nonlocal started
        started += 1
        send.send_nowait(None)

    code = "import time; print('started', flush=True); time.sleep(500)"
    with trio.fail_after(HANG_TIMEOUT):
        async with program_server(python(code), max_programs=2) as port:
            async with trio.open_nursery() as nursery:
                for _ in range(60):
                    nursery.start_soon(ask, port)
                for _ in range(60):
                    await happened.receive()
                nursery.cancel_scope.cancel()
            assert (started, len(refused)) == (2, 58)
            assert set(refused) == {"refused: the program runs 2 times already; allow more there with --max-programs"}
            while started < 3:  # until those programs have ended
                with trio.move_on_after(0.5):
                    await ask(port)


async def test_the_number_of_connections_is_limited() -> None:
    async with program_server(python("raise SystemExit"), max_programs=1) as port, AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(await trio.open_tcp_stream("127.0.0.1", port)) for _ in range(65)]
        with trio.fail_after(HANG_TIMEOUT):
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                assert await stream.receive_some(10) == b""
            await streams[0].send_all(b"{}\n")
            assert b"refused" in await streams[0].receive_some(1000)


@pytest.mark.slow
async def test_a_program_is_sent_to_no_other_host_than_the_client() -> None:
    async with program_server(python("import sys; print(sys.argv[1])", "{host}", "{reservation}")) as port:
        for host in ("192.0.2.1", "127.0.0.2", "::", "no-such-host.invalid", "x" * 250, "0.0.0.0"):
            with pytest.raises(RemoteStartError, match=f"may not be sent to {host}; allow it there with --server-host"):
                await run_program(port, host=host)
        for host in ("127.0.0.1", "localhost", "::ffff:127.0.0.1"):
            assert await run_program(port, host=host) == (0, {"stdout": b"127.0.0.1\n"})


@pytest.mark.slow
async def test_the_operator_can_name_the_hosts_that_a_program_is_sent_to() -> None:
    command = python("import sys; print(sys.argv[1])", "{host}", "{reservation}")
    async with program_server(command, server_hosts=["Server.example"]) as port:
        assert await run_program(port, host="server.example") == (0, {"stdout": b"server.example\n"})
        with pytest.raises(RemoteStartError, match=r"may not be sent to 127\.0\.0\.1"):
            await run_program(port)


# -- invalid requests and answers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("host", "-oProxyCommand=x"), ("host", "a b"), ("port", "1;2"), ("port", "123456"), ("reservation", "-x"),
        ("reservation", "a\nb"), ("reservation", "$(x)"), ("seed", "-1"), ("game", "--json"), ("game", ""),
    ],
)  # fmt: skip
def test_values_that_could_be_options_or_several_words_are_refused(name: str, text: str) -> None:
    assert not PLACEHOLDER_PATTERNS[name].fullmatch(text)
    assert set(PLACEHOLDER_PATTERNS) == set(PLACEHOLDERS) == set(VALUES)


async def test_invalid_requests_start_nothing() -> None:
    requests = [
        b"\n",
        b"GET / HTTP/1.1\r\n",
        b"[]\n",
        json.dumps({**VALUES, "command": "x"}).encode() + b"\n",
        json.dumps({**VALUES, "reservation": "--help"}).encode() + b"\n",
        json.dumps({**VALUES, "port": 13050}).encode() + b"\n",
        b"[" * 4000 + b"\n",
        b"x" * 1_000_000,
        b"\xff\n",
    ]
    async with program_server(Command("nothing", ("/nowhere/nothing",))) as port:
        for request in requests:
            assert set(json.loads(await answer_to(port, request))) == {"refused"}
        assert await answer_to(port, b"") == b""
        assert await answer_to(port, b"half a line") == b""
        with pytest.raises(RemoteStartError, match="expected one line of JSON"):
            await run_program(port, reservation="-x")
        with pytest.raises(RemoteStartError, match="nothing: No such file"):
            await run_program(port)


@pytest.mark.slow
async def test_connecting_is_retried_until_the_server_is_there() -> None:
    async with program_server(python("raise SystemExit")) as port:
        pass
    with pytest.raises(RemoteProgramError, match=f"there is no lender at 127.0.0.1:{port}"):
        await run_program(port)
    codes: list[int] = []

    async def wait() -> None:
        codes.append(await run_remote_program("127.0.0.1", port, VALUES, lambda _name, _data: None, 10))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked(0.05)
        async with trio.open_nursery() as serving:
            await serving.start(serve_remote_program, python("raise SystemExit(5)"), "127.0.0.1", port)
            while not codes:
                await trio.testing.wait_all_tasks_blocked(0.01)
            serving.cancel_scope.cancel()
    assert codes == [5]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "has closed the connection"),
        (b'{"stdout": "eA=="}\n', "has closed the connection"),
        (b"<protocol>\n", "not a lender"),
        (b'{"exit": "0"}\n', "not a lender"),
        (b'{"stdout": 1}\n', "not a lender"),
        (b'{"stderr": "?"}\n', "not a lender"),
        (b"[1]\n", "not a lender"),
        (b"[" * 100_000 + b"\n", "not a lender"),
        (b"x" * (1024 * 1024 + 1), "not a lender"),
    ],
)
async def test_an_invalid_answer_is_an_error(answer: bytes, problem: str) -> None:
    async def pretend(stream: trio.SocketStream) -> None:
        request = b""
        while not request.endswith(b"\n"):  # closing with unread input would reset the connection
            request += await stream.receive_some(4096)
        await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, pretend, 0, host="127.0.0.1"))
        with pytest.raises(RemoteProgramError, match=problem):
            await run_program(listener.socket.getsockname()[1])
        nursery.cancel_scope.cancel()
