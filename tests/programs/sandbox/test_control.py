"""The connection to the process inside a sandbox, with the other end played by the test."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import json
import os
import socket
from pathlib import Path

import trio

from spielleiter.programs.sandbox.inside import connect, hand_out_descriptors
from spielleiter.programs.sandbox.run import NAME, Control, SandboxEndedError


async def connected(folder: Path) -> tuple[Control, socket.socket]:
    """Return both ends, with the descriptors handed out."""
    control = Control(folder)
    inside = connect(str(folder / NAME))
    hand_out_descriptors(inside, "127.0.0.1", 0)
    await control.receive_descriptors()
    return control, inside


async def test_descriptors_and_messages_arrive(tmp_path: Path) -> None:
    control, inside = await connected(tmp_path)
    assert not await trio.Path(tmp_path, NAME).exists()
    assert control.listener is not None
    with inside, socket.create_connection(control.listener.getsockname()):
        assert [os.pread(each, 3, 0) for each in control.counters][:1] == [b"Ip:"]
        data = b""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(control.send, {"arguments": ["ä" * 50_000]})
            while not data.endswith(b"\n"):
                await trio.lowlevel.wait_readable(inside)
                data += inside.recv(65536)
        assert json.loads(data) == {"arguments": ["ä" * 50_000]}
        inside.sendall(b'{"started": 1}\n{"exit"')
        assert await control.receive() == {"started": 1}
        inside.sendall(b": 0}\n")
        assert await control.receive() == {"exit": 0}
        control.close()
        assert inside.recv(1) == b""
    assert control.counters == []


async def test_a_long_path_is_no_problem(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 200)
    await trio.Path(folder).mkdir()
    control, inside = await connected(folder)
    inside.close()
    control.close()


async def test_a_process_without_a_network_of_its_own_sends_a_byte(tmp_path: Path) -> None:
    control = Control(tmp_path)
    with connect(str(tmp_path / NAME)) as inside:
        hand_out_descriptors(inside, "", 0)
        await control.receive_descriptors()
    assert (control.listener, control.counters) == (None, [])
    control.close()


@pytest.mark.parametrize("data", [b"", b"{", b"nonsense\n", b"[1]\n", b"\xff\n"])
async def test_nonsense_is_an_error(data: bytes, tmp_path: Path) -> None:
    control, inside = await connected(tmp_path)
    inside.sendall(data)
    inside.close()
    with pytest.raises(SandboxEndedError):
        await control.receive()
    control.close()


async def test_an_end_without_a_byte_is_an_error(tmp_path: Path) -> None:
    control = Control(tmp_path)
    connect(str(tmp_path / NAME)).close()
    with pytest.raises(SandboxEndedError):
        await control.receive_descriptors()
    control.close()


async def test_a_message_has_a_maximum_size(tmp_path: Path) -> None:
    control, inside = await connected(tmp_path)

    async def flood() -> None:
        inside.setblocking(False)
        while True:
            await trio.lowlevel.wait_writable(inside)
            inside.send(b"x" * 65536)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood)
        with pytest.raises(SandboxEndedError):
            await control.receive()
        nursery.cancel_scope.cancel()
    inside.close()
    control.close()


async def test_a_missing_folder_leaves_nothing_open(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        Control(tmp_path / "missing")
