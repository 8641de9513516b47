"""Whose process is at the other end of a connection on this machine?

Invariants: a connection is a program's own only if the system shows one of its processes with the socket, or if the
program's processes cannot be looked into and every other explanation is ruled out. A process can hide its open files
from other processes of its user (it need only switch off core dumps), and a socket that is on its way through a Unix
socket is open in no process. Neither makes a connection anybody's own.
"""

from __future__ import annotations

import contextlib
import enum
import os
import socket
import struct
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import psutil

from spielleiter.match.programs.processes import still_running

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
_CONTAINER_ENGINES: Final = frozenset({"docker", "nerdctl", "podman"})


class FarSocket(Protocol):
    """The socket at the other end of a connection, which is on this machine."""

    @property
    def user(self) -> int | None:
        """The user whose process made it; None if the system does not say so."""
        ...

    def is_held_by(self, pid: int) -> bool:
        """Return whether a process has it open. Raises PermissionError if the process cannot be looked into."""
        ...


@dataclass(frozen=True, slots=True)
class _LinuxSocket:
    inode: int
    user: int

    def is_held_by(self, pid: int) -> bool:
        return f"socket:[{self.inode}]" in _open_files(pid)


@dataclass(frozen=True, slots=True)
class _ListedSocket:
    """A socket in the table of connections that psutil reads, on systems without /proc."""

    address: tuple[str, int]
    peer: tuple[str, int]
    user: None = None

    def is_held_by(self, pid: int) -> bool:
        try:
            connections = psutil.Process(pid).net_connections("tcp")
        except psutil.AccessDenied:
            raise PermissionError(pid) from None
        except psutil.Error:
            return False
        return any((each.laddr, each.raddr) == (self.address, self.peer) for each in connections)


def far_socket(sock: socket.socket) -> FarSocket | None:
    """Return the socket at the other end of `sock`, an IPv4 connection from this machine; None if it is closed."""
    try:
        near, far = sock.getsockname()[:2], sock.getpeername()[:2]
    except OSError:
        return None
    if sys.platform != "linux":
        return _ListedSocket(far, near)
    try:
        found = _ask_kernel(near, far)
    except (OSError, struct.error):  # a kernel without this interface
        found = _read_table(near, far)
    return found if found.inode else None


def _ask_kernel(near: tuple[str, int], far: tuple[str, int]) -> _LinuxSocket:
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
    return _LinuxSocket(inode, user)


def _read_table(near: tuple[str, int], far: tuple[str, int]) -> _LinuxSocket:
    wanted = [_in_table(far), _in_table(near)]
    for line in (_PROC / "net" / "tcp").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words[1:3] == wanted:
            return _LinuxSocket(int(words[9]), int(words[7]))
    return _LinuxSocket(0, 0)


def _packed(host: str) -> bytes:
    return socket.inet_aton(host).ljust(16, b"\0")


def _in_table(address: tuple[str, int]) -> str:
    return f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"


def has_socket(pids: Iterable[int], far: FarSocket) -> bool:
    """Return whether one of these processes is seen to have the socket open."""
    for pid in pids:
        with contextlib.suppress(PermissionError):
            if far.is_held_by(pid):
                return True
    return False


@dataclass(frozen=True, slots=True)
class Look:
    """What the processes of one program show about a socket."""

    has_socket: bool = False
    """Whether one of them is seen to have it open."""
    has_hidden_files: bool = False
    """Whether the open files of at least one cannot be seen."""
    can_hide_sockets: bool = False
    """Whether at least one has something that may hold a socket without showing it."""
    users: frozenset[int] = frozenset()
    """The users that they run as, or could run as."""
    uses_containers: bool = False
    """Whether one of them is the client of a container engine, whose processes belong to root."""

    @property
    def is_clear(self) -> bool:
        """Whether it is certain that the program does not have the socket."""
        return not (self.has_socket or self.has_hidden_files or self.can_hide_sockets or self.uses_containers)


def look(pids: Iterable[int], far: FarSocket) -> Look:
    """Look into the processes of a program. Blocks."""
    is_held = is_hidden = can_hide = uses_containers = False
    users: set[int] = set()
    for pid in pids:
        try:
            is_held = is_held or far.is_held_by(pid)
            can_hide = can_hide or _can_hide_sockets(pid)
        except PermissionError:
            is_hidden = True
        users |= _users_of(pid)
        uses_containers = uses_containers or _command_name(pid) in _CONTAINER_ENGINES
    return Look(is_held, is_hidden, can_hide, frozenset(users), uses_containers)


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
    if own.has_socket:
        return Attribution.OWN
    if other.has_socket:
        return Attribution.OTHER
    if socket_user in {None, match_user}:
        could_be_own, is_clear = own.has_hidden_files, other.is_clear
    elif socket_user == 0 and own.uses_containers:
        could_be_own, is_clear = True, other.is_clear
    else:
        could_be_own, is_clear = socket_user in own.users, socket_user not in other.users and not other.uses_containers
    if not could_be_own:
        return Attribution.NOT_OWN
    return Attribution.OWN_BY_EXCLUSION if is_clear else Attribution.UNDECIDED


def find_holder(far: FarSocket) -> str:
    """Return the name and id of any process of this machine that is seen to have the socket open; empty if none is.

    Blocks: looks into every process of this machine.
    """
    for pid in psutil.pids():
        if has_socket([pid], far):
            return "".join(f"{each.name} ({each.pid})" for each in still_running([pid])) or f"process {pid}"
    return ""


def _open_files(pid: int) -> Collection[str]:
    """Return what the descriptors of a process refer to. Raises PermissionError."""
    folder = f"{_PROC}/{pid}/fd"
    found = []
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - only names are needed, often
            try:
                found.append(os.readlink(f"{folder}/{name}"))  # noqa: PTH115 - hundreds of them for each connection
            except PermissionError:
                raise
            except OSError:  # closed in the meantime, or the path of a file is too long for the system
                continue
    except (FileNotFoundError, ProcessLookupError):  # the process has ended
        return ()
    return found


def _can_hide_sockets(pid: int) -> bool:
    """Whether a process has descriptors on their way through a Unix socket, or an io_uring, which keeps its own."""
    if sys.platform != "linux":
        return False
    if _HIDING_PLACE in _open_files(pid):
        return True
    folder = _PROC / str(pid) / "fdinfo"
    return any(line.startswith("scm_fds:") and line.split()[1] != "0" for line in _lines_of(folder.iterdir))


def _lines_of(list_files: Callable[[], Iterable[Path]]) -> Iterable[str]:
    try:
        for path in list_files():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                yield from path.read_text(encoding="ascii", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return


def _users_of(pid: int) -> set[int]:
    """Return the user ids of a process: real, effective, saved and for files."""
    if sys.platform != "linux":
        return set()
    for line in _lines_of(lambda: [_PROC / str(pid) / "status"]):
        if line.startswith("Uid:"):
            return set(map(int, line.split()[1:]))
    return set()


def _command_name(pid: int) -> str:
    if sys.platform != "linux":
        return ""
    return next(iter(_lines_of(lambda: [_PROC / str(pid) / "comm"])), "")
