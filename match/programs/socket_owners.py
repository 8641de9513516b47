"""Finding the process at the other end of a connection on this machine.

Invariants: a connection is attributed to another program only if the kernel reports that one of that program's
processes has the socket open. If nothing can be found out (another machine, a container, another user's process, not
Linux), it is not attributed to another program.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_SOCK_DIAG: Final = 4  # NETLINK_SOCK_DIAG in <linux/netlink.h>
_SOCK_DIAG_BY_FAMILY: Final = 20  # <linux/sock_diag.h>
_REQUEST: Final = struct.Struct("=IHHII BBBBI")  # nlmsghdr and the start of inet_diag_req_v2, <linux/inet_diag.h>
_ID: Final = struct.Struct("!HH16s16s")  # the start of inet_diag_sockid
_REST: Final = struct.Struct("=III")  # the rest of inet_diag_sockid: any interface, any cookie
_INODE_OFFSET: Final = 84  # in the answer
_ANSWER_SIZE: Final = 4096
_ANY: Final = 0xFFFFFFFF
_NLMSG_ERROR: Final = 2


def inode_of_peer(sock: socket.socket) -> int | None:
    """Return the inode of the socket at the other end of `sock`; None if it is not on this machine or not known."""
    if not hasattr(socket, "AF_NETLINK") or sock.family != socket.AF_INET:
        return None
    try:
        (near_host, near_port), (far_host, far_port) = sock.getsockname(), sock.getpeername()
        query = _ID.pack(far_port, near_port, _packed(far_host), _packed(near_host)) + _REST.pack(0, _ANY, _ANY)
        size = _REQUEST.size + len(query)
        head = _REQUEST.pack(size, _SOCK_DIAG_BY_FAMILY, 1, 1, 0, socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as netlink:
            netlink.settimeout(1.0)  # the kernel answers within the call
            netlink.sendto(head + query, (0, 0))
            answer = netlink.recv(_ANSWER_SIZE)
    except OSError:
        return None
    if len(answer) < _INODE_OFFSET + 4 or struct.unpack_from("=H", answer, 4)[0] == _NLMSG_ERROR:
        return None
    return int(struct.unpack_from("=I", answer, _INODE_OFFSET)[0]) or None


def _packed(host: str) -> bytes:
    return socket.inet_aton(host).ljust(16, b"\0")


def has_socket(pids: Iterable[int], inode: int) -> bool:
    """Whether one of these processes has the socket open."""
    wanted = f"socket:[{inode}]"
    return any(wanted in _open_files(pid) for pid in pids)


def _open_files(pid: int) -> Iterable[str]:
    folder = f"{_PROC}/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208 - only names are needed
    except OSError:  # the process has ended or belongs to another user
        return
    for name in names:
        with contextlib.suppress(OSError):
            yield os.readlink(f"{folder}/{name}")  # noqa: PTH115 - hundreds of them for each connection
