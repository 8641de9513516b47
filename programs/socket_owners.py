"""Whose process is at the other end of a connection on this machine?

A connection is a program's own only if the system shows one of its processes with the socket, or if the
program's processes cannot be looked into and every other explanation is ruled out. A process can hide its open files
from other processes of its user (it need only switch off core dumps), and a socket that is on its way through a Unix
socket is open in no process. Neither makes a connection anybody's own.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import os
import random
import socket
import struct
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from spielleiter.programs.linux_processes import still_running

_PROC: Final = Path("/proc")
_SOCK_DIAG: Final = 4  # NETLINK_SOCK_DIAG in <linux/netlink.h>
_SOCK_DIAG_BY_FAMILY: Final = 20  # <linux/sock_diag.h>
_REQUEST: Final = struct.Struct("=IHHII BBBBI")  # nlmsghdr and the start of inet_diag_req_v2, <linux/inet_diag.h>
_ID: Final = struct.Struct("!HH16s16s")  # the start of inet_diag_sockid
_REST: Final = struct.Struct("=III")  # the rest of inet_diag_sockid: any interface, any cookie
_USER_AND_INODE: Final = struct.Struct("=II")
_USER_OFFSET: Final = 80  # in the answer; the inode follows
_ANSWER_SIZE: Final = 4096
_ANY: Final = 0xFFFFFFFF
_NLMSG_ERROR: Final = 2
_HIDING_PLACE: Final = "anon_inode:[io_uring]"
_MAPPED_HIDING_PLACES: Final = ("socket:[", _HIDING_PLACE, "/[aio]")
"""What keeps a socket open, and can itself be kept by a mapping alone."""
_MAPPED: Final = f"{0:016X}{int.from_bytes(bytes((0, 0, 255, 255)), sys.byteorder):08X}"
"""The beginning of an IPv4 address among those of IPv6, in the kernel's tables."""
_CONTAINER_ENGINES: Final = frozenset({"docker", "nerdctl", "podman"})

MOST_AT_ONCE: Final = 50_000
"""How many entries are read of one process, or of all processes of a program in one look. Entries are open files,
counted once for each thread that has them, threads, and mappings."""
_MOST_IN_ALL: Final = 20 * MOST_AT_ONCE
_MOST_AT_FIRST_GLANCE: Final = 500


@dataclass(frozen=True, slots=True)
class FarSocket:
    """The socket at the other end of a connection, which is on this machine."""

    name: Hashable
    """What it is called among the open files of a process; without /proc, its two addresses."""
    user: int | None = None
    """The user whose process made it; None if the system does not say so."""


def far_socket(sock: socket.socket) -> FarSocket | None:
    """Return the socket at the other end of `sock`, an IPv4 connection from this machine; None if it is closed."""
    try:
        near, far = sock.getsockname()[:2], sock.getpeername()[:2]
    except OSError:
        return None
    if sys.platform != "linux":
        return FarSocket((far, near))
    try:
        user, inode = _ask_kernel(near, far)
    except (OSError, struct.error):  # a kernel without this interface
        user, inode = _read_table(near, far)
    return FarSocket(f"socket:[{inode}]", user) if inode else None


def _ask_kernel(near: tuple[str, int], far: tuple[str, int]) -> tuple[int, int]:
    """Return the user and the inode of a socket. Raises OSError and struct.error."""
    if sys.platform != "linux":
        raise NotImplementedError
    query = _ID.pack(far[1], near[1], _packed(far[0]), _packed(near[0])) + _REST.pack(0, _ANY, _ANY)
    size = _REQUEST.size + len(query)
    head = _REQUEST.pack(size, _SOCK_DIAG_BY_FAMILY, 1, 1, 0, socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as netlink:
        netlink.settimeout(1.0)  # the kernel answers within the call
        netlink.sendto(head + query, (0, 0))
        answer = netlink.recv(_ANSWER_SIZE)
    if struct.unpack_from("=H", answer, 4)[0] == _NLMSG_ERROR:
        raise OSError("the kernel does not know this socket")
    user, inode = _USER_AND_INODE.unpack_from(answer, _USER_OFFSET)
    return user, inode


def _read_table(near: tuple[str, int], far: tuple[str, int]) -> tuple[int, int]:
    """Return the user and the inode of a socket; 0 if it is closed."""
    ends = [_in_table(far), _in_table(near)]
    # a program may have made an IPv6 socket for an IPv4 address, as Java does
    wanted = {"tcp": ends, "tcp6": [f"{_MAPPED}{each}" for each in ends]}
    for name, addresses in wanted.items():
        for line in _lines_of(f"{_PROC}/net/{name}"):
            words = line.split()
            if words[1:3] == addresses:
                return int(words[7]), int(words[9])
    return 0, 0


def _packed(host: str) -> bytes:
    return socket.inet_aton(host).ljust(16, b"\0")


def _in_table(address: tuple[str, int]) -> str:
    return f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"


def has_socket(pids: Iterable[int], far: FarSocket) -> bool:
    """Return whether one of these processes is seen to have the socket open, at first glance.

    Only the first few hundred files are read, so that this takes little time whatever the processes have open.
    """
    budget = _Budget(_MOST_AT_FIRST_GLANCE)
    for pid in pids:
        with contextlib.suppress(PermissionError, ProcessLookupError):
            files = _open_files(f"{_PROC}/{pid}", budget) if sys.platform == "linux" else _listed_sockets(pid)
            if far.name in files:
                return True
    return False


def holders(pids: Iterable[int], sockets: Collection[FarSocket]) -> dict[FarSocket, int]:
    """Return which of these processes is seen to have which socket open; those that nobody has are missing. Blocks."""
    found: dict[FarSocket, int] = {}
    left = _MOST_IN_ALL
    for pid in pids:
        budget = _Budget(min(left, MOST_AT_ONCE))
        left -= budget.left
        with contextlib.suppress(PermissionError, ProcessLookupError):
            files = _sockets_of(pid, budget)
            found |= {each: pid for each in sockets if each.name in files}
        left += budget.left
    return found


class Sign(enum.Flag):
    """Something that the processes of a program show about a socket."""

    NOTHING = 0
    HAS_SOCKET = enum.auto()
    """One of them is seen to have it open."""
    HAS_HIDDEN_FILES = enum.auto()
    """The open files of at least one cannot be seen, or are too many to be read."""
    CAN_HIDE_SOCKETS = enum.auto()
    """At least one has something that may hold a socket without showing it."""
    IS_CHANGING = enum.auto()
    """Processes or threads have begun or ended meanwhile, so that one may have been overlooked."""
    USES_CONTAINERS = enum.auto()
    """One of them is the client of a container engine, whose processes belong to root."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the processes of one program show about a socket; without a sign, the program certainly does not have it."""

    signs: Sign = Sign.NOTHING
    users: frozenset[int] = frozenset()
    """The users that they run as, or could run as."""

    def __or__(self, other: Look) -> Look:
        """Return what two looks have shown together."""
        return Look(self.signs | other.signs, self.users | other.users)


def look(find: Callable[[], Collection[int]], sockets: Collection[FarSocket]) -> dict[FarSocket, Look]:
    """Look into the processes of a program, which `find` returns, for all of these sockets at once. Blocks.

    A program can pass a socket on from one process to another, from those that are looked into later to those that
    were looked into before. The order is random, so several looks find it. At most MOST_AT_ONCE entries are read: a
    program that has more counts as one that hides the rest.
    """
    held: set[FarSocket] = set()
    signs = Sign.NOTHING
    users: set[int] = set()
    pids = list(find())
    before = {(pid, thread) for pid in pids for thread in _thread_ids(pid)}
    random.shuffle(pids)
    budget = _Budget(MOST_AT_ONCE)
    for pid in pids:
        try:
            files = _sockets_of(pid, budget)
            held.update(each for each in sockets if each.name in files)
            if Sign.CAN_HIDE_SOCKETS not in signs and _can_hide_sockets(pid, files, budget):
                signs |= Sign.CAN_HIDE_SOCKETS
        except PermissionError:
            if _running_threads(pid):
                signs |= Sign.HAS_HIDDEN_FILES
        except ProcessLookupError:  # the threads show that
            pass
        if sys.platform == "linux":
            for line in _lines_of(f"{_PROC}/{pid}/status"):
                if line.startswith("Uid:"):  # real, effective, saved and for files
                    users.update(map(int, line.split()[1:]))
            if next(_lines_of(f"{_PROC}/{pid}/comm"), "") in _CONTAINER_ENGINES:
                signs |= Sign.USES_CONTAINERS
    if before != {(pid, thread) for pid in find() for thread in _thread_ids(pid)}:
        signs |= Sign.IS_CHANGING
    of_all = frozenset(users)
    return {each: Look(signs | Sign.HAS_SOCKET if each in held else signs, of_all) for each in sockets}


class Attribution(enum.Enum):
    """Whose a connection is."""

    OWN = enum.auto()
    """Certainly the program's for which the port is: one of its processes is seen to have it."""
    OWN_BY_EXCLUSION = enum.auto()
    """The program's, whose open files cannot all be seen; the other program, which shows its own, does not have it."""
    OTHER = enum.auto()
    """Certainly the other program's."""
    NOT_OWN = enum.auto()
    """Somebody's who is not known, but not the program's."""
    UNDECIDED = enum.auto()
    """The program's or the other one's: the system shows the files of neither."""


def attribute(socket_user: int | None, own: Look, other: Look, match_user: int) -> Attribution:
    """Decide whose a connection is from what both programs show.

    `socket_user` is the user whose process made the socket, None if the system does not name it; `match_user` is the
    one that the match runs as, and so the one that programs run as unless they change it.
    """
    if Sign.HAS_SOCKET in own.signs:
        return Attribution.OWN
    if Sign.HAS_SOCKET in other.signs:
        return Attribution.OTHER
    if socket_user in {None, match_user}:
        could_be_own, could_be_others = Sign.HAS_HIDDEN_FILES in own.signs, bool(other.signs)
    elif socket_user == 0 and Sign.USES_CONTAINERS in own.signs:
        could_be_own, could_be_others = True, bool(other.signs)
    else:
        could_be_own = socket_user in own.users
        could_be_others = socket_user in other.users or Sign.USES_CONTAINERS in other.signs
    if not could_be_own:
        return Attribution.NOT_OWN
    return Attribution.UNDECIDED if could_be_others else Attribution.OWN_BY_EXCLUSION


def find_holders(sockets: Collection[FarSocket]) -> dict[FarSocket, str]:
    """Return the name and id of any process of this machine that is seen to have a socket open, by socket.

    Blocks: looks into every process of this machine.
    """
    return {
        each: "".join(f"{found.name} ({found.pid})" for found in still_running([pid])) or f"process {pid}"
        for each, pid in holders(psutil.pids(), sockets).items()
    }


class _Budget:
    """How many entries may still be read: a program decides how many there are."""

    def __init__(self, entries: int) -> None:
        self.left = entries

    def spend(self, entries: int) -> None:
        """Raises PermissionError if there were more: what cannot be read in time is as good as hidden."""
        self.left = max(0, self.left - entries)
        if not self.left:
            raise PermissionError("too many open files")


def _sockets_of(pid: int, budget: _Budget) -> Mapping[Hashable, str]:
    """Return the sockets that any thread of a process has open, by name; on Linux its other files, too.

    The values are as in `_open_files`. Raises PermissionError if the process cannot be looked into, and
    ProcessLookupError if it has ended.
    """
    if sys.platform != "linux":
        return dict.fromkeys(_listed_sockets(pid), "")
    threads = _running_threads(pid)
    if not threads:
        raise ProcessLookupError(pid)
    budget.spend(len(threads))
    found: dict[Hashable, str] = {}
    for each in threads:  # a thread may have open files of its own
        found |= _open_files(each, budget)
    return found


def _listed_sockets(pid: int) -> Collection[Hashable]:
    """Return the addresses of a process's connections, where there is no /proc; raises as `_sockets_of`."""
    try:
        return {(each.laddr, each.raddr) for each in psutil.Process(pid).net_connections("tcp")}
    except psutil.AccessDenied:
        raise PermissionError(pid) from None
    except psutil.Error:
        raise ProcessLookupError(pid) from None


def _thread_ids(pid: int) -> Collection[str]:
    try:
        return os.listdir(f"{_PROC}/{pid}/task")  # noqa: PTH208 - only names are needed, often
    except (FileNotFoundError, ProcessLookupError):  # the process has ended
        return ()


def _open_files(process: str, budget: _Budget) -> Mapping[Hashable, str]:
    """Return what the descriptors of a process or thread refer to, each with the path of what the kernel says about it.

    `process` is its folder in /proc. Raises PermissionError, also if the budget is spent, and ProcessLookupError if it
    has ended.
    """
    found: dict[Hashable, str] = {}
    try:
        with os.scandir(f"{process}/fd") as entries:
            names = [each.name for each in itertools.islice(entries, budget.left)]
    except FileNotFoundError:
        raise ProcessLookupError(process) from None
    budget.spend(len(names))
    for name in names:
        try:
            found[os.readlink(f"{process}/fd/{name}")] = f"{process}/fdinfo/{name}"  # noqa: PTH115
        except PermissionError:
            raise
        except OSError:  # closed in the meantime, or the path of a file is too long for the system
            continue
    return found


def _running_threads(pid: int) -> Collection[str]:
    """Return the folder in /proc of each running thread of a process.

    The first thread is listed as long as there are others, or as nobody has waited for it, but it shows no open files.
    """
    if sys.platform != "linux":
        return [str(pid)]
    running = []
    for thread in (f"{_PROC}/{pid}/task/{name}" for name in _thread_ids(pid)):
        states = [line.split()[1] for line in _lines_of(f"{thread}/status") if line.startswith("State:")]
        if not {"Z", "X"} & set(states):
            running.append(thread)
    return running


def _can_hide_sockets(pid: int, files: Mapping[Hashable, str], budget: _Budget) -> bool:
    """Whether a process, which has these open files, may keep a socket open without a descriptor of it.

    It may with a Unix socket that has descriptors on their way, with an io_uring, with asynchronous I/O (`io_setup`),
    and with a mapping of the socket. Raises PermissionError and ProcessLookupError.
    """
    if sys.platform != "linux":
        return False
    mappings = list(_lines_of(f"{_PROC}/{pid}/maps"))
    budget.spend(len(mappings))
    if _HIDING_PLACE in files or any(place in line for line in mappings for place in _MAPPED_HIDING_PLACES):
        return True
    sockets = [path for target, path in files.items() if str(target).startswith("socket:")]
    return any(line.startswith("scm_fds:") and line.split()[1] != "0" for line in _lines_of(*sockets))


def _lines_of(*paths: str) -> Iterator[str]:
    """Yield the lines of those of these files that exist. Raises PermissionError."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = Path(path).read_bytes().decode("utf-8", "replace")
            # no other character ends a line: a thread may have one in its name, and more lines after it
            yield from text.removesuffix("\n").split("\n") if text else ()
