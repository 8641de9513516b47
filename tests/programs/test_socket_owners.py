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

from spielleiter.programs import socket_owners
from spielleiter.programs.socket_owners import (
    Attribution,
    FarSocket,
    Look,
    Sign,
    attribute,
    far_socket,
    find_holders,
    has_socket,
    look,
)

MATCH_USER, BOT_USER = 1000, 1001
VISIBLE = Look(users=frozenset({MATCH_USER}))
HIDDEN = Look(Sign.HAS_HIDDEN_FILES, frozenset({MATCH_USER}))
HOLDER = Look(Sign.HAS_SOCKET, frozenset({MATCH_USER}))
SUDO = Look(Sign.HAS_HIDDEN_FILES, frozenset({0, BOT_USER}))
IN_FLIGHT = Look(Sign.CAN_HIDE_SOCKETS, frozenset({MATCH_USER}))
ENGINE = Look(Sign.USES_CONTAINERS, frozenset({MATCH_USER}))
HELD_OR_HIDDEN = Sign.HAS_SOCKET | Sign.HAS_HIDDEN_FILES


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


@contextmanager
def connected(
    code: str, *arguments: str, cwd: Path | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], FarSocket]]:
    """A process that connects to the port in its arguments, and its socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        head = "import ctypes, os, platform, socket, struct, sys, threading, time\nport = int(sys.argv[1])\n"
        tail = "\ntime.sleep(500)"
        command = [sys.executable, "-I", "-S", "-c", head + code + tail, str(listener.getsockname()[1]), *arguments]
        with subprocess.Popen(command, cwd=cwd) as process:
            accepted, _ = listener.accept()
            with accepted:
                far = far_socket(accepted)
                assert far is not None
                try:
                    yield process, far
                finally:
                    process.kill()


@contextmanager
def own_connection(family: socket.AddressFamily = socket.AF_INET) -> Iterator[tuple[socket.socket, FarSocket]]:
    """A socket of this process that is connected, and what it is seen as from its other end."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(family) as sock:
        host, port = listener.getsockname()
        sock.connect((host if family == socket.AF_INET else f"::ffff:{host}", port))
        accepted, _ = listener.accept()
        with accepted:
            far = far_socket(accepted)
            assert far is not None
            assert far.user == os.getuid()
            yield sock, far


def look_into_this_process(far: FarSocket) -> Look:
    """Look until no thread begins or ends meanwhile: trio keeps those of earlier tests for some seconds."""
    while Sign.IS_CHANGING in (seen := look(lambda: [os.getpid()], [far])[far]).signs:
        pass
    return seen


def look_into(process: subprocess.Popen[bytes], far: FarSocket) -> Look:
    return look(lambda: [process.pid], [far])[far]


CONNECT = "sock = socket.create_connection(('127.0.0.1', port))"
SEEN = Look(Sign.HAS_SOCKET, frozenset({os.getuid()}))


@pytest.mark.parametrize("way", ["netlink", "table", "table of IPv6"])
def test_a_connection_of_this_process_is_attributed_to_it(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that cannot be asked has a table. Java connects from sockets of IPv6, whose addresses are of IPv4."""
    if way != "netlink":
        monkeypatch.setattr(socket, "AF_NETLINK", 44)  # nothing has this number
    with own_connection(socket.AF_INET6 if "IPv6" in way else socket.AF_INET) as (_, far):
        assert has_socket([os.getpid()], far)
        assert not has_socket([1 << 30], far)
        assert f"({os.getpid()})" in find_holders([far])[far]
        seen = look_into_this_process(far)
        assert seen.signs & HELD_OR_HIDDEN == Sign.HAS_SOCKET
        assert os.getuid() in seen.users


def test_an_open_file_whose_path_is_too_long_for_the_system_hides_nothing(tmp_path: Path) -> None:
    """Anybody on this machine may have one open; the system cannot tell its path."""
    nest = "for _ in range(20): os.mkdir(250 * 'x'); os.chdir(250 * 'x')\nhere = os.open('.', os.O_RDONLY)\n"
    with connected(nest + CONNECT, cwd=tmp_path) as (process, far):
        assert look_into(process, far) == SEEN
        assert f"({process.pid})" in find_holders([far])[far]
        assert not has_socket([os.getpid()], far)


@pytest.mark.parametrize("is_in_flight", [False, True])
def test_a_descriptor_on_its_way_through_a_unix_socket_is_noticed(is_in_flight: bool) -> None:
    near, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with near, other, own_connection() as (connection, far):
        if is_in_flight:
            socket.send_fds(near, [b"x"], [connection.fileno()])
            connection.close()
        seen = look_into_this_process(far)
        assert seen.signs == (Sign.CAN_HIDE_SOCKETS if is_in_flight else Sign.HAS_SOCKET)
        assert not (is_in_flight and find_holders([far]))


OWN_FILES = """
libc = ctypes.CDLL(None)
def connect():
    libc.unshare(0x400)  # CLONE_FILES
    global sock
    sock = socket.create_connection(("127.0.0.1", port))
    time.sleep(500)
threading.Thread(target=connect).start()
if sys.argv[2] == "ended": libc.pthread_exit(None)
"""


@pytest.mark.parametrize("first_thread", ["running", "ended"])
def test_the_open_files_of_each_thread_are_seen(first_thread: str) -> None:
    with connected(OWN_FILES, first_thread) as (process, far):
        assert look_into(process, far).signs & HELD_OR_HIDDEN == Sign.HAS_SOCKET


@pytest.mark.parametrize("name", ["\fState: Z", "\rUid: 7"])
def test_a_program_cannot_pretend_to_have_ended_or_to_be_another_user_by_its_name(name: str) -> None:
    rename = "open('/proc/self/comm', 'wb').write(sys.argv[2].encode())\n"
    with connected(rename + CONNECT, name) as (process, far):
        assert look_into(process, far) == SEEN


HIDDEN_PLACE = """
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
def call(*arguments):
    found = libc.syscall(*arguments)
    if found < 0: sys.exit(3)
    return found
if sys.argv[2] == "mapping":
    libc.mmap(None, ctypes.c_size_t(4096), 1, 1, sock.fileno(), ctypes.c_long(0))
elif sys.argv[2] == "aio":
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
"""


@pytest.mark.parametrize("place", ["mapping", "aio", "io_uring"])
def test_a_socket_that_only_a_mapping_or_an_asynchronous_request_keeps_open_is_noticed(place: str) -> None:
    with connected(f"{CONNECT}\n{HIDDEN_PLACE}", place) as (process, far):
        while process.poll() is None and Sign.HAS_SOCKET in (seen := look_into(process, far)).signs:
            pass  # it is not closed yet
        if process.poll() == 3:
            pytest.skip("this kernel does not have it, or does not allow it")
        assert Sign.CAN_HIDE_SOCKETS in seen.signs


MANY_FILES = """
threads, files = int(sys.argv[2]), int(sys.argv[3])
null = os.open("/dev/null", os.O_RDONLY)
for _ in range(files): os.dup(null)
threading.stack_size(65536)
for _ in range(threads): threading.Thread(target=time.sleep, args=(500,), daemon=True).start()
"""


def test_a_program_with_very_many_open_files_hides_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not read, or it could delay the decision about a connection, and the end of the game, for minutes."""
    monkeypatch.setattr(socket_owners, "MOST_AT_ONCE", 5000)
    files = 900
    with connected(MANY_FILES + CONNECT, "6", str(files)) as (process, far):
        assert not has_socket([process.pid], far)
        assert Sign.HAS_HIDDEN_FILES in look_into(process, far).signs
        assert find_holders([far]) == {}
    with connected(MANY_FILES + CONNECT, "2", str(files)) as (process, far):
        assert look_into(process, far).signs & HELD_OR_HIDDEN == Sign.HAS_SOCKET


def test_processes_that_begin_or_end_meanwhile_make_a_look_unclear() -> None:
    with own_connection() as (_, far):
        for before, after in (([], [os.getppid()]), ([os.getppid()], [])):
            finds = iter((before, after))
            assert Sign.IS_CHANGING in look(lambda finds=finds: next(finds), [far])[far].signs  # type: ignore[misc]
        assert not look(list, [far])[far].signs
        with subprocess.Popen(["true"]) as process:  # nobody can look into one that its parent has not waited for
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            assert not look_into(process, far).signs


def test_a_closed_connection_is_nobodys() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname()).close()
        accepted, _ = listener.accept()
        with accepted:
            assert far_socket(accepted) is None
    with socket.socket() as unconnected:
        assert far_socket(unconnected) is None


def test_two_looks_show_together_what_either_has_shown() -> None:
    assert Look(HELD_OR_HIDDEN, frozenset({MATCH_USER, 0, BOT_USER})) == HOLDER | SUDO
