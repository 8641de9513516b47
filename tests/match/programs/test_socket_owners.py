from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from spielleiter.match.programs.socket_owners import has_socket, inode_of_peer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose socket it is")


def test_a_connection_of_this_process_is_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as far:
        near, _ = listening.accept()
        with near:
            inode = inode_of_peer(near)
            assert inode == os.fstat(far.fileno()).st_ino
            assert has_socket([os.getpid()], inode)
            assert not has_socket([1 << 30], inode)


def test_a_connection_of_another_process_is_that_ones() -> None:
    script = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        command = [sys.executable, "-c", script, str(listening.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            near, _ = listening.accept()
            with near:
                inode = inode_of_peer(near)
                assert inode is not None
                assert has_socket([process.pid], inode)
                assert not has_socket([os.getpid()], inode)


def test_where_there_is_no_such_connection_nobody_has_it() -> None:
    with socket.socket() as unconnected:
        assert inode_of_peer(unconnected) is None
    one, other = socket.socketpair()
    with one, other:
        assert inode_of_peer(one) is None
