"""Which process holds a connection."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from spielleiter.match.programs.socket_owners import has_socket, inode_of_peer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the owners of sockets")


def test_a_connection_of_this_process_is_attributed_to_it() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as connected,
    ):
        accepted, _ = listener.accept()
        with accepted:
            inode = inode_of_peer(accepted)
            assert inode == os.fstat(connected.fileno()).st_ino
            assert has_socket([os.getpid()], inode)
            assert not has_socket([1 << 30], inode)


def test_a_connection_of_another_process_is_attributed_to_that_process() -> None:
    script = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-I", "-S", "-c", script, str(listener.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            accepted, _ = listener.accept()
            with accepted:
                inode = inode_of_peer(accepted)
                assert inode is not None
                assert has_socket([process.pid], inode)
                assert not has_socket([os.getpid()], inode)


def test_other_sockets_are_attributed_to_nobody() -> None:
    with socket.socket() as unconnected:
        assert inode_of_peer(unconnected) is None
    one, other = socket.socketpair()
    with one, other:
        assert inode_of_peer(one) is None
