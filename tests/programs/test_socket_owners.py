"""Which process holds a connection."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux reports the owners of sockets", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spielleiter.programs.socket_owners import (
    MOST_AT_ONCE,
    Attribution,
    FarSocket,
    Look,
    attribute,
    far_socket,
    find_holders,
    has_socket,
    look,
)

MATCH_USER, BOT_USER = 1000, 1001
VISIBLE = Look(users=frozenset({MATCH_USER}))
HIDDEN = Look(has_hidden_files=True, users=frozenset({MATCH_USER}))
HOLDER = Look(has_socket=True, users=frozenset({MATCH_USER}))
SUDO = Look(has_hidden_files=True, users=frozenset({0, BOT_USER}))
IN_FLIGHT = Look(can_hide_sockets=True, users=frozenset({MATCH_USER}))
ENGINE = Look(uses_containers=True, users=frozenset({MATCH_USER}))


@pytest.mark.parametrize(
    ("socket_user", "own", "other", "expected"),
    [
        (MATCH_USER, HOLDER, VISIBLE, Attribution.OWN),
        (MATCH_USER, HOLDER, HIDDEN, Attribution.OWN),
        (MATCH_USER, VISIBLE, HOLDER, Attribution.OTHER),
        (MATCH_USER, HIDDEN, HOLDER, Attribution.OTHER),
        # not seen anywhere, although the program shows everything: not its own, whatever the other one shows
        (MATCH_USER, VISIBLE, VISIBLE, Attribution.NOT_OWN),
        (MATCH_USER, VISIBLE, HIDDEN, Attribution.NOT_OWN),
        (MATCH_USER, VISIBLE, IN_FLIGHT, Attribution.NOT_OWN),
        (MATCH_USER, Look(), VISIBLE, Attribution.NOT_OWN),
        # the program hides its files: its own only if it cannot be the other one's
        (MATCH_USER, HIDDEN, VISIBLE, Attribution.OWN_BY_EXCLUSION),
        (MATCH_USER, HIDDEN, HIDDEN, Attribution.UNDECIDED),
        (MATCH_USER, HIDDEN, IN_FLIGHT, Attribution.UNDECIDED),
        (None, HIDDEN, VISIBLE, Attribution.OWN_BY_EXCLUSION),
        (None, VISIBLE, VISIBLE, Attribution.NOT_OWN),
        # another user's socket, as with sudo -u
        (BOT_USER, SUDO, VISIBLE, Attribution.OWN_BY_EXCLUSION),
        (BOT_USER, SUDO, HIDDEN, Attribution.OWN_BY_EXCLUSION),
        (BOT_USER, SUDO, SUDO, Attribution.UNDECIDED),
        (BOT_USER, VISIBLE, SUDO, Attribution.NOT_OWN),
        (BOT_USER, HIDDEN, VISIBLE, Attribution.NOT_OWN),
        # root's socket is a container's if the program has started one
        (0, ENGINE, VISIBLE, Attribution.OWN_BY_EXCLUSION),
        (0, ENGINE, ENGINE, Attribution.UNDECIDED),
        (0, VISIBLE, VISIBLE, Attribution.NOT_OWN),
    ],
)
def test_a_connection_is_attributed(socket_user: int | None, own: Look, other: Look, expected: Attribution) -> None:
    assert attribute(socket_user, own, other, MATCH_USER) is expected


def test_a_connection_of_this_process_is_attributed_to_it() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        accepted, _ = listener.accept()
        with accepted:
            far = far_socket(accepted)
            assert far is not None
            assert far.user == os.getuid()
            assert has_socket([os.getpid()], far)
            assert not has_socket([1 << 30], far)
            assert f"({os.getpid()})" in find_holders([far])[far]
            seen = look(lambda: [os.getpid()], [far])[far]
            assert (seen.has_socket, seen.has_hidden_files) == (True, False)
            assert os.getuid() in seen.users


def test_a_connection_of_another_process_is_attributed_to_that_process() -> None:
    script = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-I", "-S", "-c", script, str(listener.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            accepted, _ = listener.accept()
            with accepted:
                far = far_socket(accepted)
                assert far is not None
                assert has_socket([process.pid], far)
                assert not has_socket([os.getpid()], far)


def test_an_open_file_whose_path_is_too_long_for_the_system_hides_nothing(tmp_path: Path) -> None:
    """Anybody on this machine may have one open; the system cannot tell its path."""
    script = (
        "import os, socket, sys\n"
        "for _ in range(20): os.mkdir(250 * 'x'); os.chdir(250 * 'x')\n"
        "here = os.open('.', os.O_RDONLY)\n"
        "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "sys.stdin.read()"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-I", "-S", "-c", script, str(listener.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=tmp_path) as process:
            accepted, _ = listener.accept()
            with accepted:
                far = far_socket(accepted)
                assert far is not None
                assert look(lambda: [process.pid], [far])[far] == Look(has_socket=True, users=frozenset({os.getuid()}))
                assert f"({process.pid})" in find_holders([far])[far]


@pytest.mark.parametrize("is_in_flight", [False, True])
def test_a_descriptor_on_its_way_through_a_unix_socket_is_noticed(is_in_flight: bool) -> None:
    near, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as connected,
        near,
        other,
    ):
        accepted, _ = listener.accept()
        with accepted:
            if is_in_flight:
                socket.send_fds(near, [b"x"], [connected.fileno()])
                connected.close()
            far = far_socket(accepted)
            assert far is not None
            seen = look(lambda: [os.getpid()], [far])[far]
            assert (seen.has_socket, seen.can_hide_sockets) == (not is_in_flight, is_in_flight)
            assert not (is_in_flight and find_holders([far]))


OWN_FILES = """
import ctypes, socket, sys, threading, time
address, libc = ("127.0.0.1", int(sys.argv[1])), ctypes.CDLL(None)

def connect():
    libc.unshare(0x400)  # CLONE_FILES
    global sock
    sock = socket.create_connection(address)
    time.sleep(500)

threading.Thread(target=connect).start()
if sys.argv[2] == "ended": libc.pthread_exit(None)
time.sleep(500)
"""
MAPPED = """
import ctypes, socket, sys, time
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
ctypes.CDLL(None).mmap(None, ctypes.c_size_t(4096), 1, 1, sock.fileno(), ctypes.c_long(0))
sock.close()
time.sleep(500)
"""


NAMED = """
import socket, sys, time
open("/proc/self/comm", "wb").write(sys.argv[2].encode())
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
time.sleep(500)
"""


@pytest.mark.parametrize("name", ["\fState: Z", "\rState: Z", "\x1cUid: 7", "\rUid: 7"])
def test_a_program_cannot_pretend_to_have_ended_or_to_be_another_user_by_its_name(name: str) -> None:
    with connected(NAMED, name) as (process, far):
        assert look(lambda: [process.pid], [far])[far] == Look(has_socket=True, users=frozenset({os.getuid()}))


@pytest.mark.parametrize("first_thread", ["running", "ended"])
def test_the_open_files_of_each_thread_are_seen(first_thread: str) -> None:
    with connected(OWN_FILES, first_thread) as (process, far):
        seen = look(lambda: [process.pid], [far])[far]
        assert (seen.has_socket, seen.has_hidden_files) == (True, False)


def test_a_socket_that_only_a_mapping_keeps_open_is_noticed() -> None:
    with connected(MAPPED) as (process, far):
        while (seen := look(lambda: [process.pid], [far])[far]).has_socket:  # it is not closed yet
            pass
        assert seen.can_hide_sockets
        assert not seen.is_clear


ASYNCHRONOUS = """
import ctypes, platform, socket, struct, sys, time
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
def call(*arguments):
    found = libc.syscall(*arguments)
    if found < 0: sys.exit(3)
    return found
if sys.argv[2] == "aio":
    setup, submit = (206, 209) if platform.machine() == "x86_64" else (0, 2)
    context = ctypes.c_ulong()
    call(setup, 8, ctypes.byref(context))
    request = ctypes.create_string_buffer(struct.pack("=QIIHhIQQqQII", 1, 0, 0, 5, 0, sock.fileno(), 2, 0, 0, 0, 0, 0))
    call(submit, context, 1, ctypes.byref(ctypes.c_void_p(ctypes.addressof(request))))  # IOCB_CMD_POLL for POLLPRI
else:
    ring = call(425, 8, ctypes.create_string_buffer(120))  # io_uring_setup
    call(427, ring, 2, (ctypes.c_int * 1)(sock.fileno()), 1)  # IORING_REGISTER_FILES
    libc.mmap(None, ctypes.c_size_t(4096), 3, 1, ring, ctypes.c_long(0))
    libc.close(ring)
sock.close()
time.sleep(500)
"""


@pytest.mark.parametrize("way", ["aio", "io_uring"])
def test_a_socket_that_only_asynchronous_requests_keep_open_is_noticed(way: str) -> None:
    with connected(ASYNCHRONOUS, way) as (process, far):
        while process.poll() is None and (seen := look(lambda: [process.pid], [far])[far]).has_socket:
            pass  # it is not closed yet
        if process.poll() == 3:
            pytest.skip("this kernel does not have it, or does not allow it")
        assert seen.can_hide_sockets
        assert not seen.is_clear


MANY_FILES = """
import os, socket, sys, threading, time
threads, files = int(sys.argv[2]), int(sys.argv[3])
null = os.open("/dev/null", os.O_RDONLY)
for _ in range(files): os.dup(null)
threading.stack_size(65536)
for _ in range(threads): threading.Thread(target=time.sleep, args=(500,), daemon=True).start()
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
time.sleep(500)
"""


def test_a_program_with_very_many_open_files_hides_them() -> None:
    """They are not read, or it could delay the decision about a connection, and the end of the game, for minutes."""
    files = 900
    with connected(MANY_FILES, str(MOST_AT_ONCE // files + 1), str(files)) as (process, far):
        assert not has_socket([process.pid], far)
        seen = look(lambda: [process.pid], [far])[far]
        assert (seen.has_hidden_files, seen.is_clear) == (True, False)
        assert find_holders([far]) == {}
    with connected(MANY_FILES, "2", str(files)) as (process, far):
        seen = look(lambda: [process.pid], [far])[far]
        assert (seen.has_socket, seen.has_hidden_files) == (True, False)


@contextmanager
def connected(code: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], FarSocket]]:
    """A process that connects to the port in its arguments, and its socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-I", "-S", "-c", code, str(listener.getsockname()[1]), *arguments]
        with subprocess.Popen(command) as process:
            accepted, _ = listener.accept()
            with accepted:
                far = far_socket(accepted)
                assert far is not None
                try:
                    yield process, far
                finally:
                    process.kill()


def test_processes_that_begin_or_end_meanwhile_make_a_look_unclear() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            far = far_socket(accepted)
            assert far is not None
            for before, after in (([], [os.getppid()]), ([os.getppid()], [])):
                finds = iter((before, after))
                seen = look(lambda finds=finds: next(finds), [far])[far]  # type: ignore[misc]
                assert (seen.is_changing, seen.is_clear) == (True, False)
            assert look(list, [far])[far].is_clear


def test_a_process_that_has_ended_hides_nothing() -> None:
    """Nobody can look into a process that its parent has not waited for."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        process = subprocess.Popen([sys.executable, "-c", ""])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with accepted:
            far = far_socket(accepted)
            assert far is not None
            assert look(lambda: [process.pid], [far])[far].is_clear
        process.wait()


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_kernel_that_cannot_be_asked_has_a_table(
    family: socket.AddressFamily, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java connects from sockets of IPv6, whose addresses are those of IPv4."""
    monkeypatch.setattr(socket, "AF_NETLINK", 44)  # nothing has this number
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(family) as sock:
        host, port = listener.getsockname()
        sock.connect((host if family == socket.AF_INET else f"::ffff:{host}", port))
        accepted, _ = listener.accept()
        with accepted:
            far = far_socket(accepted)
            assert far is not None
            assert far.user == os.getuid()
            assert has_socket([os.getpid()], far)


def test_a_closed_connection_is_nobodys() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname()).close()
        accepted, _ = listener.accept()
        with accepted:
            assert far_socket(accepted) is None
    with socket.socket() as unconnected:
        assert far_socket(unconnected) is None


@pytest.mark.parametrize(
    "name", ["has_socket", "has_hidden_files", "can_hide_sockets", "is_changing", "uses_containers"]
)
def test_two_looks_show_together_what_either_has_shown(name: str) -> None:
    one, nothing = Look(**{name: True}, users=frozenset({1})), Look(users=frozenset({2}))
    for both in (one | nothing, nothing | one):
        assert both == Look(**{name: True}, users=frozenset({1, 2}))
        assert not both.is_clear
