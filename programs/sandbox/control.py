"""The match's side of the process inside a sandbox (inside.py, which describes what is sent).

Invariants: one process connects, and once it has, the socket's path is gone. Descriptors that were received are closed
with the `Control`. Everything that a program could have changed is checked before it is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import trio

from spielleiter.programs.confinement import ConfinementError

NAME: Final = "socket"
_MAX_DESCRIPTORS: Final = 8
_READ_SIZE: Final = 65536
_MAX_MESSAGE: Final = 1024 * 1024


class Control:
    """A listening Unix socket in `folder`, and then the connection to the process inside. Raises OSError."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._listener: socket.socket | None = None
        self._connection: socket.socket | None = None
        self._buffer = b""
        self.listener: socket.socket | None = None
        """The socket that the server listens on, once `receive_descriptors` has returned."""
        self.counters: list[int] = []
        """The descriptors of the network counters."""
        if sys.platform != "linux":
            raise NotImplementedError
        try:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.setblocking(False)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:  # a path through /proc is short enough for a socket's address
                self._listener.bind(f"/proc/self/fd/{descriptor}/{NAME}")
            finally:
                os.close(descriptor)
            self._listener.listen(1)
        except BaseException:
            self.close()
            raise

    async def receive_descriptors(self) -> None:
        """Wait for the process inside, and take its descriptors. Raises ConfinementError and OSError."""
        if sys.platform != "linux":
            raise NotImplementedError
        assert self._listener is not None
        await trio.lowlevel.wait_readable(self._listener)
        self._connection, _ = self._listener.accept()
        self._connection.setblocking(False)
        self._path.unlink(missing_ok=True)
        self._listener.close()
        self._listener = None
        await trio.lowlevel.wait_readable(self._connection)
        data, descriptors, _, _ = socket.recv_fds(self._connection, 1, _MAX_DESCRIPTORS)
        if descriptors:
            self.listener, self.counters = socket.socket(fileno=descriptors[0]), descriptors[1:]
        if not data:
            raise ConfinementError

    async def send(self, options: Mapping[str, Any]) -> None:
        """Send how to start the program. Raises OSError."""
        assert self._connection is not None
        data = memoryview(json.dumps(options).encode() + b"\n")
        while data:
            await trio.lowlevel.wait_writable(self._connection)
            data = data[self._connection.send(data) :]

    async def receive(self) -> dict[str, Any]:
        """Return the next message. Raises ConfinementError."""
        assert self._connection is not None
        while b"\n" not in self._buffer:
            await trio.lowlevel.wait_readable(self._connection)
            try:
                data = self._connection.recv(_READ_SIZE)
            except OSError:
                data = b""
            if not data or len(self._buffer) > _MAX_MESSAGE:
                raise ConfinementError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise ConfinementError from None
        if not isinstance(message, dict):
            raise ConfinementError
        return message

    def disconnect(self) -> None:
        """Close the connection: everything inside the sandbox ends."""
        for sock in (self._listener, self._connection):
            if sock is not None:
                sock.close()
        self._listener = self._connection = None

    def close(self) -> None:
        """Close everything."""
        self.disconnect()
        if self.listener is not None:
            self.listener.close()
        for descriptor in self.counters:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self.counters = []
